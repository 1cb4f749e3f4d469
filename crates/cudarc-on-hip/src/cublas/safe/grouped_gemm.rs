//! Products of matrices of several shapes.

use super::super::result::{self, CublasError};
use super::super::sys;
use super::CudaBlas;
use crate::driver::{DevicePtr, DevicePtrMut, DeviceRepr};

/// Types that have grouped products.
pub trait GroupedGemmDtype: DeviceRepr {
    /// The type of factors.
    type ComputeType: DeviceRepr + Copy;

    /// The type of elements.
    fn data_type() -> sys::cudaDataType_t;

    /// The compute type.
    fn compute_type() -> sys::cublasComputeType_t;
}

#[cfg(feature = "f16")]
impl GroupedGemmDtype for half::f16 {
    type ComputeType = f32;

    fn data_type() -> sys::cudaDataType_t {
        sys::cudaDataType_t::CUDA_R_16F
    }

    fn compute_type() -> sys::cublasComputeType_t {
        sys::cublasComputeType_t::CUBLAS_COMPUTE_32F
    }
}

#[cfg(feature = "f16")]
impl GroupedGemmDtype for half::bf16 {
    type ComputeType = f32;

    fn data_type() -> sys::cudaDataType_t {
        sys::cudaDataType_t::CUDA_R_16BF
    }

    fn compute_type() -> sys::cublasComputeType_t {
        sys::cublasComputeType_t::CUBLAS_COMPUTE_32F
    }
}

/// Groups of products; each list has a value for each group.
pub struct GroupedGemmConfig<T: GroupedGemmDtype> {
    /// Whether `b` is transposed.
    pub transbs: Vec<sys::cublasOperation_t>,
    /// Whether `a` is transposed.
    pub transas: Vec<sys::cublasOperation_t>,
    /// Rows of `op(a)` and of `c`.
    pub ms: Vec<usize>,
    /// Columns of `op(b)` and of `c`.
    pub ns: Vec<usize>,
    /// Columns of `op(a)` and rows of `op(b)`.
    pub ks: Vec<usize>,
    /// The factors of the products.
    pub alphas: Vec<T::ComputeType>,
    /// The factors of the old `c`.
    pub betas: Vec<T::ComputeType>,
    /// The distance from one column of `a` to the next.
    pub ldas: Vec<usize>,
    /// The distance from one column of `b` to the next.
    pub ldbs: Vec<usize>,
    /// The distance from one column of `c` to the next.
    pub ldcs: Vec<usize>,
    /// The number of products of a group.
    pub problem_sizes: Vec<usize>,
}

impl<T: GroupedGemmDtype> GroupedGemmConfig<T> {
    /// The number of products.
    pub fn problem_count(&self) -> usize {
        self.problem_sizes.iter().sum()
    }

    /// The number of groups.
    pub fn group_count(&self) -> usize {
        self.problem_sizes.len()
    }

    /// Compares the lengths of the lists.
    ///
    /// # Panics
    /// If a length differs from the number of groups.
    #[inline]
    pub fn validate(&self) {
        let lengths = [
            self.transbs.len(),
            self.transas.len(),
            self.ms.len(),
            self.ns.len(),
            self.ks.len(),
            self.alphas.len(),
            self.betas.len(),
            self.ldas.len(),
            self.ldbs.len(),
            self.ldcs.len(),
        ];
        let groups = self.group_count();
        assert!(
            lengths.iter().all(|length| *length == groups),
            "lists of {lengths:?} values for {groups} groups"
        );
    }
}

/// Products of matrices of several shapes.
pub trait GroupedGemm<T: GroupedGemmDtype> {
    /// Multiplies. The lists have a matrix for each product.
    ///
    /// # Panics
    /// If lists are too short or too long.
    ///
    /// # Safety
    /// The memory must have this many elements, and no `c` may overlap other matrices.
    unsafe fn grouped_gemm<A: DevicePtr<T>, B: DevicePtr<T>, C: DevicePtrMut<T>>(
        &self,
        config: GroupedGemmConfig<T>,
        a_slices: &[&A],
        b_slices: &[&B],
        c_slices: &mut [&mut C],
    ) -> Result<(), CublasError>;
}

impl<T: GroupedGemmDtype> GroupedGemm<T> for CudaBlas {
    unsafe fn grouped_gemm<A: DevicePtr<T>, B: DevicePtr<T>, C: DevicePtrMut<T>>(
        &self,
        config: GroupedGemmConfig<T>,
        a_slices: &[&A],
        b_slices: &[&B],
        c_slices: &mut [&mut C],
    ) -> Result<(), CublasError> {
        config.validate();
        let lengths = (a_slices.len(), b_slices.len(), c_slices.len());
        let count = config.problem_count();
        assert!(lengths == (count, count, count), "{lengths:?} matrices for {count} products");
        let number = |size: usize| {
            i32::try_from(size).map_err(|_| CublasError(sys::cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE))
        };
        let groups = config.problem_sizes.iter().enumerate();
        let groups = groups.flat_map(|(group, problems)| std::iter::repeat_n(group, *problems));
        for (problem, group) in groups.enumerate() {
            let (a, _read_a) = a_slices[problem].device_ptr(self.stream());
            let (b, _read_b) = b_slices[problem].device_ptr(self.stream());
            let (c, _written) = c_slices[problem].device_ptr_mut(self.stream());
            let (m, n, k) = (number(config.ms[group])?, number(config.ns[group])?, number(config.ks[group])?);
            let (lda, ldb) = (number(config.ldas[group])?, number(config.ldbs[group])?);
            let ldc = number(config.ldcs[group])?;
            let (alpha, beta) = (&raw const config.alphas[group], &raw const config.betas[group]);
            // SAFETY: the handle lives, the stream waits for other uses of the memory, and the caller vouches
            // for its size.
            unsafe {
                result::gemm_ex(
                    *self.handle(),
                    config.transas[group],
                    config.transbs[group],
                    m,
                    n,
                    k,
                    alpha.cast(),
                    a as *const _,
                    T::data_type(),
                    lda,
                    b as *const _,
                    T::data_type(),
                    ldb,
                    beta.cast(),
                    c as *mut _,
                    T::data_type(),
                    ldc,
                    T::compute_type(),
                    sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
                )?;
            }
        }
        Ok(())
    }
}
