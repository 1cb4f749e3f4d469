//! Fused attention: prefill, where each query sees the keys before it, and decode, where one query sees all
//! keys.

use half::{bf16, f16};
use hip::DeviceBuffer;
use kernels::{Attention, AttentionInputs};

use crate::check::Check;
use crate::context::{Case, Clock, Context};
use crate::error::Result;
use crate::model::ops::Number;
use crate::model::seen;
use crate::options::Size;
use crate::random::{numbers, sample};

const GROUP: &str = "attention";
/// The maximum number of queries whose results are checked.
const CHECKED: usize = 64;

/// Sequences, heads of queries, heads of keys, queries, keys, width of a head.
#[derive(Clone, Copy)]
struct Sizes {
    batch: usize,
    heads: usize,
    kv_heads: usize,
    queries: usize,
    keys: usize,
    dim: usize,
}

/// In the order of the fields.
const fn sizes([batch, heads, kv_heads, queries, keys, dim]: [usize; 6]) -> Sizes {
    Sizes { batch, heads, kv_heads, queries, keys, dim }
}

/// Prefill and decode.
fn cases(size: Size) -> &'static [(&'static str, Sizes)] {
    const TINY: &[(&str, Sizes)] =
        &[("prefill", sizes([1, 4, 2, 48, 48, 32])), ("decode", sizes([2, 4, 2, 1, 96, 32]))];
    const SMALL: &[(&str, Sizes)] =
        &[("prefill", sizes([1, 32, 8, 1024, 1024, 128])), ("decode", sizes([4, 32, 8, 1, 4096, 128]))];
    const FULL: &[(&str, Sizes)] = &[
        ("prefill", sizes([1, 32, 8, 4096, 4096, 128])),
        ("prefill", sizes([4, 32, 8, 2048, 2048, 128])),
        ("decode", sizes([1, 32, 8, 1, 8192, 128])),
        ("decode", sizes([32, 32, 8, 1, 8192, 128])),
    ];
    match size {
        Size::Tiny => TINY,
        Size::Small => SMALL,
        Size::Full => FULL,
    }
}

/// Every case in every type.
pub(crate) fn measure(context: &mut Context<'_>) -> Result<()> {
    for (what, sizes) in cases(context.size) {
        of::<f32>(context, what, *sizes)?;
        of::<f16>(context, what, *sizes)?;
        of::<bf16>(context, what, *sizes)?;
    }
    Ok(())
}

struct Tensors<T: Number> {
    host: [Vec<T>; 3],
    queries: DeviceBuffer<T>,
    keys: DeviceBuffer<T>,
    values: DeviceBuffer<T>,
    out: DeviceBuffer<T>,
}

fn of<T: Number>(context: &mut Context<'_>, what: &str, sizes: Sizes) -> Result<()> {
    let Sizes { batch, heads, kv_heads, queries, keys, dim } = sizes;
    let (of_queries, of_keys) = (batch * heads * queries * dim, batch * kv_heads * keys * dim);
    let case = Case {
        group: GROUP,
        name: format!("{what} {batch}x{heads}/{kv_heads}x{queries}x{keys}x{dim} {}", T::NAME),
        flops: Some(4.0 * (batch * heads * dim * seen(queries, keys)) as f64),
        bytes: Some(((2 * of_queries + 2 * of_keys) * size_of::<T>()) as f64),
        tokens: Some((batch * queries) as f64),
        ..Case::default()
    };
    context.attempt(&format!("{GROUP} {}", case.name.clone()), |context| {
        let host = [numbers::<T>(of_queries, 11, 1.0), numbers(of_keys, 12, 1.0), numbers(of_keys, 13, 1.0)];
        let tools = context.tools();
        let (device_queries, device_keys, device_values) =
            (tools.upload(&host[0])?, tools.upload(&host[1])?, tools.upload(&host[2])?);
        let out = tools.zeroed(of_queries)?;
        let mut tensors =
            Tensors { host, queries: device_queries, keys: device_keys, values: device_values, out };
        let attention = Attention::new(batch, heads, kv_heads, queries, keys, dim).causal();
        context.measure(
            case,
            Clock::Device,
            &mut tensors,
            |context, Tensors { queries, keys, values, out, .. }| {
                let inputs = AttentionInputs::new(&*queries, &*keys, &*values);
                Ok(context.kernels.attention(&context.stream, &attention, inputs, out)?)
            },
            |context, Tensors { host, out, .. }| Ok(check(&out.to_vec(&context.stream)?, host, sizes)),
        )
    })
}

/// A sample of queries in f64, with the errors that a fused kernel may make: scores and sums are in f32,
/// weights are rounded to the type.
fn check<T: Number>(got: &[T], [queries, keys, values]: &[Vec<T>; 3], sizes: Sizes) -> Check {
    let Sizes { batch, heads, kv_heads, queries: count, keys: positions, dim } = sizes;
    let mut places = Vec::new();
    let mut expected = Vec::new();
    let half = f64::from(f32::EPSILON) / 2.0;
    for row in sample(batch * heads * count, CHECKED, 14) {
        let (head, query) = (row / count, row % count);
        let shared = head / heads * kv_heads + head % heads * kv_heads / heads;
        let seen = positions - count + query + 1;
        let q = &queries[row * dim..][..dim];
        let of = |tensor: &[T], position: usize, i: usize| {
            tensor[(shared * positions + position) * dim + i].to_f64()
        };
        let scale = (dim as f64).sqrt().recip();
        let mut lost = 0.0_f64;
        let scores: Vec<f64> = (0..seen)
            .map(|position| {
                let terms = || (0..dim).map(|i| q[i].to_f64() * of(keys, position, i) * scale);
                lost = lost.max(terms().map(f64::abs).sum::<f64>());
                terms().sum()
            })
            .collect();
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
        let sum: f64 = weights.iter().sum();
        // A score's error becomes a relative error of its weight; the weight is rounded; this many weighted
        // values are added.
        let relative = 4.0 * (dim as f64).sqrt() * half * lost
            + 16.0 * half
            + T::UNIT_ROUNDOFF
            + 4.0 * (seen as f64).sqrt() * half;
        for i in 0..dim {
            let terms = || (0..seen).map(|position| weights[position] / sum * of(values, position, i));
            places.push(row * dim + i);
            expected.push((terms().sum(), 2.0 * relative * terms().map(f64::abs).sum::<f64>()));
        }
    }
    Check::elements(places.into_iter().map(|place| got[place]), expected)
}
