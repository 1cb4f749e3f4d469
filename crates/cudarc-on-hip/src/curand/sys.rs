//! The functions of cuRAND that this crate has.
#![allow(missing_docs, reason = "names and contracts are those of cuRAND's header")]
#![allow(clippy::missing_safety_doc, reason = "the contract is the one in cuRAND's documentation")]
#![allow(non_camel_case_types, non_snake_case, reason = "the names are cuRAND's")]

mod enums;
mod generator;

use std::ffi::{c_int, c_uint, c_ulonglong};

pub use crate::driver::sys::CUstream_st;
pub use enums::*;
use generator::Generator;

#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct curandGenerator_st {
    _unused: [u8; 0],
}
pub type curandGenerator_t = *mut curandGenerator_st;
pub type cudaStream_t = *mut CUstream_st;

/// The outcome of a call, before it becomes a C status.
type Outcome<T = ()> = Result<T, curandStatus>;

/// The version of cuRAND whose functions these are: 10.3.10, of CUDA 12.9.
const VERSION: c_int = 10_310;

/// cuRAND functions, whose bodies end in an outcome.
macro_rules! functions {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)+) => {
        $(
            $(#[$attribute])*
            pub unsafe fn $name($($argument: $type),*) -> curandStatus_t {
                // SAFETY: the caller keeps the contract in cuRAND's documentation of this function:
                // generators are from `curandCreateGenerator`, and pointers are as documented.
                let run = move || -> Outcome { unsafe { $body } };
                run().err().unwrap_or(curandStatus::CURAND_STATUS_SUCCESS)
            }
        )+
    };
}

functions! {
    fn curandGetVersion(version: *mut c_int) {
        *version.as_mut().ok_or(curandStatus::CURAND_STATUS_OUT_OF_RANGE)? = VERSION;
        Ok(())
    }

    fn curandCreateGenerator(generator: *mut curandGenerator_t, rng_type: curandRngType_t) {
        let place = generator.as_mut().ok_or(curandStatus::CURAND_STATUS_OUT_OF_RANGE)?;
        *place = Box::into_raw(Box::new(Generator::new(rng_type)?)).cast();
        Ok(())
    }

    fn curandDestroyGenerator(generator: curandGenerator_t) {
        if generator.is_null() {
            return Err(curandStatus::CURAND_STATUS_NOT_INITIALIZED);
        }
        drop(Box::from_raw(generator.cast::<Generator>()));
        Ok(())
    }

    fn curandSetStream(generator: curandGenerator_t, stream: cudaStream_t) {
        find(generator)?.set_stream(stream);
        Ok(())
    }

    fn curandSetPseudoRandomGeneratorSeed(generator: curandGenerator_t, seed: c_ulonglong) {
        find(generator)?.set_seed(seed);
        Ok(())
    }

    fn curandSetGeneratorOffset(generator: curandGenerator_t, offset: c_ulonglong) {
        find(generator)?.set_offset(offset);
        Ok(())
    }

    /// There is only one order.
    fn curandSetGeneratorOrdering(generator: curandGenerator_t, order: curandOrdering_t) {
        find(generator)?;
        match order {
            curandOrdering_t::CURAND_ORDERING_QUASI_DEFAULT => Err(curandStatus::CURAND_STATUS_OUT_OF_RANGE),
            _ => Ok(()),
        }
    }

    /// There is nothing to prepare.
    fn curandGenerateSeeds(generator: curandGenerator_t) {
        find(generator).map(|_| ())
    }

    fn curandGenerate(generator: curandGenerator_t, outputPtr: *mut c_uint, num: usize) {
        find(generator)?.fill("random_u32", outputPtr, num, 0.0, 0.0)
    }

    fn curandGenerateLongLong(generator: curandGenerator_t, outputPtr: *mut c_ulonglong, num: usize) {
        find(generator)?.fill("random_u64", outputPtr, num, 0.0, 0.0)
    }

    fn curandGenerateUniform(generator: curandGenerator_t, outputPtr: *mut f32, num: usize) {
        find(generator)?.fill("uniform_f32", outputPtr, num, 0.0, 0.0)
    }

    fn curandGenerateUniformDouble(generator: curandGenerator_t, outputPtr: *mut f64, num: usize) {
        find(generator)?.fill("uniform_f64", outputPtr, num, 0.0, 0.0)
    }

    fn curandGenerateNormal(
        generator: curandGenerator_t,
        outputPtr: *mut f32,
        n: usize,
        mean: f32,
        stddev: f32,
    ) {
        find(generator)?.fill("normal_f32", outputPtr, n, f64::from(mean), f64::from(stddev))
    }

    fn curandGenerateNormalDouble(
        generator: curandGenerator_t,
        outputPtr: *mut f64,
        n: usize,
        mean: f64,
        stddev: f64,
    ) {
        find(generator)?.fill("normal_f64", outputPtr, n, mean, stddev)
    }

    fn curandGenerateLogNormal(
        generator: curandGenerator_t,
        outputPtr: *mut f32,
        n: usize,
        mean: f32,
        stddev: f32,
    ) {
        find(generator)?.fill("log_normal_f32", outputPtr, n, f64::from(mean), f64::from(stddev))
    }

    fn curandGenerateLogNormalDouble(
        generator: curandGenerator_t,
        outputPtr: *mut f64,
        n: usize,
        mean: f64,
        stddev: f64,
    ) {
        find(generator)?.fill("log_normal_f64", outputPtr, n, mean, stddev)
    }

    fn curandGeneratePoisson(generator: curandGenerator_t, outputPtr: *mut c_uint, n: usize, lambda: f64) {
        let generator = find(generator)?;
        if !(0.0..=400_000.0).contains(&lambda) {
            return Err(curandStatus::CURAND_STATUS_OUT_OF_RANGE);
        }
        generator.fill("poisson_u32", outputPtr, n, lambda, 0.0)
    }
}

/// # Safety
/// The generator must be null or live.
unsafe fn find<'a>(generator: curandGenerator_t) -> Outcome<&'a Generator> {
    // SAFETY: the caller vouches for it.
    unsafe { generator.cast::<Generator>().as_ref() }.ok_or(curandStatus::CURAND_STATUS_NOT_INITIALIZED)
}
