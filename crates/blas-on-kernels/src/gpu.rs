//! The kernels on a device: loaded on first use, and kept for the life of the process.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_int};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use code_object::{Architecture, Processor, TargetId, embedded};
use hip_sys::{hipDeviceProp_tR0600, hipError_t, hipFunction_t, hipModule_t};
use rocblas_sys::rocblas_status;

use crate::args::Type;
use crate::call::Result;

pub(crate) const INTERNAL: rocblas_status = rocblas_status::rocblas_status_internal_error;

/// HIP's status as a rocBLAS status.
pub(crate) fn check(error: hipError_t) -> Result {
    match error {
        hipError_t::hipSuccess => Ok(()),
        hipError_t::hipErrorOutOfMemory => Err(rocblas_status::rocblas_status_memory_error),
        hipError_t::hipErrorNoBinaryForGpu => Err(rocblas_status::rocblas_status_arch_mismatch),
        hipError_t::hipErrorInvalidDevicePointer => Err(rocblas_status::rocblas_status_invalid_pointer),
        other => {
            tracing::debug!(?other, "a call of HIP failed");
            Err(INTERNAL)
        }
    }
}

/// The instructions that `kernels/blas/matmul.cu` uses for products on a device: the conditions of
/// `kernels/matrix.cuh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    /// MFMA: matrix instructions for every type.
    Mfma,
    /// WMMA: matrix instructions for 16-bit floats and 8-bit integers.
    Wmma,
    /// Dot and multiply-add instructions.
    Dot,
}

/// The instructions of a processor for products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instructions {
    pub(crate) class: Class,
    /// Whether there are instructions for rocBLAS 6's formats of 8-bit floats. Those of gfx950 and gfx12 use
    /// other formats, which lack some of the numbers.
    pub(crate) f8: bool,
}

impl Instructions {
    /// Nothing for a processor whose generation `kernels/matrix.cuh` does not know.
    pub(crate) fn of(processor: &str) -> Option<Self> {
        let architecture = Processor::by_name(processor)?.architecture;
        let class = match architecture {
            Architecture::Cdna2 | Architecture::Cdna3 | Architecture::Cdna4 => Class::Mfma,
            Architecture::Rdna3 | Architecture::Rdna35 | Architecture::Rdna4 => Class::Wmma,
            Architecture::Rdna2 => Class::Dot,
            Architecture::Gcn | Architecture::Cdna1 | Architecture::Rdna1 | Architecture::Gfx125 => {
                return None;
            }
        };
        Some(Self { class, f8: architecture == Architecture::Cdna3 })
    }
}

impl Class {
    pub(crate) const ALL: [Self; 3] = [Self::Mfma, Self::Wmma, Self::Dot];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mfma => "mfma",
            Self::Wmma => "wmma",
            Self::Dot => "dot",
        }
    }

    /// Lanes of a wave.
    pub(crate) fn wave(self) -> u32 {
        if self == Self::Mfma { 64 } else { 32 }
    }

    /// Whether there are matrix instructions for products of this type.
    pub(crate) fn has_instructions(self, kind: Type) -> bool {
        match self {
            Self::Mfma => true,
            Self::Wmma => !matches!(kind, Type::F32 | Type::F64),
            Self::Dot => false,
        }
    }

    /// Whether `kernels/blas/matmul.cu` has products of this type.
    pub(crate) fn multiplies(self, kind: Type) -> bool {
        kind != Type::F64 || self.has_instructions(kind)
    }
}

/// A device of a HIP table.
pub(crate) struct Gpu {
    pub(crate) hip: &'static hip_sys::Table,
    pub(crate) device: c_int,
    pub(crate) compute_units: u32,
    target: TargetId,
    /// `None` if `kernels/blas/matmul.cu` has no products for it.
    pub(crate) instructions: Option<Instructions>,
    functions: RwLock<HashMap<(usize, &'static str), Function>>,
    modules: Mutex<HashMap<usize, Module>>,
}

#[derive(Clone, Copy)]
pub(crate) struct Function(hipFunction_t);
// SAFETY: HIP's functions may be launched from any thread.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

impl Function {
    pub(crate) fn raw(self) -> hipFunction_t {
        self.0
    }
}

struct Module(hipModule_t);
// SAFETY: HIP's modules may be used from any thread.
unsafe impl Send for Module {}

type Key = (usize, c_int);
static GPUS: Mutex<Vec<(Key, Arc<Gpu>)>> = Mutex::new(Vec::new());

impl Gpu {
    /// A device by its HIP table and number.
    pub(crate) fn of(hip: &'static hip_sys::Table, device: c_int) -> Result<Arc<Self>> {
        let key = (std::ptr::from_ref(hip).addr(), device);
        let mut gpus = GPUS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, gpu)) = gpus.iter().find(|(known, _)| *known == key) {
            return Ok(Arc::clone(gpu));
        }
        let mut properties = std::mem::MaybeUninit::<hipDeviceProp_tR0600>::zeroed();
        // SAFETY: there is room for the properties.
        check(unsafe { (hip.hipGetDevicePropertiesR0600)(properties.as_mut_ptr(), device) })?;
        // SAFETY: HIP has filled it; all fields are plain numbers, for which zeros are valid.
        let properties = unsafe { properties.assume_init() };
        // SAFETY: HIP writes a NUL-terminated name; everything else is zero.
        let name = unsafe { CStr::from_ptr(properties.gcnArchName.as_ptr()) };
        let target: Option<TargetId> = name.to_str().ok().and_then(|name| name.parse().ok());
        let target = target.ok_or(rocblas_status::rocblas_status_arch_mismatch)?;
        let gpu = Arc::new(Self {
            hip,
            device,
            compute_units: u32::try_from(properties.multiProcessorCount).unwrap_or(1).max(1),
            instructions: Instructions::of(&target.processor),
            target,
            functions: RwLock::default(),
            modules: Mutex::default(),
        });
        gpus.push((key, Arc::clone(&gpu)));
        Ok(gpu)
    }

    /// A kernel. The device is the current one.
    pub(crate) fn function(&self, module: &'static embedded::Module, name: &'static str) -> Result<Function> {
        let of = std::ptr::from_ref(module).addr();
        let known = self.functions.read().unwrap_or_else(PoisonError::into_inner).get(&(of, name)).copied();
        if let Some(function) = known {
            return Ok(function);
        }
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = match modules.get(&of) {
            Some(loaded) => loaded.0,
            None => {
                let loaded = self.load(module)?;
                modules.insert(of, Module(loaded));
                loaded
            }
        };
        let text = CString::new(name).map_err(|_| INTERNAL)?;
        let mut function = std::ptr::null_mut();
        // SAFETY: the module is loaded, and the name is NUL-terminated.
        check(unsafe { (self.hip.hipModuleGetFunction)(&mut function, loaded, text.as_ptr()) })?;
        let function = Function(function);
        self.functions.write().unwrap_or_else(PoisonError::into_inner).insert((of, name), function);
        Ok(function)
    }

    fn load(&self, module: &'static embedded::Module) -> Result<hipModule_t> {
        let object = module.for_device(&self.target).ok_or(rocblas_status::rocblas_status_arch_mismatch)?;
        let code = object.code().map_err(|_| INTERNAL)?;
        let mut loaded = std::ptr::null_mut();
        // SAFETY: the code is a whole ELF file.
        check(unsafe { (self.hip.hipModuleLoadData)(&mut loaded, code.as_ptr().cast()) })?;
        Ok(loaded)
    }
}
