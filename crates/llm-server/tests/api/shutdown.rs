//! Shutting down.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use super::chat::asking;
use super::{serve, until};

const CHAT: &str = "/v1/chat/completions";

#[test]
fn running_requests_are_finished_and_new_ones_refused() {
    let mut server = serve(|_| {});
    let mut body = asking(&format!("slow 20 {}", "abc".repeat(20)));
    body["stream"] = json!(true);
    let response = server.post(CHAT, &body);
    server.stop();
    until("new connections are refused", || TcpStream::connect(server.address).is_err());
    let events = response.events();
    let text: String =
        events.iter().filter_map(|(_, data)| data["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(text, "abc".repeat(20));
    assert_eq!(server.join(), 0);
}

#[test]
fn requests_that_take_too_long_are_cut_off() {
    let mut server = serve(|settings| settings.shutdown_time = Duration::from_millis(100));
    let mut body = asking("silence");
    body["stream"] = json!(true);
    let response = server.post(CHAT, &body);
    let started = Instant::now();
    server.stop();
    let state = std::sync::Arc::clone(&server.state);
    assert_eq!(server.join(), 1);
    assert!(started.elapsed() < Duration::from_secs(5));
    until("the request is cancelled", || state.cancelled.load(std::sync::atomic::Ordering::SeqCst) == 1);
    drop(response);
}

#[test]
fn idle_connections_do_not_hold_a_server_up() {
    let mut server = serve(|_| {});
    let idle = TcpStream::connect(server.address).unwrap();
    assert_eq!(server.get("/health").status, 200);
    let started = Instant::now();
    server.stop();
    assert_eq!(server.join(), 0);
    assert!(started.elapsed() < Duration::from_secs(5));
    drop(idle);
}
