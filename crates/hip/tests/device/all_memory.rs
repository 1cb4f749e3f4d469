//! All kinds of device memory behave alike: one test runs all operations on each.

use hip::{
    Device, DeviceBuffer, DeviceMemory, DeviceMemoryMut, Error, Graph, GraphError, GrowableBuffer,
    HostBuffer, HostOptions, ManagedBuffer, MappedBuffer, RectLayout, RegisteredBuffer, Stream,
};
use test_skip::{Lack, skip};

use crate::common;

/// Device memory with a host vector as its model.
struct Model<'a, M> {
    stream: &'a Stream,
    memory: M,
    host: Vec<u32>,
}

impl<M: DeviceMemory<Element = u32>> Model<'_, M> {
    /// The memory equals the host's vector, in every way of reading it.
    fn holds(&self) {
        let Self { stream, memory, host } = self;
        let (len, half) = (host.len(), host.len() / 2);
        assert_eq!(memory.to_vec(stream).unwrap(), *host);
        assert_eq!((memory.len(), memory.is_empty()), (len, len == 0));
        assert_eq!((memory.size_in_bytes(), memory.device()), (4 * len, stream.device()));
        assert_eq!(memory.as_slice().address(), memory.address());
        assert_eq!(memory.slice(1..half).unwrap().to_vec(stream).unwrap(), host[1..half]);
        assert!(memory.try_slice(..=len).is_none());
        let (before, after) = memory.split_at(half).unwrap();
        assert_eq!(before.to_vec(stream).unwrap(), host[..half]);
        assert_eq!(after.to_vec(stream).unwrap(), host[half..]);
        let chunks = memory.chunks(5).unwrap();
        assert_eq!(chunks.len(), len.div_ceil(5));
        for (chunk, expected) in chunks.zip(host.chunks(5)) {
            assert_eq!(chunk.to_vec(stream).unwrap(), expected);
        }
        assert!(matches!(memory.chunks(0), Err(Error::ChunkSize)));
        let bytes: Vec<u8> = host.iter().flat_map(|value| value.to_ne_bytes()).collect();
        assert_eq!(memory.as_bytes().to_vec(stream).unwrap(), bytes);
        assert_eq!(memory.cast::<[u8; 4]>().unwrap().len(), len);
        let rect = memory.as_rect(RectLayout::plane([2, 2], half)).unwrap();
        assert_eq!(rect.to_vec(stream).unwrap(), [host[0], host[1], host[half], host[half + 1]]);
        let mut copy = vec![0; len];
        memory.copy_to_host(stream, &mut copy).unwrap();
        assert_eq!(copy, *host);
        let pinned = HostBuffer::zeroed(stream.device(), len).unwrap();
        assert_eq!(*memory.download(stream, pinned).unwrap().wait().unwrap(), host[..]);
        let mut clone = memory.try_clone(stream).unwrap();
        assert_ne!(clone.address(), memory.address());
        assert_eq!(clone.to_vec(stream).unwrap(), *host);
        clone.fill(stream, 0xdead).unwrap();
        assert_eq!(memory.to_vec(stream).unwrap(), *host, "a clone is other memory");
    }
}

impl<M: DeviceMemoryMut<Element = u32>> Model<'_, M> {
    /// Writes the memory in every way.
    fn is_written(&mut self) {
        let len = self.host.len();
        let (stream, half) = (self.stream, len / 2);
        self.memory.fill(stream, 7).unwrap();
        self.host.fill(7);
        self.holds();
        let values: Vec<u32> = (0..len as u32).map(|index| index * 3 + 1).collect();
        self.memory.copy_from_host(stream, &values).unwrap();
        self.host.copy_from_slice(&values);
        self.holds();
        self.memory.slice_mut(2..4).unwrap().fill(stream, 8).unwrap();
        self.memory.try_slice_mut(..1).unwrap().fill(stream, 9).unwrap();
        self.host[2..4].fill(8);
        self.host[0] = 9;
        assert!(self.memory.try_slice_mut(len + 1..).is_none());
        self.holds();
        let (mut before, after) = self.memory.split_at_mut(half).unwrap();
        before.copy_from(stream, after.slice(..half).unwrap()).unwrap();
        self.host.copy_within(half..2 * half, 0);
        self.holds();
        for (index, mut chunk) in self.memory.chunks_mut(5).unwrap().enumerate() {
            chunk.fill(stream, index as u32).unwrap();
        }
        self.host.chunks_mut(5).enumerate().for_each(|(index, chunk)| chunk.fill(index as u32));
        self.holds();
        self.memory.as_mut_bytes().slice_mut(..4).unwrap().fill(stream, 0xab).unwrap();
        self.memory.cast_mut::<f32>().unwrap().slice_mut(1..2).unwrap().fill(stream, 1.5).unwrap();
        self.host[..2].copy_from_slice(&[0xabab_abab, 1.5_f32.to_bits()]);
        self.holds();
        let mut rect = self.memory.as_mut_rect(RectLayout::plane([1, 2], half)).unwrap();
        rect.fill(stream, 77).unwrap();
        self.host[0] = 77;
        self.host[half] = 77;
        self.holds();
        let source = DeviceBuffer::from_slice(stream, &values).unwrap();
        self.memory.copy_from(stream, &source).unwrap();
        self.host.copy_from_slice(&values);
        self.holds();
        let pinned = HostBuffer::from_slice(stream.device(), &vec![5; len]).unwrap();
        drop(self.memory.upload(stream, pinned).unwrap());
        self.host.fill(5);
        self.holds();
        let short = self.memory.copy_from_host(stream, &[1]);
        assert!(matches!(short, Err(Error::LengthMismatch { .. })), "{short:?}");
    }
}

fn check<M: DeviceMemoryMut<Element = u32>>(stream: &Stream, memory: M) -> M {
    let host = vec![0; memory.len()];
    let mut model = Model { stream, memory, host };
    model.is_written();
    model.memory
}

const N: usize = 13;

#[test]
fn every_kind_of_memory_is_read_and_written_alike() {
    let device = common::device();
    let stream = &device.stream().unwrap();
    let mut buffer = check(stream, DeviceBuffer::uninit(&device, N).unwrap());
    check(stream, buffer.as_mut_slice());
    // In the middle of a buffer; the surrounding memory is unchanged.
    buffer.fill(stream, 1).unwrap();
    check(stream, buffer.slice_mut(3..12).unwrap());
    let values = buffer.to_vec(stream).unwrap();
    assert_eq!((&values[..3], &values[12..]), (&[1; 3][..], &[1][..]));

    check(stream, MappedBuffer::zeroed(&device, N, HostOptions::default()).unwrap());
    check(stream, RegisteredBuffer::new(&device, vec![0; N]).unwrap());
    if device.properties().managed_memory {
        check(stream, ManagedBuffer::zeroed(&device, N).unwrap());
    }
    if device.table().has("hipMemAddressReserve") && device.granularity().is_ok() {
        let mut growable = GrowableBuffer::new(&device, 1000).unwrap();
        growable.grow(N).unwrap();
        check(stream, growable);
    }
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
fn variables_are_read_and_written_alike_and_handed_to_kernels() {
    let device = common::device();
    let stream = &device.stream().unwrap();
    let module = common::module(&device);
    let numbers = check(stream, module.global_mut::<u32>("numbers").unwrap());
    drop(numbers);
    let numbers = module.global::<u32>("numbers").unwrap();
    let host = numbers.to_vec(stream).unwrap();
    Model { stream, memory: numbers, host }.holds();

    // `const float*` and `float*`.
    let saxpy = module.function("saxpy").unwrap();
    let mut x = module.global_mut::<f32>("factors").unwrap();
    x.copy_from_host(stream, &[10.0, 20.0]).unwrap();
    drop(x);
    let x = module.global::<f32>("factors").unwrap();
    let mut y = module.global_mut::<f32>("numbers").unwrap();
    y.slice_mut(..2).unwrap().copy_from_host(stream, &[1.0, 2.0]).unwrap();
    let launch = saxpy.launch(stream).grid(1).block(64).arg(2_u32).arg(3.0_f32).arg(&x).arg(&mut y);
    // SAFETY: both have at least two elements.
    unsafe { launch.enqueue().unwrap() };
    assert_eq!(y.slice(..2).unwrap().to_vec(stream).unwrap(), [31.0, 62.0]);
    let mut sum = DeviceBuffer::<f32>::zeroed(stream, 2).unwrap();
    let launch = saxpy.launch(stream).grid(1).block(64).arg(2_u32).arg(1.0_f32).arg(&y).arg(&mut sum);
    // SAFETY: as above.
    unsafe { launch.enqueue().unwrap() };
    assert_eq!(sum.to_vec(stream).unwrap(), [31.0, 62.0]);
}

#[test]
fn memory_of_a_graph_is_divided_for_its_nodes_and_used_by_no_stream() {
    let device = common::device();
    let stream = &device.stream().unwrap();
    let mut graph = Graph::new(&device).unwrap();
    let Ok((_, mut scratch)) = graph.add_allocation::<u32>(N, &[]) else {
        return skip(Lack::Device, format_args!("graphs of {device} have no memory"));
    };
    let mut output = DeviceBuffer::<u32>::zeroed(stream, N).unwrap();
    for (index, chunk) in scratch.chunks_mut(5).unwrap().enumerate() {
        graph.add_fill(chunk, index as u32, &[]).unwrap();
    }
    graph.add_fill(scratch.cast_mut::<f32>().unwrap().slice_mut(..1).unwrap(), 1.0, &[]).unwrap();
    graph.add_copy(&mut output, &scratch, &[]).unwrap();
    let refused = scratch.to_vec(stream).unwrap_err();
    assert!(matches!(refused, Error::Graph(GraphError::MemoryOfGraph)), "{refused}");
    let refused = scratch.try_clone(stream).unwrap_err();
    assert!(matches!(refused, Error::Graph(GraphError::MemoryOfGraph)), "{refused}");
    graph.add_free(scratch, &[]).unwrap();
    graph.instantiate().unwrap().launch(stream).unwrap();
    let mut expected: Vec<u32> = (0..N as u32).map(|index| index / 5).collect();
    expected[0] = 1.0_f32.to_bits();
    assert_eq!(output.to_vec(stream).unwrap(), expected);
}

#[test]
fn memory_is_seen_as_other_types_where_they_fit() {
    let device = common::device();
    let stream = &device.stream().unwrap();
    let buffer = DeviceBuffer::from_slice(stream, &[[1_u16, 2], [3, 4], [5, 6]]).unwrap();
    assert_eq!(buffer.cast::<u16>().unwrap().to_vec(stream).unwrap(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(buffer.cast::<[u16; 3]>().unwrap().to_vec(stream).unwrap(), [[1, 2, 3], [4, 5, 6]]);
    assert_eq!(buffer.cast::<[u16; 6]>().unwrap().len(), 1);
    let size = buffer.cast::<u64>().unwrap_err();
    assert!(matches!(size, Error::Cast { bytes: 12, element: "u64", size: 8, .. }), "{size}");
    let parts = buffer.cast::<u16>().unwrap();
    let aligned = parts.slice(1..3).unwrap().cast::<u32>().unwrap_err();
    assert!(matches!(aligned, Error::Cast { bytes: 4, align: 4, .. }), "{aligned}");
    assert!(matches!(buffer.cast::<[u8; 0]>(), Err(Error::Cast { size: 0, .. })));
    let nothing = DeviceBuffer::<u8>::uninit(&device, 0).unwrap();
    assert!(nothing.cast::<u64>().unwrap().is_empty() && nothing.chunks(3).unwrap().next().is_none());
    assert!(nothing.try_clone(stream).unwrap().is_empty());
}

#[test]
fn a_clone_is_of_the_streams_device_and_in_its_order() {
    common::check_leaks();
    let devices = Device::open_all(&"vgpu:gfx1100?count=2".parse().unwrap()).unwrap();
    let (first, second) = (devices[0].stream().unwrap(), devices[1].stream().unwrap());
    let mut buffer = DeviceBuffer::<u32>::zeroed(&first, 100_000).unwrap();
    for round in 1..5_u32 {
        buffer.fill(&first, round).unwrap();
        let clone = buffer.try_clone(&second).unwrap();
        buffer.fill(&first, 0).unwrap();
        assert_eq!((clone.device(), clone.to_vec(&second).unwrap()), (&devices[1], vec![round; 100_000]));
    }
    // A stream waits for another one, and for an event that it has recorded.
    let third = devices[0].stream().unwrap();
    buffer.fill(&first, 9).unwrap();
    third.wait(&first).unwrap();
    let filled = first.record().unwrap();
    second.wait(&filled).unwrap();
    third.synchronize().unwrap();
    second.synchronize().unwrap();
    assert!(filled.is_done().unwrap());
}

#[test]
fn padded_rows_are_filled_and_cloned() {
    let device = common::device();
    let stream = &device.stream().unwrap();
    let mut image = hip::PitchedBuffer::<u16>::zeroed(stream, [5, 3, 1]).unwrap();
    image.fill(stream, hip::Region::rectangle([1, 1], [2, 2]), 7).unwrap();
    let clone = image.try_clone(stream).unwrap();
    image.fill(stream, image.region(), 1).unwrap();
    let expected = [0, 0, 0, 0, 0, 0, 7, 7, 0, 0, 0, 7, 7, 0, 0];
    assert_eq!(clone.to_vec(stream, clone.region()).unwrap(), expected);
    assert_eq!((clone.pitch(), clone.size()), (image.pitch(), image.size()));
}
