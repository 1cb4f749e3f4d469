//! Adapters that give an older library's functions their newest form.
//!
//! Up to ROCm 5, `rocblas_?trmm` writes its result over the matrix B; from ROCm 6 on, it writes the result to
//! one more matrix, C. The older libraries have that form too, as `rocblas_?trmm_outofplace`, with the same
//! arguments as the newer `rocblas_?trmm`. If a library exports it, a table calls that.
//!
//! `docs/internals/abi.md` in the repository has the reasons and the history.

use sys_load::Library;

use crate::Table;

macro_rules! bridges {
    ($($entry:ident, from $own:ident;)*) => {
        /// Whether a table has the function for `trmm` with C.
        fn has_own_form(table: &Table) -> bool {
            let stubs = Table::unsupported();
            [$((table.$own as usize, stubs.$own as usize)),*].into_iter().any(|(own, stub)| own != stub)
        }

        /// Moves the functions with C to the entries of the newest version, or puts stubs there if there are
        /// none.
        fn install(table: &mut Table) {
            let stubs = Table::unsupported();
            $(
                table.$entry =
                    if table.$own as usize == stubs.$own as usize { stubs.$entry } else { table.$own };
            )*
        }

        /// The entries that are bridged.
        #[cfg(test)]
        const BRIDGED: &[&str] = &[$(stringify!($entry)),*];
    };
}

bridges! {
    rocblas_strmm, from rocblas_strmm_outofplace;
    rocblas_dtrmm, from rocblas_dtrmm_outofplace;
    rocblas_ctrmm, from rocblas_ctrmm_outofplace;
    rocblas_ztrmm, from rocblas_ztrmm_outofplace;
    rocblas_strmm_batched, from rocblas_strmm_outofplace_batched;
    rocblas_dtrmm_batched, from rocblas_dtrmm_outofplace_batched;
    rocblas_ctrmm_batched, from rocblas_ctrmm_outofplace_batched;
    rocblas_ztrmm_batched, from rocblas_ztrmm_outofplace_batched;
    rocblas_strmm_strided_batched, from rocblas_strmm_outofplace_strided_batched;
    rocblas_dtrmm_strided_batched, from rocblas_dtrmm_outofplace_strided_batched;
    rocblas_ctrmm_strided_batched, from rocblas_ctrmm_outofplace_strided_batched;
    rocblas_ztrmm_strided_batched, from rocblas_ztrmm_outofplace_strided_batched;
}

/// Makes the entries of a table filled from `library` follow the newest headers.
pub(crate) fn apply(table: &mut Table, library: &Library) {
    // rocBLAS 4.0 is part of ROCm 6.0.
    let is_old = library.version().is_some_and(|version| version.major < 4);
    if is_old || has_own_form(table) {
        install(table);
    }
}

#[cfg(test)]
mod tests;
