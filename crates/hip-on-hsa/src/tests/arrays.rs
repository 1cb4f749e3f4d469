//! Arrays: making, freeing and describing them, and copies in every direction against a model in host memory.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::Ordering;
use std::time::Duration;

use hip_sys::{
    HIP_ARRAY_DESCRIPTOR, HIP_ARRAY3D_DESCRIPTOR, HIP_MEMCPY3D, hip_Memcpy2D, hipArray_Format as Format,
    hipArray_t, hipArrayCubemap, hipArrayLayered, hipArraySurfaceLoadStore, hipArrayTextureGather,
    hipChannelFormatDesc, hipChannelFormatKind, hipExtent, hipGraphNode_t, hipMemcpy3DParms,
    hipMemcpyKind as Kind, hipMemoryType as Memory, hipPitchedPtr, hipPos, hipStreamCaptureMode,
};

use super::memory::pattern;
use super::*;

const INVALID: E = E::hipErrorInvalidValue;
const HANDLE: E = E::hipErrorInvalidHandle;
const FLOAT: hipChannelFormatDesc =
    hipChannelFormatDesc { x: 32, y: 0, z: 0, w: 0, f: hipChannelFormatKind::hipChannelFormatKindFloat };

fn extent(width: usize, height: usize, depth: usize) -> hipExtent {
    hipExtent { width, height, depth }
}

fn pitched(pointer: *mut c_void, pitch: usize, rows: usize) -> hipPitchedPtr {
    hipPitchedPtr { ptr: pointer, pitch, xsize: 0, ysize: rows }
}

impl Hip {
    fn try_array(&self, wanted: HIP_ARRAY3D_DESCRIPTOR) -> Result<hipArray_t, E> {
        let mut array = null_mut();
        match hip!(self, hipArray3DCreate(&mut array, &wanted)) {
            OK => Ok(array),
            code => Err(code),
        }
    }

    /// An array of floats.
    fn array(&self, width: usize, height: usize) -> hipArray_t {
        let mut array = null_mut();
        assert_eq!(hip!(self, hipMallocArray(&mut array, &FLOAT, width, height, 0)), OK);
        array
    }

    fn free_array(&self, array: hipArray_t) {
        assert_eq!(hip!(self, hipFreeArray(array)), OK);
    }
}

fn wanted(width: usize, height: usize, depth: usize, flags: u32) -> HIP_ARRAY3D_DESCRIPTOR {
    HIP_ARRAY3D_DESCRIPTOR {
        Width: width,
        Height: height,
        Depth: depth,
        Format: Format::HIP_AD_FORMAT_FLOAT,
        NumChannels: 1,
        Flags: flags,
    }
}

/// An array, and the bytes that must be in it: rows without gaps, layers of rows as rows.
struct Model {
    array: hipArray_t,
    element: usize,
    /// Bytes of a row, rows of a slice, slices.
    shape: [usize; 3],
    is_layered_1d: bool,
    bytes: Vec<u8>,
}

impl Model {
    fn new(hip: &Hip, wanted: HIP_ARRAY3D_DESCRIPTOR, element: usize) -> Self {
        let array = hip.try_array(wanted).unwrap();
        let is_layered_1d = wanted.Flags & hipArrayLayered != 0 && wanted.Height == 0;
        let (rows, slices) = match is_layered_1d {
            true => (wanted.Depth, 1),
            false => (wanted.Height.max(1), wanted.Depth.max(1)),
        };
        let shape = [wanted.Width * element, rows, slices];
        let size = shape.iter().product();
        let mut made = Self { array, element, shape, is_layered_1d, bytes: vec![0; size] };
        made.bytes = pattern(size);
        made.write_all(hip);
        made.check(hip);
        made
    }

    fn whole(&self) -> HIP_MEMCPY3D {
        HIP_MEMCPY3D {
            WidthInBytes: self.shape[0],
            Height: self.shape[1],
            Depth: self.shape[2],
            ..HIP_MEMCPY3D::default()
        }
    }

    /// Writes all of it with the driver's function.
    fn write_all(&self, hip: &Hip) {
        let copy = HIP_MEMCPY3D {
            srcMemoryType: Memory::hipMemoryTypeHost,
            srcHost: self.bytes.as_ptr().cast(),
            dstMemoryType: Memory::hipMemoryTypeArray,
            dstArray: self.array,
            ..self.whole()
        };
        assert_eq!(hip!(hip, hipDrvMemcpy3D(&copy)), OK);
    }

    /// Reads all of it with the driver's function, and compares.
    #[track_caller]
    fn check(&self, hip: &Hip) {
        let mut read = vec![0xeeu8; self.bytes.len()];
        let copy = HIP_MEMCPY3D {
            srcMemoryType: Memory::hipMemoryTypeArray,
            srcArray: self.array,
            // An array has its own.
            srcPitch: 3,
            srcHeight: 1,
            dstMemoryType: Memory::hipMemoryTypeHost,
            dstHost: read.as_mut_ptr().cast(),
            ..self.whole()
        };
        assert_eq!(hip!(hip, hipDrvMemcpy3D(&copy)), OK);
        assert!(read == self.bytes, "{:?}", self.shape);
    }

    /// Index of a byte, from its row's byte, row and slice.
    fn index(&self, [x, y, z]: [usize; 3]) -> usize {
        (z * self.shape[1] + y) * self.shape[0] + x
    }

    /// A position in the runtime's form: in elements, and layers by the third coordinate.
    fn position(&self, [x, y, z]: [usize; 3]) -> hipPos {
        let x = x / self.element;
        if self.is_layered_1d { hipPos { x, y: z, z: y } } else { hipPos { x, y, z } }
    }
}

/// All formats of elements: format, channels, bytes.
fn formats() -> Vec<(Format, u32, usize)> {
    let bytes = [
        (Format::HIP_AD_FORMAT_UNSIGNED_INT8, 1),
        (Format::HIP_AD_FORMAT_SIGNED_INT16, 2),
        (Format::HIP_AD_FORMAT_HALF, 2),
        (Format::HIP_AD_FORMAT_UNSIGNED_INT32, 4),
        (Format::HIP_AD_FORMAT_FLOAT, 4),
    ];
    let with = |(format, bytes): (Format, usize)| {
        [1, 2, 4].map(|channels: u32| (format, channels, bytes * channels as usize))
    };
    bytes.into_iter().flat_map(with).collect()
}

/// A box of `extent` bytes, rows and slices.
fn boxes(extent: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    let [width, rows, slices] = extent;
    (0..slices).flat_map(move |z| (0..rows).flat_map(move |y| (0..width).map(move |x| [x, y, z])))
}

fn moved([x, y, z]: [usize; 3], [a, b, c]: [usize; 3]) -> [usize; 3] {
    [x + a, y + b, z + c]
}

#[test]
fn boxes_are_copied_between_arrays_and_memory_as_in_a_model() {
    let hip = start();
    let stream = hip.stream(0);
    let mut random = random();
    let formats = formats();
    for round in 0..160 {
        let mut below = |limit: usize| (random() % limit.max(1) as u64) as usize;
        let (format, channels, element) = formats[below(formats.len())];
        let shape = |below: &mut dyn FnMut(usize) -> usize| {
            let (width, height, depth) = (1 + below(70), 1 + below(6), 1 + below(5));
            let (height, depth, flags) = match below(5) {
                0 => (0, 0, 0),
                1 => (height, 0, hipArraySurfaceLoadStore),
                2 => (height, depth, 0),
                3 => (0, depth, hipArrayLayered),
                _ => (height, depth, hipArrayLayered),
            };
            let wanted = wanted(width, height, depth, flags);
            HIP_ARRAY3D_DESCRIPTOR { Format: format, NumChannels: channels, ..wanted }
        };
        let mut array = Model::new(&hip, shape(&mut below), element);
        let other = Model::new(&hip, shape(&mut below), element);
        // A box that both arrays hold, and places of it.
        let most: [usize; 3] = std::array::from_fn(|axis| array.shape[axis].min(other.shape[axis]));
        let copied = [element * (1 + below(most[0] / element)), 1 + below(most[1]), 1 + below(most[2])];
        let place = |shape: [usize; 3], below: &mut dyn FnMut(usize) -> usize| {
            let free: [usize; 3] = std::array::from_fn(|axis| shape[axis] - copied[axis]);
            [element * below(free[0] / element + 1), below(free[1] + 1), below(free[2] + 1)]
        };
        let (at, from) = (place(array.shape, &mut below), place(other.shape, &mut below));
        // Memory with gaps between rows and rectangles.
        let (pitch, rows) = (copied[0] + below(9), copied[1] + below(3));
        let size = pitch * rows * copied[2];
        let mut host: Vec<u8> = (0..size).map(|index| (index * 5 + round) as u8).collect();
        let device = hip.malloc(size);
        hip.upload(device, &host);
        let in_memory = |[x, y, z]: [usize; 3]| (z * rows + y) * pitch + x;
        let elements = |model: &Model| {
            let [width, height, depth] = [copied[0] / element, copied[1], copied[2]];
            if model.is_layered_1d { extent(width, depth, height) } else { extent(width, height, depth) }
        };
        // Copies of layers of rows with memory count the memory's layers as rows, so that its rectangles do
        // not matter; the model's third length is then 1.
        let run = |parameters: &hipMemcpy3DParms, is_async: bool| match is_async {
            true => {
                assert_eq!(hip!(hip, hipMemcpy3DAsync(parameters, stream)), OK);
                assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
            }
            false => assert_eq!(hip!(hip, hipMemcpy3D(parameters)), OK),
        };
        let is_async = below(2) == 1;
        let start = hipMemcpy3DParms { extent: elements(&array), ..hipMemcpy3DParms::default() };
        let host_end = pitched(host.as_mut_ptr().cast(), pitch, rows);
        match below(5) {
            0 | 1 => {
                let from_host = below(2) == 0;
                run(
                    &hipMemcpy3DParms {
                        srcPtr: if from_host { host_end } else { pitched(device, pitch, rows) },
                        dstArray: array.array,
                        dstPos: array.position(at),
                        kind: if from_host { Kind::hipMemcpyHostToDevice } else { Kind::hipMemcpyDefault },
                        ..start
                    },
                    is_async,
                );
                for inner in boxes(copied) {
                    let index = array.index(moved(at, inner));
                    array.bytes[index] = host[in_memory(inner)];
                }
            }
            2 | 3 => {
                let to_host = below(2) == 0;
                run(
                    &hipMemcpy3DParms {
                        srcArray: array.array,
                        srcPos: array.position(at),
                        dstPtr: if to_host { host_end } else { pitched(device, pitch, rows) },
                        kind: match to_host {
                            true => Kind::hipMemcpyDeviceToHost,
                            false => Kind::hipMemcpyDeviceToDevice,
                        },
                        ..start
                    },
                    is_async,
                );
                let mut expected: Vec<u8> = (0..size).map(|index| (index * 5 + round) as u8).collect();
                for inner in boxes(copied) {
                    expected[in_memory(inner)] = array.bytes[array.index(moved(at, inner))];
                }
                assert!(if to_host { host == expected } else { hip.download(device, size) == expected });
            }
            // Between lists of rows and others, the runtime's form can only say what fits both.
            _ if array.is_layered_1d != other.is_layered_1d => {}
            _ => {
                run(
                    &hipMemcpy3DParms {
                        srcArray: other.array,
                        srcPos: other.position(from),
                        dstArray: array.array,
                        dstPos: array.position(at),
                        kind: Kind::hipMemcpyDeviceToDevice,
                        ..start
                    },
                    is_async,
                );
                for inner in boxes(copied) {
                    let index = array.index(moved(at, inner));
                    array.bytes[index] = other.bytes[other.index(moved(from, inner))];
                }
            }
        }
        array.check(&hip);
        other.check(&hip);
        host.clear();
        hip.free(device);
        hip.free_array(array.array);
        hip.free_array(other.array);
    }
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
}

#[test]
fn rectangles_are_copied_by_every_function_for_them() {
    let hip = start();
    let stream = hip.stream(0);
    let mut array = Model::new(&hip, wanted(20, 6, 0, 0), 4);
    let mut other = Model::new(&hip, wanted(9, 5, 0, 0), 4);
    let source = pattern(50 * 3);
    let (to, from) = (Kind::hipMemcpyHostToDevice, Kind::hipMemcpyDeviceToHost);
    let put =
        |model: &mut Model, corner: [usize; 2], [width, height]: [usize; 2], bytes: &[u8], pitch: usize| {
            for [x, y, _] in boxes([width, height, 1]) {
                let index = model.index([corner[0] + x, corner[1] + y, 0]);
                model.bytes[index] = bytes[y * pitch + x];
            }
        };
    let bytes = source.as_ptr().cast();
    assert_eq!(hip!(hip, hipMemcpy2DToArray(array.array, 8, 2, bytes, 50, 40, 3, to)), OK);
    put(&mut array, [8, 2], [40, 3], &source, 50);
    array.check(&hip);
    assert_eq!(hip!(hip, hipMemcpy2DToArrayAsync(array.array, 60, 0, bytes, 50, 20, 2, to, stream)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    put(&mut array, [60, 0], [20, 2], &source, 50);
    array.check(&hip);

    let expect = |model: &Model, corner: [usize; 2], [width, height]: [usize; 2], pitch: usize| {
        let mut expected = vec![0x11u8; pitch * height];
        for [x, y, _] in boxes([width, height, 1]) {
            expected[y * pitch + x] = model.bytes[model.index([corner[0] + x, corner[1] + y, 0])];
        }
        expected
    };
    let mut back = vec![0x11u8; 33 * 4];
    assert_eq!(
        hip!(hip, hipMemcpy2DFromArray(back.as_mut_ptr().cast(), 33, array.array, 12, 1, 32, 4, from)),
        OK
    );
    assert_eq!(back, expect(&array, [12, 1], [32, 4], 33));
    let mut back = vec![0x11u8; 80 * 6];
    let place = back.as_mut_ptr().cast();
    assert_eq!(hip!(hip, hipMemcpy2DFromArrayAsync(place, 80, array.array, 0, 0, 80, 6, from, stream)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    assert_eq!(back, array.bytes);

    let kind = Kind::hipMemcpyDeviceToDevice;
    assert_eq!(hip!(hip, hipMemcpy2DArrayToArray(other.array, 4, 1, array.array, 40, 2, 32, 4, kind)), OK);
    let moved = expect(&array, [40, 2], [32, 4], 32);
    put(&mut other, [4, 1], [32, 4], &moved, 32);
    other.check(&hip);

    let param = hip_Memcpy2D {
        srcMemoryType: Memory::hipMemoryTypeHost,
        srcHost: bytes,
        srcPitch: 50,
        srcXInBytes: 6,
        dstMemoryType: Memory::hipMemoryTypeArray,
        dstArray: other.array,
        dstXInBytes: 8,
        dstY: 2,
        WidthInBytes: 12,
        Height: 3,
        ..hip_Memcpy2D::default()
    };
    assert_eq!(hip!(hip, hipMemcpyParam2D(&param)), OK);
    put(&mut other, [8, 2], [12, 3], &source[6..], 50);
    other.check(&hip);
    let mut back = vec![0x11u8; 12 * 3];
    let param = hip_Memcpy2D {
        srcMemoryType: Memory::hipMemoryTypeArray,
        srcArray: other.array,
        srcXInBytes: 16,
        srcY: 1,
        dstMemoryType: Memory::hipMemoryTypeHost,
        dstHost: back.as_mut_ptr().cast(),
        WidthInBytes: 12,
        Height: 3,
        ..hip_Memcpy2D::default()
    };
    assert_eq!(hip!(hip, hipMemcpyParam2DAsync(&param, stream)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    assert_eq!(back, expect(&other, [16, 1], [12, 3], 12));

    // The functions for programs whose default stream is the thread's.
    assert_eq!(hip!(hip, hipMemcpy2DToArray_spt(other.array, 0, 0, bytes, 50, 36, 2, to)), OK);
    put(&mut other, [0, 0], [36, 2], &source, 50);
    let mut back = vec![0x11u8; 36 * 5];
    let place = back.as_mut_ptr().cast();
    assert_eq!(hip!(hip, hipMemcpy2DFromArray_spt(place, 36, other.array, 0, 0, 36, 5, from)), OK);
    assert_eq!(back, other.bytes);
    back.fill(0);
    assert_eq!(hip!(hip, hipMemcpyFromArray_spt(place, other.array, 0, 0, 36 * 5, from)), OK);
    assert_eq!(back, other.bytes);
    hip.free_array(array.array);
    hip.free_array(other.array);
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
}

#[test]
fn runs_of_bytes_continue_in_the_next_row() {
    let hip = start();
    let (row, height) = (28, 5);
    let mut array = Model::new(&hip, wanted(7, height, 0, 0), 4);
    let (to, from) = (Kind::hipMemcpyHostToDevice, Kind::hipMemcpyDeviceToHost);
    for (x, y, size) in [(0, 0, 140), (0, 0, 4), (4, 1, 24), (8, 0, 21), (8, 1, 84), (27, 2, 30), (0, 4, 28)]
    {
        let source: Vec<u8> = (0..size).map(|index| (index + x + y) as u8 ^ 0x5a).collect();
        assert_eq!(hip!(hip, hipMemcpyToArray(array.array, x, y, source.as_ptr().cast(), size, to)), OK);
        array.bytes[y * row + x..][..size].copy_from_slice(&source);
        array.check(&hip);
        let mut back = vec![0u8; size];
        let place = back.as_mut_ptr().cast();
        assert_eq!(hip!(hip, hipMemcpyFromArray(place, array.array, x, y, size, from)), OK);
        assert_eq!(back, source);
    }
    let mut bytes = [0u8; 256];
    let place: *mut c_void = bytes.as_mut_ptr().cast();
    for (x, y, size) in
        [(0, 0, 141), (28, 0, 1), (1, 4, 28), (0, 5, 1), (0, usize::MAX, 29), (usize::MAX, 0, 4)]
    {
        assert_eq!(
            hip!(hip, hipMemcpyToArray(array.array, x, y, place, size, to)),
            INVALID,
            "{x} {y} {size}"
        );
        assert_eq!(hip!(hip, hipMemcpyFromArray(place, array.array, x, y, size, from)), INVALID);
    }
    array.check(&hip);
    assert_eq!(hip!(hip, hipMemcpyToArray(null_mut(), 0, 0, place, 4, to)), INVALID);
    assert_eq!(hip!(hip, hipMemcpyToArray(array.array, 0, 0, null(), 4, to)), INVALID);
    let direction = E::hipErrorInvalidMemcpyDirection;
    assert_eq!(hip!(hip, hipMemcpyToArray(array.array, 0, 0, place, 4, Kind(9))), direction);
    hip.free_array(array.array);
}

#[test]
fn bytes_along_the_first_row_are_copied_in_all_directions() {
    let hip = start();
    let stream = hip.stream(0);
    let mut array = Model::new(&hip, wanted(64, 0, 0, 0), 4);
    let mut other = Model::new(&hip, wanted(32, 3, 0, 0), 4);
    let source = pattern(200);
    let device = hip.malloc(200);
    hip.upload(device, &source);
    assert_eq!(hip!(hip, hipMemcpyHtoA(array.array, 16, source.as_ptr().cast(), 100)), OK);
    array.bytes[16..116].copy_from_slice(&source[..100]);
    array.check(&hip);
    assert_eq!(hip!(hip, hipMemcpyHtoAAsync(array.array, 8, source.as_ptr().cast(), 4, stream)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    array.bytes[8..12].copy_from_slice(&source[..4]);
    array.check(&hip);
    assert_eq!(hip!(hip, hipMemcpyDtoA(array.array, 128, device, 128)), OK);
    array.bytes[128..].copy_from_slice(&source[..128]);
    array.check(&hip);
    assert_eq!(hip!(hip, hipMemcpyAtoA(other.array, 20, array.array, 40, 60)), OK);
    other.bytes[20..80].copy_from_slice(&array.bytes[40..100]);
    other.check(&hip);
    assert_eq!(hip!(hip, hipMemcpyAtoD(device, array.array, 56, 200)), OK);
    assert_eq!(hip.download(device, 200), array.bytes[56..]);
    for is_async in [false, true] {
        let mut back = vec![0u8; 77];
        let place = back.as_mut_ptr().cast();
        let code = match is_async {
            true => hip!(hip, hipMemcpyAtoHAsync(place, array.array, 100, 77, stream)),
            false => hip!(hip, hipMemcpyAtoH(place, array.array, 100, 77)),
        };
        assert_eq!(code, OK);
        assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
        assert_eq!(back, array.bytes[100..177]);
    }
    let mut bytes = [0u8; 300];
    let place: *mut c_void = bytes.as_mut_ptr().cast();
    for (offset, size) in [(0, 257), (256, 1), (usize::MAX, 2), (1, usize::MAX)] {
        assert_eq!(hip!(hip, hipMemcpyAtoH(place, array.array, offset, size)), INVALID);
        assert_eq!(hip!(hip, hipMemcpyHtoA(array.array, offset, place, size)), INVALID);
        assert_eq!(hip!(hip, hipMemcpyAtoA(array.array, offset, array.array, 0, size)), INVALID);
        assert_eq!(hip!(hip, hipMemcpyAtoA(array.array, 0, array.array, offset, size)), INVALID);
    }
    assert_eq!(hip!(hip, hipMemcpyAtoH(null_mut(), array.array, 0, 4)), INVALID);
    assert_eq!(hip!(hip, hipMemcpyHtoA(null_mut(), 0, place, 4)), INVALID);
    // Memory of the host is no device's.
    assert_eq!(hip!(hip, hipMemcpyAtoD(place, array.array, 0, 4)), INVALID);
    hip.free(device);
    hip.free_array(array.array);
    hip.free_array(other.array);
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
}

#[test]
fn arrays_tell_what_they_are() {
    let hip = start();
    let mut array = null_mut();
    let format = hipChannelFormatDesc {
        x: 16,
        y: 16,
        z: 0,
        w: 0,
        f: hipChannelFormatKind::hipChannelFormatKindSigned,
    };
    let flags = hipArrayLayered | hipArraySurfaceLoadStore;
    assert_eq!(hip!(hip, hipMalloc3DArray(&mut array, &format, extent(30, 20, 10), flags)), OK);
    let (mut found, mut size, mut is) = (hipChannelFormatDesc::default(), hipExtent::default(), 0);
    assert_eq!(hip!(hip, hipArrayGetInfo(&mut found, &mut size, &mut is, array)), OK);
    let same = |found: &hipChannelFormatDesc| {
        (found.x, found.y, found.z, found.w, found.f) == (16, 16, 0, 0, format.f)
    };
    assert!(same(&found));
    assert_eq!((size.width, size.height, size.depth, is), (30, 20, 10, flags));
    assert_eq!(hip!(hip, hipArrayGetInfo(null_mut(), null_mut(), null_mut(), array)), OK);
    let mut again = hipChannelFormatDesc::default();
    assert_eq!(hip!(hip, hipGetChannelDesc(&mut again, array)), OK);
    assert!(same(&again));
    let mut whole = HIP_ARRAY3D_DESCRIPTOR::default();
    assert_eq!(hip!(hip, hipArray3DGetDescriptor(&mut whole, array)), OK);
    assert_eq!((whole.Width, whole.Height, whole.Depth, whole.Flags), (30, 20, 10, flags));
    assert_eq!((whole.Format, whole.NumChannels), (Format::HIP_AD_FORMAT_SIGNED_INT16, 2));
    let mut plane = HIP_ARRAY_DESCRIPTOR::default();
    assert_eq!(hip!(hip, hipArrayGetDescriptor(&mut plane, array)), OK);
    assert_eq!((plane.Width, plane.Height, plane.NumChannels), (30, 20, 2));
    let mut kind = Memory::hipMemoryTypeHost;
    let which = hip_sys::hipPointer_attribute::HIP_POINTER_ATTRIBUTE_MEMORY_TYPE;
    assert_eq!(hip!(hip, hipPointerGetAttribute((&raw mut kind).cast(), which, array.cast())), OK);
    assert_eq!(kind, Memory::hipMemoryTypeArray);
    hip.free_array(array);

    assert_eq!(
        hip!(
            hip,
            hipArrayCreate(
                &mut array,
                &HIP_ARRAY_DESCRIPTOR {
                    Width: 8,
                    Height: 4,
                    Format: Format::HIP_AD_FORMAT_HALF,
                    NumChannels: 4
                }
            )
        ),
        OK
    );
    assert_eq!(hip!(hip, hipArray3DGetDescriptor(&mut whole, array)), OK);
    assert_eq!((whole.Width, whole.Height, whole.Depth, whole.Flags), (8, 4, 0, 0));
    assert_eq!(hip!(hip, hipArrayDestroy(array)), OK);
}

#[test]
fn arrays_that_cannot_be_are_refused() {
    let hip = start();
    let before = fake::live().0;
    let other = |format: u32, channels: u32| HIP_ARRAY3D_DESCRIPTOR {
        Format: Format(format),
        NumChannels: channels,
        ..wanted(8, 8, 0, 0)
    };
    for wrong in [
        wanted(0, 0, 0, 0),
        wanted(0, 4, 0, 0),
        wanted(4, 0, 4, 0),
        wanted(4, 4, 0, hipArrayLayered),
        wanted(4, 0, 0, hipArrayLayered),
        wanted(4, 4, 0, hipArrayCubemap),
        wanted(4, 4, 6, hipArrayCubemap | hipArrayLayered),
        wanted(4, 4, 0, 0x100),
        wanted(4, 0, 0, hipArrayTextureGather),
        wanted(4, 4, 4, hipArrayTextureGather),
        other(32, 3),
        other(32, 0),
        other(32, 5),
        other(0, 1),
        other(4, 1),
        // The limits of the device, one more each.
        wanted(4097, 0, 0, 0),
        wanted(4098, 1, 0, 0),
        wanted(1, 4099, 0, 0),
        wanted(1025, 1, 1, 0),
        wanted(1, 1026, 1, 0),
        wanted(1, 1, 1027, 0),
        wanted(4100, 0, 1, hipArrayLayered),
        wanted(1, 0, 513, hipArrayLayered),
        wanted(4101, 1, 1, hipArrayLayered),
        wanted(1, 4102, 1, hipArrayLayered),
        wanted(1, 1, 513, hipArrayLayered),
        wanted(usize::MAX, usize::MAX, 0, 0),
    ] {
        assert_eq!(hip.try_array(wrong), Err(INVALID), "{wrong:?}");
    }
    // As large as the limits allow is more than there is.
    let huge = HIP_ARRAY3D_DESCRIPTOR { NumChannels: 4, ..wanted(1024, 1025, 1026, 0) };
    assert_eq!(hip.try_array(huge), Err(E::hipErrorOutOfMemory));
    let gather = hip.try_array(wanted(4, 4, 0, hipArrayTextureGather)).unwrap();
    hip.free_array(gather);
    let mut array = null_mut();
    assert_eq!(hip!(hip, hipMallocArray(null_mut(), &FLOAT, 4, 4, 0)), INVALID);
    assert_eq!(hip!(hip, hipMallocArray(&mut array, null(), 4, 4, 0)), INVALID);
    assert_eq!(hip!(hip, hipMalloc3DArray(null_mut(), &FLOAT, extent(1, 1, 1), 0)), INVALID);
    assert_eq!(hip!(hip, hipArrayCreate(&mut array, null())), INVALID);
    assert_eq!(hip!(hip, hipArrayCreate(null_mut(), null())), INVALID);
    assert_eq!(hip!(hip, hipArray3DCreate(null_mut(), &wanted(1, 0, 0, 0))), INVALID);
    let gap = hipChannelFormatDesc { z: 32, ..FLOAT };
    let mixed = hipChannelFormatDesc { y: 16, ..FLOAT };
    let three = hipChannelFormatDesc { y: 32, z: 32, ..FLOAT };
    let double = hipChannelFormatDesc { x: 64, ..FLOAT };
    for format in [gap, mixed, three, double, hipChannelFormatDesc::default()] {
        assert_eq!(hip!(hip, hipMallocArray(&mut array, &format, 4, 4, 0)), INVALID, "{format:?}");
    }
    assert!(array.is_null());
    assert_eq!(fake::live().0, before);
    // Arrays of several levels do not exist.
    let mut levels = null_mut();
    let unsupported = E::hipErrorNotSupported;
    assert_eq!(hip!(hip, hipMallocMipmappedArray(&mut levels, &FLOAT, extent(4, 4, 0), 2, 0)), unsupported);
}

#[test]
fn a_destroyed_array_is_an_error_everywhere() {
    let hip = start();
    let (live, dead) = (hip.array(8, 8), hip.array(8, 8));
    hip.free_array(dead);
    let on_stack = 0u64;
    let mut bytes = [0u8; 64];
    let place: *mut c_void = bytes.as_mut_ptr().cast();
    let (to, from) = (Kind::hipMemcpyHostToDevice, Kind::hipMemcpyDeviceToHost);
    let foreign = (&raw const on_stack).cast_mut().cast::<hip_sys::hipArray>();
    for array in [dead, foreign, std::ptr::without_provenance_mut(8), null_mut()] {
        let ended = if array.is_null() { INVALID } else { E::hipErrorContextIsDestroyed };
        assert_eq!(hip!(hip, hipFreeArray(array)), ended);
        assert_eq!(hip!(hip, hipArrayDestroy(array)), ended);
        let mut size = hipExtent::default();
        assert_eq!(hip!(hip, hipArrayGetInfo(null_mut(), &mut size, null_mut(), array)), HANDLE);
        let mut whole = HIP_ARRAY3D_DESCRIPTOR::default();
        assert_eq!(hip!(hip, hipArray3DGetDescriptor(&mut whole, array)), HANDLE);
        let mut plane = HIP_ARRAY_DESCRIPTOR::default();
        assert_eq!(hip!(hip, hipArrayGetDescriptor(&mut plane, array)), HANDLE);
        let mut format = hipChannelFormatDesc::default();
        assert_eq!(hip!(hip, hipGetChannelDesc(&mut format, array)), HANDLE);
        assert_eq!(hip!(hip, hipMemcpy2DToArray(array, 0, 0, place, 4, 4, 1, to)), HANDLE);
        assert_eq!(hip!(hip, hipMemcpy2DFromArray(place, 4, array, 0, 0, 4, 1, from)), HANDLE);
        let kind = Kind::hipMemcpyDeviceToDevice;
        assert_eq!(hip!(hip, hipMemcpy2DArrayToArray(live, 0, 0, array, 0, 0, 4, 1, kind)), HANDLE);
        assert_eq!(hip!(hip, hipMemcpy2DArrayToArray(array, 0, 0, live, 0, 0, 4, 1, kind)), HANDLE);
        assert_eq!(hip!(hip, hipMemcpyToArray(array, 0, 0, place, 4, to)), INVALID);
        assert_eq!(hip!(hip, hipMemcpyAtoH(place, array, 0, 4)), INVALID);
        assert_eq!(hip!(hip, hipMemcpyAtoA(live, 0, array, 0, 4)), INVALID);
        let mut copy = hipMemcpy3DParms {
            srcArray: array,
            dstArray: live,
            extent: extent(1, 1, 1),
            kind,
            ..hipMemcpy3DParms::default()
        };
        assert_eq!(hip!(hip, hipMemcpy3D(&copy)), INVALID);
        (copy.srcArray, copy.dstArray) = (live, array);
        assert_eq!(hip!(hip, hipMemcpy3D(&copy)), INVALID);
        let driver = HIP_MEMCPY3D {
            srcMemoryType: Memory::hipMemoryTypeArray,
            srcArray: array,
            dstMemoryType: Memory::hipMemoryTypeHost,
            dstHost: place,
            WidthInBytes: 4,
            Height: 1,
            Depth: 1,
            ..HIP_MEMCPY3D::default()
        };
        assert_eq!(hip!(hip, hipDrvMemcpy3D(&driver)), INVALID);
    }
    // Null places, and copies that leave the array or the rows.
    assert_eq!(hip!(hip, hipArray3DGetDescriptor(null_mut(), live)), INVALID);
    assert_eq!(hip!(hip, hipArrayGetDescriptor(null_mut(), live)), INVALID);
    assert_eq!(hip!(hip, hipGetChannelDesc(null_mut(), live)), INVALID);
    let pitch = E::hipErrorInvalidPitchValue;
    assert_eq!(hip!(hip, hipMemcpy2DToArray(live, 0, 0, null(), 4, 4, 1, to)), INVALID);
    for (x, y, pitched, width, height, code) in [
        (0, 0, 3, 4, 1, pitch),
        (0, 0, 0, 4, 1, pitch),
        (29, 0, 4, 4, 1, INVALID),
        (0, 7, 4, 4, 2, INVALID),
        (usize::MAX, 0, 4, 4, 1, INVALID),
        (0, usize::MAX, 4, 4, 1, INVALID),
    ] {
        assert_eq!(hip!(hip, hipMemcpy2DToArray(live, x, y, place, pitched, width, height, to)), code);
        assert_eq!(hip!(hip, hipMemcpy2DFromArray(place, pitched, live, x, y, width, height, from)), code);
    }
    let direction = E::hipErrorInvalidMemcpyDirection;
    assert_eq!(hip!(hip, hipMemcpy2DToArray(live, 0, 0, place, 4, 4, 1, Kind(9))), direction);
    // Elements of different sizes, and both an array and memory.
    let double = hip.try_array(HIP_ARRAY3D_DESCRIPTOR { NumChannels: 2, ..wanted(8, 8, 0, 0) }).unwrap();
    let copy = hipMemcpy3DParms {
        srcArray: double,
        dstArray: live,
        extent: extent(1, 1, 1),
        kind: Kind::hipMemcpyDeviceToDevice,
        ..hipMemcpy3DParms::default()
    };
    assert_eq!(hip!(hip, hipMemcpy3D(&copy)), INVALID);
    let both = hipMemcpy3DParms { srcArray: live, srcPtr: pitched(place, 4, 1), ..copy };
    assert_eq!(hip!(hip, hipMemcpy3D(&both)), INVALID);
    hip.free_array(double);
    hip.free_array(live);
}

#[test]
fn memory_of_arrays_counts_and_is_freed_when_the_device_is_done_with_it() {
    let hip = start();
    let free = || {
        let (mut free, mut total) = (0, 0);
        assert_eq!(hip!(hip, hipMemGetInfo(&mut free, &mut total)), OK);
        free
    };
    let before = free();
    let array = hip.array(100, 10);
    // Rows of 400 bytes take 512.
    assert_eq!(before - free(), 5120);
    let module = hip.load(5);
    let (work, stream) = (hip.function(module, "work"), hip.stream(1));
    let hold = Hold::new();
    let held = fake::HELD.load(Ordering::Acquire);
    assert_eq!(hip.launch(work, stream), OK);
    while fake::HELD.load(Ordering::Acquire) == held {
        std::thread::yield_now();
    }
    let number = array as usize;
    let freed = begin(&hip, move |hip| hip!(hip, hipFreeArray(number as _)));
    assert!(freed.recv_timeout(Duration::from_millis(100)).is_err(), "a kernel may be using it");
    drop(hold);
    assert_eq!(freed.recv_timeout(Duration::from_secs(20)), Ok(OK));
    assert_eq!(free(), before);
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn a_reset_of_the_device_ends_its_arrays() {
    let hip = start();
    let before = fake::live().0;
    let array = hip.array(16, 16);
    assert_eq!(hip!(hip, hipDeviceReset()), OK);
    assert_eq!(hip!(hip, hipFreeArray(array)), E::hipErrorContextIsDestroyed);
    assert!(fake::live().0 <= before);
    let again = hip.array(16, 16);
    assert_ne!(array, again);
    hip.free_array(again);
}

#[test]
fn nodes_copy_between_arrays_and_memory_and_tell_of_them() {
    let hip = start();
    let stream = hip.stream(0);
    let mut layers = Model::new(&hip, wanted(10, 0, 4, hipArrayLayered), 4);
    let mut boxed = Model::new(&hip, wanted(10, 6, 4, 0), 4);
    let mut source = pattern(8 * 4 * 3);
    let mut graph = null_mut();
    assert_eq!(hip!(hip, hipGraphCreate(&mut graph, 0)), OK);
    let mut node: hipGraphNode_t = null_mut();
    let to_layers = hipMemcpy3DParms {
        srcPtr: pitched(source.as_mut_ptr().cast(), 32, 1),
        dstArray: layers.array,
        dstPos: hipPos { x: 2, y: 0, z: 1 },
        extent: extent(8, 1, 3),
        kind: Kind::hipMemcpyHostToDevice,
        ..hipMemcpy3DParms::default()
    };
    assert_eq!(hip!(hip, hipGraphAddMemcpyNode(&mut node, graph, null(), 0, &to_layers)), OK);
    let mut found = hipMemcpy3DParms::default();
    assert_eq!(hip!(hip, hipGraphMemcpyNodeGetParams(node, &mut found)), OK);
    assert_eq!((found.dstArray, found.srcArray), (layers.array, null_mut()));
    assert_eq!((found.dstPos.x, found.dstPos.y, found.dstPos.z), (2, 0, 1));
    assert_eq!((found.extent.width, found.extent.height, found.extent.depth), (8, 1, 3));
    assert!(found.dstPtr.ptr.is_null() && found.srcPtr.ptr == to_layers.srcPtr.ptr);
    assert_eq!(found.srcPtr.pitch, 32);
    // What a node tells can be given back to it.
    assert_eq!(hip!(hip, hipGraphMemcpyNodeSetParams(node, &found)), OK);

    // A second node in the driver's form, of a graph with a context.
    let mut context = null_mut();
    assert_eq!(hip!(hip, hipCtxGetCurrent(&mut context)), OK);
    let mut device = 0;
    if context.is_null() {
        assert_eq!(hip!(hip, hipDevicePrimaryCtxRetain(&mut context, device)), OK);
        device = 1;
    }
    let between = HIP_MEMCPY3D {
        srcMemoryType: Memory::hipMemoryTypeArray,
        srcArray: layers.array,
        srcXInBytes: 4,
        srcY: 1,
        dstMemoryType: Memory::hipMemoryTypeArray,
        dstArray: boxed.array,
        dstXInBytes: 8,
        dstY: 3,
        dstZ: 2,
        WidthInBytes: 20,
        Height: 3,
        Depth: 1,
        ..HIP_MEMCPY3D::default()
    };
    let mut second = null_mut();
    assert_eq!(hip!(hip, hipDrvGraphAddMemcpyNode(&mut second, graph, &node, 1, &between, context)), OK);
    let mut told = HIP_MEMCPY3D::default();
    assert_eq!(hip!(hip, hipDrvGraphMemcpyNodeGetParams(second, &mut told)), OK);
    assert_eq!((told.srcArray, told.dstArray), (layers.array, boxed.array));
    assert_eq!((told.srcXInBytes, told.srcY, told.srcZ), (4, 1, 0));
    assert_eq!((told.dstXInBytes, told.dstY, told.dstZ), (8, 3, 2));
    assert_eq!((told.WidthInBytes, told.Height, told.Depth), (20, 3, 1));

    let mut exec = null_mut();
    assert_eq!(hip!(hip, hipGraphInstantiate(&mut exec, graph, null_mut(), null_mut(), 0)), OK);
    for round in 0..2u8 {
        source.iter_mut().for_each(|byte| *byte = byte.wrapping_add(round + 1));
        assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
        assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
        for [x, y, _] in boxes([32, 3, 1]) {
            let index = layers.index([8 + x, 1 + y, 0]);
            layers.bytes[index] = source[y * 32 + x];
        }
        for [x, y, _] in boxes([20, 3, 1]) {
            let index = boxed.index([8 + x, 3 + y, 2]);
            boxed.bytes[index] = layers.bytes[layers.index([4 + x, 1 + y, 0])];
        }
        layers.check(&hip);
        boxed.check(&hip);
    }
    // A box outside of the array is refused, and so is a launch after the array has ended.
    let outside = hipMemcpy3DParms { dstPos: hipPos { x: 3, y: 0, z: 1 }, ..to_layers };
    assert_eq!(hip!(hip, hipGraphExecMemcpyNodeSetParams(exec, node, &mut { outside })), INVALID);
    hip.free_array(boxed.array);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), INVALID);
    assert_eq!(hip!(hip, hipGraphExecDestroy(exec)), OK);
    assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK);
    if device == 1 {
        assert_eq!(hip!(hip, hipDevicePrimaryCtxRelease(0)), OK);
    }
    hip.free_array(layers.array);
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
}

#[test]
fn copies_with_arrays_are_captured_and_arrays_are_not_made_meanwhile() {
    let hip = start();
    let stream = hip.stream(1);
    let mut array = Model::new(&hip, wanted(12, 4, 0, 0), 4);
    let mut source = pattern(48 * 4);
    let mut back = vec![0u8; 48];
    let (to, mode) = (Kind::hipMemcpyHostToDevice, hipStreamCaptureMode::hipStreamCaptureModeThreadLocal);
    assert_eq!(hip!(hip, hipStreamBeginCapture(stream, mode)), OK);
    let (bytes, place) = (source.as_mut_ptr(), back.as_mut_ptr());
    assert_eq!(
        hip!(hip, hipMemcpy2DToArrayAsync(array.array, 0, 1, bytes.cast(), 48, 48, 3, to, stream)),
        OK
    );
    assert_eq!(hip!(hip, hipMemcpyHtoAAsync(array.array, 8, bytes.cast(), 16, stream)), OK);
    assert_eq!(hip!(hip, hipMemcpyAtoHAsync(place.cast(), array.array, 0, 48, stream)), OK);
    let mut graph = null_mut();
    assert_eq!(hip!(hip, hipStreamEndCapture(stream, &mut graph)), OK);
    array.check(&hip);
    let mut exec = null_mut();
    assert_eq!(hip!(hip, hipGraphInstantiate(&mut exec, graph, null_mut(), null_mut(), 0)), OK);
    // A launch reads what is in memory then.
    source.iter_mut().for_each(|byte| *byte ^= 0xff);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    array.bytes[48..].copy_from_slice(&source[..144]);
    array.bytes[8..24].copy_from_slice(&source[..16]);
    array.check(&hip);
    assert_eq!(back, array.bytes[..48]);
    assert_eq!(hip!(hip, hipGraphExecDestroy(exec)), OK);
    assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK);

    let unsupported = E::hipErrorStreamCaptureUnsupported;
    let calls: [&dyn Fn() -> E; 3] = [
        &|| hip!(hip, hipMallocArray(&mut { null_mut() }, &FLOAT, 4, 4, 0)),
        &|| hip!(hip, hipFreeArray(array.array)),
        &|| hip!(hip, hipMemcpyHtoA(array.array, 0, bytes.cast(), 4)),
    ];
    for call in calls {
        assert_eq!(hip!(hip, hipStreamBeginCapture(stream, mode)), OK);
        assert_eq!(call(), unsupported);
        let mut graph = null_mut();
        assert_eq!(hip!(hip, hipStreamEndCapture(stream, &mut graph)), E::hipErrorStreamCaptureInvalidated);
    }
    array.check(&hip);
    hip.free_array(array.array);
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
}
