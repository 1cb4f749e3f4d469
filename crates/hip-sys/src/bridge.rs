//! Adapters that give an older library's functions their newest form.
//!
//! A [`Table`] promises the types and values of the newest headers. HIP kept the names of many functions
//! while their arguments changed, so calls of an older library must be converted. This module does that once,
//! when the table of a loaded library is filled: the entry becomes a function of this module, which converts
//! and calls the library's own. If an older form cannot be converted, the entry becomes a stub.
//!
//! The symbols that a library exports tell its form ([`Generation`]). A bridge function finds the library's
//! own function through a number that is part of its type. So there is one set of bridge functions for each
//! library that may be loaded at the same time, [`SLOTS`] in all; beyond that the entries are stubs. A
//! library that needs no bridge takes no slot, and one that is opened again reuses its slot.
//!
//! `docs/internals/abi.md` in the repository has the reason and the history of each adapter.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;
use std::sync::OnceLock;

use sys_load::Library;

use crate::bindings::{hipDeviceProp_tR0000, hipDeviceProp_tR0600, hipError_t, hipIpcMemHandle_t};
use crate::legacy::{v5_2, v5_7, v6_4};
use crate::{ExportedExtensions, Extensions, HostCode, Table, Version};

mod calls;
mod convert;
#[cfg(test)]
mod tests;

/// How many different older libraries may be loaded in one process.
const SLOTS: usize = 4;

static HELD: [OnceLock<Originals>; SLOTS] = [const { OnceLock::new() }; SLOTS];

/// The forms of HIP's functions, each named after the release that introduced it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Generation {
    /// ROCm 5.2.
    V5_2,
    /// Graph node types renumbered, `hipMemAllocationProp` with another layout.
    V5_3,
    /// The graph node types of copies from and to symbols renumbered.
    V5_5,
    /// Device properties, memory types, `HIP_MEMCPY3D`, external memory and semaphores.
    V6_0,
    /// Launch attributes of 64 bytes, the parameters of driver memset nodes.
    V7_0,
    /// `hipDeviceAttributePciChipId` renumbered; the form of the bindings.
    V7_1,
}

/// For each generation, a symbol that it introduced and its first version, newest first.
const MARKS: [(Generation, &CStr, (u32, u32)); 5] = [
    (Generation::V7_1, c"hipStreamGetId", (7, 1)),
    (Generation::V7_0, c"hipLaunchKernelExC", (7, 0)),
    (Generation::V6_0, c"hipGetDevicePropertiesR0600", (6, 0)),
    (Generation::V5_5, c"hipGraphAddMemAllocNode", (5, 5)),
    (Generation::V5_3, c"hipDeviceSetLimit", (5, 3)),
];

impl Generation {
    /// The newest generation that a library's symbols indicate. The version, if known, may indicate a newer
    /// one: another vendor's library, or a reduced one, may lack the symbol.
    fn of(exports: impl Fn(&CStr) -> bool, version: Option<Version>) -> Generation {
        MARKS
            .into_iter()
            .find(|(_, mark, since)| exports(mark) || version.is_some_and(|v| (v.major, v.minor) >= *since))
            .map_or(Generation::V5_2, |(generation, ..)| generation)
    }
}

macro_rules! originals {
    ($($name:ident: $type:ty,)*) => {
        /// An older library's own functions, with their types in that library; `None` for one that it lacks.
        #[derive(Debug, Clone, Copy)]
        #[allow(non_snake_case, reason = "the C names")]
        struct Originals {
            generation: Generation,
            $($name: Option<$type>,)*
        }

        impl Originals {
            /// The functions of a library in which `lookup` finds symbols.
            ///
            /// # Safety
            /// What `lookup` returns must be the function of that name of a HIP runtime of the generation.
            unsafe fn of(
                generation: Generation,
                lookup: impl Fn(&CStr) -> Option<NonNull<c_void>>,
            ) -> Originals {
                Originals {
                    generation,
                    $($name: lookup(c_name(concat!(stringify!($name), "\0"))).map(|address| {
                        // SAFETY: the caller vouches that it is that function. The type is the one it has in
                        // the generations in which it is used.
                        unsafe { std::mem::transmute::<NonNull<c_void>, $type>(address) }
                    }),)*
                }
            }

            /// Whether both are from the same library.
            fn is(&self, other: &Originals) -> bool {
                self.generation == other.generation
                    $(&& self.$name.map(|own| own as usize) == other.$name.map(|own| own as usize))*
            }
        }
    };
}

originals! {
    hipGetDeviceProperties: unsafe extern "C" fn(*mut hipDeviceProp_tR0000, c_int) -> hipError_t,
    hipGetDevicePropertiesR0600: unsafe extern "C" fn(*mut hipDeviceProp_tR0600, c_int) -> hipError_t,
    hipChooseDevice: unsafe extern "C" fn(*mut c_int, *const hipDeviceProp_tR0000) -> hipError_t,
    hipDeviceGetAttribute:
        unsafe extern "C" fn(*mut c_int, crate::bindings::hipDeviceAttribute_t, c_int) -> hipError_t,
    hipIpcOpenMemHandle: unsafe extern "C" fn(*mut *mut c_void, hipIpcMemHandle_t, std::ffi::c_uint) -> hipError_t,
    hipPointerGetAttributes: v5_7::hipPointerGetAttributes,
    hipPointerGetAttribute: unsafe extern "C" fn(
        *mut c_void,
        crate::bindings::hipPointer_attribute,
        crate::bindings::hipDeviceptr_t,
    ) -> hipError_t,
    hipDrvPointerGetAttributes: unsafe extern "C" fn(
        std::ffi::c_uint,
        *mut crate::bindings::hipPointer_attribute,
        *mut *mut c_void,
        crate::bindings::hipDeviceptr_t,
    ) -> hipError_t,
    hipMemcpyParam2D: v5_7::hipMemcpyParam2D,
    hipMemcpyParam2DAsync: v5_7::hipMemcpyParam2DAsync,
    hipDrvMemcpy2DUnaligned: v5_7::hipDrvMemcpy2DUnaligned,
    hipDrvMemcpy3D: v5_7::hipDrvMemcpy3D,
    hipDrvMemcpy3DAsync: v5_7::hipDrvMemcpy3DAsync,
    hipMemPoolCreate: v5_7::hipMemPoolCreate,
    hipMemCreate: v5_2::hipMemCreate,
    hipMemGetAllocationGranularity: v5_2::hipMemGetAllocationGranularity,
    hipMemGetAllocationPropertiesFromHandle: v5_2::hipMemGetAllocationPropertiesFromHandle,
    hipMemImportFromShareableHandle: unsafe extern "C" fn(
        *mut crate::bindings::hipMemGenericAllocationHandle_t,
        *mut c_void,
        crate::bindings::hipMemAllocationHandleType,
    ) -> hipError_t,
    hipImportExternalMemory: v5_7::hipImportExternalMemory,
    hipExternalMemoryGetMappedBuffer: v5_7::hipExternalMemoryGetMappedBuffer,
    hipImportExternalSemaphore: v5_7::hipImportExternalSemaphore,
    hipSignalExternalSemaphoresAsync: v5_7::hipSignalExternalSemaphoresAsync,
    hipWaitExternalSemaphoresAsync: v5_7::hipWaitExternalSemaphoresAsync,
    hipGraphNodeGetType: v5_2::hipGraphNodeGetType,
    hipGraphAddMemAllocNode: v5_7::hipGraphAddMemAllocNode,
    hipGraphMemAllocNodeGetParams: v5_7::hipGraphMemAllocNodeGetParams,
    hipGraphKernelNodeSetAttribute: v6_4::hipGraphKernelNodeSetAttribute,
    hipGraphKernelNodeGetAttribute: v6_4::hipGraphKernelNodeGetAttribute,
    hipDrvGraphAddMemsetNode: v6_4::hipDrvGraphAddMemsetNode,
    hipDrvGraphExecMemsetNodeSetParams: v6_4::hipDrvGraphExecMemsetNodeSetParams,
}

/// The condition of a rule about a table's entries.
type When = fn(Generation) -> bool;

macro_rules! bridges {
    ($($entry:ident, from $($own:ident)|+, if $when:expr;)*) => {
        /// Makes a table's entries bridges to the library's own functions.
        fn install<const SLOT: usize>(table: &mut Table, own: &Originals) {
            $(
                let when: When = $when;
                if when(own.generation) && ($(own.$own.is_some())||+) {
                    table.$entry = calls::$entry::<SLOT>;
                }
            )*
        }

        /// Replaces the entries that would need a bridge by stubs.
        fn remove(table: &mut Table, generation: Generation) {
            $(
                let when: When = $when;
                if when(generation) {
                    table.$entry = Table::unsupported().$entry;
                }
            )*
        }

        /// The entries that are bridged, and for which generations.
        #[cfg(test)]
        const BRIDGED: &[(&str, When)] = &[$((stringify!($entry), $when)),*];
    };
}

bridges! {
    hipGetDevicePropertiesR0600, from hipGetDeviceProperties, if |g| g < Generation::V6_0;
    hipChooseDeviceR0600, from hipChooseDevice, if |g| g < Generation::V6_0;
    hipDeviceGetAttribute, from hipDeviceGetAttribute, if |g| g < Generation::V6_0 || g == Generation::V7_0;
    hipDeviceGetTexture1DLinearMaxWidth, from hipGetDevicePropertiesR0600 | hipGetDeviceProperties,
        if |g| g < Generation::V7_0;
    hipIpcOpenMemHandle, from hipIpcOpenMemHandle, if |g| g < Generation::V6_0;
    hipPointerGetAttributes, from hipPointerGetAttributes, if |g| g < Generation::V6_0;
    hipPointerGetAttribute, from hipPointerGetAttribute, if |g| g < Generation::V6_0;
    hipDrvPointerGetAttributes, from hipDrvPointerGetAttributes, if |g| g < Generation::V6_0;
    hipMemcpyParam2D, from hipMemcpyParam2D, if |g| g < Generation::V6_0;
    hipMemcpyParam2DAsync, from hipMemcpyParam2DAsync, if |g| g < Generation::V6_0;
    hipDrvMemcpy2DUnaligned, from hipDrvMemcpy2DUnaligned, if |g| g < Generation::V6_0;
    hipDrvMemcpy3D, from hipDrvMemcpy3D, if |g| g < Generation::V6_0;
    hipDrvMemcpy3DAsync, from hipDrvMemcpy3DAsync, if |g| g < Generation::V6_0;
    hipMemPoolCreate, from hipMemPoolCreate, if |g| g < Generation::V6_0;
    hipMemCreate, from hipMemCreate, if |g| g < Generation::V5_3;
    hipMemGetAllocationGranularity, from hipMemGetAllocationGranularity, if |g| g < Generation::V5_3;
    hipMemGetAllocationPropertiesFromHandle, from hipMemGetAllocationPropertiesFromHandle,
        if |g| g < Generation::V5_3;
    hipMemImportFromShareableHandle, from hipMemImportFromShareableHandle, if |g| g < Generation::V7_1;
    hipImportExternalMemory, from hipImportExternalMemory, if |g| g < Generation::V6_0;
    hipExternalMemoryGetMappedBuffer, from hipExternalMemoryGetMappedBuffer, if |g| g < Generation::V6_0;
    hipImportExternalSemaphore, from hipImportExternalSemaphore, if |g| g < Generation::V6_0;
    hipSignalExternalSemaphoresAsync, from hipSignalExternalSemaphoresAsync, if |g| g < Generation::V6_0;
    hipWaitExternalSemaphoresAsync, from hipWaitExternalSemaphoresAsync, if |g| g < Generation::V6_0;
    hipGraphNodeGetType, from hipGraphNodeGetType, if |g| g < Generation::V5_5;
    hipGraphAddMemAllocNode, from hipGraphAddMemAllocNode, if |g| g < Generation::V6_0;
    hipGraphMemAllocNodeGetParams, from hipGraphMemAllocNodeGetParams, if |g| g < Generation::V6_0;
    hipGraphKernelNodeSetAttribute, from hipGraphKernelNodeSetAttribute, if |g| g < Generation::V7_0;
    hipGraphKernelNodeGetAttribute, from hipGraphKernelNodeGetAttribute, if |g| g < Generation::V7_0;
    hipDrvGraphAddMemsetNode, from hipDrvGraphAddMemsetNode,
        if |g| (Generation::V6_0..Generation::V7_0).contains(&g);
    hipDrvGraphExecMemsetNodeSetParams, from hipDrvGraphExecMemsetNodeSetParams,
        if |g| (Generation::V6_0..Generation::V7_0).contains(&g);
}

macro_rules! unbridged {
    ($($entry:ident,)*) => {
        /// Replaces entries by stubs that no HIP 5 is known to export, but whose arguments would have another
        /// form if one did.
        fn refuse(table: &mut Table) {
            $(table.$entry = Table::unsupported().$entry;)*
        }

        /// The entries that no HIP 5 exports.
        #[cfg(test)]
        const UNBRIDGED: &[&str] = &[$(stringify!($entry)),*];
    };
}

unbridged! {
    hipGraphAddExternalSemaphoresWaitNode,
    hipGraphAddExternalSemaphoresSignalNode,
    hipGraphExternalSemaphoresSignalNodeSetParams,
    hipGraphExternalSemaphoresWaitNodeSetParams,
    hipGraphExternalSemaphoresSignalNodeGetParams,
    hipGraphExternalSemaphoresWaitNodeGetParams,
    hipGraphExecExternalSemaphoresSignalNodeSetParams,
    hipGraphExecExternalSemaphoresWaitNodeSetParams,
    hipGraphAddNode,
    hipGraphNodeSetParams,
    hipGraphExecNodeSetParams,
    hipDrvGraphAddMemcpyNode,
    hipDrvGraphMemcpyNodeGetParams,
    hipDrvGraphMemcpyNodeSetParams,
    hipDrvGraphExecMemcpyNodeSetParams,
    hipDrvGraphAddMemsetNode,
    hipDrvGraphExecMemsetNodeSetParams,
    hipExternalMemoryGetMappedMipmappedArray,
}

macro_rules! mangled {
    ($($entry:ident: $mangled:literal,)*) => {
        /// Fills entries whose functions are exported under C++ mangled names.
        ///
        /// # Safety
        /// What `lookup` returns must be the function of that name of a HIP runtime.
        unsafe fn unmangle(table: &mut Table, lookup: impl Fn(&CStr) -> Option<NonNull<c_void>>) {
            $(
                if lookup(c_name(concat!(stringify!($entry), "\0"))).is_none()
                    && let Some(address) = lookup($mangled)
                {
                    // SAFETY: the caller vouches that it is that function; the name spells the types of its
                    // arguments, which are those of the entry, a pointer to a function.
                    unsafe { (&raw mut table.$entry).cast::<NonNull<c_void>>().write(address) };
                }
            )*
        }
    };
}

mangled! {
    hipExtModuleLaunchKernel:
        c"_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j",
    hipHccModuleLaunchKernel:
        c"_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_",
    hipCreateSurfaceObject: c"_Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc",
    hipDestroySurfaceObject: c"_Z23hipDestroySurfaceObjectP13__hip_surface",
}

/// Converts a text with a final NUL to a C string.
const fn c_name(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_until_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => c"",
    }
}

/// Makes the entries of a table filled from `library` follow the newest headers.
pub(crate) fn apply(table: &mut Table, library: &Library) {
    let generation = Generation::of(|name| library.symbol(name).is_some(), library.version());
    // SAFETY: the library is a HIP runtime: its opener vouched for that.
    unsafe { unmangle(table, |name| library.symbol(name)) };
    // SAFETY: as above; libraries are never closed, and only ours has a function with the extensions' name.
    let own = unsafe { ExportedExtensions::of_library(|name| library.symbol(name)) };
    table.ext = own.map_or(Extensions::NONE, ExportedExtensions::extensions);
    // SAFETY: as above.
    table.ext.host_code = unsafe { HostCode::of(|name| library.symbol(name)) };
    if generation == Generation::V7_1 {
        return;
    }
    if generation < Generation::V6_0 {
        refuse(table);
    }
    // SAFETY: as above; its symbols say that it is of this generation.
    let own = unsafe { Originals::of(generation, |name| library.symbol(name)) };
    match claim(&HELD, &own) {
        Some(0) => install::<0>(table, &own),
        Some(1) => install::<1>(table, &own),
        Some(2) => install::<2>(table, &own),
        Some(3) => install::<3>(table, &own),
        _ => remove(table, generation),
    }
}

/// The slot of a library's functions: their existing one, else a free one.
fn claim(slots: &[OnceLock<Originals>], own: &Originals) -> Option<usize> {
    slots.iter().position(|slot| slot.get_or_init(|| *own).is(own))
}

/// The functions in a slot.
fn held(slot: usize) -> Option<&'static Originals> {
    HELD.get(slot)?.get()
}
