//! What all paths have in common: bodies, keys, hosts, errors.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::app::App;
use crate::error::{ApiError, ApiResult, Kind};

/// The path below which errors have Anthropic's form.
const ANTHROPIC: &str = "/v1/messages";

/// The address of this server that a client has connected to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalAddress(pub(crate) SocketAddr);

/// A body of JSON, within the limits of size and time.
pub(crate) struct Json(Bytes);

impl Json {
    /// Reads the fields that `T` has. An error names the wrong one.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> ApiResult<T> {
        let mut reader = serde_json::Deserializer::from_slice(&self.0);
        serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let path = error.path().to_string();
            match path.as_str() {
                "." => ApiError::new(Kind::Invalid, error.into_inner().to_string()),
                _ => ApiError::field(path, error.into_inner()),
            }
        })
    }
}

impl FromRequest<Arc<App>> for Json {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Arc<App>) -> ApiResult<Self> {
        if !is_json(request.headers()) {
            let message = "the body must have the header `Content-Type: application/json`";
            return Err(ApiError::new(Kind::MediaType, message));
        }
        let body = body(request.into_body(), app).await?;
        match serde_json::from_slice(&body) {
            Ok(Value::Object(_)) => Ok(Self(body)),
            Ok(_) => Err(ApiError::new(Kind::Invalid, "the body must be a JSON object")),
            Err(error) => Err(ApiError::new(Kind::Invalid, format!("the body is not JSON: {error}"))),
        }
    }
}

/// The header also keeps pages of other sites out: browsers ask before they send it.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || kind.starts_with("application/") && kind.ends_with("+json")
}

async fn body(body: Body, app: &App) -> ApiResult<Bytes> {
    let limit = app.settings.max_body;
    let read = Limited::new(body, limit).collect();
    match tokio::time::timeout(app.settings.body_time, read).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let message = format!("the body is larger than {limit} bytes");
            Err(ApiError::new(Kind::TooLarge, message))
        }
        Ok(Err(error)) => Err(ApiError::new(Kind::Invalid, format!("the body cannot be read: {error}"))),
        Err(_) => {
            let message = format!("the body did not arrive within {:?}", app.settings.body_time);
            Err(ApiError::new(Kind::TooSlow, message))
        }
    }
}

/// Checks host and key, counts, and gives errors the form that the path's clients expect.
pub(crate) async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let path = request.uri().path().to_owned();
    let response = match check(&app, &request) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    };
    let response = match response.extensions().get::<ApiError>() {
        Some(error) if path.starts_with(ANTHROPIC) => error.response(&error.anthropic()),
        _ => response,
    };
    let status = response.status();
    app.metrics.responded(&path, status.as_u16(), started.elapsed());
    if status.is_server_error() {
        tracing::warn!(path, status = status.as_u16(), "request failed");
    }
    response
}

fn check(app: &App, request: &Request) -> ApiResult<()> {
    let local = request.extensions().get::<LocalAddress>().map(|address| address.0.ip());
    if local.is_some_and(|address| address.is_loopback()) && !is_local_host(request) {
        // A page of another site could otherwise reach this server through a name that resolves to loopback.
        let message = "this server listens on loopback, so the header `Host` must name it";
        return Err(ApiError::new(Kind::Forbidden, message));
    }
    let is_open = crate::api::ENDPOINTS
        .iter()
        .any(|endpoint| endpoint.is_open && endpoint.path == request.uri().path());
    match &app.settings.api_key {
        Some(key) if !is_open && !has_key(request.headers(), key) => {
            let message = "the API key is missing or wrong: it is expected as `Authorization: Bearer KEY` or `x-api-key: KEY`";
            Err(ApiError::new(Kind::Unauthorized, message).code("invalid_api_key"))
        }
        _ => Ok(()),
    }
}

/// Whether the header `Host` is a loopback address or `localhost`. HTTP/1.0 has none.
fn is_local_host(request: &Request) -> bool {
    let Some(host) = request.headers().get(header::HOST) else { return true };
    let Ok(host) = host.to_str() else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Compares hashes, whose comparison takes the same time whatever differs.
fn has_key(headers: &HeaderMap, key: &str) -> bool {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| {
        let value = value.as_bytes();
        let (scheme, key) = value.split_at_checked("Bearer ".len())?;
        scheme.eq_ignore_ascii_case(b"Bearer ").then_some(key)
    });
    let given = bearer.or_else(|| headers.get("x-api-key").map(|value| value.as_bytes()));
    given.is_some_and(|given| blake3::hash(given.trim_ascii()) == blake3::hash(key.as_bytes()))
}

/// A path that does not exist.
pub(crate) async fn not_found(request: Request) -> ApiError {
    ApiError::new(Kind::NotFound, format!("there is no path {}", request.uri().path()))
}

/// A path that has other methods.
pub(crate) async fn method_not_allowed(request: Request) -> Response {
    let path = request.uri().path();
    let methods: Vec<&str> = crate::api::ENDPOINTS
        .iter()
        .filter(|endpoint| endpoint.path == path)
        .map(|endpoint| endpoint.method.name())
        .collect();
    let message = format!("{path} takes {}", methods.join(", "));
    ApiError::new(Kind::Method, message).into_response()
}

/// A page of text.
pub(crate) fn text(kind: &'static str, body: impl Into<Body>) -> Response {
    (StatusCode::OK, [(header::CONTENT_TYPE, kind)], body.into()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_local() {
        let local = |host: &str| {
            let request = Request::builder().header(header::HOST, host).body(Body::empty()).unwrap();
            is_local_host(&request)
        };
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1", "127.3.2.1:8080", "[::1]", "[::1]:8080"] {
            assert!(local(host), "{host}");
        }
        for host in
            ["example.org", "127.0.0.1.example.org", "localhost.example.org:80", "10.0.0.1", "", "[", ":"]
        {
            assert!(!local(host), "{host}");
        }
    }

    #[test]
    fn keys_are_compared_whole() {
        let with = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            has_key(&headers, "secret")
        };
        assert!(with("authorization", "Bearer secret") && with("authorization", "bearer secret"));
        assert!(with("x-api-key", "secret"));
        for wrong in ["secret", "Bearer secre", "Bearer secrets", "Bearer", "Basic secret", ""] {
            assert!(!with("authorization", wrong), "{wrong}");
        }
        assert!(!has_key(&HeaderMap::new(), "secret"));
    }
}
