//! Functions of modules (`cuFunc…`).

use super::super::sys;
use super::{DriverError, doing, returning};

/// What a function needs and can do (`cuFuncGetAttribute`).
pub unsafe fn get_function_attribute(
    f: sys::CUfunction,
    attribute: sys::CUfunction_attribute_enum,
) -> Result<i32, DriverError> {
    returning!(0, |place| sys::cuFuncGetAttribute(place, attribute, f))
}

/// Sets what a function may use (`cuFuncSetAttribute`).
pub unsafe fn set_function_attribute(
    f: sys::CUfunction,
    attribute: sys::CUfunction_attribute_enum,
    value: i32,
) -> Result<(), DriverError> {
    doing!(sys::cuFuncSetAttribute(f, attribute, value))
}

/// Divides memory for caches and for blocks, where the hardware lets it (`cuFuncSetCacheConfig`).
pub unsafe fn set_function_cache_config(
    f: sys::CUfunction,
    attribute: sys::CUfunc_cache_enum,
) -> Result<(), DriverError> {
    doing!(sys::cuFuncSetCacheConfig(f, attribute))
}
