//! Conversations as Harmony's messages.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};

use super::parser::{Begun, RECIPIENT};
use super::{CALL, CHANNEL, CONSTRAIN, END, MESSAGE, Piece, START, field, typescript};
use crate::error::{ApiError, ApiResult};
use crate::formats::Tool;

/// How much a model reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Effort {
    Low,
    #[default]
    Medium,
    High,
}

impl Effort {
    /// The effort that the variables of a request ask for. These models cannot do without reasoning: less
    /// than low is low.
    pub(crate) fn of(variables: &Map<String, Value>) -> ApiResult<Self> {
        let is_off = variables.get("enable_thinking") == Some(&Value::Bool(false));
        match variables.get("reasoning_effort").and_then(Value::as_str) {
            None if is_off => Ok(Self::Low),
            None => Ok(Self::default()),
            Some("none" | "minimal" | "low") => Ok(Self::Low),
            Some("medium") => Ok(Self::Medium),
            Some("high" | "xhigh" | "max") => Ok(Self::High),
            Some(other) => {
                let message =
                    format!("`{other}` is not known: none, minimal, low, medium, high, xhigh and max are");
                Err(ApiError::field("reasoning_effort", message))
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// A date that models are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Today(pub(crate) String);

impl Today {
    /// Today's, in UTC.
    pub(crate) fn now() -> Self {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        Self(date(seconds / 86_400))
    }
}

/// The date of a day since 1970, in the Gregorian calendar.
fn date(day: u64) -> String {
    // Years that begin in March, in eras of 400 years, so that leap days come last.
    let day = day + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let (month, year) = if month < 10 { (month + 3, year) } else { (month - 9, year + 1) };
    format!("{:04}-{month:02}-{of_month:02}", year + 400 * era)
}

/// What is known about the whole conversation.
struct Pieces(Vec<Piece>);

impl Pieces {
    fn control(&mut self, name: &'static str) {
        self.0.push(Piece::Control(name));
    }

    fn text(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.0.push(Piece::Text(text));
        }
    }

    fn message(&mut self, role: &str, recipient: Option<&str>, channel: Option<&str>, content: &str) {
        self.head(role, recipient, channel);
        self.control(MESSAGE);
        self.text(content);
        self.control(END);
    }

    fn head(&mut self, role: &str, recipient: Option<&str>, channel: Option<&str>) {
        self.control(START);
        self.text(role);
        self.text(recipient.map(|recipient| format!(" to={recipient}")).unwrap_or_default());
        if let Some(channel) = channel {
            self.control(CHANNEL);
            self.text(channel);
        }
    }

    /// A call of a function, up to its arguments.
    fn call(&mut self, name: &str) {
        self.head("assistant", Some(&format!("functions.{name}")), Some("commentary"));
        self.text(" ");
        self.control(CONSTRAIN);
        self.text("json");
        self.control(MESSAGE);
    }
}

/// How the answer begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// The prompt ends with the conversation.
    None,
    /// As the model likes.
    Free,
    /// With the text for the user: no reasoning comes before.
    Final,
    /// With the name of a function to call.
    Recipient,
    /// With the arguments of a call.
    Call(String),
}

impl Opening {
    /// What the answer's parser must know of it.
    pub(crate) fn begun(&self) -> Begun {
        match self {
            Self::None | Self::Free => Begun::Role,
            Self::Final => Begun::Final,
            Self::Recipient => Begun::Recipient,
            Self::Call(name) => Begun::Call(name.clone()),
        }
    }
}

/// The prompt of a conversation, whose messages are as chat templates expect them.
pub(crate) fn render(
    messages: &[Value],
    tools: &[Tool],
    effort: Effort,
    today: &Today,
    opening: &Opening,
) -> ApiResult<Vec<Piece>> {
    let mut pieces = Pieces(Vec::new());
    pieces.message("system", None, None, &system(effort, today, !tools.is_empty()));
    let is_instruction = |message: &&Value| field(message, "role") == Some("system");
    let leading: Vec<&Value> = messages.iter().take_while(is_instruction).collect();
    let instructions: Vec<&str> = leading.iter().filter_map(|message| field(message, "content")).collect();
    if !instructions.is_empty() || !tools.is_empty() {
        pieces.message("developer", None, None, &developer(&instructions.join("\n\n"), tools));
    }
    let rest = &messages[leading.len()..];
    // Reasoning is only of use while the model has not given its final answer.
    let is_answer =
        |message: &Value| field(message, "role") == Some("assistant") && calls(message).is_empty();
    let last_answer = rest.iter().rposition(is_answer);
    for (at, message) in rest.iter().enumerate() {
        let content = field(message, "content").unwrap_or_default();
        match field(message, "role") {
            Some("system") => pieces.message("developer", None, None, &developer(content, &[])),
            Some("assistant") => {
                let keeps_reasoning = last_answer.is_none_or(|last| at > last);
                let reasoning = field(message, "reasoning_content").filter(|_| keeps_reasoning);
                if let Some(reasoning) = reasoning {
                    pieces.message("assistant", None, Some("analysis"), reasoning);
                }
                let calls = calls(message);
                let channel = if calls.is_empty() { "final" } else { "commentary" };
                if !content.is_empty() || calls.is_empty() {
                    pieces.message("assistant", None, Some(channel), content);
                }
                for call in calls {
                    let function = &call["function"];
                    pieces.call(field(function, "name").unwrap_or_default());
                    pieces.text(field(function, "arguments").unwrap_or("{}"));
                    pieces.control(CALL);
                }
            }
            Some("tool") => {
                let Some(name) = caller(&rest[..at], message) else {
                    let problem = "a tool's answer belongs to no call before it";
                    return Err(ApiError::field("messages", problem));
                };
                pieces.message(&format!("functions.{name}"), Some("assistant"), Some("commentary"), content);
            }
            _ => {
                let role = match field(message, "name") {
                    Some(name) => format!("user:{name}"),
                    None => "user".to_owned(),
                };
                pieces.message(&role, None, None, content);
            }
        }
    }
    match opening {
        Opening::None => {}
        Opening::Free => {
            pieces.control(START);
            pieces.text("assistant");
        }
        Opening::Final => {
            pieces.head("assistant", None, Some("final"));
            pieces.control(MESSAGE);
        }
        Opening::Recipient => {
            pieces.control(START);
            pieces.text("assistant");
            pieces.text(RECIPIENT);
        }
        Opening::Call(name) => pieces.call(name),
    }
    Ok(pieces.0)
}

/// A grammar of what follows [`Opening::Recipient`]: one call of one of these functions.
pub(crate) fn one_call(tools: &[Tool]) -> String {
    let names = (0..tools.len()).map(|at| format!("call{at}")).collect::<Vec<_>>().join(" | ");
    let mut grammar = format!("start: {names}\n");
    for (at, tool) in tools.iter().enumerate() {
        let (name, schema) = (Value::from(tool.name.as_str()), tool.arguments());
        grammar.push_str(&format!(
            "call{at}: {name} {CHANNEL} \"commentary \" {CONSTRAIN} \"json\" {MESSAGE} body{at}\nbody{at}: %json {schema}\n"
        ));
    }
    grammar
}

fn calls(message: &Value) -> &[Value] {
    message.get("tool_calls").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The function whose call a tool's message answers: the one with its identity, or the last one.
fn caller<'m>(before: &'m [Value], message: &'m Value) -> Option<&'m str> {
    let id = message.get("tool_call_id").filter(|id| !id.is_null());
    let all = || before.iter().rev().flat_map(|message| calls(message).iter().rev());
    let by_id = all().find(|call| id.is_some() && call.get("id") == id);
    let call = by_id.or_else(|| all().next());
    call.and_then(|call| field(&call["function"], "name")).or_else(|| field(message, "name"))
}

fn system(effort: Effort, today: &Today, has_tools: bool) -> String {
    let tools = match has_tools {
        true => "\nCalls to these tools must go to the commentary channel: 'functions'.",
        false => "",
    };
    format!(
        "You are ChatGPT, a large language model trained by OpenAI.\nKnowledge cutoff: 2024-06\nCurrent date: {}\n\n\
         Reasoning: {}\n\n# Valid channels: analysis, commentary, final. Channel must be included for every message.{tools}",
        today.0,
        effort.name(),
    )
}

fn developer(instructions: &str, tools: &[Tool]) -> String {
    let mut sections = Vec::new();
    if !instructions.is_empty() {
        sections.push(format!("# Instructions\n\n{instructions}"));
    }
    if !tools.is_empty() {
        let functions = tools.iter().map(|tool| {
            typescript::function(&tool.name, tool.description.as_deref(), Some(&tool.parameters))
        });
        let functions: Vec<String> = functions.collect();
        sections.push(format!(
            "# Tools\n\n## functions\n\nnamespace functions {{\n\n{}\n}} // namespace functions",
            functions.join("\n")
        ));
    }
    sections.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        for (day, expected) in [
            (0, "1970-01-01"),
            (58, "1970-02-28"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (19_782, "2024-02-29"),
            (20_453, "2025-12-31"),
            (20_454, "2026-01-01"),
            (47_541, "2100-03-01"),
        ] {
            assert_eq!(date(day), expected);
        }
    }

    #[test]
    fn an_effort_is_known_or_refused() {
        let of = |value: serde_json::Value| Effort::of(value.as_object().expect("an object"));
        use serde_json::json;
        assert_eq!(of(json!({})).expect("an effort"), Effort::Medium);
        assert_eq!(of(json!({ "enable_thinking": false })).expect("an effort"), Effort::Low);
        assert_eq!(
            of(json!({ "enable_thinking": true, "reasoning_effort": "high" })).expect("an effort"),
            Effort::High
        );
        assert!(of(json!({ "reasoning_effort": "much" })).is_err());
    }
}
