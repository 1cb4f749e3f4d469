//! Small models of every architecture, against llama.cpp.

use std::path::Path;

use serde_json::Value;

use crate::on_cpu;
use crate::support::{argmax, difference, reference, tokens};
use crate::tiny;

/// In deviations of all logits at a position.
const TOLERANCE: f64 = 0.002;

fn compare(model: &Value, prompt: &[u32], path: &Path) {
    let name = model["name"].as_str().expect("a name");
    let mut running = on_cpu(path, 96);
    // In parts, of which the later ones see the earlier ones in the cache.
    let mut rows = running.add(&prompt[..30]);
    rows.extend(running.add(&prompt[30..]));
    let expected = model["prompt"].as_array().expect("positions");
    for (at, (row, expected)) in rows.iter().zip(expected).enumerate() {
        let found = difference(row, expected);
        assert!(found < TOLERANCE, "{name}: the logits of token {at} differ by {found:.5} deviations");
    }
    let mut row = rows.pop().expect("the last token's");
    let leads = model["leads"].as_array().expect("leads");
    for (at, (&expected, lead)) in tokens(&model["greedy"]).iter().zip(leads).enumerate() {
        let got = argmax(&row);
        assert!(
            got == expected || lead.as_f64().expect("a lead") < 0.01,
            "{name}: token {at} is {got}, not {expected}"
        );
        row = running.add(&[expected]).pop().expect("logits");
    }
}

#[test]
fn every_architecture_computes_what_llama_cpp_does() {
    let reference = reference("tiny.json");
    let prompt = tokens(&reference["tokens"]);
    let folder = tempfile::tempdir().expect("a folder");
    for model in reference["models"].as_array().expect("models") {
        let path = tiny::write(&folder, model["name"].as_str().expect("a name"));
        compare(model, &prompt, &path);
    }
}
