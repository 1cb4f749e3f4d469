//! The shapes of functions: how rocBLAS's arguments become cuBLAS's.
//!
//! [`functions`] has a list of arguments for each shape, and under it a row for each type of elements: its
//! letter, then for 32-bit and for 64-bit sizes the names of the function in rocBLAS and in cuBLAS, and of
//! the strided batch, where that is one call for each member.
//!
//! | argument | stands for |
//! |---|---|
//! | `kind name` | one argument; [`type_of`] lists the kinds |
//! | `kind name(ld)` | an operand and its leading dimension or increment |
//! | `kind name[stride]`, `kind name(ld)[stride]` | the same; in a strided batch, its stride follows |
//! | `; kind name` | a result, which in a strided batch comes after the number of members |
//! | `=> (…)` | what cuBLAS gets, if it is not all of them in this order |
//! | `=> function(…) else (…)` | the same, unless the function, which gets these, has done the work |

/// The type of an argument: of a kind, for a type of elements, and one of sizes.
macro_rules! type_of {
    (op $t:ident $int:ident) => { rocblas_operation };
    (raw_op $t:ident $int:ident) => { rocblas_operation };
    (fill $t:ident $int:ident) => { rocblas_fill };
    (diag $t:ident $int:ident) => { rocblas_diagonal };
    (side $t:ident $int:ident) => { rocblas_side };
    (datatype $t:ident $int:ident) => { rocblas_datatype };
    (raw_datatype $t:ident $int:ident) => { rocblas_datatype };
    (algorithm $t:ident $int:ident) => { rocblas_gemm_algo };
    (i32 $t:ident $int:ident) => { i32 };
    (u32 $t:ident $int:ident) => { u32 };
    (int $t:ident $int:ident) => { $int };
    ([depth_of $($scalar:ident)*] $t:ident $int:ident) => { $int };
    (stride $t:ident $int:ident) => { rocblas_stride };
    (index $t:ident $int:ident) => { *mut $int };
    (any $t:ident $int:ident) => { *const std::ffi::c_void };
    (any_mut $t:ident $int:ident) => { *mut std::ffi::c_void };
    (raw_any $t:ident $int:ident) => { *const std::ffi::c_void };
    (const $t:ident $int:ident) => { *const $crate::calls::element!($t) };
    (mut $t:ident $int:ident) => { *mut $crate::calls::element!($t) };
    (consts $t:ident $int:ident) => { *const *const $crate::calls::element!($t) };
    (muts $t:ident $int:ident) => { *const *mut $crate::calls::element!($t) };
    (raw_const $t:ident $int:ident) => { *const $crate::calls::element!($t) };
    (raw_mut $t:ident $int:ident) => { *mut $crate::calls::element!($t) };
    (raw_consts $t:ident $int:ident) => { *const *const $crate::calls::element!($t) };
    (raw_muts $t:ident $int:ident) => { *const *mut $crate::calls::element!($t) };
    (scalar $t:ident $int:ident) => { *const $crate::calls::element!($t) };
    (result $t:ident $int:ident) => { *mut $crate::calls::element!($t) };
    ([scalar_of $datatype:ident] $t:ident $int:ident) => { *const std::ffi::c_void };
    ([result_of $datatype:ident] $t:ident $int:ident) => { *mut std::ffi::c_void };
    (real_const $t:ident $int:ident) => { *const $crate::calls::real!($t) };
    (real_scalar $t:ident $int:ident) => {
        *const $crate::calls::real!($t)
    };
    (half_scalar $t:ident $int:ident) => {
        *const rocblas_half
    };
    (real_mut $t:ident $int:ident) => { *mut $crate::calls::real!($t) };
    (single_const $t:ident $int:ident) => { *const f32 };
    (single_mut $t:ident $int:ident) => { *mut f32 };
    (single_muts $t:ident $int:ident) => { *const *mut f32 };
}

/// The type of elements.
macro_rules! element {
    (s) => {
        f32
    };
    (d) => {
        f64
    };
    (c) => {
        rocblas_float_complex
    };
    (z) => {
        rocblas_double_complex
    };
    (h) => {
        rocblas_half
    };
    (b) => {
        rocblas_bfloat16
    };
}

/// The type of their parts.
macro_rules! real {
    (c) => {
        f32
    };
    (z) => {
        f64
    };
}

/// What rocBLAS calls them.
macro_rules! real_datatype {
    (c) => {
        rocblas_datatype::rocblas_datatype_f32_r
    };
    (z) => {
        rocblas_datatype::rocblas_datatype_f64_r
    };
}

/// What rocBLAS calls the type of elements.
macro_rules! datatype {
    (s) => {
        rocblas_datatype::rocblas_datatype_f32_r
    };
    (d) => {
        rocblas_datatype::rocblas_datatype_f64_r
    };
    (c) => {
        rocblas_datatype::rocblas_datatype_f32_c
    };
    (z) => {
        rocblas_datatype::rocblas_datatype_f64_c
    };
    (h) => {
        rocblas_datatype::rocblas_datatype_f16_r
    };
    (b) => {
        rocblas_datatype::rocblas_datatype_bf16_r
    };
}

/// An argument for cuBLAS, or what it is taken from.
macro_rules! prepared {
    (real_scalar $argument:ident $t:ident $cublas:ident $handle:ident) => {
        Scalar::new($cublas, $handle, $argument.cast(), $crate::calls::real_datatype!($t))
    };
    // cuBLAS takes an f32.
    (half_scalar $argument:ident $t:ident $cublas:ident $handle:ident) => {
        $crate::library::widened($cublas, $handle, $argument)?
    };
    (scalar $argument:ident $t:ident $cublas:ident $handle:ident) => {
        Scalar::new($cublas, $handle, $argument.cast(), $crate::calls::datatype!($t))
    };
    (result $argument:ident $t:ident $cublas:ident $handle:ident) => {
        Scalar::new($cublas, $handle, $argument.cast_const().cast(), $crate::calls::datatype!($t))
    };
    ([scalar_of $datatype:ident] $argument:ident $t:ident $cublas:ident $handle:ident) => {
        Scalar::new($cublas, $handle, $argument, $datatype)
    };
    ([result_of $datatype:ident] $argument:ident $t:ident $cublas:ident $handle:ident) => {
        Scalar::new($cublas, $handle, $argument.cast_const(), $datatype)
    };
    ($kind:tt $argument:ident $t:ident $cublas:ident $handle:ident) => {
        $argument
    };
}

/// The argument, once all are prepared.
macro_rules! passed {
    (real_scalar $argument:ident $cublas:ident $handle:ident) => {
        $argument.address()
    };
    (half_scalar $argument:ident $cublas:ident $handle:ident) => {
        (&raw const $argument).cast()
    };
    (scalar $argument:ident $cublas:ident $handle:ident) => {
        $argument.address()
    };
    (result $argument:ident $cublas:ident $handle:ident) => {
        $argument.address()
    };
    ([scalar_of $datatype:ident] $argument:ident $cublas:ident $handle:ident) => {
        $argument.address()
    };
    ([result_of $datatype:ident] $argument:ident $cublas:ident $handle:ident) => {
        $argument.address()
    };
    // rocBLAS does not read the matrices if the factor is zero; cuBLAS does in some functions, unless they
    // have no depth.
    ([depth_of $scalar:ident] $argument:ident $cublas:ident $handle:ident) => {
        if $scalar.is_zero($cublas, $handle) { 0 } else { $argument }
    };
    (raw_op $argument:ident $cublas:ident $handle:ident) => {
        $argument
    };
    (raw_datatype $argument:ident $cublas:ident $handle:ident) => {
        $argument
    };
    (raw_any $argument:ident $cublas:ident $handle:ident) => {
        $argument
    };
    (raw_const $argument:ident $cublas:ident $handle:ident) => {
        $argument
    };
    (raw_mut $argument:ident $cublas:ident $handle:ident) => {
        $argument
    };
    (raw_consts $argument:ident $cublas:ident $handle:ident) => {
        $argument
    };
    (raw_muts $argument:ident $cublas:ident $handle:ident) => {
        $argument
    };
    (single_mut $argument:ident $cublas:ident $handle:ident) => {
        $argument
    };
    (single_muts $argument:ident $cublas:ident $handle:ident) => {
        $argument
    };
    (algorithm $argument:ident $cublas:ident $handle:ident) => {
        $argument
    };
    (i32 $argument:ident $cublas:ident $handle:ident) => {
        $argument
    };
    (u32 $argument:ident $cublas:ident $handle:ident) => {
        $argument
    };
    ($kind:tt $argument:ident $cublas:ident $handle:ident) => {
        $crate::convert::To::to($argument)?
    };
}

/// What happens to the argument after the call.
macro_rules! ended {
    (result $argument:ident) => {
        $argument.give_back()
    };
    ([result_of $datatype:ident] $argument:ident) => {
        $argument.give_back()
    };
    ($kind:tt $argument:ident) => {};
}

/// One function, for one type and size.
macro_rules! function {
    // Without leading dimensions and results apart, and with what cuBLAS gets.
    (
        flat ($($kind:tt $argument:ident),*) [$($check:ident($($given:expr),*))?] ($($passed:expr),*)
        $t:ident $int:ident $rocblas:ident $cublas:ident
    ) => {
        pub(crate) unsafe extern "C" fn $rocblas(
            handle: rocblas_handle,
            $($argument: $crate::calls::type_of!($kind $t $int)),*
        ) -> rocblas_status {
            $crate::library::call(handle, |cublas, handle| {
                // SAFETY: the caller keeps the contract of rocBLAS's function, which is that of cuBLAS's but
                // for the alignment of scalars.
                unsafe {
                    $(if let Some(status) = $check(cublas, handle, $($given),*)? {
                        return Ok(status);
                    })?
                    $(let $argument = $crate::calls::prepared!($kind $argument $t cublas handle);)*
                    let status = {
                        $(
                            #[allow(unused_variables, reason = "not all are cuBLAS's")]
                            let $argument = $crate::calls::passed!($kind $argument cublas handle);
                        )*
                        (cublas.$cublas)(handle, $($passed),*)
                    };
                    $($crate::calls::ended!($kind $argument);)*
                    Ok(status)
                }
            })
        }
    };
    (
        (
            ($($kind:tt $argument:ident $(($ld:ident))? $([$stride:ident])?),* $(; $result_kind:tt $result:ident)?)
            => $($check:ident($($given:expr),*) else)? ($($passed:expr),* $(,)?)
        )
        $($names:tt)*
    ) => {
        $crate::calls::function! {
            flat ($($kind $argument $(, int $ld)?),* $(, $result_kind $result)?)
            [$($check($($given),*))?] ($($passed),*) $($names)*
        }
    };
    (
        (($($kind:tt $argument:ident $(($ld:ident))? $([$stride:ident])?),* $(; $result_kind:tt $result:ident)?))
        $($names:tt)*
    ) => {
        $crate::calls::function! {
            flat ($($kind $argument $(, int $ld)?),* $(, $result_kind $result)?)
            [] ($($argument $(, $ld)?),* $(, $result)?) $($names)*
        }
    };
}

/// An operand of a member of a strided batch.
macro_rules! member {
    ($argument:ident $index:ident) => {
        $argument
    };
    ($argument:ident $index:ident $stride:ident) => {
        $argument.wrapping_offset(($stride as isize).wrapping_mul($index as isize))
    };
}

/// A strided batch, for one type and size: a call for each member.
macro_rules! strided {
    (
        (
            ($($kind:tt $argument:ident $(($ld:ident))? $([$stride:ident])?),* $(; $result_kind:tt $result:ident)?)
            $($passed:tt)*
        )
        $t:ident $int:ident $strided:ident $rocblas:ident
    ) => {
        pub(crate) unsafe extern "C" fn $strided(
            handle: rocblas_handle,
            $($argument: $crate::calls::type_of!($kind $t $int), $($ld: $int,)? $($stride: rocblas_stride,)?)*
            batch_count: $int,
            $($result: $crate::calls::type_of!($result_kind $t $int))?
        ) -> rocblas_status {
            $crate::library::each(batch_count, |index| {
                // SAFETY: the caller has as many members at these strides.
                unsafe {
                    $rocblas(
                        handle,
                        $($crate::calls::member!($argument index $($stride)?), $($ld,)?)*
                        $($result.wrapping_add(index))?
                    )
                }
            })
        }
    };
}

/// All functions: for each list of arguments, those of each type.
macro_rules! functions {
    ($(
        ($($arguments:tt)*) $(=> $($check:ident($($given:expr),*) else)? ($($passed:expr),* $(,)?))?
        { $($t:ident: $rocblas:ident $cublas:ident $($strided:ident)? $(, $rocblas_64:ident $cublas_64:ident $($strided_64:ident)?)?;)* }
    )*) => {
        $($crate::calls::rows! {
            (($($arguments)*) $(=> $($check($($given),*) else)? ($($passed),*))?)
            $($t: $rocblas $cublas $($strided)?, i32; $($t: $rocblas_64 $cublas_64 $($strided_64)?, i64;)?)*
        })*

        /// The names of the functions.
        pub(crate) const FUNCTIONS: &[&str] = &[$($(
            stringify!($rocblas), $(stringify!($strided),)?
            $(stringify!($rocblas_64), $(stringify!($strided_64),)?)?
        )*)*];

        /// Puts the functions into a table.
        pub(crate) fn provide(builder: &mut Builder) {
            $($(
                builder.$rocblas($rocblas);
                $(builder.$strided($strided);)?
                $(builder.$rocblas_64($rocblas_64); $(builder.$strided_64($strided_64);)?)?
            )*)*
        }
    };
}

/// The functions of one list of arguments.
macro_rules! rows {
    ($arguments:tt $($t:ident: $rocblas:ident $cublas:ident $($strided:ident)?, $int:ident;)*) => {
        $(
            $crate::calls::function! { $arguments $t $int $rocblas $cublas }
            $($crate::calls::strided! { $arguments $t $int $strided $rocblas })?
        )*
    };
}

pub(crate) use {
    datatype, element, ended, function, functions, member, passed, prepared, real, real_datatype, rows,
    strided, type_of,
};
