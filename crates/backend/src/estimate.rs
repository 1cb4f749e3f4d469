//! Memory before anything is allocated.

use std::fmt;

use crate::error::{Error, Result};
use crate::{DType, KvLayout, KvShape, PAGE_STEP};

/// What a decoder's memory depends on besides its weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelShape {
    /// Elements of a token's state.
    pub hidden: usize,
    /// Elements of a feed-forward layer, for one token; of a mixture, those of all experts chosen for it.
    pub inner: usize,
    /// Elements of the queries, and of keys and values together.
    pub attention: usize,
    /// Tokens of the vocabulary.
    pub vocabulary: usize,
    /// The type of activations.
    pub activations: DType,
}

/// Memory of a model, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelMemory {
    /// Its tensors.
    pub weights: u64,
    /// Activations of a step.
    pub activations: u64,
}

impl ModelMemory {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.weights.saturating_add(self.activations)
    }
}

fn product(factors: &[usize]) -> u64 {
    factors.iter().fold(1, |all: u64, factor| all.saturating_mul(*factor as u64))
}

/// The bytes of a model's tensors, each of a type and shape, and of the activations of a step of `tokens`
/// tokens, `logits` of which get logits in f32. Activations are counted as a decoder keeps them: the state
/// and its norm, queries, keys, values and their result, and three of the feed-forward layer's size.
#[must_use]
pub fn estimate_model_memory<'a>(
    tensors: impl IntoIterator<Item = (DType, &'a [usize])>,
    shape: &ModelShape,
    tokens: usize,
    logits: usize,
) -> ModelMemory {
    let bytes = |(dtype, shape): (DType, &[usize])| {
        let rows = product(&shape[..shape.len().saturating_sub(1)]);
        let row = shape.last().copied().unwrap_or(1).next_multiple_of(dtype.block_values());
        rows.saturating_mul(dtype.bytes(row).unwrap_or(usize::MAX) as u64)
    };
    let weights = tensors.into_iter().map(bytes).fold(0, u64::saturating_add);
    let each = 3 * shape.hidden + 2 * shape.attention + 3 * shape.inner;
    let activations = product(&[tokens, each, shape.activations.block_bytes()]).saturating_add(product(&[
        logits,
        shape.vocabulary,
        4,
    ]));
    ModelMemory { weights, activations }
}

/// The bytes of one position of a cache in all layers.
fn of_position(dtype: DType, shapes: &[KvShape]) -> u64 {
    let scales = if dtype == DType::I8 { 4 } else { 0 };
    let of_layer =
        |shape: &KvShape| product(&[2, shape.heads, shape.dimensions * dtype.block_bytes() + scales]);
    shapes.iter().map(of_layer).fold(0, u64::saturating_add)
}

/// The bytes that [`KvCache::new`](crate::KvCache::new) allocates.
#[must_use]
pub fn estimate_kv_memory(dtype: DType, layout: KvLayout, shapes: &[KvShape]) -> u64 {
    let scale = if dtype == DType::F8 { 4 } else { 0 };
    of_position(dtype, shapes).saturating_mul(layout.positions() as u64).saturating_add(scale)
}

/// A context that fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FittedContext {
    /// Positions of a sequence, a multiple of 16.
    pub positions: usize,
    /// Positions that were asked for.
    pub asked: usize,
    /// Sequences that have room for so many each.
    pub sequences: usize,
    /// Bytes of the cache.
    pub bytes: u64,
    /// Bytes that were free for it.
    pub free: u64,
}

impl FittedContext {
    /// Whether it is less than was asked for.
    #[must_use]
    pub fn is_less(&self) -> bool {
        self.positions < self.asked
    }
}

/// The line that tells people.
impl fmt::Display for FittedContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
        let Self { positions, asked, sequences, bytes, free } = *self;
        write!(
            f,
            "context of {positions} positions for {sequences} sequences: {:.2} GiB of cache",
            gib(bytes)
        )?;
        if self.is_less() {
            write!(f, "; {asked} were asked for, and {:.2} GiB are free for it", gib(free))?;
        }
        Ok(())
    }
}

/// The context that fits: `asked` positions for each of some sequences, or as many as there are free bytes
/// for, after the model's own.
///
/// # Errors
/// [`Error::DoesNotFit`] if not even `least` positions fit.
pub fn fit_context(
    free: u64,
    model: ModelMemory,
    dtype: DType,
    shapes: &[KvShape],
    sequences: usize,
    (asked, least): (usize, usize),
) -> Result<FittedContext> {
    let left = free.saturating_sub(model.total());
    let of_all = of_position(dtype, shapes).saturating_mul(sequences as u64).max(1);
    let fits = usize::try_from(left / of_all).unwrap_or(usize::MAX) / PAGE_STEP * PAGE_STEP;
    let positions = asked.checked_next_multiple_of(PAGE_STEP).unwrap_or(usize::MAX).min(fits);
    if positions < least.min(asked) || positions == 0 {
        let needed = model.total().saturating_add(of_all.saturating_mul(least.max(PAGE_STEP) as u64));
        return Err(Error::DoesNotFit { what: "the model with its shortest context", needed, free });
    }
    let bytes = of_all.saturating_mul(positions as u64);
    Ok(FittedContext { positions, asked, sequences, bytes, free: left })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CpuBackend, KernelBackend, KvCache, QuantType};

    #[test]
    fn a_cache_takes_what_was_estimated() {
        let shapes = [KvShape { heads: 2, dimensions: 32 }, KvShape { heads: 1, dimensions: 64 }];
        for dtype in [DType::F32, DType::F16, DType::BF16, DType::F8, DType::I8] {
            let cpu = CpuBackend::with_threads(1).unwrap();
            for layout in [KvLayout::contiguous(3, 50), KvLayout::paged(200, 32)] {
                let cache = KvCache::new(&cpu, dtype, layout, &shapes).unwrap();
                let expected = cpu.memory().unwrap().in_use;
                assert_eq!(estimate_kv_memory(dtype, layout, &shapes), expected, "{dtype}");
                drop(cache);
            }
        }
    }

    #[test]
    fn weights_are_counted_in_blocks() {
        let shape =
            ModelShape { hidden: 8, inner: 16, attention: 12, vocabulary: 100, activations: DType::F16 };
        let q4 = DType::Quant(QuantType::Q4_0);
        let tensors: [(DType, &[usize]); 2] = [(q4, &[10, 64]), (DType::F32, &[8])];
        let memory = estimate_model_memory(tensors, &shape, 5, 2);
        assert_eq!(memory.weights, 10 * 2 * 18 + 8 * 4);
        assert_eq!(memory.activations, 5 * (3 * 8 + 2 * 12 + 3 * 16) * 2 + 2 * 100 * 4);
        assert_eq!(
            estimate_model_memory([(q4, &[usize::MAX, usize::MAX / 64 * 64][..])], &shape, 0, 0).weights,
            u64::MAX
        );
    }

    #[test]
    fn the_context_is_what_fits() {
        let shapes = [KvShape { heads: 2, dimensions: 64 }; 4];
        // 2 · 2 · 64 · 2 bytes in 4 layers: 2 KiB a position
        let model = ModelMemory { weights: 1 << 20, activations: 0 };
        let fit = |free, asked| fit_context(free, model, DType::F16, &shapes, 2, (asked, 64));
        let all = fit(1 << 30, 1000).unwrap();
        assert_eq!((all.positions, all.is_less(), all.bytes), (1008, false, 1008 * 4096));
        let some = fit((1 << 20) + 500 * 4096, 1000).unwrap();
        assert_eq!((some.positions, some.is_less()), (496, true));
        assert!(some.to_string().contains("1000 were asked for"), "{some}");
        let none = fit((1 << 20) + 63 * 4096, 1000).unwrap_err();
        assert!(matches!(none, Error::DoesNotFit { .. }), "{none}");
        assert!(fit(0, 1000).is_err());
    }
}
