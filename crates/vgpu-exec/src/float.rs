//! Floating-point arithmetic, one number at a time, for operations that the host has no instruction for, or
//! not with these rules.

pub(super) mod convert;
pub(super) mod dot;
pub(super) mod grid;
pub(super) mod small;
pub mod soft;
