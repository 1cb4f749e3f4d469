//! Conversations: messages and tools become a prompt, and its answer a parser.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::answer::Seat;
use crate::engine::{Chat, Constraint, Request, Sampling, SpecialText, TemplateValue, Tokenizer};
use crate::error::{ApiError, ApiResult, Kind};
use crate::formats::{self, FORMATS, Format, REASONING, Tool};
use crate::harmony::{self, Begun, Effort, Opening, Today};
use crate::parser::Parser;
use crate::reader::Reader;

/// Which tools must be called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The model decides.
    #[default]
    Auto,
    /// None.
    None,
    /// At least one.
    Any,
    /// This one.
    Named(String),
}

/// A conversation, in whichever interface.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conversation {
    /// Messages as chat templates expect them, but the arguments of calls are texts of JSON, which keep the
    /// order of their fields.
    pub(crate) messages: Vec<Value>,
    pub(crate) tools: Vec<Tool>,
    pub(crate) choice: Choice,
    /// At most one call in an answer.
    pub(crate) one_call: bool,
    /// More variables of the template.
    pub(crate) variables: Map<String, Value>,
    pub(crate) constraint: Option<Constraint>,
    /// The prompt is to end with the beginning of an answer.
    pub(crate) is_prompt: bool,
}

/// The prompt of a conversation.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(crate) text: String,
    pub(crate) tokens: Vec<u32>,
    constraint: Option<Constraint>,
    reading: Reading,
    /// Control tokens that the reader must see.
    visible: Vec<u32>,
}

/// How an answer is read.
#[derive(Clone, Debug)]
enum Reading {
    Marked { format: Option<&'static Format>, tools: Vec<String>, reasoning: Option<usize> },
    Harmony(Begun),
}

impl Prepared {
    /// A new reader of its answer.
    pub(crate) fn reader(&self) -> Reader {
        match &self.reading {
            Reading::Marked { format, tools, reasoning } => {
                Reader::Marked(Parser::new(*format, tools.clone(), *reasoning))
            }
            Reading::Harmony(begun) => Reader::Harmony(harmony::Parser::new(begun.clone())),
        }
    }

    /// The request for its answer.
    pub(crate) fn request(&self, seat: &Seat, limits: &Limits) -> ApiResult<Request> {
        let mut request = request(seat, self.tokens.clone(), limits, self.constraint.clone())?;
        request.visible.clone_from(&self.visible);
        Ok(request)
    }
}

/// How an answer is generated.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) sampling: Sampling,
    pub(crate) max_tokens: Option<usize>,
    pub(crate) stop: Vec<String>,
    pub(crate) logprobs: Option<usize>,
}

/// A request for a prompt of tokens. It fits in the context.
pub(crate) fn request(
    seat: &Seat,
    prompt: Vec<u32>,
    limits: &Limits,
    constraint: Option<Constraint>,
) -> ApiResult<Request> {
    let description = seat.model.engine().description();
    let context = description.context;
    if !description.generates {
        let message = format!("the model {} generates no text", seat.model.name());
        return Err(ApiError::new(Kind::Invalid, message).code("unsupported"));
    }
    if prompt.is_empty() {
        return Err(ApiError::new(Kind::Invalid, "the prompt is empty"));
    }
    if prompt.len() >= context {
        let message =
            format!("the prompt has {} tokens, and the context has room for {context}", prompt.len());
        return Err(ApiError::new(Kind::Invalid, message).code("context_length_exceeded"));
    }
    let vocabulary = seat.model.engine().tokenizer().len();
    if let Some(token) = prompt.iter().find(|token| **token as usize >= vocabulary) {
        return Err(ApiError::new(
            Kind::Invalid,
            format!("there is no token {token}: the model has {vocabulary}"),
        ));
    }
    let room = context - prompt.len();
    let mut request = Request::new(prompt);
    request.sampling = limits.sampling.clone();
    request.max_tokens = limits.max_tokens.unwrap_or(room).min(room);
    request.stop = limits.stop.clone();
    request.logprobs = limits.logprobs;
    request.constraint = constraint;
    Ok(request)
}

impl Conversation {
    /// Renders and splits the prompt.
    pub(crate) fn prepare(mut self, seat: &Seat) -> ApiResult<Prepared> {
        let engine = seat.model.engine();
        if self.messages.is_empty() {
            return Err(ApiError::field("messages", "there are none"));
        }
        if harmony::is_spoken(engine.tokenizer()) {
            return self.prepare_harmony(engine.tokenizer());
        }
        let Some(template) = engine.chat_template() else {
            let message =
                format!("the model {} has no chat template: use /v1/completions", seat.model.name());
            return Err(ApiError::new(Kind::Invalid, message).code("no_chat_template"));
        };
        let known = formats::of_template(template.source());
        let format = known.unwrap_or(&FORMATS[0]);
        let is_forced = self.choose()?;
        let forced =
            is_forced.then(|| Constraint::Lark(formats::forced(format, &self.tools, !self.one_call)));
        if known.is_none() {
            self.without_tools(format);
        }
        let described: Option<TemplateValue> = known
            .filter(|_| !self.tools.is_empty())
            .map(|_| self.tools.iter().map(Tool::described).collect());
        let variable = |(name, value): (&String, &Value)| (name.clone(), template_value(value));
        let text = template.render(&Chat {
            messages: self.messages.iter().map(template_message).collect(),
            tools: described,
            add_generation_prompt: self.is_prompt,
            variables: self.variables.iter().map(variable).collect(),
        })?;
        let tokens = engine.tokenizer().encode(&text, SpecialText::Tokens)?;
        let reasoning = begun_reasoning(&text);
        let tools: Vec<String> = self.tools.into_iter().map(|tool| tool.name).collect();
        Ok(Prepared {
            text,
            tokens,
            constraint: forced.or(self.constraint),
            reading: Reading::Marked {
                format: (!tools.is_empty()).then_some(format),
                tools,
                reasoning: reasoning.filter(|_| self.is_prompt),
            },
            visible: Vec::new(),
        })
    }

    /// The prompt in Harmony's format. What the answer must begin with is a part of it.
    fn prepare_harmony(mut self, tokenizer: &Tokenizer) -> ApiResult<Prepared> {
        let is_forced = self.choose()?;
        let (opening, constraint) = match (&self.tools[..], self.constraint) {
            _ if !self.is_prompt => (Opening::None, None),
            ([tool], _) if is_forced => {
                let schema = Constraint::JsonSchema(tool.arguments());
                (Opening::Call(tool.name.clone()), Some(schema))
            }
            (tools, _) if is_forced => (Opening::Recipient, Some(Constraint::Lark(harmony::one_call(tools)))),
            (_, Some(constraint)) => (Opening::Final, Some(constraint)),
            (_, None) => (Opening::Free, None),
        };
        let effort = Effort::of(&self.variables)?;
        let pieces = harmony::render(&self.messages, &self.tools, effort, &Today::now(), &opening)?;
        Ok(Prepared {
            text: harmony::text(&pieces),
            tokens: harmony::tokens(&pieces, tokenizer)?,
            constraint,
            reading: Reading::Harmony(opening.begun()),
            visible: harmony::markers(tokenizer),
        })
    }

    /// Keeps the tools that may be called. Returns whether one must be.
    fn choose(&mut self) -> ApiResult<bool> {
        match &self.choice {
            Choice::None => self.tools.clear(),
            Choice::Auto => {}
            Choice::Any if self.tools.is_empty() => {
                return Err(ApiError::field("tool_choice", "there are no tools"));
            }
            Choice::Any => {}
            Choice::Named(name) => {
                let name = name.clone();
                self.tools.retain(|tool| tool.name == name);
                if self.tools.is_empty() {
                    return Err(ApiError::field("tool_choice", format!("there is no tool `{name}`")));
                }
            }
        }
        if !self.tools.is_empty() && self.constraint.is_some() {
            let message = "tools and a format of the answer cannot both be met: choose `tool_choice: none` or another format";
            return Err(ApiError::field("response_format", message));
        }
        Ok(matches!(self.choice, Choice::Any | Choice::Named(_)))
    }

    /// Rewrites messages for a template that knows no tools: they become text.
    fn without_tools(&mut self, format: &Format) {
        for message in &mut self.messages {
            let Some(fields) = message.as_object_mut() else { continue };
            let content = fields.get("content").and_then(Value::as_str).unwrap_or_default().to_owned();
            if let Some(Value::Array(calls)) = fields.remove("tool_calls") {
                let mut text = content;
                for call in calls {
                    let function = &call["function"];
                    let arguments = function["arguments"].as_str().unwrap_or("{}");
                    let (name, key) = (&function["name"], format.arguments);
                    let call = format!("{{\"name\": {name}, \"{key}\": {arguments}}}");
                    text.push_str(&format!("\n{}{call}{}", format.begin, format.end));
                }
                fields.insert("content".to_owned(), Value::from(text.trim_start()));
            } else if fields.get("role").and_then(Value::as_str) == Some("tool") {
                let text = format!("<tool_response>{content}</tool_response>");
                fields.insert("role".to_owned(), Value::from("user"));
                fields.insert("content".to_owned(), Value::from(text));
            }
        }
        if self.tools.is_empty() {
            return;
        }
        let instructions = formats::instructions(format, &self.tools);
        match self.messages.first_mut().filter(|first| first["role"] == "system") {
            Some(system) => {
                let before = system["content"].as_str().unwrap_or_default();
                let both = format!("{before}\n\n{instructions}");
                system["content"] = Value::from(both);
            }
            None => self.messages.insert(0, json!({ "role": "system", "content": instructions })),
        }
    }
}

/// A value for a template. Every value of JSON is one.
fn template_value(value: &Value) -> TemplateValue {
    TemplateValue::deserialize(value).unwrap_or_default()
}

/// A message for a template.
pub(crate) fn template_message(message: &Value) -> TemplateValue {
    let Some(fields) = message.as_object() else { return template_value(message) };
    let field = |(name, value): (&String, &Value)| match value.as_array().filter(|_| name == "tool_calls") {
        Some(calls) => (name.clone(), calls.iter().map(template_call).collect()),
        None => (name.clone(), template_value(value)),
    };
    TemplateValue::from_pairs(fields.iter().map(field).collect::<Vec<_>>())
}

/// A call for a template: its arguments are an object, in the order in which the model wrote it.
fn template_call(call: &Value) -> TemplateValue {
    let function = &call["function"];
    // Checked when the message was read.
    let arguments = function["arguments"].as_str().and_then(|text| serde_json::from_str(text).ok());
    let arguments: TemplateValue = arguments.unwrap_or_default();
    let name = template_value(&function["name"]);
    TemplateValue::from_pairs([
        ("id", template_value(&call["id"])),
        ("type", TemplateValue::from("function")),
        ("function", TemplateValue::from_pairs([("name", name), ("arguments", arguments)])),
    ])
}

/// The row of [`REASONING`] whose begin marker ends a prompt.
pub(crate) fn begun_reasoning(prompt: &str) -> Option<usize> {
    let end = prompt.trim_end();
    REASONING.iter().position(|reasoning| end.ends_with(reasoning.begin))
}

/// A time as a number of milliseconds, for answers.
pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
