//! Models in Hugging Face's layout: a folder with `config.json` and one or more safetensors files.
//!
//! Tensors get the names and shapes that GGUF files have, so that models know only these: matrices of experts
//! become one stack.

mod names;
mod packed;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use safetensors::Dtype;
use safetensors::tensor::Metadata;

use crate::config::Architecture;
use crate::error::{Error, Result};
use crate::gguf::{TensorInfo, TensorType};
use crate::weights::{Change, Source};
use names::Place;
use packed::Packed;

/// Bytes of a header.
const MOST_HEADER: u64 = 100 << 20;

/// The safetensors files of a model.
#[derive(Debug)]
pub struct SafetensorsFiles {
    folder: PathBuf,
    files: Vec<(PathBuf, File)>,
    tensors: BTreeMap<String, Entry>,
}

/// A tensor, by its name in GGUF files.
#[derive(Debug)]
struct Entry {
    info: TensorInfo,
    change: Change,
    layout: Layout,
}

/// Where a tensor's bytes are.
#[derive(Debug)]
enum Layout {
    /// In pieces, in order.
    Pieces(Vec<Piece>),
    /// In other places than models know.
    Packed(Packed),
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    file: usize,
    offset: u64,
    bytes: usize,
}

/// A tensor as the files have it.
#[derive(Debug)]
struct Found {
    kind: TensorType,
    shape: Vec<usize>,
    piece: Piece,
}

impl SafetensorsFiles {
    /// Opens the files of a folder: `model.safetensors`, or those that `model.safetensors.index.json` names.
    ///
    /// # Errors
    /// [`Error::Model`] and [`Error::Tensor`] name the file or tensor and say what is wrong with it;
    /// [`Error::Io`].
    pub fn open(folder: &Path, architecture: &Architecture) -> Result<Self> {
        let mut files = Vec::new();
        let mut found: HashMap<String, Found> = HashMap::new();
        for path in paths(folder)? {
            let file = read_header(&path, files.len(), &mut found)?;
            files.push((path, file));
        }
        let mut tensors = BTreeMap::new();
        let mut packed: BTreeMap<usize, BTreeMap<String, Found>> = BTreeMap::new();
        let mut stacks: BTreeMap<String, BTreeMap<usize, Found>> = BTreeMap::new();
        for (name, tensor) in found {
            match names::place(&name, architecture) {
                // Such as the numbers of positions, which nothing needs.
                None => {}
                Some(Place::Whole { name, change }) => {
                    let Found { kind, mut shape, piece } = tensor;
                    // A convolution of each channel by itself is a matrix.
                    if name.ends_with("ssm_conv1d.weight") && shape.len() == 3 && shape[1] == 1 {
                        shape.remove(1);
                    }
                    let bytes = Some(piece.bytes);
                    let info = TensorInfo { name: name.clone(), shape, kind, offset: piece.offset, bytes };
                    tensors.insert(name, Entry { info, change, layout: Layout::Pieces(vec![piece]) });
                }
                Some(Place::Expert { name, expert }) => {
                    stacks.entry(name).or_default().insert(expert, tensor);
                }
                Some(Place::Packed { layer, part }) => {
                    packed.entry(layer).or_default().insert(part, tensor);
                }
            }
        }
        for (layer, found) in packed {
            let entries = packed::entries(layer, &found).map_err(|(name, problem)| Error::Tensor {
                path: folder.to_owned(),
                name,
                problem,
            })?;
            tensors.extend(entries);
        }
        for (name, experts) in stacks {
            let wrong =
                |problem: String| Error::Tensor { path: folder.to_owned(), name: name.clone(), problem };
            let count = experts.len();
            let Some((last, first)) = experts.keys().last().copied().zip(experts.values().next()) else {
                continue;
            };
            if last + 1 != count {
                return Err(wrong(format!(
                    "is there for {count} experts, of which one has the number {last}"
                )));
            }
            if experts.values().any(|one| one.shape != first.shape || one.kind != first.kind) {
                return Err(wrong("has different shapes or types in different experts".into()));
            }
            let (kind, shape) = (first.kind, [&[count][..], &first.shape].concat());
            let pieces: Vec<Piece> = experts.values().map(|one| one.piece).collect();
            let bytes = Some(pieces.iter().map(|piece| piece.bytes).sum());
            let info = TensorInfo { name: name.clone(), shape, kind, offset: pieces[0].offset, bytes };
            tensors.insert(name, Entry { info, change: Change::None, layout: Layout::Pieces(pieces) });
        }
        Ok(Self { folder: folder.to_owned(), files, tensors })
    }
}

/// The name of a tensor in GGUF files; `None` for those that models do not need, or that become a part of
/// one.
pub(crate) fn place(name: &str, architecture: &Architecture) -> Option<String> {
    match names::place(name, architecture)? {
        Place::Whole { name, .. } => Some(name),
        Place::Expert { .. } | Place::Packed { .. } => None,
    }
}

/// The tensors of one file, by their own names.
#[derive(Debug)]
pub(crate) struct RawTensors {
    path: PathBuf,
    file: File,
    tensors: HashMap<String, Found>,
}

impl RawTensors {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let mut tensors = HashMap::new();
        let file = read_header(path, 0, &mut tensors)?;
        Ok(Self { path: path.to_owned(), file, tensors })
    }

    /// In alphabetical order.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.tensors.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    /// A tensor's shape and numbers.
    pub(crate) fn numbers(&self, name: &str) -> Result<(Vec<usize>, Vec<f32>)> {
        let wrong =
            |problem: String| Error::Tensor { path: self.path.clone(), name: name.to_owned(), problem };
        let Found { kind, shape, piece } = self
            .tensors
            .get(name)
            .ok_or_else(|| Error::NoTensor { path: self.path.clone(), name: name.to_owned() })?;
        let mut bytes = vec![0; piece.bytes];
        self.file
            .read_exact_at(&mut bytes, piece.offset)
            .map_err(|error| Error::io("read", &self.path, error))?;
        let numbers = crate::weights::plain_numbers(*kind, &bytes)
            .ok_or_else(|| wrong(format!("has the type {kind}, not one of plain numbers")))?;
        Ok((shape.clone(), numbers))
    }
}

/// The files of a folder.
fn paths(folder: &Path) -> Result<Vec<PathBuf>> {
    let index = folder.join("model.safetensors.index.json");
    let text = match std::fs::read_to_string(&index) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(vec![folder.join("model.safetensors")]);
        }
        Err(error) => return Err(Error::io("read", &index, error)),
    };
    let wrong = |problem: String| Error::Model { path: index.clone(), problem };
    let index_values: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| wrong(format!("has an index that cannot be read: {error}")))?;
    let map = index_values.get("weight_map").and_then(serde_json::Value::as_object);
    let map = map.ok_or_else(|| wrong("has an index without `weight_map`".into()))?;
    let names: BTreeSet<&str> = map.values().filter_map(serde_json::Value::as_str).collect();
    // An index names files beside it, and no others.
    match names.iter().find(|name| Path::new(name).file_name().is_none_or(|file| file != **name)) {
        Some(name) => Err(wrong(format!("has the file `{name}`, which is not beside its index"))),
        None => Ok(names.into_iter().map(|name| folder.join(name)).collect()),
    }
}

fn read_header(path: &Path, number: usize, found: &mut HashMap<String, Found>) -> Result<File> {
    let wrong = |problem: String| Error::Model { path: path.to_owned(), problem };
    let mut file = File::open(path).map_err(|error| Error::io("open", path, error))?;
    let size = file.metadata().map_err(|error| Error::io("look at", path, error))?.len();
    let mut length = [0; 8];
    file.read_exact(&mut length).map_err(|error| Error::io("read", path, error))?;
    let length = u64::from_le_bytes(length);
    if length > MOST_HEADER || length > size - 8 {
        return Err(wrong(format!("has a file of {size} bytes with a header of {length}")));
    }
    let mut header = vec![0; length as usize];
    file.read_exact(&mut header).map_err(|error| Error::io("read", path, error))?;
    let metadata: Metadata = serde_json::from_slice(&header)
        .map_err(|error| wrong(format!("has a header that cannot be read: {error}")))?;
    let data = 8 + length;
    if metadata.data_len() as u64 != size - data {
        let (expected, got) = (metadata.data_len(), size - data);
        return Err(wrong(format!("has {got} bytes of tensors, not {expected}: the file is not whole")));
    }
    for (name, info) in metadata.tensors() {
        let (start, end) = info.data_offsets;
        let piece = Piece { file: number, offset: data + start as u64, bytes: end - start };
        let found_tensor = Found { kind: kind(info.dtype), shape: info.shape.clone(), piece };
        if found.insert(name.clone(), found_tensor).is_some() {
            return Err(Error::Tensor { path: path.to_owned(), name, problem: "is in two files".into() });
        }
    }
    Ok(file)
}

/// The type's name in GGUF files. Types that no model's weights have are an unknown one.
fn kind(dtype: Dtype) -> TensorType {
    match dtype {
        Dtype::F32 => TensorType::F32,
        Dtype::F16 => TensorType::F16,
        Dtype::BF16 => TensorType::Bf16,
        Dtype::F64 => TensorType::F64,
        Dtype::I8 => TensorType::I8,
        Dtype::I16 => TensorType::I16,
        Dtype::I32 => TensorType::I32,
        Dtype::I64 => TensorType::I64,
        _ => TensorType::Other(u32::MAX),
    }
}

impl Source for SafetensorsFiles {
    fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors.get(name).map(|entry| &entry.info)
    }

    fn tensors(&self) -> Vec<&TensorInfo> {
        self.tensors.values().map(|entry| &entry.info).collect()
    }

    fn change(&self, name: &str) -> Change {
        self.tensors.get(name).map_or(Change::None, |entry| entry.change)
    }

    fn read_at(&self, name: &str, mut at: usize, mut out: &mut [u8]) -> Result<()> {
        let wrong =
            |problem: String| Error::Tensor { path: self.folder.clone(), name: name.to_owned(), problem };
        let no_tensor = || Error::NoTensor { path: self.folder.clone(), name: name.to_owned() };
        let entry = self.tensors.get(name).ok_or_else(no_tensor)?;
        let mut read = |piece: &Piece, at: usize, part: &mut [u8]| {
            let (path, file) = &self.files[piece.file];
            file.read_exact_at(part, piece.offset + at as u64).map_err(|error| Error::io("read", path, error))
        };
        let pieces = match &entry.layout {
            Layout::Pieces(pieces) => pieces,
            Layout::Packed(packed) => {
                let is_whole = packed.read_at(at, out, &mut read)?;
                return if is_whole { Ok(()) } else { Err(wrong("has too few bytes".into())) };
            }
        };
        for piece in pieces {
            if at >= piece.bytes {
                at -= piece.bytes;
                continue;
            }
            let count = out.len().min(piece.bytes - at);
            let (part, rest) = out.split_at_mut(count);
            read(piece, at, part)?;
            (at, out) = (0, rest);
        }
        if out.is_empty() { Ok(()) } else { Err(wrong(format!("has {} bytes too few", out.len()))) }
    }

    fn path(&self) -> &Path {
        &self.folder
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::architecture;

    fn file(tensors: &[(&str, &[usize], &[f32])]) -> Vec<u8> {
        let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
        for (name, shape, numbers) in tensors {
            let start = data.len();
            data.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
            let info =
                serde_json::json!({ "dtype": "F32", "shape": shape, "data_offsets": [start, data.len()] });
            header.insert((*name).to_owned(), info);
        }
        let header = serde_json::Value::Object(header).to_string();
        [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()
    }

    #[test]
    fn experts_of_several_files_become_one_stack() {
        let folder = tempfile::tempdir().expect("a folder");
        let write =
            |name: &str, bytes: Vec<u8>| std::fs::write(folder.path().join(name), bytes).expect("write");
        let expert = |at: usize| format!("model.layers.1.block_sparse_moe.experts.{at}.w1.weight");
        write(
            "a.safetensors",
            file(&[(&expert(1), &[1, 2], &[3.0, 4.0]), ("model.norm.weight", &[2], &[7.0, 8.0])]),
        );
        write("b.safetensors", file(&[(&expert(0), &[1, 2], &[1.0, 2.0])]));
        let map = serde_json::json!({ "weight_map": { "x": "a.safetensors", "y": "b.safetensors", "z": "a.safetensors" } });
        write("model.safetensors.index.json", map.to_string().into_bytes());
        let files =
            SafetensorsFiles::open(folder.path(), architecture("mixtral").expect("known")).expect("files");
        let name = "blk.1.ffn_gate_exps.weight";
        assert_eq!(files.tensor(name).expect("a stack").shape, [2, 1, 2]);
        let mut bytes = [0; 12];
        files.read_at(name, 4, &mut bytes).expect("read");
        let numbers: Vec<f32> = bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        assert_eq!(numbers, [2.0, 3.0, 4.0]);
        assert!(files.read_at(name, 8, &mut bytes).is_err());
        assert_eq!(files.tensor("output_norm.weight").expect("a norm").shape, [2]);
    }

    /// Blocks of GPT-OSS's files, against what `transformers` makes of them: the bytes 0x10, 0x32, … are the
    /// numbers 0, 0.5, 1, 1.5, …, times two to the power of the scale less 127.
    #[test]
    fn mxfp4_in_two_tensors_becomes_blocks_of_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let rows = [128_u8, 126];
        // Of one expert, a row of the gate and one of the other factor, each with one block.
        let blocks: Vec<u8> = (0..2)
            .flat_map(|row| {
                (0..16_u8).map(move |at| (2 * at % 16) | (((2 * at + 1) % 16) << 4) ^ (row * 0x80))
            })
            .collect();
        let data = [&blocks[..], &rows].concat();
        let prefix = "model.layers.0.mlp.experts.gate_up_proj";
        let header = serde_json::json!({
            format!("{prefix}_blocks"): { "dtype": "U8", "shape": [1, 2, 1, 16], "data_offsets": [0, 32] },
            format!("{prefix}_scales"): { "dtype": "U8", "shape": [1, 2, 1], "data_offsets": [32, 34] },
        })
        .to_string();
        let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat();
        std::fs::write(folder.path().join("model.safetensors"), bytes).expect("write");
        let files =
            SafetensorsFiles::open(folder.path(), architecture("gpt-oss").expect("known")).expect("files");
        const NUMBERS: [f32; 16] =
            [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0];
        for (name, row, factor) in [("gate", 0, 2.0), ("up", 1, 0.5)] {
            let name = format!("blk.0.ffn_{name}_exps.weight");
            let info = files.tensor(&name).expect("a matrix");
            assert_eq!((&info.shape[..], info.bytes), (&[1, 1, 32][..], Some(17)));
            let mut block = [0; 17];
            files.read_at(&name, 0, &mut block).expect("read");
            let TensorType::Quant(quant) = info.kind else { panic!("{}", info.kind) };
            let expected: Vec<f32> = (0..32)
                .map(|at| {
                    let byte = blocks[row * 16 + at / 2];
                    factor * NUMBERS[usize::from(if at % 2 == 0 { byte & 15 } else { byte >> 4 })]
                })
                .collect();
            assert_eq!(quant.dequantize(&block), expected);
            let mut part = [0; 3];
            files.read_at(&name, 5, &mut part).expect("read");
            assert_eq!(part, block[5..8]);
            assert!(files.read_at(&name, 15, &mut part).is_err());
        }
    }

    #[test]
    fn a_damaged_file_is_refused_with_its_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("model.safetensors");
        let whole = file(&[("model.norm.weight", &[2], &[7.0, 8.0])]);
        let llama = architecture("llama").expect("known");
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).expect("write");
            let error = SafetensorsFiles::open(folder.path(), llama).expect_err("damaged").to_string();
            assert!(error.contains("model.safetensors"), "{error}");
        }
        let mut long = whole;
        long[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        std::fs::write(&path, long).expect("write");
        assert!(SafetensorsFiles::open(folder.path(), llama).is_err());
        let index = r#"{"weight_map": {"x": "../other.safetensors"}}"#;
        std::fs::write(folder.path().join("model.safetensors.index.json"), index).expect("write");
        let error = SafetensorsFiles::open(folder.path(), llama).expect_err("outside").to_string();
        assert!(error.contains("not beside its index"), "{error}");
    }
}
