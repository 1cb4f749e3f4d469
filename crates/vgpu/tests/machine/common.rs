//! Compiles the device sources of these tests and launches their kernels directly on the machine.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use code_object::{ArgKind, HiddenArg};
use test_skip::{Lack, skip};
use vgpu::DeviceConfig;
use vgpu::isa::Isa;
use vgpu::machine::{
    Device, Dispatch, DispatchError, DispatchStats, LoadedCode, Machine, MemoryKind, PRIVATE_APERTURE,
    SHARED_APERTURE,
};

/// The targets that every test runs on: those after which instruction sets are named.
pub(crate) const TARGETS: &[&str] = &{
    let mut names = [""; Isa::ALL.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = Isa::ALL[index].name();
        index += 1;
    }
    names
};

/// The targets whose waves have 32 lanes by default.
fn narrow_targets() -> &'static [&'static str] {
    let first = TARGETS.iter().position(|target| !target.starts_with("gfx9")).expect("some have");
    &TARGETS[first..]
}

/// No test's dispatch takes this long. If one hangs, the fault report shows where, which killing the test
/// could not.
const HANGS_AFTER: Duration = Duration::from_secs(120);

/// Compiled sources, or why there are none.
type Built = OnceLock<Result<kernel_build::Build, String>>;

fn compile<'a>(
    built: &'a Built,
    targets: &[&str],
    options: &[&str],
) -> Result<&'a kernel_build::Build, &'a str> {
    let built = built.get_or_init(|| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/device");
        let builder = kernel_build::Builder::new(folder).targets(targets).source_lines(true).jobs(2);
        // The tests of occupancy compare their results with these remarks.
        let builder = builder.flag("-Rpass-analysis=kernel-resource-usage");
        let builder = options.iter().fold(builder, |builder, option| builder.flag(*option));
        builder.build().map_err(|error| error.to_string())
    });
    built.as_ref().map_err(String::as_str)
}

/// The sources, compiled for each target's default wave size.
fn build() -> Result<&'static kernel_build::Build, &'static str> {
    static BUILD: Built = OnceLock::new();
    compile(&BUILD, TARGETS, &[])
}

/// The sources, compiled for waves of 64 on targets whose default is 32.
fn build_wide() -> Result<&'static kernel_build::Build, &'static str> {
    static BUILD: Built = OnceLock::new();
    compile(&BUILD, narrow_targets(), &["-mwavefrontsize64"])
}

/// The code of all test modules for all targets; empty if there is no toolchain.
pub(crate) fn objects() -> Vec<&'static kernel_build::BuiltObject> {
    build().map_or_else(|_| Vec::new(), |build| build.objects().map(|(_, object)| object).collect())
}

/// A virtual GPU with one of the test modules loaded.
pub(crate) struct Gpu {
    pub(crate) device: Arc<Device>,
    pub(crate) code: Arc<LoadedCode>,
    buffers: Mutex<Vec<u64>>,
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arg<'a> {
    Pointer(u64),
    Bytes(&'a [u8]),
    I32(i32),
    U32(u32),
    I64(i64),
    U64(u64),
    F32(f32),
}

/// Runs a test on every target; prints the reason if there is no toolchain to compile kernels with.
pub(crate) fn on_all(module: &str, mut test: impl FnMut(&Gpu)) {
    for target in TARGETS {
        match Gpu::open(module, target) {
            Ok(gpu) => test(&gpu),
            Err(why) => {
                assert!(!why.contains("error:"), "{why}");
                skip(Lack::Tool, why);
                return;
            }
        }
    }
}

/// Like [`on_all`], and additionally with waves of 64 on targets whose default is 32.
pub(crate) fn on_all_wave_sizes(module: &str, mut test: impl FnMut(&Gpu)) {
    on_all(module, &mut test);
    if let Ok(build) = build_wide() {
        for target in narrow_targets() {
            test(&Gpu::of_build(build, module, target, target));
        }
    }
}

fn bytes_of<'a>(build: &'a kernel_build::Build, module: &str, target: &str) -> &'a [u8] {
    let module = build.modules.iter().find(|built| built.name == module).expect("a test module");
    let object = module.objects.iter().find(|object| object.target.processor == target).expect("its code");
    &object.bytes
}

impl Gpu {
    pub(crate) fn open(module: &str, target: &str) -> Result<Gpu, &'static str> {
        Gpu::open_as(module, target, target)
    }

    /// `config` is the device's configuration, and the code is that for `target`.
    pub(crate) fn open_as(module: &str, target: &str, config: &str) -> Result<Gpu, &'static str> {
        Ok(Gpu::of_build(build()?, module, target, config))
    }

    fn of_build(build: &kernel_build::Build, module: &str, target: &str, config: &str) -> Gpu {
        Gpu::load(config, bytes_of(build, module, target))
    }

    /// Loads another test module.
    pub(crate) fn load_beside(&self, module: &str) -> Arc<LoadedCode> {
        let build = build().expect("the module that is loaded was built");
        let bytes = bytes_of(build, module, self.device.target().name);
        self.device.load(bytes, &mut |_| None).expect("code that loads")
    }

    /// A virtual GPU with a code object loaded; `config` is the name of a target, optionally with options.
    pub(crate) fn load(config: &str, object: &[u8]) -> Gpu {
        let config: DeviceConfig = config.parse().expect("a supported target");
        let machine = Machine::global();
        let index = machine.attach(&config).expect("a device");
        let device = machine.device(index).expect("the device");
        let code = device.load(object, &mut |_| None).expect("code that loads");
        Gpu { device, code, buffers: Mutex::default() }
    }

    /// Lanes of a wave of the module's kernels.
    pub(crate) fn wave(&self) -> usize {
        self.code.object().kernels()[0].wavefront_size as usize
    }

    pub(crate) fn alloc(&self, size: usize) -> u64 {
        let memory = self.device.memory();
        let address =
            memory.allocate(size as u64, 256, MemoryKind::Coarse, Some(self.device.index())).expect("memory");
        self.buffers.lock().unwrap().push(address);
        address
    }

    /// Makes another one free this one's buffers.
    pub(crate) fn leave_buffers_to(&self, other: &Gpu) {
        other.buffers.lock().unwrap().append(&mut self.buffers.lock().unwrap());
    }

    /// A buffer with these elements.
    pub(crate) fn upload<T: Copy>(&self, data: &[T]) -> u64 {
        let address = self.alloc(size_of_val(data));
        // SAFETY: the allocation holds as many bytes, and no kernel runs.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), address as *mut T, data.len()) };
        self.device.memory().wrote(address, size_of_val(data) as u64);
        address
    }

    pub(crate) fn download<T: Copy>(&self, address: u64, count: usize) -> Vec<T> {
        assert!(self.device.memory().contains(address, (count * size_of::<T>()) as u64));
        // SAFETY: the allocation holds as many elements, and no kernel runs.
        unsafe { std::slice::from_raw_parts(address as *const T, count) }.to_vec()
    }

    pub(crate) fn launch(
        &self,
        kernel: &str,
        grid: [u32; 3],
        workgroup: [u32; 3],
        dynamic_lds: u32,
        args: &[Arg<'_>],
    ) -> Result<DispatchStats, DispatchError> {
        self.dispatch(&self.prepare(kernel, grid, workgroup, dynamic_lds, args))
    }

    pub(crate) fn dispatch(&self, dispatch: &Dispatch) -> Result<DispatchStats, DispatchError> {
        // SAFETY: nothing on the host refers to the buffers of a test while its kernels run; memory of others
        // is not theirs to write.
        unsafe { self.device.dispatch(dispatch) }
    }

    /// Frees memory that a test allocated itself.
    pub(crate) fn free(&self, address: u64) {
        // SAFETY: the test has no other use for it.
        unsafe { self.device.memory().free(address) }.expect("memory that is still there");
    }

    /// The dispatch of a kernel, with its arguments in memory.
    pub(crate) fn prepare(
        &self,
        kernel: &str,
        grid: [u32; 3],
        workgroup: [u32; 3],
        dynamic_lds: u32,
        args: &[Arg<'_>],
    ) -> Dispatch {
        let metadata = self.code.object().kernel(kernel).expect("a kernel of the module");
        let mut kernarg = vec![0u8; metadata.kernarg_size as usize + 64];
        let mut put = |offset: u32, bytes: &[u8]| {
            kernarg[offset as usize..offset as usize + bytes.len()].copy_from_slice(bytes);
        };
        let explicit: Vec<_> = metadata.explicit_args().collect();
        assert_eq!(explicit.len(), args.len(), "arguments of {kernel}");
        for (arg, value) in explicit.iter().zip(args) {
            match value {
                Arg::Pointer(value) => put(arg.offset, &value.to_le_bytes()),
                Arg::Bytes(bytes) => put(arg.offset, bytes),
                Arg::I32(value) => put(arg.offset, &value.to_le_bytes()),
                Arg::U32(value) => put(arg.offset, &value.to_le_bytes()),
                Arg::I64(value) => put(arg.offset, &value.to_le_bytes()),
                Arg::U64(value) => put(arg.offset, &value.to_le_bytes()),
                Arg::F32(value) => put(arg.offset, &value.to_le_bytes()),
            }
        }
        for arg in &metadata.args {
            let ArgKind::Hidden(hidden) = arg.kind else { continue };
            let dimension = |i: usize, what: u8| match what {
                0 => grid[i] / workgroup[i].max(1),
                1 => workgroup[i],
                _ => grid[i] % workgroup[i].max(1),
            };
            let value = match hidden {
                HiddenArg::BlockCountX => dimension(0, 0),
                HiddenArg::BlockCountY => dimension(1, 0),
                HiddenArg::BlockCountZ => dimension(2, 0),
                HiddenArg::GroupSizeX => dimension(0, 1),
                HiddenArg::GroupSizeY => dimension(1, 1),
                HiddenArg::GroupSizeZ => dimension(2, 1),
                HiddenArg::RemainderX => dimension(0, 2),
                HiddenArg::RemainderY => dimension(1, 2),
                HiddenArg::RemainderZ => dimension(2, 2),
                HiddenArg::GridDims => 3,
                HiddenArg::DynamicLdsSize => dynamic_lds,
                HiddenArg::PrivateBase => (PRIVATE_APERTURE >> 32) as u32,
                HiddenArg::SharedBase => (SHARED_APERTURE >> 32) as u32,
                _ => 0,
            };
            put(arg.offset, &value.to_le_bytes()[..arg.size.min(4) as usize]);
        }
        let address = self.upload(&kernarg);
        Dispatch {
            kernel_object: self.code.kernel_object(kernel).expect("its descriptor"),
            grid,
            workgroup,
            kernarg: address,
            group_segment_size: metadata.group_segment_size + dynamic_lds,
            // The depth of the calls that make a stack dynamic is unknown.
            private_segment_size: metadata.private_segment_size
                + if metadata.uses_dynamic_stack { 16 << 10 } else { 0 },
            timeout: Some(HANGS_AFTER),
            ..Dispatch::default()
        }
    }

    /// Launches a one-dimensional grid of whole workgroups, which must succeed.
    pub(crate) fn run(&self, kernel: &str, groups: u32, workgroup: u32, args: &[Arg<'_>]) -> DispatchStats {
        match self.launch(kernel, [groups * workgroup, 1, 1], [workgroup, 1, 1], 0, args) {
            Ok(stats) => stats,
            Err(error) => panic!("{} on {}: {error}", kernel, self.device.target().name),
        }
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        for address in self.buffers.lock().unwrap().drain(..) {
            // SAFETY: the buffers are the module's, which nobody uses any more.
            let _ = unsafe { self.device.memory().free(address) };
        }
    }
}

/// A small pseudo-random number generator.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 ^ self.0 >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    pub(crate) fn i32s(&mut self, count: usize, limit: i32) -> Vec<i32> {
        (0..count).map(|_| (self.next() >> 33) as i32 % limit - limit / 2).collect()
    }

    pub(crate) fn f32s(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| (self.next() >> 40) as f32 / 1e5 - 80.0).collect()
    }
}
