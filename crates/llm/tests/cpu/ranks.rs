//! Models that several ranks share: the CPU's threads in groups.

use llm::engine::{Events, Pooling};
use llm::{EngineOptions, Speculation};

use crate::engine::{answer, greedy, open, options, prompt, request};
use crate::tiny;

#[test]
fn ranks_yield_the_tokens_that_one_yields() {
    let folder = tempfile::tempdir().expect("a folder");
    // All of these have two heads of keys.
    for name in ["llama", "qwen2", "qwen3", "qwen3moe", "gemma2", "gemma3", "gpt-oss", "mixtral"] {
        let engine = open(&folder, name, EngineOptions { ranks: 2, ..options() });
        assert!(engine.description().device.starts_with("2 × cpu"), "{}", engine.description().device);
        let prompts: Vec<Vec<u32>> = (0..2).map(|at| prompt()[at..20 + 9 * at].to_vec()).collect();
        let events: Vec<Events> =
            prompts.iter().map(|prompt| engine.submit(request(prompt, 12)).expect("a place")).collect();
        for (prompt, events) in prompts.iter().zip(events) {
            assert_eq!(answer(events).tokens, greedy(&folder, name, prompt, 12), "{name}");
        }
    }
    let path = tiny::write_wide(&folder);
    for ranks in [1, 2, 4] {
        let engine = llm::open(&path, EngineOptions { ranks, ..options() }).expect("an engine");
        let got = answer(engine.submit(request(&prompt(), 12)).expect("a place"));
        let mut running = crate::on_cpu(&path, 192);
        let mut row = running.add(&prompt()).pop().expect("logits");
        for token in got.tokens {
            assert_eq!(token, crate::support::argmax(&row), "{ranks} ranks");
            row = running.add(&[token]).pop().expect("logits");
        }
        let vectors = engine.embed(&[prompt()], Pooling::Mean).expect("a vector");
        assert_eq!(vectors[0].len(), 64);
    }
}

#[test]
fn ranks_yield_the_same_tokens_with_guesses() {
    let folder = tempfile::tempdir().expect("a folder");
    let draft = |path| Speculation::Draft { path, tokens: 3 };
    for name in ["llama", "gemma3", "qwen3moe"] {
        for (speculation, is_itself) in [
            (Speculation::Lookup { tokens: 4 }, false),
            (draft(tiny::write(&folder, name)), true),
            (draft(tiny::write(&folder, "qwen2")), false),
        ] {
            let engine = open(&folder, name, EngineOptions { ranks: 2, speculation, ..options() });
            let prompts: Vec<Vec<u32>> = (0..3).map(|at| prompt()[at..20 + 9 * at].to_vec()).collect();
            let events: Vec<Events> =
                prompts.iter().map(|prompt| engine.submit(request(prompt, 24)).expect("a place")).collect();
            for (prompt, events) in prompts.iter().zip(events) {
                let answer = answer(events);
                assert_eq!(answer.tokens, greedy(&folder, name, prompt, 24), "{name}");
                if is_itself {
                    assert_eq!(answer.usage.accepted_tokens, answer.usage.drafted_tokens, "{name}");
                    assert!(answer.usage.accepted_tokens > 12, "{name}: {:?}", answer.usage);
                }
            }
        }
    }
}

#[test]
fn what_ranks_cannot_share_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |name: &str, ranks: usize| {
        let options = EngineOptions { ranks, ..options() };
        llm::open(tiny::write(&folder, name), options).err().expect("refused").to_string()
    };
    let error = refused("llama", 4);
    assert!(error.contains("has 2 heads of keys, which 4 devices cannot share equally"), "{error}");
    assert!(refused("llama", 3).contains("has 4 heads of queries, which 3 devices"));
    assert!(refused("qwen35", 2).contains("gated delta nets"));
    // Nor can they share a model that guesses.
    let speculation = Speculation::Draft { path: tiny::write(&folder, "qwen35"), tokens: 3 };
    let options = EngineOptions { ranks: 2, speculation, ..options() };
    let error = llm::open(tiny::write(&folder, "llama"), options).err().expect("refused").to_string();
    assert!(error.contains("tiny qwen35") && error.contains("gated delta nets"), "{error}");
}
