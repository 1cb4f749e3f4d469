//! `cargo xtask test models`: language models on the CPU and on virtual GPUs, real ones among them.

use super::shared::{Shared, execute};
use super::steps::Step;
use crate::tools;

/// The virtual devices: of both sizes of waves, and of the generations that data centres have.
const DEVICES: [&str; 3] = ["vgpu:gfx1100", "vgpu:gfx90a", "vgpu:gfx942"];
/// The real models, as `llm::models` names them.
const MODELS: [&str; 3] = ["smollm2", "gemma3-270m", "all-minilm-l6-v2"];
const PACKAGE: &str = "ferrocm-llm";

/// The tests that run a whole real model on the CPU, which plain runs leave out.
pub(super) const REAL_MODELS: &str = "(package(ferrocm-llm) & test(/^real::/))";

/// Fetches the models, and runs the tests of `llm`.
pub(super) fn steps(shared: &Shared) -> Vec<Step<'_>> {
    let mut steps = vec![
        Step::new("the models", || {
            let mut fetch = tools::cargo();
            fetch.args(["run", "--quiet", "--package", PACKAGE, "--example", "fetch", "--"]).args(MODELS);
            execute(fetch)
        }),
        Step::new("models on the CPU", || {
            execute(shared.tests(&format!("package({PACKAGE}) & binary(cpu)"), None)?)
        }),
    ];
    steps.extend(DEVICES.map(|device| {
        Step::new(format!("models on {device}"), move || {
            execute(shared.tests(&format!("package({PACKAGE}) & binary(/^device/)"), Some(device))?)
        })
    }));
    steps
}
