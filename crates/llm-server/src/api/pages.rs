//! The pages for people.

use axum::http::{HeaderValue, header};
use axum::response::Response;

use crate::http::text;

/// The pages load nothing from elsewhere, and no other page may frame them.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; \
                      img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

fn page(body: &'static str) -> Response {
    let mut response = text("text/html; charset=utf-8", body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// The page to chat with.
pub(crate) async fn chat() -> Response {
    page(include_str!("pages/chat.html"))
}

/// The page of the OpenAPI document.
pub(crate) async fn documentation() -> Response {
    page(include_str!("pages/docs.html"))
}
