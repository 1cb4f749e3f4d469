//! Small models of every architecture, with weights that a formula gives, which `../references/tiny.py` also
//! has.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::reference;

/// The elements of a tensor.
fn numbers(name: &str, shape: &[usize], fill: &str) -> Vec<f32> {
    let seed =
        name.bytes().fold(2_166_136_261_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(16_777_619));
    let (scale, base) = match fill {
        "matrix" => ((3.0 / shape[shape.len() - 1] as f64).sqrt(), 0.0),
        "table" => (1.0, 0.0),
        "norm" => (0.2, 1.0),
        "bias" => (0.1, 0.0),
        "difference" => (0.2, 0.0),
        "wide" => (1.0, 0.0),
        "loss" => (0.5, -1.0),
        other => panic!("{other}"),
    };
    let count: usize = shape.iter().product();
    let number = |at: usize| {
        let mut x = (at as u32).wrapping_mul(2_654_435_761).wrapping_add(seed);
        x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
        x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
        x ^= x >> 16;
        ((f64::from(x) / 4_294_967_296.0 * 2.0 - 1.0) * scale + base) as f32
    };
    (0..count).map(number).collect()
}

/// A tensor's name, shape and fill in a reference.
fn described(tensor: &Value) -> (&str, Vec<usize>, &str) {
    let sizes = tensor[1].as_array().expect("sizes").iter();
    let shape = sizes.map(|size| size.as_u64().expect("a size") as usize).collect();
    (tensor[0].as_str().expect("a name"), shape, tensor[2].as_str().expect("a fill"))
}

/// The bytes of a safetensors file.
pub(crate) fn safetensors(tensors: &[(String, Vec<usize>, Vec<f32>)]) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (name, shape, numbers) in tensors {
        let start = data.len();
        data.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
        let info = serde_json::json!({ "dtype": "F32", "shape": shape, "data_offsets": [start, data.len()] });
        header.insert(name.clone(), info);
    }
    let header = Value::Object(header).to_string();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()
}

/// Writes a model of `hugging_face.json`: `config.json` and `model.safetensors`.
pub(crate) fn write_folder(folder: &TempDir, model: &Value) -> PathBuf {
    let path = folder.path().join(model["name"].as_str().expect("a name"));
    write_parts(&path, model, ["config.json", "model.safetensors"]);
    path
}

/// Writes the configuration and the tensors of a model or an adapter.
pub(crate) fn write_parts(folder: &Path, model: &Value, names: [&str; 2]) {
    std::fs::create_dir_all(folder).expect("a folder");
    std::fs::write(folder.join(names[0]), model["config"].to_string()).expect("write");
    std::fs::write(folder.join(names[1]), safetensors(&tensors(model))).expect("write");
}

/// The bytes of a GGUF file.
#[derive(Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn u32(&mut self, number: u32) {
        self.bytes.extend(number.to_le_bytes());
    }
    fn u64(&mut self, number: u64) {
        self.bytes.extend(number.to_le_bytes());
    }
    fn string(&mut self, text: &str) {
        self.u64(text.len() as u64);
        self.bytes.extend(text.as_bytes());
    }
    fn strings(&mut self, name: &str, texts: &[String]) {
        self.string(name);
        self.u32(9);
        self.u32(8);
        self.u64(texts.len() as u64);
        texts.iter().for_each(|text| self.string(text));
    }
    fn value(&mut self, name: &str, kind: &str, value: &Value) {
        self.string(name);
        match kind {
            "string" => {
                self.u32(8);
                self.string(value.as_str().expect("a string"));
            }
            "u32" => {
                self.u32(4);
                self.u32(value.as_u64().expect("a number") as u32);
            }
            "i32s" => {
                let numbers = value.as_array().expect("numbers");
                self.u32(9);
                self.u32(5);
                self.u64(numbers.len() as u64);
                numbers.iter().for_each(|number| self.u32(number.as_u64().expect("a number") as u32));
            }
            "f32" => {
                self.u32(6);
                self.u32((value.as_f64().expect("a number") as f32).to_bits());
            }
            other => panic!("{other}"),
        }
    }
}

/// A model whose tokens are bytes, with a template.
const TEMPLATE: &str = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}";
pub(crate) const VOCABULARY: usize = 264;

/// A GGUF file of these values and tensors, after what `more` writes: so many values.
pub(crate) fn gguf(
    values: &[Value],
    (count, more): (u64, impl FnOnce(&mut Writer)),
    tensors: &[(String, Vec<usize>, Vec<f32>)],
) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.bytes.extend(b"GGUF\x03\0\0\0");
    writer.u64(tensors.len() as u64);
    writer.u64(values.len() as u64 + count);
    for value in values {
        writer.value(value[0].as_str().expect("a name"), value[1].as_str().expect("a type"), &value[2]);
    }
    more(&mut writer);
    let mut data: Vec<u8> = Vec::new();
    for (name, shape, numbers) in tensors {
        writer.string(name);
        writer.u32(shape.len() as u32);
        shape.iter().rev().for_each(|&size| writer.u64(size as u64));
        writer.u32(0);
        writer.u64(data.len() as u64);
        data.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
        data.resize(data.len().next_multiple_of(32), 0);
    }
    let mut bytes = writer.bytes;
    bytes.resize(bytes.len().next_multiple_of(32), 0);
    bytes.extend(data);
    bytes
}

/// Values that all models have: eight.
fn vocabulary(writer: &mut Writer) {
    let key = |name: &str| format!("tokenizer.ggml.{name}");
    let mut extra = 255;
    let mut names: Vec<String> = (0..=255_u8)
        .map(|byte| match byte {
            b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff => char::from(byte).to_string(),
            _ => {
                extra += 1;
                char::from_u32(extra).expect("a character").to_string()
            }
        })
        .collect();
    names.extend((0..VOCABULARY - 257).map(|at| format!("<|{at}|>")));
    names.push("he".into());
    writer.value(&key("model"), "string", &"gpt2".into());
    writer.value(&key("pre"), "string", &"gpt-2".into());
    writer.strings(&key("tokens"), &names);
    writer.strings(&key("merges"), &["h e".to_owned()]);
    writer.string(&key("token_type"));
    writer.u32(9);
    writer.u32(5);
    writer.u64(VOCABULARY as u64);
    (0..VOCABULARY).for_each(|at| writer.u32(if (256..VOCABULARY - 1).contains(&at) { 3 } else { 1 }));
    writer.value(&key("bos_token_id"), "u32", &256.into());
    writer.value(&key("eos_token_id"), "u32", &257.into());
    writer.value("tokenizer.chat_template", "string", &TEMPLATE.into());
}

/// The tensors of a model of a reference.
pub(crate) fn tensors(model: &Value) -> Vec<(String, Vec<usize>, Vec<f32>)> {
    let list = model["tensors"].as_array().expect("tensors").iter().map(described);
    list.map(|(name, shape, fill)| (name.to_owned(), shape.clone(), numbers(name, &shape, fill))).collect()
}

/// The model of this name in `tiny.json`.
pub(crate) fn model(name: &str) -> Value {
    let reference = reference("tiny.json");
    let models = reference["models"].as_array().expect("models");
    models.iter().find(|model| model["name"] == name).expect("a model of this name").clone()
}

/// Writes a model with the values of this one, and these tensors.
pub(crate) fn write_tensors(
    folder: &TempDir,
    model: &Value,
    tensors: &[(String, Vec<usize>, Vec<f32>)],
) -> PathBuf {
    let path = folder.path().join(format!("{}.gguf", model["name"].as_str().expect("a name")));
    let values = model["values"].as_array().expect("values");
    std::fs::write(&path, gguf(values, (8, vocabulary), tensors)).expect("write");
    path
}

/// Writes the model of this name.
pub(crate) fn write(folder: &TempDir, name: &str) -> PathBuf {
    write_changed(folder, name, |_| {})
}

/// The same with other values.
pub(crate) fn write_changed(folder: &TempDir, name: &str, change: impl FnOnce(&mut Value)) -> PathBuf {
    let mut model = model(name);
    change(&mut model);
    write_tensors(folder, &model, &tensors(&model))
}

/// The same with other numbers, by the tensor's name.
pub(crate) fn write_numbers(folder: &TempDir, name: &str, change: impl Fn(&str, &mut [f32])) -> PathBuf {
    let model = model(name);
    let mut tensors = tensors(&model);
    tensors.iter_mut().for_each(|(name, _, numbers)| change(name, numbers));
    write_tensors(folder, &model, &tensors)
}

/// Writes a model in which one token's vector is NaN, in a table of its own. The model has the others.
pub(crate) fn write_with_a_bad_token(folder: &TempDir, name: &str, token: usize) -> PathBuf {
    write_numbers(folder, name, |name, numbers| {
        if name == "token_embd.weight" {
            let width = numbers.len() / VOCABULARY;
            numbers[token * width..][..width].fill(f32::NAN);
        }
    })
}

/// Writes a Llama whose numbers go beyond the range of f16 behind its second layer, and whose weights do not.
pub(crate) fn write_large(folder: &TempDir) -> PathBuf {
    write_numbers(folder, "llama", |name, numbers| {
        if ["blk.0.ffn_down.weight", "blk.1.ffn_down.weight"].contains(&name) {
            numbers.iter_mut().for_each(|x| *x *= 200_000.0);
        }
    })
}

/// Writes a Llama with as many heads of keys as of queries: four.
pub(crate) fn write_wide(folder: &TempDir) -> PathBuf {
    write_changed(folder, "llama", |model| {
        model["name"] = "wide".into();
        for value in model["values"].as_array_mut().expect("values") {
            if value[0] == "llama.attention.head_count_kv" {
                value[2] = 4.into();
            }
        }
        for tensor in model["tensors"].as_array_mut().expect("tensors") {
            if tensor[0].as_str().is_some_and(|name| name.contains("attn_k.") || name.contains("attn_v.")) {
                tensor[1][0] = 128.into();
            }
        }
    })
}

/// Writes a model with gated delta nets that four ranks can share: four heads of keys and eight of values,
/// and as many heads of keys as of queries in layers with attention.
pub(crate) fn write_wide_delta(folder: &TempDir, name: &str) -> PathBuf {
    write_changed(folder, name, |model| {
        model["name"] = format!("wide-{name}").into();
        for value in model["values"].as_array_mut().expect("values") {
            let key = value[0].as_str().expect("a name").to_owned();
            if ["ssm.inner_size", "ssm.time_step_rank", "ssm.group_count"]
                .iter()
                .any(|end| key.ends_with(end))
            {
                value[2] = (2 * value[2].as_u64().expect("a number")).into();
            } else if key.ends_with("attention.head_count_kv") {
                value[2] = 4.into();
            }
        }
        let rows = ["attn_qkv.weight", "attn_gate.weight", "attn_k.weight", "attn_v.weight", "ssm_ba.weight"];
        let more_rows = ["ssm_alpha.weight", "ssm_beta.weight", "ssm_conv1d.weight", "ssm_dt.bias", "ssm_a"];
        for tensor in model["tensors"].as_array_mut().expect("tensors") {
            let tensor_name = tensor[0].as_str().expect("a name").to_owned();
            let is_one = |ends: &[&str]| ends.iter().any(|end| tensor_name.ends_with(&format!(".{end}")));
            let size = match (is_one(&rows) || is_one(&more_rows), is_one(&["ssm_out.weight"])) {
                (true, _) => &mut tensor[1][0],
                (false, true) => &mut tensor[1][1],
                (false, false) => continue,
            };
            *size = (2 * size.as_u64().expect("a size")).into();
        }
    })
}

/// The models with experts, of which there are eight.
pub(crate) const MIXTURES: [&str; 5] = ["mixtral", "qwen3moe", "gpt-oss", "qwen3next", "qwen35moe"];

/// Writes the mixture of this name, with so many experts for each token.
pub(crate) fn write_mixture(folder: &TempDir, name: &str, used: u64) -> PathBuf {
    write_changed(folder, name, |model| {
        for value in model["values"].as_array_mut().expect("values") {
            if value[0].as_str().is_some_and(|name| name.ends_with("expert_used_count")) {
                value[2] = used.into();
            }
        }
    })
}
