//! The launchers of `trainer`. All return a status of the runtime, 0 for success.

use std::ffi::{c_char, c_int, c_uint, c_void};

use hip::hip_sys::hipStream_t;
// The library calls functions of this crate.
use hip_host as _;

/// `Options` of `adamw.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names are those of the method")]
pub struct Options {
    pub rate: f32,
    pub beta1: f32,
    pub beta2: f32,
    pub correction1: f32,
    pub correction2: f32,
    pub eps: f32,
    pub decay: f32,
    pub seed: c_uint,
}

unsafe extern "C" {
    /// Rows of `width` elements of a type: 0 is f32, 1 bf16, 2 f16.
    pub fn trainer_layernorm(
        kind: c_int,
        out: *mut c_void,
        mean: *mut f32,
        rstd: *mut f32,
        input: *const c_void,
        weight: *const c_void,
        bias: *const c_void,
        rows: c_int,
        width: c_int,
        stream: hipStream_t,
    ) -> c_int;
    /// The first failed call of this thread.
    pub safe fn trainer_failure() -> *const c_char;
    /// A launch with more shared memory than available.
    pub fn trainer_too_much(data: *mut f32, stream: hipStream_t) -> c_int;
    /// Losses of rows; if wanted, their gradients replace the logits.
    pub fn trainer_classifier(
        logits: *mut f32,
        losses: *mut f32,
        targets: *const c_int,
        rows: c_int,
        valid: c_int,
        padded: c_int,
        heat: f32,
        gradients: bool,
        stream: hipStream_t,
    ) -> c_int;
    /// The sum of the losses, and the number of rows since the last call.
    pub fn trainer_total(
        losses: *const f32,
        n: c_int,
        total: *mut f64,
        rows: *mut c_uint,
        stream: hipStream_t,
    ) -> c_int;
    /// An optimiser step on slices of `n` parameters, `stride` apart. Master weights may be null.
    pub fn trainer_adamw(
        params: *mut c_void,
        master: *mut f32,
        grads: *const c_void,
        first: *mut f32,
        second: *mut f32,
        n: usize,
        stride: isize,
        slices: c_int,
        options: *const Options,
        stream: hipStream_t,
    ) -> c_int;
    /// The sums of the squares of slices. Synchronous.
    pub fn trainer_squares(
        out: *mut f32,
        grads: *const c_void,
        count: usize,
        stride: isize,
        slices: c_int,
        stream: hipStream_t,
    ) -> c_int;
    /// One query for each head.
    pub fn trainer_attention(
        out: *mut c_void,
        q: *const c_void,
        k: *const c_void,
        v: *const c_void,
        heads: c_int,
        length: c_int,
        dim: c_int,
        stream: hipStream_t,
    ) -> c_int;
    /// The most likely tokens, up to a total probability.
    pub fn trainer_top_p(
        count: *mut c_int,
        order: *mut c_int,
        probabilities: *const f32,
        rows: c_int,
        n: c_int,
        top_p: f32,
        stream: hipStream_t,
    ) -> c_int;
    /// Sorts keys with their places, largest first. Returns the sum of their squares, the largest, and for
    /// each bound, how many keys are at least that. Synchronous.
    pub fn trainer_rank(
        keys: *mut f32,
        places: *mut c_int,
        n: c_int,
        bounds: *const f32,
        above: *mut c_int,
        bound_count: c_int,
        sum: *mut f32,
        largest: *mut f32,
        stream: hipStream_t,
    ) -> c_int;
    /// Of tokens: sorted ones with their places, prefix sums, the largest as place and token, the odd ones,
    /// and runs of equal ones among the sorted. `counts` gets the number of the odd ones, that of the runs,
    /// and the largest. Synchronous.
    pub fn trainer_tokens(
        tokens: *const c_int,
        n: c_int,
        sorted: *mut c_int,
        places: *mut c_int,
        sums: *mut c_int,
        largest: *mut c_int,
        odd: *mut c_int,
        runs: *mut c_int,
        lengths: *mut c_int,
        counts: *mut c_int,
        stream: hipStream_t,
    ) -> c_int;
    /// The sum of the products of each distinct token and its place in their order, without the multiples of
    /// three. Synchronous, on the default stream.
    pub fn trainer_distinct(tokens: *const c_int, n: c_int, sum: *mut f64) -> c_int;
}
