//! The paths: one table, from which the router and the OpenAPI document are made.

mod chat;
mod completions;
mod embeddings;
mod information;
mod messages;
mod openapi;
mod pages;
mod rerank;
mod responses;
mod tokens;

use std::sync::Arc;

use axum::Router;
use axum::routing::{MethodRouter, get, post};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::app::App;

/// A method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
}

impl Method {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }
}

/// What a path answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answers {
    /// A JSON object.
    Json,
    /// A JSON object, or events if the request has `"stream": true`.
    JsonOrEvents,
    /// Text of this kind.
    Text(&'static str),
}

/// A schema and those that it refers to.
#[derive(Clone)]
pub(crate) struct Schemas {
    name: String,
    all: Vec<(String, RefOr<Schema>)>,
}

fn schemas<T: ToSchema + PartialSchema>() -> Schemas {
    let name = T::name().into_owned();
    let mut all = vec![(name.clone(), T::schema())];
    T::schemas(&mut all);
    Schemas { name, all }
}

/// A row of the table.
pub(crate) struct Endpoint {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) summary: &'static str,
    /// Needs no key.
    pub(crate) is_open: bool,
    pub(crate) answers: Answers,
    /// The request's body: all its fields are those of these schemas.
    pub(crate) body: &'static [fn() -> Schemas],
    route: fn() -> MethodRouter<Arc<App>>,
}

const SAMPLING: fn() -> Schemas = schemas::<crate::fields::SamplingFields>;
const CONSTRAINT: fn() -> Schemas = schemas::<crate::fields::ConstraintFields>;

const fn page(
    path: &'static str,
    kind: &'static str,
    summary: &'static str,
    route: fn() -> MethodRouter<Arc<App>>,
) -> Endpoint {
    Endpoint {
        method: Method::Get,
        path,
        summary,
        is_open: true,
        answers: Answers::Text(kind),
        body: &[],
        route,
    }
}

const fn json(
    path: &'static str,
    summary: &'static str,
    body: &'static [fn() -> Schemas],
    route: fn() -> MethodRouter<Arc<App>>,
) -> Endpoint {
    Endpoint { method: Method::Post, path, summary, is_open: false, answers: Answers::Json, body, route }
}

const fn events(
    path: &'static str,
    summary: &'static str,
    body: &'static [fn() -> Schemas],
    route: fn() -> MethodRouter<Arc<App>>,
) -> Endpoint {
    Endpoint {
        method: Method::Post,
        path,
        summary,
        is_open: false,
        answers: Answers::JsonOrEvents,
        body,
        route,
    }
}

/// All paths.
pub(crate) const ENDPOINTS: &[Endpoint] = &[
    page("/", "text/html", "A page to chat with", || get(pages::chat)),
    page("/docs", "text/html", "This document as a page", || get(pages::documentation)),
    Endpoint {
        answers: Answers::Json,
        ..page("/openapi.json", "", "This document", || get(openapi::document))
    },
    Endpoint {
        answers: Answers::Json,
        ..page("/health", "", "Whether the server takes requests", || get(information::health))
    },
    Endpoint {
        is_open: false,
        ..page("/metrics", "text/plain", "Counters for Prometheus", || get(information::metrics))
    },
    Endpoint {
        is_open: false,
        answers: Answers::Json,
        ..page("/v1/models", "", "The models", || get(information::models))
    },
    events(
        "/v1/chat/completions",
        "Answers a conversation (OpenAI)",
        &[schemas::<chat::ChatRequest>, SAMPLING, CONSTRAINT],
        || post(chat::chat),
    ),
    events(
        "/v1/completions",
        "Continues a text (OpenAI)",
        &[schemas::<completions::CompletionRequest>, SAMPLING, CONSTRAINT],
        || post(completions::completions),
    ),
    events(
        "/v1/responses",
        "Answers a conversation (OpenAI's responses)",
        &[schemas::<responses::ResponsesRequest>, SAMPLING],
        || post(responses::responses),
    ),
    events(
        "/v1/messages",
        "Answers a conversation (Anthropic)",
        &[schemas::<messages::MessagesRequest>, SAMPLING],
        || post(messages::messages),
    ),
    json(
        "/v1/messages/count_tokens",
        "Counts the tokens of a conversation (Anthropic)",
        &[schemas::<messages::CountRequest>],
        || post(messages::count_tokens),
    ),
    json("/v1/embeddings", "Vectors of texts (OpenAI)", &[schemas::<embeddings::EmbeddingRequest>], || {
        post(embeddings::embeddings)
    }),
    json(
        "/v1/rerank",
        "Ranks documents by how close they are to a query",
        &[schemas::<rerank::RerankRequest>],
        || post(rerank::rerank),
    ),
    json("/tokenize", "The tokens of a text", &[schemas::<tokens::TokenizeRequest>], || {
        post(tokens::tokenize)
    }),
    json("/detokenize", "The text of tokens", &[schemas::<tokens::DetokenizeRequest>], || {
        post(tokens::detokenize)
    }),
    json("/apply-template", "The prompt of a conversation", &[schemas::<tokens::TemplateRequest>], || {
        post(tokens::apply_template)
    }),
];

/// The router of the table.
pub(crate) fn router() -> Router<Arc<App>> {
    ENDPOINTS.iter().fold(Router::new(), |router, endpoint| router.route(endpoint.path, (endpoint.route)()))
}
