//! Tensors: typed, strided views of a backend's memory.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use crate::DType;
use crate::error::{Error, Result, described};

/// The sizes or strides of a tensor.
pub type Dims = SmallVec<[usize; 4]>;

/// Memory of a backend.
pub trait Storage: Any + Send + Sync + fmt::Debug {
    /// The size in bytes.
    fn size_in_bytes(&self) -> usize;
    /// The number of the backend that it belongs to.
    fn backend(&self) -> u64;
    /// The backend's own type.
    fn as_any(&self) -> &dyn Any;
}

/// A typed, strided view of a backend's memory. Cloning it copies no elements, and views share their memory,
/// also for writing: an operation's result is a tensor that the caller passes.
///
/// Work on one backend runs in the order in which it was submitted, so a tensor can be passed on at once.
#[derive(Clone)]
pub struct Tensor {
    storage: Arc<dyn Storage>,
    dtype: DType,
    shape: Dims,
    /// In elements.
    strides: Dims,
    offset: usize,
}

/// The strides of a tensor stored row by row without gaps.
pub(crate) fn dense_strides(shape: &[usize]) -> Dims {
    let mut strides: Dims = smallvec![1; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i].saturating_mul(shape[i].max(1));
    }
    strides
}

/// The number of elements; an error on overflow.
pub(crate) fn count(operation: &'static str, shape: &[usize]) -> Result<usize> {
    shape.iter().try_fold(1_usize, |all, &size| all.checked_mul(size)).ok_or_else(|| Error::Value {
        operation,
        parameter: "shape",
        got: format!("{shape:?}"),
        problem: "more elements than can be counted",
    })
}

impl Tensor {
    /// The elements of a backend's memory, row by row without gaps. For implementations of
    /// [`KernelBackend`](crate::KernelBackend).
    ///
    /// # Errors
    /// [`Error::Value`] if the rows are not whole blocks or the memory is too small.
    pub fn of_storage(storage: Arc<dyn Storage>, dtype: DType, shape: &[usize]) -> Result<Self> {
        let bytes = bytes_of(dtype, shape)?;
        if bytes > storage.size_in_bytes() {
            return Err(Error::Value {
                operation: "tensor",
                parameter: "shape",
                got: described(dtype, shape),
                problem: "more bytes than the memory has",
            });
        }
        Ok(Self { storage, dtype, shape: shape.into(), strides: dense_strides(shape), offset: 0 })
    }

    /// The type of the elements.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The sizes.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// From an element to the next, for each dimension, in elements.
    #[must_use]
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// Where the first element is, in elements.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The number of dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The size of a dimension; 1 for dimensions that the tensor lacks.
    #[must_use]
    pub fn size(&self, dimension: usize) -> usize {
        self.shape.get(dimension).copied().unwrap_or(1)
    }

    /// The size of the last dimension: a row.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.shape.last().copied().unwrap_or(1)
    }

    /// The number of rows: of everything before the last dimension.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.shape.iter().rev().skip(1).product()
    }

    /// The number of elements.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// The bytes of the elements.
    #[must_use]
    pub fn size_in_bytes(&self) -> usize {
        self.dtype.bytes(self.elements()).unwrap_or(0)
    }

    /// The memory.
    #[must_use]
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// Whether the elements follow each other row by row, without gaps.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        if self.elements() == 0 {
            return true;
        }
        let mut expected = 1;
        for (&size, &stride) in self.shape.iter().zip(&self.strides).rev() {
            if size != 1 && stride != expected {
                return false;
            }
            expected *= size;
        }
        true
    }

    /// The elements from the first to the last one of the memory that this view covers, inclusive.
    #[must_use]
    pub fn span(&self) -> usize {
        if self.elements() == 0 {
            return 0;
        }
        1 + self.shape.iter().zip(&self.strides).map(|(size, stride)| (size - 1) * stride).sum::<usize>()
    }

    /// Whether two tensors share memory.
    #[must_use]
    pub fn shares_memory_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.storage, &other.storage)
    }

    fn wrong(&self, operation: &'static str, expected: String) -> Error {
        Error::Shape { operation, tensor: "self", expected, got: self.describe() }
    }

    /// The type, shape and strides, for messages.
    #[must_use]
    pub fn describe(&self) -> String {
        let text = described(self.dtype, &self.shape);
        if self.is_contiguous() { text } else { format!("{text} with strides {:?}", &*self.strides) }
    }

    /// The same elements in another shape.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of elements differs, or the tensor has gaps.
    pub fn reshape(&self, shape: &[usize]) -> Result<Self> {
        let fits = count("reshape", shape)? == self.elements();
        let whole = shape.last().is_none_or(|last| last.is_multiple_of(self.dtype.block_values()));
        if !fits || !whole || !self.is_contiguous() {
            return Err(self.wrong("reshape", format!("contiguous, with the elements of {shape:?}")));
        }
        Ok(Self { shape: shape.into(), strides: dense_strides(shape), ..self.clone() })
    }

    /// The part of a dimension from `start`, of `len`.
    ///
    /// # Errors
    /// [`Error::Shape`] if there is no such part, or it cuts blocks of quantised numbers.
    pub fn narrow(&self, dimension: usize, start: usize, len: usize) -> Result<Self> {
        let end = start.checked_add(len);
        let exists = dimension < self.rank() && end.is_some_and(|end| end <= self.shape[dimension]);
        let values = self.dtype.block_values();
        let cuts =
            dimension + 1 == self.rank() && !(start.is_multiple_of(values) && len.is_multiple_of(values));
        if !exists || cuts {
            let expected = format!("at least {start} + {len} in dimension {dimension}, in whole blocks");
            return Err(self.wrong("narrow", expected));
        }
        let mut part = self.clone();
        part.offset += start * self.strides[dimension];
        part.shape[dimension] = len;
        Ok(part)
    }

    /// One index of a dimension, which disappears.
    ///
    /// # Errors
    /// As [`narrow`](Self::narrow).
    pub fn select(&self, dimension: usize, index: usize) -> Result<Self> {
        let mut part = self.narrow(dimension, index, 1)?;
        part.shape.remove(dimension);
        part.strides.remove(dimension);
        Ok(part)
    }

    /// Splits a dimension in two, the second one of size `inner`.
    ///
    /// # Errors
    /// [`Error::Shape`] if `inner` does not divide the dimension.
    pub fn split(&self, dimension: usize, inner: usize) -> Result<Self> {
        let size = self.size(dimension);
        let divides = dimension < self.rank() && inner > 0 && size.is_multiple_of(inner);
        let cuts = dimension + 1 == self.rank() && !inner.is_multiple_of(self.dtype.block_values());
        if !divides || cuts {
            return Err(self.wrong("split", format!("a multiple of {inner} in dimension {dimension}")));
        }
        let mut split = self.clone();
        let stride = self.strides[dimension];
        split.shape[dimension] = size / inner;
        split.strides[dimension] = stride * inner;
        split.shape.insert(dimension + 1, inner);
        split.strides.insert(dimension + 1, stride);
        Ok(split)
    }

    /// Exchanges two dimensions.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are no such dimensions, or one of them consists of quantised blocks.
    pub fn transpose(&self, a: usize, b: usize) -> Result<Self> {
        let last = self.rank().saturating_sub(1);
        let blocks = self.dtype.is_quantised() && a != b && (a == last || b == last);
        if a >= self.rank() || b >= self.rank() || blocks {
            return Err(self.wrong("transpose", format!("of dimensions {a} and {b}, not of blocks")));
        }
        let mut turned = self.clone();
        turned.shape.swap(a, b);
        turned.strides.swap(a, b);
        Ok(turned)
    }

    /// The bytes of a tensor without gaps, as a tensor of i8.
    pub(crate) fn as_bytes(&self) -> Result<Self> {
        crate::check::dense("bytes", "tensor", self)?;
        let offset = self.offset / self.dtype.block_values() * self.dtype.block_bytes();
        let (shape, strides) = (smallvec![self.size_in_bytes()], smallvec![1]);
        Ok(Self { storage: self.storage.clone(), dtype: DType::I8, shape, strides, offset })
    }

    /// Some bytes of a tensor of i8 without gaps, from `at` on, as elements of another type, row by row.
    ///
    /// # Errors
    /// [`Error::Shape`] if it has other elements or gaps, if there are not so many bytes, or if they do not
    /// begin where an element can; also for types with blocks.
    pub fn in_bytes(&self, dtype: DType, at: usize, shape: &[usize]) -> Result<Self> {
        let (size, start) = (dtype.block_bytes(), self.offset.saturating_add(at));
        let end = at.checked_add(bytes_of(dtype, shape)?);
        let fits = end.is_some_and(|end| end <= self.elements()) && start.is_multiple_of(size);
        if self.dtype != DType::I8 || dtype.is_quantised() || !self.is_contiguous() || !fits {
            let expected = format!("bytes with {} from {at} on", described(dtype, shape));
            return Err(self.wrong("in_bytes", expected));
        }
        let (shape, strides) = (shape.into(), dense_strides(shape));
        Ok(Self { storage: self.storage.clone(), dtype, shape, strides, offset: start / size })
    }

    /// Another type of the same size for the same bits.
    ///
    /// # Errors
    /// [`Error::Shape`] if the sizes differ, or one type is quantised.
    pub fn reinterpret(&self, dtype: DType) -> Result<Self> {
        if dtype.block_bytes() != self.dtype.block_bytes()
            || dtype.is_quantised()
            || self.dtype.is_quantised()
        {
            return Err(self.wrong("reinterpret", format!("of the size of {dtype}")));
        }
        Ok(Self { dtype, ..self.clone() })
    }
}

/// The bytes of a dense tensor, whose rows must be whole blocks.
pub(crate) fn bytes_of(dtype: DType, shape: &[usize]) -> Result<usize> {
    let elements = count("tensor", shape)?;
    let whole = shape.last().is_none_or(|last| last.is_multiple_of(dtype.block_values()));
    dtype.bytes(elements).filter(|_| whole).ok_or_else(|| Error::Value {
        operation: "tensor",
        parameter: "shape",
        got: described(dtype, shape),
        problem: "rows that are not whole blocks, or more bytes than can be counted",
    })
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({})", self.describe())
    }
}
