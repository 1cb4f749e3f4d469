//! The operations on GPUs: AMD's, NVIDIA's and virtual ones, through `hip`, `kernels` and `rocblas`.

mod attention;
#[cfg(feature = "rccl")]
mod collective;
mod delta;
mod elementwise;
mod experts;
mod graph;
mod memory;
mod numbers;
mod product;
mod recorded;
mod rows;
mod sampling;
mod staging;
mod work;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hip::{Backend, Device, DeviceUri, Stream};
use kernels::Kernels;

use crate::backend::{BackendInfo, BackendKind, KernelBackend, Memory, Readback, StepGraph, Steps};
use crate::error::Result;
use crate::ops::{
    Activation, Attention, Factor, Gate, GatedDelta, MoeGate, RopeAppend, RopeFrequencies, RopeStyle,
};
use crate::tensor::bytes_of;
use crate::{DType, KvLayer, Shard, Tensor};

use graph::Captured;
use memory::{GpuMemory, Periods};
use product::Products;
use recorded::{Recorded, Submits};
use staging::Staging;
use work::Work;

const NAME: &str = "the GPU";

/// The operations on one GPU. All work is submitted to one stream.
pub struct GpuBackend {
    info: BackendInfo,
    id: u64,
    device: Device,
    stream: Stream,
    kernels: Kernels,
    in_use: Arc<AtomicU64>,
    /// Held while work is submitted, so that submissions that use the same tensors do not mix.
    submits: Arc<Mutex<Submits>>,
    periods: Periods,
    /// The device of command buffers, once they were asked for.
    recorded: OnceLock<Arc<Recorded>>,
    /// What runs captured work.
    steps: Mutex<Steps>,
    shard: Shard,
    captured: Captured,
    staging: Arc<Mutex<Staging>>,
    products: Mutex<Products>,
    #[cfg(feature = "rccl")]
    communicator: Option<rccl::Communicator>,
}

impl fmt::Debug for GpuBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GpuBackend({})", self.info)
    }
}

/// The inner value, whether or not a thread has panicked while it had it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl GpuBackend {
    /// Opens the device that a device URI names: `auto`, `amdgpu:0`, `cuda:0`, `vgpu:gfx1100`, …
    ///
    /// # Errors
    /// Those of [`Device::open`] and [`of`](Self::of).
    pub fn open(uri: &DeviceUri) -> Result<Self> {
        Self::of(&Device::open_uri(uri)?)
    }

    /// A backend on an open device, with a stream of its own.
    ///
    /// # Errors
    /// [`hip::Error::WrongTarget`] if the program has no kernels for the device; those of making a stream.
    pub fn of(device: &Device) -> Result<Self> {
        let stream = device.stream()?;
        let kernels = Kernels::new(device);
        // Says now, and not in the first operation, that the program has no code for this target.
        kernels.function(&kernels::modules::FILL, "const_set_f32")?;
        Ok(Self {
            info: BackendInfo::of_device(device),
            id: crate::backend::next_id(),
            device: device.clone(),
            stream,
            kernels,
            in_use: Arc::default(),
            submits: Arc::default(),
            periods: Periods::default(),
            recorded: OnceLock::new(),
            steps: Mutex::default(),
            shard: Shard::WHOLE,
            captured: Captured::default(),
            staging: Arc::default(),
            products: Mutex::default(),
            #[cfg(feature = "rccl")]
            communicator: None,
        })
    }

    /// Makes this the backend of one rank of several: it has a part of each model, and works together with
    /// the other ranks. Every rank submits the same operations in the same order, each from its own thread or
    /// process.
    ///
    /// # Errors
    /// [`Error::OtherBackend`](crate::Error::OtherBackend) if the communicator belongs to another device.
    #[cfg(feature = "rccl")]
    pub fn with_communicator(mut self, communicator: rccl::Communicator) -> Result<Self> {
        if communicator.device() != &self.device {
            let (operation, tensor) = ("with_communicator", "communicator");
            return Err(crate::Error::OtherBackend { backend: NAME, operation, tensor });
        }
        // Exchanges of ranks are HIP's.
        self.set_steps(Steps::Graph)?;
        let (rank, size) = (communicator.rank()?, communicator.size()?);
        self.shard = Shard { rank, size };
        self.communicator = Some(communicator);
        Ok(self)
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The stream that all work is submitted to, outside captures and steps that `hal` runs.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Exclusive submission of work, behind steps that run elsewhere.
    fn work(&self) -> Result<Work<'_>> {
        let stream = self.captured.stream().unwrap_or_else(|| self.stream.clone());
        let mut submits = lock(&self.submits);
        submits.settle()?;
        Ok(Work::new(self.id, &self.kernels, stream, &self.periods, submits))
    }
}

impl KernelBackend for GpuBackend {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn memory(&self) -> Result<Memory> {
        let (info, stats) = (self.device.memory_info()?, self.device.memory_stats());
        let all = stats.hits + stats.misses;
        Ok(Memory {
            free: (info.free + stats.unused()) as u64,
            total: info.total as u64,
            in_use: self.in_use.load(Ordering::Relaxed),
            numbers: lock(&self.products).room.used(),
            pool_hits: (stats.hits * 1000).checked_div(all).unwrap_or(0) as u32,
        })
    }

    fn empty(&self, dtype: DType, shape: &[usize]) -> Result<Tensor> {
        let stream = self.captured.stream().unwrap_or_else(|| self.stream.clone());
        let memory = GpuMemory::uninit(self.id, &stream, bytes_of(dtype, shape)?, &self.in_use)?;
        Tensor::of_storage(Arc::new(memory), dtype, shape)
    }

    fn zeros(&self, dtype: DType, shape: &[usize]) -> Result<Tensor> {
        let tensor = self.empty(dtype, shape)?;
        let work = self.work()?;
        work.write::<u8>("zeros", &bytes_view(&tensor)?)?.fill(&work.stream, 0)?;
        Ok(tensor)
    }

    fn upload(&self, bytes: &[u8], to: &Tensor) -> Result<()> {
        if bytes.len() != to.size_in_bytes() {
            return Err(crate::check::wrong("upload", "to", to, format!("of {} bytes", bytes.len())));
        }
        self.upload_from(to, &mut |at, chunk| {
            chunk.copy_from_slice(&bytes[at..at + chunk.len()]);
            Ok(())
        })
    }

    fn upload_from(
        &self,
        to: &Tensor,
        read: &mut dyn FnMut(usize, &mut [u8]) -> std::io::Result<()>,
    ) -> Result<()> {
        staging::upload(self, to, read)
    }

    fn read_back(&self, from: &Tensor) -> Result<Box<dyn Readback>> {
        staging::read_back(self, from)
    }

    fn synchronize(&self) -> Result<()> {
        let period = {
            let mut submits = lock(&self.submits);
            submits.settle()?;
            self.periods.begin()
        };
        self.stream.synchronize()?;
        self.periods.settle(period);
        Ok(())
    }

    fn capture(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Box<dyn StepGraph>>> {
        graph::capture(self, work).map(Some)
    }

    fn set_steps(&self, steps: Steps) -> Result<()> {
        recorded::set_steps(self, steps)
    }

    fn keep_numbers(&self, bytes: u64) -> Result<()> {
        lock(&self.products).room.set(bytes);
        Ok(())
    }

    fn shard(&self) -> Shard {
        self.shard
    }

    #[cfg(feature = "rccl")]
    fn all_reduce(&self, x: &Tensor) -> Result<()> {
        match &self.communicator {
            Some(communicator) => collective::all_reduce(&self.work()?, communicator, x),
            None => Ok(()),
        }
    }

    #[cfg(feature = "rccl")]
    fn all_gather(&self, x: &Tensor, out: &Tensor) -> Result<()> {
        crate::backend::gathered(self.shard, x, out)?;
        match &self.communicator {
            Some(communicator) => collective::all_gather(&self.work()?, communicator, x, out),
            None => self.copy(x, &out.reshape(x.shape())?),
        }
    }

    fn copy(&self, x: &Tensor, out: &Tensor) -> Result<()> {
        elementwise::copy(&self.work()?, x, out)
    }

    fn cast(&self, x: &Tensor, out: &Tensor) -> Result<()> {
        elementwise::cast(&self.work()?, x, out)
    }

    fn affine(&self, x: &Tensor, factor: f32, summand: f32, out: &Tensor) -> Result<()> {
        elementwise::affine(&self.work()?, x, factor, summand, out)
    }

    fn add(&self, a: &Tensor, b: &Tensor, out: &Tensor) -> Result<()> {
        elementwise::combine(&self.work()?, elementwise::Combination::Add, a, b, out)
    }

    fn mul(&self, a: &Tensor, b: &Tensor, out: &Tensor) -> Result<()> {
        elementwise::combine(&self.work()?, elementwise::Combination::Mul, a, b, out)
    }

    fn activate(&self, f: Activation, x: &Tensor, out: &Tensor) -> Result<()> {
        elementwise::activate(&self.work()?, f, x, out)
    }

    fn gated(&self, gate: Gate, x: &Tensor, up: &Tensor, out: &Tensor) -> Result<()> {
        elementwise::gated(&self.work()?, gate, x, up, out)
    }

    fn softcap(&self, x: &Tensor, cap: f32, out: &Tensor) -> Result<()> {
        elementwise::softcap(&self.work()?, x, cap, out)
    }

    fn rmsnorm(&self, x: &Tensor, weight: Option<&Tensor>, eps: f32, out: &Tensor) -> Result<()> {
        rows::rmsnorm(&self.work()?, x, weight, eps, out)
    }

    fn add_rmsnorm(
        &self,
        x: &Tensor,
        residual: &Tensor,
        weight: Option<&Tensor>,
        eps: f32,
        out: &Tensor,
    ) -> Result<()> {
        rows::add_rmsnorm(&self.work()?, x, residual, weight, eps, out)
    }

    fn layer_norm(
        &self,
        x: &Tensor,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        eps: f32,
        out: &Tensor,
    ) -> Result<()> {
        rows::layer_norm(&self.work()?, x, weight, bias, eps, out)
    }

    fn l2norm(&self, x: &Tensor, eps: f32, out: &Tensor) -> Result<()> {
        rows::l2norm(&self.work()?, x, eps, out)
    }

    fn softmax(&self, x: &Tensor, out: &Tensor) -> Result<()> {
        rows::softmax(&self.work()?, x, out)
    }

    fn softmax_view(&self, x: &Tensor) -> Result<()> {
        rows::softmax_view(&self.work()?, x)
    }

    fn embedding(&self, table: &Tensor, ids: &Tensor, out: &Tensor) -> Result<()> {
        rows::embedding(&self.work()?, table, ids, out)
    }

    fn matmul_many(&self, x: &Tensor, products: &[(&Tensor, &Tensor)]) -> Result<()> {
        product::matmul_many(self, x, None, products)
    }

    fn factor(&self, dtype: DType, shape: &[usize], quantised: bool) -> Result<Factor> {
        let numbers = self.empty(dtype, shape)?;
        product::factor(self, numbers, quantised)
    }

    fn norm_factor(
        &self,
        x: Option<&Tensor>,
        residual: &Tensor,
        weight: Option<&Tensor>,
        eps: f32,
        out: &Factor,
    ) -> Result<()> {
        match (product::blocks(out), x) {
            (Some(blocks), _) => {
                rows::norm_factor(&self.work()?, x, residual, weight, eps, out.numbers(), blocks)
            }
            (None, Some(x)) => self.add_rmsnorm(x, residual, weight, eps, out.numbers()),
            (None, None) => self.rmsnorm(residual, weight, eps, out.numbers()),
        }
    }

    fn gate_factor(&self, gate: Gate, x: &Tensor, up: &Tensor, out: &Factor) -> Result<()> {
        match product::blocks(out) {
            Some(blocks) => elementwise::gate_factor(&self.work()?, gate, x, up, out.numbers(), blocks),
            None => self.gated(gate, x, up, out.numbers()),
        }
    }

    fn matmul_factor(&self, x: &Factor, products: &[(&Tensor, &Tensor)]) -> Result<()> {
        product::matmul_many(self, x.numbers(), product::blocks(x), products)
    }

    fn matmul_batched(
        &self,
        x: &Tensor,
        y: &Tensor,
        transposed: bool,
        alpha: f32,
        out: &Tensor,
    ) -> Result<()> {
        product::matmul_batched(&self.work()?, x, y, transposed, alpha, out)
    }

    fn rope_frequencies(&self, frequencies: &[f64], scale: f32) -> Result<RopeFrequencies> {
        let inner = self.kernels.given_rope_frequencies(&self.stream, frequencies, scale)?;
        Ok(RopeFrequencies::new(frequencies.len(), Arc::new(inner)))
    }

    fn rope_table(
        &self,
        frequencies: &RopeFrequencies,
        positions: &Tensor,
        cos: &Tensor,
        sin: &Tensor,
    ) -> Result<()> {
        rows::rope_table(&self.work()?, frequencies, positions, cos, sin)
    }

    fn apply_rope(
        &self,
        style: RopeStyle,
        tables: (&Tensor, &Tensor),
        x: &Tensor,
        out: &Tensor,
    ) -> Result<()> {
        rows::apply_rope(&self.work()?, style, tables, x, out)
    }

    fn kv_append(&self, layer: &KvLayer, k: &Tensor, v: &Tensor, slots: &Tensor) -> Result<()> {
        attention::append(&self.work()?, layer, k, v, slots)
    }

    fn rope_append(&self, by: &RopeAppend<'_>, layer: &KvLayer) -> Result<()> {
        attention::rope_append(&self.work()?, by, layer)
    }

    fn attention(&self, attention: &Attention<'_>, out: &Tensor) -> Result<()> {
        attention::attention(&self.work()?, attention, out)
    }

    fn causal_conv(
        &self,
        x: &Tensor,
        weight: &Tensor,
        states: &Tensor,
        slots: &Tensor,
        out: &Tensor,
    ) -> Result<()> {
        delta::causal_conv(&self.work()?, x, weight, states, slots, out)
    }

    fn gated_delta(&self, delta: &GatedDelta<'_>, out: &Tensor) -> Result<()> {
        delta::gated_delta(&self.work()?, delta, out)
    }

    fn moe_gate(&self, gate: &MoeGate<'_>, logits: &Tensor, weights: &Tensor, ids: &Tensor) -> Result<()> {
        experts::gate(&self.work()?, gate, logits, weights, ids)
    }

    fn moe_matmul(&self, x: &Tensor, w: &Tensor, ids: &Tensor, out: &Tensor) -> Result<()> {
        experts::matmul(self, x, w, ids, out)
    }

    fn moe_combine(&self, y: &Tensor, weights: &Tensor, out: &Tensor) -> Result<()> {
        experts::combine(&self.work()?, y, weights, out)
    }

    fn count_tokens(&self, tokens: &Tensor, counts: &Tensor) -> Result<()> {
        sampling::count_tokens(&self.work()?, tokens, counts)
    }

    fn penalize(&self, counts: &Tensor, penalties: &Tensor, logits: &Tensor) -> Result<()> {
        sampling::penalize(&self.work()?, counts, penalties, logits)
    }

    fn sample(&self, logits: &Tensor, settings: &Tensor, uniforms: &Tensor, tokens: &Tensor) -> Result<()> {
        sampling::sample(&self.work()?, logits, settings, uniforms, tokens)
    }

    fn argmax(&self, x: &Tensor, out: &Tensor) -> Result<()> {
        sampling::argmax(&self.work()?, x, out)
    }

    fn top_k(&self, x: &Tensor, values: &Tensor, indices: &Tensor) -> Result<()> {
        sampling::top_k(&self.work()?, x, values, indices)
    }
}

impl BackendInfo {
    /// What a GPU is.
    pub(crate) fn of_device(device: &Device) -> Self {
        let properties = device.properties();
        let kind = match device.backend() {
            Backend::Amd => BackendKind::Rocm,
            Backend::Cuda => BackendKind::Cuda,
            Backend::Virtual => BackendKind::Virtual,
        };
        Self {
            kind,
            uri: device.uri().to_string(),
            name: device.name().to_owned(),
            compute_units: properties.compute_units as usize,
            wave: properties.wave_size as usize,
        }
    }
}

/// The bytes of a tensor without gaps, as a tensor.
fn bytes_view(tensor: &Tensor) -> Result<Tensor> {
    tensor.as_bytes()
}
