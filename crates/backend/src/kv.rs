//! Caches of keys and values.

use crate::backend::KernelBackend;
use crate::error::{Error, Result};
use crate::{DType, Tensor, check};

/// Pages of a cache hold a multiple of this many positions.
pub const PAGE_STEP: usize = 16;

/// One layer of a cache.
#[derive(Clone, Debug)]
pub struct KvLayer {
    /// Keys, `[pages, positions, heads, dimensions]`.
    pub k: Tensor,
    /// Values, likewise.
    pub v: Tensor,
    /// For i8, f32 `[pages, positions, heads]`: the factor of each head's keys.
    pub k_scales: Option<Tensor>,
    /// The same for values.
    pub v_scales: Option<Tensor>,
    /// For f8, f32 `[1]`: the factor of all keys and values.
    pub f8_scale: Option<(f32, Tensor)>,
}

impl KvLayer {
    /// Pages.
    #[must_use]
    pub fn pages(&self) -> usize {
        self.k.size(0)
    }

    /// Positions of a page.
    #[must_use]
    pub fn page(&self) -> usize {
        self.k.size(1)
    }

    /// Heads of a position.
    #[must_use]
    pub fn heads(&self) -> usize {
        self.k.size(2)
    }

    /// Dimensions of a head.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.k.size(3)
    }
}

/// The shape of one layer's keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvShape {
    /// Heads of a position.
    pub heads: usize,
    /// Dimensions of a head.
    pub dimensions: usize,
}

/// How a cache is laid out. A position's place is its *slot*: page · positions of a page + position in the
/// page.
///
/// | cache | pages | positions of a page | table |
/// |---|---|---|---|
/// | contiguous | one for each sequence | the maximum of a sequence | none, or the page of each sequence of a batch |
/// | paged | as many as memory allows | 16 or a few times that | the pages of each sequence |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvLayout {
    /// Pages.
    pub pages: usize,
    /// Positions of a page, a multiple of 16.
    pub page: usize,
}

impl KvLayout {
    /// A contiguous place for each sequence.
    #[must_use]
    pub fn contiguous(sequences: usize, positions: usize) -> Self {
        Self { pages: sequences, page: positions.next_multiple_of(PAGE_STEP) }
    }

    /// Pages for so many positions in all.
    #[must_use]
    pub fn paged(positions: usize, page: usize) -> Self {
        let page = page.next_multiple_of(PAGE_STEP);
        Self { pages: positions.div_ceil(page.max(1)), page }
    }

    /// The slot of a position of a sequence with these pages; `None` beyond them.
    #[must_use]
    pub fn slot(&self, pages: &[u32], position: usize) -> Option<i64> {
        let page = *pages.get(position / self.page.max(1))?;
        Some((page as usize * self.page + position % self.page) as i64)
    }

    /// The positions of all pages.
    #[must_use]
    pub fn positions(&self) -> usize {
        self.pages.saturating_mul(self.page)
    }
}

/// A cache of keys and values of all layers.
#[derive(Clone, Debug)]
pub struct KvCache {
    /// The layers.
    pub layers: Vec<KvLayer>,
    /// How they are laid out.
    pub layout: KvLayout,
    /// The type of keys and values.
    pub dtype: DType,
}

impl KvCache {
    /// Allocates a cache of zeros: f32, f16, bf16, f8 or i8. Queries have the type of the cache; for 8 bits,
    /// they are f16 or bf16 (on the CPU also f32). An f8 cache holds numbers up to 448.
    ///
    /// # Errors
    /// [`Error::Value`] for another type, or pages that are no multiple of 16 positions; if the memory does
    /// not suffice.
    pub fn new(
        backend: &dyn KernelBackend,
        dtype: DType,
        layout: KvLayout,
        shapes: &[KvShape],
    ) -> Result<Self> {
        let wrong =
            |parameter, got, problem| Err(Error::Value { operation: "KvCache", parameter, got, problem });
        if !dtype.is_float() && !matches!(dtype, DType::F8 | DType::I8) {
            return wrong("dtype", dtype.to_string(), "and must be f32, f16, bf16, f8 or i8");
        }
        if layout.page == 0 || !layout.page.is_multiple_of(PAGE_STEP) {
            return wrong("page", layout.page.to_string(), "and must be a multiple of 16");
        }
        let f8_scale = match dtype {
            DType::F8 => {
                let scale = backend.zeros(DType::F32, &[1])?;
                backend.upload(&1.0_f32.to_le_bytes(), &scale)?;
                Some((1.0, scale))
            }
            _ => None,
        };
        let layer = |shape: &KvShape| {
            let sizes = [layout.pages, layout.page, shape.heads, shape.dimensions];
            let scales = || (dtype == DType::I8).then(|| backend.zeros(DType::F32, &sizes[..3])).transpose();
            Ok(KvLayer {
                k: backend.zeros(dtype, &sizes)?,
                v: backend.zeros(dtype, &sizes)?,
                k_scales: scales()?,
                v_scales: scales()?,
                f8_scale: f8_scale.clone(),
            })
        };
        Ok(Self { layers: shapes.iter().map(layer).collect::<Result<_>>()?, layout, dtype })
    }
}

/// The pages of a cache that are free, and how many sequences share each of the others.
#[derive(Clone, Debug)]
pub struct PagePool {
    free: Vec<u32>,
    users: Vec<u32>,
}

impl PagePool {
    /// All pages are free.
    #[must_use]
    pub fn new(pages: usize) -> Self {
        let count = u32::try_from(pages).unwrap_or(u32::MAX);
        Self { free: (0..count).rev().collect(), users: vec![0; count as usize] }
    }

    /// Pages that nobody uses.
    #[must_use]
    pub fn available(&self) -> usize {
        self.free.len()
    }

    /// A free page, with one user; `None` if there is none.
    pub fn take(&mut self) -> Option<u32> {
        let page = self.free.pop()?;
        self.users[page as usize] = 1;
        Some(page)
    }

    /// One more user for a page in use, such as that of a common prefix. Whether the page is in use.
    pub fn share(&mut self, page: u32) -> bool {
        let users = self.users.get_mut(page as usize).filter(|users| **users > 0);
        users.map(|users| *users += 1).is_some()
    }

    /// How many use a page.
    #[must_use]
    pub fn users(&self, page: u32) -> u32 {
        self.users.get(page as usize).copied().unwrap_or(0)
    }

    /// One user less; the page is free without any. Whether the page was in use.
    pub fn release(&mut self, page: u32) -> bool {
        let Some(users) = self.users.get_mut(page as usize).filter(|users| **users > 0) else { return false };
        *users -= 1;
        if *users == 0 {
            self.free.push(page);
        }
        true
    }
}

/// Checks keys or values to append: the tokens.
pub(crate) fn check_append(layer: &KvLayer, k: &Tensor, v: &Tensor, slots: &Tensor) -> Result<usize> {
    let operation = "kv_append";
    let tokens = slots.elements();
    let shape = [tokens, layer.heads(), layer.dimensions()];
    check::typed(operation, "slots", slots, DType::I64, &[tokens])?;
    for (name, x) in [("k", k), ("v", v)] {
        check::typed(operation, name, x, k.dtype(), &shape)?;
        check::dense_rows(operation, name, x)?;
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_follow_the_pages_of_a_sequence() {
        let layout = KvLayout::paged(100, 16);
        assert_eq!((layout.pages, layout.page, layout.positions()), (7, 16, 112));
        assert_eq!(layout.slot(&[5, 2], 0), Some(80));
        assert_eq!(layout.slot(&[5, 2], 17), Some(33));
        assert_eq!(layout.slot(&[5, 2], 32), None);
        assert_eq!(KvLayout::contiguous(2, 100), KvLayout { pages: 2, page: 112 });
    }

    #[test]
    fn a_page_is_free_after_its_last_user() {
        let mut pool = PagePool::new(2);
        let (first, second) = (pool.take().unwrap(), pool.take().unwrap());
        assert_eq!((first, second, pool.take()), (0, 1, None));
        assert!(pool.share(first));
        assert!(pool.release(first));
        assert_eq!((pool.available(), pool.users(first)), (0, 1));
        assert!(pool.release(first));
        assert_eq!(pool.available(), 1);
        assert!(!pool.release(first) && !pool.share(first), "free pages have no users");
        assert!(!pool.release(9));
        assert_eq!(pool.take(), Some(first));
    }
}
