//! Limits and time-outs.

use std::time::Duration;

use crate::engine::Sampling;

/// The settings of a server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The key that clients must send; `None` if they need none.
    pub api_key: Option<String>,
    /// Requests that run or wait in engines at the same time. Further ones are refused.
    pub max_requests: usize,
    /// Open connections. Further ones wait to be accepted.
    pub max_connections: usize,
    /// The largest body, in bytes.
    pub max_body: usize,
    /// The most answers to one request.
    pub max_choices: usize,
    /// The most inputs of one request for embeddings, or documents to rank.
    pub max_inputs: usize,
    /// The time for a request's headers, and between requests of a connection.
    pub header_time: Duration,
    /// The time for a request's body.
    pub body_time: Duration,
    /// The time for a whole answer.
    pub request_time: Duration,
    /// A client that reads nothing for this long is disconnected.
    pub stall_time: Duration,
    /// The time between signs of life while a client waits for text.
    pub ping_interval: Duration,
    /// The time for running requests after the server was told to stop.
    pub shutdown_time: Duration,
    /// How tokens are chosen if a request does not say.
    pub sampling: Sampling,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            api_key: None,
            max_requests: 64,
            max_connections: 1024,
            max_body: 16 << 20,
            max_choices: 16,
            max_inputs: 2048,
            header_time: Duration::from_secs(30),
            body_time: Duration::from_secs(60),
            request_time: Duration::from_secs(60 * 60),
            stall_time: Duration::from_secs(60),
            ping_interval: Duration::from_secs(5),
            shutdown_time: Duration::from_secs(30),
            sampling: Sampling::default(),
        }
    }
}
