//! Limits, time-outs, keys, and clients that leave.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::chat::asking;
use super::{JSON, client, serve, until};

const CHAT: &str = "/v1/chat/completions";

fn streaming(text: &str) -> Value {
    let mut body = asking(text);
    body["stream"] = json!(true);
    body
}

#[test]
fn a_client_that_leaves_cancels_its_request() {
    let server = serve(|_| {});
    for (count, body) in [streaming("forever"), streaming("silence"), asking("silence")].iter().enumerate() {
        let body = body.to_string();
        let mut stream = client::connect(server.address);
        let head = format!(
            "POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        until("the request runs", || server.state.requests.lock().unwrap().len() == count + 1);
        drop(stream);
        until("the request is cancelled", || server.cancelled() == count + 1);
    }
    until("nothing runs", || server.metric("ferrocm_answers_running") == 0.0);
    assert_eq!(server.metric("ferrocm_answers_total{end=\"abandoned\"}"), 3.0);
}

#[test]
fn a_full_server_says_when_to_try_again() {
    let server = serve(|settings| settings.max_requests = 1);
    let first = server.post(CHAT, &streaming("silence"));
    assert_eq!(first.status, 200);
    let response = server.post(CHAT, &asking("say hi"));
    assert_eq!((response.status, response.headers["retry-after"].as_str()), (503, "1"));
    let mut body = asking("say hi");
    body["max_tokens"] = json!(5);
    let response = server.post("/v1/messages", &body);
    assert_eq!((response.status, response.json()["error"]["type"].clone()), (503, json!("overloaded_error")));
    drop(first);
    until("there is room again", || server.post(CHAT, &asking("say hi")).status == 200);
}

#[test]
fn a_full_engine_says_when_to_try_again() {
    let server = serve(|_| {});
    let all: Vec<_> = (0..8).map(|_| server.post(CHAT, &streaming("silence"))).collect();
    let response = server.post(CHAT, &asking("say hi"));
    assert_eq!((response.status, response.headers["retry-after"].as_str()), (503, "1"));
    drop(all);
    until("all are cancelled", || server.cancelled() == 8);
    assert_eq!(server.post(CHAT, &asking("say hi")).status, 200);
}

#[test]
fn large_bodies_are_refused_whether_declared_or_not() {
    let server = serve(|settings| settings.max_body = 1000);
    let body = vec![b' '; 2000];
    let response = client::send(server.address, "POST", CHAT, &[JSON], &body);
    assert_eq!(response.status, 413);
    let mut stream = client::connect(server.address);
    let head = format!(
        "POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    for _ in 0..20 {
        if stream.write_all(format!("64\r\n{}\r\n", " ".repeat(100)).as_bytes()).is_err() {
            break;
        }
    }
    assert_eq!(client::read(stream).unwrap().status, 413);
    let large = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(100_000));
    let mut stream = client::connect(server.address);
    let _ = stream.write_all(large.as_bytes());
    assert!(client::read(stream).is_none_or(|response| response.status == 414 || response.status == 431));
    assert_eq!(server.post(CHAT, &asking("say hi")).status, 200);
}

#[test]
fn slow_clients_are_not_waited_for() {
    let server = serve(|settings| {
        settings.header_time = Duration::from_millis(200);
        settings.body_time = Duration::from_millis(200);
    });
    let started = Instant::now();
    // Nothing, part of a head, part of a body.
    let mut silent = client::connect(server.address);
    let mut head = client::connect(server.address);
    head.write_all(b"POST /tokenize HTT").unwrap();
    let mut body = client::connect(server.address);
    body.write_all(b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{").unwrap();
    assert_eq!(client::read(body).unwrap().status, 408);
    for stream in [&mut silent, &mut head] {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    }
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_client_that_does_not_read_is_disconnected() {
    let server = serve(|settings| settings.stall_time = Duration::from_millis(300));
    let mut asked = streaming("flood");
    asked["n"] = json!(8);
    asked["logprobs"] = json!(true);
    asked["top_logprobs"] = json!(20);
    // 8 answers of 4000 tokens with 20 alternatives each are more than the sockets buffer.
    let response = server.post(CHAT, &asked);
    assert_eq!(response.status, 200);
    until("the connection is closed", || server.metric("ferrocm_connections") == 1.0);
    assert!(server.metric("ferrocm_answers_total{end=\"abandoned\"}") > 0.0);
    drop(response);
}

#[test]
fn an_answer_that_takes_too_long_is_ended() {
    let server = serve(|settings| settings.request_time = Duration::from_millis(100));
    let response = server.post(CHAT, &asking("silence"));
    assert_eq!((response.status, response.json()["error"]["code"].clone()), (504, json!("timeout")));
    let events = server.post(CHAT, &streaming("forever")).events();
    assert_eq!(events[events.len() - 2].1["error"]["code"], "timeout");
    until("both are cancelled", || server.cancelled() == 2);
}

#[test]
fn a_client_gets_signs_of_life_while_its_prompt_is_processed() {
    let server = serve(|settings| settings.ping_interval = Duration::from_millis(20));
    let text = server.post(CHAT, &streaming("read 50 hi")).text();
    assert!(text.contains(": ping\n") && text.contains(": prompt "), "{text}");
    let mut body = streaming("read 50 hi");
    body["max_tokens"] = json!(9);
    let text = server.post("/v1/messages", &body).text();
    assert!(text.contains("event: ping\ndata: {\"type\":\"ping\"}"), "{text}");
}

#[test]
fn a_key_is_asked_for_if_there_is_one() {
    let server = serve(|settings| settings.api_key = Some("secret".to_owned()));
    let with = |name: &str, value: &str| {
        client::send(server.address, "GET", "/v1/models", &[(name, value)], b"").status
    };
    assert_eq!(with("Authorization", "Bearer secret"), 200);
    assert_eq!(with("x-api-key", "secret"), 200);
    assert_eq!(with("Authorization", "Bearer wrong"), 401);
    let response = server.post(CHAT, &asking("say hi"));
    assert_eq!((response.status, response.headers["www-authenticate"].as_str()), (401, "Bearer"));
    assert_eq!(server.post("/v1/messages", &json!({})).json()["error"]["type"], "authentication_error");
    for open in ["/", "/docs", "/health", "/openapi.json"] {
        assert_eq!(server.get(open).status, 200, "{open}");
    }
    assert_eq!(server.get("/metrics").status, 401);
}

#[test]
fn pages_of_other_sites_cannot_use_a_server_on_loopback() {
    let server = serve(|_| {});
    let mut stream = client::connect(server.address);
    stream.write_all(b"GET /v1/models HTTP/1.1\r\nHost: evil.example\r\n\r\n").unwrap();
    assert_eq!(client::read(stream).unwrap().status, 403);
    let origin = [("Origin", "http://evil.example"), ("Access-Control-Request-Method", "POST")];
    let response = client::send(server.address, "OPTIONS", CHAT, &origin, b"");
    assert!(!response.headers.contains_key("access-control-allow-origin"));
    assert_eq!(response.status, 405);
}

#[test]
fn many_streams_at_once_get_their_own_texts() {
    let server = serve(|_| {});
    std::thread::scope(|scope| {
        for number in 0..8 {
            let server = &server;
            scope.spawn(move || {
                for round in 0..10 {
                    let text = format!("text {number} of round {round}");
                    let events = loop {
                        let response = server.post(CHAT, &streaming(&format!("slow 1 {text}")));
                        match response.status {
                            200 => break response.events(),
                            status => assert_eq!(status, 503),
                        }
                    };
                    let got: String = events
                        .iter()
                        .filter_map(|(_, data)| data["choices"][0]["delta"]["content"].as_str())
                        .collect();
                    assert_eq!(got, text);
                }
            });
        }
    });
    assert_eq!(server.cancelled(), 0);
}
