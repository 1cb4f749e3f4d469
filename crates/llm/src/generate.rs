//! Choosing tokens: the host's part of generation.

pub(crate) mod dry;
pub(crate) mod random;
pub(crate) mod sampler;
pub(crate) mod stop;
