//! Weights on their way from a model's files to a device.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use backend::{DType, KernelBackend, Shard, Tensor};
use half::{bf16, f16};

use crate::adapter::{Adapter, LowRank};
use crate::error::{Error, Result};
use crate::gguf::{GgufFile, TensorInfo, TensorType};

/// Files that tensors are read from.
pub trait Source: Send + Sync {
    /// A tensor's shape and type.
    fn tensor(&self, name: &str) -> Option<&TensorInfo>;

    /// All tensors.
    fn tensors(&self) -> Vec<&TensorInfo>;

    /// How the numbers of a tensor differ from those that models know.
    fn change(&self, _name: &str) -> Change {
        Change::None
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

/// What is done to each number of a tensor when it is loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// Nothing.
    #[default]
    None,
    /// This is added.
    Add(f32),
    /// x becomes -exp(x).
    NegativeExp,
}

impl Change {
    fn apply(self, numbers: &mut [f32]) {
        match self {
            Self::None => {}
            Self::Add(summand) => numbers.iter_mut().for_each(|x| *x += summand),
            Self::NegativeExp => numbers.iter_mut().for_each(|x| *x = -x.exp()),
        }
    }
}

/// The part of a tensor that is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Rows, in this order: all dimensions but the last one are rows. `None` for all.
    pub rows: Option<Vec<Range<usize>>>,
    /// Columns, in this order; whole blocks of a quantised tensor. `None` for all.
    pub columns: Option<Vec<Range<usize>>>,
}

impl Cut {
    /// The rows of a tensor that has so many.
    fn ranges(&self, rows: usize) -> Vec<Range<usize>> {
        self.rows.clone().unwrap_or_else(|| std::iter::once(0..rows).collect())
    }

    /// The columns of a tensor that has so many.
    fn columns(&self, columns: usize) -> Vec<Range<usize>> {
        self.columns.clone().unwrap_or_else(|| std::iter::once(0..columns).collect())
    }

    /// Some rows.
    #[must_use]
    pub fn of_rows(rows: Vec<Range<usize>>) -> Self {
        Self { rows: Some(rows), columns: None }
    }

    /// Some columns, which may be all of so many.
    #[must_use]
    pub fn of_columns(columns: Vec<Range<usize>>, of: usize) -> Self {
        let is_whole = matches!(&columns[..], [all] if *all == (0..of));
        Self { rows: None, columns: (!is_whole).then_some(columns) }
    }
}

/// How many rows or columns.
pub(crate) fn count(ranges: &[Range<usize>]) -> usize {
    ranges.iter().map(ExactSizeIterator::len).sum()
}

/// The same ranges, those that follow each other as one.
#[must_use]
pub fn joined(ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}

/// Rows of a matrix.
#[derive(Clone, Debug)]
pub(crate) struct MatrixRows {
    /// Its name, without `.weight`.
    pub(crate) name: String,
    /// All of its rows, and its columns.
    pub(crate) of: [usize; 2],
    /// These, in this order.
    pub(crate) rows: Vec<Range<usize>>,
}

impl MatrixRows {
    /// The part of this rank, of so many rows, if all ranks have as many.
    pub(crate) fn of_rank(shard: Shard, name: String, rows: usize, columns: usize) -> Self {
        let own = std::iter::once(shard.rank * rows..(shard.rank + 1) * rows).collect();
        Self { name, of: [rows * shard.size, columns], rows: own }
    }

    /// How many rows.
    pub(crate) fn count(&self) -> usize {
        count(&self.rows)
    }

    fn weight(&self) -> String {
        format!("{}.weight", self.name)
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
    adapters: &'w [Adapter],
    /// Matrices that were asked for as such that can be adapted, without `.weight`.
    adaptable: HashSet<String>,
}

/// What an adapter adds to a product.
#[derive(Debug)]
pub(crate) struct Lora {
    /// `[rank, columns]`.
    pub(crate) a: Tensor,
    /// `[rows, rank]`.
    pub(crate) b: Tensor,
}

impl<'w> Weights<'w> {
    /// Loads from these files. `progress` is called with the bytes read so far.
    pub fn new(
        source: &'w dyn Source,
        backend: &'w dyn KernelBackend,
        dtype: DType,
        progress: &'w mut dyn FnMut(u64),
    ) -> Self {
        Self { source, backend, dtype, progress, read: 0, adapters: &[], adaptable: HashSet::new() }
    }

    /// Matrices are adapted by these.
    #[must_use]
    pub fn with_adapters(mut self, adapters: &'w [Adapter]) -> Self {
        self.adapters = adapters;
        self
    }

    /// Refuses adapters for matrices that the model has not asked for.
    ///
    /// # Errors
    /// [`Error::Adapter`] names the first such matrix.
    pub fn check_adapters(&self) -> Result<()> {
        self.adapters.iter().try_for_each(|adapter| adapter.check_used(|name| self.adaptable.contains(name)))
    }

    /// What adapters add to this part of a matrix of the shape `[rows, columns]`; the name is without
    /// `.weight`.
    pub(crate) fn loras(&mut self, name: &str, shape: [usize; 2], cut: &Cut) -> Result<Vec<Lora>> {
        self.adaptable.insert(name.to_owned());
        let [rows, columns] = shape;
        let mut loras = Vec::new();
        for adapter in self.adapters {
            let Some(low_rank) = adapter.matrix(name) else { continue };
            let LowRank { rank, a, b } = low_rank;
            if a.len() != rank * columns || b.len() != rank * rows {
                return Err(adapter.wrong_shape(name, rows, columns));
            }
            let taken = cut.columns(columns);
            let a: Vec<f32> = a
                .chunks_exact(columns)
                .flat_map(|row| taken.iter().flat_map(|range| &row[range.clone()]))
                .copied()
                .collect();
            let ranges = cut.ranges(rows);
            let b: Vec<f32> =
                ranges.iter().flat_map(|range| &b[range.start * rank..range.end * rank]).copied().collect();
            loras.push(Lora {
                a: self.backend.tensor(self.dtype, &[*rank, count(&taken)], &a)?,
                b: self.backend.tensor(self.dtype, &[count(&ranges), *rank], &b)?,
            });
        }
        Ok(loras)
    }

    /// The backend.
    #[must_use]
    pub fn backend(&self) -> &'w dyn KernelBackend {
        self.backend
    }

    /// Which part of the model is loaded.
    #[must_use]
    pub fn shard(&self) -> Shard {
        self.backend.shard()
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
        self.matrix_part(name, shape, &Cut::default(), shape)
    }

    /// A part of a matrix, as a tensor of the shape `of_part`.
    ///
    /// # Errors
    /// As [`matrix`](Self::matrix); [`Error::Tensor`] for columns that are not whole blocks.
    pub fn matrix_part(
        &mut self,
        name: &str,
        shape: &[usize],
        cut: &Cut,
        of_part: &[usize],
    ) -> Result<Tensor> {
        let info = self.find(name, shape)?;
        self.filled(info, cut, self.type_of(info), of_part)
    }

    /// What a matrix needs to have in common with another one to be joined with it: the type on the device,
    /// and the number of columns. `None` if an adapter changes it.
    ///
    /// # Errors
    /// As [`matrix_part`](Self::matrix_part).
    pub(crate) fn joins_by(&self, part: &MatrixRows) -> Result<Option<(DType, usize)>> {
        let info = self.find(&part.weight(), &part.of)?;
        let is_adapted = self.adapters.iter().any(|adapter| adapter.matrix(&part.name).is_some());
        Ok((!is_adapted).then(|| (self.type_of(info), part.of[1])))
    }

    /// Parts of matrices that [can be joined](Self::joins_by), one below the other.
    ///
    /// # Errors
    /// As [`matrix_part`](Self::matrix_part).
    pub(crate) fn joined_rows(
        &mut self,
        parts: &[MatrixRows],
        (dtype, columns): (DType, usize),
    ) -> Result<Tensor> {
        let rows = parts.iter().map(MatrixRows::count).sum();
        let joined = self.backend.empty(dtype, &[rows, columns])?;
        let mut first = 0;
        for part in parts {
            let info = self.find(&part.weight(), &part.of)?;
            self.adaptable.insert(part.name.clone());
            self.fill(info, &Cut::of_rows(part.rows.clone()), &joined.narrow(0, first, part.count())?)?;
            first += part.count();
        }
        Ok(joined)
    }

    /// The type that a matrix has on the device: its own, if it is quantised, or that of activations.
    fn type_of(&self, info: &TensorInfo) -> DType {
        match DType::from_gguf(info.kind.number()) {
            Some(dtype) if dtype.is_quantised() => dtype,
            _ => self.dtype,
        }
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
        self.vector_part(name, shape, &Cut::default(), shape)
    }

    /// A part of a norm's weights or of a bias, as a tensor of the shape `of_part`.
    ///
    /// # Errors
    /// As [`matrix_part`](Self::matrix_part).
    pub fn vector_part(
        &mut self,
        name: &str,
        shape: &[usize],
        cut: &Cut,
        of_part: &[usize],
    ) -> Result<Tensor> {
        let info = self.find(name, shape)?;
        self.filled(info, cut, self.dtype, of_part)
    }

    /// A part of a tensor in f32, whatever the type of activations, as a tensor of the shape `of_part`.
    ///
    /// # Errors
    /// As [`matrix_part`](Self::matrix_part).
    pub fn part_in_f32(
        &mut self,
        name: &str,
        shape: &[usize],
        cut: &Cut,
        of_part: &[usize],
    ) -> Result<Tensor> {
        let info = self.find(name, shape)?;
        self.filled(info, cut, DType::F32, of_part)
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
            Some(plain) => {
                let mut numbers = plain.numbers(&bytes);
                self.source.change(&info.name).apply(&mut numbers);
                Ok(numbers)
            }
            None => Err(self.wrong(name, format!("has the type {}, not one of plain numbers", info.kind))),
        }
    }

    fn bytes_of(&self, info: &TensorInfo) -> Result<usize> {
        info.bytes.ok_or_else(|| self.wrong(&info.name, format!("has the {}, which is not known", info.kind)))
    }

    /// A new tensor with this part of one in the file.
    fn filled(&mut self, info: &TensorInfo, cut: &Cut, dtype: DType, shape: &[usize]) -> Result<Tensor> {
        let tensor = self.backend.empty(dtype, shape)?;
        self.fill(info, cut, &tensor)?;
        Ok(tensor)
    }

    /// Whether the file's bytes are those of a tensor of this type.
    fn is_as_it_is(&self, info: &TensorInfo, to: DType) -> bool {
        DType::from_gguf(info.kind.number()) == Some(to) && self.source.change(&info.name) == Change::None
    }

    /// Copies rows, some at a time, converted if the types differ. Whole rows that need no conversion are
    /// read to where the backend copies them from, which is pinned memory on GPUs.
    fn fill(&mut self, info: &TensorInfo, cut: &Cut, to: &Tensor) -> Result<()> {
        let total = self.bytes_of(info)?;
        let columns = info.shape.last().copied().unwrap_or(1);
        let rows: usize = info.shape.iter().rev().skip(1).product();
        let row_bytes = total / rows.max(1);
        let flat = to.reshape(&[to.rows(), to.columns()])?;
        let ranges = cut.ranges(rows);
        let wanted = cut.columns(columns);
        let exist =
            ranges.iter().all(|range| range.end <= rows) && wanted.iter().all(|range| range.end <= columns);
        if !exist || count(&ranges) != to.rows() || count(&wanted) != to.columns() {
            let problem = format!("has no part of the shape {:?} at {cut:?}", to.shape());
            return Err(self.wrong(&info.name, problem));
        }
        let in_row =
            wanted.iter().map(|columns| self.bytes_in_row(info, columns)).collect::<Result<Vec<_>>>()?;
        let at_once = (PIECE / row_bytes.max(1)).max(1);
        let is_direct = cut.columns.is_none() && self.is_as_it_is(info, to.dtype());
        let mut buffer = Vec::new();
        let mut place = 0;
        for range in ranges {
            let mut row = range.start;
            while row < range.end {
                let count = at_once.min(range.end - row);
                let (start, part) = (row * row_bytes, flat.narrow(0, place, count)?);
                (row, place) = (row + count, place + count);
                if is_direct {
                    self.read_into(info, start, &part)?;
                    self.read += (count * row_bytes) as u64;
                    (self.progress)(self.read);
                    continue;
                }
                buffer.resize(count * row_bytes, 0);
                self.source.read_at(&info.name, start, &mut buffer)?;
                let bytes: Cow<'_, [u8]> = match cut.columns {
                    None => Cow::Borrowed(&buffer),
                    Some(_) => buffer
                        .chunks_exact(row_bytes.max(1))
                        .flat_map(|row| in_row.iter().flat_map(|bytes| &row[bytes.clone()]))
                        .copied()
                        .collect(),
                };
                let converted = self.converted(info, &bytes, to.dtype())?;
                self.backend.upload(&converted, &part)?;
                self.read += bytes.len() as u64;
                (self.progress)(self.read);
            }
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

    /// Where these columns are in a row's bytes.
    fn bytes_in_row(&self, info: &TensorInfo, columns: &Range<usize>) -> Result<Range<usize>> {
        let Some((values, bytes)) = info.kind.block() else {
            return Err(self.wrong(&info.name, format!("has the {}, which is not known", info.kind)));
        };
        if !columns.start.is_multiple_of(values) || !columns.end.is_multiple_of(values) {
            return Err(self.wrong(
                &info.name,
                format!("has the type {}, whose blocks of {values} the columns {columns:?} cut", info.kind),
            ));
        }
        Ok(columns.start / values * bytes..columns.end / values * bytes)
    }

    /// Bytes of whole rows in the type of the tensor.
    fn converted<'b>(&self, info: &TensorInfo, bytes: &'b [u8], to: DType) -> Result<Cow<'b, [u8]>> {
        let change = self.source.change(&info.name);
        if self.is_as_it_is(info, to) {
            return Ok(Cow::Borrowed(bytes));
        }
        let unknown =
            || self.wrong(&info.name, format!("has the type {}, for which there is no code", info.kind));
        let mut numbers = any_numbers(info.kind, bytes).ok_or_else(unknown)?;
        change.apply(&mut numbers);
        Ok(Cow::Owned(of_f32(to, &numbers)))
    }
}

/// The numbers of these bytes, if they are of a type of plain numbers.
pub(crate) fn plain_numbers(kind: TensorType, bytes: &[u8]) -> Option<Vec<f32>> {
    Some(plain(kind)?.numbers(bytes))
}

/// All numbers of a tensor of any known type.
pub(crate) fn all_numbers(source: &dyn Source, info: &TensorInfo) -> Result<Vec<f32>> {
    let wrong =
        |problem: String| Error::Tensor { path: source.path().to_owned(), name: info.name.clone(), problem };
    let unknown = || wrong(format!("has the type {}, for which there is no code", info.kind));
    let mut bytes = vec![0; info.bytes.ok_or_else(unknown)?];
    source.read_at(&info.name, 0, &mut bytes)?;
    any_numbers(info.kind, &bytes).ok_or_else(unknown)
}

/// The numbers of these bytes, if their type is known.
fn any_numbers(kind: TensorType, bytes: &[u8]) -> Option<Vec<f32>> {
    match (plain(kind), DType::from_gguf(kind.number())) {
        (Some(plain), _) => Some(plain.numbers(bytes)),
        (None, Some(DType::Quant(quant))) => Some(quant.dequantize(bytes)),
        _ => None,
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

/// The bytes of numbers, each rounded once. Activations have no other types.
fn of_f32(to: DType, numbers: &[f32]) -> Vec<u8> {
    match to {
        DType::F16 => numbers.iter().flat_map(|&x| f16::from_f32(x).to_le_bytes()).collect(),
        DType::BF16 => numbers.iter().flat_map(|&x| bf16::from_f32(x).to_le_bytes()).collect(),
        _ => numbers.iter().flat_map(|x| x.to_le_bytes()).collect(),
    }
}
