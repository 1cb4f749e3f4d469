//! How models write tool calls and reasoning: one table.

use serde_json::{Value, json};

use crate::engine::TemplateValue;

/// A tool that a model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// The function's name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// The JSON schema of its arguments, in the order in which it was given.
    pub parameters: TemplateValue,
}

impl Tool {
    /// As OpenAI describes it, and as chat templates expect it.
    #[must_use]
    pub fn described(&self) -> TemplateValue {
        let mut function = vec![("name", TemplateValue::from(self.name.as_str()))];
        function.extend(self.description.as_deref().map(|text| ("description", TemplateValue::from(text))));
        function.push(("parameters", self.parameters.clone()));
        let function = TemplateValue::from_pairs(function);
        TemplateValue::from_pairs([("type", TemplateValue::from("function")), ("function", function)])
    }

    /// The schema of its arguments.
    pub(crate) fn arguments(&self) -> Value {
        // A schema came as JSON, so it can be written as JSON.
        serde_json::to_value(&self.parameters).unwrap_or_else(|_| json!({ "type": "object" }))
    }

    /// The schema of a call.
    fn schema(&self, format: &Format) -> Value {
        json!({
            "type": "object",
            "properties": { "name": { "const": self.name }, format.arguments: self.arguments() },
            "required": ["name", format.arguments],
            "additionalProperties": false,
        })
    }
}

/// How the text of a call is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One JSON object between a begin and an end marker.
    Enclosed,
    /// A JSON array of calls, or a name and its arguments, after the begin marker.
    ArrayOrNamed,
    /// JSON objects with semicolons between them, with or without the begin marker, from the answer's
    /// start.
    Bare,
}

/// A row of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Format {
    /// The name, for settings and messages.
    pub name: &'static str,
    /// A chat template with this text teaches this format.
    pub in_template: &'static str,
    /// What begins a call.
    pub begin: &'static str,
    /// What ends one; empty if the JSON's end does.
    pub end: &'static str,
    /// What stands between a name and its arguments.
    pub separator: &'static str,
    /// The layout.
    pub layout: Layout,
    /// The key of the arguments.
    pub arguments: &'static str,
}

/// All formats. The first whose text is in a chat template is that model's; models whose template knows no
/// tools are taught the first.
pub const FORMATS: &[Format] = &[
    Format {
        name: "hermes",
        in_template: "<tool_call>",
        begin: "<tool_call>",
        end: "</tool_call>",
        separator: "",
        layout: Layout::Enclosed,
        arguments: "arguments",
    },
    Format {
        name: "mistral",
        in_template: "[TOOL_CALLS]",
        begin: "[TOOL_CALLS]",
        end: "",
        separator: "[ARGS]",
        layout: Layout::ArrayOrNamed,
        arguments: "arguments",
    },
    Format {
        name: "llama3",
        in_template: "<|python_tag|>",
        begin: "<|python_tag|>",
        end: "",
        separator: ";",
        layout: Layout::Bare,
        arguments: "parameters",
    },
];

/// The markers of reasoning.
#[derive(Debug, PartialEq, Eq)]
pub struct Reasoning {
    /// What begins it.
    pub begin: &'static str,
    /// What ends it.
    pub end: &'static str,
}

/// All markers of reasoning.
pub const REASONING: &[Reasoning] = &[
    Reasoning { begin: "<think>", end: "</think>" },
    Reasoning { begin: "<|START_THINKING|>", end: "<|END_THINKING|>" },
    Reasoning { begin: "[THINK]", end: "[/THINK]" },
];

/// The format of a chat template. `None` if the template knows no tools.
#[must_use]
pub fn of_template(source: &str) -> Option<&'static Format> {
    if !source.contains("tools") {
        return None;
    }
    FORMATS.iter().find(|format| source.contains(format.in_template)).or_else(|| {
        // Templates of Llama 3.2 teach bare JSON without the marker.
        let bare = source.contains("\"parameters\"") && source.contains("<|start_header_id|>");
        FORMATS.iter().find(|format| bare && format.layout == Layout::Bare)
    })
}

/// The instructions for a model whose template knows no tools, for its system message.
#[must_use]
pub fn instructions(format: &Format, tools: &[Tool]) -> String {
    let mut text = String::from("You can call these functions:\n");
    for tool in tools {
        text.push_str(&json_text(&tool.described()));
        text.push('\n');
    }
    let example = json!({ "name": "NAME", format.arguments: {} });
    text.push_str(&format!(
        "To call one, answer only with a JSON object of its name and arguments: {}{example}{}",
        format.begin, format.end
    ));
    text
}

/// A value as JSON.
pub(crate) fn json_text(value: &TemplateValue) -> String {
    // Values that came as JSON can be written as JSON.
    serde_json::to_string(value).unwrap_or_default()
}

/// A grammar of answers that call at least one of these tools and do nothing else, in Lark as `llguidance`
/// reads it. `several` allows more than one call.
#[must_use]
pub fn forced(format: &Format, tools: &[Tool], several: bool) -> String {
    let calls: Vec<Value> = tools.iter().map(|tool| tool.schema(format)).collect();
    let call = if calls.len() == 1 { calls[0].clone() } else { json!({ "anyOf": calls }) };
    let begin = Value::from(format.begin);
    match format.layout {
        Layout::Enclosed => {
            let repeat = if several { "call (\"\\n\" call)*" } else { "call" };
            let end = Value::from(format.end);
            format!("start: {repeat}\ncall: {begin} \"\\n\" body \"\\n\" {end}\nbody: %json {call}\n")
        }
        Layout::ArrayOrNamed => {
            let most = if several { json!({}) } else { json!({ "maxItems": 1 }) };
            let mut array = json!({ "type": "array", "items": call, "minItems": 1 });
            if let (Some(array), Some(most)) = (array.as_object_mut(), most.as_object()) {
                array.extend(most.clone());
            }
            format!("start: {begin} body\nbody: %json {array}\n")
        }
        Layout::Bare => {
            let repeat = if several { "body (\"; \" body)*" } else { "body" };
            format!("start: {repeat}\nbody: %json {call}\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_chooses_its_format() {
        let name = |source: &str| of_template(source).map(|format| format.name);
        assert_eq!(name("{% if tools %}<tool_call>{% endif %}"), Some("hermes"));
        assert_eq!(name("{% if tools %}[AVAILABLE_TOOLS]{% endif %}[TOOL_CALLS]"), Some("mistral"));
        assert_eq!(name("{% if tools %}<|python_tag|>"), Some("llama3"));
        assert_eq!(name("<|start_header_id|> tools {\"name\": ..., \"parameters\": ...}"), Some("llama3"));
        assert_eq!(name("{{ messages }}"), None);
    }

    #[test]
    fn forced_calls_name_the_tools() {
        let tools = [Tool {
            name: "f".to_owned(),
            description: None,
            parameters: TemplateValue::from_pairs([("type", "object")]),
        }];
        for format in FORMATS {
            for several in [false, true] {
                let grammar = forced(format, &tools, several);
                assert!(grammar.starts_with("start: ") && grammar.contains("\"const\":\"f\""), "{grammar}");
            }
        }
        assert!(instructions(&FORMATS[0], &tools).contains("\"name\":\"f\""));
    }
}
