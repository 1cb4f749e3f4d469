//! Chat templates, SmolLM2's own among them, against Jinja2.

use llm::chat::{Chat, ChatTemplate, Value};

/// Keeps the order of objects, as the reference does.
#[derive(serde::Deserialize)]
struct Reference {
    sources: Vec<String>,
    results: Vec<Rendered>,
}

#[derive(serde::Deserialize)]
struct Rendered {
    source: usize,
    chat: Value,
    add: bool,
    text: Option<String>,
    error: Option<String>,
}

#[test]
fn templates_become_the_texts_that_jinja2_makes_of_them() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/references/templates.json");
    let text = std::fs::read_to_string(path).expect("a reference");
    let reference: Reference = serde_json::from_str(&text).expect("JSON");
    for (at, expected) in reference.results.iter().enumerate() {
        let template =
            ChatTemplate::new(&reference.sources[expected.source], "<s>", "</s>").expect("a template");
        let value = |name: &str| expected.chat.get_attr(name).expect("an object");
        let tools = value("tools");
        let chat = Chat {
            messages: value("messages"),
            tools: (!tools.is_undefined()).then_some(tools),
            add_generation_prompt: expected.add,
            ..Chat::default()
        };
        match (template.render(&chat), &expected.text, &expected.error) {
            (Ok(text), Some(expected), None) => assert_eq!(text, *expected, "{at}"),
            (Err(error), None, Some(expected)) => {
                assert!(error.to_string().ends_with(expected), "{at}: {error}")
            }
            (result, text, error) => panic!("{at}: {result:?}, not {text:?} or {error:?}"),
        }
    }
}
