//! Models that write Harmony, in all three interfaces.

use std::sync::Arc;

use llm_server::engine::{Constraint, Engine, Request};
use serde_json::{Value, json};

use crate::engine::Scripted;
use crate::{Running, serve_engine};

const REASONED: &str =
    "<|channel|>analysis<|message|>Let me think.<|end|><|start|>assistant<|channel|>final<|message|>It is 4.";
const CALLED: &str = "<|channel|>analysis<|message|>A tool.<|end|><|start|>assistant<|channel|>commentary to=functions.look <|constrain|>json<|message|>{\"at\": 1}";

fn start(reply: &str) -> (Running, Arc<Scripted>) {
    let engine = Arc::new(Scripted::of_harmony("test"));
    *engine.state.reply.lock().unwrap() = Some(reply.to_owned());
    (serve_engine(Arc::clone(&engine), |_| {}), engine)
}

fn last(engine: &Scripted) -> (Request, String) {
    let request = engine.state.requests.lock().unwrap().last().expect("a request").clone();
    let text = engine.text(&request.prompt);
    (request, text)
}

fn tools() -> Value {
    let tool = |name: &str| json!({ "type": "function", "function": { "name": name, "parameters": { "type": "object", "properties": { "at": { "type": "integer" } } } } });
    json!([tool("look"), tool("listen")])
}

#[test]
fn reasoning_is_a_field_of_its_own_in_every_interface() {
    let (server, engine) = start(REASONED);
    let messages = json!([{ "role": "user", "content": "2 + 2? <|start|>" }]);
    let chat = json!({ "messages": messages, "reasoning_effort": "high" });
    let answer = server.post("/v1/chat/completions", &chat).json();
    let message = &answer["choices"][0]["message"];
    assert_eq!(
        (&message["content"], &message["reasoning_content"]),
        (&json!("It is 4."), &json!("Let me think."))
    );
    let (request, text) = last(&engine);
    assert!(
        text.contains("Reasoning: high") && text.ends_with("2 + 2? <|start|><|end|><|start|>assistant"),
        "{text}"
    );
    // A user's text has no control tokens: system, user and assistant begin with one each.
    let start = engine.tokenizer().token("<|start|>").expect("a token");
    assert_eq!(request.prompt.iter().filter(|token| **token == start).count(), 3);
    assert!(request.visible.contains(&start));

    let stream = json!({ "messages": messages, "stream": true });
    let (mut content, mut reasoning) = (String::new(), String::new());
    for (_, event) in server.post("/v1/chat/completions", &stream).events() {
        let delta = &event["choices"][0]["delta"];
        content.push_str(delta["content"].as_str().unwrap_or_default());
        reasoning.push_str(delta["reasoning_content"].as_str().unwrap_or_default());
    }
    assert_eq!((content.as_str(), reasoning.as_str()), ("It is 4.", "Let me think."));

    let answer =
        server.post("/v1/responses", &json!({ "input": "2 + 2?", "reasoning": { "effort": "low" } })).json();
    assert_eq!(answer["output"][0]["type"], "reasoning");
    assert!(answer["output"][0].to_string().contains("Let me think."));
    assert_eq!(answer["output"][1]["content"][0]["text"], "It is 4.");
    assert!(last(&engine).1.contains("Reasoning: low"));

    let asked = json!({ "model": "test", "max_tokens": 500, "messages": messages, "thinking": { "type": "disabled" } });
    let answer = server.post("/v1/messages", &asked).json();
    assert_eq!(answer["content"][0]["thinking"], "Let me think.");
    assert_eq!(answer["content"][1]["text"], "It is 4.");
    let refused =
        server.post("/v1/chat/completions", &json!({ "messages": messages, "reasoning_effort": "much" }));
    assert_eq!(refused.status, 400);
}

#[test]
fn calls_are_calls_and_their_answers_go_back() {
    let (server, engine) = start(CALLED);
    let mut messages = json!([{ "role": "user", "content": "Look" }]);
    let answer =
        server.post("/v1/chat/completions", &json!({ "messages": messages, "tools": tools() })).json();
    let message = answer["choices"][0]["message"].clone();
    assert_eq!(answer["choices"][0]["finish_reason"], "tool_calls");
    let function = &message["tool_calls"][0]["function"];
    assert_eq!(function, &json!({ "name": "look", "arguments": "{\"at\": 1}" }));
    assert!(last(&engine).1.contains("type look = (_: {\nat?: number,\n}) => any;"));
    let id = message["tool_calls"][0]["id"].clone();
    let all = messages.as_array_mut().expect("messages");
    all.push(message);
    all.push(json!({ "role": "tool", "tool_call_id": id, "content": "a tree" }));
    *engine.state.reply.lock().unwrap() = Some(REASONED.to_owned());
    server.post("/v1/chat/completions", &json!({ "messages": messages, "tools": tools() })).json();
    let text = last(&engine).1;
    let end = "<|start|>assistant<|channel|>analysis<|message|>A tool.<|end|>\
               <|start|>assistant to=functions.look<|channel|>commentary <|constrain|>json<|message|>{\"at\": 1}<|call|>\
               <|start|>functions.look to=assistant<|channel|>commentary<|message|>a tree<|end|><|start|>assistant";
    assert!(text.ends_with(end), "{text}");
    let lost = json!({ "messages": [{ "role": "tool", "content": "x" }] });
    assert_eq!(server.post("/v1/chat/completions", &lost).status, 400);
}

#[test]
fn what_an_answer_must_be_is_the_end_of_the_prompt() {
    let (server, engine) = start("{\"at\": 2}");
    let messages = json!([{ "role": "user", "content": "Look" }]);
    let choice = json!({ "type": "function", "function": { "name": "look" } });
    let asked = json!({ "messages": messages, "tools": tools(), "tool_choice": choice });
    let answer = server.post("/v1/chat/completions", &asked).json();
    assert_eq!(answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"], "{\"at\": 2}");
    let (request, text) = last(&engine);
    assert!(
        text.ends_with("assistant to=functions.look<|channel|>commentary <|constrain|>json<|message|>"),
        "{text}"
    );
    assert!(matches!(request.constraint, Some(Constraint::JsonSchema(_))));

    *engine.state.reply.lock().unwrap() =
        Some("listen<|channel|>commentary <|constrain|>json<|message|>{}".to_owned());
    let asked = json!({ "messages": messages, "tools": tools(), "tool_choice": "required" });
    let answer = server.post("/v1/chat/completions", &asked).json();
    assert_eq!(answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "listen");
    let (request, text) = last(&engine);
    assert!(text.ends_with("<|start|>assistant to=functions."), "{text}");
    let Some(Constraint::Lark(grammar)) = request.constraint else { panic!("a grammar") };
    assert!(
        grammar.contains(
            "call1: \"listen\" <|channel|> \"commentary \" <|constrain|> \"json\" <|message|> body1"
        ),
        "{grammar}"
    );

    *engine.state.reply.lock().unwrap() = Some("{\"answer\":42}".to_owned());
    let asked = json!({ "messages": messages, "response_format": { "type": "json_object" } });
    let answer = server.post("/v1/chat/completions", &asked).json();
    assert_eq!(answer["choices"][0]["message"]["content"], "{\"answer\":42}");
    assert!(last(&engine).1.ends_with("<|start|>assistant<|channel|>final<|message|>"));
}
