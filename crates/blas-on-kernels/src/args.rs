//! The arguments of the functions, in one form for all types, forms and widths.

use std::ffi::c_void;

use half::{bf16, f16};
use rocblas_sys::{
    rocblas_computetype, rocblas_datatype, rocblas_diagonal, rocblas_fill, rocblas_geam_ex_operation,
    rocblas_gemm_algo, rocblas_operation, rocblas_side,
};

/// Element types: `Type` of `kernels/blas/number.cuh`.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Type {
    F32,
    F64,
    C32,
    C64,
    F16,
    BF16,
    I8,
    I32,
    /// rocBLAS 6's 8-bit floats, only for products: AMD's own formats, with 3 and with 2 bits of significand.
    F8,
    BF8,
}

impl Type {
    pub(crate) const ALL: [Self; 10] = [
        Self::F32,
        Self::F64,
        Self::C32,
        Self::C64,
        Self::F16,
        Self::BF16,
        Self::I8,
        Self::I32,
        Self::F8,
        Self::BF8,
    ];

    /// `None` for a type that no operation here supports.
    pub(crate) fn from(datatype: rocblas_datatype) -> Option<Self> {
        Some(match datatype {
            rocblas_datatype::rocblas_datatype_f32_r => Self::F32,
            rocblas_datatype::rocblas_datatype_f64_r => Self::F64,
            rocblas_datatype::rocblas_datatype_f32_c => Self::C32,
            rocblas_datatype::rocblas_datatype_f64_c => Self::C64,
            rocblas_datatype::rocblas_datatype_f16_r => Self::F16,
            rocblas_datatype::rocblas_datatype_bf16_r => Self::BF16,
            rocblas_datatype::rocblas_datatype_i8_r => Self::I8,
            rocblas_datatype::rocblas_datatype_i32_r => Self::I32,
            rocblas_datatype::rocblas_datatype_f8_r => Self::F8,
            rocblas_datatype::rocblas_datatype_bf8_r => Self::BF8,
            _ => return None,
        })
    }

    /// Bytes of an element.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::I8 | Self::F8 | Self::BF8 => 1,
            Self::F16 | Self::BF16 => 2,
            Self::F32 | Self::I32 => 4,
            Self::F64 | Self::C32 => 8,
            Self::C64 => 16,
        }
    }

    /// The type in which arithmetic on it happens.
    pub(crate) fn compute(self) -> Self {
        match self {
            Self::F16 | Self::BF16 => Self::F32,
            Self::I8 => Self::I32,
            other => other,
        }
    }

    pub(crate) fn is_complex(self) -> bool {
        matches!(self, Self::C32 | Self::C64)
    }

    /// The type of the parts of a complex number; for other types, the type itself.
    pub(crate) fn real(self) -> Self {
        match self {
            Self::C32 => Self::F32,
            Self::C64 => Self::F64,
            other => other,
        }
    }
}

/// How a function receives its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Plain,
    /// Arrays of pointers.
    Batched,
    Strided,
}

/// A number, or results, in host or device memory, depending on the pointer mode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scalar {
    pub(crate) at: *const c_void,
    pub(crate) kind: Option<Type>,
}

impl Scalar {
    pub(crate) const fn new(at: *const c_void, kind: Option<Type>) -> Self {
        Self { at, kind }
    }

    /// Its parts, from host memory; `None` for types that callers' numbers cannot have.
    ///
    /// # Safety
    /// `at` must be valid for reading its type.
    pub(crate) unsafe fn read(self) -> Option<(f64, f64)> {
        let at = self.at;
        // SAFETY: as this function's contract, which does not require alignment.
        unsafe {
            Some(match self.kind? {
                Type::F32 => (at.cast::<f32>().read_unaligned().into(), 0.0),
                Type::F64 => (at.cast::<f64>().read_unaligned(), 0.0),
                Type::C32 => {
                    let [re, im] = at.cast::<[f32; 2]>().read_unaligned();
                    (re.into(), im.into())
                }
                Type::C64 => {
                    let [re, im] = at.cast::<[f64; 2]>().read_unaligned();
                    (re, im)
                }
                Type::F16 => (at.cast::<f16>().read_unaligned().into(), 0.0),
                Type::BF16 => (at.cast::<bf16>().read_unaligned().into(), 0.0),
                Type::I8 => (at.cast::<i8>().read_unaligned().into(), 0.0),
                Type::I32 => (at.cast::<i32>().read_unaligned().into(), 0.0),
                Type::F8 | Type::BF8 => return None,
            })
        }
    }
}

/// A vector or matrix in device memory, or one for each product of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand {
    pub(crate) at: *const c_void,
    /// From one element of a vector to the next, from one column of a matrix to the next.
    pub(crate) step: i64,
    /// From one product to the next.
    pub(crate) stride: i64,
    pub(crate) kind: Option<Type>,
}

impl Operand {
    pub(crate) const NONE: Self = Self::new(std::ptr::null(), 0, 0, None);

    pub(crate) const fn new(at: *const c_void, step: i64, stride: i64, kind: Option<Type>) -> Self {
        Self { at, step, stride, kind }
    }
}

/// The arguments of a function; missing ones have neutral values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Args {
    /// The type in the function's name.
    pub(crate) kind: Option<Type>,
    pub(crate) form: Form,
    pub(crate) n: i64,
    pub(crate) m: i64,
    pub(crate) k: i64,
    pub(crate) kl: i64,
    pub(crate) ku: i64,
    pub(crate) batch: i64,
    pub(crate) trans_a: rocblas_operation,
    pub(crate) trans_b: rocblas_operation,
    pub(crate) uplo: rocblas_fill,
    pub(crate) side: rocblas_side,
    pub(crate) diag: rocblas_diagonal,
    pub(crate) alpha: Scalar,
    pub(crate) beta: Scalar,
    pub(crate) a: Operand,
    pub(crate) b: Operand,
    pub(crate) c: Operand,
    pub(crate) d: Operand,
    pub(crate) x: Operand,
    pub(crate) y: Operand,
    pub(crate) result: Scalar,
    /// Whether results that are indices have 64 bits.
    pub(crate) wide: bool,
    pub(crate) compute: Option<Type>,
    /// What 8-bit floats are computed in, and which 8-bit floats operands are rounded to.
    pub(crate) composite: rocblas_computetype,
    pub(crate) distance: rocblas_geam_ex_operation,
    pub(crate) flags: u32,
    pub(crate) solution: Option<(rocblas_gemm_algo, i32)>,
}

impl Args {
    pub(crate) fn new(kind: Option<Type>, form: Form) -> Self {
        let scalar = Scalar::new(std::ptr::null(), kind);
        Self {
            kind,
            form,
            n: 0,
            m: 0,
            k: 0,
            kl: 0,
            ku: 0,
            batch: 1,
            trans_a: rocblas_operation::rocblas_operation_none,
            trans_b: rocblas_operation::rocblas_operation_none,
            uplo: rocblas_fill::rocblas_fill_full,
            side: rocblas_side::rocblas_side_left,
            diag: rocblas_diagonal::rocblas_diagonal_non_unit,
            alpha: scalar,
            beta: scalar,
            a: Operand::NONE,
            b: Operand::NONE,
            c: Operand::NONE,
            d: Operand::NONE,
            x: Operand::NONE,
            y: Operand::NONE,
            result: scalar,
            wide: false,
            compute: kind,
            composite: rocblas_computetype::rocblas_compute_type_f32,
            distance: rocblas_geam_ex_operation::rocblas_geam_ex_operation_min_plus,
            flags: 0,
            solution: None,
        }
    }
}
