//! Quantised matrices and vectors in device memory.

use hip::{DeviceBuffer, DeviceSlice, DeviceSliceMut, Stream};

use super::{Q8_1, QuantType};
use crate::error::{Error, Result, check_counted};

/// A quantised matrix in device memory: blocks row by row, as files have them.
#[derive(Clone, Copy, Debug)]
pub struct QuantMatrix<'a> {
    quant: QuantType,
    rows: u32,
    columns: u32,
    blocks: DeviceSlice<'a, u8>,
}

const OPERATION: &str = "quantised matrix";

impl<'a> QuantMatrix<'a> {
    /// A matrix of blocks.
    ///
    /// # Errors
    /// [`Error::Size`] if rows do not consist of whole blocks or are too many to count, [`Error::Length`] if
    /// the blocks do not match the rows and columns, [`Error::Hip`] with [`hip::Error::Cast`] if they begin
    /// at an odd address: scales have two bytes, except for MXFP4.
    pub fn new(
        quant: QuantType,
        rows: usize,
        columns: usize,
        blocks: impl Into<DeviceSlice<'a, u8>>,
    ) -> Result<Self> {
        let blocks = blocks.into();
        if !columns.is_multiple_of(quant.block_values()) {
            let problem = "must be a multiple of the values of a block";
            return Err(Error::Size { operation: OPERATION, parameter: "columns", got: columns, problem });
        }
        let size = |parameter, got| check_counted(OPERATION, parameter, got);
        let (rows, columns) = (size("rows", rows)?, size("columns", columns)?);
        let row = columns as usize / quant.block_values() * quant.block_bytes();
        let expected = row.saturating_mul(rows as usize);
        if blocks.len() != expected {
            return Err(Error::Length {
                operation: OPERATION,
                buffer: "blocks",
                expected,
                got: blocks.len(),
            });
        }
        if quant.block_bytes().is_multiple_of(2) {
            blocks.cast::<u16>()?;
        }
        Ok(Self { quant, rows, columns, blocks })
    }

    /// The type.
    #[must_use]
    pub fn quant(&self) -> QuantType {
        self.quant
    }

    /// Rows: elements of a product.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows as usize
    }

    /// Columns: elements of a vector that the matrix is multiplied with.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns as usize
    }

    pub(super) fn sizes(&self) -> (u32, u32) {
        (self.rows, self.columns)
    }

    pub(super) fn blocks(&self) -> DeviceSlice<'a, u8> {
        self.blocks
    }
}

/// Vectors of activations in device memory, as [`Q8_1`] blocks: what quantised matrices are multiplied with.
#[derive(Debug)]
pub struct QuantVectors {
    vectors: u32,
    columns: u32,
    pub(super) blocks: DeviceBuffer<u8>,
}

/// The quantising kernel counts whole blocks in a signed 32-bit number.
const MOST_COLUMNS: u32 = i32::MAX as u32 / Q8_1::VALUES as u32 * Q8_1::VALUES as u32;

impl QuantVectors {
    /// Zeros.
    ///
    /// # Errors
    /// [`Error::Size`] if vectors do not consist of whole blocks of 32, are longer than 2³¹ − 32, or are too
    /// many to count, [`Error::Hip`].
    pub fn zeroed(stream: &Stream, vectors: usize, columns: usize) -> Result<Self> {
        let (vectors, columns, bytes) = Self::sizes_of(vectors, columns)?;
        Ok(Self { vectors, columns, blocks: DeviceBuffer::zeroed(stream, bytes)? })
    }

    /// Unspecified numbers, such as for the result of a captured operation, where zeros would be one more.
    ///
    /// # Errors
    /// As [`zeroed`](Self::zeroed).
    pub fn uninit(stream: &Stream, vectors: usize, columns: usize) -> Result<Self> {
        let (vectors, columns, bytes) = Self::sizes_of(vectors, columns)?;
        Ok(Self { vectors, columns, blocks: DeviceBuffer::uninit_on(stream, bytes)? })
    }

    /// Both sizes, checked, and the bytes of all blocks.
    fn sizes_of(vectors: usize, columns: usize) -> Result<(u32, u32, usize)> {
        const OPERATION: &str = "quantised vectors";
        if !columns.is_multiple_of(Q8_1::VALUES) {
            let problem = "must be a multiple of 32";
            return Err(Error::Size { operation: OPERATION, parameter: "columns", got: columns, problem });
        }
        let size = |parameter, got| check_counted(OPERATION, parameter, got);
        let (vectors, columns) = (size("vectors", vectors)?, size("columns", columns)?);
        if columns > MOST_COLUMNS {
            let (got, problem) = (columns as usize, "more than 2147483616");
            return Err(Error::Size { operation: OPERATION, parameter: "columns", got, problem });
        }
        Ok((
            vectors,
            columns,
            (columns as usize / Q8_1::VALUES * Q8_1::BYTES).saturating_mul(vectors as usize),
        ))
    }

    /// The number of vectors.
    #[must_use]
    pub fn vectors(&self) -> usize {
        self.vectors as usize
    }

    /// Elements of each.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns as usize
    }

    pub(super) fn sizes(&self) -> (u32, u32) {
        (self.vectors, self.columns)
    }

    /// The blocks, for kernels that quantise what they compute.
    pub(crate) fn blocks_mut(&mut self) -> DeviceSliceMut<'_, u8> {
        self.blocks.as_mut_slice()
    }
}
