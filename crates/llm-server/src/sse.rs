//! Streams of server-sent events.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;

use axum::http::{HeaderName, HeaderValue};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::app::App;

/// Events that may wait for a slow client.
const WAITING: usize = 16;

/// The client is gone.
#[derive(Debug)]
pub(crate) struct Gone;

/// Where events go.
#[derive(Clone, Debug)]
pub(crate) struct Sender(mpsc::Sender<Event>);

impl Sender {
    async fn event(&self, event: Event) -> Result<(), Gone> {
        self.0.send(event).await.map_err(|_| Gone)
    }

    /// Sends data without a name.
    pub(crate) async fn data(&self, data: &Value) -> Result<(), Gone> {
        self.event(Event::default().data(data.to_string())).await
    }

    /// Sends data with its `type` as the name.
    pub(crate) async fn named(&self, data: &Value) -> Result<(), Gone> {
        let name = data["type"].as_str().unwrap_or("message");
        self.event(Event::default().event(name).data(data.to_string())).await
    }

    /// Sends what OpenAI's streams end with.
    pub(crate) async fn done(&self) -> Result<(), Gone> {
        self.event(Event::default().data("[DONE]")).await
    }

    /// Sends a line that clients ignore.
    pub(crate) async fn comment(&self, text: &str) -> Result<(), Gone> {
        self.event(Event::default().comment(text)).await
    }
}

/// A sign of life that OpenAI's clients ignore.
pub(crate) fn comment_ping() -> Event {
    Event::default().comment("ping")
}

/// Anthropic's sign of life.
pub(crate) fn event_ping() -> Event {
    Event::default().event("ping").data(r#"{"type":"ping"}"#)
}

/// A stream of what the work sends. The work is dropped once the client is gone.
pub(crate) fn stream<W>(app: &Arc<App>, ping: Event, work: impl FnOnce(Sender) -> W) -> Response
where
    W: Future<Output = Result<(), Gone>> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(WAITING);
    let work = work(Sender(sender.clone()));
    tokio::spawn(async move {
        tokio::select! {
            () = sender.closed() => {}
            _ = work => {}
        }
    });
    let events = stream::unfold(receiver, |mut receiver| async move {
        let event = receiver.recv().await?;
        Some((Ok::<Event, Infallible>(event), receiver))
    });
    let alive = KeepAlive::new().interval(app.settings.ping_interval).event(ping);
    let mut response = Sse::new(events).keep_alive(alive).into_response();
    // Proxies such as nginx would otherwise collect the events.
    let header = HeaderName::from_static("x-accel-buffering");
    response.headers_mut().insert(header, HeaderValue::from_static("no"));
    response
}
