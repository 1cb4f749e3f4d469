//! Choosing tokens: the host's part of generation.

#[cfg_attr(not(feature = "constraints"), path = "generate/no_constraint.rs")]
pub(crate) mod constraint;
pub(crate) mod dry;
pub(crate) mod ngram;
pub(crate) mod random;
pub(crate) mod sampler;
pub(crate) mod stop;
