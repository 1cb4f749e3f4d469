//! Products of general matrices.

use half::f16;
use hip::DeviceSlice;
use rocblas_sys::{rocblas_gemm_algo, rocblas_gemm_flags};

use crate::blas::Blas;
use crate::element::{Compute, Element, GemmInput, One};
use crate::error::{Error, Result};
use crate::functions::{self as f, Address, Call, Operand, Product};
use crate::operation::{Scale, Session, reads, writes};
use crate::plan::{Look as _, Multiplication, multiplication, same_order, same_shape};
use crate::view::{Matrix, MatrixMut};

/// Options for computing a product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GemmFlags {
    /// Choose a solution that uses each compute unit well rather than many of them, for several products at
    /// once.
    pub cu_efficiency: bool,
    /// On gfx90a, multiply `f16` through `bf16`, which does not flush small numbers.
    pub alternate_f16: bool,
    /// Refuse a [solution](Gemm::solution) that does not fit the product, and compute nothing.
    pub check_solution: bool,
}

impl GemmFlags {
    fn bits(self) -> u32 {
        let flag = |set: bool, flag: rocblas_gemm_flags| if set { flag.0 } else { 0 };
        flag(self.cu_efficiency, rocblas_gemm_flags::rocblas_gemm_flags_use_cu_efficiency)
            | flag(self.alternate_f16, rocblas_gemm_flags::rocblas_gemm_flags_fp16_alt_impl)
            | flag(self.check_solution, rocblas_gemm_flags::rocblas_gemm_flags_check_solution_index)
    }
}

/// A product of matrices that is not enqueued yet: see [`Blas::gemm`].
#[must_use = "an operation does nothing before `run`"]
pub struct Gemm<'b, T: GemmInput<C>, C: Element> {
    blas: &'b Blas,
    a: Matrix<'b, T>,
    b: Matrix<'b, T>,
    c: MatrixMut<'b, C>,
    addend: Option<Matrix<'b, C>>,
    alpha: Scale<'b, T::Scale>,
    beta: Scale<'b, T::Scale>,
    compute: Option<Compute>,
    solution: Option<i32>,
    flags: GemmFlags,
}

impl Blas {
    /// `C = alpha A B + beta C` (`rocblas_sgemm` and the like, `rocblas_gemm_ex`).
    ///
    /// Each matrix may be row-major or column-major, transposed, and a batch. By default, `alpha` is one and
    /// `beta` is zero, so the old contents of `C` do not matter. [`GemmInput`] lists the types.
    ///
    /// ```no_run
    #[doc = include_str!("../../examples/gemm.rs")]
    /// ```
    #[doc(alias = "rocblas_sgemm")]
    #[doc(alias = "rocblas_gemm_ex")]
    #[doc(alias = "rocblas_gemm_strided_batched_ex")]
    #[doc(alias = "cublasSgemm")]
    #[doc(alias = "cublasGemmEx")]
    pub fn gemm<'b, T: GemmInput<C>, C: Element>(
        &'b self,
        a: &Matrix<'b, T>,
        b: &Matrix<'b, T>,
        c: &'b mut MatrixMut<'_, C>,
    ) -> Gemm<'b, T, C> {
        Gemm {
            blas: self,
            a: a.clone(),
            b: b.clone(),
            c: c.reborrow(),
            addend: None,
            alpha: Scale::Value(T::Scale::ONE),
            beta: Scale::Value(T::Scale::ZERO),
            compute: None,
            solution: None,
            flags: GemmFlags::default(),
        }
    }

    /// The solutions for matrix products of some types, for [`Gemm::solution`]; does not wait
    /// (`rocblas_gemm_ex_get_solutions_by_type`; for batches by pointers,
    /// `rocblas_gemm_batched_ex_get_solutions_by_type`).
    ///
    /// # Errors
    /// [`Error::Compute`], [`Error::Missing`], [`Error::Status`].
    #[doc(alias = "rocblas_gemm_ex_get_solutions_by_type")]
    #[doc(alias = "rocblas_gemm_batched_ex_get_solutions_by_type")]
    pub fn gemm_solutions<T: GemmInput<C>, C: Element>(
        &self,
        compute: Option<Compute>,
        by_pointers: bool,
    ) -> Result<Vec<i32>> {
        let compute = computed_in::<T, C>(compute)?.datatype(T::IS_COMPLEX);
        let types = (T::DATATYPE, C::DATATYPE, compute);
        let session = Session::new(self, "gemm_solutions", &[])?;
        list(|list, size| {
            session.plain(&[], |call| {
                let form = if by_pointers { f::Form::Many } else { f::Form::One };
                let call = Call { form, ..*call };
                // SAFETY: the list has room for `size` solutions.
                unsafe { f::gemm_solutions_by_type(&call, types, 0, list, size) }
            })
        })
    }
}

/// Gets a list, after getting its size.
pub(crate) fn list(mut get: impl FnMut(Address, Address) -> Result<()>) -> Result<Vec<i32>> {
    let mut size = 0_i32;
    get(Address::NULL, Address::host(&raw mut size))?;
    let mut list = vec![0_i32; usize::try_from(size).unwrap_or(0)];
    if list.is_empty() {
        return Ok(list);
    }
    get(Address::host(list.as_mut_ptr()), Address::host(&raw mut size))?;
    list.truncate(usize::try_from(size).unwrap_or(0));
    Ok(list)
}

/// The type of the computation, if it matches the operands.
fn computed_in<T: GemmInput<C>, C: Element>(compute: Option<Compute>) -> Result<Compute> {
    match compute {
        None => Ok(T::COMPUTE[0]),
        Some(compute) if T::COMPUTE.contains(&compute) => Ok(compute),
        Some(compute) => Err(Error::Compute { operation: "gemm", compute, types: T::TYPES }),
    }
}

/// The arguments of the functions with types as arguments. `operands` are A, B, C and D of the original
/// equation.
pub(crate) fn product(
    plan: &Multiplication,
    (a, b, c, d): (Operand, Operand, Operand, Operand),
    (alpha, beta): (Address, Address),
    solution: Option<i32>,
    flags: GemmFlags,
) -> Product {
    let (a, b) = if plan.flip { (b, a) } else { (a, b) };
    let algo = match solution {
        Some(_) => rocblas_gemm_algo::rocblas_gemm_algo_solution_index,
        None => rocblas_gemm_algo::rocblas_gemm_algo_standard,
    };
    Product {
        trans_a: plan.first,
        trans_b: plan.second,
        m: plan.m,
        n: plan.n,
        k: plan.k,
        alpha,
        beta,
        a,
        b,
        c,
        d,
        algo,
        solution: solution.unwrap_or(0),
        flags: flags.bits(),
    }
}

impl<'b, T: GemmInput<C>, C: Element> Gemm<'b, T, C> {
    factors!(T::Scale);

    /// Sets the type of the computation, if there is a choice: see [`GemmInput`].
    pub fn compute(mut self, compute: Compute) -> Self {
        self.compute = Some(compute);
        self
    }

    /// Selects one of the library's [`solutions`](Self::solutions).
    pub fn solution(mut self, solution: i32) -> Self {
        self.solution = Some(solution);
        self
    }

    /// Sets options for computing the product.
    pub fn flags(mut self, flags: GemmFlags) -> Self {
        self.flags = flags;
        self
    }

    /// The numbers of the library's solutions for this product; computes nothing
    /// (`rocblas_gemm_ex_get_solutions` and the like).
    ///
    /// # Errors
    /// As [`run`](Self::run).
    #[doc(alias = "rocblas_gemm_ex_get_solutions")]
    #[doc(alias = "rocblas_gemm_batched_ex_get_solutions")]
    #[doc(alias = "rocblas_gemm_strided_batched_ex_get_solutions")]
    pub fn solutions(&mut self) -> Result<Vec<i32>> {
        let compute = computed_in::<T, C>(self.compute)?;
        list(|list, size| {
            self.prepared(compute, |call, product| {
                // SAFETY: the operands are registered on the stream, and are matrices that fit each other;
                // the list has room for `size` solutions.
                unsafe { f::gemm_solutions(call, product, compute.datatype(T::IS_COMPLEX), list, size) }
            })
        })
    }

    /// Enqueues the product; does not wait.
    ///
    /// # Errors
    /// The [`Error`] of an invalid operand; [`Error::Missing`] if the library lacks the function, else
    /// [`Error::Status`] or
    /// [`Error::Hip`].
    pub fn run(mut self) -> Result<()> {
        let compute = computed_in::<T, C>(self.compute)?;
        // Functions for one type cannot express everything; the rest needs the function with types as
        // arguments.
        let usual = self.solution.is_none() && self.flags == GemmFlags::default() && self.addend.is_none();
        self.prepared(compute, |call, product| {
            let computed = (compute, compute.datatype(T::IS_COMPLEX));
            // SAFETY: the operands are registered on the stream, and are matrices that fit each other.
            unsafe { <T as f::GemmInto<C>>::gemm_into(call, product, computed, usual) }
        })
    }

    /// Checks the operands, registers them, and calls something with them.
    fn prepared(
        &mut self,
        compute: Compute,
        enqueue: impl FnOnce(&Call<'_>, &Product) -> Result<()>,
    ) -> Result<()> {
        let Self { a, b, c, addend, .. } = self;
        let mut parts = vec![reads("a", a.layout()), reads("b", b.layout()), writes("c", c.layout())];
        parts.extend(addend.as_ref().map(|addend| reads("addend", addend.layout())));
        let mut session = Session::new(self.blas, "gemm", &parts)?;
        let plan = multiplication("gemm", T::IS_COMPLEX, a.layout(), b.layout(), c.layout())?;
        if let Some(addend) = addend {
            same_shape("gemm", "addend", addend.layout(), (c.rows(), c.cols()))?;
            let seen = addend.layout().seen("addend", C::IS_COMPLEX);
            same_order("gemm", seen, c.layout().seen("c", C::IS_COMPLEX))?;
            seen.plain("gemm")?;
        }
        let sizes = [plan.m, plan.n, plan.k];
        let (a, b) = (session.read(a)?, session.read(b)?);
        let addend = addend.as_ref().map(|addend| session.read(addend)).transpose()?;
        let d = session.write(c)?;
        let operands = (a, b, addend.unwrap_or(d), d);
        let (solution, flags) = (self.solution, self.flags);
        let call = |call: &Call<'_>, scalars: (Address, Address)| {
            enqueue(call, &product(&plan, operands, scalars, solution, flags))
        };
        match (&self.alpha, &self.beta) {
            (Scale::Value(alpha), Scale::Value(beta)) => {
                match (T::narrow(*alpha, compute), T::narrow(*beta, compute)) {
                    (Some(alpha), Some(beta)) => {
                        session.update(&Scale::<f16>::Value(alpha), &Scale::<f16>::Value(beta), &sizes, call)
                    }
                    _ => session.update(&self.alpha, &self.beta, &sizes, call),
                }
            }
            // Factors in device memory cannot be converted.
            _ if compute == Compute::F16 => {
                Err(Error::Compute { operation: "gemm", compute, types: "factors in device memory" })
            }
            _ => session.update(&self.alpha, &self.beta, &sizes, call),
        }
    }
}

impl<T: GemmInput<C>, C: Element> std::fmt::Debug for Gemm<'_, T, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut gemm = f.debug_struct("Gemm");
        gemm.field("a", &self.a).field("b", &self.b).field("c", &self.c).finish_non_exhaustive()
    }
}
