//! Objects with handles other than devices, streams and memory: events, modules, functions, arrays, textures,
//! surfaces; and launches.

pub(crate) mod array;
pub(crate) mod element;
pub(crate) mod event;
pub(crate) mod host_function;
pub(crate) mod image;
pub(crate) mod launch;
pub(crate) mod linear_image;
pub(crate) mod module;
pub(crate) mod occupancy;
pub(crate) mod shared_event;
pub(crate) mod surface;
pub(crate) mod symbols;
pub(crate) mod texture;
