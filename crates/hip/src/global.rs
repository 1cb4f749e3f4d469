//! Variables of modules: `__device__` and `__constant__`.

use std::any::type_name;
use std::ffi::CString;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use hip_sys::{hipDeviceptr_t, hipError_t};

use crate::call::call;
use crate::error::{Error, Result};
use crate::memory::{Allocation, DeviceAddress, DeviceCopy, DeviceSlice, DeviceSliceMut};
use crate::module::Module;
use crate::stream::Stream;

/// A variable of a module, as an array of `T` in device memory: made by [`Module::global`].
///
/// Its views are copied, filled and handed to kernels like a [`DeviceBuffer`](crate::DeviceBuffer)'s. It keeps the module loaded.
///
/// Which kernels use a variable is not known, so every kernel of the module counts as one that may write it: as long as a handle of one of
/// the module's variables exists, or a graph that was made while there was one, its kernels on several streams run one after the other,
/// and after copies from and to its variables. So do those of a graph that are added as long as there is a handle.
#[doc(alias = "__device__")]
#[doc(alias = "__constant__")]
pub struct Global<T: DeviceCopy> {
    allocation: Arc<Allocation>,
    address: DeviceAddress,
    len: usize,
    module: Module,
    marker: PhantomData<T>,
}

/// What a module knows of its variables' uses, once somebody has asked for one: all of them are one allocation, which exists as long
/// as somebody has one.
pub(crate) type Globals = OnceLock<Mutex<Weak<Allocation>>>;

impl Module {
    /// Finds a variable (`__device__` or `__constant__`) by its name, mangled for C++ variables in namespaces
    /// (`hipModuleGetGlobal`). The first handle waits for kernels of the module that run.
    ///
    /// ```no_run
    /// # fn main() -> hip::Result<()> {
    /// # let device = hip::Device::open("auto")?;
    /// # let stream = device.stream()?;
    /// # let module = hip::Module::load(&device, &[])?;
    /// let mut factors = module.global::<f32>("factors")?; // __constant__ float factors[2];
    /// factors.as_mut_slice().copy_from_host(&stream, &[0.5, 2.0])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::GlobalNotFound`]; [`Error::GlobalType`] if its size is not that of a whole number of `T`, or its address not aligned for
    /// it; else [`Error::Hip`].
    #[doc(alias = "hipModuleGetGlobal")]
    #[doc(alias = "cuModuleGetGlobal")]
    #[doc(alias = "hipGetSymbolAddress")]
    #[doc(alias = "cudaGetSymbolAddress")]
    #[doc(alias = "cudaMemcpyToSymbol")]
    #[doc(alias = "cudaMemcpyFromSymbol")]
    pub fn global<T: DeviceCopy>(&self, name: &str) -> Result<Global<T>> {
        let missing = || Error::GlobalNotFound { module: self.name().to_owned(), global: name.to_owned() };
        // AMD's library finds something of no name.
        let c_name = CString::new(name).ok().filter(|name| !name.is_empty()).ok_or_else(missing)?;
        let (mut pointer, mut bytes): (hipDeviceptr_t, usize) = (std::ptr::null_mut(), 0);
        let device = self.device();
        device.make_current()?;
        // SAFETY: the module is loaded, the name ends in NUL, and the results are places to write to.
        let found = unsafe {
            call!(
                device.table(),
                hipModuleGetGlobal(&raw mut pointer, &raw mut bytes, self.as_raw(), c_name.as_ptr())
            )
        };
        found.map_err(|error| match error.code() {
            Some(hipError_t::hipErrorNotFound) => missing(),
            _ => error,
        })?;
        let size = size_of::<T>();
        if size == 0 || !bytes.is_multiple_of(size) || !pointer.addr().is_multiple_of(align_of::<T>()) {
            return Err(Error::GlobalType {
                module: self.name().to_owned(),
                global: name.to_owned(),
                bytes,
                element: type_name::<T>(),
                size,
            });
        }
        let address = DeviceAddress(pointer.expose_provenance() as u64);
        let allocation = self.globals_allocation(address, bytes)?;
        Ok(Global { allocation, address, len: bytes / size, module: self.clone(), marker: PhantomData })
    }

    /// What uses of the module's variables are registered with.
    fn globals_allocation(&self, address: DeviceAddress, bytes: usize) -> Result<Arc<Allocation>> {
        let globals = self.globals().get_or_init(Mutex::default);
        let mut globals = globals.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(allocation) = globals.upgrade() {
            return Ok(allocation);
        }
        // Kernels that were launched before are not registered there.
        self.wait()?;
        let allocation = Allocation::foreign(self.device(), address, bytes, self.clone());
        // Several handles may be written at once, like the parts of a buffer that is split.
        allocation.split();
        *globals = Arc::downgrade(&allocation);
        Ok(allocation)
    }

    /// A kernel of the module is about to be enqueued, which may use its variables.
    #[inline]
    pub(crate) fn globals_used_on(&self, stream: &Stream) -> Result<()> {
        match self.globals().get() {
            None => Ok(()),
            Some(globals) => write_on(globals, stream),
        }
    }

    /// What uses of the module's variables are registered with, if somebody has one.
    pub(crate) fn globals_in_use(&self) -> Option<Arc<Allocation>> {
        self.globals().get()?.lock().unwrap_or_else(PoisonError::into_inner).upgrade()
    }
}

#[inline(never)]
fn write_on(globals: &Mutex<Weak<Allocation>>, stream: &Stream) -> Result<()> {
    let allocation = globals.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
    match allocation {
        // A failure of an earlier kernel is not this one's.
        Some(allocation) => allocation.write_on(stream),
        None => Ok(()),
    }
}

impl<T: DeviceCopy> Global<T> {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The module that it belongs to.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// All elements, shared.
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        DeviceSlice::new(&self.allocation, self.address, self.len)
    }

    /// All elements, exclusive.
    pub fn as_mut_slice(&mut self) -> DeviceSliceMut<'_, T> {
        DeviceSliceMut::new(&self.allocation, self.address, self.len)
    }
}

impl<T: DeviceCopy> fmt::Debug for Global<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Global")
            .field("type", &type_name::<T>())
            .field("len", &self.len)
            .field("address", &self.address)
            .field("module", &self.module)
            .finish()
    }
}
