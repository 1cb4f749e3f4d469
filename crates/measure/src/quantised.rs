//! Products of quantised matrices with a vector, as in the decode of a language model.

use half::f16;
use hip::DeviceBuffer;
use kernels::{Q8_1, QuantMatrix, QuantType, QuantVectors};

use crate::check::Check;
use crate::context::{Case, Clock, Context};
use crate::error::Result;
use crate::options::Size;
use crate::random::{Random, numbers, sample};

const GROUP: &str = "quantised";
/// The types: the simplest ones, and those of most published files.
const TYPES: [QuantType; 4] = [QuantType::Q4_0, QuantType::Q8_0, QuantType::Q4K, QuantType::Q6K];
/// The maximum number of rows that are checked.
const CHECKED: usize = 256;

/// Rows and columns.
fn shapes(size: Size) -> &'static [(usize, usize)] {
    match size {
        Size::Tiny => &[(64, 512)],
        Size::Small => &[(4096, 4096)],
        Size::Full => &[(4096, 4096), (14_336, 4096), (4096, 14_336)],
    }
}

/// Every type at every shape.
pub(crate) fn measure(context: &mut Context<'_>) -> Result<()> {
    for shape in shapes(context.size) {
        for quant in TYPES {
            of(context, quant, *shape)?;
        }
    }
    Ok(())
}

/// Where a block has its scales, as halves.
fn scales(quant: QuantType) -> &'static [usize] {
    match quant {
        QuantType::Q4K => &[0, 2],
        QuantType::Q6K => &[208],
        _ => &[0],
    }
}

/// Blocks of random bits, with finite scales.
fn random_blocks(quant: QuantType, count: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut blocks: Vec<u8> = (0..count * quant.block_bytes()).map(|_| random.bits() as u8).collect();
    for block in blocks.chunks_exact_mut(quant.block_bytes()) {
        for &at in scales(quant) {
            let scale = random.number(1.0 / 16.0);
            block[at..at + 2].copy_from_slice(&f16::from_f64(scale).to_le_bytes());
        }
    }
    blocks
}

struct Vectors {
    x: DeviceBuffer<f16>,
    quantised: QuantVectors,
    out: DeviceBuffer<f16>,
}

fn of(context: &mut Context<'_>, quant: QuantType, (rows, columns): (usize, usize)) -> Result<()> {
    let blocks = random_blocks(quant, rows * columns / quant.block_values(), 51);
    let case = Case {
        group: GROUP,
        name: format!("{rows}x{columns} {} by a vector", quant.name()),
        flops: Some(2.0 * (rows * columns) as f64),
        bytes: Some((blocks.len() + (rows + columns) * size_of::<f16>()) as f64),
        tokens: Some(1.0),
        ..Case::default()
    };
    context.attempt(&format!("{GROUP} {}", case.name.clone()), |context| {
        let host = numbers::<f16>(columns, 52, 2.0);
        let tools = context.tools();
        let matrix = tools.upload(&blocks)?;
        let x = tools.upload(&host)?;
        let quantised = QuantVectors::zeroed(tools.stream, 1, columns)?;
        let out = tools.zeroed(rows)?;
        let mut vectors = Vectors { x, quantised, out };
        context.measure(
            case,
            Clock::Device,
            &mut vectors,
            |context, Vectors { x, quantised, out }| {
                let matrix = QuantMatrix::new(quant, rows, columns, &matrix)?;
                context.kernels.quantize(&context.stream, &*x, quantised)?;
                Ok(context.kernels.quant_matmul(&context.stream, matrix, &*quantised, out)?)
            },
            |context, Vectors { out, .. }| {
                // The vector is quantised by definition: the reference multiplies the quantised values.
                let x: Vec<f32> = host.iter().map(|x| x.to_f32()).collect();
                let x = Q8_1::dequantize(&Q8_1::quantize(&x));
                let got = out.to_vec(&context.stream)?;
                let row_bytes = columns / quant.block_values() * quant.block_bytes();
                let places = sample(rows, CHECKED, 53);
                let expected = places.iter().map(|row| {
                    let row = quant.dequantize(&blocks[row * row_bytes..][..row_bytes]);
                    let terms = || row.iter().zip(&x).map(|(a, b)| f64::from(*a) * f64::from(*b));
                    let magnitude: f64 = terms().map(f64::abs).sum();
                    (terms().sum(), 300.0 * f64::from(f32::EPSILON) / 2.0 * magnitude)
                });
                Ok(Check::elements(places.iter().map(|row| got[*row]), expected))
            },
        )
    })
}
