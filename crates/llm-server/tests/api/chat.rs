//! `/v1/chat/completions` and `/v1/completions`.

use serde_json::{Value, json};

use super::{Running, serve};

const PATH: &str = "/v1/chat/completions";

pub(crate) fn asking(text: &str) -> Value {
    json!({ "model": "test", "messages": [{ "role": "user", "content": text }] })
}

fn with(mut body: Value, more: &Value) -> Value {
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

fn tool(name: &str) -> Value {
    json!({ "type": "function", "function": { "name": name, "parameters": { "type": "object" } } })
}

/// The answer's first choice.
fn choice(server: &Running, body: &Value) -> Value {
    let response = server.post(PATH, body);
    assert_eq!(response.status, 200);
    response.json()["choices"][0].clone()
}

/// The texts of all deltas of one kind, and the events.
fn streamed(server: &Running, body: Value, field: &str) -> (String, Vec<Value>) {
    let response = server.post(PATH, &with(body, &json!({ "stream": true })));
    assert_eq!(response.status, 200);
    assert_eq!(response.headers["content-type"], "text/event-stream");
    let mut events: Vec<Value> = response.events().into_iter().map(|(_, data)| data).collect();
    assert_eq!(events.pop(), Some(Value::from("[DONE]")));
    let text = events.iter().filter_map(|event| event["choices"][0]["delta"][field].as_str()).collect();
    (text, events)
}

#[test]
fn a_conversation_is_answered() {
    let server = serve(|_| {});
    let answer = server.post(PATH, &asking("say Hello, world ✓")).json();
    assert_eq!(answer["object"], "chat.completion");
    assert_eq!(answer["choices"][0]["message"]["content"], "Hello, world ✓");
    assert_eq!(answer["choices"][0]["message"]["role"], "assistant");
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    assert_eq!(answer["usage"]["completion_tokens"], 5);
    assert_eq!(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 1);
    let prompt = answer["usage"]["prompt_tokens"].as_u64().unwrap();
    assert_eq!(answer["usage"]["total_tokens"], prompt + 5);
}

#[test]
fn a_stream_has_the_same_text_and_its_usage_if_asked() {
    let server = serve(|_| {});
    let (text, events) = streamed(&server, asking("say Hello, world ✓"), "content");
    assert_eq!(text, "Hello, world ✓");
    assert_eq!(events.last().unwrap()["choices"][0]["finish_reason"], "stop");
    assert!(events.iter().all(|event| event["id"] == events[0]["id"] && event.get("usage").is_none()));
    let asked = with(asking("say Hi"), &json!({ "stream_options": { "include_usage": true } }));
    let (_, events) = streamed(&server, asked, "content");
    let last = events.last().unwrap();
    assert_eq!(
        (last["choices"].as_array().unwrap().len(), &last["usage"]["completion_tokens"]),
        (0, &json!(1))
    );
}

#[test]
fn limits_and_stop_sequences_end_an_answer() {
    let server = serve(|_| {});
    let answer = choice(&server, &with(asking("say one two"), &json!({ "max_tokens": 1 })));
    assert_eq!((&answer["message"]["content"], &answer["finish_reason"]), (&json!("one"), &json!("length")));
    let answer = choice(&server, &with(asking("say one two"), &json!({ "max_completion_tokens": 1 })));
    assert_eq!(answer["finish_reason"], "length");
    let answer = choice(&server, &with(asking("say one two three"), &json!({ "stop": [" t", "three"] })));
    assert_eq!((&answer["message"]["content"], &answer["finish_reason"]), (&json!("one"), &json!("stop")));
}

#[test]
fn reasoning_is_a_field_of_its_own() {
    let server = serve(|_| {});
    let asked = asking("say <think>\nbecause\n</think>\n\nanswer");
    let message = &choice(&server, &asked)["message"];
    assert_eq!((&message["reasoning_content"], &message["content"]), (&json!("because"), &json!("answer")));
    assert_eq!(streamed(&server, asked.clone(), "reasoning_content").0, "because");
    assert_eq!(streamed(&server, asked, "content").0, "answer");
    // The prompt ends with the marker.
    let asked = with(asking("say because</think>answer"), &json!({ "reasoning_effort": "high" }));
    assert_eq!(choice(&server, &asked)["message"]["reasoning_content"], "because");
}

#[test]
fn tools_are_called_several_at_once_or_only_one() {
    let server = serve(|_| {});
    let text = "say I call.<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}</tool_call><tool_call>{\"name\":\"g\",\"arguments\":{}}</tool_call>";
    let asked = with(asking(text), &json!({ "tools": [tool("f"), tool("g")] }));
    let answer = choice(&server, &asked);
    assert_eq!(answer["finish_reason"], "tool_calls");
    assert_eq!(answer["message"]["content"], "I call.");
    let calls = answer["message"]["tool_calls"].as_array().unwrap();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0]["function"], json!({ "name": "f", "arguments": "{\"a\":1}" }));
    assert_ne!(calls[0]["id"], calls[1]["id"]);
    let (_, events) = streamed(&server, asked.clone(), "content");
    let deltas: Vec<&Value> = events
        .iter()
        .map(|event| &event["choices"][0]["delta"]["tool_calls"][0])
        .filter(|call| !call.is_null())
        .collect();
    assert_eq!(
        (deltas.len(), &deltas[1]["index"], &deltas[1]["function"]["name"]),
        (2, &json!(1), &json!("g"))
    );
    assert_eq!(events.last().unwrap()["choices"][0]["finish_reason"], "tool_calls");
    let one = choice(&server, &with(asked, &json!({ "parallel_tool_calls": false })));
    assert_eq!(one["message"]["tool_calls"].as_array().unwrap().len(), 1);
}

#[test]
fn the_choice_of_tools_is_obeyed() {
    let server = serve(|_| {});
    let tools = json!({ "tools": [tool("f"), tool("g")] });
    let called = |choice: Value| {
        let asked = with(with(asking("say hello"), &tools), &json!({ "tool_choice": choice }));
        self::choice(&server, &asked)["message"]["tool_calls"][0]["function"]["name"].clone()
    };
    assert_eq!(called(json!("required")), "f");
    assert_eq!(called(json!({ "type": "function", "function": { "name": "g" } })), "g");
    assert_eq!(called(json!("auto")), Value::Null);
    assert_eq!(called(json!("none")), Value::Null);
    let unknown = json!({ "tool_choice": { "type": "function", "function": { "name": "h" } } });
    let response = server.post(PATH, &with(with(asking("x"), &tools), &unknown));
    assert_eq!((response.status, response.json()["error"]["param"].clone()), (400, json!("tool_choice")));
}

#[test]
fn the_results_of_tools_are_part_of_the_prompt() {
    let server = serve(|_| {});
    let asked = json!({ "messages": [
        { "role": "user", "content": [{ "type": "text", "text": "weather?" }] },
        { "role": "assistant", "content": null, "tool_calls": [
            { "id": "c1", "type": "function", "function": { "name": "w", "arguments": "{\"city\":\"Oslo\"}" } },
        ] },
        { "role": "tool", "tool_call_id": "c1", "content": "rain" },
    ] });
    let prompt = server.post("/apply-template", &asked).json();
    let prompt = prompt["prompt"].as_str().unwrap();
    assert!(
        prompt.contains("<|tool|>rain<|end|>") && prompt.contains("\"arguments\": {\"city\": \"Oslo\"}"),
        "{prompt}"
    );
    assert!(prompt.ends_with("<|assistant|>"));
}

#[test]
fn formats_of_the_answer_become_constraints() {
    let server = serve(|_| {});
    for more in [
        json!({ "response_format": { "type": "json_object" } }),
        json!({ "response_format": { "type": "json_schema", "json_schema": { "name": "x", "schema": { "type": "object" } } } }),
        json!({ "regex": "a+" }),
    ] {
        assert_eq!(choice(&server, &with(asking("hi"), &more))["message"]["content"], "{\"answer\":42}");
    }
    let plain = with(asking("say hi"), &json!({ "response_format": { "type": "text" } }));
    assert_eq!(choice(&server, &plain)["message"]["content"], "hi");
}

#[test]
fn probabilities_come_for_every_token() {
    let server = serve(|_| {});
    let asked = with(asking("say abcdef"), &json!({ "logprobs": true, "top_logprobs": 2 }));
    let content = choice(&server, &asked)["logprobs"]["content"].clone();
    assert_eq!(content.as_array().unwrap().len(), 2);
    assert_eq!((&content[0]["token"], &content[0]["logprob"]), (&json!("a"), &json!(-0.5)));
    assert_eq!(content[0]["top_logprobs"].as_array().unwrap().len(), 2);
    let (_, events) = streamed(&server, asked, "content");
    let count: usize = events
        .iter()
        .filter_map(|event| Some(event["choices"][0]["logprobs"]["content"].as_array()?.len()))
        .sum();
    assert_eq!(count, 2);
}

#[test]
fn several_answers_have_their_own_indices_and_seeds() {
    let server = serve(|_| {});
    let asked = with(asking("say hi"), &json!({ "n": 3, "seed": 7, "temperature": 0.25 }));
    let answer = server.post(PATH, &asked).json();
    let indices: Vec<&Value> =
        answer["choices"].as_array().unwrap().iter().map(|choice| &choice["index"]).collect();
    assert_eq!(indices, [0, 1, 2]);
    let seen = server.state.requests.lock().unwrap();
    let seeds: Vec<u64> = seen.iter().map(|request| request.sampling.seed).collect();
    assert_eq!(seeds, [7, 8, 9]);
    assert!(seen.iter().all(|request| request.sampling.temperature == 0.25));
    drop(seen);
    let response = server.post(PATH, &with(asked, &json!({ "stream": true })));
    let events = response.events();
    for index in 0..3 {
        let mine = |event: &&(String, Value)| event.1["choices"][0]["index"] == index;
        let text: String = events
            .iter()
            .filter(mine)
            .filter_map(|event| event.1["choices"][0]["delta"]["content"].as_str())
            .collect();
        assert_eq!(text, "hi");
    }
}

#[test]
fn a_failure_in_a_stream_is_its_last_event() {
    let server = serve(|_| {});
    let response = server.post(PATH, &asking("fail it is lost"));
    assert_eq!(response.status, 500);
    assert_eq!(response.json()["error"]["message"], "the device failed: it is lost");
    let (_, events) = streamed(&server, asking("fail it is lost"), "content");
    assert_eq!(events.last().unwrap()["error"]["message"], "the device failed: it is lost");
    let response = server.post(PATH, &asking("panic"));
    assert_eq!(response.status, 500);
    assert_eq!(server.post(PATH, &asking("say on")).status, 200);
}

#[test]
fn texts_are_continued() {
    let server = serve(|_| {});
    let body = json!({ "prompt": ["say one", "say two"], "logprobs": 1, "n": 1 });
    let answer = server.post("/v1/completions", &body).json();
    assert_eq!(
        (&answer["choices"][0]["text"], &answer["choices"][1]["text"]),
        (&json!("one"), &json!("two"))
    );
    let logprobs = &answer["choices"][1]["logprobs"];
    assert_eq!((&logprobs["tokens"], &logprobs["text_offset"]), (&json!(["t"]), &json!([0])));
    let tokens: Vec<u8> = b"say hi".to_vec();
    let answer = server.post("/v1/completions", &json!({ "prompt": tokens, "echo": true })).json();
    assert_eq!(answer["choices"][0]["text"], "say hihi");
    let events = server.post("/v1/completions", &json!({ "prompt": "say one two", "stream": true })).events();
    let text: String = events.iter().filter_map(|(_, data)| data["choices"][0]["text"].as_str()).collect();
    assert_eq!(text, "one two");
    // OpenAI's default.
    let answer = server.post("/v1/completions", &json!({ "prompt": "forever" })).json();
    assert_eq!(
        (&answer["usage"]["completion_tokens"], &answer["choices"][0]["finish_reason"]),
        (&json!(16), &json!("length"))
    );
}
