//! Steps that begin before the host has read the tokens of the one before, against those that wait.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use backend::DType;
use llm::EngineOptions;
use llm::engine::{Engine, Event, Events, FinishReason, Pooling, Request, Sampling, TokenLogprob};
use timeline_test::Timeline;

use crate::support::{reference, tokens};
use crate::{device, greedy, tiny, tokens_of};

fn open(path: &Path, ahead: bool, options: EngineOptions<'_>) -> Arc<dyn Engine> {
    let (device, activations) = (device(), Some(DType::F32));
    llm::open(path, EngineOptions { device, activations, ahead, ..options }).expect("an engine")
}

/// What a request yields.
#[derive(Debug, PartialEq)]
struct Answer {
    tokens: Vec<u32>,
    text: String,
    logprobs: Vec<Option<TokenLogprob>>,
    reason: FinishReason,
    /// Tokens of the prompt, and of the result.
    counted: (usize, usize),
}

fn answer(mut events: Events) -> Answer {
    let (mut tokens, mut text, mut logprobs) = (Vec::new(), String::new(), Vec::new());
    while let Some(event) = events.blocking_next() {
        match event {
            Event::Token { id, text: more, logprob } => {
                tokens.push(id);
                text.push_str(&more);
                logprobs.push(logprob);
            }
            Event::Finished { text: more, reason, usage } => {
                text.push_str(&more);
                let counted = (usage.prompt_tokens, usage.generated_tokens);
                return Answer { tokens, text, logprobs, reason, counted };
            }
            Event::Failed(error) => panic!("{error}"),
            _ => {}
        }
    }
    panic!("no end");
}

fn prompt() -> Vec<u32> {
    tokens(&reference("tiny.json")["tokens"])
}

/// Requests that end in every way: after so many tokens, with a stop sequence, with the context.
fn requests(text: &str) -> Vec<Request> {
    let stop: String = text.chars().skip(4).take(2).collect();
    let counts = [3, 21, 9, 14, 1, 200, 17, 30];
    (0..8)
        .map(|number| {
            // No two begin alike, so that none takes over pages of another one.
            let mut prompt = prompt()[..14 + 2 * number].to_vec();
            prompt[0] = 20 + number as u32;
            let mut request = greedy(&prompt, counts[number]);
            if number % 3 == 1 {
                let seed = number as u64;
                request.sampling = Sampling { seed, temperature: 0.7, ..Sampling::default() };
            }
            match number {
                2 => request.stop = vec![stop.clone()],
                3 => request.logprobs = Some(2),
                6 => request.sampling.repeat_penalty = 1.3,
                _ => {}
            }
            request
        })
        .collect()
}

#[test]
fn requests_yield_what_they_yield_step_by_step() {
    let folder = tempfile::tempdir().expect("a folder");
    // The second one has states.
    for name in ["llama", "qwen35"] {
        let path = tiny::write(&folder, name);
        let options =
            || EngineOptions { context: Some(64), cache: Some(256), places: 4, ..Default::default() };
        let (ahead, waiting) = (open(&path, true, options()), open(&path, false, options()));
        let text = answer(waiting.submit(greedy(&prompt(), 12)).expect("a place")).text;
        let alone: Vec<Answer> = requests(&text)
            .into_iter()
            .map(|request| answer(waiting.submit(request).expect("a place")))
            .collect();
        assert!(alone.iter().any(|answer| answer.counted.0 + answer.counted.1 == 64), "the context");
        let events: Vec<Events> =
            requests(&text).into_iter().map(|request| ahead.submit(request).expect("a place")).collect();
        for (number, (events, expected)) in events.into_iter().zip(&alone).enumerate() {
            let mut got = answer(events);
            // Log-probabilities may round otherwise beside others.
            for (got, expected) in got.logprobs.iter_mut().zip(&expected.logprobs) {
                if let (Some(got), Some(expected)) = (&*got, expected) {
                    assert!((got.logprob - expected.logprob).abs() < 1e-4, "{got:?}, {expected:?}");
                }
                got.clone_from(expected);
            }
            assert_eq!(got, *expected, "{name}, request {number}");
        }
    }
}

#[test]
fn requests_that_leave_and_texts_to_embed_change_no_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = tiny::write(&folder, "llama");
    // Fewer pages than the requests would like.
    let options = || EngineOptions { context: Some(64), cache: Some(128), places: 3, ..Default::default() };
    let (ahead, waiting) = (open(&path, true, options()), open(&path, false, options()));
    let request = |number: usize| {
        let mut prompt = prompt()[..10 + 3 * (number % 5)].to_vec();
        prompt[0] = 20 + number as u32;
        greedy(&prompt, 10 + 4 * (number % 4))
    };
    let expected: Vec<Vec<u32>> = (0..6).map(|number| tokens_of(&*waiting, request(number)).0).collect();
    let vectors = waiting.embed(&[prompt()], Pooling::Mean).expect("a vector");
    let mut running = Vec::new();
    for number in 0..6 {
        let mut leaves = ahead.submit(request(number + 1)).expect("a place");
        running.push((number, ahead.submit(request(number)).expect("a place")));
        for _ in 0..number % 4 {
            leaves.blocking_next();
        }
        drop(leaves);
        if number % 4 == 3 {
            let embedded = ahead.embed(&[prompt()], Pooling::Mean).expect("a vector");
            let differs = |(a, b): (&f32, &f32)| (a - b).abs() > 1e-5;
            assert!(!embedded[0].iter().zip(&vectors[0]).any(differs));
        }
    }
    for (number, events) in running {
        assert_eq!(answer(events).tokens, expected[number], "{number}");
    }
    // No page is lost: a request has room that needs as many as there are.
    let long = greedy(&prompt()[..20], 44);
    assert_eq!(tokens_of(&*ahead, long.clone()).0, tokens_of(&*waiting, long).0);
}

#[test]
fn what_one_request_asks_for_draws_no_other_tokens() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = open(&tiny::write(&folder, "llama"), true, EngineOptions::default());
    let drawn = |logprobs, seed| {
        let mut request = greedy(&prompt(), 24);
        request.sampling = Sampling { seed, temperature: 1.5, top_k: 0, ..Sampling::default() };
        request.logprobs = logprobs;
        request
    };
    let alone = [1, 2].map(|seed| tokens_of(&*engine, drawn(None, seed)).0);
    let together = [(Some(3), 1), (None, 2)];
    let events = together.map(|(logprobs, seed)| engine.submit(drawn(logprobs, seed)).expect("a place"));
    for (events, alone) in events.into_iter().zip(&alone) {
        let got = answer(events);
        assert_eq!(got.tokens, *alone);
        for (token, logprob) in got.tokens.iter().zip(got.logprobs.iter().flatten()) {
            let listed = logprob.top.iter().find(|(id, _)| id == token);
            assert!(listed.is_none_or(|(_, listed)| *listed == logprob.logprob) && logprob.top.len() == 3);
        }
    }
}

/// For the program whose calls are counted: whether it runs ahead, and the tokens that it generates.
const CHILD: &str = "FERROCM_TEST_AHEAD";

#[test]
fn the_program_whose_calls_are_counted() {
    let Ok(wanted) = std::env::var(CHILD) else { return };
    let (ahead, count) = wanted.split_once(' ').expect("two words");
    let folder = tempfile::tempdir().expect("a folder");
    let engine = open(&tiny::write(&folder, "llama"), ahead == "true", EngineOptions::default());
    let request = greedy(&prompt()[..20], count.parse().expect("a number"));
    tokens_of(&*engine, request);
}

/// The calls of HIP of the engine's thread, in their order.
fn calls(ahead: bool, count: usize) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("trace.json");
    let mut child = Command::new(std::env::current_exe().expect("this program"));
    child.args(["ahead::the_program_whose_calls_are_counted", "--exact"]);
    let output =
        child.env(CHILD, format!("{ahead} {count}")).env("FERROCM_TRACE", &trace).output().expect("a run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let timeline = Timeline::read(&trace);
    let mut calls = timeline.of("hip");
    calls.retain(|call| timeline.threads.get(&call.track).is_some_and(|name| name == "engine"));
    calls.sort_by_key(|call| call.start);
    calls.iter().map(|call| call.name.clone()).collect()
}

/// Of each step: the numbers' way to the device, one graph with the sampler in it, and the tokens' way back.
const CALLS_OF_A_STEP: [(&str, usize); 3] =
    [("hipMemcpyAsync", 2), ("hipGraphLaunch", 1), ("hipEventRecord", 2)];

#[test]
fn a_step_is_few_calls_and_the_next_one_begins_before_its_tokens_are_read() {
    if !device().starts_with("vgpu") {
        // The engine's calls are the same there.
        return;
    }
    let (ahead, waiting) = (calls(true, 50), calls(false, 50));
    let launch = |call: &String| call == "hipGraphLaunch";
    let count = |calls: &[String], name: &str| calls.iter().filter(|call| *call == name).count();
    for calls in [&ahead, &waiting] {
        // From a launch in the middle to the last one.
        let places: Vec<usize> = (0..calls.len()).filter(|at| launch(&calls[*at])).collect();
        let steps = &calls[places[places.len() - 31]..places[places.len() - 1]];
        for (name, each) in CALLS_OF_A_STEP {
            assert_eq!(count(steps, name), 30 * each, "{name}");
        }
        let others = ["hipMalloc", "Free", "LaunchKernel", "StreamSynchronize", "Memset"];
        for name in others {
            assert!(!steps.iter().any(|call| call.contains(name)), "{name}");
        }
        // Pinned memory is kept; how much there is depends on how far the device is behind.
        assert!(count(steps, "hipHostMalloc") <= 3);
    }
    // Behind the last graph, the host waits for its tokens, and before that for those of the step before if
    // it has launched the last one ahead. It also takes back pinned memory whose copy it knows to be done.
    // Then all of that is freed.
    let waits = |calls: &[String]| {
        let behind = &calls[calls.iter().rposition(launch).expect("a launch")..];
        let end = behind.iter().position(|call| call == "hipHostFree").unwrap_or(behind.len());
        let pairs = behind[..end].windows(2);
        pairs.filter(|pair| pair[1] == "hipEventSynchronize" && pair[0] != "hipEventQuery").count()
    };
    assert_eq!((waits(&ahead), waits(&waiting)), (2, 1));
}
