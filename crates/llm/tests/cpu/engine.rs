//! The engine, with a small model: what requests yield, alone and together.

use std::sync::Arc;
use std::time::{Duration, Instant};

use llm::engine::{Engine, Event, Events, FinishReason, Pooling, Request, Sampling, Usage};
use llm::{EngineOptions, Error};
use tempfile::TempDir;

use crate::on_cpu;
use crate::support::{argmax, reference, tokens};
use crate::tiny;

pub(crate) fn options() -> EngineOptions<'static> {
    EngineOptions {
        device: "cpu:2".into(),
        context: Some(192),
        cache: Some(192),
        places: 4,
        queue: 8,
        chunk: Some(16),
        ..Default::default()
    }
}

pub(crate) fn open(folder: &TempDir, name: &str, options: EngineOptions<'_>) -> Arc<dyn Engine> {
    llm::open(tiny::write(folder, name), options).expect("an engine")
}

pub(crate) fn request(prompt: &[u32], count: usize) -> Request {
    let mut request = Request::new(prompt.to_vec());
    request.sampling = Sampling::greedy();
    request.max_tokens = count;
    request.ignore_end = true;
    request
}

pub(crate) struct Answer {
    pub(crate) tokens: Vec<u32>,
    pub(crate) text: String,
    pub(crate) reason: FinishReason,
    pub(crate) usage: Usage,
}

pub(crate) fn answer(mut events: Events) -> Answer {
    let (mut tokens, mut text) = (Vec::new(), String::new());
    while let Some(event) = events.blocking_next() {
        match event {
            Event::Token { id, text: more, .. } => {
                tokens.push(id);
                text.push_str(&more);
            }
            Event::Finished { text: more, reason, usage } => {
                text.push_str(&more);
                assert!(events.blocking_next().is_none(), "the last event");
                return Answer { tokens, text, reason, usage };
            }
            Event::Failed(error) => panic!("{error}"),
            _ => {}
        }
    }
    panic!("no last event");
}

pub(crate) fn prompt() -> Vec<u32> {
    tokens(&reference("tiny.json")["tokens"])
}

/// Greedy tokens, computed one by one without an engine.
pub(crate) fn greedy(folder: &TempDir, name: &str, prompt: &[u32], count: usize) -> Vec<u32> {
    let mut running = on_cpu(&tiny::write(folder, name), 192);
    let mut row = running.add(prompt).pop().expect("logits");
    let mut tokens = Vec::new();
    for _ in 0..count {
        tokens.push(argmax(&row));
        row = running.add(&tokens[tokens.len() - 1..]).pop().expect("logits");
    }
    tokens
}

/// A model whose layers all have attention, and one that has states.
const KINDS: [&str; 2] = ["gemma3", "qwen35"];

#[test]
fn requests_together_yield_what_each_yields_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in KINDS {
        let engine = open(&folder, name, options());
        let prompts: Vec<Vec<u32>> = (0..7).map(|at| prompt()[at..20 + 4 * at].to_vec()).collect();
        // Seven requests for four places and a cache of 192 positions: some wait, and some make way.
        let events: Vec<Events> =
            prompts.iter().map(|prompt| engine.submit(request(prompt, 40)).expect("a place")).collect();
        for (prompt, events) in prompts.iter().zip(events) {
            let answer = answer(events);
            assert_eq!(answer.tokens, greedy(&folder, name, prompt, 40), "{name}");
            assert_eq!(answer.reason, FinishReason::Length);
            assert_eq!((answer.usage.prompt_tokens, answer.usage.generated_tokens), (prompt.len(), 40));
        }
        let load = engine.load();
        assert_eq!((load.waiting, load.places, load.cache_tokens), (0, 4, 192));
    }
}

#[test]
fn a_prompt_that_begins_as_an_earlier_one_is_not_computed_again() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in KINDS {
        let engine = open(&folder, name, options());
        let first = answer(engine.submit(request(&prompt(), 8)).expect("a place"));
        assert_eq!(first.usage.reused_tokens, 0);
        let again = answer(engine.submit(request(&prompt(), 8)).expect("a place"));
        assert_eq!((again.usage.reused_tokens, &again.tokens), (32, &first.tokens), "{name}");
        // The next turn of a chat: the answer is reused, too.
        let turn: Vec<u32> = prompt().into_iter().chain(first.tokens.clone()).chain(prompt()).collect();
        let third = answer(engine.submit(request(&turn, 8)).expect("a place"));
        assert_eq!(third.usage.reused_tokens, 32);
        assert_eq!(third.tokens, greedy(&folder, name, &turn, 8), "{name}");
        let fourth = answer(engine.submit(request(&turn, 8)).expect("a place"));
        assert_eq!((fourth.usage.reused_tokens, fourth.tokens), (96, third.tokens), "{name}");
    }
}

#[test]
fn states_of_earlier_texts_make_way_and_texts_stay_right() {
    let folder = tempfile::tempdir().expect("a folder");
    // One place, so that there are three places of states, and room for many texts.
    let options = EngineOptions { places: 1, cache: Some(1024), ..options() };
    let engine = open(&folder, "qwen35", options);
    let texts: Vec<Vec<u32>> =
        (0..6).map(|at| prompt().iter().map(|token| (token + at) % 256).collect()).collect();
    let expected: Vec<_> = texts.iter().map(|text| greedy(&folder, "qwen35", text, 6)).collect();
    let mut reused = 0;
    for at in [0, 1, 2, 3, 4, 5, 5, 4, 0, 1, 5] {
        let answer = answer(engine.submit(request(&texts[at], 6)).expect("a place"));
        assert_eq!(answer.tokens, expected[at], "text {at}");
        reused += answer.usage.reused_tokens;
    }
    assert!((32..=5 * 32).contains(&reused), "some are kept, and not all: {reused}");
    let vectors = engine.embed(&[prompt(), prompt()], Pooling::Mean).expect("vectors");
    assert_eq!(vectors[0], vectors[1]);
}

#[test]
fn a_stop_sequence_and_a_stop_token_end_the_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = open(&folder, "llama", options());
    let mut sampled = request(&prompt(), 60);
    sampled.sampling = Sampling { seed: 3, temperature: 1.0, ..Sampling::default() };
    let whole = answer(engine.submit(sampled.clone()).expect("a place"));
    assert_eq!(whole.tokens.len(), 60);
    let repeated = answer(engine.submit(sampled.clone()).expect("a place"));
    assert_eq!(repeated.tokens, whole.tokens, "the same seed");
    // Three characters from the middle of the text.
    let stop: String = whole.text.chars().skip(20).take(3).collect();
    let end = whole.text.find(&stop).expect("it is there");
    sampled.stop = vec!["no such text".into(), stop.clone()];
    let stopped = answer(engine.submit(sampled.clone()).expect("a place"));
    assert_eq!(
        (stopped.text.as_str(), stopped.reason),
        (&whole.text[..end], FinishReason::StopSequence(stop))
    );
    // A model that only says its end token.
    sampled.stop.clear();
    sampled.ignore_end = false;
    sampled.max_tokens = 3000;
    let ended = answer(engine.submit(sampled).expect("a place"));
    match ended.reason {
        FinishReason::Stop => assert!(engine.tokenizer().is_stop(257)),
        reason => assert_eq!(
            (reason, ended.usage.generated_tokens),
            (FinishReason::Length, 192 - 48),
            "the context"
        ),
    }
}

#[test]
fn log_probabilities_come_with_tokens() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = open(&folder, "llama", options());
    let mut request = request(&prompt(), 3);
    request.logprobs = Some(2);
    let mut events = engine.submit(request).expect("a place");
    let mut seen = 0;
    while let Some(event) = events.blocking_next() {
        if let Event::Token { id, logprob, .. } = event {
            let logprob = logprob.expect("asked for");
            assert_eq!((logprob.top.len(), logprob.top[0]), (2, (id, logprob.logprob)));
            assert!(logprob.logprob < 0.0 && logprob.top[1].1 <= logprob.logprob);
            seen += 1;
        }
    }
    assert_eq!(seen, 3);
}

#[cfg(feature = "constraints")]
#[test]
fn a_text_follows_its_grammar() {
    use llm::engine::Constraint;

    let folder = tempfile::tempdir().expect("a folder");
    let engine = open(&folder, "llama", options());
    let constrained = |constraint: Constraint, seed| {
        let mut request = request(&prompt(), 120);
        request.ignore_end = false;
        request.sampling = Sampling { seed, temperature: 1.0, ..Sampling::default() };
        request.constraint = Some(constraint);
        engine.submit(request)
    };
    let schema = serde_json::json!({
        "type": "object", "additionalProperties": false, "required": ["n", "ok"],
        "properties": { "n": { "type": "integer", "minimum": 0, "maximum": 99 }, "ok": { "type": "boolean" } }
    });
    for seed in 0..3 {
        let json = answer(constrained(Constraint::JsonSchema(schema.clone()), seed).expect("a place"));
        if json.reason == FinishReason::Stop {
            let value: serde_json::Value = serde_json::from_str(&json.text).expect("JSON");
            assert!(value["n"].is_u64() && value["ok"].is_boolean(), "{value}");
        } else {
            // White space goes on for as long as it likes.
            assert!(json.text.starts_with('{'), "{}", json.text);
        }
        let matched =
            answer(constrained(Constraint::Regex("[a-c]{3}-[0-9]{2}".into()), seed).expect("a place"));
        let bytes = matched.text.as_bytes();
        let begins = bytes.len() == 6 && bytes[..3].iter().all(|byte| (b'a'..=b'c').contains(byte));
        assert!(begins && bytes[3] == b'-', "{}", matched.text);
        assert_eq!(matched.reason, FinishReason::Stop);
    }
    let lark = answer(constrained(Constraint::Lark("start: \"yes\" | \"no\"".into()), 1).expect("a place"));
    assert!(["yes", "no"].contains(&lark.text.as_str()), "{}", lark.text);
    let error = constrained(Constraint::Regex("[".into()), 1).expect_err("refused").to_string();
    assert!(error.starts_with("the constraint cannot be used"), "{error}");
}

#[test]
fn a_request_that_nobody_listens_to_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine =
        open(&folder, "llama", EngineOptions { context: Some(2048), cache: Some(4096), ..options() });
    let events: Vec<Events> =
        (0..3).map(|_| engine.submit(request(&prompt(), 1900)).expect("a place")).collect();
    drop(events);
    let start = Instant::now();
    while engine.load().running > 0 || engine.load().waiting > 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", engine.load());
        std::thread::sleep(Duration::from_millis(5));
    }
    answer(engine.submit(request(&prompt(), 2)).expect("a place"));
}

#[test]
fn what_cannot_run_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = open(&folder, "llama", EngineOptions { queue: 2, places: 1, ..options() });
    let refused = |request: Request| engine.submit(request).expect_err("refused").to_string();
    assert_eq!(refused(request(&[], 1)), "the prompt is empty");
    assert!(refused(request(&[1; 192], 1)).contains("has 192 tokens, and the context has room for 191"));
    assert!(refused(request(&[999], 1)).contains("has the token 999, and the model has 264 tokens"));
    let mut wrong = request(&[1], 1);
    wrong.sampling.top_p = 2.0;
    assert_eq!(refused(wrong), "top_p is 2, not from 0 to 1");
    let many: Vec<_> = (0..12).map(|_| engine.submit(request(&prompt(), 100))).collect();
    assert!(many.iter().any(|result| matches!(result, Err(Error::Busy { .. }))), "the queue is bounded");
    let zero = answer(engine.submit(request(&prompt(), 0)).expect("nothing to do"));
    assert_eq!((zero.tokens.len(), zero.reason), (0, FinishReason::Length));
    drop(many);
    let error = llm::open(folder.path().join("none.gguf"), options()).err().expect("no file").to_string();
    assert!(error.contains("none.gguf"), "{error}");
}

#[test]
fn an_engine_that_goes_away_ends_its_requests() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine =
        open(&folder, "llama", EngineOptions { context: Some(2048), cache: Some(4096), ..options() });
    let events = engine.submit(request(&prompt(), 1900)).expect("a place");
    std::thread::sleep(Duration::from_millis(50));
    drop(engine);
    assert_eq!(answer(events).reason, FinishReason::Cancelled);
}

#[test]
fn decoders_make_vectors_of_texts() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = open(&folder, "qwen3", options());
    let inputs = [prompt(), prompt()[..20].to_vec(), prompt()];
    let vectors = engine.embed(&inputs, Pooling::Last).expect("vectors");
    assert_eq!(vectors.len(), 3);
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    for vector in &vectors {
        assert_eq!(vector.len(), engine.description().width);
        assert!((dot(vector, vector) - 1.0).abs() < 1e-5);
    }
    assert!((dot(&vectors[0], &vectors[2]) - 1.0).abs() < 1e-5 && dot(&vectors[0], &vectors[1]) < 0.999);
    assert!(engine.embed(&[vec![]], Pooling::Mean).is_err());
}

#[test]
fn an_engine_has_what_its_file_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = open(&folder, "gemma2", options());
    let description = engine.description();
    assert_eq!((description.name.as_str(), description.architecture.as_str()), ("tiny gemma2", "gemma2"));
    assert_eq!(
        (description.context, description.trained_context, description.vocabulary),
        (192, 256, tiny::VOCABULARY)
    );
    assert_eq!((description.weights.as_str(), description.generates), ("F32", true));
    let template = engine.chat_template().expect("a template");
    let text = template.render(&llm::chat::Chat::of_texts(&[("user", "hé")])).expect("a prompt");
    assert_eq!(text, "user: hé\n");
    assert_eq!(engine.tokenizer().encode("he", llm::tokenizer::SpecialText::Text).expect("tokens"), [263]);
}

#[test]
fn files_of_weights_are_read_and_not_mapped() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = tiny::write(&folder, "llama");
    let mut maps = String::new();
    let mut progress = |_| maps.push_str(&std::fs::read_to_string("/proc/self/maps").expect("maps"));
    let options = EngineOptions { progress: Some(&mut progress), ..options() };
    let engine = llm::open(&path, options).expect("an engine");
    maps.push_str(&std::fs::read_to_string("/proc/self/maps").expect("maps"));
    let name = folder.path().to_str().expect("a name");
    assert!(!maps.contains(name), "{maps}");
    drop(engine);
    // Nothing holds the file open, either.
    let open = std::fs::read_dir("/proc/self/fd").expect("open files").flatten();
    let open: Vec<_> = open.filter_map(|entry| std::fs::read_link(entry.path()).ok()).collect();
    assert!(!open.contains(&path), "{open:?}");
}
