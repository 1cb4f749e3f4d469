//! Older libraries behind the newest types. A C compiler makes fake libraries, which compare their arguments
//! with expected values and return known contents, all in the form of their version.
//!
//! If `FERROCM_ROCM_HEADERS` names the headers of all releases, each fake is compiled against its release's
//! headers.

use std::ffi::{c_char, c_uint, c_void};
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::{null, null_mut, without_provenance_mut};
use std::sync::OnceLock;

use hip_sys::*;
use test_skip::{Lack, skip};

/// A library of a version.
struct Fake {
    shape: &'static str,
    /// The release whose headers it is compiled against, if there are any.
    release: Option<&'static str>,
    table: OnceLock<Result<&'static Table, (Lack, String)>>,
}

impl Fake {
    const fn new(shape: &'static str, release: Option<&'static str>) -> Fake {
        Fake { shape, release, table: OnceLock::new() }
    }

    fn table(&self) -> Option<&'static Table> {
        match self.table.get_or_init(|| self.load()) {
            Ok(table) => Some(table),
            Err((lack, reason)) => {
                skip(*lack, reason);
                None
            }
        }
    }

    fn load(&self) -> Result<&'static Table, (Lack, String)> {
        if cfg!(miri) || !cfg!(target_os = "linux") {
            let reason = "the fake libraries are made for Linux, and Miri cannot open them".to_owned();
            return Err((Lack::Machine, reason));
        }
        // The library stays open; its file is not needed any more.
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let library = self.compile(folder.path()).map_err(|reason| (Lack::Tool, reason))?;
        // SAFETY: the file is what the compiler has just made; it has no initialisers.
        let open = || unsafe { Table::load_from(&library) }.expect("the library opens");
        let (table, again) = (open(), open());
        assert_eq!(
            table.hipGraphKernelNodeSetAttribute as usize, again.hipGraphKernelNodeSetAttribute as usize,
            "a file that is opened again has the same bridges"
        );
        Ok(table)
    }

    fn compile(&self, folder: &Path) -> Result<PathBuf, String> {
        let library = folder.join(format!("libfake{}.so", self.shape));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fakes/bridge/fake.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-std=gnu11", "-shared", "-fPIC", "-O1", "-w", "-o"]).arg(&library).arg(source);
        compiler.arg(format!("-DSHAPE={}", self.shape));
        let texture = offset_of!(hipDeviceProp_tR0600, maxTexture1DLinear);
        compiler.arg(format!("-DTEXTURE_OFFSET={texture}"));
        if let Some(headers) = self.headers() {
            println!("{} is compiled against {}", self.shape, headers.display());
            compiler.args(["-DHEADERS", "-D__HIP_PLATFORM_AMD__=1", "-I"]).arg(headers);
        }
        let output = compiler.output().map_err(|error| format!("no C compiler: cc: {error}"))?;
        assert!(output.status.success(), "cc: {}", String::from_utf8_lossy(&output.stderr));
        Ok(library)
    }

    fn headers(&self) -> Option<PathBuf> {
        let folder = PathBuf::from(std::env::var_os("FERROCM_ROCM_HEADERS")?);
        Some(folder.join(self.release?).join("usr/include")).filter(|folder| folder.join("hip").is_dir())
    }
}

static HIP_5_2: Fake = Fake::new("52", Some("5.2"));
static HIP_5_7: Fake = Fake::new("57", Some("5.7"));
static HIP_6_4: Fake = Fake::new("64", Some("6.4"));
static HIP_7_0: Fake = Fake::new("70", None);

const SUCCESS: hipError_t = hipError_t::hipSuccess;
const INVALID: hipError_t = hipError_t::hipErrorInvalidValue;
const NOT_SUPPORTED: hipError_t = hipError_t::hipErrorNotSupported;

/// A pointer that is only compared.
fn at<T>(address: usize) -> *mut T {
    without_provenance_mut(address)
}

fn text(chars: &[c_char]) -> String {
    chars.iter().take_while(|c| **c != 0).map(|c| char::from(c.to_ne_bytes()[0])).collect()
}

fn put(chars: &mut [c_char], text: &str) {
    for (place, byte) in chars.iter_mut().zip(text.bytes()) {
        *place = c_char::from_ne_bytes([byte]);
    }
}

/// The tables of both forms of HIP 5 that can be made here, with their names.
fn hip_5() -> impl Iterator<Item = (&'static str, &'static Table)> {
    [("5.2", &HIP_5_2), ("5.7", &HIP_5_7)].into_iter().filter_map(|(name, fake)| Some((name, fake.table()?)))
}

#[test]
fn device_properties_have_the_newest_form() {
    for (name, table) in hip_5() {
        assert!(table.has("hipGetDevicePropertiesR0600") && table.has("hipChooseDeviceR0600"), "{name}");
        let mut properties = hipDeviceProp_tR0600 { luidDeviceNodeMask: 99, ..Default::default() };
        // SAFETY: the place has the form that is written.
        assert_eq!(unsafe { (table.hipGetDevicePropertiesR0600)(&mut properties, 0) }, SUCCESS);
        assert_eq!(text(&properties.name), format!("fake {name}"));
        assert_eq!(text(&properties.gcnArchName), "gfx90a:sramecc+:xnack-");
        assert_eq!(properties.totalGlobalMem, 0x12_3456_789a);
        assert_eq!((properties.cooperativeMultiDeviceLaunch, properties.maxTexture1DLinear), (11, 1000));
        assert_eq!(properties.pageableMemoryAccessUsesHostPageTables, 12);
        assert_eq!(properties.luidDeviceNodeMask, 0);
        // SAFETY: as above; the library handles null.
        let others = unsafe {
            (
                (table.hipGetDevicePropertiesR0600)(&mut properties, 1),
                (table.hipGetDevicePropertiesR0600)(null_mut(), 0),
            )
        };
        assert_eq!(others, (hipError_t::hipErrorInvalidDevice, INVALID));
        assert_eq!(text(&properties.name), format!("fake {name}"), "an error writes nothing");
    }
}

#[test]
fn the_plain_names_of_device_properties_keep_the_old_form() {
    for (name, table) in hip_5() {
        let mut properties = hipDeviceProp_tR0000::default();
        // SAFETY: the place has the form that is written.
        assert_eq!(unsafe { (table.hipGetDeviceProperties)(&mut properties, 0) }, SUCCESS);
        assert_eq!(text(&properties.name), format!("fake {name}"));
    }
}

#[test]
fn devices_are_chosen_by_the_newest_form() {
    for (_, table) in hip_5() {
        let mut wanted = hipDeviceProp_tR0600 {
            totalGlobalMem: 21,
            maxTexture1DLinear: 22,
            pageableMemoryAccessUsesHostPageTables: 23,
            ..Default::default()
        };
        put(&mut wanted.name, "wanted");
        put(&mut wanted.gcnArchName, "gfx1030");
        let mut device = 0;
        // SAFETY: both arguments have the function's types.
        assert_eq!(unsafe { (table.hipChooseDeviceR0600)(&mut device, &wanted) }, SUCCESS);
        assert_eq!(device, 3);
        // SAFETY: the library handles null.
        assert_eq!(unsafe { (table.hipChooseDeviceR0600)(&mut device, null()) }, INVALID);
    }
}

#[test]
fn two_libraries_keep_to_their_own_functions() {
    let both: Vec<_> = hip_5().collect();
    let [(_, first), (_, second)] = both[..] else { return };
    let names = [first, second].map(|table| {
        let mut properties = hipDeviceProp_tR0600::default();
        // SAFETY: the place has the form that is written.
        assert_eq!(unsafe { (table.hipGetDevicePropertiesR0600)(&mut properties, 0) }, SUCCESS);
        text(&properties.name)
    });
    assert_eq!(names, ["fake 5.2", "fake 5.7"]);
}

#[test]
fn a_texture_is_measured_by_the_device_s_properties() {
    for (fake, bytes) in [(&HIP_5_2, 1000), (&HIP_5_7, 1000), (&HIP_6_4, 4096)] {
        let Some(table) = fake.table() else { continue };
        assert!(table.has("hipDeviceGetTexture1DLinearMaxWidth"));
        let width = table.hipDeviceGetTexture1DLinearMaxWidth;
        let format = hipChannelFormatDesc { x: 16, y: 16, ..Default::default() };
        let mut elements = 0;
        // SAFETY: both places are of the types that the function takes, or null.
        unsafe {
            assert_eq!((width(&mut elements, &format, 0), elements), (SUCCESS, bytes / 4));
            assert_eq!(width(&mut elements, &format, 1), hipError_t::hipErrorInvalidDevice);
            assert_eq!(width(&mut elements, &hipChannelFormatDesc::default(), 0), INVALID);
            assert_eq!(width(null_mut(), &format, 0), INVALID);
            assert_eq!(width(&mut elements, null(), 0), INVALID);
        }
        assert_eq!(elements, bytes / 4, "an error writes nothing");
    }
}

#[test]
fn device_attributes_have_the_newest_numbers() {
    let ask = |table: &Table, number: c_uint| {
        let mut value = -1;
        // SAFETY: the place has the type that is written.
        let status = unsafe { (table.hipDeviceGetAttribute)(&mut value, hipDeviceAttribute_t(number), 0) };
        (status, value)
    };
    for (_, table) in hip_5() {
        for unused in [64, 86, 10001, 10003, 10004] {
            assert_eq!(ask(table, unused), (INVALID, -1));
        }
        assert_eq!(ask(table, 87), (SUCCESS, 87));
    }
    if let Some(table) = HIP_6_4.table() {
        assert_eq!(ask(table, 64), (SUCCESS, 64), "not bridged");
    }
    if let Some(table) = HIP_7_0.table() {
        assert_eq!(ask(table, 10018), (SUCCESS, 10018));
        assert_eq!(ask(table, 10019), (INVALID, -1));
        assert_eq!(ask(table, 10020), (SUCCESS, 10019));
    }
}

#[test]
fn the_flag_for_shared_memory_is_the_newest() {
    for (_, table) in hip_5() {
        let handle = hipIpcMemHandle_st {
            reserved: std::array::from_fn(|index| c_char::try_from(index + 1).expect("small")),
        };
        let mut pointer = null_mut();
        // SAFETY: the place has the type that is written.
        let status =
            unsafe { (table.hipIpcOpenMemHandle)(&mut pointer, handle, hipIpcMemLazyEnablePeerAccess) };
        assert_eq!((status, pointer), (SUCCESS, at(7)));
    }
}

/// HIP 5's values of memory types, and the newest.
const TYPES: [(usize, hipMemoryType); 5] = [
    (0, hipMemoryType::hipMemoryTypeHost),
    (1, hipMemoryType::hipMemoryTypeDevice),
    (2, hipMemoryType::hipMemoryTypeArray),
    (3, hipMemoryType::hipMemoryTypeUnified),
    (4, hipMemoryType::hipMemoryTypeManaged),
];

#[test]
fn pointers_have_the_newest_memory_types() {
    for (_, table) in hip_5() {
        for (old, new) in TYPES {
            let mut attributes = hipPointerAttribute_t::default();
            // SAFETY: the place has the type that is written.
            let status = unsafe { (table.hipPointerGetAttributes)(&mut attributes, at(old)) };
            assert_eq!((status, attributes.type_), (SUCCESS, new));
            assert_eq!((attributes.device, attributes.isManaged, attributes.allocationFlags), (1, 4, 5));
            assert_eq!((attributes.devicePointer, attributes.hostPointer), (at(2), at(3)));
        }
        let mut untouched = hipPointerAttribute_t { device: 66, ..Default::default() };
        // SAFETY: as above; the library handles null.
        unsafe {
            assert_eq!((table.hipPointerGetAttributes)(&mut untouched, at(5)), INVALID);
            assert_eq!((table.hipPointerGetAttributes)(null_mut(), at(0)), INVALID);
        }
        assert_eq!(untouched.device, 66);
    }
}

#[test]
fn memory_types_behind_untyped_pointers_are_the_newest() {
    let kind = hipPointer_attribute::HIP_POINTER_ATTRIBUTE_MEMORY_TYPE;
    let context = hipPointer_attribute::HIP_POINTER_ATTRIBUTE_CONTEXT;
    for (_, table) in hip_5() {
        for (old, new) in TYPES {
            let number = c_uint::try_from(old).expect("small");
            let mut value = hipMemoryType(77);
            let place = (&raw mut value).cast::<c_void>();
            // SAFETY: the place has the size that is written.
            assert_eq!(unsafe { (table.hipPointerGetAttribute)(place, kind, at(old)) }, SUCCESS);
            assert_eq!(value, new);
            let place = (&raw mut value).cast::<c_void>();
            // SAFETY: as above.
            assert_eq!(unsafe { (table.hipPointerGetAttribute)(place, context, at(old)) }, SUCCESS);
            assert_eq!(value.0, number, "another attribute");

            let (mut left, mut right) = (hipMemoryType(77), hipMemoryType(77));
            let mut attributes = [context, kind, kind];
            let mut places = [(&raw mut left).cast::<c_void>(), (&raw mut right).cast(), null_mut()];
            // SAFETY: three attributes, and three places of the size that is written, or null.
            let status = unsafe {
                (table.hipDrvPointerGetAttributes)(3, attributes.as_mut_ptr(), places.as_mut_ptr(), at(old))
            };
            assert_eq!((status, left.0, right), (SUCCESS, number, new));
        }
        // SAFETY: the library handles null.
        unsafe {
            assert_eq!((table.hipPointerGetAttribute)(null_mut(), kind, at(0)), INVALID);
            assert_eq!((table.hipDrvPointerGetAttributes)(1, null_mut(), null_mut(), at(0)), INVALID);
        }
    }
}

#[test]
fn flat_copies_reach_the_library_with_its_memory_types() {
    let copy = hip_Memcpy2D {
        srcXInBytes: 1,
        srcY: 2,
        srcMemoryType: hipMemoryType::hipMemoryTypeHost,
        srcHost: at(3),
        srcDevice: at(4),
        srcArray: at(5),
        srcPitch: 6,
        dstXInBytes: 7,
        dstY: 8,
        dstMemoryType: hipMemoryType::hipMemoryTypeDevice,
        dstHost: at(9),
        dstDevice: at(10),
        dstArray: at(11),
        dstPitch: 12,
        WidthInBytes: 13,
        Height: 14,
    };
    let wrong = hip_Memcpy2D { srcMemoryType: hipMemoryType::hipMemoryTypeUnregistered, ..copy };
    for (_, table) in hip_5() {
        for (pointer, expected) in
            [(&raw const copy, SUCCESS), (&raw const wrong, INVALID), (null(), INVALID)]
        {
            // SAFETY: the description is valid or null; nothing is copied.
            unsafe {
                assert_eq!((table.hipMemcpyParam2D)(pointer), expected);
                assert_eq!((table.hipMemcpyParam2DAsync)(pointer, at(77)), expected);
                assert_eq!((table.hipDrvMemcpy2DUnaligned)(pointer), expected);
            }
        }
    }
}

#[test]
fn solid_copies_reach_the_library_with_its_sizes() {
    let copy = HIP_MEMCPY3D {
        srcXInBytes: 1,
        srcY: 2,
        srcZ: 3,
        srcLOD: 4,
        srcMemoryType: hipMemoryType::hipMemoryTypeUnified,
        srcHost: at(5),
        srcDevice: at(6),
        srcArray: at(7),
        srcPitch: 8,
        srcHeight: 9,
        dstXInBytes: 10,
        dstY: 11,
        dstZ: 12,
        dstLOD: 13,
        dstMemoryType: hipMemoryType::hipMemoryTypeArray,
        dstHost: at(14),
        dstDevice: at(15),
        dstArray: at(16),
        dstPitch: 17,
        dstHeight: 18,
        WidthInBytes: 19,
        Height: 20,
        Depth: 0xffff_ffff,
    };
    let wrong = HIP_MEMCPY3D { Depth: 0x1_0000_0000, ..copy };
    // A caller in C may place it at any address.
    let mut packed = [0u8; size_of::<HIP_MEMCPY3D>() + 1];
    // SAFETY: there is room, and the write needs no alignment.
    let odd = unsafe {
        let odd = packed.as_mut_ptr().add(1).cast::<HIP_MEMCPY3D>();
        odd.write_unaligned(copy);
        odd.cast_const()
    };
    let cases = [(&raw const copy, SUCCESS), (odd, SUCCESS), (&raw const wrong, INVALID), (null(), INVALID)];
    for (_, table) in hip_5() {
        for (pointer, expected) in cases {
            // SAFETY: the description is valid or null; nothing is copied.
            unsafe {
                assert_eq!((table.hipDrvMemcpy3D)(pointer), expected);
                assert_eq!((table.hipDrvMemcpy3DAsync)(pointer, at(77)), expected);
            }
        }
    }
}

fn pool() -> hipMemPoolProps {
    hipMemPoolProps {
        allocType: hipMemAllocationType::hipMemAllocationTypePinned,
        handleTypes: hipMemAllocationHandleType::hipMemHandleTypeWin32,
        location: hipMemLocation { type_: hipMemLocationType::hipMemLocationTypeDevice, id: 4 },
        win32SecurityAttributes: at(5),
        maxSize: 0,
        reserved: [0; 56],
    }
}

#[test]
fn pools_are_created_without_a_largest_size() {
    for (_, table) in hip_5() {
        let mut created = null_mut();
        let limited = hipMemPoolProps { maxSize: 1 << 20, ..pool() };
        // SAFETY: both arguments have the function's types, or null.
        unsafe {
            assert_eq!((table.hipMemPoolCreate)(&mut created, &limited), NOT_SUPPORTED);
            assert!(created.is_null());
            assert_eq!((table.hipMemPoolCreate)(&mut created, &pool()), SUCCESS);
            assert_eq!((table.hipMemPoolCreate)(&mut created, null()), INVALID);
        }
        assert_eq!(created, at(6));
    }
}

#[test]
fn allocation_nodes_of_graphs_return_their_address() {
    let Some(table) = HIP_5_7.table() else { return };
    let mut parameters = hipMemAllocNodeParams {
        poolProps: pool(),
        accessDescs: at(4),
        accessDescCount: 5,
        bytesize: 6,
        dptr: null_mut(),
    };
    let mut node = null_mut();
    let add = table.hipGraphAddMemAllocNode;
    // SAFETY: all arguments have the function's types; the fake only compares the others.
    unsafe {
        assert_eq!(add(&mut node, at(1), at(2), 3, &mut parameters), SUCCESS);
        assert_eq!(add(&mut node, at(1), at(2), 3, null_mut()), INVALID);
    }
    assert_eq!((node, parameters.dptr), (at(8), at(7)));
    parameters.poolProps.maxSize = 1;
    // SAFETY: as above.
    assert_eq!(unsafe { add(&mut node, at(1), at(2), 3, &mut parameters) }, NOT_SUPPORTED);

    // SAFETY: as above.
    assert_eq!(unsafe { (table.hipGraphMemAllocNodeGetParams)(node, &mut parameters) }, SUCCESS);
    assert_eq!((parameters.poolProps.location.id, parameters.poolProps.reserved[0]), (1, 2));
    assert_eq!((parameters.accessDescs.cast_mut(), parameters.accessDescCount), (at(3), 4));
    assert_eq!((parameters.bytesize, parameters.dptr, parameters.poolProps.maxSize), (5, at(6), 0));
    // SAFETY: the library handles null.
    assert_eq!(unsafe { (table.hipGraphMemAllocNodeGetParams)(node, null_mut()) }, INVALID);
    if let Some(older) = HIP_5_2.table() {
        assert!(!older.has("hipGraphAddMemAllocNode"), "it came with 5.5");
    }
}

#[test]
fn physical_memory_of_hip_5_2_has_its_own_properties() {
    let Some(table) = HIP_5_2.table() else { return };
    let mut properties = hipMemAllocationProp {
        type_: hipMemAllocationType::hipMemAllocationTypePinned,
        __bindgen_anon_1: hipMemAllocationProp__bindgen_ty_1 {
            requestedHandleType: hipMemAllocationHandleType::hipMemHandleTypeWin32Kmt,
        },
        location: hipMemLocation { type_: hipMemLocationType::hipMemLocationTypeDevice, id: 2 },
        win32HandleMetaData: at(6),
        allocFlags: hipMemAllocationProp__bindgen_ty_2 {
            compressionType: 1,
            gpuDirectRDMACapable: 0,
            usage: 5,
        },
    };
    let option = hipMemAllocationGranularity_flags::hipMemAllocationGranularityRecommended;
    let (mut handle, mut granularity) = (null_mut(), 0);
    // SAFETY: all arguments have the functions' types.
    unsafe {
        assert_eq!((table.hipMemCreate)(&mut handle, 7, &properties, 8), SUCCESS);
        assert_eq!((table.hipMemGetAllocationGranularity)(&mut granularity, &properties, option), SUCCESS);
    }
    assert_eq!((handle, granularity), (at(9), 10));
    let expected = properties;
    properties = hipMemAllocationProp::default();
    // SAFETY: the place has the type that is written.
    assert_eq!(unsafe { (table.hipMemGetAllocationPropertiesFromHandle)(&mut properties, handle) }, SUCCESS);
    assert_eq!((properties.type_, properties.location.id), (expected.type_, 2));
    assert_eq!((properties.win32HandleMetaData, properties.allocFlags.usage), (at(6), 5));
    properties.allocFlags.gpuDirectRDMACapable = 1;
    // SAFETY: as above.
    assert_eq!(unsafe { (table.hipMemCreate)(&mut handle, 7, &properties, 8) }, NOT_SUPPORTED);
}

#[test]
fn foreign_memory_and_semaphores_are_described_in_the_old_form() {
    for (_, table) in hip_5() {
        let mut description = hipExternalMemoryHandleDesc_st {
            type_: hipExternalMemoryHandleType::hipExternalMemoryHandleTypeOpaqueWin32,
            size: 3,
            flags: 4,
            ..Default::default()
        };
        description.handle.win32.handle = at(1);
        description.handle.win32.name = at(2);
        let buffer = hipExternalMemoryBufferDesc_st { offset: 6, size: 7, flags: 8, ..Default::default() };
        let (mut memory, mut pointer, mut semaphore) = (null_mut(), null_mut(), null_mut());
        let fence = hipExternalSemaphoreHandleDesc_st {
            type_: hipExternalSemaphoreHandleType::hipExternalSemaphoreHandleTypeOpaqueFd,
            handle: hipExternalSemaphoreHandleDesc_st__bindgen_ty_1 { fd: 11 },
            flags: 12,
            reserved: [0; 16],
        };
        // SAFETY: all arguments have the functions' types.
        unsafe {
            assert_eq!((table.hipImportExternalMemory)(&mut memory, &description), SUCCESS);
            assert_eq!((table.hipExternalMemoryGetMappedBuffer)(&mut pointer, memory, &buffer), SUCCESS);
            assert_eq!((table.hipImportExternalSemaphore)(&mut semaphore, &fence), SUCCESS);
        }
        assert_eq!((memory, pointer, semaphore), (at(5), at(9), at(13)));
        description.type_ = hipExternalMemoryHandleType::hipExternalMemoryHandleTypeNvSciBuf;
        // SAFETY: as above; the library handles null.
        unsafe {
            assert_eq!((table.hipImportExternalMemory)(&mut memory, &description), NOT_SUPPORTED);
            assert_eq!((table.hipImportExternalMemory)(&mut memory, null()), INVALID);
            assert_eq!((table.hipExternalMemoryGetMappedBuffer)(&mut pointer, memory, null()), INVALID);
            assert_eq!((table.hipImportExternalSemaphore)(&mut semaphore, null()), INVALID);
        }
    }
}

#[test]
fn arrays_of_semaphore_parameters_are_converted_one_by_one() {
    for count in [0, 1, 8, 9, 100] {
        let semaphores: Vec<hipExternalSemaphore_t> = (0..count).map(|index| at(1000 + index)).collect();
        let number = |base: usize, index: usize| u32::try_from(base + index).expect("small");
        let signals: Vec<_> = (0..count)
            .map(|index| {
                let mut signal = hipExternalSemaphoreSignalParams_st::default();
                signal.params.fence.value = number(2000, index).into();
                signal.params.keyedMutex.key = number(3000, index).into();
                signal.flags = number(4000, index);
                signal.reserved[15] = number(5000, index);
                signal
            })
            .collect();
        let waits: Vec<_> = (0..count)
            .map(|index| {
                let mut wait = hipExternalSemaphoreWaitParams_st::default();
                wait.params.fence.value = number(2000, index).into();
                wait.params.keyedMutex.key = number(3000, index).into();
                wait.params.keyedMutex.timeoutMs = number(3500, index);
                wait.flags = number(4000, index);
                wait.reserved[15] = number(5000, index);
                wait
            })
            .collect();
        let length = number(0, count);
        for (_, table) in hip_5() {
            let (signal, wait) =
                (table.hipSignalExternalSemaphoresAsync, table.hipWaitExternalSemaphoresAsync);
            let expected = if count == 0 { SUCCESS } else { INVALID };
            // SAFETY: both arrays have the length, or are null, which the library handles.
            unsafe {
                assert_eq!(signal(semaphores.as_ptr(), signals.as_ptr(), length, at(77)), SUCCESS);
                assert_eq!(wait(semaphores.as_ptr(), waits.as_ptr(), length, at(77)), SUCCESS);
                assert_eq!(signal(semaphores.as_ptr(), null(), length, at(77)), expected);
                assert_eq!(wait(semaphores.as_ptr(), null(), length, at(77)), expected);
            }
        }
    }
}

#[test]
fn nodes_of_graphs_have_the_newest_types() {
    let ask = |table: &Table, node: usize| {
        let mut kind = hipGraphNodeType(77);
        // SAFETY: the place has the type that is written.
        assert_eq!(unsafe { (table.hipGraphNodeGetType)(at(node), &mut kind) }, SUCCESS);
        // SAFETY: the library handles null.
        assert_eq!(unsafe { (table.hipGraphNodeGetType)(at(node), null_mut()) }, INVALID);
        kind
    };
    if let Some(table) = HIP_5_2.table() {
        assert_eq!(ask(table, 1), hipGraphNodeType::hipGraphNodeTypeKernel);
        assert_eq!(ask(table, 9), hipGraphNodeType::hipGraphNodeTypeMemcpy);
        assert_eq!(ask(table, 10), hipGraphNodeType::hipGraphNodeTypeMemcpyFromSymbol);
    }
    if let Some(table) = HIP_5_7.table() {
        assert_eq!(ask(table, 10), hipGraphNodeType::hipGraphNodeTypeMemAlloc);
    }
}

#[test]
fn attributes_of_kernel_nodes_are_of_the_size_the_library_knows() {
    let cooperative = hipLaunchAttributeID::hipLaunchAttributeCooperative;
    let priority = hipLaunchAttributeID::hipLaunchAttributePriority;
    let later = hipLaunchAttributeID::hipLaunchAttributeMemSyncDomain;
    for (fake, known) in [(&HIP_5_2, cooperative), (&HIP_5_7, cooperative), (&HIP_6_4, priority)] {
        let Some(table) = fake.table() else { continue };
        let (get, set) = (table.hipGraphKernelNodeGetAttribute, table.hipGraphKernelNodeSetAttribute);
        let mut value = hipLaunchAttributeValue { pad: [9; 64] };
        value.cooperative = 3;
        // SAFETY: the value is valid; the node is only compared.
        unsafe {
            assert_eq!(set(at(1), known, &value), SUCCESS);
            assert_eq!(get(at(1), known, &mut value), SUCCESS);
            assert_eq!(value.priority, 4);
            assert!(value.pad[4..].iter().all(|byte| *byte == 0));
            assert_eq!(
                (set(at(1), later, &value), get(at(1), later, &mut value)),
                (NOT_SUPPORTED, NOT_SUPPORTED)
            );
            assert_eq!((set(at(1), known, null()), get(at(1), known, null_mut())), (INVALID, INVALID));
            if known == cooperative {
                assert_eq!(set(at(1), priority, &value), NOT_SUPPORTED);
            }
        }
    }
}

#[test]
fn memset_nodes_of_hip_6_have_their_parameters_in_another_order() {
    let Some(table) = HIP_6_4.table() else { return };
    let parameters = hipMemsetParams { dst: at(1), elementSize: 2, height: 3, pitch: 4, value: 5, width: 6 };
    let (add, set) = (table.hipDrvGraphAddMemsetNode, table.hipDrvGraphExecMemsetNodeSetParams);
    let mut node = null_mut();
    // SAFETY: all arguments have the functions' types, or are only compared; the library handles null.
    unsafe {
        assert_eq!(add(&mut node, at(7), at(8), 9, &parameters, at(10)), SUCCESS);
        assert_eq!(set(at(12), at(11), &parameters, at(10)), SUCCESS);
        assert_eq!(add(&mut node, at(7), at(8), 9, null(), at(10)), INVALID);
        assert_eq!(set(at(12), at(11), null(), at(10)), INVALID);
    }
    assert_eq!(node, at(11));
}

#[test]
fn what_a_library_has_in_an_unknown_form_is_a_stub() {
    for (name, table) in hip_5() {
        assert!(!table.has("hipDrvGraphAddMemcpyNode"), "{name}");
        // SAFETY: a stub reads none of its arguments.
        let status = unsafe {
            (table.hipDrvGraphAddMemcpyNode)(null_mut(), null_mut(), null(), 0, null(), null_mut())
        };
        assert_eq!(status, NOT_SUPPORTED);
    }
}

#[test]
fn functions_under_the_names_of_a_cpp_compiler_are_found() {
    let Some(table) = HIP_5_2.table() else { return };
    assert!(table.has("hipDestroySurfaceObject") && !table.has("hipCreateSurfaceObject"));
    // SAFETY: the fake only compares the address.
    assert_eq!(unsafe { (table.hipDestroySurfaceObject)(at(1)) }, SUCCESS);
}

#[test]
fn what_has_not_changed_is_the_library_s_own() {
    for (_, table) in hip_5() {
        // SAFETY: the fake returns the flags.
        assert_eq!(unsafe { (table.hipInit)(7) }, hipError_t(7));
    }
}
