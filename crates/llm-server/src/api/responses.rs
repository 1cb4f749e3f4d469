//! OpenAI's `/v1/responses`. Nothing is stored: every request has the whole conversation.

use std::sync::Arc;

use axum::Json as Reply;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::chat::{max_tokens, template_call, tool};
use crate::answer::{Answer, Piece, Seat};
use crate::app::App;
use crate::conversation::{Choice, Conversation, Limits};
use crate::engine::{FinishReason, TemplateValue, Usage};
use crate::error::{ApiError, ApiResult};
use crate::fields::{Content, SamplingFields, response_format};
use crate::http::Json;
use crate::ids;
use crate::parser::{Call, Part};
use crate::sse::{self, Gone, Sender};

/// A conversation to answer.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ResponsesRequest {
    /// The model's name; without one, the server's first
    model: Option<String>,
    /// A text, or the items of a conversation
    input: Input,
    /// What the model is told before
    instructions: Option<String>,
    /// The most tokens to generate
    max_output_tokens: Option<usize>,
    /// Whether the answer comes in events
    stream: Option<bool>,
    /// What the model may call
    tools: Option<Vec<ToolEntry>>,
    /// `none`, `auto`, `required`, or `{"type": "function", "name": …}`
    #[schema(value_type = Option<Object>)]
    tool_choice: Option<Value>,
    /// Whether an answer may have several calls
    parallel_tool_calls: Option<bool>,
    /// The answer's format, in `format`
    text: Option<TextFields>,
    reasoning: Option<ReasoningFields>,
    /// Not supported
    previous_response_id: Option<String>,
    /// Not supported
    background: Option<bool>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected a string or a list of items")]
enum Input {
    Text(String),
    Items(Vec<Item>),
}

/// An item of a conversation. Which fields it has depends on its type.
#[derive(Debug, Deserialize, ToSchema)]
struct Item {
    /// `message` (so by default), `function_call`, `function_call_output` or `reasoning`
    #[serde(rename = "type")]
    kind: Option<String>,
    role: Option<String>,
    content: Option<Content>,
    /// Of a called function
    name: Option<String>,
    /// Of a called function, JSON as text
    arguments: Option<String>,
    call_id: Option<String>,
    /// Of a function
    output: Option<Content>,
}

/// A tool.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ResponsesTool)]
struct ToolEntry {
    /// Only `function` is supported
    #[serde(rename = "type")]
    kind: String,
    name: Option<String>,
    description: Option<String>,
    /// A JSON schema
    #[schema(value_type = Option<Object>)]
    parameters: Option<TemplateValue>,
}

#[derive(Debug, Deserialize, ToSchema)]
struct TextFields {
    #[schema(value_type = Option<Object>)]
    format: Option<Map<String, Value>>,
}

#[derive(Debug, Deserialize, ToSchema)]
struct ReasoningFields {
    /// `none` turns reasoning off, if the template can
    effort: Option<String>,
}

/// Adds an item to the conversation, as messages that chat templates expect.
fn add(item: Item, field: &str, messages: &mut Vec<Value>) -> ApiResult<()> {
    let missing = |name: &str| ApiError::field(format!("{field}.{name}"), "it is missing");
    match item.kind.as_deref().unwrap_or("message") {
        "message" => {
            let role = match item.role.as_deref() {
                Some("developer" | "system") => "system",
                Some("user") => "user",
                Some("assistant") => "assistant",
                Some(other) => {
                    return Err(ApiError::field(format!("{field}.role"), format!("`{other}` is not known")));
                }
                None => return Err(missing("role")),
            };
            let content =
                item.content.ok_or_else(|| missing("content"))?.text(&format!("{field}.content"))?;
            messages.push(json!({ "role": role, "content": content }));
        }
        "function_call" => {
            let name = item.name.ok_or_else(|| missing("name"))?;
            let arguments =
                item.arguments.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| "{}".to_owned());
            let call = template_call(&name, &arguments, item.call_id.as_deref())
                .map_err(|error| ApiError::field(format!("{field}.arguments"), error))?;
            // Calls of one answer are one message.
            match messages.last_mut().filter(|last| last["role"] == "assistant") {
                Some(last) => match last["tool_calls"].as_array_mut() {
                    Some(calls) => calls.push(call),
                    None => last["tool_calls"] = json!([call]),
                },
                None => messages.push(json!({ "role": "assistant", "content": "", "tool_calls": [call] })),
            }
        }
        "function_call_output" => {
            let id = item.call_id.ok_or_else(|| missing("call_id"))?;
            let output = item.output.ok_or_else(|| missing("output"))?.text(&format!("{field}.output"))?;
            messages.push(json!({ "role": "tool", "tool_call_id": id, "content": output }));
        }
        // Templates drop the reasoning of earlier answers.
        "reasoning" => {}
        other => return Err(ApiError::field(format!("{field}.type"), format!("`{other}` is not supported"))),
    }
    Ok(())
}

fn choice(value: Option<&Value>) -> ApiResult<Choice> {
    match value {
        None | Some(Value::Null) => Ok(Choice::Auto),
        Some(value) => match (value.as_str(), value["name"].as_str()) {
            (Some("auto"), _) => Ok(Choice::Auto),
            (Some("none"), _) => Ok(Choice::None),
            (Some("required"), _) => Ok(Choice::Any),
            (None, Some(name)) => Ok(Choice::Named(name.to_owned())),
            _ => Err(ApiError::field(
                "tool_choice",
                "expected none, auto, required, or a function's name in an object",
            )),
        },
    }
}

impl ResponsesRequest {
    fn conversation(self) -> ApiResult<Conversation> {
        if self.previous_response_id.is_some() {
            let message = "responses are not stored: send the whole conversation";
            return Err(ApiError::field("previous_response_id", message));
        }
        if self.background == Some(true) {
            return Err(ApiError::field("background", "it is not supported"));
        }
        let mut messages = Vec::new();
        messages.extend(self.instructions.map(|text| json!({ "role": "system", "content": text })));
        match self.input {
            Input::Text(text) => messages.push(json!({ "role": "user", "content": text })),
            Input::Items(items) => {
                for (index, item) in items.into_iter().enumerate() {
                    add(item, &format!("input[{index}]"), &mut messages)?;
                }
            }
        }
        let entries = self.tools.unwrap_or_default().into_iter().enumerate();
        let tools = entries.map(|(index, entry)| {
            if entry.kind != "function" {
                let message = format!("the type `{}` is not `function`", entry.kind);
                return Err(ApiError::field(format!("tools[{index}].type"), message));
            }
            tool(entry.name.unwrap_or_default(), entry.description, entry.parameters)
                .map_err(|problem| ApiError::field(format!("tools[{index}]"), problem))
        });
        let tools = tools.collect::<ApiResult<_>>()?;
        let mut variables = Map::new();
        if let Some(effort) = self.reasoning.and_then(|reasoning| reasoning.effort) {
            variables.insert("enable_thinking".to_owned(), Value::from(effort != "none"));
            variables.insert("reasoning_effort".to_owned(), Value::from(effort));
        }
        let format = self.text.and_then(|text| text.format);
        let constraint = format.map(|format| response_format(&format, "text.format")).transpose()?.flatten();
        Ok(Conversation {
            messages,
            tools,
            choice: choice(self.tool_choice.as_ref())?,
            one_call: self.parallel_tool_calls == Some(false),
            variables,
            constraint,
            is_prompt: true,
        })
    }
}

/// Answers a conversation.
pub(crate) async fn responses(State(app): State<Arc<App>>, body: Json) -> ApiResult<Response> {
    let asked: ResponsesRequest = body.read()?;
    let sampling = body.read::<SamplingFields>()?.over(&app.settings.sampling)?;
    let max_tokens = max_tokens("max_output_tokens", asked.max_output_tokens)?;
    let limits = Limits { sampling, max_tokens, stop: Vec::new(), logprobs: None };
    let (model, stream) = (asked.model.clone(), asked.stream);
    let mut head = Head {
        id: ids::new("resp_"),
        created: ids::now(),
        model: String::new(),
        instructions: asked.instructions.clone(),
        parallel: asked.parallel_tool_calls != Some(false),
        max_tokens,
    };
    let conversation = asked.conversation()?;
    let seat = Seat::take(&app, model.as_deref()).await?;
    seat.model.name().clone_into(&mut head.model);
    let prepared = seat.run(move |seat| conversation.prepare(seat)).await?;
    let answer = seat.answer(prepared.request(&seat, &limits)?, Some(prepared.reader()))?;
    if stream == Some(true) {
        return Ok(sse::stream(&app, sse::comment_ping(), |sender| events(head, answer, sender)));
    }
    let whole = answer.whole().await?;
    let mut output = Vec::new();
    if !whole.reasoning.is_empty() {
        output.push(reasoning_item(&ids::new("rs_"), Some(&whole.reasoning)));
    }
    if !whole.content.is_empty() {
        output.push(message_item(&ids::new("msg_"), Some(&whole.content)));
    }
    let calls = whole.calls.iter().take(if head.parallel { usize::MAX } else { 1 });
    output.extend(calls.map(|call| call_item(&ids::new("fc_"), &ids::new("call_"), call, true)));
    let response = head.response(whole.reason.as_ref(), output, Some(&whole.usage));
    Ok(Reply(response).into_response())
}

struct Head {
    id: String,
    created: u64,
    model: String,
    instructions: Option<String>,
    parallel: bool,
    max_tokens: Option<usize>,
}

impl Head {
    /// The response; without usage, it is in progress.
    fn response(&self, reason: Option<&FinishReason>, output: Vec<Value>, usage: Option<&Usage>) -> Value {
        let is_cut = reason == Some(&FinishReason::Length);
        let status = match usage {
            None => "in_progress",
            Some(_) if is_cut => "incomplete",
            Some(_) => "completed",
        };
        json!({
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": status,
            "error": null,
            "incomplete_details": is_cut.then(|| json!({ "reason": "max_output_tokens" })),
            "instructions": self.instructions,
            "max_output_tokens": self.max_tokens,
            "model": self.model,
            "output": output,
            "parallel_tool_calls": self.parallel,
            "previous_response_id": null,
            "store": false,
            "tool_choice": "auto",
            "tools": [],
            "metadata": {},
            "temperature": null,
            "top_p": null,
            "usage": usage.map(usage_of),
        })
    }
}

fn usage_of(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": { "cached_tokens": usage.reused_tokens },
        "output_tokens": usage.generated_tokens,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": usage.prompt_tokens + usage.generated_tokens,
    })
}

fn status(is_complete: bool) -> &'static str {
    if is_complete { "completed" } else { "in_progress" }
}

fn text_part(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}

/// A message; without text, it is in progress.
fn message_item(id: &str, text: Option<&str>) -> Value {
    let content: Vec<Value> = text.iter().map(|text| text_part(text)).collect();
    let status = status(text.is_some());
    json!({ "type": "message", "id": id, "status": status, "role": "assistant", "content": content })
}

/// Reasoning; without text, it is in progress.
fn reasoning_item(id: &str, text: Option<&str>) -> Value {
    let content: Vec<Value> =
        text.iter().map(|text| json!({ "type": "reasoning_text", "text": text })).collect();
    json!({ "type": "reasoning", "id": id, "status": status(text.is_some()), "summary": [], "content": content })
}

fn call_item(id: &str, call_id: &str, call: &Call, is_complete: bool) -> Value {
    json!({
        "type": "function_call",
        "id": id,
        "call_id": call_id,
        "status": status(is_complete),
        "name": call.name,
        "arguments": if is_complete { call.arguments.as_str() } else { "" },
    })
}

/// The items of a stream: at most one is open.
struct Open<'a> {
    sender: &'a Sender,
    number: u64,
    output: Vec<Value>,
    open: Option<(Kind, String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Message,
    Reasoning,
}

impl Open<'_> {
    /// Sends an event, with its number.
    async fn send(&mut self, kind: &str, mut event: Value) -> Result<(), Gone> {
        event["type"] = Value::from(kind);
        event["sequence_number"] = Value::from(self.number);
        self.number += 1;
        self.sender.named(&event).await
    }

    async fn text(&mut self, kind: Kind, text: &str) -> Result<(), Gone> {
        if self.open.as_ref().is_none_or(|(open, ..)| *open != kind) {
            self.close().await?;
            let id = ids::new(if kind == Kind::Message { "msg_" } else { "rs_" });
            let item =
                if kind == Kind::Message { message_item(&id, None) } else { reasoning_item(&id, None) };
            let index = self.output.len();
            self.send("response.output_item.added", json!({ "output_index": index, "item": item })).await?;
            let part = if kind == Kind::Message {
                text_part("")
            } else {
                json!({ "type": "reasoning_text", "text": "" })
            };
            let event = json!({ "item_id": id, "output_index": index, "content_index": 0, "part": part });
            self.send("response.content_part.added", event).await?;
            self.open = Some((kind, id, String::new()));
        }
        let Some((_, id, whole)) = &mut self.open else { return Ok(()) };
        whole.push_str(text);
        let mut event =
            json!({ "item_id": id, "output_index": self.output.len(), "content_index": 0, "delta": text });
        let name = if kind == Kind::Message {
            "response.output_text.delta"
        } else {
            "response.reasoning_text.delta"
        };
        if kind == Kind::Message {
            event["logprobs"] = json!([]);
        }
        self.send(name, event).await
    }

    async fn close(&mut self) -> Result<(), Gone> {
        let Some((kind, id, text)) = self.open.take() else { return Ok(()) };
        let index = self.output.len();
        let (name, part, item) = match kind {
            Kind::Message => ("response.output_text.done", text_part(&text), message_item(&id, Some(&text))),
            Kind::Reasoning => (
                "response.reasoning_text.done",
                json!({ "type": "reasoning_text", "text": text }),
                reasoning_item(&id, Some(&text)),
            ),
        };
        let mut done = json!({ "item_id": id, "output_index": index, "content_index": 0, "text": text });
        if kind == Kind::Message {
            done["logprobs"] = json!([]);
        }
        self.send(name, done).await?;
        let event = json!({ "item_id": id, "output_index": index, "content_index": 0, "part": part });
        self.send("response.content_part.done", event).await?;
        self.send("response.output_item.done", json!({ "output_index": index, "item": item })).await?;
        self.output.push(item);
        Ok(())
    }

    async fn call(&mut self, call: &Call) -> Result<(), Gone> {
        self.close().await?;
        let (id, call_id) = (ids::new("fc_"), ids::new("call_"));
        let index = self.output.len();
        let item = call_item(&id, &call_id, call, false);
        self.send("response.output_item.added", json!({ "output_index": index, "item": item })).await?;
        let delta = json!({ "item_id": id, "output_index": index, "delta": call.arguments });
        self.send("response.function_call_arguments.delta", delta).await?;
        let done =
            json!({ "item_id": id, "output_index": index, "name": call.name, "arguments": call.arguments });
        self.send("response.function_call_arguments.done", done).await?;
        let item = call_item(&id, &call_id, call, true);
        self.send("response.output_item.done", json!({ "output_index": index, "item": item })).await?;
        self.output.push(item);
        Ok(())
    }
}

async fn events(head: Head, mut answer: Answer, sender: Sender) -> Result<(), Gone> {
    let mut open = Open { sender: &sender, number: 0, output: Vec::new(), open: None };
    let begun = head.response(None, Vec::new(), None);
    open.send("response.created", json!({ "response": begun })).await?;
    open.send("response.in_progress", json!({ "response": begun })).await?;
    let mut calls = 0;
    loop {
        let piece = match answer.next().await {
            Ok(Some(piece)) => piece,
            Ok(None) => return Ok(()),
            Err(error) => {
                let mut failed = head.response(None, std::mem::take(&mut open.output), None);
                failed["status"] = Value::from("failed");
                failed["error"] = json!({ "code": "server_error", "message": error.message });
                return open.send("response.failed", json!({ "response": failed })).await;
            }
        };
        match piece {
            Piece::Progress { tokens, of } => sender.comment(&format!("prompt {tokens}/{of}")).await?,
            Piece::Part(Part::Content(text), _) => open.text(Kind::Message, &text).await?,
            Piece::Part(Part::Reasoning(text), _) => open.text(Kind::Reasoning, &text).await?,
            Piece::Part(Part::Call(_), _) if !head.parallel && calls > 0 => {}
            Piece::Part(Part::Call(call), _) => {
                calls += 1;
                open.call(&call).await?;
            }
            Piece::End { reason, usage, .. } => {
                open.close().await?;
                let output = std::mem::take(&mut open.output);
                let response = head.response(Some(&reason), output, Some(&usage));
                let name = match reason {
                    FinishReason::Length => "response.incomplete",
                    _ => "response.completed",
                };
                return open.send(name, json!({ "response": response })).await;
            }
        }
    }
}
