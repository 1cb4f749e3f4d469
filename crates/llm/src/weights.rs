//! Weights on their way from a model's files to a device.

use std::path::Path;

use backend::{DType, KernelBackend, QuantType, Tensor};
use half::{bf16, f16};

use crate::error::{Error, Result};
use crate::gguf::{GgufFile, TensorInfo, TensorType};

mod iq4_xs;

/// Files that tensors are read from.
pub trait Source: Send + Sync {
    /// A tensor's shape and type.
    fn tensor(&self, name: &str) -> Option<&TensorInfo>;

    /// All tensors.
    fn tensors(&self) -> Vec<&TensorInfo>;

    /// What is added to each number of a tensor.
    fn summand(&self, _name: &str) -> f32 {
        0.0
    }

    /// Fills `out` with bytes of a tensor, from this position in it.
    ///
    /// # Errors
    /// As [`GgufFile::read_at`].
    fn read_at(&self, name: &str, at: usize, out: &mut [u8]) -> Result<()>;

    /// The file, or the first of several.
    fn path(&self) -> &Path;
}

impl Source for GgufFile {
    fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.tensor(name)
    }

    fn tensors(&self) -> Vec<&TensorInfo> {
        self.tensors().collect()
    }

    fn read_at(&self, name: &str, at: usize, out: &mut [u8]) -> Result<()> {
        self.read_at(name, at, out)
    }

    fn path(&self) -> &Path {
        self.path()
    }
}

/// Bytes that are read at once.
const PIECE: usize = 32 << 20;

/// Loads tensors to a backend.
pub struct Weights<'w> {
    source: &'w dyn Source,
    backend: &'w dyn KernelBackend,
    /// The type of activations, and thereby of norms and biases.
    dtype: DType,
    /// Called with the bytes read so far.
    progress: &'w mut dyn FnMut(u64),
    read: u64,
}

impl<'w> Weights<'w> {
    /// Loads from these files. `progress` is called with the bytes read so far.
    pub fn new(
        source: &'w dyn Source,
        backend: &'w dyn KernelBackend,
        dtype: DType,
        progress: &'w mut dyn FnMut(u64),
    ) -> Self {
        Self { source, backend, dtype, progress, read: 0 }
    }

    /// The backend.
    #[must_use]
    pub fn backend(&self) -> &'w dyn KernelBackend {
        self.backend
    }

    /// The type of activations.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Whether there is a tensor of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.source.tensor(name).is_some()
    }

    fn wrong(&self, name: &str, problem: String) -> Error {
        Error::Tensor { path: self.source.path().to_owned(), name: name.to_owned(), problem }
    }

    /// A tensor that must be there and have this shape. Dimensions of 1 in front do not count.
    fn find(&self, name: &str, shape: &[usize]) -> Result<&'w TensorInfo> {
        let path = || self.source.path().to_owned();
        let info = self
            .source
            .tensor(name)
            .ok_or_else(|| Error::NoTensor { path: path(), name: name.to_owned() })?;
        let first = info
            .shape
            .iter()
            .take_while(|&&size| size == 1)
            .count()
            .min(info.shape.len().saturating_sub(shape.len()));
        if info.shape[first..] != *shape {
            return Err(self.wrong(name, format!("has the shape {:?}, not {shape:?}", info.shape)));
        }
        Ok(info)
    }

    /// The rows of a token table.
    ///
    /// # Errors
    /// [`Error::NoTensor`]; [`Error::Tensor`] unless it has two dimensions.
    pub fn rows(&self, name: &str) -> Result<usize> {
        let path = self.source.path().to_owned();
        let info = self.source.tensor(name).ok_or_else(|| Error::NoTensor { path, name: name.to_owned() })?;
        match info.shape[..] {
            [rows, _] => Ok(rows),
            _ => Err(self.wrong(name, format!("has the shape {:?}, not two dimensions", info.shape))),
        }
    }

    /// A matrix or a stack of matrices, quantised as it is in the file, or else in the type of activations.
    ///
    /// # Errors
    /// [`Error::NoTensor`]; [`Error::Tensor`] for another shape, or a type that is not known; errors of
    /// reading and of the backend.
    pub fn matrix(&mut self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let info = self.find(name, shape)?;
        let dtype = match DType::from_gguf(info.kind.number()) {
            Some(dtype) if dtype.is_quantised() => dtype,
            _ => self.dtype,
        };
        let tensor = self.backend.empty(dtype, shape)?;
        self.fill(info, &tensor)?;
        Ok(tensor)
    }

    /// The matrix of this name if there is one.
    ///
    /// # Errors
    /// As [`matrix`](Self::matrix).
    pub fn optional_matrix(&mut self, name: &str, shape: &[usize]) -> Result<Option<Tensor>> {
        self.has(name).then(|| self.matrix(name, shape)).transpose()
    }

    /// A norm's weights or a bias, in the type of activations.
    ///
    /// # Errors
    /// As [`matrix`](Self::matrix).
    pub fn vector(&mut self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let info = self.find(name, shape)?;
        let tensor = self.backend.empty(self.dtype, shape)?;
        self.fill(info, &tensor)?;
        Ok(tensor)
    }

    /// A tensor in f32, whatever the type of activations.
    ///
    /// # Errors
    /// As [`matrix`](Self::matrix).
    pub fn matrix_in_f32(&mut self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let info = self.find(name, shape)?;
        let tensor = self.backend.empty(DType::F32, shape)?;
        self.fill(info, &tensor)?;
        Ok(tensor)
    }

    /// The vector of this name if there is one.
    ///
    /// # Errors
    /// As [`matrix`](Self::matrix).
    pub fn optional_vector(&mut self, name: &str, shape: &[usize]) -> Result<Option<Tensor>> {
        self.has(name).then(|| self.vector(name, shape)).transpose()
    }

    /// Numbers on the host.
    ///
    /// # Errors
    /// As [`matrix`](Self::matrix).
    pub fn numbers(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let info = self.find(name, shape)?;
        let mut bytes = vec![0; self.bytes_of(info)?];
        self.source.read_at(&info.name, 0, &mut bytes)?;
        match plain(info.kind) {
            Some(plain) => Ok(plain.numbers(&bytes)),
            None => Err(self.wrong(name, format!("has the type {}, not one of plain numbers", info.kind))),
        }
    }

    fn bytes_of(&self, info: &TensorInfo) -> Result<usize> {
        info.bytes.ok_or_else(|| self.wrong(&info.name, format!("has the {}, which is not known", info.kind)))
    }

    /// Whether the file's bytes are those of a tensor of this type.
    fn is_as_it_is(&self, info: &TensorInfo, to: DType) -> bool {
        DType::from_gguf(info.kind.number()) == Some(to) && self.source.summand(&info.name) == 0.0
    }

    /// Fills a tensor, some rows at a time. What needs no conversion is read to where the backend copies it
    /// from, which is pinned memory on GPUs.
    fn fill(&mut self, info: &TensorInfo, to: &Tensor) -> Result<()> {
        let total = self.bytes_of(info)?;
        let rows = to.rows();
        let flat = to.reshape(&[rows, to.columns()])?;
        let row_bytes = total / rows.max(1);
        let at_once = (PIECE / row_bytes.max(1)).clamp(1, rows.max(1));
        let is_direct = self.is_as_it_is(info, to.dtype());
        let mut buffer = vec![0; if is_direct { 0 } else { at_once * row_bytes }];
        let mut row = 0;
        while row < rows {
            let count = at_once.min(rows - row);
            let (start, part) = (row * row_bytes, flat.narrow(0, row, count)?);
            if is_direct {
                self.read_into(info, start, &part)?;
            } else {
                let bytes = &mut buffer[..count * row_bytes];
                self.source.read_at(&info.name, start, bytes)?;
                let converted = self.converted(info, bytes, to.dtype())?;
                self.backend.upload(&converted, &part)?;
            }
            row += count;
            self.read += (count * row_bytes) as u64;
            (self.progress)(self.read);
        }
        Ok(())
    }

    /// Fills a tensor with the bytes that begin there.
    fn read_into(&self, info: &TensorInfo, start: usize, to: &Tensor) -> Result<()> {
        let mut failure = None;
        let filled = self.backend.upload_from(to, &mut |at, piece| {
            self.source.read_at(&info.name, start + at, piece).map_err(|error| {
                failure = Some(error);
                std::io::Error::other("the file cannot be read")
            })
        });
        match failure {
            Some(error) => Err(error),
            None => Ok(filled?),
        }
    }

    /// Bytes of whole rows in the type of the tensor.
    fn converted(&self, info: &TensorInfo, bytes: &[u8], to: DType) -> Result<Vec<u8>> {
        let summand = self.source.summand(&info.name);
        let mut numbers = if let Some(plain) = plain(info.kind) {
            plain.numbers(bytes)
        } else if info.kind.number() == iq4_xs::NUMBER {
            iq4_xs::numbers(bytes)
        } else if let Some(DType::Quant(quant)) = DType::from_gguf(info.kind.number()) {
            quantised(quant, bytes)
        } else {
            return Err(
                self.wrong(&info.name, format!("has the type {}, for which there is no code", info.kind))
            );
        };
        numbers.iter_mut().for_each(|x| *x += summand);
        Ok(of_f32(to, &numbers))
    }
}

/// Types of plain numbers.
#[derive(Clone, Copy)]
enum Plain {
    F32,
    F16,
    Bf16,
    F64,
}

fn plain(kind: TensorType) -> Option<Plain> {
    match kind {
        TensorType::F32 => Some(Plain::F32),
        TensorType::F16 => Some(Plain::F16),
        TensorType::Bf16 => Some(Plain::Bf16),
        TensorType::F64 => Some(Plain::F64),
        _ => None,
    }
}

impl Plain {
    fn numbers(self, bytes: &[u8]) -> Vec<f32> {
        match self {
            Self::F32 => bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect(),
            Self::F16 => {
                bytes.as_chunks().0.iter().map(|&bytes| f16::from_le_bytes(bytes).to_f32()).collect()
            }
            Self::Bf16 => {
                bytes.as_chunks().0.iter().map(|&bytes| bf16::from_le_bytes(bytes).to_f32()).collect()
            }
            Self::F64 => bytes.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes) as f32).collect(),
        }
    }
}

fn quantised(quant: QuantType, bytes: &[u8]) -> Vec<f32> {
    quant.dequantize(bytes)
}

/// The bytes of numbers, each rounded once. Activations have no other types.
fn of_f32(to: DType, numbers: &[f32]) -> Vec<u8> {
    match to {
        DType::F16 => numbers.iter().flat_map(|&x| f16::from_f32(x).to_le_bytes()).collect(),
        DType::BF16 => numbers.iter().flat_map(|&x| bf16::from_f32(x).to_le_bytes()).collect(),
        _ => numbers.iter().flat_map(|x| x.to_le_bytes()).collect(),
    }
}
