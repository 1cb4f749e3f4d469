//! What a client is told when a request fails.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::engine;

/// A kind of failure: status, and its names in both interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The request is malformed or asks for something impossible.
    Invalid,
    /// The key is missing or wrong.
    Unauthorized,
    /// The server's address is not the one in the request.
    Forbidden,
    /// There is no such model or path.
    NotFound,
    /// The path has other methods.
    Method,
    /// The body took too long.
    TooSlow,
    /// The body is too large.
    TooLarge,
    /// The body is not declared as JSON.
    MediaType,
    /// The server is full or shutting down.
    Busy,
    /// The answer took too long.
    Timeout,
    /// The model or the server failed.
    Failed,
}

/// The table of kinds.
struct Row {
    kind: Kind,
    status: StatusCode,
    openai: &'static str,
    anthropic: &'static str,
}

const ROWS: &[Row] = &[
    row(Kind::Invalid, StatusCode::BAD_REQUEST, "invalid_request_error", "invalid_request_error"),
    row(Kind::Unauthorized, StatusCode::UNAUTHORIZED, "authentication_error", "authentication_error"),
    row(Kind::Forbidden, StatusCode::FORBIDDEN, "permission_error", "permission_error"),
    row(Kind::NotFound, StatusCode::NOT_FOUND, "invalid_request_error", "not_found_error"),
    row(Kind::Method, StatusCode::METHOD_NOT_ALLOWED, "invalid_request_error", "invalid_request_error"),
    row(Kind::TooSlow, StatusCode::REQUEST_TIMEOUT, "invalid_request_error", "invalid_request_error"),
    row(Kind::TooLarge, StatusCode::PAYLOAD_TOO_LARGE, "invalid_request_error", "request_too_large"),
    row(
        Kind::MediaType,
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "invalid_request_error",
        "invalid_request_error",
    ),
    row(Kind::Busy, StatusCode::SERVICE_UNAVAILABLE, "server_error", "overloaded_error"),
    row(Kind::Timeout, StatusCode::GATEWAY_TIMEOUT, "server_error", "timeout_error"),
    row(Kind::Failed, StatusCode::INTERNAL_SERVER_ERROR, "server_error", "api_error"),
];

const fn row(kind: Kind, status: StatusCode, openai: &'static str, anthropic: &'static str) -> Row {
    Row { kind, status, openai, anthropic }
}

/// Every status that an error may have.
#[must_use]
pub(crate) fn statuses() -> Vec<u16> {
    ROWS.iter().map(|row| row.status.as_u16()).collect()
}

/// The failure of a request.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// Its kind.
    pub kind: Kind,
    /// What went wrong.
    pub message: String,
    /// The field of the request that is wrong.
    pub param: Option<String>,
    /// A short name for programs.
    pub code: Option<&'static str>,
    /// When to try again, in seconds.
    pub retry_after: Option<u64>,
}

impl ApiError {
    /// A failure.
    #[must_use]
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), param: None, code: None, retry_after: None }
    }

    /// A wrong field.
    #[must_use]
    pub fn field(param: impl Into<String>, message: impl std::fmt::Display) -> Self {
        let param = param.into();
        let error = Self::new(Kind::Invalid, format!("{param}: {message}"));
        Self { param: Some(param), ..error }
    }

    /// With a short name for programs.
    #[must_use]
    pub fn code(self, code: &'static str) -> Self {
        Self { code: Some(code), ..self }
    }

    /// The server is full.
    #[must_use]
    pub fn busy(message: impl Into<String>, retry_after: u64) -> Self {
        Self { retry_after: Some(retry_after), ..Self::new(Kind::Busy, message).code("busy") }
    }

    fn row(&self) -> &'static Row {
        ROWS.iter().find(|row| row.kind == self.kind).unwrap_or(&ROWS[ROWS.len() - 1])
    }

    /// The status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.row().status
    }

    /// The body in OpenAI's form.
    #[must_use]
    pub fn openai(&self) -> Value {
        json!({ "error": {
            "message": self.message,
            "type": self.row().openai,
            "param": self.param,
            "code": self.code,
        } })
    }

    /// The body in Anthropic's form.
    #[must_use]
    pub fn anthropic(&self) -> Value {
        json!({ "type": "error", "error": { "type": self.row().anthropic, "message": self.message } })
    }

    /// The response with this body.
    pub(crate) fn response(&self, body: &Value) -> Response {
        let mut response = (self.status(), axum::Json(body)).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.kind == Kind::Unauthorized {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl IntoResponse for ApiError {
    /// In OpenAI's form. The error is also an extension, from which `http.rs` writes Anthropic's.
    fn into_response(self) -> Response {
        let mut response = self.response(&self.openai());
        response.extensions_mut().insert(self);
        response
    }
}

impl From<engine::Error> for ApiError {
    fn from(error: engine::Error) -> Self {
        let message = error.to_string();
        match error {
            engine::Error::Busy { .. } | engine::Error::Stopped { .. } => Self::busy(message, 1),
            engine::Error::Prompt { .. } => Self::new(Kind::Invalid, message).code("context_length_exceeded"),
            engine::Error::Setting { .. }
            | engine::Error::Constraint { .. }
            | engine::Error::Template { .. }
            | engine::Error::Unable { .. } => Self::new(Kind::Invalid, message),
            _ => Self::new(Kind::Failed, message),
        }
    }
}

/// The result of a request.
pub type ApiResult<T> = Result<T, ApiError>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_row() {
        for row in ROWS {
            assert_eq!(ApiError::new(row.kind, "x").status(), row.status);
        }
        let full = ApiError::from(engine::Error::Busy { waiting: 3 });
        assert_eq!((full.status().as_u16(), full.retry_after), (503, Some(1)));
        assert_eq!(ApiError::field("n", "is 0").openai()["error"]["param"], "n");
    }
}
