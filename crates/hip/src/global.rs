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

/// A variable of a module, as an array of `T` in device memory, shared: made by [`Module::global`].
///
/// It is read like a [`DeviceBuffer`](crate::DeviceBuffer): copied to the host, sliced, handed to kernels as `&global`. Any number
/// of handles may exist, as long as none of them is a [`GlobalMut`]. Each keeps the module loaded.
///
/// # Order
/// Which kernels use a variable is not known, so every kernel of the module counts as one that may write it: as long as a handle of one of
/// the module's variables exists, or a graph that was made while there was one, its kernels on several streams run one after the other,
/// and after copies from and to its variables. So do those of a graph that are added as long as there is a handle.
#[doc(alias = "__device__")]
#[doc(alias = "__constant__")]
pub struct Global<T: DeviceCopy>(Variable<T>);

/// A variable of a module, as an array of `T` in device memory, exclusive: made by [`Module::global_mut`].
///
/// It is filled, copied to and handed to kernels as `&mut global`, and read like a [`Global`]. As long as it exists, there is no other
/// handle of a byte of the variable: to use it in several places, share this one. See [`Global`] for how its uses are ordered.
#[doc(alias = "__device__")]
#[doc(alias = "__constant__")]
pub struct GlobalMut<T: DeviceCopy>(Variable<T>);

/// A variable that somebody has a handle of.
struct Variable<T> {
    allocation: Arc<Allocation>,
    address: DeviceAddress,
    len: usize,
    claim: Claim,
    marker: PhantomData<T>,
}

/// Keeps handles away that would give a second view of bytes that one handle may write. Dropping it ends that.
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
        // Claims of the same bytes are alike: one of them goes.
        if let Some(index) = claimed.iter().position(own) {
            claimed.swap_remove(index);
        }
    }
}

/// What a module knows of its variables, once somebody has asked for one.
pub(crate) type Globals = OnceLock<Mutex<Variables>>;

/// The variables of a module that somebody has handles of.
#[derive(Default)]
pub(crate) struct Variables {
    /// What uses of all of them are registered with; it exists as long as somebody has one.
    allocation: Weak<Allocation>,
    /// The bytes of each handle, and whether it may write them.
    claimed: Vec<(Range<u64>, bool)>,
}

fn lock(variables: &Mutex<Variables>) -> MutexGuard<'_, Variables> {
    // They are consistent between any two statements that could panic.
    variables.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Module {
    /// Finds a variable (`__device__` or `__constant__`) by its name, mangled for C++ variables in namespaces, to read it
    /// (`hipModuleGetGlobal`). The first handle of one of the module's variables waits for kernels of the module that run.
    ///
    /// # Errors
    /// [`Error::GlobalNotFound`]; [`Error::GlobalType`] if its size is not that of a whole number of `T`, or its address not aligned for
    /// it; [`Error::GlobalInUse`] as long as there is a [`GlobalMut`] of it; else [`Error::Hip`].
    #[doc(alias = "hipModuleGetGlobal")]
    #[doc(alias = "cuModuleGetGlobal")]
    #[doc(alias = "hipGetSymbolAddress")]
    #[doc(alias = "cudaGetSymbolAddress")]
    #[doc(alias = "cudaMemcpyFromSymbol")]
    pub fn global<T: DeviceCopy>(&self, name: &str) -> Result<Global<T>> {
        Ok(Global(self.variable(name, false)?))
    }

    /// Finds a variable (`__device__` or `__constant__`) as [`global`](Self::global) does, to write it. It is this handle's alone
    /// until the handle is dropped.
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
    /// As [`global`](Self::global), and [`Error::GlobalInUse`] as long as there is any other handle of it.
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

    /// Where a variable lies, and its size in bytes.
    fn find_global(&self, name: &str) -> Result<(DeviceAddress, usize)> {
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
        Ok((DeviceAddress(pointer.expose_provenance() as u64), bytes))
    }

    /// Takes a variable's bytes for a handle, with what uses of the module's variables are registered with.
    fn claim(
        &self,
        name: &str,
        address: DeviceAddress,
        bytes: usize,
        exclusive: bool,
    ) -> Result<(Arc<Allocation>, Claim)> {
        let mut variables = lock(self.globals().get_or_init(Mutex::default));
        let range = address.0..address.0.saturating_add(bytes as u64);
        // Names may stand for parts of each other: what counts is the bytes.
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
                // Kernels that were launched before are not registered there.
                self.wait()?;
                let allocation = Allocation::foreign(self.device(), address, bytes, self.clone());
                // Several handles may be written at once, like the parts of a buffer that is split.
                allocation.split();
                variables.allocation = Arc::downgrade(&allocation);
                allocation
            }
        };
        variables.claimed.push((range.clone(), exclusive));
        drop(variables);
        Ok((allocation, Claim { module: self.clone(), bytes: range, exclusive }))
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
        lock(self.globals().get()?).allocation.upgrade()
    }
}

#[inline(never)]
fn write_on(globals: &Mutex<Variables>, stream: &Stream) -> Result<()> {
    let allocation = lock(globals).allocation.upgrade();
    match allocation {
        // A failure of an earlier kernel is not this one's.
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

/// What both kinds of handles have.
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
