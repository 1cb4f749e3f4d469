//! Rectangles and boxes of plain buffers: copied in every direction, filled, split.

use hip::{
    Device, DeviceBuffer, DeviceCopy, Error, Graph, GraphError, HostBuffer, RectLayout, Region,
    SharedHostBuffer, Stream,
};

use crate::common;

/// Pseudo-random numbers, the same on every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, limit: usize) -> usize {
        self.next() as usize % limit
    }

    fn layout(&mut self, size: [usize; 3]) -> RectLayout {
        RectLayout { size, pitch: size[0] + self.below(5), height: size[1] + self.below(3) }
    }

    fn region(&mut self, size: [usize; 3]) -> Region {
        let start = size.map(|len| self.below(len));
        Region { start, size: std::array::from_fn(|axis| 1 + self.below(size[axis] - start[axis])) }
    }
}

/// The indices of a region's elements in an array of that layout, x fastest.
fn places(layout: RectLayout, region: Region) -> Vec<usize> {
    let ([x0, y0, z0], [width, rows, planes]) = (region.start, region.size);
    let mut places = Vec::new();
    for z in z0..z0 + planes {
        for y in y0..y0 + rows {
            places.extend((x0..x0 + width).map(|x| (z * layout.height + y) * layout.pitch + x));
        }
    }
    places
}

/// Elements up to the last one of a layout.
fn span(layout: RectLayout) -> usize {
    let [width, rows, planes] = layout.size;
    ((planes - 1) * layout.height + rows - 1) * layout.pitch + width
}

fn device_and_stream() -> (Device, Stream) {
    let device = common::device();
    let stream = device.stream().unwrap();
    (device, stream)
}

#[test]
fn every_direction_moves_the_elements_and_nothing_between_them() {
    let (device, stream) = device_and_stream();
    let mut numbers = Numbers(5);
    for round in 0..60_u32 {
        let size = [1 + numbers.below(40), 1 + numbers.below(9), [1, 1, 4][numbers.below(3)]];
        let layout = numbers.layout(size);
        // The last row has no padding: the buffer ends with the last element.
        let mut model: Vec<u32> = (0..span(layout)).map(|index| round << 16 | index as u32).collect();
        let mut buffer = DeviceBuffer::from_slice(&stream, &model).unwrap();
        let region = numbers.region(size);
        let (at, count) = (places(layout, region), region.size.iter().product::<usize>());
        let part: Vec<u32> = at.iter().map(|place| model[*place]).collect();
        let case = format!("round {round}: {layout:?} {region:?}");

        // To the host, dense and not.
        let view = buffer.as_rect(layout).unwrap().part(region).unwrap();
        assert_eq!((view.size(), view.len()), (region.size, count));
        assert_eq!(view.to_vec(&stream).unwrap(), part, "{case}");
        let host = view.download(&stream, HostBuffer::zeroed(&device, count).unwrap()).unwrap();
        assert_eq!(*host.wait().unwrap(), part, "{case}");
        let there = numbers.layout(region.size);
        let mut host = vec![9; span(there) + 3];
        view.copy_to_host_rect(&stream, &mut host, there).unwrap();
        let mut expected = vec![9; host.len()];
        let whole = Region { start: [0; 3], size: region.size };
        places(there, whole).iter().zip(&part).for_each(|(place, value)| expected[*place] = *value);
        assert_eq!(host, expected, "{case}");

        // To a box of another buffer.
        let mut other = DeviceBuffer::<u32>::zeroed(&stream, span(there)).unwrap();
        other.as_mut_rect(there).unwrap().copy_from(&stream, view).unwrap();
        let mut expected = vec![0; span(there)];
        places(there, whole).iter().zip(&part).for_each(|(place, value)| expected[*place] = *value);
        assert_eq!(other.to_vec(&stream).unwrap(), expected, "{case}");

        // From the host, dense, not, and pinned.
        let values: Vec<u32> = (0..count as u32).map(|index| 0x8000_0000 + index).collect();
        for way in 0..3 {
            let values: Vec<u32> = values.iter().map(|value| value + way * 1000).collect();
            at.iter().zip(&values).for_each(|(place, value)| model[*place] = *value);
            let mut view = buffer.as_mut_rect(layout).unwrap().into_part(region).unwrap();
            match way {
                0 => view.copy_from_host(&stream, &values).unwrap(),
                1 => {
                    let mut host = vec![7; span(there)];
                    places(there, whole).iter().zip(&values).for_each(|(place, value)| host[*place] = *value);
                    view.copy_from_host_rect(&stream, &host, there).unwrap();
                }
                _ => {
                    let host = HostBuffer::from_slice(&device, &values).unwrap();
                    drop(view.upload(&stream, host).unwrap().wait().unwrap());
                }
            }
            assert_eq!(buffer.to_vec(&stream).unwrap(), model, "{case}, way {way}");
        }
    }
    assert_eq!(hip::drop_failures(), 0);
}

fn check_fill<T: DeviceCopy + PartialEq + std::fmt::Debug>(stream: &Stream, background: T, value: T) {
    let mut numbers = Numbers(u64::from(size_of::<T>() as u32));
    for _ in 0..12 {
        let size = [1 + numbers.below(30), 1 + numbers.below(12), 1 + numbers.below(6)];
        let layout = numbers.layout(size);
        let mut model = vec![background; span(layout)];
        let mut buffer = DeviceBuffer::from_slice(stream, &model).unwrap();
        let region = numbers.region(size);
        let mut whole = buffer.as_mut_rect(layout).unwrap();
        whole.part_mut(region).unwrap().fill(stream, value).unwrap();
        places(layout, region).into_iter().for_each(|place| model[place] = value);
        assert_eq!(buffer.to_vec(stream).unwrap(), model, "{value:?} {layout:?} {region:?}");
    }
}

#[test]
fn fills_set_the_elements_and_nothing_between_them() {
    let (_device, stream) = device_and_stream();
    check_fill(&stream, 1_u8, 200);
    check_fill(&stream, 5_u32, 0);
    check_fill(&stream, 5_u32, 0x0102_0304);
    check_fill(&stream, half::f16::from_f32(1.0), half::f16::from_f32(-2.5));
    check_fill(&stream, 0.0_f64, 0.1);
    check_fill(&stream, [1_u8, 1, 1], [2, 3, 4]);
}

#[test]
fn scopes_copy_rectangles_of_borrowed_memory() {
    let (_device, stream) = device_and_stream();
    let layout = RectLayout { size: [5, 4, 3], pitch: 7, height: 6 };
    let here = RectLayout { size: [5, 4, 3], pitch: 9, height: 4 };
    let (there, host) =
        (Region { start: [0; 3], size: layout.size }, Region { start: [0; 3], size: here.size });
    let input: Vec<u32> = (100..100 + span(here) as u32).collect();
    let mut output = vec![9_u32; span(here)];
    let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, span(layout)).unwrap();
    stream
        .scope(|scope| {
            scope.copy_from_host_rect(buffer.as_mut_rect(layout)?, &input, here)?;
            scope.copy_to_host_rect(buffer.as_rect(layout)?, &mut output, here)
        })
        .unwrap();
    let (mut expected, mut model) = (vec![9; span(here)], vec![0; span(layout)]);
    for (from, to) in places(here, host).into_iter().zip(places(layout, there)) {
        expected[from] = input[from];
        model[to] = input[from];
    }
    assert_eq!(output, expected);
    assert_eq!(buffer.to_vec(&stream).unwrap(), model);
    let refused = stream.scope(|scope| {
        let wrong = scope.copy_from_host_rect(buffer.as_mut_rect(layout)?, &input[1..], here);
        assert!(matches!(wrong, Err(Error::OutOfRange { .. })), "{wrong:?}");
        scope.copy_to_host_rect(buffer.as_rect(layout)?, &mut output, RectLayout::dense([4, 5, 3]))
    });
    assert!(matches!(refused, Err(Error::LengthMismatch { .. })), "{refused:?}");
}

#[test]
fn graphs_copy_and_captures_copy_and_fill_rectangles() {
    let (device, stream) = device_and_stream();
    let layout = RectLayout { size: [8, 5, 3], pitch: 11, height: 6 };
    let region = Region { start: [2, 1, 1], size: [5, 3, 2] };
    let count = region.size.iter().product::<usize>();
    let mut first = DeviceBuffer::<u32>::zeroed(&stream, span(layout)).unwrap();
    let mut second = DeviceBuffer::<u32>::zeroed(&stream, span(layout)).unwrap();
    let mut third = DeviceBuffer::<u32>::zeroed(&stream, span(layout)).unwrap();
    let input = SharedHostBuffer::new(HostBuffer::<u32>::zeroed(&device, count).unwrap());
    let output = SharedHostBuffer::new(HostBuffer::<u32>::zeroed(&device, count).unwrap());

    let capture = device
        .capture(|captured| {
            let mut whole = third.as_mut_rect(layout)?;
            // Values with equal bytes, and others.
            whole.part_mut(Region { start: [0; 3], size: [8, 1, 1] })?.fill(captured, 0x0505_0505)?;
            whole.part_mut(Region { start: [0; 3], size: [1, 5, 3] })?.fill(captured, 0x0101_0101)?;
            whole.part_mut(Region { start: [7, 0, 0], size: [1, 5, 3] })?.fill(captured, 77)?;
            let mut part = whole.part_mut(region)?;
            part.copy_from(captured, second.as_rect(layout)?.part(region)?)?;
            let refused = part.copy_from_host(captured, &vec![0; count]).unwrap_err();
            assert!(matches!(refused, Error::Graph(GraphError::NotCapturable)), "{refused}");
            Ok(())
        })
        .unwrap();
    let mut graph = Graph::new(&device).unwrap();
    let part = first.as_mut_rect(layout).unwrap().into_part(region).unwrap();
    let uploaded = graph.add_upload_rect(part, &input, &[]).unwrap();
    let part = second.as_mut_rect(layout).unwrap().into_part(region).unwrap();
    let from = first.as_rect(layout).unwrap().part(region).unwrap();
    let copied = graph.add_copy_rect(part, from, &[uploaded]).unwrap();
    let captured = graph.add_child(&capture, &[copied]).unwrap();
    let from = third.as_rect(layout).unwrap().part(region).unwrap();
    graph.add_download_rect(&output, from, &[captured]).unwrap();
    let nothing = Region { size: [0, 3, 2], ..region };
    let part = second.as_mut_rect(layout).unwrap().into_part(nothing).unwrap();
    graph.add_copy_rect(part, first.as_rect(layout).unwrap().part(nothing).unwrap(), &[]).unwrap();
    let part = second.as_mut_rect(layout).unwrap().into_part(nothing).unwrap();
    let wrong = graph.add_copy_rect(part, first.as_rect(layout).unwrap(), &[]);
    assert!(matches!(wrong, Err(Error::LengthMismatch { .. })), "{wrong:?}");

    let exec = graph.instantiate().unwrap();
    for round in 1..4_u32 {
        let values: Vec<u32> = (0..count as u32).map(|index| round * 1000 + index).collect();
        input.lock(|elements| elements.copy_from_slice(&values)).unwrap();
        exec.launch(&stream).unwrap();
        output.lock(|elements| assert_eq!(*elements, values)).unwrap();
        let mut expected = vec![0; span(layout)];
        places(layout, region).into_iter().zip(&values).for_each(|(place, value)| expected[place] = *value);
        assert_eq!(first.to_vec(&stream).unwrap(), expected, "round {round}");
        assert_eq!(second.to_vec(&stream).unwrap(), expected, "round {round}");
        let mut model = vec![0; span(layout)];
        for (region, value) in [
            (Region { start: [0; 3], size: [8, 1, 1] }, 0x0505_0505),
            (Region { start: [0; 3], size: [1, 5, 3] }, 0x0101_0101),
            (Region { start: [7, 0, 0], size: [1, 5, 3] }, 77),
        ] {
            places(layout, region).into_iter().for_each(|place| model[place] = value);
        }
        places(layout, region).into_iter().zip(&values).for_each(|(place, value)| model[place] = *value);
        assert_eq!(third.to_vec(&stream).unwrap(), model, "round {round}");
    }
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
fn halves_are_written_on_two_streams() {
    let (device, first) = device_and_stream();
    let second = device.stream().unwrap();
    let mut buffer = DeviceBuffer::<u32>::zeroed(&first, 60).unwrap();
    for (axis, expected) in [(0, [1, 2, 1, 2]), (1, [1, 1, 2, 2])] {
        let whole = buffer.as_mut_rect(RectLayout::plane([6, 10], 6)).unwrap();
        let (mut before, mut after) = whole.split_at_mut(axis, [3, 5][axis]).unwrap();
        before.fill(&first, 1).unwrap();
        after.fill(&second, 2).unwrap();
        let values = buffer.to_vec(&first).unwrap();
        assert_eq!([0, 5, 54, 59].map(|place| values[place]), expected);
        assert_eq!(values.iter().filter(|value| **value == 1).count(), 30);
    }
    let whole = buffer.as_mut_rect(RectLayout::dense([6, 10, 1])).unwrap();
    let (before, after) = whole.split_at_mut(2, 1).unwrap();
    assert!(!before.is_empty() && after.is_empty());
    assert!(matches!(after.split_at_mut(2, 1), Err(Error::OutOfRange { .. })));
    assert!(matches!(before.split_at_mut(3, 0), Err(Error::OutOfRange { .. })));
}

#[test]
fn what_does_not_fit_is_refused() {
    let (device, stream) = device_and_stream();
    let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 100).unwrap();
    let fits = RectLayout::plane([10, 10], 10);
    for wrong in [
        RectLayout::plane([10, 11], 10),
        RectLayout::plane([10, 10], 11),
        RectLayout::plane([11, 2], 10),
        RectLayout { size: [2, 3, 2], pitch: 2, height: 2 },
        RectLayout::dense([usize::MAX, usize::MAX, 1]),
    ] {
        assert!(matches!(buffer.as_rect(wrong), Err(Error::OutOfRange { .. })), "{wrong:?}");
        assert!(matches!(buffer.as_mut_rect(wrong), Err(Error::OutOfRange { .. })), "{wrong:?}");
    }
    let other = DeviceBuffer::<u32>::zeroed(&stream, 100).unwrap();
    let turned = other.as_rect(RectLayout::plane([20, 5], 20)).unwrap();
    let mut view = buffer.as_mut_rect(fits).unwrap();
    assert!(matches!(view.copy_from(&stream, turned), Err(Error::LengthMismatch { .. })));
    assert!(matches!(view.copy_from_host(&stream, &[0; 99]), Err(Error::LengthMismatch { .. })));
    let short = view.copy_from_host_rect(&stream, &[0; 100], RectLayout::plane([10, 10], 11));
    assert!(matches!(short, Err(Error::OutOfRange { .. })), "{short:?}");
    let mut host = [0; 100];
    let short = view.as_rect().copy_to_host_rect(&stream, &mut host, RectLayout::plane([10, 10], 11));
    assert!(matches!(short, Err(Error::OutOfRange { .. })), "{short:?}");
    assert!(matches!(view.part_mut(Region::rectangle([1, 0], [10, 1])), Err(Error::OutOfRange { .. })));
    // An empty rectangle is legal anywhere, and a single row may have any pitch.
    let nothing = RectLayout { size: [5, 0, 3], pitch: 0, height: 0 };
    let wide = RectLayout { size: [usize::MAX, usize::MAX, 0], pitch: usize::MAX, height: usize::MAX };
    for nothing in [nothing, wide] {
        buffer.as_mut_rect(nothing).unwrap().fill(&stream, 1).unwrap();
        buffer.as_mut_rect(nothing).unwrap().copy_from_host(&stream, &[]).unwrap();
        buffer.as_mut_rect(nothing).unwrap().copy_from(&stream, other.as_rect(nothing).unwrap()).unwrap();
        assert!(buffer.as_rect(nothing).unwrap().to_vec(&stream).unwrap().is_empty());
        let host = SharedHostBuffer::new(HostBuffer::<u32>::zeroed(&device, 0).unwrap());
        let mut graph = Graph::new(&device).unwrap();
        graph.add_upload_rect(buffer.as_mut_rect(nothing).unwrap(), &host, &[]).unwrap();
        graph.add_download_rect(&host, buffer.as_rect(nothing).unwrap(), &[]).unwrap();
        let to = buffer.as_mut_rect(nothing).unwrap();
        graph.add_copy_rect(to, other.as_rect(nothing).unwrap(), &[]).unwrap();
        graph.instantiate().unwrap().launch(&stream).unwrap();
    }
    let row = RectLayout { size: [100, 1, 1], pitch: usize::MAX, height: usize::MAX };
    buffer.as_mut_rect(row).unwrap().fill(&stream, 6).unwrap();
    assert_eq!(buffer.as_rect(row).unwrap().to_vec(&stream).unwrap(), [6; 100]);
    let huge = DeviceBuffer::<[u8; 0]>::zeroed(&stream, usize::MAX).unwrap();
    let huge = huge.as_rect(RectLayout::dense([1 << 40, 1 << 20, 1])).unwrap();
    assert_eq!(huge.to_vec(&stream).unwrap().len(), 1 << 60);
}
