//! The operations on this machine's CPU.

mod attention;
mod blocks;
mod delta;
mod elementwise;
mod experts;
mod integer;
mod memory;
mod product;
mod quant;
mod ranks;
mod rows;
mod sampling;
mod session;
mod simd;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::ThreadPool;

use crate::backend::{BackendInfo, BackendKind, KernelBackend, Memory, Readback, StepGraph};
use crate::error::{Error, Result};
use crate::ops::{Activation, Attention, Gate, GatedDelta, MoeGate, RopeFrequencies, RopeStyle};
use crate::tensor::bytes_of;
use crate::{DType, KvLayer, Shard, Tensor};

use memory::CpuMemory;
pub(crate) use quant::dequantise;
use ranks::Rank;
use session::Session;

const NAME: &str = "the CPU";

/// The operations on this machine's CPU, in f32 whatever the type of the tensors, with threads of its own.
///
/// Do not call it from a job of another rayon pool that others of its jobs wait for: a thread that waits for
/// this backend's threads may run such a job, which would then wait for itself.
pub struct CpuBackend {
    info: BackendInfo,
    id: u64,
    pool: ThreadPool,
    in_use: Arc<AtomicU64>,
    lock: Mutex<()>,
    rank: Option<Rank>,
}

impl fmt::Debug for CpuBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuBackend({}, {} threads)", self.info, self.info.compute_units)
    }
}

impl CpuBackend {
    /// A backend with a thread for each processor that this process may use.
    ///
    /// # Errors
    /// [`Error::Threads`].
    pub fn new() -> Result<Self> {
        Self::with_threads(crate::discover::available_threads())
    }

    /// A backend with so many threads, at least one.
    ///
    /// # Errors
    /// [`Error::Threads`].
    pub fn with_threads(threads: usize) -> Result<Self> {
        let threads = threads.max(1);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("ferrocm-cpu-{i}"))
            .build()
            .map_err(|error| Error::Threads(error.to_string()))?;
        let info = Self::describe(threads);
        let (id, in_use) = (crate::backend::next_id(), Arc::default());
        Ok(Self { info, id, pool, in_use, lock: Mutex::default(), rank: None })
    }

    /// Backends that share a model as [ranks](crate::parallel), each with so many threads. Each rank submits
    /// the same operations in the same order, from a thread of its own.
    ///
    /// # Errors
    /// [`Error::Threads`].
    pub fn ranks(count: usize, threads: usize) -> Result<Vec<Self>> {
        let backend = |rank| Ok(Self { rank: Some(rank), ..Self::with_threads(threads)? });
        Rank::all(count).into_iter().map(backend).collect()
    }

    /// What a backend with so many threads is.
    pub(crate) fn describe(threads: usize) -> BackendInfo {
        BackendInfo {
            kind: BackendKind::Cpu,
            uri: "cpu".to_owned(),
            name: crate::discover::processor_name(),
            compute_units: threads,
            wave: 1,
        }
    }

    /// Exclusive access to the memory of this backend's tensors.
    fn session(&self) -> Session<'_> {
        Session::new(self.id, self.lock.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The error for types without an implementation.
fn unsupported(operation: &'static str, tensors: &[&Tensor]) -> Error {
    let what = tensors.iter().map(|tensor| tensor.describe()).collect::<Vec<_>>().join(", ");
    Error::Unsupported { backend: NAME, operation, what }
}

/// Bytes that have been copied.
struct Copied(Vec<u8>);

impl Readback for Copied {
    fn wait(self: Box<Self>) -> Result<Vec<u8>> {
        Ok(self.0)
    }
}

impl KernelBackend for CpuBackend {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn within(&self, work: &mut (dyn FnMut() + Send)) {
        match self.info.compute_units {
            1 => work(),
            _ => self.pool.install(work),
        }
    }

    fn memory(&self) -> Result<Memory> {
        let (free, total) = crate::discover::host_memory();
        Ok(Memory { free, total, in_use: self.in_use.load(Ordering::Relaxed), numbers: 0, pool_hits: 0 })
    }

    fn empty(&self, dtype: DType, shape: &[usize]) -> Result<Tensor> {
        self.zeros(dtype, shape)
    }

    fn zeros(&self, dtype: DType, shape: &[usize]) -> Result<Tensor> {
        let memory = CpuMemory::zeroed(self.id, bytes_of(dtype, shape)?, &self.in_use)?;
        Tensor::of_storage(Arc::new(memory), dtype, shape)
    }

    fn shard(&self) -> Shard {
        self.rank.as_ref().map_or(Shard::WHOLE, |rank| rank.shard)
    }

    fn all_reduce(&self, x: &Tensor) -> Result<()> {
        let operation = "all_reduce";
        let Some(rank) = &self.rank else { return Ok(()) };
        let bytes = self.session().floats(operation, x)?.iter().flat_map(|x| x.to_le_bytes()).collect();
        let parts = rank.exchange(bytes)?;
        let mut sum = vec![0.0; x.elements()];
        for part in parts.iter() {
            let numbers = part.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes));
            sum.iter_mut().zip(numbers).for_each(|(sum, x)| *sum += x);
        }
        self.session().write(operation, x, &sum)
    }

    fn all_gather(&self, x: &Tensor, out: &Tensor) -> Result<()> {
        crate::backend::gathered(self.shard(), x, out)?;
        let Some(rank) = &self.rank else { return self.copy(x, &out.reshape(x.shape())?) };
        let bytes = self.session().bytes("all_gather", x)?.to_vec();
        let parts = rank.exchange(bytes)?;
        self.session().upload(&parts.concat(), out)
    }

    fn upload(&self, bytes: &[u8], to: &Tensor) -> Result<()> {
        self.session().upload(bytes, to)
    }

    fn upload_from(
        &self,
        to: &Tensor,
        read: &mut dyn FnMut(usize, &mut [u8]) -> std::io::Result<()>,
    ) -> Result<()> {
        // `read` may use this backend, whose memory is locked while it is written.
        let mut bytes = vec![0; to.size_in_bytes()];
        read(0, &mut bytes).map_err(|error| Error::Read { bytes: bytes.len(), error })?;
        self.upload(&bytes, to)
    }

    fn read_back(&self, from: &Tensor) -> Result<Box<dyn Readback>> {
        Ok(Box::new(Copied(self.session().bytes("read_back", from)?.to_vec())))
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    fn capture(&self, _: &mut dyn FnMut() -> Result<()>) -> Result<Option<Box<dyn StepGraph>>> {
        Ok(None)
    }

    fn copy(&self, x: &Tensor, out: &Tensor) -> Result<()> {
        elementwise::copy(&mut self.session(), x, out)
    }

    fn cast(&self, x: &Tensor, out: &Tensor) -> Result<()> {
        same_shape("cast", x, out)?;
        let mut session = self.session();
        let values = session.numbers("cast", x)?.into_owned();
        session.write("cast", out, &values)
    }

    fn affine(&self, x: &Tensor, factor: f32, summand: f32, out: &Tensor) -> Result<()> {
        self.map("affine", x, out, move |x| x * factor + summand)
    }

    fn add(&self, a: &Tensor, b: &Tensor, out: &Tensor) -> Result<()> {
        self.combine("add", a, b, out, |a, b| a + b)
    }

    fn mul(&self, a: &Tensor, b: &Tensor, out: &Tensor) -> Result<()> {
        self.combine("mul", a, b, out, |a, b| a * b)
    }

    fn activate(&self, f: Activation, x: &Tensor, out: &Tensor) -> Result<()> {
        self.map("activate", x, out, elementwise::function(f))
    }

    fn gated(&self, gate: Gate, x: &Tensor, up: &Tensor, out: &Tensor) -> Result<()> {
        same_shape("gated", x, up)?;
        self.combine("gated", x, up, out, elementwise::gate(gate))
    }

    fn softcap(&self, x: &Tensor, cap: f32, out: &Tensor) -> Result<()> {
        self.map("softcap", x, out, move |x| cap * (x / cap).tanh())
    }

    fn rmsnorm(&self, x: &Tensor, weight: Option<&Tensor>, eps: f32, out: &Tensor) -> Result<()> {
        rows::rmsnorm(self, x, weight, eps, out)
    }

    fn add_rmsnorm(
        &self,
        x: &Tensor,
        residual: &Tensor,
        weight: Option<&Tensor>,
        eps: f32,
        out: &Tensor,
    ) -> Result<()> {
        same_shape("add_rmsnorm", x, residual)?;
        self.add(x, residual, residual)?;
        self.rmsnorm(residual, weight, eps, out)
    }

    fn layer_norm(
        &self,
        x: &Tensor,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        eps: f32,
        out: &Tensor,
    ) -> Result<()> {
        rows::layer_norm(self, x, weight, bias, eps, out)
    }

    fn l2norm(&self, x: &Tensor, eps: f32, out: &Tensor) -> Result<()> {
        rows::l2norm(self, x, eps, out)
    }

    fn softmax(&self, x: &Tensor, out: &Tensor) -> Result<()> {
        rows::softmax(self, x, out)
    }

    fn softmax_view(&self, x: &Tensor) -> Result<()> {
        rows::softmax(self, x, x)
    }

    fn embedding(&self, table: &Tensor, ids: &Tensor, out: &Tensor) -> Result<()> {
        rows::embedding(self, table, ids, out)
    }

    fn matmul_many(&self, x: &Tensor, products: &[(&Tensor, &Tensor)]) -> Result<()> {
        product::matmul_many(self, x, products)
    }

    fn matmul_batched(
        &self,
        x: &Tensor,
        y: &Tensor,
        transposed: bool,
        alpha: f32,
        out: &Tensor,
    ) -> Result<()> {
        product::matmul_batched(self, x, y, transposed, alpha, out)
    }

    fn rope_frequencies(&self, frequencies: &[f64], scale: f32) -> Result<RopeFrequencies> {
        Ok(RopeFrequencies::new(frequencies.len(), Arc::new((frequencies.to_vec(), scale))))
    }

    fn rope_table(
        &self,
        frequencies: &RopeFrequencies,
        positions: &Tensor,
        cos: &Tensor,
        sin: &Tensor,
    ) -> Result<()> {
        rows::rope_table(self, frequencies, positions, cos, sin)
    }

    fn apply_rope(
        &self,
        style: RopeStyle,
        tables: (&Tensor, &Tensor),
        x: &Tensor,
        out: &Tensor,
    ) -> Result<()> {
        rows::apply_rope(self, style, tables, x, out)
    }

    fn kv_append(&self, layer: &KvLayer, k: &Tensor, v: &Tensor, slots: &Tensor) -> Result<()> {
        attention::append(self, layer, k, v, slots)
    }

    fn attention(&self, attention: &Attention<'_>, out: &Tensor) -> Result<()> {
        attention::attention(self, attention, out)
    }

    fn causal_conv(
        &self,
        x: &Tensor,
        weight: &Tensor,
        states: &Tensor,
        slots: &Tensor,
        out: &Tensor,
    ) -> Result<()> {
        delta::causal_conv(self, x, weight, states, slots, out)
    }

    fn gated_delta(&self, delta: &GatedDelta<'_>, out: &Tensor) -> Result<()> {
        delta::gated_delta(self, delta, out)
    }

    fn moe_gate(&self, gate: &MoeGate<'_>, logits: &Tensor, weights: &Tensor, ids: &Tensor) -> Result<()> {
        experts::gate(self, gate, logits, weights, ids)
    }

    fn moe_matmul(&self, x: &Tensor, w: &Tensor, ids: &Tensor, out: &Tensor) -> Result<()> {
        experts::matmul(self, x, w, ids, out)
    }

    fn moe_combine(&self, y: &Tensor, weights: &Tensor, out: &Tensor) -> Result<()> {
        experts::combine(self, y, weights, out)
    }

    fn count_tokens(&self, tokens: &Tensor, counts: &Tensor) -> Result<()> {
        sampling::count_tokens(self, tokens, counts)
    }

    fn penalize(&self, counts: &Tensor, penalties: &Tensor, logits: &Tensor) -> Result<()> {
        sampling::penalize(self, counts, penalties, logits)
    }

    fn sample(&self, logits: &Tensor, settings: &Tensor, uniforms: &Tensor, tokens: &Tensor) -> Result<()> {
        sampling::sample(self, logits, settings, uniforms, tokens)
    }

    fn argmax(&self, x: &Tensor, out: &Tensor) -> Result<()> {
        sampling::argmax(self, x, out)
    }

    fn top_k(&self, x: &Tensor, values: &Tensor, indices: &Tensor) -> Result<()> {
        sampling::top_k(self, x, values, indices)
    }
}

/// Refuses tensors of different types or shapes.
fn same(operation: &'static str, a: &Tensor, b: &Tensor) -> Result<()> {
    if a.dtype() != b.dtype() {
        return Err(unsupported(operation, &[a, b]));
    }
    same_shape(operation, a, b)
}

fn same_shape(operation: &'static str, a: &Tensor, b: &Tensor) -> Result<()> {
    crate::check::shape(operation, "out", b, a.shape())
}
