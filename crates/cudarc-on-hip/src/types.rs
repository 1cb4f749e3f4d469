//! The names of Rust types in CUDA C++.

/// A type that also exists in CUDA C++.
pub trait CudaTypeName {
    /// Its name in CUDA C++.
    const NAME: &'static str;
}

macro_rules! names {
    ($($(#[$attribute:meta])* $type:ty: $name:literal,)+) => {
        $(
            $(#[$attribute])*
            impl CudaTypeName for $type {
                const NAME: &'static str = $name;
            }
        )+
    };
}

names! {
    bool: "bool",
    i8: "char",
    i16: "short",
    i32: "int",
    i64: "long",
    isize: "intptr_t",
    u8: "unsigned char",
    u16: "unsigned short",
    u32: "unsigned int",
    u64: "unsigned long",
    usize: "size_t",
    f32: "float",
    f64: "double",
    #[cfg(feature = "f16")] half::f16: "__half",
    #[cfg(feature = "f16")] half::bf16: "__nv_bfloat16",
    #[cfg(feature = "f8")] float8::F8E4M3: "__nv_fp8_e4m3",
    #[cfg(feature = "f8")] float8::F8E5M2: "__nv_fp8_e5m2",
}
