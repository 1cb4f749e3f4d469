//! The registrations of host code, and which tables know them.
//!
//! Constructors register before `main`, when no table is known. Those of libraries that are loaded later may
//! do so at any time. Both only record it here. A table gets new registrations with the next call.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip_sys::{HostCode, Table};

use crate::table::ready;
use crate::unpacked::{self, Unpacked};

/// An address in compiled code, which is only passed on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address(pub(crate) *mut c_void);

// SAFETY: nothing here dereferences the address.
unsafe impl Send for Address {}

/// A part of a fat binary.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    Kernel {
        stub: Address,
        device_function: Address,
        name: Address,
        thread_limit: c_uint,
    },
    Variable {
        variable: Address,
        host_name: Address,
        name: Address,
        external: c_int,
        size: usize,
        constant: c_int,
        global: c_int,
    },
    Managed {
        pointer: Address,
        first: Address,
        name: Address,
        size: usize,
        align: c_uint,
    },
}

/// A fat binary.
#[derive(Debug)]
struct Binary {
    header: Address,
    parts: Vec<Part>,
    known: Vec<Known>,
}

/// A table's registration of a fat binary.
#[derive(Debug)]
struct Known {
    table: &'static Table,
    host_code: HostCode,
    handle: Address,
    /// How many of its parts are registered, from the first on.
    parts: usize,
    /// The unpacked binary that replaces a compressed one.
    _unpacked: Option<Unpacked>,
}

#[derive(Debug)]
struct Registered {
    binaries: BTreeMap<usize, Binary>,
    last: usize,
}

static REGISTERED: Mutex<Registered> = Mutex::new(Registered { binaries: BTreeMap::new(), last: 0 });

fn registered() -> MutexGuard<'static, Registered> {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records a fat binary and returns its number.
pub(crate) fn add(header: *const c_void) -> usize {
    let mut registered = registered();
    registered.last += 1;
    let number = registered.last;
    let binary = Binary { header: Address(header.cast_mut()), parts: Vec::new(), known: Vec::new() };
    registered.binaries.insert(number, binary);
    ready(None);
    number
}

/// Records a part of a fat binary. An unknown number is ignored.
pub(crate) fn add_part(number: usize, part: Part) {
    let mut registered = registered();
    if let Some(binary) = registered.binaries.get_mut(&number) {
        binary.parts.push(part);
        ready(None);
    }
}

/// Forgets a fat binary, and unregisters it from the tables that know it. An unknown number is ignored.
pub(crate) fn forget(number: usize) {
    let binary = registered().binaries.remove(&number);
    if let Some(binary) = binary {
        binary.unregister();
    }
}

/// As [`forget`], for all fat binaries.
pub(crate) fn forget_all() {
    let binaries = std::mem::take(&mut registered().binaries);
    binaries.into_values().for_each(Binary::unregister);
}

/// Passes new registrations to a table, and calls `done` before more can be recorded. Returns whether the
/// table got new fat binaries.
pub(crate) fn tell(table: &'static Table, done: impl FnOnce()) -> bool {
    let mut registered = registered();
    let Some(host_code) = table.ext.host_code else {
        if !registered.binaries.is_empty() {
            tracing::error!("the HIP library has no functions to register kernels of host code");
        }
        done();
        return false;
    };
    let mut news = false;
    for binary in registered.binaries.values_mut() {
        news |= binary.tell(table, host_code);
    }
    done();
    news
}

impl Binary {
    fn tell(&mut self, table: &'static Table, host_code: HostCode) -> bool {
        // Another table may already have a managed variable, and there is only one pointer to it.
        let managed = self.known.iter().map(|known| known.parts).max().unwrap_or(0);
        let before = self.known.len();
        let at = match self.known.iter().position(|known| ptr::eq(known.table, table)) {
            Some(at) => at,
            None => {
                let (handle, unpacked) = self.register(table, &host_code);
                self.known.push(Known { table, host_code, handle, parts: 0, _unpacked: unpacked });
                self.known.len() - 1
            }
        };
        let news = self.known.len() > before;
        let known = &mut self.known[at];
        for (index, part) in self.parts.iter().enumerate().skip(known.parts) {
            let is_managed = matches!(part, Part::Managed { .. });
            let has_it = is_managed && index < managed;
            if !known.handle.0.is_null() && !has_it {
                // SAFETY: the handle belongs to this table, and the part's addresses stay valid until the
                // host code unregisters it.
                unsafe { part.register(&host_code, known.handle.0) };
            }
        }
        known.parts = self.parts.len();
        news
    }

    /// The table's handle, or null if the table refuses the binary.
    fn register(&self, table: &Table, host_code: &HostCode) -> (Address, Option<Unpacked>) {
        let unpacked = if unpacked::is_wanted(table) {
            // SAFETY: the header and everything that it refers to exist until the host code unregisters it.
            unsafe { Unpacked::of(self.header.0) }
        } else {
            Ok(None)
        };
        match unpacked {
            Ok(unpacked) => {
                let header = unpacked.as_ref().map_or(self.header.0.cast_const(), Unpacked::header);
                // SAFETY: the header exists until the table has forgotten it.
                let handle = unsafe { (host_code.register_fat_binary)(header) };
                (Address(handle.cast()), unpacked)
            }
            Err(error) => {
                tracing::error!("the kernels of a fat binary are not registered: {error}");
                (Address(ptr::null_mut()), None)
            }
        }
    }

    fn unregister(self) {
        for known in self.known.iter().filter(|known| !known.handle.0.is_null()) {
            // SAFETY: the handle belongs to this table, and nothing else has it.
            unsafe { (known.host_code.unregister_fat_binary)(known.handle.0.cast()) };
        }
    }
}

impl Part {
    /// # Safety
    /// The handle of the part's fat binary comes from the same table as these functions. The part's addresses
    /// are valid.
    unsafe fn register(self, to: &HostCode, handle: *mut c_void) {
        match self {
            Self::Kernel { stub, device_function, name, thread_limit } => {
                let (none, name) = (ptr::null_mut(), name.0.cast::<c_char>());
                let device_function = device_function.0.cast();
                // SAFETY: as this function's contract; compilers pass only such values.
                unsafe {
                    (to.register_function)(
                        handle.cast(),
                        stub.0,
                        device_function,
                        name,
                        thread_limit,
                        none,
                        none,
                        none,
                        none,
                        ptr::null_mut(),
                    );
                }
            }
            Self::Variable { variable, host_name, name, external, size, constant, global } => {
                let (host_name, name) = (host_name.0.cast(), name.0.cast());
                // SAFETY: as this function's contract.
                unsafe {
                    (to.register_variable)(
                        handle.cast(),
                        variable.0,
                        host_name,
                        name,
                        external,
                        size,
                        constant,
                        global,
                    );
                }
            }
            Self::Managed { pointer, first, name, size, align } => {
                let (pointer, name) = (pointer.0.cast(), name.0.cast::<c_char>());
                // SAFETY: as this function's contract.
                unsafe { (to.register_managed_variable)(handle, pointer, first.0, name, size, align) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use hip_sys::{Builder, Extensions};

    use super::*;

    /// The registrations that the tables got, by the addresses of stubs and variables.
    static TOLD: Mutex<Vec<(&str, usize, usize)>> = Mutex::new(Vec::new());

    fn note(what: &'static str, handle: *mut c_void, address: *const c_void) {
        TOLD.lock().unwrap().push((what, handle.addr(), address.addr()));
    }

    fn told() -> Vec<(&'static str, usize, usize)> {
        std::mem::take(&mut *TOLD.lock().unwrap())
    }

    unsafe extern "C" fn binary(header: *const c_void) -> *mut *mut c_void {
        note("binary", ptr::null_mut(), header);
        ptr::without_provenance_mut(header.addr() * 10)
    }

    unsafe extern "C" fn gone(handle: *mut *mut c_void) {
        note("gone", handle.cast(), ptr::null());
    }

    #[rustfmt::skip]
    unsafe extern "C" fn kernel(
        handle: *mut *mut c_void, stub: *const c_void, _: *mut c_char, _: *const c_char, _: c_uint,
        _: *mut c_void, _: *mut c_void, _: *mut c_void, _: *mut c_void, _: *mut c_int,
    ) {
        note("kernel", handle.cast(), stub);
    }

    #[rustfmt::skip]
    unsafe extern "C" fn variable(
        handle: *mut *mut c_void, variable: *mut c_void, _: *mut c_char, _: *mut c_char, _: c_int, _: usize,
        _: c_int, _: c_int,
    ) {
        note("variable", handle.cast(), variable);
    }

    #[rustfmt::skip]
    unsafe extern "C" fn managed(
        handle: *mut c_void, pointer: *mut *mut c_void, _: *mut c_void, _: *const c_char, _: usize, _: c_uint,
    ) {
        note("managed", handle, pointer.cast());
    }

    fn fake(host_code: bool) -> &'static Table {
        let functions = HostCode {
            register_fat_binary: binary,
            unregister_fat_binary: gone,
            register_function: kernel,
            register_variable: variable,
            register_managed_variable: managed,
        };
        let mut builder = Builder::new("fake", "1");
        builder.extensions(Extensions { host_code: host_code.then_some(functions), ..Extensions::NONE });
        // SAFETY: it only has these functions, which only record calls.
        unsafe { builder.finish() }
    }

    fn at(address: usize) -> Address {
        Address(ptr::without_provenance_mut(address))
    }

    fn a_kernel(stub: usize) -> Part {
        Part::Kernel { stub: at(stub), device_function: at(0), name: at(0), thread_limit: 0 }
    }

    fn a_managed(pointer: usize) -> Part {
        Part::Managed { pointer: at(pointer), first: at(0), name: at(0), size: 4, align: 4 }
    }

    // A single test, because the list is global.
    #[test]
    fn tables_are_told_once_what_is_registered_and_what_is_gone() {
        let (one, two) = (fake(true), fake(true));
        let first = add(ptr::without_provenance(1));
        add_part(first, a_kernel(11));
        add_part(first, a_managed(12));
        assert_eq!(told(), [], "nothing is called before a table is used");

        let mut done = false;
        assert!(tell(one, || done = true) && done);
        assert_eq!(told(), [("binary", 0, 1), ("kernel", 10, 11), ("managed", 10, 12)]);
        assert!(!tell(one, || {}));
        assert_eq!(told(), []);

        // When a library is loaded later, a table may have got only some of its registrations.
        let second = add(ptr::without_provenance(2));
        assert!(tell(one, || {}));
        let global = Part::Variable {
            variable: at(21),
            host_name: at(0),
            name: at(0),
            external: 0,
            size: 4,
            constant: 0,
            global: 0,
        };
        add_part(second, global);
        assert!(!tell(one, || {}));
        assert_eq!(told(), [("binary", 0, 2), ("variable", 20, 21)]);

        // Another table gets everything except managed variables, which only one table can have.
        assert!(tell(two, || {}));
        assert_eq!(told(), [("binary", 0, 1), ("kernel", 10, 11), ("binary", 0, 2), ("variable", 20, 21)]);

        assert!(!tell(fake(false), || {}), "a table without the functions is not called");
        forget(first);
        assert_eq!(told(), [("gone", 10, 0); 2]);
        forget(first);
        add_part(first, a_kernel(13));
        add_part(usize::MAX, a_kernel(14));
        assert!(!tell(two, || {}));
        assert_eq!(told(), []);
        forget_all();
        assert_eq!(told(), [("gone", 20, 0); 2]);
        forget_all();
        assert_eq!(told(), []);
    }
}
