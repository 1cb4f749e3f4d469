//! Variables of modules: `__device__` and `__constant__`.

use std::any::type_name;
use std::ffi::CString;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use hip_sys::{hipDeviceptr_t, hipError_t};

use crate::call::call;
use crate::error::{Error, Result};
use crate::memory::{Allocation, DeviceAddress, DeviceCopy, DeviceSlice, DeviceSliceMut};
use crate::module::Module;
use crate::stream::Stream;

/// Shared access to a variable of a module, as an array of `T` in device memory. [`Module::global`] makes it.
///
/// Read it like a [`DeviceBuffer`](crate::DeviceBuffer): copy it to the host, slice it, pass it to kernels as
/// `&global`. Any number of handles may exist, as long as none of them is a [`GlobalMut`]. Each keeps the
/// module loaded.
///
/// # Order
/// This crate cannot know which kernels use a variable, so every kernel of the module counts as a writer.
/// While a handle of any of the module's variables exists, or a graph that was made while one existed, the
/// module's kernels on several streams run one after the other, and after copies from and to its variables.
/// This includes kernels that are added to a graph while a handle exists.
#[doc(alias = "__device__")]
#[doc(alias = "__constant__")]
pub struct Global<T: DeviceCopy>(Variable<T>);

/// Exclusive access to a variable of a module, as an array of `T` in device memory. [`Module::global_mut`]
/// makes it.
///
/// Fill it, copy to it, pass it to kernels as `&mut global`, or read it like a [`Global`]. While it exists,
/// no other handle covers any of its bytes; to use the variable in several places, share this handle.
/// [`Global`] explains how uses are ordered.
#[doc(alias = "__device__")]
#[doc(alias = "__constant__")]
pub struct GlobalMut<T: DeviceCopy>(Variable<T>);

/// A variable with a handle.
struct Variable<T> {
    allocation: Arc<Allocation>,
    address: DeviceAddress,
    len: usize,
    claim: Claim,
    marker: PhantomData<T>,
}

/// Claims the bytes of a handle, so that no second handle can view bytes that one may write. Dropping it
/// releases them.
struct Claim {
    module: Module,
    bytes: Range<u64>,
    exclusive: bool,
}

impl Drop for Claim {
    fn drop(&mut self) {
        let Some(variables) = self.module.globals().get() else { return };
        let claimed = &mut lock(variables).claimed;
        let own = |other: &(Range<u64>, bool)| other.0 == self.bytes && other.1 == self.exclusive;
        // Claims of the same bytes are interchangeable: remove any one.
        if let Some(index) = claimed.iter().position(own) {
            claimed.swap_remove(index);
        }
    }
}

/// A module's record of its variables, created at the first request.
pub(crate) type Globals = OnceLock<Mutex<Variables>>;

/// The variables of a module that have handles.
#[derive(Default)]
pub(crate) struct Variables {
    /// The allocation that uses of all variables are registered with; it exists while a handle does.
    allocation: Weak<Allocation>,
    /// The bytes of each handle, and whether it may write them.
    claimed: Vec<(Range<u64>, bool)>,
}

fn lock(variables: &Mutex<Variables>) -> MutexGuard<'_, Variables> {
    // The data is consistent at every point that could panic.
    variables.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Module {
    /// Finds a variable (`__device__` or `__constant__`) for reading, by its name, which is mangled for C++
    /// variables in namespaces (`hipModuleGetGlobal`). The first handle of any of the module's variables
    /// waits for running kernels of the module.
    ///
    /// # Errors
    /// [`Error::GlobalNotFound`]; [`Error::GlobalType`] if its size is not a multiple of `T`'s or its address
    /// is not aligned for `T`; [`Error::GlobalInUse`] while a [`GlobalMut`] of it exists; else
    /// [`Error::Hip`].
    #[doc(alias = "hipModuleGetGlobal")]
    #[doc(alias = "cuModuleGetGlobal")]
    #[doc(alias = "hipGetSymbolAddress")]
    #[doc(alias = "cudaGetSymbolAddress")]
    #[doc(alias = "cudaMemcpyFromSymbol")]
    pub fn global<T: DeviceCopy>(&self, name: &str) -> Result<Global<T>> {
        Ok(Global(self.variable(name, false)?))
    }

    /// Finds a variable (`__device__` or `__constant__`) for writing, as [`global`](Self::global) does for
    /// reading. Until this handle is dropped, no other exists.
    ///
    /// ```no_run
    /// # fn main() -> hip::Result<()> {
    /// # let device = hip::Device::open("auto")?;
    /// # let stream = device.stream()?;
    /// # let module = hip::Module::load(&device, &[])?;
    /// let mut factors = module.global_mut::<f32>("factors")?; // __constant__ float factors[2];
    /// factors.copy_from_host(&stream, &[0.5, 2.0])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`global`](Self::global), and [`Error::GlobalInUse`] while any other handle of it exists.
    #[doc(alias = "hipModuleGetGlobal")]
    #[doc(alias = "cuModuleGetGlobal")]
    #[doc(alias = "cudaMemcpyToSymbol")]
    pub fn global_mut<T: DeviceCopy>(&self, name: &str) -> Result<GlobalMut<T>> {
        Ok(GlobalMut(self.variable(name, true)?))
    }

    fn variable<T: DeviceCopy>(&self, name: &str, exclusive: bool) -> Result<Variable<T>> {
        let (address, bytes) = self.find_global(name)?;
        let size = size_of::<T>();
        if size == 0 || !bytes.is_multiple_of(size) || !address.0.is_multiple_of(align_of::<T>() as u64) {
            return Err(Error::GlobalType {
                module: self.name().to_owned(),
                global: name.to_owned(),
                bytes,
                element: type_name::<T>(),
                size,
            });
        }
        let (allocation, claim) = self.claim(name, address, bytes, exclusive)?;
        Ok(Variable { allocation, address, len: bytes / size, claim, marker: PhantomData })
    }

    /// A variable's address, and its size in bytes.
    fn find_global(&self, name: &str) -> Result<(DeviceAddress, usize)> {
        let missing = || Error::GlobalNotFound { module: self.name().to_owned(), global: name.to_owned() };
        // AMD's library finds something for the empty name.
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
        Ok((DeviceAddress(pointer.expose_provenance() as u64), bytes))
    }

    /// Claims a variable's bytes for a handle. Returns the allocation that uses of the module's variables are
    /// registered with.
    fn claim(
        &self,
        name: &str,
        address: DeviceAddress,
        bytes: usize,
        exclusive: bool,
    ) -> Result<(Arc<Allocation>, Claim)> {
        let mut variables = lock(self.globals().get_or_init(Mutex::default));
        let range = address.0..address.0.saturating_add(bytes as u64);
        // Variables of different names may overlap, so compare the bytes.
        let conflict = |(other, other_writes): &(Range<u64>, bool)| {
            (exclusive || *other_writes) && other.start < range.end && range.start < other.end
        };
        if variables.claimed.iter().any(conflict) {
            let (module, global) = (self.name().to_owned(), name.to_owned());
            return Err(Error::GlobalInUse { module, global, exclusive });
        }
        let allocation = match variables.allocation.upgrade() {
            Some(allocation) => allocation,
            None => {
                // Kernels launched earlier are not registered there.
                self.wait()?;
                let allocation = Allocation::foreign(self.device(), address, bytes, self.clone());
                // Several handles may be written at once, like the parts of a split buffer.
                allocation.split();
                variables.allocation = Arc::downgrade(&allocation);
                allocation
            }
        };
        variables.claimed.push((range.clone(), exclusive));
        drop(variables);
        Ok((allocation, Claim { module: self.clone(), bytes: range, exclusive }))
    }

    /// Registers a kernel of the module that is about to be enqueued and may use its variables.
    #[inline]
    pub(crate) fn globals_used_on(&self, stream: &Stream) -> Result<()> {
        match self.globals().get() {
            None => Ok(()),
            Some(globals) => write_on(globals, stream),
        }
    }

    /// The allocation that uses of the module's variables are registered with, if there is a handle.
    pub(crate) fn globals_in_use(&self) -> Option<Arc<Allocation>> {
        lock(self.globals().get()?).allocation.upgrade()
    }
}

#[inline(never)]
fn write_on(globals: &Mutex<Variables>, stream: &Stream) -> Result<()> {
    let allocation = lock(globals).allocation.upgrade();
    match allocation {
        // A failure of an earlier kernel is not an error of this one.
        Some(allocation) => allocation.write_on(stream),
        None => Ok(()),
    }
}

impl<T: DeviceCopy> Variable<T> {
    fn fmt(&self, kind: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(kind)
            .field("type", &type_name::<T>())
            .field("len", &self.len)
            .field("address", &self.address)
            .field("module", &self.claim.module)
            .finish()
    }
}

/// Methods of both kinds of handles.
macro_rules! handle {
    ($handle:ident) => {
        impl<T: DeviceCopy> $handle<T> {
            /// The module that it belongs to.
            pub fn module(&self) -> &Module {
                &self.0.claim.module
            }

            /// All elements, shared.
            pub fn as_slice(&self) -> DeviceSlice<'_, T> {
                DeviceSlice::new(&self.0.allocation, self.0.address, self.0.len)
            }
        }

        impl<T: DeviceCopy> fmt::Debug for $handle<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(stringify!($handle), f)
            }
        }
    };
}

handle!(Global);
handle!(GlobalMut);

impl<T: DeviceCopy> GlobalMut<T> {
    /// All elements, exclusive.
    pub fn as_mut_slice(&mut self) -> DeviceSliceMut<'_, T> {
        DeviceSliceMut::new(&self.0.allocation, self.0.address, self.0.len)
    }
}
