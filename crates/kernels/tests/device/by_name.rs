//! Kernels with candle's names that no launcher and none of candle's tests reaches.

use half::f16;
use hip::{DeviceAddress, DeviceCopy};
use kernels::F8E4M3;

use crate::common::Bench;
use crate::record::assert_exact;
use crate::rows::launch;

const CONTIGUOUS: DeviceAddress = DeviceAddress(0);
/// A tensor seen as left × dimension × right, and the number of indices.
const LEFT: usize = 3;
const DIMENSION: usize = 5;
const RIGHT: usize = 7;
const INDICES: usize = 4;

/// A number that 8-bit floats represent exactly, like sums of a few of them.
fn small(i: usize) -> F8E4M3 {
    F8E4M3::from_bits(if i.is_multiple_of(3) { 0 } else { 0x38 + (i % 3) as u8 * 4 })
}

fn values(count: usize) -> Vec<F8E4M3> {
    (0..count).map(small).collect()
}

/// Reads and additions of 8-bit floats with indices of a type that no other element has.
fn indices<I: DeviceCopy>(bench: &Bench, name: &str, of: impl Fn(usize) -> I) {
    let numbers = |count: usize| (0..count).map(|i| (i * i + 1) % DIMENSION).collect::<Vec<usize>>();
    let each = LEFT * INDICES * RIGHT;
    let (chosen, per_element) = (numbers(INDICES), numbers(each));
    let upload = |numbers: &[usize]| bench.upload(&numbers.iter().map(|&i| of(i)).collect::<Vec<I>>());
    let (ids, element_ids) = (upload(&chosen), upload(&per_element));
    let (large, few) = (values(LEFT * DIMENSION * RIGHT), values(each));
    let (device_large, device_few) = (bench.upload(&large), bench.upload(&few));
    let split = |i: usize| (i / RIGHT / INDICES, i / RIGHT % INDICES, i % RIGHT);
    let place = |left: usize, index: usize, right: usize| (left * DIMENSION + index) * RIGHT + right;

    let mut out = bench.zeroed::<F8E4M3>(each);
    launch!(bench, INDEXING, &format!("is_{name}_f8_e4m3"), 1, 64;
        each, 3_usize, CONTIGUOUS, &ids, &device_large, &mut out, LEFT, DIMENSION, INDICES, RIGHT);
    let expected = |index: &dyn Fn(usize) -> usize| -> Vec<F8E4M3> {
        (0..each).map(|i| large[place(split(i).0, index(i), split(i).2)]).collect()
    };
    assert_exact!(bench.download(&out), expected(&|i| chosen[split(i).1]), "is_{name}");

    let mut out = bench.zeroed::<F8E4M3>(each);
    launch!(bench, INDEXING, &format!("gather_{name}_f8_e4m3"), 1, 64;
        each, &element_ids, &device_large, &mut out, LEFT, DIMENSION, INDICES, RIGHT);
    assert_exact!(bench.download(&out), expected(&|i| per_element[i]), "gather_{name}");

    let sums = |index: &dyn Fn(usize) -> usize| -> Vec<F8E4M3> {
        let mut sums: Vec<f64> = large.iter().map(|x| x.to_f64()).collect();
        for (i, x) in few.iter().enumerate() {
            sums[place(split(i).0, index(i), split(i).2)] += x.to_f64();
        }
        sums.into_iter().map(F8E4M3::from_f64).collect()
    };
    let mut out = bench.upload(&large);
    launch!(bench, INDEXING, &format!("ia_{name}_f8_e4m3"), 1, 64;
        &ids, INDICES, &device_few, &mut out, LEFT, INDICES, DIMENSION, RIGHT);
    assert_exact!(bench.download(&out), sums(&|i| chosen[split(i).1]), "ia_{name}");

    let mut out = bench.upload(&large);
    launch!(bench, INDEXING, &format!("sa_{name}_f8_e4m3"), 1, 64;
        &element_ids, &device_few, &mut out, LEFT, INDICES, DIMENSION, RIGHT);
    assert_exact!(bench.download(&out), sums(&|i| per_element[i]), "sa_{name}");
}

#[test]
fn indices_of_16_and_32_bits_for_8_bit_floats() {
    let bench = Bench::open();
    indices(&bench, "i16", |i| i as i16);
    indices(&bench, "i32", |i| i as i32);
}

fn selection<I: DeviceCopy>(bench: &Bench, name: &str, of: impl Fn(bool) -> I) {
    let count = 300;
    let (yes, no) = (values(count), (0..count).map(|i| small(i + 1)).collect::<Vec<_>>());
    let conditions: Vec<bool> = (0..count).map(|i| i * i % 7 < 3).collect();
    let device_conditions =
        bench.upload(&conditions.iter().map(|&condition| of(condition)).collect::<Vec<I>>());
    let mut out = bench.zeroed::<F8E4M3>(count);
    launch!(bench, TERNARY, &format!("where_{name}_fp8_e4m3"), 1, 64;
        count, 1_usize, CONTIGUOUS, &device_conditions, &bench.upload(&yes), &bench.upload(&no), &mut out);
    let expected: Vec<F8E4M3> = (0..count).map(|i| if conditions[i] { yes[i] } else { no[i] }).collect();
    assert_exact!(bench.download(&out), expected, "where_{name}");
}

#[test]
fn conditions_of_every_type_for_8_bit_floats() {
    let bench = Bench::open();
    selection(&bench, "u8", u8::from);
    selection(&bench, "u32", u32::from);
    selection(&bench, "i64", i64::from);
    selection(&bench, "i16", i16::from);
    selection(&bench, "i32", i32::from);
}

#[test]
fn rows_of_8_bit_floats_are_filled_and_copied() {
    let bench = Bench::open();
    let mut out = bench.zeroed::<F8E4M3>(301);
    launch!(bench, FILL, "fill_f8_e4m3", 1, 64; &mut out, small(1), 300_usize);
    let mut expected = vec![small(1); 300];
    expected.push(F8E4M3::default());
    assert_exact!(bench.download(&out), expected);
    let (rows, columns, from, to) = (4_usize, 5_usize, 9_usize, 6_usize);
    let source = values(rows * from);
    let mut out = bench.zeroed::<F8E4M3>(rows * to);
    launch!(bench, FILL, "copy2d_f8_e4m3", 1, 64;
        &bench.upload(&source), &mut out, rows as u32, columns as u32, from as u32, to as u32);
    let element =
        |i: usize| if i % to < columns { source[i / to * from + i % to] } else { F8E4M3::default() };
    assert_exact!(bench.download(&out), (0..rows * to).map(element).collect::<Vec<_>>());
}

#[test]
fn rows_of_8_bit_floats_are_sorted() {
    let bench = Bench::open();
    let (rows, columns, padded) = (3_usize, 5_usize, 8_i32);
    // no equal numbers, whose order is undefined, and no NaN
    let numbers = |i: usize| F8E4M3::from_f64(((i * 7) % 15) as f64 - 7.0);
    let x: Vec<F8E4M3> = (0..rows * columns).map(numbers).collect();
    let device_x = bench.upload(&x);
    for (name, descends) in [("asort_asc_f8_e4m3", false), ("asort_desc_f8_e4m3", true)] {
        let mut order = bench.zeroed::<u32>(x.len());
        let function = bench.kernels.function(&kernels::modules::SORT, name).unwrap();
        let launch = function.launch(&bench.stream).grid(rows as u32).block(padded as u32);
        let launch = launch.dynamic_lds(4 * padded as u32).arg(&device_x).arg(&mut order);
        // SAFETY: x and the order have this many rows and columns, and LDS has an index for each element of a
        // padded row.
        unsafe { launch.arg(columns as i32).arg(padded).enqueue() }.unwrap();
        let expected = x.chunks(columns).flat_map(|row| {
            let mut order: Vec<u32> = (0..columns as u32).collect();
            order.sort_by(|&a, &b| row[a as usize].to_f64().total_cmp(&row[b as usize].to_f64()));
            if descends {
                order.reverse();
            }
            order
        });
        assert_exact!(bench.download(&order), expected.collect::<Vec<u32>>(), "{name}");
    }
}

fn sums<T: DeviceCopy + PartialEq + std::fmt::Debug>(bench: &Bench, name: &str, of: impl Fn(u32) -> T) {
    // rows of 2 × 5 × 3 over the middle
    let all: Vec<u32> = (0..30).map(|i| i * i % 11).collect();
    let info = bench.upload(&[2_usize, 5, 3, 15, 3, 1, 5, 3]);
    let x = bench.upload(&all.iter().map(|&x| of(x)).collect::<Vec<T>>());
    let mut out = bench.upload(&[1; 6].map(&of));
    launch!(bench, REDUCE, name, 1, 64; 30_usize, 3_usize, 1_usize, &info, &x, &mut out);
    let sum = |i: usize| 1 + (0..5).map(|j| all[i / 3 * 15 + j * 3 + i % 3]).sum::<u32>();
    assert_exact!(bench.download(&out), (0..6).map(|i| of(sum(i))).collect::<Vec<T>>(), "{name}");
}

#[test]
fn sums_over_dimensions_of_every_float() {
    let bench = Bench::open();
    sums(&bench, "sum_f16", |x| f16::from_f32(x as f32));
    sums(&bench, "sum_f32", |x| x as f32);
    sums(&bench, "sum_f64", f64::from);
}

/// Columns of patches, which a convolution multiplies with its weights.
fn patches<T: DeviceCopy + PartialEq + std::fmt::Debug>(bench: &Bench, name: &str, of: impl Fn(u32) -> T) {
    let (batch, channels, length, width, stride, padding) =
        (2_usize, 3_usize, 8_usize, 3_usize, 2_usize, 1_usize);
    let out_length = (length + 2 * padding - width) / stride + 1;
    let all: Vec<u32> = (0..batch * channels * length).map(|i| (i * i % 13 + 1) as u32).collect();
    let info = bench.upload(&[batch, channels, length, channels * length, length, 1]);
    let x = bench.upload(&all.iter().map(|&x| of(x)).collect::<Vec<T>>());
    let groups = batch * out_length * channels;
    let mut out = bench.upload(&vec![of(99); groups * width]);
    launch!(bench, CONV, name, 1, 64; groups, out_length, width, stride, padding, 1_usize, &info, &x, &mut out);
    let element = |i: usize| {
        let (j, channel, at, b) = (
            i % width,
            i / width % channels,
            i / width / channels % out_length,
            i / width / channels / out_length,
        );
        let position = (at * stride + j).checked_sub(padding).filter(|position| *position < length);
        of(position.map_or(0, |position| all[(b * channels + channel) * length + position]))
    };
    assert_exact!(bench.download(&out), (0..groups * width).map(element).collect::<Vec<T>>(), "{name}");
}

#[test]
fn patches_of_integers() {
    let bench = Bench::open();
    patches(&bench, "im2col1d_u8", |x| x as u8);
    patches(&bench, "im2col1d_u32", |x| x);
}
