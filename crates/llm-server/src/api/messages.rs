//! Anthropic's `/v1/messages` and `/v1/messages/count_tokens`.

use std::sync::Arc;

use axum::Json as Reply;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::chat::{template_call, tool};
use crate::answer::{Answer, Piece, Seat};
use crate::app::App;
use crate::conversation::{Choice, Conversation, Limits};
use crate::engine::{FinishReason, TemplateValue, Usage};
use crate::error::{ApiError, ApiResult};
use crate::fields::{SamplingFields, Texts, stops};
use crate::formats::json_text;
use crate::http::Json;
use crate::ids;
use crate::parser::{Call, Part};
use crate::sse::{self, Gone, Sender};

/// A conversation to answer.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct MessagesRequest {
    /// The most tokens to generate
    #[schema(minimum = 1)]
    max_tokens: usize,
    /// Texts that end the answer
    stop_sequences: Option<Vec<String>>,
    /// Whether the answer comes in events
    stream: Option<bool>,
    #[serde(flatten)]
    conversation: CountRequest,
}

/// A conversation.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct CountRequest {
    /// The model's name
    model: String,
    /// What the model is told before
    system: Option<Blocks>,
    /// The conversation
    #[schema(min_items = 1)]
    messages: Vec<Message>,
    /// What the model may call
    tools: Option<Vec<ToolEntry>>,
    tool_choice: Option<ToolChoice>,
    thinking: Option<Thinking>,
}

/// A message.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = MessagesMessage)]
struct Message {
    role: Role,
    content: Blocks,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = MessagesRole)]
enum Role {
    User,
    Assistant,
}

/// A text, or blocks.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected a string or a list of blocks")]
enum Blocks {
    Text(String),
    Blocks(Vec<Block>),
}

/// A block of a message's content. Which fields it has depends on its type.
#[derive(Clone, Debug, Deserialize, ToSchema)]
struct Block {
    /// `text`, `thinking`, `redacted_thinking`, `tool_use` or `tool_result`
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    thinking: Option<String>,
    /// Of a call
    id: Option<String>,
    /// Of a called tool
    name: Option<String>,
    /// Of a called tool
    #[schema(value_type = Option<Object>)]
    input: Option<TemplateValue>,
    /// The call that a tool answers
    tool_use_id: Option<String>,
    /// A tool's answer: a text or blocks of text
    #[schema(value_type = Option<Object>)]
    content: Option<Value>,
}

/// A tool.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = MessagesTool)]
struct ToolEntry {
    name: String,
    description: Option<String>,
    /// A JSON schema
    #[schema(value_type = Option<Object>)]
    input_schema: Option<TemplateValue>,
}

/// Which tools must be called.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = MessagesToolChoice)]
struct ToolChoice {
    #[serde(rename = "type")]
    kind: ChoiceKind,
    /// Of the tool, for the type `tool`
    name: Option<String>,
    disable_parallel_tool_use: Option<bool>,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ChoiceKind {
    Auto,
    Any,
    Tool,
    None,
}

/// Whether the model reasons, if its template can be told.
#[derive(Debug, Deserialize, ToSchema)]
struct Thinking {
    /// `enabled`, `adaptive` or `disabled`
    #[serde(rename = "type")]
    kind: String,
}

impl Blocks {
    fn blocks(self) -> Vec<Block> {
        match self {
            Self::Text(text) => {
                let kind = "text".to_owned();
                let none = Block {
                    kind,
                    text: Some(text),
                    thinking: None,
                    id: None,
                    name: None,
                    input: None,
                    tool_use_id: None,
                    content: None,
                };
                vec![none]
            }
            Self::Blocks(blocks) => blocks,
        }
    }
}

fn missing(field: &str, name: &str) -> ApiError {
    ApiError::field(field, format!("a block without `{name}`"))
}

/// The text of a tool's answer.
fn result_text(content: Option<Value>, field: &str) -> ApiResult<String> {
    match content {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text),
        Some(Value::Array(blocks)) => {
            let texts = blocks.iter().map(|block| match block["type"].as_str() {
                Some("text") => block["text"].as_str().ok_or_else(|| missing(field, "text")),
                _ => Err(ApiError::field(field, "only text is understood")),
            });
            texts.collect()
        }
        Some(_) => Err(ApiError::field(field, "expected a string or a list of blocks")),
    }
}

/// Adds a message's blocks to the conversation, as messages that chat templates expect.
fn add(message: Message, field: &str, messages: &mut Vec<Value>) -> ApiResult<()> {
    let role = message.role;
    let (mut text, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
    let mut has_results = false;
    for block in message.content.blocks() {
        match (block.kind.as_str(), role) {
            ("text", _) => text.push_str(&block.text.ok_or_else(|| missing(field, "text"))?),
            ("thinking", Role::Assistant) => {
                reasoning.push_str(&block.thinking.ok_or_else(|| missing(field, "thinking"))?);
            }
            ("redacted_thinking", Role::Assistant) => {}
            ("tool_use", Role::Assistant) => {
                let name = block.name.ok_or_else(|| missing(field, "name"))?;
                let input = block.input.filter(|input| !input.is_none());
                let input = input.map_or_else(|| "{}".to_owned(), |input| json_text(&input));
                let call = template_call(&name, &input, block.id.as_deref());
                calls.push(call.map_err(|error| ApiError::field(field, error))?);
            }
            ("tool_result", Role::User) => {
                let id = block.tool_use_id.ok_or_else(|| missing(field, "tool_use_id"))?;
                let content = result_text(block.content, field)?;
                messages.push(json!({ "role": "tool", "tool_call_id": id, "content": content }));
                has_results = true;
            }
            (other, _) => {
                let who = if role == Role::User { "user" } else { "assistant" };
                return Err(ApiError::field(field, format!("a block of type `{other}` from the {who}")));
            }
        }
    }
    if role == Role::User {
        if !text.is_empty() || !has_results {
            messages.push(json!({ "role": "user", "content": text }));
        }
        return Ok(());
    }
    let mut fields = json!({ "role": "assistant", "content": text });
    if !reasoning.is_empty() {
        fields["reasoning_content"] = Value::from(reasoning);
    }
    if !calls.is_empty() {
        fields["tool_calls"] = Value::from(calls);
    }
    messages.push(fields);
    Ok(())
}

impl CountRequest {
    fn conversation(self) -> ApiResult<Conversation> {
        let mut messages = Vec::new();
        if let Some(system) = self.system {
            let blocks = system.blocks().into_iter();
            let texts = blocks.map(|block| match block.kind.as_str() {
                "text" => block.text.ok_or_else(|| missing("system", "text")),
                other => Err(ApiError::field("system", format!("a block of type `{other}`"))),
            });
            let text: String = texts.collect::<ApiResult<_>>()?;
            messages.push(json!({ "role": "system", "content": text }));
        }
        if self.messages.is_empty() {
            return Err(ApiError::field("messages", "there are none"));
        }
        for (index, message) in self.messages.into_iter().enumerate() {
            add(message, &format!("messages[{index}].content"), &mut messages)?;
        }
        let entries = self.tools.unwrap_or_default().into_iter().enumerate();
        let tools = entries.map(|(index, entry)| {
            tool(entry.name, entry.description, entry.input_schema)
                .map_err(|problem| ApiError::field(format!("tools[{index}]"), problem))
        });
        let tools = tools.collect::<ApiResult<_>>()?;
        let one_call =
            self.tool_choice.as_ref().and_then(|choice| choice.disable_parallel_tool_use) == Some(true);
        let choice = match self.tool_choice {
            None => Choice::Auto,
            Some(choice) => match (choice.kind, choice.name) {
                (ChoiceKind::Auto, _) => Choice::Auto,
                (ChoiceKind::Any, _) => Choice::Any,
                (ChoiceKind::None, _) => Choice::None,
                (ChoiceKind::Tool, Some(name)) => Choice::Named(name),
                (ChoiceKind::Tool, None) => return Err(ApiError::field("tool_choice.name", "it is missing")),
            },
        };
        let mut variables = Map::new();
        if let Some(thinking) = self.thinking {
            let is_on = match thinking.kind.as_str() {
                "enabled" | "adaptive" => true,
                "disabled" => false,
                other => return Err(ApiError::field("thinking.type", format!("`{other}` is not known"))),
            };
            variables.insert("enable_thinking".to_owned(), Value::from(is_on));
        }
        Ok(Conversation { messages, tools, choice, one_call, variables, constraint: None, is_prompt: true })
    }
}

/// Counts the tokens of a conversation.
pub(crate) async fn count_tokens(State(app): State<Arc<App>>, body: Json) -> ApiResult<Reply<Value>> {
    let asked: CountRequest = body.read()?;
    let model = asked.model.clone();
    let conversation = asked.conversation()?;
    let seat = Seat::take(&app, Some(&model)).await?;
    let prepared = seat.run(move |seat| conversation.prepare(seat)).await?;
    Ok(Reply(json!({ "input_tokens": prepared.tokens.len() })))
}

/// Answers a conversation.
pub(crate) async fn messages(State(app): State<Arc<App>>, body: Json) -> ApiResult<Response> {
    // First the inner fields, whose errors then have paths.
    let conversation: CountRequest = body.read()?;
    let asked: MessagesRequest = body.read()?;
    let sampling = body.read::<SamplingFields>()?.over(&app.settings.sampling)?;
    if asked.max_tokens == 0 {
        return Err(ApiError::field("max_tokens", "it is 0"));
    }
    let limits = Limits {
        sampling,
        max_tokens: Some(asked.max_tokens),
        stop: stops("stop_sequences", asked.stop_sequences.map(Texts::Many))?,
        logprobs: None,
    };
    let model = asked.conversation.model;
    let conversation = conversation.conversation()?;
    let one_call = conversation.one_call;
    let seat = Seat::take(&app, Some(&model)).await?;
    let prepared = seat.run(move |seat| conversation.prepare(seat)).await?;
    let request = prepared.request(&seat, &limits)?;
    let answer = seat.answer(request, Some(prepared.reader()))?;
    let head = Head { id: ids::new("msg_"), model: seat.model.name().to_owned(), one_call };
    if asked.stream == Some(true) {
        let prompt = prepared.tokens.len();
        return Ok(sse::stream(&app, sse::event_ping(), |sender| events(head, answer, prompt, sender)));
    }
    let whole = answer.whole().await?;
    let mut blocks = Vec::new();
    if !whole.reasoning.is_empty() {
        blocks.push(json!({ "type": "thinking", "thinking": whole.reasoning, "signature": "" }));
    }
    if !whole.content.is_empty() {
        blocks.push(json!({ "type": "text", "text": whole.content, "citations": null }));
    }
    let calls = if one_call { &whole.calls[..whole.calls.len().min(1)] } else { &whole.calls[..] };
    for call in calls {
        let input: Value = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}));
        blocks
            .push(json!({ "type": "tool_use", "id": ids::new("toolu_"), "name": call.name, "input": input }));
    }
    let (reason, sequence) = stop_reason(whole.reason.as_ref(), !calls.is_empty());
    let mut message = head.message(blocks);
    message["stop_reason"] = Value::from(reason);
    message["stop_sequence"] = Value::from(sequence);
    message["usage"] = usage_of(&whole.usage);
    Ok(Reply(message).into_response())
}

struct Head {
    id: String,
    model: String,
    one_call: bool,
}

impl Head {
    fn message(&self, content: Vec<Value>) -> Value {
        json!({
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": null,
            "stop_sequence": null,
        })
    }
}

/// Why an answer ended, in Anthropic's words, and the text that ended it.
fn stop_reason(reason: Option<&FinishReason>, has_calls: bool) -> (&'static str, Option<String>) {
    match reason {
        Some(FinishReason::Length) => ("max_tokens", None),
        Some(FinishReason::StopSequence(text)) => ("stop_sequence", Some(text.clone())),
        _ if has_calls => ("tool_use", None),
        _ => ("end_turn", None),
    }
}

fn usage_of(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.prompt_tokens - usage.reused_tokens.min(usage.prompt_tokens),
        "cache_read_input_tokens": usage.reused_tokens,
        "cache_creation_input_tokens": 0,
        "output_tokens": usage.generated_tokens,
    })
}

/// The blocks of a stream: at most one is open.
struct Open<'a> {
    sender: &'a Sender,
    index: usize,
    open: Option<&'static str>,
}

impl Open<'_> {
    async fn open(&mut self, kind: &'static str, block: Value) -> Result<(), Gone> {
        if self.open == Some(kind) {
            return Ok(());
        }
        self.close().await?;
        self.open = Some(kind);
        let start = json!({ "type": "content_block_start", "index": self.index, "content_block": block });
        self.sender.named(&start).await
    }

    async fn delta(&self, delta: Value) -> Result<(), Gone> {
        self.sender
            .named(&json!({ "type": "content_block_delta", "index": self.index, "delta": delta }))
            .await
    }

    async fn close(&mut self) -> Result<(), Gone> {
        match self.open.take() {
            None => return Ok(()),
            Some("thinking") => self.delta(json!({ "type": "signature_delta", "signature": "" })).await?,
            Some(_) => {}
        }
        self.sender.named(&json!({ "type": "content_block_stop", "index": self.index })).await?;
        self.index += 1;
        Ok(())
    }

    async fn text(&mut self, text: String) -> Result<(), Gone> {
        self.open("text", json!({ "type": "text", "text": "" })).await?;
        self.delta(json!({ "type": "text_delta", "text": text })).await
    }

    async fn thinking(&mut self, text: String) -> Result<(), Gone> {
        self.open("thinking", json!({ "type": "thinking", "thinking": "", "signature": "" })).await?;
        self.delta(json!({ "type": "thinking_delta", "thinking": text })).await
    }

    async fn call(&mut self, call: Call) -> Result<(), Gone> {
        self.close().await?;
        let block = json!({ "type": "tool_use", "id": ids::new("toolu_"), "name": call.name, "input": {} });
        self.open("tool_use", block).await?;
        self.delta(json!({ "type": "input_json_delta", "partial_json": call.arguments })).await?;
        self.close().await
    }
}

async fn events(head: Head, mut answer: Answer, prompt: usize, sender: Sender) -> Result<(), Gone> {
    let mut message = head.message(Vec::new());
    message["usage"] = json!({ "input_tokens": prompt, "output_tokens": 0 });
    sender.named(&json!({ "type": "message_start", "message": message })).await?;
    let mut blocks = Open { sender: &sender, index: 0, open: None };
    let mut calls = 0;
    loop {
        let piece = match answer.next().await {
            Ok(Some(piece)) => piece,
            Ok(None) => return Ok(()),
            Err(error) => return sender.named(&error.anthropic()).await,
        };
        match piece {
            Piece::Progress { .. } => sender.named(&json!({ "type": "ping" })).await?,
            Piece::Part(Part::Content(text), _) => blocks.text(text).await?,
            Piece::Part(Part::Reasoning(text), _) => blocks.thinking(text).await?,
            Piece::Part(Part::Call(_), _) if head.one_call && calls > 0 => {}
            Piece::Part(Part::Call(call), _) => {
                calls += 1;
                blocks.call(call).await?;
            }
            Piece::End { reason, usage, .. } => {
                blocks.close().await?;
                let (reason, sequence) = stop_reason(Some(&reason), calls > 0);
                let delta = json!({ "stop_reason": reason, "stop_sequence": sequence });
                let delta = json!({ "type": "message_delta", "delta": delta, "usage": usage_of(&usage) });
                sender.named(&delta).await?;
                return sender.named(&json!({ "type": "message_stop" })).await;
            }
        }
    }
}
