//! The functions of the launchers, as `candle-kernels` declares them.

use std::ffi::c_void;

// What the library calls.
use hip_host as _;

/// Quantises rows of activations to Q8_1 blocks: rows, blocks, columns, padded columns, number of rows,
/// stream.
pub type QuantizeRows = unsafe extern "C" fn(*const c_void, *mut c_void, i32, i32, i32, *mut c_void);

/// Multiplies a quantised matrix with up to eight quantised vectors: matrix, vectors, products, columns,
/// rows, blocks of a vector, elements of a product, vectors, stream.
pub type MatrixVector =
    unsafe extern "C" fn(*const c_void, *const c_void, *mut c_void, i32, i32, i32, i32, i32, *mut c_void);

/// Quantises rows of activations to the blocks of `mmq_gguf`: rows, ids, blocks, type, columns, strides of
/// rows, channels and samples, padded columns, rows, channels, samples, stream.
pub type QuantizeTiles = unsafe extern "C" fn(
    *const c_void,
    *const i32,
    *mut c_void,
    i32,
    i64,
    i64,
    i64,
    i64,
    i64,
    i64,
    i64,
    i64,
    *mut c_void,
);

/// Multiplies a quantised matrix with such rows: memory for sums of partial tiles, matrix, rows, products,
/// columns, rows of the matrix, rows of activations, blocks of a row, elements of a product, compute
/// capability, multiprocessors, shared memory of a block, lanes of a warp, stream.
#[cfg(mmq)]
pub type MatrixMatrix = unsafe extern "C" fn(
    *mut c_void,
    *const c_void,
    *const c_void,
    *mut c_void,
    i64,
    i64,
    i64,
    i64,
    i64,
    i32,
    i32,
    i64,
    i32,
    *mut c_void,
);

macro_rules! declare {
    ($type:ident, $($name:ident),*) => { $(declare!(@$type $name);)* };
    (@QuantizeRows $name:ident) => {
        unsafe extern "C" {
            pub fn $name(x: *const c_void, y: *mut c_void, kx: i32, kx_padded: i32, rows: i32, stream: *mut c_void);
        }
    };
    (@MatrixVector $name:ident) => {
        unsafe extern "C" {
            pub fn $name(
                x: *const c_void,
                y: *const c_void,
                out: *mut c_void,
                columns: i32,
                rows: i32,
                stride_y: i32,
                stride_out: i32,
                vectors: i32,
                stream: *mut c_void,
            );
        }
    };
    (@QuantizeTiles $name:ident) => {
        unsafe extern "C" {
            pub fn $name(
                x: *const c_void,
                ids: *const i32,
                y: *mut c_void,
                type_x: i32,
                ne00: i64,
                s01: i64,
                s02: i64,
                s03: i64,
                ne0: i64,
                ne1: i64,
                ne2: i64,
                ne3: i64,
                stream: *mut c_void,
            );
        }
    };
    (@MatrixMatrix $name:ident) => {
        unsafe extern "C" {
            pub fn $name(
                fixup: *mut c_void,
                x: *const c_void,
                y: *const c_void,
                out: *mut c_void,
                columns: i64,
                rows: i64,
                rows_y: i64,
                stride_x: i64,
                stride_out: i64,
                cc: i32,
                multiprocessors: i32,
                shared_memory: i64,
                warp_size: i32,
                stream: *mut c_void,
            );
        }
    };
}

declare!(
    QuantizeRows,
    launch_mmvq_gguf_quantize_q8_1_f32,
    launch_mmvq_gguf_quantize_q8_1_f16,
    launch_mmvq_gguf_quantize_q8_1_bf16
);
declare!(
    MatrixVector,
    launch_mmvq_gguf_q4_0_f32_plain,
    launch_mmvq_gguf_q4_1_f32_plain,
    launch_mmvq_gguf_q5_0_f32_plain,
    launch_mmvq_gguf_q5_1_f32_plain,
    launch_mmvq_gguf_q8_0_f32_plain,
    launch_mmvq_gguf_q2_k_f32_plain,
    launch_mmvq_gguf_q3_k_f32_plain,
    launch_mmvq_gguf_q4_k_f32_plain,
    launch_mmvq_gguf_q5_k_f32_plain,
    launch_mmvq_gguf_q6_k_f32_plain,
    launch_mmvq_gguf_q4_0_f16_plain,
    launch_mmvq_gguf_q6_k_f16_plain,
    launch_mmvq_gguf_q4_0_bf16_plain,
    launch_mmvq_gguf_q6_k_bf16_plain
);
declare!(
    QuantizeTiles,
    launch_mmq_quantize_q8_1_D4,
    launch_mmq_quantize_q8_1_DS4,
    launch_mmq_quantize_q8_1_D2S6
);
#[cfg(mmq = "q4_0")]
declare!(MatrixMatrix, launch_mmq_gguf_q4_0);
#[cfg(mmq = "q4_1")]
declare!(MatrixMatrix, launch_mmq_gguf_q4_1);
#[cfg(mmq = "q5_0")]
declare!(MatrixMatrix, launch_mmq_gguf_q5_0);
#[cfg(mmq = "q5_1")]
declare!(MatrixMatrix, launch_mmq_gguf_q5_1);
#[cfg(mmq = "q8_0")]
declare!(MatrixMatrix, launch_mmq_gguf_q8_0);
#[cfg(mmq = "q2_k")]
declare!(MatrixMatrix, launch_mmq_gguf_q2_k);
#[cfg(mmq = "q3_k")]
declare!(MatrixMatrix, launch_mmq_gguf_q3_k);
#[cfg(mmq = "q4_k")]
declare!(MatrixMatrix, launch_mmq_gguf_q4_k);
#[cfg(mmq = "q5_k")]
declare!(MatrixMatrix, launch_mmq_gguf_q5_k);
#[cfg(mmq = "q6_k")]
declare!(MatrixMatrix, launch_mmq_gguf_q6_k);

unsafe extern "C" {
    /// Products of rows with the matrices of their experts, of halves (`dtype` 0) or bfloat16 (1). All
    /// addresses are the device's.
    pub fn moe_gemm_wmma(
        input: *const c_void,
        weights: *const c_void,
        sorted_token_ids: *const i32,
        expert_ids: *const i32,
        topk_weights: *const f32,
        output: *mut c_void,
        expert_counts: *mut i32,
        expert_offsets: *mut i32,
        num_experts: i32,
        topk: i32,
        size_m: i32,
        size_n: i32,
        size_k: i32,
        dtype: i32,
        is_prefill: bool,
        stream: i64,
    );

    /// The same of floats with quantised matrices.
    pub fn moe_gemm_gguf(
        input: *const f32,
        weights: *const c_void,
        sorted_token_ids: *const i32,
        expert_ids: *const i32,
        topk_weights: *const f32,
        output: *mut c_void,
        num_experts: i32,
        topk: i32,
        size_m: i32,
        size_n: i32,
        size_k: i32,
        gguf_dtype: i32,
        stream: i64,
    );

    /// The same of halves or bfloat16 with quantised matrices, for many rows.
    pub fn moe_gemm_gguf_prefill(
        input: *const c_void,
        weights: *const u8,
        sorted_token_ids: *const i32,
        expert_ids: *const i32,
        topk_weights: *const f32,
        output: *mut c_void,
        num_experts: i32,
        topk: i32,
        size_m: i32,
        size_n: i32,
        size_k: i32,
        input_dtype: i32,
        gguf_dtype: i32,
        stream: i64,
    );
}
