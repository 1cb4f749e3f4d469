//! Arrays of two and three dimensions.

use hip::{Error, PitchedBuffer, Region};

use crate::common;

/// The expected contents of the array, on the host.
struct Model {
    size: [usize; 3],
    values: Vec<u32>,
}

impl Model {
    fn index(&self, x: usize, y: usize, z: usize) -> usize {
        (z * self.size[1] + y) * self.size[0] + x
    }

    fn each(region: Region) -> impl Iterator<Item = [usize; 3]> {
        let ([x0, y0, z0], [width, height, depth]) = (region.start, region.size);
        (z0..z0 + depth)
            .flat_map(move |z| (y0..y0 + height).flat_map(move |y| (x0..x0 + width).map(move |x| [x, y, z])))
    }

    fn put(&mut self, region: Region, values: &[u32]) {
        for ([x, y, z], value) in Self::each(region).zip(values) {
            let index = self.index(x, y, z);
            self.values[index] = *value;
        }
    }

    fn get(&self, region: Region) -> Vec<u32> {
        Self::each(region).map(|[x, y, z]| self.values[self.index(x, y, z)]).collect()
    }
}

#[test]
fn regions_are_copied_and_nothing_else() {
    let device = common::device();
    let stream = device.stream().unwrap();
    for size in [[7, 1, 1], [64, 5, 1], [65, 4, 3], [1, 1, 9]] {
        let mut array = PitchedBuffer::<u32>::zeroed(&stream, size).unwrap();
        assert!(array.pitch() >= size[0] * 4 && array.pitch().is_multiple_of(256));
        let mut model = Model { size, values: vec![0; size.iter().product()] };
        let half = size.map(|len| len.div_ceil(2));
        let far = Region { start: std::array::from_fn(|i| size[i] - half[i]), size: half };
        let near = Region { start: [0; 3], size: half };
        for (round, region) in [array.region(), near, far].into_iter().enumerate() {
            let count = region.size.iter().product::<usize>();
            let values: Vec<u32> = (0..count).map(|i| (round * 10_000 + i) as u32 + 1).collect();
            array.copy_from_host(&stream, region, &values).unwrap();
            model.put(region, &values);
            assert_eq!(array.to_vec(&stream, array.region()).unwrap(), model.values, "{size:?} {region:?}");
        }
        let mut other = PitchedBuffer::<u32>::zeroed(&stream, size).unwrap();
        other.copy_from(&stream, [0; 3], &array, far).unwrap();
        assert_eq!(other.to_vec(&stream, near).unwrap(), model.get(far), "{size:?}");
        let mut there = vec![0; half.iter().product()];
        array.copy_to_host(&stream, near, &mut there).unwrap();
        assert_eq!(there, model.get(near));
    }
}

#[test]
fn regions_outside_and_wrong_lengths_are_refused() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let mut array = PitchedBuffer::<u32>::zeroed(&stream, [8, 4, 2]).unwrap();
    let outside = Region { start: [1, 0, 0], size: [8, 1, 1] };
    let error = array.copy_from_host(&stream, outside, &[0; 8]).unwrap_err();
    assert!(matches!(error, Error::OutOfRange { start: 1, end: 9, len: 8 }), "{error}");
    assert!(matches!(array.to_vec(&stream, outside), Err(Error::OutOfRange { .. })));
    let row = Region::rectangle([0, 3], [8, 1]);
    assert!(matches!(array.copy_from_host(&stream, row, &[0; 7]), Err(Error::LengthMismatch { .. })));
    assert!(matches!(array.copy_to_host(&stream, row, &mut [0; 9]), Err(Error::LengthMismatch { .. })));
    let other = PitchedBuffer::<u32>::zeroed(&stream, [8, 4, 2]).unwrap();
    assert!(matches!(
        array.copy_from(&stream, [0, 1, 0], &other, other.region()),
        Err(Error::OutOfRange { .. })
    ));
    let nothing = Region { start: [8, 4, 2], size: [0; 3] };
    array.copy_from_host(&stream, nothing, &[]).unwrap();
    let empty = PitchedBuffer::<u32>::zeroed(&stream, [0, 5, 1]).unwrap();
    assert!(empty.to_vec(&stream, empty.region()).unwrap().is_empty());
    let huge = PitchedBuffer::<u32>::zeroed(&stream, [1, usize::MAX, 2]).unwrap_err();
    assert!(matches!(huge, Error::TooLarge { .. }), "{huge}");
}

#[test]
fn elements_may_have_any_size() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let mut array = PitchedBuffer::<[u8; 3]>::zeroed(&stream, [5, 3, 1]).unwrap();
    let values: Vec<[u8; 3]> = (0..15).map(|i| [i, i + 1, i + 2]).collect();
    array.copy_from_host(&stream, array.region(), &values).unwrap();
    let part = Region::rectangle([1, 1], [3, 2]);
    let expected = [values[6], values[7], values[8], values[11], values[12], values[13]];
    assert_eq!(array.to_vec(&stream, part).unwrap(), expected);
}
