//! Products with the matrices of experts (mixture of experts): each vector with those that it is routed to.

use hip::{DeviceBuffer, DeviceSlice, DeviceSliceMut, Stream};

use super::launch::{TILE, WARPS, lanes, workgroups};
use super::{QuantMatrix, QuantVectors};
use crate::error::{Error, Result, check_counted, check_length};
use crate::moe::Strangers;
use crate::{Float, Kernels, modules};

/// Threads of `quant_tiles`, one of which has the pairs of experts that are not there.
const TILES_THREADS: u32 = 1024;
/// Pairs of a vector and an expert for each expert, on average, from which on they are sorted and multiplied in tiles. Below, each pair is a
/// product of its own, and reads its expert's matrix.
const SORTED_FROM: usize = 4;

/// Which expert each pair is of, such as the chosen experts of each token, token by token; sorted by expert where there are many.
#[derive(Debug)]
pub struct ExpertRoutes<'a> {
    experts: u32,
    ids: DeviceSlice<'a, u32>,
    sorted: Option<Sorted>,
}

/// Pairs in the order of experts, those last whose expert is not there; and the tiles of each.
#[derive(Debug)]
struct Sorted {
    /// Four numbers each.
    tiles: DeviceBuffer<u32>,
    order: DeviceBuffer<u32>,
}

impl ExpertRoutes<'_> {
    /// Pairs of a vector and an expert.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.ids.len()
    }

    /// Experts.
    #[must_use]
    pub fn experts(&self) -> usize {
        self.experts as usize
    }
}

impl Kernels {
    /// Prepares products of vectors with the experts that `ids` names, for as many matrices as one likes.
    ///
    /// # Errors
    /// [`Error::Size`] if there is no expert or more than 1023, or too many pairs to count; [`Error::Hip`].
    pub fn route_experts<'a>(
        &'a self,
        stream: &'a Stream,
        ids: impl Into<DeviceSlice<'a, u32>>,
        experts: usize,
    ) -> Result<ExpertRoutes<'a>> {
        const OPERATION: &str = "route_experts";
        let ids = ids.into();
        if experts == 0 || experts >= TILES_THREADS as usize {
            let problem = "not between 1 and 1023";
            return Err(Error::Size { operation: OPERATION, parameter: "experts", got: experts, problem });
        }
        let (pairs, count) = (check_counted(OPERATION, "ids", ids.len())?, experts as u32);
        if ids.len() < experts * SORTED_FROM {
            return Ok(ExpertRoutes { experts: count, ids, sorted: None });
        }
        // Each expert's last tile may have less than others; so may that of pairs whose expert is not there.
        let most = pairs / TILE + count + 1;
        let mut tiles = DeviceBuffer::zeroed(stream, most as usize * 4)?;
        let mut order = DeviceBuffer::zeroed(stream, ids.len())?;
        let (mut counts, mut offsets) =
            (DeviceBuffer::zeroed(stream, experts)?, DeviceBuffer::zeroed(stream, experts + 1)?);
        let results = (counts.as_mut_slice(), offsets.as_mut_slice(), order.as_mut_slice());
        self.sort_pairs(OPERATION, stream, ids, Strangers::Last, results.0, results.1, results.2, None)?;
        let function = self.function(&modules::QUANT, "quant_tiles")?;
        let launch = function.launch(stream).grid(1).block(TILES_THREADS);
        let launch = launch.arg(&offsets).arg(pairs).arg(count).arg(most).arg(&mut tiles);
        // SAFETY: there is an offset for each expert and one more, all of them at most the pairs, and no more tiles are made than there is
        // room for.
        unsafe { launch.enqueue()? };
        Ok(ExpertRoutes { experts: count, ids, sorted: Some(Sorted { tiles, order }) })
    }

    /// Products of vectors with the matrices of their experts. `matrices` has those of all experts one after the other: as many rows as all
    /// of them have. A vector has `pairs / vectors` pairs, one after the other. `out` has the elements of the first pair's product, then
    /// those of the next; with an expert that is not there, they are NaN.
    ///
    /// # Errors
    /// [`Error::Size`] if experts do not share the rows, vectors not the pairs, or vectors have not as many elements as the matrices have
    /// columns; [`Error::Length`] unless `out` has those of the products; [`Error::Hip`].
    #[doc(alias = "moe")]
    pub fn quant_experts<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        matrices: QuantMatrix<'a>,
        routes: &'a ExpertRoutes<'_>,
        vectors: &'a QuantVectors,
        out: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        const OPERATION: &str = "quant_experts";
        let wrong =
            |parameter, got, problem| Err(Error::Size { operation: OPERATION, parameter, got, problem });
        let out = out.into();
        let ((all_rows, columns), (count, of_vectors)) = (matrices.sizes(), vectors.sizes());
        if !all_rows.is_multiple_of(routes.experts) {
            return wrong("rows", matrices.rows(), "no multiple of the experts");
        }
        if of_vectors != columns {
            return wrong("columns of the vectors", of_vectors as usize, "not the columns of the matrices");
        }
        let (rows, pairs) = (all_rows / routes.experts, routes.pairs());
        if pairs > 0 && (count == 0 || !pairs.is_multiple_of(count as usize)) {
            return wrong("vectors", vectors.vectors(), "no divisor of the pairs");
        }
        check_length(OPERATION, "out", out.len(), pairs.saturating_mul(rows as usize))?;
        if out.is_empty() {
            return Ok(());
        }
        let pairs = pairs as u32;
        let (of_vector, format) = (pairs / count, matrices.quant().format());
        let launch = |name| Ok::<_, Error>(self.function(&modules::QUANT, name)?.launch(stream));
        let launch = match &routes.sorted {
            None => {
                let lanes = lanes(columns, matrices.quant().block_values());
                let launch = launch(format.gemv)?.grid((workgroups(rows, lanes), pairs)).block((32, WARPS));
                let launch = launch.arg(matrices.blocks()).arg(&vectors.blocks).arg(routes.ids);
                let launch = launch.arg(out).arg(T::INDEX as u32).arg(columns).arg(rows).arg(lanes);
                launch.arg(routes.experts).arg(of_vector)
            }
            Some(Sorted { tiles, order }) => {
                let grid = (rows.div_ceil(TILE), (tiles.len() / 4) as u32);
                let launch = launch(format.gemm)?.grid(grid).block((32, 4));
                let launch = launch.arg(matrices.blocks()).arg(&vectors.blocks).arg(tiles).arg(order);
                let launch = launch.arg(out).arg(T::INDEX as u32).arg(columns).arg(rows).arg(pairs);
                launch.arg(routes.experts).arg(of_vector)
            }
        };
        // SAFETY: there are that many matrices of so many rows and columns, each pair has a vector of as many columns and room for its
        // product, and the tiles are those of the pairs.
        unsafe { launch.enqueue()? };
        Ok(())
    }
}
