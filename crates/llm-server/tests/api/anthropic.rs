//! `/v1/messages` and `/v1/messages/count_tokens`.

use serde_json::{Value, json};

use super::serve;

const PATH: &str = "/v1/messages";

fn asking(text: &str) -> Value {
    json!({ "model": "test", "max_tokens": 100, "messages": [{ "role": "user", "content": text }] })
}

#[test]
fn messages_are_answered_in_blocks() {
    let server = serve(|_| {});
    let mut asked =
        asking("say <think>hm</think>Yes.<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}</tool_call>");
    asked["tools"] = json!([{ "name": "f", "input_schema": { "type": "object" } }]);
    let answer = server.post(PATH, &asked).json();
    assert_eq!(
        (&answer["type"], &answer["role"], &answer["stop_reason"]),
        (&json!("message"), &json!("assistant"), &json!("tool_use"))
    );
    let blocks = answer["content"].as_array().unwrap();
    assert_eq!(blocks[0]["thinking"], "hm");
    assert_eq!(blocks[1]["text"], "Yes.");
    assert_eq!((&blocks[2]["name"], &blocks[2]["input"]), (&json!("f"), &json!({ "a": 1 })));
    assert!(answer["usage"]["output_tokens"].as_u64().unwrap() > 0);
}

#[test]
fn a_stream_opens_and_closes_each_block() {
    let server = serve(|_| {});
    let mut asked =
        asking("say <think>hm</think>Yes.<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>");
    asked["tools"] = json!([{ "name": "f", "input_schema": { "type": "object" } }]);
    asked["stream"] = json!(true);
    let events = server.post(PATH, &asked).events();
    assert!(events.iter().all(|(name, data)| data["type"] == *name.as_str()));
    let mut names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    names.dedup();
    assert_eq!(
        names,
        [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ]
    );
    let starts: Vec<&Value> =
        events.iter().filter(|(name, _)| name == "content_block_start").map(|(_, data)| data).collect();
    let kinds: Vec<&Value> = starts.iter().map(|start| &start["content_block"]["type"]).collect();
    assert_eq!(kinds, ["thinking", "text", "tool_use"]);
    assert_eq!(starts.iter().map(|start| start["index"].as_u64().unwrap()).collect::<Vec<_>>(), [0, 1, 2]);
    let delta = &events[events.len() - 2].1;
    assert_eq!(delta["delta"]["stop_reason"], "tool_use");
}

#[test]
fn limits_and_stop_sequences_have_their_reasons() {
    let server = serve(|_| {});
    let mut asked = asking("say one STOP two");
    asked["stop_sequences"] = json!(["STOP"]);
    let answer = server.post(PATH, &asked).json();
    assert_eq!((&answer["stop_reason"], &answer["stop_sequence"]), (&json!("stop_sequence"), &json!("STOP")));
    asked["max_tokens"] = json!(1);
    assert_eq!(server.post(PATH, &asked).json()["stop_reason"], "max_tokens");
}

#[test]
fn earlier_calls_and_their_results_are_counted() {
    let server = serve(|_| {});
    let asked = json!({
        "model": "test",
        "system": [{ "type": "text", "text": "Be brief." }],
        "messages": [
            { "role": "user", "content": "weather?" },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "look", "signature": "" },
                { "type": "tool_use", "id": "t1", "name": "w", "input": { "city": "Oslo" } },
            ] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t1", "content": [{ "type": "text", "text": "rain" }] }] },
        ],
    });
    let counted = server.post("/v1/messages/count_tokens", &asked).json();
    assert!(counted["input_tokens"].as_u64().unwrap() > 80, "{counted}");
}

#[test]
fn errors_have_the_form_of_this_interface() {
    let server = serve(|_| {});
    let response = server.post(PATH, &json!({ "model": "test", "messages": [] }));
    assert_eq!(response.status, 400);
    let error = response.json();
    assert_eq!((&error["type"], &error["error"]["type"]), (&json!("error"), &json!("invalid_request_error")));
    let mut asked = asking("x");
    asked["model"] = json!("other");
    let response = server.post(PATH, &asked);
    assert_eq!((response.status, response.json()["error"]["type"].clone()), (404, json!("not_found_error")));
    let mut asked = asking("fail lost");
    asked["stream"] = json!(true);
    let (name, last) = server.post(PATH, &asked).events().pop().unwrap();
    assert_eq!((name.as_str(), &last["error"]["message"]), ("error", &json!("the device failed: lost")));
}
