//! candle-transformers' logits of a GGUF file of Llama, as JSON, for the tokens of another reference.
//!
//! It is the `main.rs` of a package of its own, so that candle is no dependency of this one:
//!
//! ```console
//! $ cargo new judge && cd judge
//! $ cargo add candle-core@=0.11.1 candle-transformers@=0.11.1 serde_json
//! $ cp …/candle.rs src/main.rs
//! $ CANDLE_DEQUANTIZE_ALL=1 cargo run --release -- MODEL.gguf smollm2.json > candle.json
//! ```

use std::fs::File;
use std::io::BufReader;

use candle_core::quantized::gguf_file::Content;
use candle_core::{Device, Tensor};
use candle_transformers::models::quantized_llama::ModelWeights;
use serde_json::{Value, json};

const TOP: usize = 5;

fn summary(row: &[f32]) -> Value {
    let mut order: Vec<usize> = (0..row.len()).collect();
    order.sort_by(|&a, &b| row[b].total_cmp(&row[a]).then(a.cmp(&b)));
    let count = row.len() as f64;
    let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / count;
    let variance = row.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / count;
    let rounded = |x: f64| (x * 1e4).round() / 1e4;
    let top: Vec<Value> =
        order[..TOP].iter().map(|&token| json!([token, rounded(f64::from(row[token]))])).collect();
    json!({ "top": top, "mean": rounded(mean), "deviation": rounded(variance.sqrt()) })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let model = arguments.next().ok_or("a model is missing")?;
    let reference = arguments.next().ok_or("a reference is missing")?;
    let reference: Value = serde_json::from_reader(File::open(reference)?)?;
    let tokens: Vec<u32> = serde_json::from_value(reference["tokens"].clone())?;
    let mut file = BufReader::new(File::open(model)?);
    let content = Content::read(&mut file)?;
    let mut model = ModelWeights::from_gguf(content, &mut file, &Device::Cpu)?;
    let mut prompt = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let input = Tensor::new(&[[*token]], &Device::Cpu)?;
        let row = model.forward(&input, at)?.flatten_all()?.to_vec1::<f32>()?;
        prompt.push(summary(&row));
    }
    println!("{}", json!({ "made_by": "candle-transformers 0.11.1", "tokens": tokens, "prompt": prompt }));
    Ok(())
}
