//! `/v1/chat/completions`.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures_util::future::try_join_all;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::answer::{Answer, Piece, Seat, Token, total};
use crate::app::App;
use crate::conversation::{Choice, Conversation, Limits, millis};
use crate::engine::{FinishReason, TemplateValue, Usage};
use crate::error::{ApiError, ApiResult};
use crate::fields::{ConstraintFields, Content, SamplingFields, StreamOptions, Texts, stops};
use crate::formats::Tool;
use crate::http::Json;
use crate::ids;
use crate::parser::{Call, Part};
use crate::sse::{self, Gone, Sender};

/// The most alternatives of a token.
pub(crate) const MOST_LOGPROBS: usize = 20;

/// A conversation to answer.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ChatRequest {
    /// The model's name; without one, the server's first
    model: Option<String>,
    /// The conversation
    #[schema(min_items = 1)]
    messages: Vec<Message>,
    /// The most tokens to generate
    max_tokens: Option<usize>,
    /// The same, by its newer name
    max_completion_tokens: Option<usize>,
    /// The number of answers
    #[schema(minimum = 1)]
    n: Option<usize>,
    /// Whether the answer comes in events
    stream: Option<bool>,
    /// What to add to these
    stream_options: Option<StreamOptions>,
    /// Texts that end the answer
    stop: Option<Texts>,
    /// Whether tokens have probabilities
    logprobs: Option<bool>,
    /// The number of alternatives
    #[schema(maximum = 20)]
    top_logprobs: Option<usize>,
    /// What the model may call
    tools: Option<Vec<ToolEntry>>,
    /// `none`, `auto`, `required`, or the name of a function
    #[schema(value_type = Option<Object>)]
    tool_choice: Option<ToolChoice>,
    /// Whether an answer may have several calls
    parallel_tool_calls: Option<bool>,
    /// `none` turns reasoning off, if the template can
    reasoning_effort: Option<String>,
    /// More variables of the chat template
    #[schema(value_type = Option<Object>)]
    chat_template_kwargs: Option<Map<String, Value>>,
}

/// A message.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct Message {
    role: Role,
    content: Option<Content>,
    /// The model's earlier reasoning
    #[serde(alias = "reasoning")]
    reasoning_content: Option<String>,
    /// What the model has called
    tool_calls: Option<Vec<ToolCall>>,
    /// The call that a tool answers
    tool_call_id: Option<String>,
    name: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Role {
    System,
    Developer,
    User,
    Assistant,
    Tool,
}

/// A call in an earlier answer.
#[derive(Debug, Deserialize, ToSchema)]
struct ToolCall {
    id: Option<String>,
    function: FunctionCall,
}

#[derive(Debug, Deserialize, ToSchema)]
struct FunctionCall {
    name: String,
    /// JSON as text
    arguments: Option<String>,
}

/// A tool.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ToolEntry {
    /// Always `function`
    #[serde(rename = "type")]
    kind: Option<String>,
    function: Function,
}

#[derive(Debug, Deserialize, ToSchema)]
struct Function {
    name: String,
    description: Option<String>,
    /// A JSON schema
    #[schema(value_type = Option<Object>)]
    parameters: Option<TemplateValue>,
}

/// Which tools must be called.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected none, auto, required, or a function's name in an object")]
enum ToolChoice {
    Word(ChoiceWord),
    Function { function: Named },
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ChoiceWord {
    None,
    Auto,
    Required,
}

#[derive(Debug, Deserialize)]
struct Named {
    name: String,
}

/// A conversation's messages as templates expect them.
pub(crate) fn messages(messages: &[Message]) -> ApiResult<Vec<Value>> {
    let with_index = |(index, message): (usize, &Message)| message_of(message, &format!("messages[{index}]"));
    messages.iter().enumerate().map(with_index).collect()
}

fn message_of(message: &Message, field: &str) -> ApiResult<Value> {
    let role = match message.role {
        Role::System | Role::Developer => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let content =
        message.content.as_ref().map(|content| content.text(&format!("{field}.content"))).transpose()?;
    if content.is_none() && message.tool_calls.is_none() {
        return Err(ApiError::field(format!("{field}.content"), "it is missing"));
    }
    let mut fields = Map::new();
    fields.insert("role".to_owned(), Value::from(role));
    fields.insert("content".to_owned(), Value::from(content.unwrap_or_default()));
    let others = [
        ("reasoning_content", &message.reasoning_content),
        ("tool_call_id", &message.tool_call_id),
        ("name", &message.name),
    ];
    for (name, value) in others {
        if let Some(value) = value {
            fields.insert(name.to_owned(), Value::from(value.clone()));
        }
    }
    if let Some(calls) = message.tool_calls.as_ref().filter(|calls| !calls.is_empty()) {
        let calls: ApiResult<Vec<Value>> = calls.iter().map(|call| earlier_call(call, field)).collect();
        fields.insert("tool_calls".to_owned(), Value::from(calls?));
    }
    Ok(Value::Object(fields))
}

fn earlier_call(call: &ToolCall, field: &str) -> ApiResult<Value> {
    let text = call.function.arguments.as_deref().filter(|text| !text.trim().is_empty()).unwrap_or("{}");
    let arguments = template_call(&call.function.name, text, call.id.as_deref());
    arguments.map_err(|error| ApiError::field(format!("{field}.tool_calls"), error))
}

/// A call in a conversation. Its arguments must be JSON.
pub(crate) fn template_call(
    name: &str,
    arguments: &str,
    id: Option<&str>,
) -> Result<Value, serde_json::Error> {
    serde_json::from_str::<TemplateValue>(arguments)?;
    Ok(json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } }))
}

/// The tools of a request.
pub(crate) fn tools(entries: Option<Vec<ToolEntry>>) -> ApiResult<Vec<Tool>> {
    let entries = entries.unwrap_or_default().into_iter().enumerate();
    let tool = |(index, entry): (usize, ToolEntry)| match entry.kind.as_deref() {
        None | Some("function") => {
            tool(entry.function.name, entry.function.description, entry.function.parameters)
                .map_err(|problem| ApiError::field(format!("tools[{index}].function"), problem))
        }
        Some(other) => {
            let message = format!("the type `{other}` is not `function`");
            Err(ApiError::field(format!("tools[{index}].type"), message))
        }
    };
    entries.map(tool).collect()
}

/// A tool, if it has a name.
pub(crate) fn tool(
    name: String,
    description: Option<String>,
    parameters: Option<TemplateValue>,
) -> Result<Tool, &'static str> {
    if name.is_empty() || name.len() > 256 {
        return Err("its name must have 1 to 256 bytes");
    }
    let none = || {
        let no_properties = TemplateValue::from_pairs([("", ""); 0]);
        TemplateValue::from_pairs([("type", TemplateValue::from("object")), ("properties", no_properties)])
    };
    let parameters = parameters.filter(|parameters| !parameters.is_none()).unwrap_or_else(none);
    if !serde_json::to_value(&parameters).is_ok_and(|schema| schema.is_object()) {
        return Err("its schema must be an object");
    }
    Ok(Tool { name, description, parameters })
}

impl ChatRequest {
    fn conversation(&mut self, constraint: ConstraintFields) -> ApiResult<Conversation> {
        let choice = match self.tool_choice.take() {
            None | Some(ToolChoice::Word(ChoiceWord::Auto)) => Choice::Auto,
            Some(ToolChoice::Word(ChoiceWord::None)) => Choice::None,
            Some(ToolChoice::Word(ChoiceWord::Required)) => Choice::Any,
            Some(ToolChoice::Function { function }) => Choice::Named(function.name),
        };
        let mut variables = self.chat_template_kwargs.take().unwrap_or_default();
        if let Some(effort) = self.reasoning_effort.take() {
            variables.entry("enable_thinking").or_insert(Value::from(effort != "none"));
            variables.entry("reasoning_effort").or_insert(Value::from(effort));
        }
        Ok(Conversation {
            messages: messages(&self.messages)?,
            tools: tools(self.tools.take())?,
            choice,
            one_call: self.parallel_tool_calls == Some(false),
            variables,
            constraint: constraint.constraint()?,
            is_prompt: true,
        })
    }

    fn logprobs(&self) -> ApiResult<Option<usize>> {
        let top = self.top_logprobs.unwrap_or(0);
        if top > MOST_LOGPROBS {
            return Err(ApiError::field("top_logprobs", format!("it is {top}, more than {MOST_LOGPROBS}")));
        }
        if top > 0 && self.logprobs != Some(true) {
            return Err(ApiError::field("top_logprobs", "it needs `logprobs: true`"));
        }
        Ok((self.logprobs == Some(true)).then_some(top))
    }
}

/// The number of answers asked for.
pub(crate) fn choices(app: &App, n: Option<usize>) -> ApiResult<usize> {
    let most = app.settings.max_choices;
    match n.unwrap_or(1) {
        n if (1..=most).contains(&n) => Ok(n),
        n => Err(ApiError::field("n", format!("it is {n}, not from 1 to {most}"))),
    }
}

/// The limit of tokens, which is not 0.
pub(crate) fn max_tokens(field: &str, given: Option<usize>) -> ApiResult<Option<usize>> {
    match given {
        Some(0) => Err(ApiError::field(field, "it is 0")),
        given => Ok(given),
    }
}

/// Answers a conversation.
pub(crate) async fn chat(State(app): State<Arc<App>>, body: Json) -> ApiResult<Response> {
    let mut request: ChatRequest = body.read()?;
    let sampling = body.read::<SamplingFields>()?.over(&app.settings.sampling)?;
    let n = choices(&app, request.n)?;
    let max = max_tokens("max_tokens", request.max_completion_tokens.or(request.max_tokens))?;
    let limits = Limits {
        sampling,
        max_tokens: max,
        stop: stops("stop", request.stop.take())?,
        logprobs: request.logprobs()?,
    };
    let conversation = request.conversation(body.read()?)?;
    let one_call = conversation.one_call;
    let seat = Seat::take(&app, request.model.as_deref()).await?;
    let prepared = seat.run(move |seat| conversation.prepare(seat)).await?;
    let mut answers = Vec::new();
    for index in 0..n {
        let mut limits = limits.clone();
        limits.sampling.seed = limits.sampling.seed.wrapping_add(index as u64);
        answers.push(seat.answer(prepared.request(&seat, &limits)?, Some(prepared.reader()))?);
    }
    let head = Head {
        id: ids::new("chatcmpl-"),
        created: ids::now(),
        model: seat.model.name().to_owned(),
        one_call,
    };
    if request.stream == Some(true) {
        let with_usage = request.stream_options.and_then(|options| options.include_usage) == Some(true);
        return Ok(sse::stream(&app, sse::comment_ping(), |sender| {
            events(head, seat, answers, with_usage, sender)
        }));
    }
    whole(&head, &seat, answers, limits.logprobs.is_some()).await
}

/// What all events of an answer have.
struct Head {
    id: String,
    created: u64,
    model: String,
    one_call: bool,
}

impl Head {
    fn object(&self, kind: &str, choices: Value) -> Value {
        json!({
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "choices": choices,
        })
    }
}

async fn whole(head: &Head, seat: &Seat, answers: Vec<Answer>, logprobs: bool) -> ApiResult<Response> {
    let wholes = try_join_all(answers.into_iter().map(Answer::whole)).await?;
    let usage = total(wholes.iter().map(|whole| whole.usage));
    let choice = |(index, whole): (usize, crate::answer::Whole)| {
        let mut calls = whole.calls;
        if head.one_call {
            calls.truncate(1);
        }
        let mut message = json!({ "role": "assistant", "content": whole.content, "refusal": null });
        if !whole.reasoning.is_empty() {
            message["reasoning_content"] = Value::from(whole.reasoning);
        }
        if !calls.is_empty() {
            if message["content"] == "" {
                message["content"] = Value::Null;
            }
            message["tool_calls"] = calls.iter().map(|call| call_of(call, None)).collect();
        }
        json!({
            "index": index,
            "message": message,
            "logprobs": logprobs.then(|| self::logprobs(seat, &whole.tokens)),
            "finish_reason": finish_reason(whole.reason.as_ref(), !calls.is_empty()),
        })
    };
    let choices = wholes.into_iter().enumerate().map(choice).collect();
    let mut object = head.object("chat.completion", choices);
    object["usage"] = usage_of(&usage);
    object["timings"] = timings(&usage);
    Ok(axum::Json(object).into_response())
}

fn call_of(call: &Call, index: Option<usize>) -> Value {
    let mut value = json!({
        "id": ids::new("call_"),
        "type": "function",
        "function": { "name": call.name, "arguments": call.arguments },
    });
    if let Some(index) = index {
        value["index"] = Value::from(index);
    }
    value
}

/// Why an answer ended, in OpenAI's words.
pub(crate) fn finish_reason(reason: Option<&FinishReason>, has_calls: bool) -> &'static str {
    match reason {
        Some(FinishReason::Length) => "length",
        _ if has_calls => "tool_calls",
        _ => "stop",
    }
}

/// The tokens of an answer, in OpenAI's words.
pub(crate) fn usage_of(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.generated_tokens,
        "total_tokens": usage.prompt_tokens + usage.generated_tokens,
        "prompt_tokens_details": { "cached_tokens": usage.reused_tokens },
        "completion_tokens_details": {
            "accepted_prediction_tokens": usage.accepted_tokens,
            "rejected_prediction_tokens": usage.drafted_tokens - usage.accepted_tokens.min(usage.drafted_tokens),
        },
    })
}

/// The times of an answer.
pub(crate) fn timings(usage: &Usage) -> Value {
    json!({
        "cache_n": usage.reused_tokens,
        "prompt_n": usage.prompt_tokens - usage.reused_tokens.min(usage.prompt_tokens),
        "prompt_ms": millis(usage.prompt_time),
        "predicted_n": usage.generated_tokens,
        "predicted_ms": millis(usage.generate_time),
        "draft_n": usage.drafted_tokens,
        "draft_n_accepted": usage.accepted_tokens,
    })
}

/// The probabilities of tokens, in OpenAI's words.
pub(crate) fn logprobs(seat: &Seat, tokens: &[Token]) -> Value {
    let tokenizer = seat.model.engine().tokenizer();
    let one = |id: u32, logprob: f32| {
        let bytes = tokenizer.bytes(id);
        json!({ "token": String::from_utf8_lossy(bytes), "logprob": logprob, "bytes": bytes })
    };
    let content: Vec<Value> = tokens
        .iter()
        .map(|token| {
            let mut value = one(token.id, token.logprob.logprob);
            value["top_logprobs"] =
                token.logprob.top.iter().map(|(id, logprob)| one(*id, *logprob)).collect();
            value
        })
        .collect();
    json!({ "content": content, "refusal": null })
}

async fn events(
    head: Head,
    seat: Arc<Seat>,
    answers: Vec<Answer>,
    with_usage: bool,
    sender: Sender,
) -> Result<(), Gone> {
    let all = answers.into_iter().enumerate().map(|(index, answer)| choice(&head, index, answer, &sender));
    let usages = try_join_all(all).await?;
    let usages: Option<Vec<Usage>> = usages.into_iter().collect();
    let Some(usages) = usages else { return sender.done().await };
    drop(seat);
    if with_usage {
        let usage = total(usages);
        let mut last = head.object("chat.completion.chunk", json!([]));
        last["usage"] = usage_of(&usage);
        last["timings"] = timings(&usage);
        sender.data(&last).await?;
    }
    sender.done().await
}

/// Sends one of the answers. `None` if it failed.
async fn choice(
    head: &Head,
    index: usize,
    mut answer: Answer,
    sender: &Sender,
) -> Result<Option<Usage>, Gone> {
    let chunk = |delta: Value, logprobs: Option<Value>, reason: Option<&str>| {
        let choice = json!({ "index": index, "delta": delta, "logprobs": logprobs, "finish_reason": reason });
        head.object("chat.completion.chunk", json!([choice]))
    };
    sender.data(&chunk(json!({ "role": "assistant", "content": "" }), None, None)).await?;
    let mut calls = 0;
    loop {
        let piece = match answer.next().await {
            Ok(Some(piece)) => piece,
            Ok(None) => return Ok(None),
            Err(error) => {
                sender.data(&error.openai()).await?;
                return Ok(None);
            }
        };
        let seat = &answer.seat;
        let logprobs = |tokens: &[Token]| (!tokens.is_empty()).then(|| logprobs(seat, tokens));
        match piece {
            Piece::Progress { tokens, of } => sender.comment(&format!("prompt {tokens}/{of}")).await?,
            Piece::Part(Part::Content(text), tokens) => {
                sender.data(&chunk(json!({ "content": text }), logprobs(&tokens), None)).await?;
            }
            Piece::Part(Part::Reasoning(text), tokens) => {
                sender.data(&chunk(json!({ "reasoning_content": text }), logprobs(&tokens), None)).await?;
            }
            Piece::Part(Part::Call(_), _) if head.one_call && calls > 0 => {}
            Piece::Part(Part::Call(call), tokens) => {
                let delta = json!({ "tool_calls": [call_of(&call, Some(calls))] });
                calls += 1;
                sender.data(&chunk(delta, logprobs(&tokens), None)).await?;
            }
            Piece::End { reason, usage, tokens } => {
                let reason = finish_reason(Some(&reason), calls > 0);
                sender.data(&chunk(json!({}), logprobs(&tokens), Some(reason))).await?;
                return Ok(Some(usage));
            }
        }
    }
}
