//! The element types of RCCL, and its reductions.

use hip::DeviceCopy;
use rccl_sys::{ncclDataType_t, ncclRedOp_t};

/// A type of elements that ranks can exchange and reduce.
///
/// # Safety
/// The type has the size and meaning of its data type.
#[diagnostic::on_unimplemented(
    message = "RCCL has no data type for `{Self}`",
    note = "8, 32 and 64-bit integers, floats, `half::f16`, `half::bf16`, `rccl::F8E4M3` and `rccl::F8E5M2` have one"
)]
pub unsafe trait Element: DeviceCopy {
    /// The data type.
    const TYPE: ncclDataType_t;
}

macro_rules! elements {
    ($($type:ty: $name:ident;)+) => {
        $(
            // SAFETY: the data type is that of the name.
            unsafe impl Element for $type {
                const TYPE: ncclDataType_t = ncclDataType_t::$name;
            }
        )+
    };
}

elements! {
    i8: ncclInt8;
    u8: ncclUint8;
    i32: ncclInt32;
    u32: ncclUint32;
    i64: ncclInt64;
    u64: ncclUint64;
    half::f16: ncclFloat16;
    half::bf16: ncclBfloat16;
    f32: ncclFloat32;
    f64: ncclFloat64;
    F8E4M3: ncclFloat8e4m3;
    F8E5M2: ncclFloat8e5m2;
}

/// The bits of an 8-bit float with an exponent of 4 bits, in the device's format: on gfx942 the one without a
/// negative zero, elsewhere OCP's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct F8E4M3(pub u8);

/// The bits of an 8-bit float with an exponent of 5 bits, in the device's format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct F8E5M2(pub u8);

// SAFETY: it reinterprets a byte.
unsafe impl DeviceCopy for F8E4M3 {}
// SAFETY: as above.
unsafe impl DeviceCopy for F8E5M2 {}

/// How the elements of all ranks are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "ncclRedOp_t")]
pub enum Op {
    /// Their sum.
    Sum,
    /// Their product.
    Product,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// Their sum divided by the number of ranks, truncated for integers.
    Average,
}

impl Op {
    /// All operators.
    pub const ALL: [Self; 5] = [Self::Sum, Self::Product, Self::Min, Self::Max, Self::Average];

    pub(crate) fn raw(self) -> ncclRedOp_t {
        match self {
            Self::Sum => ncclRedOp_t::ncclSum,
            Self::Product => ncclRedOp_t::ncclProd,
            Self::Min => ncclRedOp_t::ncclMin,
            Self::Max => ncclRedOp_t::ncclMax,
            Self::Average => ncclRedOp_t::ncclAvg,
        }
    }
}
