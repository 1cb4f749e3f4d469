//! Libraries, and data that a program attaches to its streams.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::ptr::null_mut;

use hip_sys::{
    hipKernel_t, hipLaunchAttributeID as A, hipLaunchAttributeValue, hipLibrary_t, hipSynchronizationPolicy,
};

use super::*;

const INVALID: E = E::hipErrorInvalidValue;
const HANDLE: E = E::hipErrorInvalidHandle;

impl Hip {
    fn library(&self) -> hipLibrary_t {
        let bytes = kernels(5, "gfx1100");
        let (mut library, no) = (null_mut(), null_mut());
        let code = bytes.as_ptr().cast();
        let loaded =
            hip!(self, hipLibraryLoadData(&mut library, code, no, null_mut(), 0, null_mut(), null_mut(), 0));
        assert_eq!(loaded, OK);
        let mut other = null_mut();
        let optional =
            hip!(self, hipLibraryLoadData(&mut other, code, no, null_mut(), 1, null_mut(), null_mut(), 0));
        assert_eq!((optional, other), (INVALID, null_mut()), "options for a compiler");
        library
    }
}

#[test]
fn kernels_of_a_library_are_functions_that_know_it() {
    let hip = start();
    let (library, other) = (hip.library(), hip.library());
    let mut count = 0;
    assert_eq!(hip!(hip, hipLibraryGetKernelCount(&mut count, library)), OK);
    let mut all: Vec<hipKernel_t> = vec![null_mut(); count as usize + 2];
    assert_eq!(hip!(hip, hipLibraryEnumerateKernels(all.as_mut_ptr(), count + 2, library)), OK);
    assert!(all[count as usize..].iter().all(|kernel| kernel.is_null()));
    assert_eq!(hip!(hip, hipLibraryEnumerateKernels(all.as_mut_ptr(), 0, library)), OK);
    let mut names = BTreeSet::new();
    for &kernel in &all[..count as usize] {
        let (mut of, mut name) = (null_mut(), std::ptr::null());
        assert_eq!(hip!(hip, hipKernelGetLibrary(&mut of, kernel)), OK);
        assert_eq!(of, library);
        assert_eq!(hip!(hip, hipKernelGetName(&mut name, kernel)), OK);
        // SAFETY: the text lives as long as the library.
        names.insert(unsafe { CStr::from_ptr(name) }.to_owned());
    }
    assert_eq!(names.len(), count as usize);
    assert!(names.contains(c"saxpy") && names.contains(c"empty"));
    let mut kernel = null_mut();
    assert_eq!(hip!(hip, hipLibraryGetKernel(&mut kernel, other, c"empty".as_ptr())), OK);
    assert!(!all.contains(&kernel));
    assert_eq!(hip!(hip, hipLibraryGetKernel(&mut kernel, other, c"none".as_ptr())), E::hipErrorNotFound);
    assert_eq!(hip.launch(kernel.cast(), NULL), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(NULL)), OK);
    assert_eq!(fake::take_dispatched().len(), 1);

    assert_eq!(hip!(hip, hipLibraryUnload(library)), OK);
    assert_eq!(hip!(hip, hipLibraryUnload(library)), HANDLE);
    let mut of = null_mut();
    assert_eq!(hip!(hip, hipKernelGetLibrary(&mut of, all[0])), HANDLE);
    assert_eq!(hip!(hip, hipLibraryGetKernelCount(&mut count, library)), HANDLE);
    assert_eq!(hip!(hip, hipKernelGetLibrary(&mut of, kernel)), OK);
    assert_eq!(of, other);
    assert_eq!(hip!(hip, hipLibraryUnload(other)), OK);
    // A module is not a library.
    let module = hip.load(5);
    assert_eq!(hip!(hip, hipLibraryUnload(module.cast())), HANDLE);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn streams_have_numbers_and_keep_their_attributes() {
    let hip = start();
    let (first, second) = (hip.stream(1), hip.stream(1));
    let ids: BTreeSet<u64> = [first, second, NULL]
        .map(|stream| {
            let mut id = 0;
            assert_eq!(hip!(hip, hipStreamGetId(stream, &mut id)), OK);
            id
        })
        .into();
    assert_eq!(ids.len(), 3);
    assert_eq!(hip!(hip, hipStreamGetId(first, null_mut())), INVALID);
    let policy = A::hipLaunchAttributeSynchronizationPolicy;
    let read = |stream| {
        let mut value = hipLaunchAttributeValue { pad: [0; 64] };
        assert_eq!(hip!(hip, hipStreamGetAttribute(stream, policy, &mut value)), OK);
        // SAFETY: the value is one of that attribute.
        unsafe { value.syncPolicy }
    };
    assert_eq!(read(first), hipSynchronizationPolicy::hipSyncPolicyAuto);
    let value = hipLaunchAttributeValue { syncPolicy: hipSynchronizationPolicy::hipSyncPolicyYield };
    assert_eq!(hip!(hip, hipStreamSetAttribute(first, policy, &value)), OK);
    assert_eq!(hip!(hip, hipStreamCopyAttributes(second, first)), OK);
    assert_eq!(read(second), hipSynchronizationPolicy::hipSyncPolicyYield);
    let priority = A::hipLaunchAttributePriority;
    let value = hipLaunchAttributeValue { priority: -1 };
    assert_eq!(hip!(hip, hipStreamSetAttribute(first, priority, &value)), E::hipErrorNotSupported);
    assert_eq!(hip!(hip, hipStreamSetAttribute(first, A(999), &value)), INVALID);
    for stream in [first, second] {
        assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    }
    assert_eq!(hip!(hip, hipStreamCopyAttributes(first, second)), HANDLE);
}

#[test]
fn a_list_of_valid_devices_has_devices_only() {
    let hip = start();
    let mut list = [0, 5];
    assert_eq!(hip!(hip, hipSetValidDevices(list.as_mut_ptr(), 0)), OK);
    assert_eq!(hip!(hip, hipSetValidDevices(list.as_mut_ptr(), 1)), OK);
    assert_eq!(hip!(hip, hipSetValidDevices(list.as_mut_ptr(), 2)), INVALID);
    assert_eq!(hip!(hip, hipSetValidDevices(list.as_mut_ptr(), -1)), INVALID);
    assert_eq!(hip!(hip, hipSetValidDevices(null_mut(), 1)), INVALID);
    assert_eq!(hip!(hip, hipSetValidDevices(&mut list[1], 1)), E::hipErrorInvalidDevice);
}
