//! Models that [candle](candle_core) runs, on any of its devices.
//!
//! Nothing here knows of AMD GPUs: two lines of `Cargo.toml` put ferrocm's `cudarc` and `cudaforge` in the
//! place of the usual ones, and [`Device::new_cuda`] is then a GPU of `FERROCM_DEVICE`.

use std::fs::{self, File};
use std::path::Path;

use candle_core::quantized::gguf_file;
use candle_core::quantized::tokenizer::TokenizerFromGguf;
use candle_core::{D, DType, Device, Error, Result, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config, DTYPE};
use candle_transformers::models::quantized_llama::ModelWeights;
use tokenizers::{PaddingParams, Tokenizer};

/// The tokens that a quantised Llama in a GGUF file adds to a prompt, each the likeliest, up to `count` of
/// them; and their text.
///
/// # Errors
/// What candle says, or that the file has no tokenizer.
pub fn generate(gguf: &Path, prompt: &str, count: usize, device: &Device) -> Result<(Vec<u32>, String)> {
    let mut file = File::open(gguf)?;
    let content = gguf_file::Content::read(&mut file)?;
    let tokenizer = Tokenizer::from_gguf(&content)?;
    let mut model = ModelWeights::from_gguf(content, &mut file, device)?;
    let prompt = tokenizer.encode(prompt, true).map_err(Error::wrap)?;

    let (mut next, mut place) = (prompt.get_ids().to_vec(), 0);
    let mut tokens = Vec::new();
    while tokens.len() < count {
        let input = Tensor::new(&next[..], device)?.unsqueeze(0)?;
        let logits = model.forward(&input, place)?.squeeze(0)?;
        place += next.len();
        let token = logits.argmax(D::Minus1)?.to_scalar::<u32>()?;
        tokens.push(token);
        next = vec![token];
    }
    let text = tokenizer.decode(&tokens, false).map_err(Error::wrap)?;
    Ok((tokens, text))
}

/// The embeddings of sentences by a BERT in the folder of a model of sentence-transformers: a row of length 1
/// for each.
///
/// # Errors
/// What candle says, or that a file is missing or is none of the kind.
pub fn embed(folder: &Path, sentences: &[&str], device: &Device) -> Result<Tensor> {
    let config = fs::read_to_string(folder.join("config.json"))?;
    let config: Config = serde_json::from_str(&config).map_err(Error::wrap)?;
    let mut tokenizer = Tokenizer::from_file(folder.join("tokenizer.json")).map_err(Error::wrap)?;
    tokenizer.with_padding(Some(PaddingParams::default()));
    let weights = fs::read(folder.join("model.safetensors"))?;
    let model = BertModel::load(VarBuilder::from_buffered_safetensors(weights, DTYPE, device)?, &config)?;

    let encodings = tokenizer.encode_batch(sentences.to_vec(), true).map_err(Error::wrap)?;
    let rows = |of: fn(&tokenizers::Encoding) -> &[u32]| -> Result<Tensor> {
        let rows: Vec<&[u32]> = encodings.iter().map(of).collect();
        let rows: Result<Vec<Tensor>> = rows.into_iter().map(|row| Tensor::new(row, device)).collect();
        Tensor::stack(&rows?, 0)
    };
    let ids = rows(tokenizers::Encoding::get_ids)?;
    let mask = rows(tokenizers::Encoding::get_attention_mask)?;
    let hidden = model.forward(&ids, &ids.zeros_like()?, Some(&mask))?;

    // The mean over the tokens that are no padding.
    let mask = mask.to_dtype(DType::F32)?.unsqueeze(2)?;
    let mean = hidden.broadcast_mul(&mask)?.sum(1)?.broadcast_div(&mask.sum(1)?)?;
    mean.broadcast_div(&mean.sqr()?.sum_keepdim(1)?.sqrt()?)
}
