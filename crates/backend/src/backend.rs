//! The operations of transformers, as a trait.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Result;
use crate::ops::{
    Activation, Attention, Factor, Gate, GatedDelta, MoeGate, RopeAppend, RopeFrequencies, RopeStyle,
};
use crate::{DType, KvLayer, Shard, Tensor};

/// The kinds of backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BackendKind {
    /// An NVIDIA GPU.
    Cuda,
    /// An AMD GPU.
    Rocm,
    /// A virtual AMD GPU in this process.
    Virtual,
    /// This machine's CPU.
    Cpu,
}

/// What a backend is.
#[derive(Clone, Debug)]
pub struct BackendInfo {
    /// Its kind.
    pub kind: BackendKind,
    /// The device's URI, or `cpu`.
    pub uri: String,
    /// The device's name.
    pub name: String,
    /// Compute units, or threads of the CPU.
    pub compute_units: usize,
    /// Lanes of a wave; 1 on the CPU.
    pub wave: usize,
}

impl fmt::Display for BackendInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.uri, self.name)
    }
}

/// A number for a new backend, which its memory names.
pub(crate) fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Memory of a backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Bytes that can be allocated.
    pub free: u64,
    /// All bytes.
    pub total: u64,
    /// Bytes of tensors that exist.
    pub in_use: u64,
    /// Bytes of numbers of quantised matrices that are [kept](KernelBackend::keep_numbers).
    pub numbers: u64,
    /// Allocations that were served from memory kept for reuse, in thousandths of all.
    pub pool_hits: u32,
}

/// A copy to the host under way.
pub trait Readback: Send {
    /// Waits for the copy.
    ///
    /// # Errors
    /// A failure of the copy, or of the work before it.
    fn wait(self: Box<Self>) -> Result<Vec<u8>>;
}

/// Work that has been captured, to be run any number of times.
pub trait StepGraph: Send + fmt::Debug {
    /// Enqueues the work. It reads and writes the tensors that were used in the capture.
    ///
    /// # Errors
    /// A failure of the launch.
    fn launch(&self) -> Result<()>;

    /// How many kernels, copies and fills it consists of.
    fn nodes(&self) -> usize;
}

/// What runs captured work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Steps {
    /// A graph of HIP or CUDA.
    #[default]
    Graph,
    /// A command buffer of `hal`, straight on HSA: AMD GPUs and virtual ones.
    Hal,
}

impl Steps {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Graph, Self::Hal];

    /// Its name on command lines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Graph => "graph",
            Self::Hal => "hal",
        }
    }
}

impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Steps {
    type Err = crate::Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|steps| steps.name() == name);
        known.ok_or_else(|| crate::Error::Value {
            operation: "steps",
            parameter: "name",
            got: format!("`{name}`"),
            problem: "which is neither `graph` nor `hal`",
        })
    }
}

/// The graphs of a step, one for each number of sequences in use (or whatever else a step's shapes depend
/// on).
#[derive(Debug, Default)]
pub struct StepGraphs {
    graphs: HashMap<usize, Option<Box<dyn StepGraph>>>,
}

impl StepGraphs {
    /// Runs a step: launches the graph of this number, which is captured the first time. On a backend without
    /// graphs, calls `work`. It must submit the same work on the same tensors each time.
    ///
    /// # Errors
    /// Those of the capture, of the launch and of `work`.
    pub fn run(
        &mut self,
        backend: &dyn KernelBackend,
        number: usize,
        work: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let graph = match self.graphs.entry(number) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(backend.capture(work)?),
        };
        match graph {
            Some(graph) => graph.launch(),
            None => work(),
        }
    }

    /// How many graphs there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.graphs.values().flatten().count()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets all graphs, such as when the tensors that they use are replaced.
    pub fn clear(&mut self) {
        self.graphs.clear();
    }
}

/// A device with its operations on tensors.
///
/// Operations write the tensor `out`, which the caller allocates, and return before the work is done. All
/// work of a backend runs in the order in which it was submitted, by whichever thread. Only
/// [`download`](Self::download), [`Readback::wait`] and [`synchronize`](Self::synchronize) wait. The CPU's
/// operations are done when they return.
///
/// Activations are f32, f16 or bf16; an operation's activations and the weights of norms and biases have one
/// type. Matrices of products have the activations' type, or are quantised. A combination without a kernel is
/// an error, and nothing is computed elsewhere instead. Rows (the last dimension) must be contiguous; where
/// an operation needs a tensor without gaps, it says so in its error.
///
/// `out` may be an input itself where the operation goes element by element or row by row: activations,
/// norms, softmax, additions and rotations.
pub trait KernelBackend: Send + Sync + fmt::Debug {
    /// What this backend is.
    fn info(&self) -> &BackendInfo;

    /// The memory now.
    ///
    /// # Errors
    /// If it cannot be read.
    fn memory(&self) -> Result<Memory>;

    // Memory.

    /// A tensor with unspecified elements.
    ///
    /// # Errors
    /// If the memory does not suffice.
    fn empty(&self, dtype: DType, shape: &[usize]) -> Result<Tensor>;

    /// A tensor of zeros.
    ///
    /// # Errors
    /// As [`empty`](Self::empty).
    fn zeros(&self, dtype: DType, shape: &[usize]) -> Result<Tensor>;

    /// Copies bytes to a tensor without gaps. The bytes have been read when this returns; the copy itself may
    /// still be under way, from pinned memory.
    ///
    /// # Errors
    /// If the sizes differ, or the copy fails.
    fn upload(&self, bytes: &[u8], to: &Tensor) -> Result<()>;

    /// Fills a tensor without gaps piece by piece: `read` gets the place of a piece in bytes, and its memory.
    /// On a GPU, that memory is pinned, and a piece is copied while the next one is read.
    ///
    /// # Errors
    /// [`Error::Read`](crate::Error::Read) if `read` fails; if the copy fails.
    fn upload_from(
        &self,
        to: &Tensor,
        read: &mut dyn FnMut(usize, &mut [u8]) -> std::io::Result<()>,
    ) -> Result<()>;

    /// The bytes of a tensor, row by row. Waits for them.
    ///
    /// # Errors
    /// A failure of the copy, or of the work before it.
    fn download(&self, from: &Tensor) -> Result<Vec<u8>> {
        self.read_back(from)?.wait()
    }

    /// Enqueues a copy of a tensor without gaps to the host.
    ///
    /// # Errors
    /// If the copy cannot be enqueued.
    fn read_back(&self, from: &Tensor) -> Result<Box<dyn Readback>>;

    /// Waits for all work.
    ///
    /// # Errors
    /// A failure of that work.
    fn synchronize(&self) -> Result<()>;

    /// Captures the work that `work` submits on this thread, without running it; `None` on backends that gain
    /// nothing by it, which run nothing either. Nothing within may wait for the device or copy from or to the
    /// host. Tensors that are allocated within belong to the graph.
    ///
    /// # Errors
    /// Those of `work`, and of the capture.
    fn capture(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Box<dyn StepGraph>>>;

    /// Chooses what runs the work that is captured from now on. Work that was captured before stays as it is.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable) says why this backend cannot; it then stays as it
    /// was.
    fn set_steps(&self, steps: Steps) -> Result<()> {
        match steps {
            Steps::Graph => Ok(()),
            Steps::Hal => Err(crate::Error::Unavailable {
                backend: self.info().uri.clone(),
                reason: "steps run by `hal` need a device with HSA: an AMD GPU or a virtual one".to_owned(),
            }),
        }
    }

    /// Lets the numbers of quantised matrices take so many bytes of the device's memory, from now on; 0 for
    /// none, as at first. Where products of several rows are computed by numbers, those of a matrix are then
    /// computed once, with its first such product, and not for each one. They are freed with the matrix, and
    /// forgotten when it is written to; a captured step that reads them cannot be launched then
    /// ([`Error::Stale`](crate::Error::Stale)). Backends that multiply blocks keep none.
    ///
    /// # Errors
    /// None at present.
    fn keep_numbers(&self, _bytes: u64) -> Result<()> {
        Ok(())
    }

    /// Runs work that calls many operations, where these are cheapest: on one of the backend's own threads if
    /// it has some, so that not each operation goes there and back. It has run when this returns, and a panic
    /// in it goes on here.
    fn within(&self, work: &mut (dyn FnMut() + Send)) {
        work();
    }

    /// Copies elements. Both tensors have one type and shape, and any strides, but not of quantised blocks.
    ///
    /// # Errors
    /// If types or shapes differ.
    fn copy(&self, x: &Tensor, out: &Tensor) -> Result<()>;

    /// Converts f32, f16, bf16 and f8 to each other, and quantised blocks to f32, f16 and bf16. Numbers round
    /// to nearest, ties to even.
    ///
    /// # Errors
    /// If shapes differ, or the types cannot be converted.
    fn cast(&self, x: &Tensor, out: &Tensor) -> Result<()>;

    // Several GPUs.

    /// Which part of a model this backend has.
    fn shard(&self) -> Shard {
        Shard::WHOLE
    }

    /// Replaces a tensor without gaps by the sum of those of all ranks. Does nothing if there is one rank.
    ///
    /// # Errors
    /// If the ranks cannot be reached.
    fn all_reduce(&self, _x: &Tensor) -> Result<()> {
        Ok(())
    }

    /// The tensors of all ranks, in order: `out` has one more dimension in front. Both have no gaps.
    ///
    /// # Errors
    /// If types or shapes differ, or the ranks cannot be reached.
    fn all_gather(&self, x: &Tensor, out: &Tensor) -> Result<()> {
        gathered(self.shard(), x, out)?;
        self.copy(x, &out.reshape(x.shape())?)
    }

    // Element by element.

    /// `out = x · factor + summand`.
    ///
    /// # Errors
    /// If types or shapes differ.
    fn affine(&self, x: &Tensor, factor: f32, summand: f32, out: &Tensor) -> Result<()>;

    /// `out = a + b`. `b` may have fewer dimensions, which are then the last ones of `a`, such as a bias.
    ///
    /// # Errors
    /// If types or shapes differ.
    fn add(&self, a: &Tensor, b: &Tensor, out: &Tensor) -> Result<()>;

    /// `out = a · b`, with shapes as for [`add`](Self::add).
    ///
    /// # Errors
    /// If types or shapes differ.
    fn mul(&self, a: &Tensor, b: &Tensor, out: &Tensor) -> Result<()>;

    /// `out = f(x)`.
    ///
    /// # Errors
    /// If types or shapes differ.
    fn activate(&self, f: Activation, x: &Tensor, out: &Tensor) -> Result<()>;

    /// `out = x / (1 + exp(-x))`.
    ///
    /// # Errors
    /// If types or shapes differ.
    fn silu(&self, x: &Tensor, out: &Tensor) -> Result<()> {
        self.activate(Activation::Silu, x, out)
    }

    /// Combines a gate with the other factor, as a feed-forward layer does. Rows of `x` and `up` may have
    /// gaps between them, as parts of one product have.
    ///
    /// # Errors
    /// If types or shapes differ.
    fn gated(&self, gate: Gate, x: &Tensor, up: &Tensor, out: &Tensor) -> Result<()>;

    /// `out = cap · tanh(x / cap)`.
    ///
    /// # Errors
    /// If types or shapes differ.
    fn softcap(&self, x: &Tensor, cap: f32, out: &Tensor) -> Result<()>;

    // Row by row.

    /// `out = x / √(mean(x²) + eps) · weight` of each row.
    ///
    /// Models whose weights are stored as differences from one, such as Gemma's in safetensors, add one when
    /// they load them.
    ///
    /// # Errors
    /// If types or shapes differ.
    fn rmsnorm(&self, x: &Tensor, weight: Option<&Tensor>, eps: f32, out: &Tensor) -> Result<()>;

    /// `residual = x + residual`, then the [`rmsnorm`](Self::rmsnorm) of that.
    ///
    /// # Errors
    /// If types or shapes differ.
    fn add_rmsnorm(
        &self,
        x: &Tensor,
        residual: &Tensor,
        weight: Option<&Tensor>,
        eps: f32,
        out: &Tensor,
    ) -> Result<()>;

    /// `out = (x - mean) / √(variance + eps) · weight + bias` of each row.
    ///
    /// # Errors
    /// If types or shapes differ.
    fn layer_norm(
        &self,
        x: &Tensor,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        eps: f32,
        out: &Tensor,
    ) -> Result<()>;

    /// `out = x / max(√(Σx²), eps)` of each row.
    ///
    /// # Errors
    /// If types or shapes differ.
    fn l2norm(&self, x: &Tensor, eps: f32, out: &Tensor) -> Result<()>;

    /// Softmax of each row.
    ///
    /// # Errors
    /// If types or shapes differ.
    fn softmax(&self, x: &Tensor, out: &Tensor) -> Result<()>;

    /// Softmax of each row of a view, in place. Rows may have gaps between them.
    ///
    /// # Errors
    /// If the elements of a row have gaps.
    fn softmax_view(&self, x: &Tensor) -> Result<()>;

    /// Rows of a table by number: `out[i] = table[ids[i]]`. The table has the type of `out`, or is quantised.
    ///
    /// # Errors
    /// If types or shapes differ.
    fn embedding(&self, table: &Tensor, ids: &Tensor, out: &Tensor) -> Result<()>;

    // Products.

    /// `out = x wᵀ`: `x` is `[rows, k]`, `w` is `[n, k]`, and `out` is `[rows, n]`.
    ///
    /// # Errors
    /// If shapes do not match, or there is no kernel for the types.
    fn matmul(&self, x: &Tensor, w: &Tensor, out: &Tensor) -> Result<()> {
        self.matmul_many(x, &[(w, out)])
    }

    /// Products of the same `x` with several matrices, as for queries, keys and values. A quantised matrix
    /// needs `x` in blocks, which are then made once.
    ///
    /// # Errors
    /// As [`matmul`](Self::matmul).
    fn matmul_many(&self, x: &Tensor, products: &[(&Tensor, &Tensor)]) -> Result<()>;

    /// A new factor of products, unspecified as [`empty`](Self::empty) is. `quantised` says whether some of
    /// the matrices are. It gets its numbers by [`norm_factor`](Self::norm_factor) or
    /// [`gate_factor`](Self::gate_factor).
    ///
    /// # Errors
    /// If the memory does not suffice.
    fn factor(&self, dtype: DType, shape: &[usize], quantised: bool) -> Result<Factor> {
        let _ = quantised;
        Ok(Factor::of(self.empty(dtype, shape)?))
    }

    /// [`add_rmsnorm`](Self::add_rmsnorm), or without `x` the [`rmsnorm`](Self::rmsnorm) of `residual` alone.
    ///
    /// # Errors
    /// As these.
    fn norm_factor(
        &self,
        x: Option<&Tensor>,
        residual: &Tensor,
        weight: Option<&Tensor>,
        eps: f32,
        out: &Factor,
    ) -> Result<()> {
        match x {
            Some(x) => self.add_rmsnorm(x, residual, weight, eps, out.numbers()),
            None => self.rmsnorm(residual, weight, eps, out.numbers()),
        }
    }

    /// [`gated`](Self::gated).
    ///
    /// # Errors
    /// As that.
    fn gate_factor(&self, gate: Gate, x: &Tensor, up: &Tensor, out: &Factor) -> Result<()> {
        self.gated(gate, x, up, out.numbers())
    }

    /// [`matmul_many`](Self::matmul_many).
    ///
    /// # Errors
    /// As that.
    fn matmul_factor(&self, x: &Factor, products: &[(&Tensor, &Tensor)]) -> Result<()> {
        self.matmul_many(x.numbers(), products)
    }

    /// The product of a matrix `[n, k]` and a vector of `k` elements, in a new tensor of `x`'s type.
    ///
    /// # Errors
    /// As [`matmul`](Self::matmul).
    fn matmul_vec(&self, w: &Tensor, x: &Tensor) -> Result<Tensor> {
        let out = self.empty(x.dtype(), &[w.size(0)])?;
        self.matmul_vec_into(w, x, &out)?;
        Ok(out)
    }

    /// The product of a matrix `[n, k]` and a vector of `k` elements.
    ///
    /// # Errors
    /// As [`matmul`](Self::matmul).
    fn matmul_vec_into(&self, w: &Tensor, x: &Tensor, out: &Tensor) -> Result<()> {
        self.matmul(&x.reshape(&[1, x.elements()])?, w, &out.reshape(&[1, out.elements()])?)
    }

    /// `out = x wᵀ + bias`.
    ///
    /// # Errors
    /// As [`matmul`](Self::matmul).
    fn linear(&self, x: &Tensor, w: &Tensor, bias: Option<&Tensor>, out: &Tensor) -> Result<()> {
        self.matmul(x, w, out)?;
        bias.map_or(Ok(()), |bias| self.add(out, bias, out))
    }

    /// Products of batches of activations: `out[b] = alpha · x[b] y[b]`, or `x[b] y[b]ᵀ`. `x` is `[batch, m,
    /// k]`, `y` is `[batch, k, n]`, or `[batch, n, k]` if it is transposed, `out` is `[batch, m, n]`. Rows
    /// may have gaps between them.
    ///
    /// # Errors
    /// As [`matmul`](Self::matmul).
    fn matmul_batched(
        &self,
        x: &Tensor,
        y: &Tensor,
        transposed: bool,
        alpha: f32,
        out: &Tensor,
    ) -> Result<()>;

    // Attention.

    /// Frequencies in the backend's memory, with the factor of cosines and sines
    /// ([`Rope::attention_factor`](crate::Rope::attention_factor)).
    ///
    /// # Errors
    /// If the memory does not suffice.
    fn rope_frequencies(&self, frequencies: &[f64], scale: f32) -> Result<RopeFrequencies>;

    /// Cosines and sines, f32 `[tokens, half]`, of u32 positions. Once for each step of a model.
    ///
    /// # Errors
    /// If types or shapes differ.
    fn rope_table(
        &self,
        frequencies: &RopeFrequencies,
        positions: &Tensor,
        cos: &Tensor,
        sin: &Tensor,
    ) -> Result<()>;

    /// Rotates the first `2 · half` elements of each head by cosines and sines: `x` and `out` are `[tokens,
    /// heads, dimensions]`.
    ///
    /// # Errors
    /// If types or shapes differ.
    fn apply_rope(
        &self,
        style: RopeStyle,
        tables: (&Tensor, &Tensor),
        x: &Tensor,
        out: &Tensor,
    ) -> Result<()>;

    /// Stores keys and values `[tokens, heads, dimensions]` in their i64 slots of a cache. A token with a
    /// negative slot is dropped.
    ///
    /// # Errors
    /// If types or shapes differ.
    fn kv_append(&self, layer: &KvLayer, k: &Tensor, v: &Tensor, slots: &Tensor) -> Result<()>;

    /// What comes between the products that make queries, keys and values, and attention:
    /// [`rmsnorm`](Self::rmsnorm) of each head of queries and keys, if there are weights,
    /// [`apply_rope`](Self::apply_rope) to both, and [`kv_append`](Self::kv_append).
    ///
    /// # Errors
    /// As these.
    fn rope_append(&self, by: &RopeAppend<'_>, layer: &KvLayer) -> Result<()> {
        if let Some((q, k)) = by.norms {
            self.rmsnorm(by.q, Some(q), by.eps, by.q)?;
            self.rmsnorm(by.k, Some(k), by.eps, by.k)?;
        }
        self.apply_rope(by.style, by.tables, by.q, by.q)?;
        self.apply_rope(by.style, by.tables, by.k, by.k)?;
        self.kv_append(layer, by.k, by.v, by.slots)
    }

    /// Attention. `out` has the shape of the queries.
    ///
    /// # Errors
    /// If types or shapes differ, or the cache's type does not go with the queries'.
    fn attention(&self, attention: &Attention<'_>, out: &Tensor) -> Result<()>;

    /// `out = scale · q kᵀ` of each head: `q` is `[heads, dimensions]`, `k` is `[positions, kv heads,
    /// dimensions]`, `out` is `[heads, positions]`. For models that [`attention`](Self::attention) does not
    /// fit.
    ///
    /// # Errors
    /// If types or shapes differ.
    fn compute_attention_scores(&self, q: &Tensor, k: &Tensor, scale: f32, out: &Tensor) -> Result<()> {
        let group = grouped("compute_attention_scores", q, k)?;
        self.matmul_batched(&q.split(0, group)?, &k.transpose(0, 1)?, true, scale, &out.split(0, group)?)
    }

    /// `out = weights v` of each head: `weights` is `[heads, positions]`, `v` is `[positions, kv heads,
    /// dimensions]`, `out` is `[heads, dimensions]`.
    ///
    /// # Errors
    /// If types or shapes differ.
    fn weighted_sum_rows(&self, weights: &Tensor, v: &Tensor, out: &Tensor) -> Result<()> {
        let group = grouped("weighted_sum_rows", out, v)?;
        self.matmul_batched(&weights.split(0, group)?, &v.transpose(0, 1)?, false, 1.0, &out.split(0, group)?)
    }

    // Gated delta nets.

    /// A convolution of each channel over the tokens before: `x` and `out` are `[sequences, tokens,
    /// channels]`, `weight` is `[channels, width]` with a width from 2 to 4. Sequence s has the f32 state
    /// `slots[s]` of `states` `[number, channels, width - 1]`, which has what comes before the first token,
    /// and then gets the last inputs. Without such a state, what comes before is 0, and nothing is kept.
    ///
    /// # Errors
    /// If types or shapes differ.
    fn causal_conv(
        &self,
        x: &Tensor,
        weight: &Tensor,
        states: &Tensor,
        slots: &Tensor,
        out: &Tensor,
    ) -> Result<()>;

    /// The gated delta rule ([`GatedDelta`]). `out` has the shape of the values, without gaps.
    ///
    /// # Errors
    /// If types or shapes differ.
    fn gated_delta(&self, delta: &GatedDelta<'_>, out: &Tensor) -> Result<()>;

    // Mixtures of experts.

    /// The experts of each token and their weights: `logits` is `[tokens, experts]`, `weights` f32 and `ids`
    /// u32 are `[tokens, k]`.
    ///
    /// # Errors
    /// If types or shapes differ, or for too many experts.
    fn moe_gate(&self, gate: &MoeGate<'_>, logits: &Tensor, weights: &Tensor, ids: &Tensor) -> Result<()>;

    /// Products with the matrices of experts. Pair p of a token and an expert, of which `ids` has the
    /// experts, has row `p · rows / pairs` of `x`. `w` is `[experts, n, k]`, `out` is `[pairs, n]`.
    ///
    /// # Errors
    /// As [`matmul`](Self::matmul).
    fn moe_matmul(&self, x: &Tensor, w: &Tensor, ids: &Tensor, out: &Tensor) -> Result<()>;

    /// The weighted sums of each token's experts: `y` is `[pairs, n]`, `weights` f32 `[tokens, k]`, `out`
    /// `[tokens, n]`.
    ///
    /// # Errors
    /// If types or shapes differ.
    fn moe_combine(&self, y: &Tensor, weights: &Tensor, out: &Tensor) -> Result<()>;

    // Drawing tokens.

    /// Counts u32 `tokens` `[rows, length]` in u32 `counts` `[rows, vocabulary]`, which it adds to.
    ///
    /// # Errors
    /// If types or shapes differ.
    fn count_tokens(&self, tokens: &Tensor, counts: &Tensor) -> Result<()>;

    /// Changes the logits of counted tokens. `penalties` is a table of
    /// [`penalty_words`](crate::penalty_words).
    ///
    /// # Errors
    /// If types or shapes differ.
    fn penalize(&self, counts: &Tensor, penalties: &Tensor, logits: &Tensor) -> Result<()>;

    /// Draws a u32 token for each row of logits. `settings` is a table of
    /// [`sampling_words`](crate::sampling_words), `uniforms` has an f32 in [0, 1) for each row.
    /// [`kernels::Kernels::sample`] has the rules: a row with a NaN or +∞ gives [`u32::MAX`].
    ///
    /// # Errors
    /// If types or shapes differ.
    fn sample(&self, logits: &Tensor, settings: &Tensor, uniforms: &Tensor, tokens: &Tensor) -> Result<()>;

    /// The u32 index of the largest element of each row; of equal ones, the first.
    ///
    /// # Errors
    /// If types or shapes differ.
    fn argmax(&self, x: &Tensor, out: &Tensor) -> Result<()>;

    /// The largest elements of each row in descending order, as many as `values` and u32 `indices` have
    /// columns, at most 256.
    ///
    /// # Errors
    /// If types or shapes differ.
    fn top_k(&self, x: &Tensor, values: &Tensor, indices: &Tensor) -> Result<()>;
}

/// Checks the result of [`KernelBackend::all_gather`].
pub(crate) fn gathered(shard: Shard, x: &Tensor, out: &Tensor) -> Result<()> {
    let mut shape = crate::Dims::from_slice(x.shape());
    shape.insert(0, shard.size);
    crate::check::typed("all_gather", "out", out, x.dtype(), &shape)
}

/// How many heads of the queries share one of the keys.
fn grouped(operation: &'static str, q: &Tensor, k: &Tensor) -> Result<usize> {
    let (heads, kv_heads) = (q.size(0), k.size(1));
    if q.rank() != 2 || k.rank() != 3 || kv_heads == 0 || !heads.is_multiple_of(kv_heads) {
        return Err(crate::Error::Shape {
            operation,
            tensor: "k",
            expected: format!("[positions, a divisor of {heads}, dimensions]"),
            got: k.describe(),
        });
    }
    Ok(heads / kv_heads)
}

/// Copies of typed elements, for every backend.
impl dyn KernelBackend + '_ {
    /// A new tensor of f32, f16 or bf16 with these elements, each rounded once.
    ///
    /// # Errors
    /// If the type is another, or the memory does not suffice.
    pub fn tensor(&self, dtype: DType, shape: &[usize], elements: &[f32]) -> Result<Tensor> {
        let bytes = crate::convert::from_f32(dtype, elements).ok_or_else(|| crate::Error::Unsupported {
            backend: "no backend",
            operation: "tensor",
            what: crate::error::described(dtype, shape),
        })?;
        self.tensor_of_bytes(dtype, shape, &bytes)
    }

    /// A new tensor of these bytes, such as quantised blocks.
    ///
    /// # Errors
    /// If the sizes differ, or the memory does not suffice.
    pub fn tensor_of_bytes(&self, dtype: DType, shape: &[usize], bytes: &[u8]) -> Result<Tensor> {
        let tensor = self.empty(dtype, shape)?;
        self.upload(bytes, &tensor)?;
        Ok(tensor)
    }

    /// A new tensor of u32.
    ///
    /// # Errors
    /// If the sizes differ, or the memory does not suffice.
    pub fn tensor_u32(&self, shape: &[usize], elements: &[u32]) -> Result<Tensor> {
        let tensor = self.empty(DType::U32, shape)?;
        self.upload_u32(elements, &tensor)?;
        Ok(tensor)
    }

    /// A new tensor of i64.
    ///
    /// # Errors
    /// If the sizes differ, or the memory does not suffice.
    pub fn tensor_i64(&self, shape: &[usize], elements: &[i64]) -> Result<Tensor> {
        let tensor = self.empty(DType::I64, shape)?;
        self.upload_i64(elements, &tensor)?;
        Ok(tensor)
    }

    /// Copies u32 to a tensor, such as the ids and positions of the next step.
    ///
    /// # Errors
    /// If the sizes differ, or the copy fails.
    pub fn upload_u32(&self, elements: &[u32], to: &Tensor) -> Result<()> {
        self.upload(&elements.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>(), to)
    }

    /// Copies i64 to a tensor.
    ///
    /// # Errors
    /// If the sizes differ, or the copy fails.
    pub fn upload_i64(&self, elements: &[i64], to: &Tensor) -> Result<()> {
        self.upload(&elements.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>(), to)
    }

    /// Copies f32 to a tensor of f32.
    ///
    /// # Errors
    /// If the sizes differ, or the copy fails.
    pub fn upload_f32(&self, elements: &[f32], to: &Tensor) -> Result<()> {
        self.upload(&elements.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>(), to)
    }

    /// The elements of a tensor as f32, also of quantised blocks. Waits for them.
    ///
    /// # Errors
    /// As [`download`](KernelBackend::download); for types that are not numbers of activations or weights.
    pub fn to_f32(&self, x: &Tensor) -> Result<Vec<f32>> {
        let bytes = self.download(x)?;
        crate::convert::to_f32(x.dtype(), &bytes).ok_or_else(|| crate::Error::Unsupported {
            backend: "no backend",
            operation: "to_f32",
            what: x.describe(),
        })
    }

    /// The elements of a u32 tensor. Waits for them.
    ///
    /// # Errors
    /// As [`download`](KernelBackend::download).
    pub fn to_u32(&self, x: &Tensor) -> Result<Vec<u32>> {
        let bytes = self.download(x)?;
        Ok(bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
    }
}
