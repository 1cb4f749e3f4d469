//! `/v1/embeddings`.

use std::sync::Arc;

use axum::Json as Reply;
use axum::extract::State;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::answer::Seat;
use crate::app::App;
use crate::engine::{Pooling, SpecialText};
use crate::error::{ApiError, ApiResult};
use crate::fields::{Prompt, Prompts};
use crate::http::Json;

/// Texts to embed.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct EmbeddingRequest {
    /// The model's name; without one, the server's first
    model: Option<String>,
    /// The texts
    input: Prompts,
    encoding_format: Option<Encoding>,
    /// Not supported, except the model's own number
    dimensions: Option<usize>,
    /// How the vectors of tokens become one; as the model's file says if not given
    pooling: Option<PoolingName>,
}

/// How vectors are written.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    /// As numbers
    Float,
    /// As little-endian `f32` in base64
    Base64,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum PoolingName {
    Mean,
    #[serde(alias = "cls")]
    First,
    Last,
}

/// The vectors of texts, and the number of tokens in all.
pub(crate) fn embed(
    seat: &Seat,
    prompts: Vec<Prompt>,
    pooling: Pooling,
) -> ApiResult<(Vec<Vec<f32>>, usize)> {
    let tokenizer = seat.model.engine().tokenizer();
    let tokens = prompts.into_iter().map(|prompt| match prompt {
        Prompt::Text(text) => Ok(tokenizer.encode(&text, SpecialText::Text)?),
        Prompt::Tokens(tokens) => {
            super::tokens::known(seat, &tokens)?;
            Ok(tokens)
        }
    });
    let tokens: Vec<Vec<u32>> = tokens.collect::<ApiResult<_>>()?;
    let context = seat.model.engine().description().context;
    for (index, tokens) in tokens.iter().enumerate() {
        if tokens.is_empty() {
            return Err(ApiError::field(format!("input[{index}]"), "it is empty"));
        }
        if tokens.len() > context {
            let message = format!("it has {} tokens, and the context has room for {context}", tokens.len());
            return Err(ApiError::field(format!("input[{index}]"), message).code("context_length_exceeded"));
        }
    }
    let number = tokens.iter().map(Vec::len).sum();
    let vectors = seat.model.engine().embed(&tokens, pooling).map_err(|error| seat.failed(error))?;
    seat.app.metrics.embedded(number);
    Ok((vectors, number))
}

/// Vectors of texts.
pub(crate) async fn embeddings(State(app): State<Arc<App>>, body: Json) -> ApiResult<Reply<Value>> {
    let asked: EmbeddingRequest = body.read()?;
    let prompts = asked.input.into_vec();
    let most = app.settings.max_inputs;
    if prompts.is_empty() || prompts.len() > most {
        return Err(ApiError::field("input", format!("{} texts, not 1 to {most}", prompts.len())));
    }
    let pooling = match asked.pooling {
        None => Pooling::Model,
        Some(PoolingName::Mean) => Pooling::Mean,
        Some(PoolingName::First) => Pooling::First,
        Some(PoolingName::Last) => Pooling::Last,
    };
    let seat = Seat::take(&app, asked.model.as_deref()).await?;
    let width = seat.model.engine().description().width;
    if asked.dimensions.is_some_and(|dimensions| dimensions != width) {
        return Err(ApiError::field("dimensions", format!("the model has {width}, and no others")));
    }
    let (vectors, tokens) = seat.run(move |seat| embed(seat, prompts, pooling)).await?;
    let data = vectors.into_iter().enumerate().map(|(index, vector)| {
        let embedding = match asked.encoding_format {
            Some(Encoding::Base64) => {
                let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
                Value::from(STANDARD.encode(bytes))
            }
            _ => Value::from(vector),
        };
        json!({ "object": "embedding", "index": index, "embedding": embedding })
    });
    Ok(Reply(json!({
        "object": "list",
        "data": data.collect::<Vec<_>>(),
        "model": seat.model.name(),
        "usage": { "prompt_tokens": tokens, "total_tokens": tokens },
    })))
}
