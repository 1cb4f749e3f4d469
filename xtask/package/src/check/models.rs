//! A language model answers from a package, on the CPU and on the virtual GPU.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::{DEVICE, Seen, succeeds};

/// The model, by its name in `ferrocm models`: Apache-2.0, 97 MB.
const MODEL: &str = "smollm2";
/// Where it is in a system.
pub(super) const PLACE: &str = "root/model.gguf";
/// What it is asked, and a word of its answer when it always takes the likeliest token.
const PROMPT: &str = "What is 2 + 2?";
const WORD: &str = "4";

/// The model's file in this machine's cache, fetched by the packaged program if need be.
pub(super) fn find(program: &Path) -> Result<PathBuf> {
    let path = succeeds(Command::new(program).args(["models", "fetch", MODEL]))?;
    Ok(PathBuf::from(path.trim()))
}

/// Runs the model.
pub(super) fn answers(mut command: impl FnMut(&[&str]) -> Command, program: &str) -> Seen {
    let mut seen = Vec::new();
    // A virtual GPU takes some tenths of a second for each token.
    for (device, tokens) in [("cpu", "24"), (DEVICE, "12")] {
        let place = format!("/{PLACE}");
        let mut run = command(&[
            program,
            "generate",
            "--model",
            &place,
            "--device",
            device,
            "--prompt",
            PROMPT,
            "--temperature",
            "0",
            "--max-tokens",
            tokens,
            "--json",
        ]);
        let text = succeeds(&mut run)?;
        let answer: Value =
            serde_json::from_str(&text).with_context(|| format!("the program wrote {text}"))?;
        let content = answer["content"].as_str().unwrap_or_default();
        if !content.contains(WORD) {
            bail!("on {device}, {MODEL} answers {PROMPT:?} with {content:?}");
        }
        let generated = answer["generated_tokens"].as_u64().unwrap_or(0) as f64;
        let seconds = answer["generate_seconds"].as_f64().unwrap_or(0.0).max(1e-9);
        seen.push(format!(
            "{MODEL} answers on {device}: {content:?}, {:.1} tokens a second",
            (generated - 1.0).max(0.0) / seconds
        ));
    }
    Ok(seen)
}
