//! Layouts of matrices and descriptions of products, and their attributes.

use super::{
    INVALID, Outcome, cublasComputeType_t, cublasLtEpilogue_t, cublasLtMatmulDescAttributes_t,
    cublasLtMatrixLayoutAttribute_t, cublasStatus_t, cudaDataType,
};

const NOT_SUPPORTED: cublasStatus_t = cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED;

/// A matrix by columns, or a batch of them.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub(super) datatype: cudaDataType,
    pub(super) rows: u64,
    pub(super) columns: u64,
    /// The distance from one column to the next.
    pub(super) leading: i64,
    pub(super) batches: i32,
    /// The distance from one matrix to the next.
    pub(super) distance: i64,
}

/// The product and its epilogue.
#[derive(Clone, Copy)]
pub(super) struct Description {
    pub(super) compute: cublasComputeType_t,
    pub(super) scale: cudaDataType,
    pub(super) transposed_a: bool,
    pub(super) transposed_b: bool,
    pub(super) epilogue: cublasLtEpilogue_t,
    /// The address of the bias on the device.
    pub(super) bias: u64,
    pub(super) bias_distance: i64,
}

fn word(bytes: &[u8]) -> Outcome<i32> {
    bytes.try_into().map(i32::from_ne_bytes).map_err(|_| INVALID)
}

fn words(bytes: &[u8]) -> Outcome<i64> {
    bytes.try_into().map(i64::from_ne_bytes).map_err(|_| INVALID)
}

impl Layout {
    pub(super) fn new(datatype: cudaDataType, rows: u64, columns: u64, leading: i64) -> Self {
        Self { datatype, rows, columns, leading, batches: 1, distance: 0 }
    }

    pub(super) fn set(&mut self, attribute: cublasLtMatrixLayoutAttribute_t, value: &[u8]) -> Outcome {
        use cublasLtMatrixLayoutAttribute_t as Attribute;
        match attribute {
            Attribute::CUBLASLT_MATRIX_LAYOUT_TYPE => {
                self.datatype = cudaDataType::from_code(word(value)?.into()).ok_or(INVALID)?;
            }
            Attribute::CUBLASLT_MATRIX_LAYOUT_ORDER => {
                const BY_COLUMNS: i32 = super::cublasLtOrder_t::CUBLASLT_ORDER_COL as i32;
                return if word(value)? == BY_COLUMNS { Ok(()) } else { Err(NOT_SUPPORTED) };
            }
            Attribute::CUBLASLT_MATRIX_LAYOUT_ROWS => self.rows = words(value)?.cast_unsigned(),
            Attribute::CUBLASLT_MATRIX_LAYOUT_COLS => self.columns = words(value)?.cast_unsigned(),
            Attribute::CUBLASLT_MATRIX_LAYOUT_LD => self.leading = words(value)?,
            Attribute::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT => self.batches = word(value)?,
            Attribute::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET => self.distance = words(value)?,
            _ => return Err(NOT_SUPPORTED),
        }
        Ok(())
    }
}

impl Description {
    pub(super) fn new(compute: cublasComputeType_t, scale: cudaDataType) -> Self {
        Self {
            compute,
            scale,
            transposed_a: false,
            transposed_b: false,
            epilogue: cublasLtEpilogue_t::CUBLASLT_EPILOGUE_DEFAULT,
            bias: 0,
            bias_distance: 0,
        }
    }

    pub(super) fn set(&mut self, attribute: cublasLtMatmulDescAttributes_t, value: &[u8]) -> Outcome {
        use cublasLtMatmulDescAttributes_t as Attribute;
        // Real numbers have no conjugates: both are the transposed matrix.
        let transposed = |value| match word(value)? {
            0 => Ok(false),
            1 | 2 => Ok(true),
            _ => Err(INVALID),
        };
        match attribute {
            Attribute::CUBLASLT_MATMUL_DESC_COMPUTE_TYPE => {
                self.compute = cublasComputeType_t::from_code(word(value)?.into()).ok_or(INVALID)?;
            }
            Attribute::CUBLASLT_MATMUL_DESC_SCALE_TYPE => {
                self.scale = cudaDataType::from_code(word(value)?.into()).ok_or(INVALID)?;
            }
            Attribute::CUBLASLT_MATMUL_DESC_POINTER_MODE => {
                const OF_THE_HOST: i32 = super::cublasLtPointerMode_t::CUBLASLT_POINTER_MODE_HOST as i32;
                return if word(value)? == OF_THE_HOST { Ok(()) } else { Err(NOT_SUPPORTED) };
            }
            Attribute::CUBLASLT_MATMUL_DESC_TRANSA => self.transposed_a = transposed(value)?,
            Attribute::CUBLASLT_MATMUL_DESC_TRANSB => self.transposed_b = transposed(value)?,
            Attribute::CUBLASLT_MATMUL_DESC_TRANSC => {
                return if transposed(value)? { Err(NOT_SUPPORTED) } else { Ok(()) };
            }
            Attribute::CUBLASLT_MATMUL_DESC_EPILOGUE => {
                self.epilogue = cublasLtEpilogue_t::from_code(word(value)?.into()).ok_or(INVALID)?;
            }
            Attribute::CUBLASLT_MATMUL_DESC_BIAS_POINTER => self.bias = words(value)?.cast_unsigned(),
            Attribute::CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE => self.bias_distance = words(value)?,
            _ => return Err(NOT_SUPPORTED),
        }
        Ok(())
    }
}
