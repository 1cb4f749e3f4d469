//! Objects with handles other than devices, streams and memory: events, modules, functions, textures; and
//! launches.

pub(crate) mod event;
pub(crate) mod host_function;
pub(crate) mod image;
pub(crate) mod launch;
pub(crate) mod module;
pub(crate) mod occupancy;
pub(crate) mod shared_event;
pub(crate) mod symbols;
pub(crate) mod texture;
