//! `/v1/rerank`.

use std::sync::Arc;

use axum::Json as Reply;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::embeddings::embed;
use crate::answer::Seat;
use crate::app::App;
use crate::engine::Pooling;
use crate::error::{ApiError, ApiResult};
use crate::fields::Prompt;
use crate::http::Json;

/// Documents to rank.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct RerankRequest {
    /// The model's name; without one, the server's first
    model: Option<String>,
    /// What the documents are compared with
    query: String,
    /// The documents
    #[schema(min_items = 1)]
    documents: Vec<Document>,
    /// Only this many of the best
    top_n: Option<usize>,
    /// Whether the answer has the documents' texts
    return_documents: Option<bool>,
}

/// A text, or an object with one.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected a string or an object with `text`")]
enum Document {
    Text(String),
    Object { text: String },
}

impl Document {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Object { text } => text,
        }
    }
}

/// Ranks documents by the cosine of the angle between their vectors and the query's.
pub(crate) async fn rerank(State(app): State<Arc<App>>, body: Json) -> ApiResult<Reply<Value>> {
    let asked: RerankRequest = body.read()?;
    let most = app.settings.max_inputs;
    if asked.documents.is_empty() || asked.documents.len() > most {
        return Err(ApiError::field(
            "documents",
            format!("there are {}, not 1 to {most}", asked.documents.len()),
        ));
    }
    let seat = Seat::take(&app, asked.model.as_deref()).await?;
    let texts = std::iter::once(asked.query.as_str()).chain(asked.documents.iter().map(Document::text));
    let prompts: Vec<Prompt> = texts.map(|text| Prompt::Text(text.to_owned())).collect();
    let (vectors, tokens) = seat.run(move |seat| embed(seat, prompts, Pooling::Model)).await?;
    let Some((query, documents)) = vectors.split_first() else {
        return Err(ApiError::field("documents", "there are none"));
    };
    let scores = documents.iter().map(|document| cosine(query, document));
    let mut ranked: Vec<(usize, f32)> = scores.enumerate().collect();
    ranked.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    ranked.truncate(asked.top_n.unwrap_or(usize::MAX));
    let results = ranked.into_iter().map(|(index, score)| {
        let mut result = json!({ "index": index, "relevance_score": score });
        if asked.return_documents == Some(true) {
            result["document"] = json!({ "text": asked.documents[index].text() });
        }
        result
    });
    Ok(Reply(json!({
        "object": "list",
        "model": seat.model.name(),
        "results": results.collect::<Vec<_>>(),
        "usage": { "prompt_tokens": tokens, "total_tokens": tokens },
    })))
}

fn cosine(one: &[f32], other: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let lengths = (dot(one, one) * dot(other, other)).sqrt();
    if lengths > 0.0 { (dot(one, other) / lengths) as f32 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::cosine;

    #[test]
    fn the_cosine_depends_on_the_angle_only() {
        assert_eq!(cosine(&[1.0, 0.0], &[3.0, 0.0]), 1.0);
        assert_eq!(cosine(&[1.0, 0.0], &[0.0, 2.0]), 0.0);
        assert_eq!(cosine(&[1.0, 1.0], &[-1.0, -1.0]), -1.0);
        assert_eq!(cosine(&[0.0], &[1.0]), 0.0);
    }
}
