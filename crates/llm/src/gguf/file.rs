//! A model's file, or its files.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::header::{Gguf, GgufError};
use super::tensor::TensorInfo;
use super::value::Metadata;
use crate::error::{Error, Result};

/// Files of one model.
const MOST_FILES: usize = 1000;

/// One or more open files of a model.
///
/// A large model may be split: `model-00001-of-00003.gguf` and so on. The first file's name opens all.
#[derive(Debug)]
pub struct GgufFile {
    files: Vec<(PathBuf, File)>,
    metadata: Metadata,
    tensors: Vec<(usize, TensorInfo)>,
    by_name: HashMap<String, usize>,
}

impl GgufFile {
    /// Opens a file and, if it is the first of several, the others.
    ///
    /// # Errors
    /// [`Error::Gguf`] names the file and says what is wrong with it; [`Error::Io`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let (file, header) = open(path)?;
        let mut metadata = header.metadata;
        let of_file = |error: GgufError| Error::Gguf { path: path.to_owned(), error };
        let count = metadata.size("split.count").map_err(|error| of_file(error.into()))?.unwrap_or(1);
        let number = metadata.size("split.no").map_err(|error| of_file(error.into()))?.unwrap_or(0);
        let mut files = vec![(path.to_owned(), file)];
        let mut tensors: Vec<_> = header.tensors.into_iter().map(|tensor| (0, tensor)).collect();
        if count > 1 {
            if number != 0 {
                let problem = format!("is part {} of {count}: open the first one", number + 1);
                return Err(of_file(GgufError::Invalid { what: "the file".into(), problem }));
            }
            if count > MOST_FILES {
                let problem = format!("is {count}, more than {MOST_FILES}");
                return Err(of_file(GgufError::Invalid { what: "value `split.count`".into(), problem }));
            }
            for part in 1..count {
                let path = part_path(path, part, count).ok_or_else(|| {
                    let problem =
                        format!("does not end in -00001-of-{count:05}.gguf, as the first of {count} does");
                    of_file(GgufError::Invalid { what: "the file's name".into(), problem })
                })?;
                let (file, header) = open(&path)?;
                let at = files.len();
                tensors.extend(header.tensors.into_iter().map(|tensor| (at, tensor)));
                for (name, value) in header.metadata.iter() {
                    if metadata.get(name).is_none() {
                        metadata.insert(name.to_owned(), value.clone());
                    }
                }
                files.push((path, file));
            }
        }
        let mut by_name = HashMap::new();
        for (at, (file, tensor)) in tensors.iter().enumerate() {
            if by_name.insert(tensor.name.clone(), at).is_some() {
                let what = format!("tensor `{}`", tensor.name);
                let error = GgufError::Invalid { what, problem: "is in two files".into() };
                return Err(Error::Gguf { path: files[*file].0.clone(), error });
            }
        }
        Ok(Self { files, metadata, tensors, by_name })
    }

    /// The named values of all files. A value that several have is that of the first.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// All tensors, in the files' order.
    pub fn tensors(&self) -> impl Iterator<Item = &TensorInfo> {
        self.tensors.iter().map(|(_, tensor)| tensor)
    }

    /// A tensor by its name.
    #[must_use]
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.by_name.get(name).map(|&at| &self.tensors[at].1)
    }

    /// The first file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.files[0].0
    }

    /// Fills `out` with bytes of a tensor's data, from this position in it.
    ///
    /// # Errors
    /// [`Error::NoTensor`] if there is none of this name, [`Error::Tensor`] if it does not have as many bytes
    /// there; [`Error::Io`].
    pub fn read_at(&self, name: &str, at: usize, out: &mut [u8]) -> Result<()> {
        let no_tensor = || Error::NoTensor { path: self.path().to_owned(), name: name.to_owned() };
        let (file, tensor) = self.by_name.get(name).map(|&at| &self.tensors[at]).ok_or_else(no_tensor)?;
        let (path, file) = &self.files[*file];
        let bytes = tensor.bytes.unwrap_or(0);
        if at.checked_add(out.len()).is_none_or(|end| end > bytes) {
            let problem = format!("has {bytes} bytes; {} from byte {at} were asked for", out.len());
            return Err(Error::Tensor { path: path.clone(), name: name.to_owned(), problem });
        }
        file.read_exact_at(out, tensor.offset + at as u64).map_err(|error| Error::io("read", path, error))
    }
}

fn open(path: &Path) -> Result<(File, Gguf)> {
    let file = File::open(path).map_err(|error| Error::io("open", path, error))?;
    let metadata = file.metadata().map_err(|error| Error::io("look at", path, error))?;
    if !metadata.is_file() {
        let error = std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is not a file");
        return Err(Error::io("open", path, error));
    }
    let header = Gguf::read(BufReader::with_capacity(1 << 20, &file), metadata.len());
    let header = header.map_err(|error| Error::Gguf { path: path.to_owned(), error })?;
    if header.big_endian {
        let problem = "has its highest bytes first; this program reads the other order only".into();
        let error = GgufError::Invalid { what: "the file".into(), problem };
        return Err(Error::Gguf { path: path.to_owned(), error });
    }
    Ok((file, header))
}

/// The path of another part than the first.
fn part_path(first: &Path, part: usize, count: usize) -> Option<PathBuf> {
    let name = first.file_name()?.to_str()?;
    let stem = name.strip_suffix(&format!("-00001-of-{count:05}.gguf"))?;
    Some(first.with_file_name(format!("{stem}-{:05}-of-{count:05}.gguf", part + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with one tensor of four bytes, and these values.
    fn part(name: &str, data: u8, values: &[(&str, u32)]) -> Vec<u8> {
        let string = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
        let mut bytes = b"GGUF\x03\0\0\0".to_vec();
        bytes.extend(1_u64.to_le_bytes());
        bytes.extend((values.len() as u64).to_le_bytes());
        for (name, value) in values {
            bytes.extend(string(name));
            bytes.extend([4_u32.to_le_bytes(), value.to_le_bytes()].concat());
        }
        bytes.extend(string(name));
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(4_u64.to_le_bytes());
        bytes.extend(24_u32.to_le_bytes());
        bytes.extend(0_u64.to_le_bytes());
        bytes.resize(bytes.len().next_multiple_of(32), 0);
        bytes.extend([data; 4]);
        bytes
    }

    #[test]
    fn all_parts_of_a_split_model_are_one() {
        let folder = tempfile::tempdir().expect("folder");
        let path = |part: usize| folder.path().join(format!("m-{part:05}-of-00002.gguf"));
        let write = |at: usize, bytes: Vec<u8>| std::fs::write(path(at), bytes).expect("write");
        write(1, part("a", 1, &[("split.count", 2), ("split.no", 0), ("x", 7)]));
        let missing = GgufFile::open(path(1)).expect_err("a part is missing").to_string();
        assert!(missing.contains("m-00002-of-00002.gguf"), "{missing}");
        write(2, part("b", 2, &[("split.count", 2), ("split.no", 1), ("x", 8), ("y", 9)]));
        let file = GgufFile::open(path(1)).expect("both");
        let values = ["x", "y"].map(|name| file.metadata().u64(name).unwrap());
        assert_eq!(values, [Some(7), Some(9)]);
        let mut bytes = [0; 3];
        file.read_at("b", 1, &mut bytes).expect("read");
        assert_eq!(bytes, [2; 3]);
        let error = file.read_at("a", 2, &mut bytes).expect_err("too long").to_string();
        assert!(error.contains("`a` has 4 bytes; 3 from byte 2"), "{error}");
        assert!(matches!(file.read_at("c", 0, &mut bytes), Err(Error::NoTensor { .. })));
        let second = GgufFile::open(path(2)).expect_err("not the first").to_string();
        assert!(second.contains("is part 2 of 2: open the first one"), "{second}");
        write(2, part("a", 2, &[]));
        let twice = GgufFile::open(path(1)).expect_err("twice").to_string();
        assert!(twice.contains("tensor `a`: is in two files"), "{twice}");
        std::fs::copy(path(1), folder.path().join("other.gguf")).expect("copy");
        let name = GgufFile::open(folder.path().join("other.gguf")).expect_err("its name").to_string();
        assert!(name.contains("does not end in -00001-of-00002.gguf"), "{name}");
        assert!(
            GgufFile::open(folder.path()).expect_err("a folder").to_string().contains("it is not a file")
        );
    }
}
