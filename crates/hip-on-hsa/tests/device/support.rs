//! The device in `FERROCM_DEVICE`, and the test kernels built for it.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_void};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use hip_sys::{
    Table, hipDeviceProp_tR0600, hipError_t, hipEvent_t, hipFunction_t, hipMemcpyKind, hipModule_t,
    hipStream_t,
};
use kernel_build::Builder;

pub(crate) type E = hipError_t;

pub(crate) const OK: E = E::hipSuccess;
pub(crate) const NULL: hipStream_t = std::ptr::null_mut();

/// Calls a function of the table. Each test keeps the contract of the function.
macro_rules! hip {
    ($name:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: as the macro says.
        unsafe { ($crate::support::table().$name)($($argument),*) }
    };
}
pub(crate) use hip;

/// The HIP table over the HSA of `FERROCM_DEVICE`; by default `vgpu:gfx1100`.
pub(crate) fn table() -> &'static Table {
    static TABLE: OnceLock<&'static Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let device = std::env::var("FERROCM_DEVICE").unwrap_or_default();
        let hsa = match device.strip_prefix("vgpu") {
            Some(rest) => attach(rest.strip_prefix(':').unwrap_or(rest)),
            None if device.is_empty() || device == "auto" => attach(""),
            None if device.starts_with("amdgpu") => {
                hsa_sys::Table::load().unwrap_or_else(|error| panic!("{error}"))
            }
            None => panic!("FERROCM_DEVICE={device}: these tests run on vgpu and amdgpu"),
        };
        hip_on_hsa::table(hsa).unwrap()
    })
}

/// Whether `FERROCM_DEVICE` names virtual devices.
pub(crate) fn is_virtual() -> bool {
    // Refuses anything else.
    table();
    !std::env::var("FERROCM_DEVICE").is_ok_and(|device| device.starts_with("amdgpu"))
}

fn attach(config: &str) -> &'static hsa_sys::Table {
    let config = if config.is_empty() { "gfx1100" } else { config };
    let config: vgpu::DeviceConfig = config.parse().unwrap_or_else(|error| panic!("{error}"));
    vgpu::attach(&config).unwrap();
    vgpu::hsa::table()
}

/// The current device's properties.
pub(crate) fn properties() -> hipDeviceProp_tR0600 {
    // SAFETY: all numbers and pointers of the structure may be zero.
    let (mut device, mut properties) = (-1, unsafe { std::mem::zeroed() });
    assert_eq!(hip!(hipGetDevice(&mut device)), OK);
    assert_eq!(hip!(hipGetDevicePropertiesR0600(&mut properties, device)), OK);
    properties
}

/// The test kernels, loaded on the current device.
pub(crate) struct Kernels {
    pub(crate) module: hipModule_t,
}

impl Kernels {
    pub(crate) fn load() -> Self {
        Self::of_version(5)
    }

    pub(crate) fn of_version(version: u8) -> Self {
        Self::build("kernels", version, &[])
    }

    /// Kernels that need the host while they run, compiled with more options.
    pub(crate) fn services(version: u8, options: &[&str]) -> Self {
        Self::build("services", version, options)
    }

    /// Kernels that try to harm the process.
    pub(crate) fn hostile() -> Self {
        Self::hostile_with(&[])
    }

    /// The same, compiled with more options.
    pub(crate) fn hostile_with(options: &[&str]) -> Self {
        Self::build("hostile", 5, options)
    }

    fn build(folder: &str, version: u8, options: &[&str]) -> Self {
        static BUILT: Mutex<BTreeMap<String, Vec<u8>>> = Mutex::new(BTreeMap::new());
        let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        let arch = properties().gcnArchName.map(|byte| byte as u8);
        let arch = CStr::from_bytes_until_nul(&arch).unwrap().to_str().unwrap();
        let target = arch.split(':').next().unwrap();
        let bytes = built.entry(format!("{folder} {target} {version} {options:?}")).or_insert_with(|| {
            let folder = format!("{}/tests/{folder}", env!("CARGO_MANIFEST_DIR"));
            let builder = Builder::new(folder).targets([target]).code_object_version(version);
            let build = options.iter().fold(builder, |builder, option| builder.flag(*option)).build();
            build.unwrap_or_else(|error| panic!("{error}")).modules[0].objects[0].bytes.clone()
        });
        let mut module = std::ptr::null_mut();
        assert_eq!(hip!(hipModuleLoadData(&mut module, bytes.as_ptr().cast())), OK);
        Self { module }
    }

    pub(crate) fn get(&self, name: &str) -> hipFunction_t {
        let name = CString::new(name).unwrap();
        let mut function = std::ptr::null_mut();
        assert_eq!(hip!(hipModuleGetFunction(&mut function, self.module, name.as_ptr())), OK);
        function
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        assert_eq!(hip!(hipModuleUnload(self.module)), OK);
    }
}

/// Launches with arguments given as references to their values.
pub(crate) fn launch(
    function: hipFunction_t,
    blocks: [u32; 3],
    block: [u32; 3],
    lds: u32,
    stream: hipStream_t,
    arguments: &mut [*mut c_void],
) -> E {
    hip!(hipModuleLaunchKernel(
        function,
        blocks[0],
        blocks[1],
        blocks[2],
        block[0],
        block[1],
        block[2],
        lds,
        stream,
        arguments.as_mut_ptr(),
        std::ptr::null_mut()
    ))
}

/// Pointers to values, as `hipModuleLaunchKernel` takes them.
macro_rules! arguments {
    ($($value:ident),*) => { &mut [$((&raw mut $value).cast::<std::ffi::c_void>()),*] };
}
pub(crate) use arguments;

/// Lets one test run at a time if they share a process, because they also share the device and its default
/// stream.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Output of device code to standard output and standard error during a test, by file descriptor number.
#[derive(Default)]
pub(crate) struct Printed(Mutex<[String; 3]>);

impl Printed {
    /// Runs a test's work and returns the output.
    pub(crate) fn by(work: impl FnOnce()) -> (String, String) {
        unsafe extern "C" fn take(
            data: *mut c_void,
            channel: i32,
            text: *const std::ffi::c_char,
            size: usize,
        ) {
            // SAFETY: `data` is the object below, which lives until it is no longer called; the text has that
            // many bytes.
            let (printed, text) =
                unsafe { (&*data.cast::<Printed>(), std::slice::from_raw_parts(text.cast::<u8>(), size)) };
            let text = String::from_utf8_lossy(text);
            printed.0.lock().unwrap()[channel as usize].push_str(&text);
        }
        let redirect = table().ext.device_output.unwrap();
        let printed = Printed::default();
        // SAFETY: the object outlives the redirection.
        unsafe { redirect(Some(take), (&raw const printed).cast_mut().cast()) };
        work();
        // SAFETY: no function, no data.
        unsafe { redirect(None, std::ptr::null_mut()) };
        let [_, output, error] = printed.0.into_inner().unwrap();
        (output, error)
    }
}

/// Launches a cooperative grid with arguments given as references to their values.
pub(crate) fn launch_cooperative(
    function: hipFunction_t,
    blocks: u32,
    block: u32,
    arguments: &mut [*mut c_void],
) -> E {
    let list = arguments.as_mut_ptr();
    hip!(hipModuleLaunchCooperativeKernel(function, blocks, 1, 1, block, 1, 1, 0, NULL, list))
}

/// Device memory, freed on drop.
pub(crate) struct Memory {
    pub(crate) pointer: *mut c_void,
    pub(crate) size: usize,
}

impl Memory {
    pub(crate) fn new(size: usize) -> Self {
        let mut pointer = std::ptr::null_mut();
        assert_eq!(hip!(hipMalloc(&mut pointer, size)), OK);
        assert!(!pointer.is_null());
        Self { pointer, size }
    }

    pub(crate) fn of<T: Copy>(values: &[T]) -> Self {
        let memory = Self::new(size_of_val(values));
        memory.write(values);
        memory
    }

    pub(crate) fn write<T: Copy>(&self, values: &[T]) {
        let (from, size) = (values.as_ptr().cast(), size_of_val(values));
        assert_eq!(hip!(hipMemcpy(self.pointer, from, size, hipMemcpyKind::hipMemcpyHostToDevice)), OK);
    }

    pub(crate) fn read<T: Copy + Default>(&self, count: usize) -> Vec<T> {
        let mut values = vec![T::default(); count];
        let (to, size) = (values.as_mut_ptr().cast(), count * size_of::<T>());
        assert_eq!(hip!(hipMemcpy(to, self.pointer, size, hipMemcpyKind::hipMemcpyDeviceToHost)), OK);
        values
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        assert_eq!(hip!(hipFree(self.pointer)), OK);
    }
}

/// A stream, destroyed on drop.
pub(crate) struct Stream(pub hipStream_t);

impl Stream {
    pub(crate) fn new(flags: u32) -> Self {
        let mut stream = NULL;
        assert_eq!(hip!(hipStreamCreateWithFlags(&mut stream, flags)), OK);
        Self(stream)
    }

    pub(crate) fn wait(&self) -> E {
        hip!(hipStreamSynchronize(self.0))
    }

    /// The text of the stream's failure.
    pub(crate) fn report(&self) -> String {
        report(self.0)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        assert_eq!(hip!(hipStreamDestroy(self.0)), OK);
    }
}

/// The text of a stream's failure.
pub(crate) fn report(stream: hipStream_t) -> String {
    let report = table().ext.stream_fault_report.unwrap();
    let mut buffer = vec![0u8; 1 << 16];
    // SAFETY: the buffer has as many bytes as is said.
    let length = unsafe { report(stream, buffer.as_mut_ptr().cast(), buffer.len()) };
    buffer.truncate(length);
    String::from_utf8(buffer).unwrap()
}

/// An event, destroyed on drop.
pub(crate) struct Event(pub hipEvent_t);

impl Event {
    pub(crate) fn new() -> Self {
        let mut event = std::ptr::null_mut();
        assert_eq!(hip!(hipEventCreate(&mut event)), OK);
        Self(event)
    }

    pub(crate) fn record(&self, stream: &Stream) {
        assert_eq!(hip!(hipEventRecord(self.0, stream.0)), OK);
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        assert_eq!(hip!(hipEventDestroy(self.0)), OK);
    }
}
