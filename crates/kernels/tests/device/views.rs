//! Element-wise operations on tensors with strides, of all types, against the same in Rust.

use half::f16;
use hip::{DeviceBuffer, DeviceCopy};
use kernels::{
    BinaryOp, CompareOp, Element, F8E4M3, Layout, Number, Real, UnaryOp, View, ViewMut, launch_1d, modules,
};

use crate::common::{Bench, for_every_element, for_every_real, places, random};
use crate::record::{assert_exact, exact};

/// Elements of memory for [`layouts`].
const MEMORY: usize = 2100;

/// Layouts of all kinds, with 4 × 6 × 5 elements or as many.
fn layouts() -> Vec<Layout> {
    let whole = Layout::contiguous(&[4, 6, 5]).unwrap();
    let wide = Layout::contiguous(&[4, 10, 7]).unwrap();
    vec![
        whole,
        Layout::with_strides(&[4, 6, 5], &[30, 5, 1], 3).unwrap(),
        Layout::contiguous(&[5, 6, 4]).unwrap().transpose(0, 2).unwrap(),
        Layout::contiguous(&[5, 4, 6]).unwrap().permute(&[1, 2, 0]).unwrap(),
        wide.narrow(1, 3, 6).unwrap().narrow(2, 1, 5).unwrap(),
        Layout::contiguous(&[1, 6, 1]).unwrap().broadcast(&[4, 6, 5]).unwrap(),
        Layout::contiguous(&[]).unwrap().broadcast(&[4, 6, 5]).unwrap(),
        Layout::with_strides(&[4, 6, 5], &[1, 4, 333], 7).unwrap(),
    ]
}

fn at<T: DeviceCopy>(memory: &[T], layout: &Layout) -> Vec<T> {
    places(layout).into_iter().map(|place| memory[place]).collect()
}

/// Numbers that every type can mostly distinguish.
fn numbers<T: Element>(seed: u64) -> Vec<T> {
    random::<f64>(MEMORY, seed, 100.0).into_iter().map(|x| T::from_f64(x.abs().floor() + 1.0)).collect()
}

fn copies_and_fills_follow_strides<T: Element>(bench: &Bench) {
    let memory = numbers::<T>(1);
    let x = bench.upload(&memory);
    for layout in layouts() {
        let what = format!("{} {layout:?}", T::NAME);
        let expected = at(&memory, &layout);
        let view = View::new(&x, layout).unwrap();
        let mut y = bench.zeroed::<T>(expected.len() + 1);
        bench.kernels.copy(&bench.stream, view, y.slice_mut(..expected.len()).unwrap()).unwrap();
        let got = bench.download(&y);
        assert_exact!(got[..expected.len()], expected, "copy of {what}");
        assert_eq!(got[expected.len()], T::default(), "{what}");

        let condition: Vec<u32> = places(&layout).iter().map(|place| (*place % 3 == 0).into()).collect();
        let chosen = bench.upload(&condition);
        let other = bench.upload(&numbers::<T>(2));
        let columns = Layout::contiguous(&[5, 6, 4]).unwrap().transpose(0, 2).unwrap();
        let others = at(&numbers::<T>(2), &columns);
        let no = View::new(&other, columns).unwrap();
        bench.kernels.select(&bench.stream, &chosen, view, no, y.slice_mut(1..).unwrap()).unwrap();
        for (i, got) in bench.download(&y)[1..].iter().enumerate() {
            assert_exact!(
                *got,
                if condition[i] != 0 { expected[i] } else { others[i] },
                "select of {what}, {i}"
            );
        }

        if layout.is_injective() {
            let value = T::from_f64(113.0);
            let mut target = bench.upload(&memory);
            bench.kernels.fill(&bench.stream, value, ViewMut::new(&mut target, layout).unwrap()).unwrap();
            let mut expected = memory.clone();
            places(&layout).into_iter().for_each(|place| expected[place] = value);
            assert_exact!(bench.download(&target), expected, "fill of {what}");
        }
    }
}

#[test]
fn copy_select_and_fill() {
    for_every_element!(copies_and_fills_follow_strides);
}

fn conditions_of_every_type<C: kernels::Index>(bench: &Bench) {
    let condition: Vec<C> = [0.0, 1.0, 255.0, 0.0, 128.0].map(C::from_f64).to_vec();
    let (yes, no) = (bench.upload(&[1_i64, 2, 3, 4, 5]), bench.upload(&[-1_i64, -2, -3, -4, -5]));
    let mut out = bench.zeroed::<i64>(5);
    bench.kernels.select(&bench.stream, &bench.upload(&condition), &yes, &no, &mut out).unwrap();
    assert_exact!(bench.download(&out), [-1, 2, 3, -4, 5]);
}

#[test]
fn select_by_every_type() {
    let bench = Bench::open();
    conditions_of_every_type::<u8>(&bench);
    conditions_of_every_type::<u32>(&bench);
    conditions_of_every_type::<i64>(&bench);
}

fn functions_follow_strides<T: Real>(bench: &Bench) {
    let memory = numbers::<T>(3);
    let x = bench.upload(&memory);
    let mut y = bench.zeroed::<T>(120);
    for layout in layouts() {
        let view = View::new(&x, layout).unwrap();
        bench.kernels.unary(&bench.stream, UnaryOp::Neg, view, &mut y).unwrap();
        let expected: Vec<T> = at(&memory, &layout).iter().map(|x| T::from_f64(-x.to_f64())).collect();
        assert_exact!(bench.download(&y), expected, "{} {layout:?}", T::NAME);
    }
}

#[test]
fn unary() {
    for_every_real!(functions_follow_strides);
}

fn affine_maps_wrap_and_follow_strides<T: Element>(bench: &Bench) {
    let memory = numbers::<T>(4);
    let x = bench.upload(&memory);
    let mut y = bench.zeroed::<T>(120);
    for layout in layouts() {
        let view = View::new(&x, layout).unwrap();
        bench.kernels.affine(&bench.stream, view, &mut y, T::from_f64(2.0), T::from_f64(1.0)).unwrap();
        let expected: Vec<T> =
            at(&memory, &layout).iter().map(|x| T::from_f64(x.to_f64() * 2.0 + 1.0)).collect();
        assert_exact!(bench.download(&y), expected, "{} {layout:?}", T::NAME);
    }
}

#[test]
fn affine() {
    for_every_element!(affine_maps_wrap_and_follow_strides);
}

#[test]
fn affine_maps_of_integers_wrap_around() {
    let bench = Bench::open();
    macro_rules! wraps {
        ($($type:ty),*) => {$({
            let values = [<$type>::MAX, <$type>::MIN, 1, <$type>::MAX / 2 + 1];
            let (mul, add) = (<$type>::MAX - 2, <$type>::MAX);
            let mut y = bench.zeroed::<$type>(4);
            bench.kernels.affine(&bench.stream, &bench.upload(&values), &mut y, mul, add).unwrap();
            assert_exact!(bench.download(&y), values.map(|x| x.wrapping_mul(mul).wrapping_add(add)));
        })*};
    }
    wraps!(u8, u32, i16, i32, i64);
}

fn two_tensors_follow_strides<T: Number>(bench: &Bench) {
    let (left, right) = (numbers::<T>(5), numbers::<T>(6));
    let (x, y) = (bench.upload(&left), bench.upload(&right));
    let (mut out, mut flags) = (bench.zeroed::<T>(120), bench.zeroed::<u8>(120));
    for (i, left_layout) in layouts().into_iter().enumerate() {
        // each with itself, and with the next
        for right_layout in [left_layout, layouts()[(i + 1) % layouts().len()]] {
            let what = format!("{} {left_layout:?} {right_layout:?}", T::NAME);
            let (a, b) = (View::new(&x, left_layout).unwrap(), View::new(&y, right_layout).unwrap());
            let pairs: Vec<(T, T)> =
                at(&left, &left_layout).into_iter().zip(at(&right, &right_layout)).collect();
            bench.kernels.binary(&bench.stream, BinaryOp::Maximum, a, b, &mut out).unwrap();
            let expected: Vec<T> = pairs.iter().map(|(a, b)| if a > b { *a } else { *b }).collect();
            assert_exact!(bench.download(&out), expected, "{what}");
            bench.kernels.compare(&bench.stream, CompareOp::Lt, a, b, &mut flags).unwrap();
            let expected: Vec<u8> = pairs.iter().map(|(a, b)| (a < b).into()).collect();
            assert_exact!(bench.download(&flags), expected, "{what}");
        }
    }
}

#[test]
fn binary() {
    for_every_real!(two_tensors_follow_strides);
    let bench = Bench::open();
    two_tensors_follow_strides::<u8>(&bench);
    two_tensors_follow_strides::<u32>(&bench);
    two_tensors_follow_strides::<i64>(&bench);
}

#[test]
fn arithmetic_of_integers() {
    let bench = Bench::open();
    macro_rules! checks {
        ($($type:ty),*) => {$({
            let interesting = [0, 1, 2, 3, 7, <$type>::MAX, <$type>::MAX - 1, <$type>::MIN, <$type>::MIN + 1, (0 as $type).wrapping_sub(1), <$type>::MAX / 3];
            let pairs: Vec<($type, $type)> = interesting.iter().flat_map(|&a| interesting.iter().map(move |&b| (a, b))).collect();
            let (left, right): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
            let (x, y) = (bench.upload(&left), bench.upload(&right));
            let mut out = bench.zeroed::<$type>(pairs.len());
            let mut check = |op: BinaryOp, f: fn($type, $type) -> $type| {
                bench.kernels.binary(&bench.stream, op, &x, &y, &mut out).unwrap();
                for ((a, b), got) in pairs.iter().zip(bench.download(&out)) {
                    assert_exact!(got, f(*a, *b), "{op:?} of {a} and {b} as {}", <$type>::NAME);
                }
            };
            check(BinaryOp::Add, <$type>::wrapping_add);
            check(BinaryOp::Sub, <$type>::wrapping_sub);
            check(BinaryOp::Mul, <$type>::wrapping_mul);
            check(BinaryOp::Maximum, <$type>::max);
            check(BinaryOp::Minimum, <$type>::min);
            check(BinaryOp::Div, |a, b| if b == 0 { !0 } else { a.wrapping_div(b) });
            let mut flags = bench.zeroed::<u8>(pairs.len());
            for (op, f) in [(CompareOp::Lt, <$type>::lt as fn(&$type, &$type) -> bool), (CompareOp::Ge, <$type>::ge), (CompareOp::Eq, <$type>::eq)] {
                bench.kernels.compare(&bench.stream, op, &x, &y, &mut flags).unwrap();
                let expected: Vec<u8> = pairs.iter().map(|(a, b)| f(a, b).into()).collect();
                assert_exact!(bench.download(&flags), expected, "{op:?}");
            }
        })*};
    }
    checks!(u8, u32, i64);
}

#[test]
fn casts_follow_strides() {
    let bench = Bench::open();
    let memory = numbers::<i64>(7);
    let x = bench.upload(&memory);
    let (mut y, mut narrow) = (bench.zeroed::<f64>(120), bench.zeroed::<F8E4M3>(120));
    for layout in layouts() {
        let view = View::new(&x, layout).unwrap();
        bench.kernels.cast(&bench.stream, view, &mut y).unwrap();
        let expected: Vec<f64> = at(&memory, &layout).iter().map(|x| *x as f64).collect();
        assert_exact!(bench.download(&y), expected, "{layout:?}");
        bench.kernels.cast(&bench.stream, view, &mut narrow).unwrap();
        let expected: Vec<F8E4M3> = expected.into_iter().map(F8E4M3::from_f64).collect();
        assert_exact!(bench.download(&narrow), expected, "{layout:?}");
    }
}

#[test]
fn wide_accesses_end_where_the_tensor_ends() {
    // Starts and lengths that are multiples of 16 bytes or not; memory around them is unchanged.
    fn check<T: Real>(bench: &Bench) {
        let memory = numbers::<T>(8);
        let x = bench.upload(&memory);
        for start in [0, 1, 8, 16] {
            for len in [0, 1, 15, 16, 17, 31, 33, 64, 100, 1000] {
                let mut y = bench.zeroed::<T>(MEMORY);
                let source = x.slice(start..start + len).unwrap();
                bench
                    .kernels
                    .unary(&bench.stream, UnaryOp::Neg, source, y.slice_mut(start..start + len).unwrap())
                    .unwrap();
                bench
                    .kernels
                    .copy(&bench.stream, source, y.slice_mut(1050 + start..1050 + start + len).unwrap())
                    .unwrap();
                let mut expected = vec![T::default(); MEMORY];
                for i in start..start + len {
                    (expected[i], expected[1050 + i]) = (T::from_f64(-memory[i].to_f64()), memory[i]);
                }
                assert!(exact(bench.download(&y) == expected), "{} {start} {len}", T::NAME);
                let value = T::from_f64(3.0);
                bench.kernels.fill(&bench.stream, value, y.slice_mut(start..start + len).unwrap()).unwrap();
                expected[start..start + len].fill(value);
                assert!(exact(bench.download(&y) == expected), "fill of {} {start} {len}", T::NAME);
            }
        }
    }
    for_every_real!(check);
}

#[test]
fn eight_dimensions() {
    let bench = Bench::open();
    let layout = Layout::contiguous(&[2; 8]).unwrap().permute(&[7, 5, 3, 1, 0, 2, 4, 6]).unwrap();
    let memory: Vec<f16> = (0..256_u16).map(f16::from_bits).collect();
    let mut y = bench.zeroed::<f16>(256);
    bench.kernels.copy(&bench.stream, View::new(&bench.upload(&memory), layout).unwrap(), &mut y).unwrap();
    assert_exact!(bench.download(&y), at(&memory, &layout));
}

#[test]
fn operations_in_place_of_several_tensors() {
    // A tensor of a shape, and slices that take it.
    let bench = Bench::open();
    let x = bench.upload(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let columns = View::new(&x, Layout::contiguous(&[3, 2]).unwrap().transpose(0, 1).unwrap()).unwrap();
    let mut y = bench.zeroed::<f32>(6);
    bench.kernels.binary(&bench.stream, BinaryOp::Add, &x, columns, &mut y).unwrap();
    assert_exact!(bench.download(&y), [2.0, 5.0, 8.0, 6.0, 9.0, 12.0]);
}

#[test]
fn places_beyond_32_bits() {
    let bench = Bench::open();
    let mut memory = DeviceBuffer::<u8>::uninit(bench.kernels.device(), (1 << 33) + 1).unwrap();
    let layout = Layout::with_strides(&[3], &[1 << 32], 0).unwrap();
    bench.kernels.fill(&bench.stream, 7, ViewMut::new(&mut memory, layout).unwrap()).unwrap();
    for (start, value) in [(0, 1_u8), (1 << 33, 3)] {
        memory.slice_mut(start..=start).unwrap().copy_from_host(&bench.stream, &[value]).unwrap();
    }
    let mut y = bench.zeroed::<u8>(3);
    bench.kernels.copy(&bench.stream, View::new(&memory, layout).unwrap(), &mut y).unwrap();
    assert_exact!(bench.download(&y), [1, 7, 3]);
    let mut y = bench.zeroed::<i64>(3);
    bench.kernels.cast(&bench.stream, View::new(&memory, layout).unwrap(), &mut y).unwrap();
    assert_exact!(bench.download(&y), [1, 7, 3]);
}

#[test]
fn more_elements_than_32_bits_count() {
    // The first elements of very many, as the kernels find them: (i / 3, i % 3) of 2^33 × 3.
    let bench = Bench::open();
    let memory: Vec<f32> = (0..400).map(|i| i as f32).collect();
    let x = bench.upload(&memory);
    let info = bench.upload(&[1_u64 << 33, 3, 1, 100]);
    let mut y = bench.zeroed::<f32>(300);
    let kernel = bench.kernels.function(&modules::UNARY, "uneg_f32").unwrap();
    let launch = launch_1d(kernel, &bench.stream, 300).arg(300_u64).arg(2_u64).arg(&info).arg(&x).arg(&mut y);
    // SAFETY: the first 300 elements are in places up to 99 + 200 of x.
    unsafe { launch.enqueue().unwrap() };
    let expected: Vec<f32> = (0..300).map(|i| -((i / 3 + i % 3 * 100) as f32)).collect();
    assert_exact!(bench.download(&y), expected);
}

#[test]
fn graphs_take_contiguous_tensors_and_refuse_strides() {
    let bench = Bench::open();
    let (x, mut y) = (bench.upload(&[1.0_f32, 2.0, 3.0, 4.0]), bench.zeroed::<f32>(4));
    let columns = View::new(&x, Layout::contiguous(&[2, 2]).unwrap().transpose(0, 1).unwrap()).unwrap();
    let mut refused = String::new();
    let graph = bench.kernels.device().capture(|stream| {
        bench.kernels.unary(stream, UnaryOp::Neg, &x, &mut y).unwrap();
        refused = bench.kernels.unary(stream, UnaryOp::Abs, columns, &mut y).unwrap_err().to_string();
        Ok(())
    });
    assert!(refused.contains("cannot be captured into a graph"), "{refused}");
    graph.unwrap().instantiate().unwrap().launch(&bench.stream).unwrap();
    assert_exact!(bench.download(&y), [-1.0, -2.0, -3.0, -4.0]);
}

#[test]
fn strides_stay_until_their_kernel_has_read_them() {
    // Nothing waits between the operations, and the memory for the strides is reused by later ones.
    let bench = Bench::open();
    let memory = numbers::<f32>(9);
    let x = bench.upload(&memory);
    let all: Vec<Layout> = (0..40).map(|i| layouts()[2 + i % 5].narrow(0, 0, 1 + i % 4).unwrap()).collect();
    let mut results: Vec<DeviceBuffer<f32>> =
        all.iter().map(|layout| bench.zeroed(layout.elements())).collect();
    for (layout, y) in all.iter().zip(&mut results) {
        bench.kernels.copy(&bench.stream, View::new(&x, *layout).unwrap(), y).unwrap();
    }
    for (layout, y) in all.iter().zip(&results) {
        assert_exact!(bench.download(y), at(&memory, layout), "{layout:?}");
    }
}
