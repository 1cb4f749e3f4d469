//! Products with the matrices of experts (mixture of experts): each vector with those of the experts that it
//! is routed to.

use hip::{DeviceBuffer, DeviceSlice, DeviceSliceMut, Stream};

use super::launch::{TILE, WARPS, lanes, workgroups};
use super::{QuantMatrix, QuantVectors};
use crate::error::{Error, Result, check_counted, check_length};
use crate::moe::Strangers;
use crate::{Float, Kernels, modules};

/// Threads of `quant_tiles`; one of them handles the pairs whose expert does not exist.
const TILES_THREADS: u32 = 1024;
/// The average number of pairs for each expert from which pairs are sorted and multiplied in tiles. Below it,
/// each pair is a separate product and reads its expert's matrix.
const SORTED_FROM: usize = 4;

/// The expert of each pair, such as the chosen experts of each token, token by token. Sorted by expert if
/// there are many pairs.
#[derive(Debug)]
pub struct ExpertRoutes<'a> {
    experts: u32,
    ids: DeviceSlice<'a, u32>,
    sorted: Option<Sorted>,
}

/// Pairs in the order of experts, followed by those whose expert does not exist; and the tiles of each.
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
    /// Prepares products of vectors with the experts named by `ids`. The result can be used for any number of
    /// matrices.
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
            let problem = "must be from 1 to 1023";
            return Err(Error::Size { operation: OPERATION, parameter: "experts", got: experts, problem });
        }
        let (pairs, count) = (check_counted(OPERATION, "ids", ids.len())?, experts as u32);
        if ids.len() < experts * SORTED_FROM {
            return Ok(ExpertRoutes { experts: count, ids, sorted: None });
        }
        // The last tile of each expert may be partial, and so may that of the pairs whose expert does not
        // exist.
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
        // SAFETY: there is an offset for each expert and one more, each at most the number of pairs, and
        // there is room for all tiles.
        unsafe { launch.enqueue()? };
        Ok(ExpertRoutes { experts: count, ids, sorted: Some(Sorted { tiles, order }) })
    }

    /// Products of vectors with the matrices of their experts. `matrices` has the rows of all experts'
    /// matrices, one after the other. A vector has `pairs / vectors` consecutive pairs. `out` has the
    /// elements of the first pair's product, then those of the next. If the expert does not exist, they are
    /// NaN.
    ///
    /// # Errors
    /// [`Error::Size`] if the number of experts does not divide the rows, the number of vectors does not
    /// divide the pairs, or the vectors do not have as many elements as the matrices have columns;
    /// [`Error::Length`] unless `out` has the size of the products; [`Error::Hip`].
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
            return wrong("rows", matrices.rows(), "must be a multiple of the number of experts");
        }
        if of_vectors != columns {
            return wrong(
                "columns of the vectors",
                of_vectors as usize,
                "must be the columns of the matrices",
            );
        }
        let (rows, pairs) = (all_rows / routes.experts, routes.pairs());
        if pairs > 0 && (count == 0 || !pairs.is_multiple_of(count as usize)) {
            return wrong("vectors", vectors.vectors(), "must divide the number of pairs");
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
        // SAFETY: there are that many matrices with these rows and columns, each pair has a vector of as many
        // columns and room for its product, and the tiles are those of the pairs.
        unsafe { launch.enqueue()? };
        Ok(())
    }
}
