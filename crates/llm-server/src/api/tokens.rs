//! `/tokenize`, `/detokenize` and `/apply-template`.

use std::sync::Arc;

use axum::Json as Reply;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::chat::{Message, ToolEntry, messages, tools};
use crate::answer::Seat;
use crate::app::App;
use crate::conversation::Conversation;
use crate::engine::SpecialText;
use crate::error::{ApiError, ApiResult, Kind};
use crate::http::Json;

/// A text to split.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct TokenizeRequest {
    /// The model's name; without one, the server's first
    model: Option<String>,
    /// The text
    content: String,
    /// Whether the token that begins every prompt comes first
    add_special: Option<bool>,
    /// Whether names such as `<|im_end|>` become their tokens; so by default
    parse_special: Option<bool>,
    /// Whether the answer has the tokens' texts
    with_pieces: Option<bool>,
}

/// The tokens of a text.
pub(crate) async fn tokenize(State(app): State<Arc<App>>, body: Json) -> ApiResult<Reply<Value>> {
    let asked: TokenizeRequest = body.read()?;
    let seat = Seat::take(&app, asked.model.as_deref()).await?;
    let names = if asked.parse_special == Some(false) { SpecialText::Text } else { SpecialText::Tokens };
    let tokens = seat
        .run(move |seat| {
            let tokenizer = seat.model.engine().tokenizer();
            let tokens = match asked.add_special {
                Some(true) => tokenizer.encode(&asked.content, names)?,
                _ => tokenizer.encode_part(&asked.content, names)?,
            };
            let piece = |id: u32| {
                let bytes = tokenizer.bytes(id);
                let piece = std::str::from_utf8(bytes).map_or_else(|_| Value::from(bytes), Value::from);
                json!({ "id": id, "piece": piece })
            };
            Ok(match asked.with_pieces {
                Some(true) => tokens.into_iter().map(piece).collect(),
                _ => Value::from(tokens),
            })
        })
        .await?;
    Ok(Reply(json!({ "tokens": tokens })))
}

/// Tokens to join.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct DetokenizeRequest {
    /// The model's name; without one, the server's first
    model: Option<String>,
    /// The tokens
    tokens: Vec<u32>,
}

/// The text of tokens.
pub(crate) async fn detokenize(State(app): State<Arc<App>>, body: Json) -> ApiResult<Reply<Value>> {
    let asked: DetokenizeRequest = body.read()?;
    let seat = Seat::take(&app, asked.model.as_deref()).await?;
    let text = seat
        .run(move |seat| {
            known(seat, &asked.tokens)?;
            Ok(seat.model.engine().tokenizer().decode(&asked.tokens))
        })
        .await?;
    Ok(Reply(json!({ "content": text })))
}

/// Checks that the model has these tokens.
pub(crate) fn known(seat: &Seat, tokens: &[u32]) -> ApiResult<()> {
    let vocabulary = seat.model.engine().tokenizer().len();
    match tokens.iter().find(|token| **token as usize >= vocabulary) {
        Some(token) => {
            let message = format!("there is no token {token}: the model has {vocabulary}");
            Err(ApiError::new(Kind::Invalid, message))
        }
        None => Ok(()),
    }
}

/// A conversation to render.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct TemplateRequest {
    /// The model's name; without one, the server's first
    model: Option<String>,
    /// The conversation
    #[schema(min_items = 1)]
    messages: Vec<Message>,
    /// What the model may call
    tools: Option<Vec<ToolEntry>>,
    /// Whether the prompt ends with the beginning of an answer; so by default
    add_generation_prompt: Option<bool>,
    /// More variables of the chat template
    #[schema(value_type = Option<Object>)]
    chat_template_kwargs: Option<Map<String, Value>>,
}

/// The prompt of a conversation.
pub(crate) async fn apply_template(State(app): State<Arc<App>>, body: Json) -> ApiResult<Reply<Value>> {
    let asked: TemplateRequest = body.read()?;
    let conversation = Conversation {
        messages: messages(&asked.messages)?,
        tools: tools(asked.tools)?,
        variables: asked.chat_template_kwargs.unwrap_or_default(),
        is_prompt: asked.add_generation_prompt != Some(false),
        ..Conversation::default()
    };
    if conversation.messages.is_empty() {
        return Err(ApiError::field("messages", "there are none"));
    }
    let seat = Seat::take(&app, asked.model.as_deref()).await?;
    let prepared = seat.run(move |seat| conversation.prepare(seat)).await?;
    Ok(Reply(json!({ "prompt": prepared.text, "tokens": prepared.tokens.len() })))
}
