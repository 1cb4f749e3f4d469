//! Bytes of tensors to and from f32, on the host.

use half::slice::HalfFloatSliceExt as _;
use half::{bf16, f16};
use kernels::F8E4M3;

use crate::DType;

/// The bytes of f32, f16, bf16 or f8 elements, each rounded once; `None` for other types.
pub(crate) fn from_f32(dtype: DType, elements: &[f32]) -> Option<Vec<u8>> {
    Some(match dtype {
        DType::F32 => elements.iter().flat_map(|x| x.to_le_bytes()).collect(),
        DType::F16 => elements.iter().flat_map(|x| f16::from_f32(*x).to_le_bytes()).collect(),
        DType::BF16 => elements.iter().flat_map(|x| bf16::from_f32(*x).to_le_bytes()).collect(),
        DType::F8 => elements.iter().map(|x| F8E4M3::from_f64(f64::from(*x)).to_bits()).collect(),
        _ => return None,
    })
}

/// Halves from their bytes.
pub(crate) fn halves(bytes: &[u8]) -> impl Iterator<Item = u16> {
    bytes.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]]))
}

/// The numbers of floats and of quantised blocks; `None` for integers.
pub(crate) fn to_f32(dtype: DType, bytes: &[u8]) -> Option<Vec<f32>> {
    Some(match dtype {
        DType::F32 => bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect(),
        DType::F16 => {
            let source: Vec<f16> = halves(bytes).map(f16::from_bits).collect();
            let mut out = vec![0.0; source.len()];
            source.convert_to_f32_slice(&mut out);
            out
        }
        DType::BF16 => halves(bytes).map(|bits| bf16::from_bits(bits).to_f32()).collect(),
        DType::F8 => bytes.iter().map(|bits| F8E4M3::from_bits(*bits).to_f64() as f32).collect(),
        DType::Quant(quant) => {
            let mut out = vec![0.0; bytes.len() / quant.block_bytes() * quant.block_values()];
            crate::cpu::dequantise(quant, bytes, &mut out);
            out
        }
        DType::I8 | DType::U32 | DType::I64 => return None,
    })
}
