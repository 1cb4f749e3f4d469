//! How fast candle's quantised Llama reads and writes on the CPU: MODEL PROMPT GENERATED REPETITIONS, or
//! MODEL first for the first token of a process. Threads are those of rayon.

use std::fs::File;
use std::time::Instant;

use candle_core::quantized::gguf_file::Content;
use candle_core::{DType, Device, Result, Tensor};
use candle_transformers::models::quantized_llama::ModelWeights;

const VOCABULARY: u32 = 49_152;

struct Bench {
    model: ModelWeights,
    state: u32,
}

impl Bench {
    fn token(&mut self) -> u32 {
        self.state = self.state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.state >> 8) % VOCABULARY
    }

    fn step(&mut self, tokens: &[u32], position: usize) -> Result<u32> {
        let logits = self.model.forward(&Tensor::new(tokens, &Device::Cpu)?.unsqueeze(0)?, position)?;
        logits.squeeze(0)?.argmax(0)?.to_dtype(DType::U32)?.to_scalar()
    }

    fn read(&mut self, count: usize) -> Result<f64> {
        let tokens: Vec<u32> = (0..count).map(|_| self.token()).collect();
        let begin = Instant::now();
        self.step(&tokens, 0)?;
        Ok(count as f64 / begin.elapsed().as_secs_f64())
    }

    fn write(&mut self, count: usize) -> Result<f64> {
        let mut token = self.token();
        let begin = Instant::now();
        for position in 0..count {
            token = self.step(&[token], position)?;
        }
        Ok(count as f64 / begin.elapsed().as_secs_f64())
    }
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut file = File::open(&words[0])?;
    let content = Content::read(&mut file)?;
    let model = ModelWeights::from_gguf(content, &mut file, &Device::Cpu)?;
    let mut bench = Bench { model, state: 1 };
    if words[1] == "first" {
        bench.step(&[1, 4093, 30, 198, 1780, 314, 253, 6413, 13_430, 47], 0)?;
        return Ok(());
    }
    let numbers: Vec<usize> = words[1..4].iter().filter_map(|word| word.parse().ok()).collect();
    let (prompt, generated, repetitions) = (numbers[0], numbers[1], numbers[2]);
    let (mut read, mut write) = (Vec::new(), Vec::new());
    // The first one does not count.
    for repetition in 0..=repetitions {
        let rates = (
            if prompt > 0 { bench.read(prompt)? } else { 0.0 },
            if generated > 0 { bench.write(generated)? } else { 0.0 },
        );
        if repetition > 0 {
            read.push(rates.0);
            write.push(rates.1);
        }
    }
    println!("{{\"pp\": {read:?}, \"tg\": {write:?}}}");
    Ok(())
}
