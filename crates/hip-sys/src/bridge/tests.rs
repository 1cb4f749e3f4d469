use std::ffi::{c_int, c_uint};
use std::mem::MaybeUninit;
use std::ptr::without_provenance_mut;

use sys_load::Symbol;

use super::*;
use crate::bindings::*;
use crate::legacy;
use crate::{SYMBOLS, VERSIONS};

/// Functions of `AFFECTED` lists that are exported but need no bridge, and why.
const EXEMPT: [(&str, &str); 0] = [];

fn generation(version: &str) -> Generation {
    match version {
        "5.2.3" => Generation::V5_2,
        "5.7.1" => Generation::V5_5,
        "6.4.3" => Generation::V6_0,
        "7.2.4" => Generation::V7_1,
        other => panic!("of which generation is {other}?"),
    }
}

fn exported(name: &str, version: &str) -> bool {
    let bit = VERSIONS.iter().position(|known| *known == version).expect("a known version");
    let symbol = SYMBOLS.iter().find(|symbol: &&Symbol| symbol.name.to_str() == Ok(name));
    symbol.expect("a function of the table").versions >> bit & 1 == 1
}

fn has_bridge(name: &str, generation: Generation) -> bool {
    BRIDGED.iter().any(|(entry, when)| *entry == name && when(generation))
}

#[test]
fn every_function_that_an_older_library_has_otherwise_is_bridged() {
    let versions = [
        ("5.2.3", &legacy::v5_2::AFFECTED[..]),
        ("5.7.1", &legacy::v5_7::AFFECTED[..]),
        ("6.4.3", &legacy::v6_4::AFFECTED[..]),
    ];
    assert_eq!(versions.len() + 1, VERSIONS.len(), "a version is missing here");
    for (version, affected) in versions {
        for name in affected {
            let is_bridged = has_bridge(name, generation(version));
            let is_exempt = EXEMPT.iter().any(|(exempt, _)| exempt == name);
            let is_refused = UNBRIDGED.contains(name) && generation(version) < Generation::V6_0;
            match exported(name, version) {
                true => assert!(is_bridged != is_exempt, "{name} of {version} is neither bridged nor exempt"),
                false => assert!(
                    is_bridged || is_refused || name.contains("ExternalSemaphores"),
                    "{name} of {version} is not exported, but would be called as the newest if it were"
                ),
            }
        }
    }
}

#[test]
fn what_is_refused_is_exported_by_no_known_library_of_hip_5() {
    for name in UNBRIDGED {
        for version in ["5.2.3", "5.7.1"] {
            assert!(!exported(name, version), "{name} {version}");
        }
        assert!(BRIDGED.iter().all(|(entry, when)| entry != name || !when(Generation::V5_5)), "{name}");
    }
}

#[test]
fn the_newest_generation_needs_no_bridge() {
    for (name, when) in BRIDGED {
        assert!(!when(Generation::V7_1), "{name}");
    }
}

#[test]
fn each_known_version_exports_the_marks_of_its_generation_and_of_those_before() {
    for version in VERSIONS {
        let exports = |mark: &CStr| exported(mark.to_str().expect("C names are ASCII"), version);
        assert_eq!(Generation::of(exports, None), generation(version), "{version}");
        for (mark_of, mark, _) in MARKS {
            assert_eq!(exports(mark), mark_of <= generation(version), "{version} {}", mark.to_string_lossy());
        }
    }
}

#[test]
fn a_version_may_speak_for_a_newer_generation_than_the_symbols() {
    let nothing = |_: &CStr| false;
    let cases = [
        (None, Generation::V5_2),
        (Some(Version::new(5, 2, 21153)), Generation::V5_2),
        (Some(Version::new(5, 3, 0)), Generation::V5_3),
        (Some(Version::new(5, 4, 0)), Generation::V5_3),
        (Some(Version::new(5, 7, 0)), Generation::V5_5),
        (Some(Version::new(6, 3, 0)), Generation::V6_0),
        (Some(Version::new(7, 0, 0)), Generation::V7_0),
        (Some(Version::new(8, 0, 0)), Generation::V7_1),
    ];
    for (version, expected) in cases {
        assert_eq!(Generation::of(nothing, version), expected, "{version:?}");
    }
    assert_eq!(Generation::of(|_| true, Some(Version::new(5, 2, 0))), Generation::V7_1);
}

/// The functions of a library that lacks all of them.
fn lacking_all(generation: Generation) -> Originals {
    // SAFETY: no symbol is found.
    unsafe { Originals::of(generation, |_| None) }
}

#[test]
fn a_library_keeps_its_slot_and_others_get_what_is_free() {
    let slots = [const { OnceLock::new() }; 2];
    let [first, second, third] = [Generation::V5_2, Generation::V5_3, Generation::V5_5].map(lacking_all);
    assert_eq!(claim(&slots, &first), Some(0));
    assert_eq!(claim(&slots, &second), Some(1));
    assert_eq!(claim(&slots, &third), None);
    assert_eq!(claim(&slots, &second), Some(1));
    assert_eq!(claim(&slots, &first), Some(0));
}

#[test]
fn without_a_slot_what_needs_a_bridge_is_a_stub() {
    unsafe extern "C" fn real(_: *const hip_Memcpy2D) -> hipError_t {
        hipError_t::hipSuccess
    }
    // SAFETY: only this test calls its functions.
    let mut table = unsafe { <Table as sys_load::Functions>::stubs() };
    table.hipMemcpyParam2D = real;
    remove(&mut table, Generation::V7_0);
    // SAFETY: the function reads none of its arguments.
    assert_eq!(unsafe { (table.hipMemcpyParam2D)(std::ptr::null()) }, hipError_t::hipSuccess);
    remove(&mut table, Generation::V5_5);
    // SAFETY: as above.
    assert_eq!(unsafe { (table.hipMemcpyParam2D)(std::ptr::null()) }, hipError_t::hipErrorNotSupported);
}

#[test]
fn a_file_descriptor_is_passed_by_its_place_before_7_1() {
    unsafe extern "C" fn import(
        out: *mut hipMemGenericAllocationHandle_t,
        shared: *mut c_void,
        _kind: hipMemAllocationHandleType,
    ) -> hipError_t {
        // SAFETY: the caller gives a place, and one that holds a descriptor.
        unsafe { *out = at(shared.cast::<c_int>().read() as usize) };
        hipError_t::hipSuccess
    }
    // No other test uses the last slot.
    let own = Originals { hipMemImportFromShareableHandle: Some(import), ..lacking_all(Generation::V7_0) };
    assert!(HELD[SLOTS - 1].set(own).is_ok());
    let mut handle = at(0);
    let kind = hipMemAllocationHandleType::hipMemHandleTypePosixFileDescriptor;
    // SAFETY: the place is valid, and the called function is the one above.
    let status =
        unsafe { calls::hipMemImportFromShareableHandle::<{ SLOTS - 1 }>(&raw mut handle, at(17), kind) };
    assert_eq!((status, handle), (hipError_t::hipSuccess, at(17)));
}

#[test]
fn a_slot_that_is_empty_answers_not_supported() {
    // SAFETY: nothing is called.
    let status = unsafe { calls::hipDrvMemcpy3D::<SLOTS>(std::ptr::null()) };
    assert_eq!(status, hipError_t::hipErrorNotSupported);
}

/// A pointer that is only compared.
fn at<T>(address: usize) -> *mut T {
    without_provenance_mut(address)
}

/// Fills a plain structure so that no two of its 32-bit words are the same, and so that no byte is zero.
fn distinct<T: Copy>() -> T {
    let mut value = MaybeUninit::<T>::uninit();
    let bytes = value.as_mut_ptr().cast::<u8>();
    for index in 0..size_of::<T>() {
        let word = u32::try_from(index / 4).expect("structures are small");
        let byte = [1, word % 251 + 1, word / 251 + 1, 2][index % 4];
        // SAFETY: the index is inside the structure.
        unsafe { bytes.add(index).write(u8::try_from(byte).expect("small")) };
    }
    // SAFETY: every byte has a value, and the callers' types hold numbers, which any bytes are.
    unsafe { value.assume_init() }
}

/// Checks that fields of two structures are the same.
macro_rules! same {
    ($left:ident, $right:ident: $($field:ident)*) => {
        $(assert_eq!($left.$field, $right.$field, stringify!($field));)*
    };
}

#[test]
fn device_properties_keep_what_both_forms_have() {
    let old: hipDeviceProp_tR0000 = distinct();
    let new = hipDeviceProp_tR0600::of_5(&old);
    let back = hipDeviceProp_tR0000::of_6(&new);
    same!(old, new:
        name totalGlobalMem sharedMemPerBlock regsPerBlock warpSize maxThreadsPerBlock maxThreadsDim maxGridSize
        clockRate memoryClockRate memoryBusWidth totalConstMem major minor multiProcessorCount l2CacheSize
        maxThreadsPerMultiProcessor computeMode clockInstructionRate concurrentKernels pciDomainID pciBusID
        pciDeviceID maxSharedMemoryPerMultiProcessor isMultiGpuBoard canMapHostMemory gcnArchName integrated
        cooperativeLaunch cooperativeMultiDeviceLaunch maxTexture1DLinear maxTexture1D maxTexture2D maxTexture3D
        hdpMemFlushCntl hdpRegFlushCntl memPitch textureAlignment texturePitchAlignment kernelExecTimeoutEnabled
        ECCEnabled tccDriver cooperativeMultiDeviceUnmatchedFunc cooperativeMultiDeviceUnmatchedGridDim
        cooperativeMultiDeviceUnmatchedBlockDim cooperativeMultiDeviceUnmatchedSharedMem isLargeBar asicRevision
        managedMemory directManagedMemAccessFromHost concurrentManagedAccess pageableMemoryAccess
        pageableMemoryAccessUsesHostPageTables);
    assert_eq!(new.arch._bitfield_1, old.arch._bitfield_1);
    assert_eq!(new.uuid.bytes, [0; 16]);
    assert_eq!((new.luid, new.sharedMemPerMultiprocessor, new.hipReserved), ([0; 8], 0, [0; 32]));
    assert_eq!((back.name, back.totalGlobalMem), (old.name, old.totalGlobalMem));
    assert_eq!((back.isLargeBar, back.asicRevision), (old.isLargeBar, old.asicRevision));
    assert_eq!(back.gcnArch, 0);
}

#[test]
fn every_byte_of_the_old_properties_goes_somewhere() {
    // The newest structure lost one number. Apart from padding, the rest must survive both conversions.
    let old: hipDeviceProp_tR0000 = distinct();
    let back = hipDeviceProp_tR0000::of_6(&hipDeviceProp_tR0600::of_5(&old));
    let text = |properties: &hipDeviceProp_tR0000| format!("{properties:?}");
    let expected = text(&old).replacen(&format!("gcnArch: {}", old.gcnArch), "gcnArch: 0", 1);
    assert_eq!(text(&back), expected);
}

#[test]
fn memory_types_are_renumbered_both_ways() {
    use hipMemoryType as New;
    use legacy::v5_7::hipMemoryType as Old;
    let pairs = [
        (0, Old::hipMemoryTypeHost, New::hipMemoryTypeHost),
        (1, Old::hipMemoryTypeDevice, New::hipMemoryTypeDevice),
        (2, Old::hipMemoryTypeArray, New::hipMemoryTypeArray),
        (3, Old::hipMemoryTypeUnified, New::hipMemoryTypeUnified),
        (4, Old::hipMemoryTypeManaged, New::hipMemoryTypeManaged),
    ];
    for (number, old, new) in pairs {
        assert_eq!(old.0, number);
        assert_eq!(convert::memory_type_of_5(old), new);
        let copy = hip_Memcpy2D { srcMemoryType: new, dstMemoryType: new, ..Default::default() };
        let copy = convert::copy_2d_to_5(&copy).expect("both types are old");
        assert_eq!((copy.srcMemoryType, copy.dstMemoryType), (old, old));
    }
    assert_eq!(convert::memory_type_of_5(Old(77)), New::hipMemoryTypeUnregistered);
}

#[test]
fn memory_types_that_hip_5_lacks_are_errors_in_a_copy() {
    for wrong in [hipMemoryType::hipMemoryTypeUnregistered, hipMemoryType(4), hipMemoryType(12)] {
        let right = hipMemoryType::hipMemoryTypeHost;
        for (source, destination) in [(wrong, right), (right, wrong)] {
            let flat =
                hip_Memcpy2D { srcMemoryType: source, dstMemoryType: destination, ..Default::default() };
            assert_eq!(convert::copy_2d_to_5(&flat).err(), Some(hipError_t::hipErrorInvalidValue));
            let solid =
                HIP_MEMCPY3D { srcMemoryType: source, dstMemoryType: destination, ..Default::default() };
            assert_eq!(convert::copy_3d_to_5(&solid).err(), Some(hipError_t::hipErrorInvalidValue));
        }
    }
}

#[test]
fn pointer_attributes_keep_everything_but_the_numbers_of_types() {
    let old = legacy::v5_7::hipPointerAttribute_t {
        __bindgen_anon_1: legacy::v5_7::hipPointerAttribute_t__bindgen_ty_1 {
            type_: legacy::v5_7::hipMemoryType::hipMemoryTypeManaged,
        },
        device: 5,
        devicePointer: at(0x10),
        hostPointer: at(0x20),
        isManaged: 6,
        allocationFlags: 7,
    };
    let new = convert::pointer_attributes_of_5(&old);
    assert_eq!(new.type_, hipMemoryType::hipMemoryTypeManaged);
    same!(old, new: device devicePointer hostPointer isManaged allocationFlags);
}

#[test]
fn a_flat_copy_keeps_everything_but_the_numbers_of_types() {
    let new = hip_Memcpy2D {
        srcXInBytes: 1,
        srcY: 2,
        srcMemoryType: hipMemoryType::hipMemoryTypeUnified,
        srcHost: at(3),
        srcDevice: at(4),
        srcArray: at(5),
        srcPitch: 6,
        dstXInBytes: 7,
        dstY: 8,
        dstMemoryType: hipMemoryType::hipMemoryTypeArray,
        dstHost: at(9),
        dstDevice: at(10),
        dstArray: at(11),
        dstPitch: usize::MAX,
        WidthInBytes: 12,
        Height: 13,
    };
    let old = convert::copy_2d_to_5(&new).expect("both types are old");
    assert_eq!((old.srcMemoryType.0, old.dstMemoryType.0), (3, 2));
    same!(old, new:
        srcXInBytes srcY srcHost srcDevice srcArray srcPitch
        dstXInBytes dstY dstHost dstDevice dstArray dstPitch WidthInBytes Height);
}

fn solid() -> HIP_MEMCPY3D {
    HIP_MEMCPY3D {
        srcXInBytes: 1,
        srcY: 2,
        srcZ: 3,
        srcLOD: 4,
        srcMemoryType: hipMemoryType::hipMemoryTypeHost,
        srcHost: at(5),
        srcDevice: at(6),
        srcArray: at(7),
        srcPitch: 8,
        srcHeight: 9,
        dstXInBytes: 10,
        dstY: 11,
        dstZ: 12,
        dstLOD: 13,
        dstMemoryType: hipMemoryType::hipMemoryTypeDevice,
        dstHost: at(14),
        dstDevice: at(15),
        dstArray: at(16),
        dstPitch: 17,
        dstHeight: 18,
        WidthInBytes: 19,
        Height: 20,
        Depth: c_uint::MAX as usize,
    }
}

#[test]
fn a_solid_copy_is_narrowed() {
    let old = convert::copy_3d_to_5(&solid()).expect("everything fits");
    assert_eq!((old.srcMemoryType.0, old.dstMemoryType.0), (0, 1));
    assert_eq!(
        [old.srcXInBytes, old.srcY, old.srcZ, old.srcLOD, old.srcPitch, old.srcHeight],
        [1, 2, 3, 4, 8, 9]
    );
    assert_eq!(
        [old.dstXInBytes, old.dstY, old.dstZ, old.dstLOD, old.dstPitch, old.dstHeight],
        [10, 11, 12, 13, 17, 18]
    );
    assert_eq!([old.WidthInBytes, old.Height, old.Depth], [19, 20, c_uint::MAX]);
    let new = solid();
    same!(old, new: srcHost srcDevice srcArray dstHost dstDevice dstArray);
}

#[test]
#[cfg(target_pointer_width = "64")]
fn a_solid_copy_that_needs_more_than_32_bits_is_an_error() {
    let large = c_uint::MAX as usize + 1;
    macro_rules! each {
        ($($field:ident)*) => {
            $(
                let copy = HIP_MEMCPY3D { $field: large, ..solid() };
                let result = convert::copy_3d_to_5(&copy);
                assert_eq!(result.err(), Some(hipError_t::hipErrorInvalidValue), stringify!($field));
            )*
        };
    }
    each!(srcXInBytes srcY srcZ srcLOD srcPitch srcHeight dstXInBytes dstY dstZ dstLOD dstPitch dstHeight);
    each!(WidthInBytes Height Depth);
}

fn pool() -> hipMemPoolProps {
    hipMemPoolProps {
        allocType: hipMemAllocationType::hipMemAllocationTypePinned,
        handleTypes: hipMemAllocationHandleType::hipMemHandleTypePosixFileDescriptor,
        location: hipMemLocation { type_: hipMemLocationType::hipMemLocationTypeDevice, id: 3 },
        win32SecurityAttributes: at(4),
        maxSize: 0,
        reserved: std::array::from_fn(|index| u8::try_from(index + 1).expect("small")),
    }
}

#[test]
fn pools_are_converted_both_ways() {
    let new = pool();
    let old = convert::pool_to_5(&new).expect("no size is asked for");
    same!(old, new: allocType handleTypes win32SecurityAttributes);
    assert_eq!((old.location.type_, old.location.id), (new.location.type_, 3));
    assert_eq!((&old.reserved[..56], &old.reserved[56..]), (&new.reserved[..], &[0; 8][..]));
    let back = convert::pool_of_5(&old);
    assert_eq!(format!("{back:?}"), format!("{new:?}"));
}

#[test]
fn a_largest_size_of_a_pool_is_an_error() {
    let result = convert::pool_to_5(&hipMemPoolProps { maxSize: 1, ..pool() });
    assert_eq!(result.err(), Some(hipError_t::hipErrorNotSupported));
}

#[test]
fn allocation_nodes_are_converted() {
    let old = legacy::v5_7::hipMemAllocNodeParams {
        poolProps: convert::pool_to_5(&pool()).expect("no size is asked for"),
        accessDescs: at(1),
        accessDescCount: 2,
        bytesize: 3,
        dptr: at(4),
    };
    let new = convert::allocation_node_of_5(&old);
    same!(old, new: accessDescs accessDescCount bytesize dptr);
    assert_eq!(format!("{:?}", new.poolProps), format!("{:?}", pool()));
}

#[test]
fn allocations_are_converted_both_ways() {
    let mut new = hipMemAllocationProp {
        type_: hipMemAllocationType::hipMemAllocationTypePinned,
        __bindgen_anon_1: hipMemAllocationProp__bindgen_ty_1 {
            requestedHandleType: hipMemAllocationHandleType::hipMemHandleTypeWin32,
        },
        location: hipMemLocation { type_: hipMemLocationType::hipMemLocationTypeDevice, id: 3 },
        win32HandleMetaData: at(4),
        allocFlags: hipMemAllocationProp__bindgen_ty_2 {
            compressionType: 5,
            gpuDirectRDMACapable: 0,
            usage: 6,
        },
    };
    let old = convert::allocation_to_5_2(&new).expect("nothing new is asked for");
    same!(old, new: type_ win32HandleMetaData);
    assert_eq!((old.location.type_, old.location.id), (new.location.type_, 3));
    assert_eq!(old.requestedHandleType, hipMemAllocationHandleType::hipMemHandleTypeWin32);
    assert_eq!((old.compressionType, old.usage), (5, 6));
    let back = convert::allocation_of_5_2(&old);
    same!(back, new: type_ win32HandleMetaData);
    assert_eq!((back.location.type_, back.location.id), (new.location.type_, 3));
    // SAFETY: the conversion has set it, under its other name.
    let handle_types = unsafe { back.__bindgen_anon_1.requestedHandleTypes };
    assert_eq!(handle_types, hipMemAllocationHandleType::hipMemHandleTypeWin32);
    let flags = back.allocFlags;
    assert_eq!((flags.compressionType, flags.gpuDirectRDMACapable, flags.usage), (5, 0, 6));

    new.allocFlags.gpuDirectRDMACapable = 1;
    assert_eq!(convert::allocation_to_5_2(&new).err(), Some(hipError_t::hipErrorNotSupported));
}

#[test]
fn external_memory_is_described_as_before() {
    type Handle = hipExternalMemoryHandleDesc_st__bindgen_ty_1;
    let mut new = hipExternalMemoryHandleDesc_st {
        type_: hipExternalMemoryHandleType::hipExternalMemoryHandleTypeOpaqueWin32,
        handle: Handle { win32: Default::default() },
        size: u64::MAX - 1,
        flags: 3,
        reserved: [9; 16],
    };
    new.handle.win32.handle = at(1);
    new.handle.win32.name = at(2);
    let old = convert::external_memory_to_5(&new).expect("the kind is old");
    same!(old, new: type_ size flags);
    // SAFETY: the test has set these members.
    let names = unsafe { (old.handle.win32.handle as usize, old.handle.win32.name as usize) };
    assert_eq!(names, (1, 2));

    new.type_ = hipExternalMemoryHandleType::hipExternalMemoryHandleTypeOpaqueFd;
    new.handle = Handle { fd: 77 };
    let old = convert::external_memory_to_5(&new).expect("the kind is old");
    // SAFETY: the test has set this member, and no more than it.
    assert_eq!(unsafe { old.handle.fd }, 77);

    new.type_ = hipExternalMemoryHandleType::hipExternalMemoryHandleTypeNvSciBuf;
    assert_eq!(convert::external_memory_to_5(&new).err(), Some(hipError_t::hipErrorNotSupported));

    let new = hipExternalMemoryBufferDesc_st {
        offset: u64::MAX - 2,
        size: u64::MAX - 3,
        flags: 4,
        reserved: [9; 16],
    };
    let old = convert::external_buffer_to_5(&new).expect("a buffer is always converted");
    same!(old, new: offset size flags);
}

#[test]
fn external_semaphores_are_described_as_before() {
    type Handle = hipExternalSemaphoreHandleDesc_st__bindgen_ty_1;
    let mut new = hipExternalSemaphoreHandleDesc_st {
        type_: hipExternalSemaphoreHandleType::hipExternalSemaphoreHandleTypeD3D12Fence,
        handle: Handle { fd: 78 },
        flags: 3,
        reserved: [9; 16],
    };
    let old = convert::external_semaphore_to_5(&new).expect("the kind is old");
    same!(old, new: type_ flags);
    // SAFETY: the test has set this member, and no more than it.
    assert_eq!(unsafe { old.handle.fd }, 78);
    for later in 5..=10 {
        new.type_ = hipExternalSemaphoreHandleType(later);
        assert_eq!(
            convert::external_semaphore_to_5(&new).err(),
            Some(hipError_t::hipErrorNotSupported),
            "{later}"
        );
    }
}

#[test]
fn parameters_of_semaphores_are_moved_together() {
    let mut new = hipExternalSemaphoreSignalParams_st::default();
    new.params.fence.value = u64::MAX - 1;
    new.params.nvSciSync.reserved = u64::MAX;
    new.params.keyedMutex.key = u64::MAX - 2;
    new.params.reserved = std::array::from_fn(|index| 100 + c_uint::try_from(index).expect("small"));
    new.flags = 3;
    new.reserved = std::array::from_fn(|index| 200 + c_uint::try_from(index).expect("small"));
    let old = convert::signal_to_5(&new);
    assert_eq!((old.params.fence.value, old.params.keyedMutex.key), (u64::MAX - 1, u64::MAX - 2));
    assert_eq!(old.params.reserved, new.params.reserved);
    same!(old, new: flags reserved);

    let mut new = hipExternalSemaphoreWaitParams_st::default();
    new.params.fence.value = u64::MAX - 1;
    new.params.nvSciSync.reserved = u64::MAX;
    new.params.keyedMutex.key = u64::MAX - 2;
    new.params.keyedMutex.timeoutMs = 4;
    new.params.reserved = std::array::from_fn(|index| 100 + c_uint::try_from(index).expect("small"));
    new.flags = 3;
    new.reserved = std::array::from_fn(|index| 200 + c_uint::try_from(index).expect("small"));
    let old = convert::wait_to_5(&new);
    assert_eq!((old.params.fence.value, old.params.keyedMutex.key), (u64::MAX - 1, u64::MAX - 2));
    assert_eq!((old.params.keyedMutex.timeoutMs, old.params.reserved), (4, new.params.reserved));
    same!(old, new: flags reserved);
}

#[test]
fn graph_nodes_of_the_same_name_are_of_the_same_type() {
    use legacy::v5_2::hipGraphNodeType as Old;
    for number in 0..=12 {
        let old = Old(number);
        let new = convert::node_type_of_5_2(old);
        match old.name() {
            None => assert_eq!(new, hipGraphNodeType::hipGraphNodeTypeCount),
            Some("hipGraphNodeTypeMemcpy1D") => assert_eq!(new, hipGraphNodeType::hipGraphNodeTypeMemcpy),
            name => assert_eq!(new.name(), name),
        }
    }
    let later: Vec<_> = (0..=12).map(|number| convert::node_type_of_5_3(Old(number)).0).collect();
    assert_eq!(later, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, hipGraphNodeType::hipGraphNodeTypeCount.0]);
}

#[test]
fn values_of_launch_attributes_are_those_of_their_member() {
    use hipLaunchAttributeID as Id;
    let window = hipAccessPolicyWindow {
        base_ptr: at(1),
        hitProp: hipAccessProperty::hipAccessPropertyPersisting,
        hitRatio: 0.25,
        missProp: hipAccessProperty::hipAccessPropertyStreaming,
        num_bytes: 5,
    };
    let new = hipLaunchAttributeValue { accessPolicyWindow: window };
    let old = convert::launch_value_to_6(Id::hipLaunchAttributeAccessPolicyWindow, &new).expect("known");
    let back = convert::launch_value_of_6(Id::hipLaunchAttributeAccessPolicyWindow, &old);
    // SAFETY: the member that was set.
    let windows = unsafe { (old.accessPolicyWindow, back.accessPolicyWindow) };
    assert_eq!(format!("{:?}", windows.0), format!("{window:?}"));
    assert_eq!(format!("{:?}", windows.1), format!("{window:?}"));

    // Only one member of the union is set, as by a caller.
    let new = hipLaunchAttributeValue { cooperative: -7 };
    let old = convert::launch_value_to_6(Id::hipLaunchAttributeCooperative, &new).expect("known");
    let back = convert::launch_value_of_6(Id::hipLaunchAttributeCooperative, &old);
    // SAFETY: the member that was set.
    assert_eq!(unsafe { (old.cooperative, back.cooperative) }, (-7, -7));
    // SAFETY: the rest is zero.
    assert!(unsafe { back.pad }[4..].iter().all(|byte| *byte == 0));

    let new = hipLaunchAttributeValue { priority: -8 };
    let old = convert::launch_value_to_6(Id::hipLaunchAttributePriority, &new).expect("known");
    let back = convert::launch_value_of_6(Id::hipLaunchAttributePriority, &old);
    // SAFETY: the member that was set.
    assert_eq!(unsafe { (old.priority, back.priority) }, (-8, -8));

    let unknown = convert::launch_value_to_6(Id::hipLaunchAttributeMemSyncDomain, &new);
    assert_eq!(unknown.err(), Some(hipError_t::hipErrorNotSupported));
}

#[test]
fn launch_attributes_are_known_since_their_version() {
    let known =
        |is_5| (0..64).filter(|id| convert::has_launch_attribute(is_5, hipLaunchAttributeID(*id))).collect();
    let (in_5, in_6): (Vec<u32>, Vec<u32>) = (known(true), known(false));
    assert_eq!((in_5, in_6), (vec![1, 2], vec![1, 2, 8]));
}

#[test]
fn memset_parameters_are_put_in_the_older_order() {
    let new = hipMemsetParams { dst: at(1), elementSize: 2, height: 3, pitch: 4, value: 5, width: 6 };
    let old = convert::memset_to_6(&new).expect("always converted");
    same!(old, new: dst elementSize height pitch value width);
}

#[test]
fn device_attributes_that_mean_something_else_are_not_asked_for() {
    for number in [64, 86, 10001, 10003, 10004] {
        assert_eq!(convert::device_attribute_to_5(hipDeviceAttribute_t(number)), None, "{number}");
    }
    let warp = hipDeviceAttribute_t::hipDeviceAttributeWarpSize;
    assert_eq!(convert::device_attribute_to_5(warp), Some(warp));
    assert_eq!(convert::device_attribute_to_7_0(warp), Some(warp));
    let chip = hipDeviceAttribute_t::hipDeviceAttributePciChipId;
    assert_eq!(convert::device_attribute_to_7_0(chip), Some(hipDeviceAttribute_t(10019)));
    let registers = hipDeviceAttribute_t::hipDeviceAttributeMaxAvailableVgprsPerThread;
    assert_eq!(convert::device_attribute_to_7_0(registers), None);
}

#[test]
fn the_flag_of_shared_memory_has_hip_5_s_number() {
    assert_eq!([0, 1, 2].map(convert::ipc_flags_to_5), [0, 0, 2]);
}

#[test]
fn textures_are_measured_in_elements() {
    let format = |x: c_int, y, z, w| hipChannelFormatDesc { x, y, z, w, ..Default::default() };
    assert_eq!(convert::texture_width(1000, &format(8, 0, 0, 0)), Ok(1000));
    assert_eq!(convert::texture_width(1000, &format(32, 32, 32, 32)), Ok(62));
    assert_eq!(convert::texture_width(-1, &format(8, 0, 0, 0)), Ok(0));
    for wrong in
        [format(0, 0, 0, 0), format(4, 0, 0, 0), format(-8, 0, 0, 0), format(c_int::MIN, c_int::MIN, 0, 0)]
    {
        assert_eq!(convert::texture_width(1000, &wrong), Err(hipError_t::hipErrorInvalidValue));
    }
    assert_eq!(convert::texture_width(1000, &format(c_int::MAX, c_int::MAX, 0, 0)), Ok(0));
}

#[test]
fn names_end_at_their_nul() {
    assert_eq!(c_name("abc\0"), c"abc");
    assert_eq!(c_name("abc"), c"");
}
