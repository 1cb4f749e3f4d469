//! `/health`, `/metrics` and `/v1/models`.

use std::sync::Arc;

use axum::Json as Reply;
use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json};

use crate::app::App;
use crate::error::{ApiError, ApiResult};
use crate::http::text;

/// Whether the server takes requests.
pub(crate) async fn health(State(app): State<Arc<App>>) -> ApiResult<Reply<Value>> {
    match app.is_stopping() {
        true => Err(ApiError::busy("the server is shutting down", 10)),
        false => Ok(Reply(json!({ "status": "ok" }))),
    }
}

/// Counters.
pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Response {
    text("text/plain; version=0.0.4; charset=utf-8", app.metrics.page(&app.models.status()))
}

/// The models.
pub(crate) async fn models(State(app): State<Arc<App>>) -> Reply<Value> {
    let models = app.models.status().into_iter().map(|model| {
        let mut value = json!({
            "id": model.name,
            "object": "model",
            "created": model.loaded_at,
            "owned_by": "ferrocm",
            "status": if model.description.is_some() { "loaded" } else { "unloaded" },
        });
        if let Some(description) = model.description {
            value["meta"] = json!({
                "name": description.name,
                "architecture": description.architecture,
                "context": description.context,
                "trained_context": description.trained_context,
                "parameters": description.parameters,
                "bytes": description.bytes,
                "weights": description.weights,
                "width": description.width,
                "vocabulary": description.vocabulary,
                "generates": description.generates,
                "device": description.device,
            });
        }
        value
    });
    Reply(json!({ "object": "list", "data": models.collect::<Vec<_>>() }))
}
