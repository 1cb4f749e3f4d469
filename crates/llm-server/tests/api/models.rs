//! Several models in a memory budget.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use llm_server::engine::Engine;
use llm_server::{ModelEntry, Models};
use serde_json::{Value, json};

use super::engine::{Scripted, State};
use super::{Running, serve_models, until};

const CHAT: &str = "/v1/chat/completions";

/// A server of the models `a`, `b`, `c` with 1000 bytes each, and one that cannot be loaded. The loads are
/// counted.
fn serve(budget: Option<u64>, idle: Option<Duration>) -> (Running, Arc<Mutex<Vec<String>>>) {
    let entries = ["a", "b", "c", "broken"].map(|name| ModelEntry { name: name.to_owned(), bytes: 1000 });
    let loads = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&loads);
    let loader = move |name: &str| {
        seen.lock().unwrap().push(name.to_owned());
        std::thread::sleep(Duration::from_millis(20));
        match name {
            "broken" => Err("broken.gguf: tensor `x` ends after the file".to_owned()),
            "base" => Ok(Arc::new(Scripted::new(name, 8).without_template()) as Arc<dyn Engine>),
            _ => Ok(Arc::new(Scripted::new(name, 8)) as Arc<dyn Engine>),
        }
    };
    let models = Models::new(entries.to_vec(), Box::new(loader), budget, idle);
    (serve_models(models, Arc::new(State::default()), |_| {}), loads)
}

fn asking(model: &str, text: &str, stream: bool) -> Value {
    json!({ "model": model, "messages": [{ "role": "user", "content": text }], "stream": stream })
}

fn loaded(server: &Running) -> Vec<String> {
    let models = server.get("/v1/models").json();
    let models = models["data"].as_array().unwrap().iter().filter(|model| model["status"] == "loaded");
    models.map(|model| model["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_model_that_was_used_least_recently_goes() {
    let (server, loads) = serve(Some(2000), None);
    for model in ["a", "b", "a", "c"] {
        assert_eq!(server.post(CHAT, &asking(model, "say hi", false)).status, 200);
    }
    assert_eq!(loaded(&server), ["a", "c"]);
    assert_eq!(*loads.lock().unwrap(), ["a", "b", "c"]);
    assert_eq!(
        server.post(CHAT, &json!({ "messages": [{ "role": "user", "content": "say hi" }] })).json()["model"],
        "a"
    );
}

#[test]
fn models_in_use_stay() {
    let (server, _) = serve(Some(1000), None);
    let running = server.post(CHAT, &asking("a", "silence", true));
    assert_eq!(running.status, 200);
    let response = server.post(CHAT, &asking("b", "say hi", false));
    assert_eq!((response.status, response.headers.contains_key("retry-after")), (503, true));
    drop(running);
    until("the model is free", || server.post(CHAT, &asking("b", "say hi", false)).status == 200);
    assert_eq!(loaded(&server), ["b"]);
}

#[test]
fn idle_models_are_unloaded() {
    let (server, _) = serve(None, Some(Duration::from_millis(200)));
    assert_eq!(server.post(CHAT, &asking("a", "say hi", false)).status, 200);
    until("the model is unloaded", || loaded(&server).is_empty());
    assert_eq!(server.post(CHAT, &asking("a", "say hi", false)).status, 200);
}

#[test]
fn requests_for_one_model_share_its_load() {
    let (server, loads) = serve(None, None);
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                assert_eq!(server.post(CHAT, &asking("a", "say hi", false)).status, 200);
                done.fetch_add(1, Ordering::SeqCst);
            });
        }
    });
    assert_eq!((done.load(Ordering::SeqCst), loads.lock().unwrap().len()), (8, 1));
}

#[test]
fn a_model_that_cannot_be_loaded_is_told_with_its_reason() {
    let (server, _) = serve(Some(500), None);
    let response = server.post(CHAT, &asking("a", "say hi", false));
    assert_eq!(response.status, 500);
    assert!(response.json()["error"]["message"].as_str().unwrap().contains("memory budget"));
    let (server, loads) = serve(None, None);
    for _ in 0..2 {
        let response = server.post(CHAT, &asking("broken", "say hi", false));
        assert_eq!(
            (response.status, response.json()["error"]["message"].clone()),
            (500, json!("broken.gguf: tensor `x` ends after the file"))
        );
    }
    assert_eq!(loads.lock().unwrap().len(), 2);
    assert_eq!(server.post(CHAT, &asking("a", "say hi", false)).status, 200);
}

#[test]
fn a_model_whose_engine_has_stopped_is_loaded_again() {
    let (server, loads) = serve(None, None);
    assert_eq!(server.post(CHAT, &asking("a", "die", false)).status, 503);
    assert_eq!(server.post(CHAT, &asking("a", "say hi", false)).status, 200);
    assert_eq!(*loads.lock().unwrap(), ["a", "a"]);
}

#[test]
fn a_model_without_a_template_continues_texts_only() {
    let entries = vec![ModelEntry { name: "base".to_owned(), bytes: 0 }];
    let loader = |name: &str| Ok(Arc::new(Scripted::new(name, 8).without_template()) as Arc<dyn Engine>);
    let models = Models::new(entries, Box::new(loader), None, None);
    let server = serve_models(models, Arc::default(), |_| {});
    let response = server.post(CHAT, &asking("base", "say hi", false));
    assert_eq!((response.status, response.json()["error"]["code"].clone()), (400, json!("no_chat_template")));
    assert_eq!(server.post("/v1/completions", &json!({ "prompt": "say hi" })).status, 200);
}
