//! C enumerations as Rust enumerations, as in cudarc, so that programs can match on them.

/// A C enumeration as a Rust one; further names of a value become constants.
macro_rules! codes {
    (
        $repr:ident $name:ident $(= $alias:ident)?;
        $($variant:ident = $value:literal,)+
        $(; $($other:ident = $same:ident,)+)?
    ) => {
        #[repr($repr)]
        #[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
        pub enum $name {
            $($variant = $value,)+
        }

        $(pub use self::$name as $alias;)?

        #[allow(dead_code, reason = "every enumeration has them")]
        impl $name {
            $($(pub const $other: $name = Self::$same;)+)?

            /// The variant of this value, if it has a name.
            pub(crate) fn from_code(code: i64) -> Option<Self> {
                match code {
                    $($value => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// The name in CUDA's header.
            pub(crate) fn c_name(self) -> &'static std::ffi::CStr {
                let name = match self {
                    $(Self::$variant => concat!(stringify!($variant), "\0"),)+
                };
                std::ffi::CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or(c"")
            }
        }
    };
}

/// A C enumeration of flags.
macro_rules! flags {
    ($name:ident $(= $alias:ident)?; $($flag:ident = $value:literal,)+) => {
        #[repr(transparent)]
        #[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
        pub struct $name(pub std::ffi::c_uint);

        $(pub use self::$name as $alias;)?

        impl $name {
            $(pub const $flag: $name = Self($value);)+
        }

        impl std::ops::BitOr for $name {
            type Output = Self;
            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl std::ops::BitOrAssign for $name {
            fn bitor_assign(&mut self, other: Self) {
                self.0 |= other.0;
            }
        }

        impl std::ops::BitAnd for $name {
            type Output = Self;
            fn bitand(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }
        }

        impl std::ops::BitAndAssign for $name {
            fn bitand_assign(&mut self, other: Self) {
                self.0 &= other.0;
            }
        }
    };
}

/// The enumerations shared by cuBLAS and cuBLASLt. Each library has its own types, as in cudarc.
#[cfg(feature = "cublas")]
macro_rules! blas_codes {
    () => {
        $crate::codes::codes! {
            u32 cublasStatus_t;
            CUBLAS_STATUS_SUCCESS = 0,
            CUBLAS_STATUS_NOT_INITIALIZED = 1,
            CUBLAS_STATUS_ALLOC_FAILED = 3,
            CUBLAS_STATUS_INVALID_VALUE = 7,
            CUBLAS_STATUS_ARCH_MISMATCH = 8,
            CUBLAS_STATUS_MAPPING_ERROR = 11,
            CUBLAS_STATUS_EXECUTION_FAILED = 13,
            CUBLAS_STATUS_INTERNAL_ERROR = 14,
            CUBLAS_STATUS_NOT_SUPPORTED = 15,
            CUBLAS_STATUS_LICENSE_ERROR = 16,
        }

        $crate::codes::codes! {
            u32 cudaDataType_t = cudaDataType;
            CUDA_R_32F = 0,
            CUDA_R_64F = 1,
            CUDA_R_16F = 2,
            CUDA_R_8I = 3,
            CUDA_C_32F = 4,
            CUDA_C_64F = 5,
            CUDA_C_16F = 6,
            CUDA_C_8I = 7,
            CUDA_R_8U = 8,
            CUDA_C_8U = 9,
            CUDA_R_32I = 10,
            CUDA_C_32I = 11,
            CUDA_R_32U = 12,
            CUDA_C_32U = 13,
            CUDA_R_16BF = 14,
            CUDA_C_16BF = 15,
            CUDA_R_4I = 16,
            CUDA_C_4I = 17,
            CUDA_R_4U = 18,
            CUDA_C_4U = 19,
            CUDA_R_16I = 20,
            CUDA_C_16I = 21,
            CUDA_R_16U = 22,
            CUDA_C_16U = 23,
            CUDA_R_64I = 24,
            CUDA_C_64I = 25,
            CUDA_R_64U = 26,
            CUDA_C_64U = 27,
            CUDA_R_8F_E4M3 = 28,
            CUDA_R_8F_E5M2 = 29,
            CUDA_R_8F_UE8M0 = 30,
            CUDA_R_6F_E2M3 = 31,
            CUDA_R_6F_E3M2 = 32,
            CUDA_R_4F_E2M1 = 33,
            CUDA_R_8F_UE5M3 = 34,
            ;
            CUDA_R_8F_UE4M3 = CUDA_R_8F_E4M3,
        }

        $crate::codes::codes! {
            u32 cublasComputeType_t;
            CUBLAS_COMPUTE_16F = 64,
            CUBLAS_COMPUTE_16F_PEDANTIC = 65,
            CUBLAS_COMPUTE_32F = 68,
            CUBLAS_COMPUTE_32F_PEDANTIC = 69,
            CUBLAS_COMPUTE_64F = 70,
            CUBLAS_COMPUTE_64F_PEDANTIC = 71,
            CUBLAS_COMPUTE_32I = 72,
            CUBLAS_COMPUTE_32I_PEDANTIC = 73,
            CUBLAS_COMPUTE_32F_FAST_16F = 74,
            CUBLAS_COMPUTE_32F_FAST_16BF = 75,
            CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
            CUBLAS_COMPUTE_32F_EMULATED_16BFX9 = 78,
            CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT = 79,
        }
    };
}

#[cfg(feature = "cublas")]
pub(crate) use blas_codes;
pub(crate) use {codes, flags};
