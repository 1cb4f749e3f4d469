//! Requests that make no sense: an error that names the field, and the server lives on.

use std::io::Write;

use serde_json::{Value, json};

use super::{JSON, client, serve};

const CHAT: &str = "/v1/chat/completions";

#[test]
fn bodies_that_are_no_json_objects_are_refused() {
    let server = serve(|_| {});
    let deep = "[".repeat(100_000);
    let deep_object = "{\"a\":".repeat(10_000);
    let bodies: [&[u8]; 9] = [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\"x\"",
        b"\xff\xfe",
        b"{\"messages\": [}",
        deep.as_bytes(),
        deep_object.as_bytes(),
    ];
    for path in [CHAT, "/v1/messages", "/v1/responses", "/v1/embeddings", "/tokenize"] {
        for body in bodies {
            let response = client::send(server.address, "POST", path, &[JSON], body);
            assert_eq!(response.status, 400, "{path}");
            assert!(response.json()["error"]["message"].is_string());
        }
    }
    let response = client::send(server.address, "POST", CHAT, &[("Content-Type", "text/plain")], b"{}");
    assert_eq!(response.status, 415);
    assert_eq!(client::send(server.address, "POST", CHAT, &[], b"{}").status, 415);
}

#[test]
fn wrong_fields_are_named() {
    let server = serve(|_| {});
    let messages = json!([{ "role": "user", "content": "say hi" }]);
    for (field, body) in [
        ("messages", json!({})),
        ("messages", json!({ "messages": [] })),
        ("messages", json!({ "messages": "hi" })),
        ("messages[0].role", json!({ "messages": [{ "role": "robot", "content": "" }] })),
        ("messages[0].content", json!({ "messages": [{ "role": "user", "content": 7 }] })),
        ("messages[0].content", json!({ "messages": [{ "role": "user" }] })),
        (
            "messages[0].content",
            json!({ "messages": [{ "role": "user", "content": [{ "type": "image_url" }] }] }),
        ),
        ("max_tokens", json!({ "messages": messages, "max_tokens": -1 })),
        ("max_tokens", json!({ "messages": messages, "max_tokens": 0 })),
        ("temperature", json!({ "messages": messages, "temperature": "hot" })),
        ("n", json!({ "messages": messages, "n": 0 })),
        ("n", json!({ "messages": messages, "n": 1_000_000 })),
        ("stop", json!({ "messages": messages, "stop": [1] })),
        ("stop", json!({ "messages": messages, "stop": "" })),
        ("stream", json!({ "messages": messages, "stream": "yes" })),
        ("top_logprobs", json!({ "messages": messages, "logprobs": true, "top_logprobs": 100 })),
        ("top_logprobs", json!({ "messages": messages, "top_logprobs": 1 })),
        ("tools[0]", json!({ "messages": messages, "tools": [{ "type": "function" }] })),
        (
            "tools[0].type",
            json!({ "messages": messages, "tools": [{ "type": "x", "function": { "name": "f" } }] }),
        ),
        ("tool_choice", json!({ "messages": messages, "tool_choice": "perhaps" })),
        ("tool_choice", json!({ "messages": messages, "tool_choice": "required" })),
        ("response_format", json!({ "messages": messages, "response_format": { "type": "xml" } })),
        ("response_format", json!({ "messages": messages, "response_format": { "type": "json_schema" } })),
        ("logit_bias", json!({ "messages": messages, "logit_bias": { "5": 1 } })),
    ] {
        let response = server.post(CHAT, &body);
        assert_eq!(response.status, 400, "{body}");
        let error = response.json()["error"].clone();
        let named = error["param"].as_str().unwrap_or_default();
        let is_named = named == field || error["message"].as_str().unwrap().contains(field);
        assert!(is_named, "{body}: {error}");
        assert_eq!(error["type"], "invalid_request_error");
    }
    for (name, value) in [
        ("temperature", json!(-1)),
        ("top_p", json!(2)),
        ("min_p", json!(-0.5)),
        ("repeat_penalty", json!(0)),
    ] {
        let mut body = json!({ "messages": messages });
        body[name] = value;
        let response = server.post(CHAT, &body);
        assert_eq!(response.status, 400, "{body}");
        assert!(response.json()["error"]["message"].as_str().unwrap().contains(name));
    }
    assert_eq!(server.post(CHAT, &json!({ "messages": messages })).status, 200);
}

#[test]
fn prompts_that_do_not_fit_and_refusals_of_templates_are_told() {
    let server = serve(|_| {});
    let long = json!({ "messages": [{ "role": "user", "content": "x".repeat(5000) }] });
    let response = server.post(CHAT, &long);
    assert_eq!(
        (response.status, response.json()["error"]["code"].clone()),
        (400, json!("context_length_exceeded"))
    );
    let refused = json!({ "messages": [{ "role": "user", "content": "refuse this" }] });
    let response = server.post(CHAT, &refused);
    assert_eq!(response.status, 400);
    assert!(response.json()["error"]["message"].as_str().unwrap().contains("as asked"));
    let response = server.post(CHAT, &json!({ "model": "other", "messages": [] }));
    assert_eq!(response.status, 404);
    let error: Value = response.json();
    assert_eq!(
        (&error["error"]["code"], &error["error"]["param"]),
        (&json!("model_not_found"), &json!("model"))
    );
}

#[test]
fn bytes_that_are_no_http_end_only_their_connection() {
    let server = serve(|_| {});
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /tokenize HTTP/1.1\r\nContent-Length: nonsense\r\n\r\n",
        b"POST /tokenize HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"GET /\0 HTTP/1.1\r\n\r\n",
    ] {
        let mut stream = client::connect(server.address);
        stream.write_all(bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        if let Some(response) = client::read(stream) {
            assert!((400..500).contains(&response.status), "{}", response.status);
        }
    }
    assert_eq!(server.get("/health").status, 200);
}
