//! cuRAND's functions, each with a `Result`.
#![allow(clippy::missing_safety_doc, reason = "the contract is the one of cuRAND's function of that name")]

use std::fmt;

use super::sys::{self, curandStatus};

/// A status of cuRAND other than success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CurandError(pub sys::curandStatus_t);

impl curandStatus {
    /// An error, unless this is success.
    pub fn result(self) -> Result<(), CurandError> {
        match self {
            Self::CURAND_STATUS_SUCCESS => Ok(()),
            other => Err(CurandError(other)),
        }
    }
}

impl fmt::Display for CurandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl std::error::Error for CurandError {}

/// Makes a generator for the calling thread's device (`curandCreateGenerator`).
pub fn create_generator() -> Result<sys::curandGenerator_t, CurandError> {
    create_generator_kind(sys::curandRngType_t::CURAND_RNG_PSEUDO_DEFAULT)
}

/// Makes a generator of a kind for the calling thread's device (`curandCreateGenerator`).
pub fn create_generator_kind(kind: sys::curandRngType_t) -> Result<sys::curandGenerator_t, CurandError> {
    let mut generator = std::ptr::null_mut();
    // SAFETY: the generator is writable.
    unsafe { sys::curandCreateGenerator(&raw mut generator, kind) }.result()?;
    Ok(generator)
}

macro_rules! calls {
    ($($(#[$attribute:meta])* fn $name:ident = $function:ident($($argument:ident: $type:ty),* $(,)?);)+) => {
        $(
            $(#[$attribute])*
            pub unsafe fn $name($($argument: $type),*) -> Result<(), CurandError> {
                // SAFETY: the caller vouches for the arguments.
                unsafe { sys::$function($($argument),*) }.result()
            }
        )+
    };
}

calls! {
    /// Starts another sequence (`curandSetPseudoRandomGeneratorSeed`).
    fn set_seed = curandSetPseudoRandomGeneratorSeed(generator: sys::curandGenerator_t, seed: u64);

    /// Moves to a place of the sequence (`curandSetGeneratorOffset`).
    fn set_offset = curandSetGeneratorOffset(generator: sys::curandGenerator_t, offset: u64);

    /// Sets the stream that work is submitted to (`curandSetStream`).
    fn set_stream = curandSetStream(generator: sys::curandGenerator_t, stream: sys::cudaStream_t);

    /// Destroys a generator (`curandDestroyGenerator`).
    fn destroy_generator = curandDestroyGenerator(generator: sys::curandGenerator_t);
}

pub mod generate {
    //! Writing numbers (`curandGenerate…`).

    use super::{CurandError, sys};

    calls! {
        /// Numbers above 0, up to 1 (`curandGenerateUniform`).
        fn uniform_f32 = curandGenerateUniform(generator: sys::curandGenerator_t, out: *mut f32, num: usize);

        /// Numbers above 0, up to 1 (`curandGenerateUniformDouble`).
        fn uniform_f64 = curandGenerateUniformDouble(generator: sys::curandGenerator_t, out: *mut f64, num: usize);

        /// Random bits (`curandGenerate`).
        fn uniform_u32 = curandGenerate(generator: sys::curandGenerator_t, out: *mut u32, num: usize);

        /// Random bits (`curandGenerateLongLong`).
        fn uniform_u64 = curandGenerateLongLong(generator: sys::curandGenerator_t, out: *mut u64, num: usize);

        /// Normally distributed (`curandGenerateNormal`).
        fn normal_f32 = curandGenerateNormal(
            generator: sys::curandGenerator_t,
            out: *mut f32,
            num: usize,
            mean: f32,
            std: f32,
        );

        /// Normally distributed (`curandGenerateNormalDouble`).
        fn normal_f64 = curandGenerateNormalDouble(
            generator: sys::curandGenerator_t,
            out: *mut f64,
            num: usize,
            mean: f64,
            std: f64,
        );

        /// With normally distributed logarithms (`curandGenerateLogNormal`).
        fn log_normal_f32 = curandGenerateLogNormal(
            generator: sys::curandGenerator_t,
            out: *mut f32,
            num: usize,
            mean: f32,
            std: f32,
        );

        /// With normally distributed logarithms (`curandGenerateLogNormalDouble`).
        fn log_normal_f64 = curandGenerateLogNormalDouble(
            generator: sys::curandGenerator_t,
            out: *mut f64,
            num: usize,
            mean: f64,
            std: f64,
        );

        /// Poisson distributed (`curandGeneratePoisson`).
        fn poisson_u32 = curandGeneratePoisson(
            generator: sys::curandGenerator_t,
            out: *mut u32,
            num: usize,
            lambda: f64,
        );
    }
}

/// Types of uniform numbers.
pub trait UniformFill<T> {
    /// Writes this many numbers.
    ///
    /// # Safety
    /// There must be room for this many numbers on the device.
    unsafe fn fill(self, out: *mut T, num: usize) -> Result<(), CurandError>;
}

/// Types of normally distributed numbers.
pub trait NormalFill<T> {
    /// Writes this many numbers with this mean and standard deviation.
    ///
    /// # Safety
    /// There must be room for this many numbers on the device.
    unsafe fn fill(self, o: *mut T, n: usize, m: T, s: T) -> Result<(), CurandError>;
}

/// Types of numbers with normally distributed logarithms.
pub trait LogNormalFill<T> {
    /// Writes this many numbers; these are the mean and standard deviation of their logarithms.
    ///
    /// # Safety
    /// There must be room for this many numbers on the device.
    unsafe fn fill(self, o: *mut T, n: usize, m: T, s: T) -> Result<(), CurandError>;
}

macro_rules! fills {
    ($($trait:ident $arguments:tt: $($type:ty = $function:ident),+;)+) => {
        $($(fills!(@ $trait $arguments $type, $function);)+)+
    };
    (@ $trait:ident ($($argument:ident),*) $type:ty, $function:ident) => {
        impl $trait<$type> for sys::curandGenerator_t {
            unsafe fn fill(self, out: *mut $type, num: usize $(, $argument: $type)*) -> Result<(), CurandError> {
                // SAFETY: the caller vouches for the memory, and that the generator lives.
                unsafe { generate::$function(self, out, num $(, $argument)*) }
            }
        }
    };
}

fills! {
    UniformFill(): f32 = uniform_f32, f64 = uniform_f64, u32 = uniform_u32, u64 = uniform_u64;
    NormalFill(mean, std): f32 = normal_f32, f64 = normal_f64;
    LogNormalFill(mean, std): f32 = log_normal_f32, f64 = log_normal_f64;
}
