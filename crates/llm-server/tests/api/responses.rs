//! `/v1/responses`.

use serde_json::{Value, json};

use super::serve;

const PATH: &str = "/v1/responses";
const TEXT: &str = "say <think>hm</think>Yes.<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}</tool_call>";

fn tools() -> Value {
    json!([{ "type": "function", "name": "f", "parameters": { "type": "object" } }])
}

#[test]
fn a_response_has_reasoning_message_and_call() {
    let server = serve(|_| {});
    let response = server.post(PATH, &json!({ "input": TEXT, "tools": tools() })).json();
    assert_eq!((&response["object"], &response["status"]), (&json!("response"), &json!("completed")));
    let output = response["output"].as_array().unwrap();
    assert_eq!(output[0]["content"][0]["text"], "hm");
    assert_eq!(output[1]["content"][0]["text"], "Yes.");
    assert_eq!((&output[2]["type"], &output[2]["arguments"]), (&json!("function_call"), &json!("{\"a\":1}")));
}

#[test]
fn the_events_of_a_response_are_numbered_and_end_with_all_of_it() {
    let server = serve(|_| {});
    let events = server.post(PATH, &json!({ "input": TEXT, "tools": tools(), "stream": true })).events();
    for (number, (name, data)) in events.iter().enumerate() {
        assert_eq!((&data["type"], &data["sequence_number"]), (&json!(name), &json!(number)));
    }
    let count = |name: &str| events.iter().filter(|(other, _)| other == name).count();
    assert_eq!((count("response.output_item.added"), count("response.output_item.done")), (3, 3));
    assert_eq!((count("response.content_part.added"), count("response.content_part.done")), (2, 2));
    assert_eq!(count("response.function_call_arguments.done"), 1);
    let text: String = events
        .iter()
        .filter(|(name, _)| name == "response.output_text.delta")
        .filter_map(|(_, data)| data["delta"].as_str())
        .collect();
    assert_eq!(text, "Yes.");
    let (name, last) = events.last().unwrap();
    assert_eq!(
        (name.as_str(), last["response"]["output"].as_array().unwrap().len()),
        ("response.completed", 3)
    );
}

#[test]
fn items_of_a_conversation_become_messages() {
    let server = serve(|_| {});
    let body = json!({
        "instructions": "Be brief.",
        "input": [
            { "role": "user", "content": [{ "type": "input_text", "text": "weather?" }] },
            { "type": "function_call", "call_id": "c1", "name": "w", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "c1", "output": "rain" },
            { "role": "user", "content": "say wet" },
        ],
    });
    assert_eq!(server.post(PATH, &body).json()["output"][0]["content"][0]["text"], "wet");
    let prompt = server.state.requests.lock().unwrap()[0].prompt.len();
    assert!(prompt > 60, "{prompt}");
}

#[test]
fn limits_make_a_response_incomplete_and_failures_failed() {
    let server = serve(|_| {});
    let response = server.post(PATH, &json!({ "input": "forever", "max_output_tokens": 2 })).json();
    assert_eq!(
        (&response["status"], &response["incomplete_details"]["reason"]),
        (&json!("incomplete"), &json!("max_output_tokens"))
    );
    let (name, last) =
        server.post(PATH, &json!({ "input": "fail lost", "stream": true })).events().pop().unwrap();
    assert_eq!(
        (name.as_str(), &last["response"]["error"]["message"]),
        ("response.failed", &json!("the device failed: lost"))
    );
    for body in [
        json!({ "input": "x", "previous_response_id": "resp_1" }),
        json!({ "input": "x", "background": true }),
        json!({ "input": "x", "tools": [{ "type": "web_search" }] }),
        json!({ "input": [{ "type": "item_reference", "id": "x" }] }),
        json!({ "input": [] }),
    ] {
        assert_eq!(server.post(PATH, &body).status, 400, "{body}");
    }
}

#[test]
fn a_format_becomes_a_constraint() {
    let server = serve(|_| {});
    let format = json!({ "type": "json_schema", "name": "x", "schema": { "type": "object" } });
    let response = server.post(PATH, &json!({ "input": "hi", "text": { "format": format } })).json();
    assert_eq!(response["output"][0]["content"][0]["text"], "{\"answer\":42}");
}
