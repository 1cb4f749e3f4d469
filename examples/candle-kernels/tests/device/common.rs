//! Tensors of candle on a device, launches as candle makes them, and comparison.

use std::sync::LazyLock;

use candle_core::{CpuStorage, Device as CandleDevice, Shape, Storage, Tensor, WithDType};
use half::{bf16, f16};
use hip::{Device, DeviceBuffer, DeviceCopy, Function, LazyModule, Stream};

use candle_kernels_on_amd::kernels;

pub static AFFINE: LazyModule = LazyModule::new(&kernels::AFFINE);
pub static BINARY: LazyModule = LazyModule::new(&kernels::BINARY);
pub static CAST: LazyModule = LazyModule::new(&kernels::CAST);
pub static CONV: LazyModule = LazyModule::new(&kernels::CONV);
pub static FILL: LazyModule = LazyModule::new(&kernels::FILL);
pub static INDEXING: LazyModule = LazyModule::new(&kernels::INDEXING);
pub static QUANTIZED: LazyModule = LazyModule::new(&kernels::QUANTIZED);
pub static REDUCE: LazyModule = LazyModule::new(&kernels::REDUCE);
pub static SORT: LazyModule = LazyModule::new(&kernels::SORT);
pub static TERNARY: LazyModule = LazyModule::new(&kernels::TERNARY);
pub static UNARY: LazyModule = LazyModule::new(&kernels::UNARY);

pub const CPU: CandleDevice = CandleDevice::Cpu;

/// No array of dimensions and strides, which is how candle says that all is contiguous.
pub const CONTIGUOUS: Option<&DeviceBuffer<usize>> = None;

/// The device, and a stream of it.
pub struct Gpu {
    pub device: Device,
    pub stream: Stream,
}

impl Gpu {
    pub fn function<'a>(&'a self, module: &'static LazyModule, name: &str) -> &'a Function {
        module.function(&self.device, name).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn upload<T: DeviceCopy>(&self, values: &[T]) -> DeviceBuffer<T> {
        DeviceBuffer::from_slice(&self.stream, values).unwrap()
    }

    pub fn zeroed<T: DeviceCopy>(&self, len: usize) -> DeviceBuffer<T> {
        DeviceBuffer::zeroed(&self.stream, len).unwrap()
    }

    pub fn download<T: DeviceCopy>(&self, buffer: &DeviceBuffer<T>) -> Vec<T> {
        buffer.to_vec(&self.stream).unwrap()
    }

    /// What a tensor's layout refers to, from its first element on.
    pub fn tensor<T: WithDType + DeviceCopy>(&self, tensor: &Tensor) -> DeviceBuffer<T> {
        let (storage, layout) = tensor.storage_and_layout();
        let Storage::Cpu(storage) = &*storage else { panic!("a tensor of the CPU") };
        self.upload(&storage.as_slice::<T>().unwrap()[layout.start_offset()..])
    }

    /// Dimensions and strides of a tensor; none of one that is contiguous.
    pub fn layout(&self, tensor: &Tensor) -> Option<DeviceBuffer<usize>> {
        (!tensor.is_contiguous()).then(|| self.upload(&[tensor.dims(), tensor.stride()].concat()))
    }

    /// Dimensions and strides of a tensor in any case.
    pub fn dims_and_strides(&self, tensor: &Tensor) -> DeviceBuffer<usize> {
        self.upload(&[tensor.dims(), tensor.stride()].concat())
    }
}

pub fn gpu() -> Gpu {
    static DEVICE: LazyLock<Device> = LazyLock::new(|| {
        let named = std::env::var("FERROCM_DEVICE").ok().filter(|uri| !uri.is_empty());
        Device::open(named.unwrap_or_else(|| "vgpu:gfx1100".to_owned())).unwrap()
    });
    let device = DEVICE.clone();
    let stream = device.stream().unwrap();
    Gpu { device, stream }
}

/// Blocks and threads that candle launches for so many elements: `LaunchConfig::for_num_elems`.
pub fn for_elements(elements: usize) -> (u32, u32) {
    const THREADS: u32 = 1024;
    (u32::try_from(elements).unwrap().div_ceil(THREADS), THREADS)
}

/// Launches a kernel: `launch!(gpu, MODULE, name, grid, block; argument, …)`, with `lds bytes` before the `;`
/// where it has some.
macro_rules! launch {
    ($gpu:expr, $module:expr, $name:expr, $grid:expr, $block:expr; $($argument:expr),* $(,)?) => {
        launch!($gpu, $module, $name, $grid, $block, lds 0; $($argument),*)
    };
    ($gpu:expr, $module:expr, $name:expr, $grid:expr, $block:expr, lds $lds:expr; $($argument:expr),* $(,)?) => {{
        let name: &str = $name;
        let function = $gpu.function(&$module, name);
        let launch = function.launch(&$gpu.stream).grid($grid).block($block).dynamic_lds($lds)$(.arg($argument))*;
        // SAFETY: the arguments are those that candle gives the kernel for buffers of these sizes.
        unsafe { launch.enqueue() }.unwrap_or_else(|error| panic!("{name}: {error}"));
        crate::record::launched(name);
    }};
}
pub(crate) use launch;

/// Numbers without a pattern, from -1 to 1.
pub fn noise(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9) ^ 0x1234_5678;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 8_388_608.0 - 1.0
    };
    (0..count).map(next).collect()
}

/// Such numbers from `low` to `high` as a tensor.
pub fn random<T: WithDType>(shape: impl Into<Shape>, low: f32, high: f32, seed: u32) -> Tensor {
    let shape = shape.into();
    let scaled =
        noise(shape.elem_count(), seed).iter().map(|x| low + (x + 1.0) / 2.0 * (high - low)).collect();
    let tensor = Tensor::from_vec::<_, f32>(scaled, shape, &CPU).unwrap();
    tensor.to_dtype(T::DTYPE).unwrap()
}

/// 0, 1, 2, … in an order without a pattern.
pub fn shuffled(count: usize, seed: u32) -> Vec<usize> {
    let keys = noise(count, seed);
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| keys[a].total_cmp(&keys[b]));
    order
}

/// How far a result may be from the expected one: relative to that, and in any case.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    pub relative: f64,
    pub absolute: f64,
}

pub const EXACT: Tolerance = Tolerance { relative: 0.0, absolute: 0.0 };

pub fn within(relative: f64, absolute: f64) -> Tolerance {
    Tolerance { relative, absolute }
}

/// Types that have kernels.
pub trait Element: WithDType + DeviceCopy + PartialOrd {
    /// The type in names of kernels.
    fn name() -> &'static str {
        Self::DTYPE.as_str()
    }
    /// A few units in the last place: libraries differ in the last ones, and kernels round each step to the
    /// type, while the CPU backend computes halves as floats.
    const STEPS: Tolerance;
}

impl Element for f64 {
    const STEPS: Tolerance = Tolerance { relative: 1e-12, absolute: 1e-14 };
}
impl Element for f32 {
    const STEPS: Tolerance = Tolerance { relative: 1e-5, absolute: 1e-6 };
}
impl Element for f16 {
    const STEPS: Tolerance = Tolerance { relative: 1e-2, absolute: 2e-3 };
}
impl Element for bf16 {
    const STEPS: Tolerance = Tolerance { relative: 4e-2, absolute: 1e-2 };
}
macro_rules! integers {
    ($($type:ty),*) => { $(impl Element for $type { const STEPS: Tolerance = EXACT; })* };
}
integers!(u8, u32, i16, i32, i64);

/// Compares what a kernel wrote with a tensor.
#[track_caller]
pub fn compare<T: WithDType>(what: &str, found: &[T], expected: &Tensor, tolerance: Tolerance) {
    assert_eq!(expected.dtype(), T::DTYPE, "{what}");
    let expected = expected.flatten_all().unwrap().to_vec1::<T>().unwrap();
    compare_slices(what, found, &expected, tolerance);
}

#[track_caller]
pub fn compare_slices<T: WithDType>(what: &str, found: &[T], expected: &[T], tolerance: Tolerance) {
    assert_eq!(found.len(), expected.len(), "{what}: elements");
    assert!(!found.is_empty(), "{what}: nothing to compare");
    crate::record::compared(what, found, expected);
    let wrong = |(&found, &expected): (&T, &T)| {
        let (found, expected) = (found.to_f64(), expected.to_f64());
        let same = found == expected || found.is_nan() && expected.is_nan();
        let near = (found - expected).abs() <= tolerance.absolute + tolerance.relative * expected.abs();
        !(same || near)
    };
    let count = found.iter().zip(expected).filter(|&pair| wrong(pair)).count();
    if let Some(at) = found.iter().zip(expected).position(wrong) {
        panic!(
            "{what}: {count} of {} elements differ; the first, {at}, is {}, not {}",
            found.len(),
            found[at].to_f64(),
            expected[at].to_f64()
        );
    }
}

/// A tensor of what a kernel wrote.
pub fn to_tensor<T: WithDType>(values: Vec<T>, shape: impl Into<Shape>) -> Tensor {
    Tensor::from_vec(values, shape.into(), &CPU).unwrap()
}

/// The bytes of a tensor of `float8`'s numbers, which `hip` does not know.
pub fn fp8_bytes(tensor: &Tensor) -> Vec<u8> {
    let (storage, layout) = tensor.storage_and_layout();
    let Storage::Cpu(CpuStorage::F8E4M3(values)) = &*storage else { panic!("fp8 numbers") };
    values[layout.start_offset()..].iter().map(|value| value.to_bits()).collect()
}
