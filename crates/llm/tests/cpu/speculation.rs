//! Guessed tokens change how fast an answer comes, and not the answer.

use std::path::PathBuf;

use llm::engine::{Engine, Events, Request, Sampling};
use llm::{EngineOptions, Speculation};
use tempfile::TempDir;

use crate::engine::{answer, greedy, open, options, prompt, request};
use crate::tiny;

/// Engines that guess in each way, with what to call them.
fn guessing(folder: &TempDir, name: &str) -> Vec<(&'static str, std::sync::Arc<dyn Engine>)> {
    let draft = |path: PathBuf| Speculation::Draft { path, tokens: 3 };
    let with = |speculation| open(folder, name, EngineOptions { speculation, ..options() });
    vec![
        ("lookup", with(Speculation::Lookup { tokens: 4 })),
        ("the model itself", with(draft(tiny::write(folder, name)))),
        // Other architectures with the same tokens, which are mostly wrong. The second one has states.
        ("another model", with(draft(tiny::write(folder, "gemma2")))),
        ("one with states", with(draft(tiny::write(folder, "qwen35moe")))),
    ]
}

/// A model whose layers all have attention, and those that have states.
const KINDS: [&str; 3] = ["qwen3", "qwen35", "qwen3next"];

#[test]
fn the_most_likely_tokens_are_the_same_with_guesses() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in KINDS {
        the_most_likely_tokens_are_the_same(&folder, name);
    }
}

fn the_most_likely_tokens_are_the_same(folder: &TempDir, name: &str) {
    for (kind, engine) in guessing(folder, name) {
        let kind = format!("{name}, {kind}");
        let prompts: Vec<Vec<u32>> = (0..7).map(|at| prompt()[at..20 + 4 * at].to_vec()).collect();
        // Some wait, some make way, and texts begin as others did.
        for _ in 0..2 {
            let events: Vec<Events> =
                prompts.iter().map(|prompt| engine.submit(request(prompt, 40)).expect("a place")).collect();
            for (prompt, events) in prompts.iter().zip(events) {
                let answer = answer(events);
                assert_eq!(answer.tokens, greedy(folder, name, prompt, 40), "{kind}");
                let usage = answer.usage;
                assert_eq!(usage.generated_tokens, 40, "{kind}");
                assert!(usage.accepted_tokens <= usage.drafted_tokens, "{kind}: {usage:?}");
                if kind.ends_with("the model itself") {
                    assert_eq!(usage.accepted_tokens, usage.drafted_tokens, "{kind}: {usage:?}");
                    assert!(usage.accepted_tokens >= 27, "{kind}: {usage:?}");
                }
            }
        }
    }
}

#[test]
fn a_repetition_is_guessed_by_looking_it_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let speculation = || Speculation::Lookup { tokens: 4 };
    let engine = open(&folder, "qwen3", EngineOptions { speculation: speculation(), ..options() });
    // Small models repeat themselves sooner or later.
    let long = answer(engine.submit(request(&prompt()[..30], 150)).expect("a place"));
    assert_eq!(long.tokens, greedy(&folder, "qwen3", &prompt()[..30], 150));
    assert!(long.usage.accepted_tokens > 40, "{:?}", long.usage);
}

/// States behind pages of a text are kept, whether it was guessed or not, and texts that go on from them are
/// right.
#[test]
fn a_text_with_guesses_goes_on_from_the_states_of_an_earlier_one() {
    let folder = tempfile::tempdir().expect("a folder");
    for (kind, engine) in guessing(&folder, "qwen35") {
        let first = answer(engine.submit(request(&prompt()[..40], 60)).expect("a place"));
        assert_eq!(first.tokens, greedy(&folder, "qwen35", &prompt()[..40], 60), "{kind}");
        let turn: Vec<u32> =
            prompt()[..40].iter().chain(&first.tokens).chain(&prompt()[..9]).copied().collect();
        let second = answer(engine.submit(request(&turn, 30)).expect("a place"));
        assert_eq!(second.tokens, greedy(&folder, "qwen35", &turn, 30), "{kind}");
        // With a model that guesses, only states behind pages of prompts are kept.
        let reused = if kind == "lookup" { 96 } else { 32 };
        assert_eq!(second.usage.reused_tokens, reused, "{kind}");
    }
}

/// A text may end with a guess that was right. States have then seen one token more than others, so those of
/// a page that ends before it are not kept.
#[test]
fn states_behind_a_guess_that_ends_a_text_are_not_those_of_the_page_before_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = "qwen35";
    let speculation = Speculation::Draft { path: tiny::write(&folder, name), tokens: 3 };
    let engine = open(&folder, name, EngineOptions { speculation, ..options() });
    let mut cases = 0;
    for steps in 0..6 {
        // Behind the prompt come one token, then four with each step, of which three are guesses. The last
        // guess of the last step is the first token behind a page.
        let start = [&prompt()[..], &prompt()[..]].concat()[..64 - 3 - 4 * steps].to_vec();
        let expected = greedy(&folder, name, &start, 4 + 4 * steps);
        let (last, before) = expected.split_last().expect("tokens");
        let is_text = u8::try_from(*last).is_ok_and(|byte| byte.is_ascii_graphic());
        if !is_text || before.contains(last) {
            continue;
        }
        cases += 1;
        let mut first = request(&start, 60);
        first.stop = vec![engine.tokenizer().decode(&[*last])];
        let first = answer(engine.submit(first).expect("a place"));
        assert_eq!(first.tokens, expected, "it ends with this token");
        let text = [&start[..], &expected[..expected.len() - 1], &prompt()[5..20]].concat();
        let second = answer(engine.submit(request(&text, 20)).expect("a place"));
        assert_eq!(second.tokens, greedy(&folder, name, &text, 20), "{steps} steps");
    }
    assert!(cases > 0, "no text ends with a token that is new in it");
}

/// The same seed, and every setting that changes how tokens are chosen.
#[test]
fn drawn_tokens_are_the_same_with_guesses() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["llama", "qwen35"] {
        drawn_tokens_are_the_same(&folder, name);
    }
}

fn drawn_tokens_are_the_same(folder: &TempDir, name: &str) {
    let plain = open(folder, name, options());
    let settings = [
        Sampling { temperature: 1.0, ..Sampling::default() },
        Sampling { temperature: 0.3, top_k: 0, top_p: 1.0, min_p: 0.0, ..Sampling::default() },
        Sampling { repeat_penalty: 1.3, frequency_penalty: 0.2, ..Sampling::default() },
        Sampling { dry: Some(llm::engine::Dry::default()), typical_p: 0.9, ..Sampling::default() },
    ];
    for (kind, engine) in guessing(folder, name) {
        for (at, sampling) in settings.iter().enumerate() {
            for seed in 0..2 {
                let drawn = |engine: &dyn Engine| {
                    let mut request = request(&prompt(), 50);
                    request.sampling = Sampling { seed, ..sampling.clone() };
                    request.logprobs = (seed == 1).then_some(2);
                    answer(engine.submit(request).expect("a place"))
                };
                let (expected, got) = (drawn(&*plain), drawn(&*engine));
                assert_eq!(got.tokens, expected.tokens, "{name}, {kind}, settings {at}, seed {seed}");
                assert_eq!(got.text, expected.text);
                if kind == "the model itself" {
                    assert_eq!(got.usage.accepted_tokens, got.usage.drafted_tokens, "settings {at}");
                }
            }
        }
    }
}

/// Pearson's test of many answers of four tokens, against the model's own probabilities.
#[test]
fn tokens_come_as_often_as_the_model_says_with_guesses() {
    const ANSWERS: u64 = 4000;
    let folder = tempfile::tempdir().expect("a folder");
    let path = tiny::write(&folder, "llama");
    let start = &prompt()[..6];
    let sampling = Sampling { temperature: 0.7, top_k: 3, top_p: 1.0, min_p: 0.0, ..Sampling::default() };
    // The probabilities of all texts of four tokens, of which each is one of three.
    let mut texts = vec![(Vec::new(), 1.0_f64)];
    for _ in 0..4 {
        let mut longer = Vec::new();
        for (text, probability) in texts {
            let mut running = crate::on_cpu(&path, 96);
            let row = running.add(&[start, &text[..]].concat()).pop().expect("logits");
            let mut order: Vec<u32> = (0..row.len() as u32).collect();
            order.sort_by(|&a, &b| row[b as usize].total_cmp(&row[a as usize]));
            let weight = |token: u32| f64::from(row[token as usize] / 0.7).exp();
            let sum: f64 = order[..3].iter().map(|&token| weight(token)).sum();
            for &token in &order[..3] {
                longer.push(([&text[..], &[token]].concat(), probability * weight(token) / sum));
            }
        }
        texts = longer;
    }
    // The same model with another rotation: often right, and often not.
    let other = tempfile::tempdir().expect("a folder");
    let draft = tiny::write_changed(&other, "llama", |model| {
        for value in model["values"].as_array_mut().expect("values") {
            if value[0] == "llama.rope.freq_base" {
                value[2] = 300.0.into();
            }
        }
    });
    let speculation = Speculation::Draft { path: draft, tokens: 2 };
    let engine = open(&folder, "llama", EngineOptions { speculation, queue: 4096, ..options() });
    let submit = |seed| {
        let mut request: Request = request(start, 4);
        request.sampling = Sampling { seed, ..sampling.clone() };
        engine.submit(request).expect("a place")
    };
    let events: Vec<Events> = (0..ANSWERS).map(submit).collect();
    let mut counts = vec![0_u32; texts.len()];
    let (mut drafted, mut accepted) = (0, 0);
    for events in events {
        let answer = answer(events);
        let at = texts.iter().position(|(text, _)| *text == answer.tokens).expect("one of the texts");
        counts[at] += 1;
        drafted += answer.usage.drafted_tokens;
        accepted += answer.usage.accepted_tokens;
    }
    println!("{accepted} of {drafted} guesses were right");
    assert!(accepted > drafted / 10 && accepted < drafted * 9 / 10, "{accepted} of {drafted}");
    let expected = texts.iter().map(|(_, probability)| probability * ANSWERS as f64);
    let (mut sum, mut classes) = (0.0, 0);
    for (count, expected) in counts.iter().zip(expected).filter(|(_, expected)| *expected >= 5.0) {
        sum += (f64::from(*count) - expected).powi(2) / expected;
        classes += 1;
    }
    // Beyond this, one in a hundred thousand: the mean is the number of classes, the variance twice that.
    let limit = f64::from(classes) + 5.5 * (2.0 * f64::from(classes)).sqrt();
    println!("{sum:.1} for {classes} classes");
    assert!(classes > 8 && sum < limit, "{sum} for {classes} classes");
}

#[test]
fn models_that_cannot_guess_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |name: &str, speculation| {
        let options = EngineOptions { speculation, ..options() };
        llm::open(tiny::write(&folder, name), options).err().expect("refused").to_string()
    };
    let path = tiny::write_changed(&folder, "gemma3", |model| {
        for tensor in model["tensors"].as_array_mut().expect("tensors") {
            if tensor[0] == "token_embd.weight" {
                tensor[1][0] = 200.into();
            }
        }
    });
    let error = refused("llama", Speculation::Draft { path, tokens: 3 });
    assert!(error.contains("tiny gemma3 has other tokens than the model"), "{error}");
    let path = folder.path().join("none.gguf");
    assert!(refused("llama", Speculation::Draft { path, tokens: 3 }).contains("none.gguf"));
}
