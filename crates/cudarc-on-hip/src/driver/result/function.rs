//! Functions of modules (`cuFunc…`).

use super::super::sys;
use super::{DriverError, doing, returning};

/// An attribute of a function (`cuFuncGetAttribute`).
pub unsafe fn get_function_attribute(
    f: sys::CUfunction,
    attribute: sys::CUfunction_attribute_enum,
) -> Result<i32, DriverError> {
    returning!(0, |place| sys::cuFuncGetAttribute(place, attribute, f))
}

/// Sets an attribute of a function (`cuFuncSetAttribute`).
pub unsafe fn set_function_attribute(
    f: sys::CUfunction,
    attribute: sys::CUfunction_attribute_enum,
    value: i32,
) -> Result<(), DriverError> {
    doing!(sys::cuFuncSetAttribute(f, attribute, value))
}

/// Divides memory between caches and blocks, if the hardware allows it (`cuFuncSetCacheConfig`).
pub unsafe fn set_function_cache_config(
    f: sys::CUfunction,
    attribute: sys::CUfunc_cache_enum,
) -> Result<(), DriverError> {
    doing!(sys::cuFuncSetCacheConfig(f, attribute))
}
