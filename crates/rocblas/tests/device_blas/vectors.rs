//! Vectors with vectors.

use half::{bf16, f16};
use rocblas::{AxpyScalar, Complex, DotScalar, Layout as _, Real, Scalar, Vector, VectorLayout, VectorMut};

use crate::common::{
    Bench, C, Dense, Places as _, Random, Value, amds, assert_close, for_complex, for_reals, for_scalars,
};

/// Sizes around waves and workgroups, and increments of both directions.
fn layouts(random: &mut Random) -> Vec<(VectorLayout, VectorLayout)> {
    let increments = [1, -1, 2, 3, -5];
    [0_usize, 1, 2, 31, 63, 64, 65, 256, 300]
        .into_iter()
        .map(|n| {
            let of = |random: &mut Random| VectorLayout::new(n).with_increment(random.choose(&increments));
            (of(random), of(random))
        })
        .collect()
}

fn axpy<T: AxpyScalar + Value>(bench: &Bench) {
    let mut random = Random::new(11);
    for (in_x, in_y) in layouts(&mut random) {
        let n = in_x.len();
        let (x, y) = (random.dense::<T>(n, 1), random.dense::<T>(n, 1));
        let alpha = random.value::<T>();
        let x_memory = bench.upload(&in_x.memory::<T>(std::slice::from_ref(&x)));
        let mut y_memory = bench.upload(&in_y.memory::<T>(std::slice::from_ref(&y)));
        let view = Vector::new(&x_memory, in_x).unwrap();
        let mut result = VectorMut::new(&mut y_memory, in_y).unwrap();
        bench.blas.axpy(&view, &mut result).alpha(T::of(alpha)).run().unwrap();
        let got = in_y.elements(&bench.download(&y_memory)).remove(0);
        assert_close::<T>(&got, &x.scaled(alpha).plus(&y), 1, 2.0, &format!("{in_x:?} {in_y:?}"));
    }
}

#[test]
fn axpy_adds_a_multiple() {
    for_scalars!(axpy);
    axpy::<f16>(&Bench::open());
}

fn moves<T: Scalar + Value>(bench: &Bench) {
    let mut random = Random::new(12);
    for (in_x, in_y) in layouts(&mut random) {
        let n = in_x.len();
        let (x, y) = (random.dense::<T>(n, 1), random.dense::<T>(n, 1));
        let mut x_memory = bench.upload(&in_x.memory::<T>(std::slice::from_ref(&x)));
        let mut y_memory = bench.upload(&in_y.memory::<T>(std::slice::from_ref(&y)));
        let mut first = VectorMut::new(&mut x_memory, in_x).unwrap();
        let mut second = VectorMut::new(&mut y_memory, in_y).unwrap();
        bench.blas.swap(&mut first, &mut second).unwrap();
        let alpha = random.value::<T>();
        bench.blas.scal(&mut second).alpha(T::of(alpha)).run().unwrap();
        assert_eq!(in_x.elements(&bench.download(&x_memory)), std::slice::from_ref(&y));
        let got = in_y.elements(&bench.download(&y_memory)).remove(0);
        assert_close::<T>(&got, &x.scaled(alpha), 1, 1.0, "scal");
        let view = Vector::new(&x_memory, in_x).unwrap();
        bench.blas.copy(&view, &mut VectorMut::new(&mut y_memory, in_y).unwrap()).unwrap();
        assert_eq!(in_y.elements(&bench.download(&y_memory)), [y]);
    }
}

#[test]
fn swap_scal_and_copy() {
    for_scalars!(moves);
}

fn scal_real<T: Complex + Value>(bench: &Bench)
where
    T::Real: Value,
{
    let mut random = Random::new(13);
    for (layout, _) in layouts(&mut random) {
        let x = random.dense::<T>(layout.len(), 1);
        let mut memory = bench.upload(&layout.memory::<T>(std::slice::from_ref(&x)));
        let mut view = VectorMut::new(&mut memory, layout).unwrap();
        bench.blas.scal_real(&mut view).alpha(T::Real::of(C::new(-2.5, 0.0))).run().unwrap();
        let got = layout.elements(&bench.download(&memory)).remove(0);
        assert_close::<T>(&got, &x.scaled(C::new(-2.5, 0.0)), 1, 2.5, "scal_real");
    }
}

#[test]
fn complex_vectors_are_scaled_by_real_factors() {
    for_complex!(scal_real);
}

fn number(value: C) -> Dense {
    Dense { rows: 1, cols: 1, values: vec![value] }
}

fn sum(x: &Dense, y: &Dense) -> C {
    x.values.iter().zip(&y.values).map(|(x, y)| x * y).sum()
}

fn dot<T: DotScalar + Value>(bench: &Bench) {
    let mut random = Random::new(14);
    for (in_x, in_y) in layouts(&mut random) {
        let n = in_x.len();
        let (x, y) = (random.dense::<T>(n, 1), random.dense::<T>(n, 1));
        let x_memory = bench.upload(&in_x.memory::<T>(std::slice::from_ref(&x)));
        let y_memory = bench.upload(&in_y.memory::<T>(std::slice::from_ref(&y)));
        let (in_x, in_y) = (Vector::new(&x_memory, in_x).unwrap(), Vector::new(&y_memory, in_y).unwrap());
        let got = number(bench.blas.dot(&in_x, &in_y).run().unwrap().get());
        // 16-bit results are summed with more bits, then rounded.
        let (terms, scale) = if T::EPSILON > 1e-4 { (4, 20.0) } else { (n, 2.0) };
        assert_close::<T>(&got, &number(sum(&x, &y)), terms, scale, &format!("dot of {n}"));
    }
}

#[test]
fn dot_sums_products() {
    for_scalars!(dot);
    let bench = Bench::open();
    dot::<f16>(&bench);
    dot::<bf16>(&bench);
}

fn dotc<T: Complex + Value>(bench: &Bench) {
    let mut random = Random::new(15);
    for (in_x, in_y) in layouts(&mut random) {
        let n = in_x.len();
        let (x, y) = (random.dense::<T>(n, 1), random.dense::<T>(n, 1));
        let x_memory = bench.upload(&in_x.memory::<T>(std::slice::from_ref(&x)));
        let y_memory = bench.upload(&in_y.memory::<T>(std::slice::from_ref(&y)));
        let (in_x, in_y) = (Vector::new(&x_memory, in_x).unwrap(), Vector::new(&y_memory, in_y).unwrap());
        let got = number(bench.blas.dotc(&in_x, &in_y).run().unwrap().get());
        assert_close::<T>(&got, &number(sum(&x.conj(), &y)), n, 2.0, &format!("dotc of {n}"));
    }
}

#[test]
fn dotc_conjugates_the_first() {
    for_complex!(dotc);
}

fn norms<T: Scalar + Value>(bench: &Bench)
where
    T::Real: Value,
{
    let mut random = Random::new(16);
    for (layout, _) in layouts(&mut random) {
        let n = layout.len();
        let x = random.dense::<T>(n, 1);
        let memory = bench.upload(&layout.memory::<T>(std::slice::from_ref(&x)));
        let view = Vector::new(&memory, layout).unwrap();
        let parts = |value: C| value.re.abs() + value.im.abs();
        let sum: f64 = x.values.iter().map(|value| parts(*value)).sum();
        let norm = x.values.iter().map(C::norm_sqr).sum::<f64>().sqrt();
        let what = format!("norms of {layout:?}");
        let got = number(bench.blas.asum(&view).run().unwrap().get());
        assert_close::<T>(&got, &number(C::new(sum, 0.0)), n, 2.0, &what);
        let got = number(bench.blas.nrm2(&view).run().unwrap().get());
        assert_close::<T>(&got, &number(C::new(norm, 0.0)), n, 2.0, &what);
        if layout.increment() < 0 {
            let error = bench.blas.iamax(&view).run().unwrap_err();
            assert!(matches!(error, rocblas::Error::Increment { operation: "iamax", .. }), "{error}");
            continue;
        }
        let largest =
            (0..n).reduce(|best, i| if parts(x.values[i]) > parts(x.values[best]) { i } else { best });
        let smallest =
            (0..n).reduce(|best, i| if parts(x.values[i]) < parts(x.values[best]) { i } else { best });
        // Sums of two parts may be equal in the type but not in f64.
        let near = |got: Option<usize>, expected: Option<usize>| match (got, expected) {
            (Some(got), Some(expected)) => {
                (parts(x.values[got]) - parts(x.values[expected])).abs() <= 2.0 * T::EPSILON
            }
            (got, expected) => got == expected,
        };
        let (max, min) = (bench.blas.iamax(&view).run().unwrap(), bench.blas.iamin(&view).run().unwrap());
        assert!(near(max, largest), "{what}: {max:?}, {largest:?} expected");
        assert!(near(min, smallest), "{what}: {min:?}, {smallest:?} expected");
    }
}

#[test]
fn norms_and_searches() {
    for_scalars!(norms);
}

fn extremes<T: Real + Value>(bench: &Bench)
where
    T::Real: Value,
{
    let largest = if T::EPSILON > 1e-10 { 2e38 } else { 1e308 };
    let values = bench.upload(&[T::of(C::new(largest, 0.0)), T::of(C::new(largest * 0.25, 0.0))]);
    let got = bench.blas.nrm2(&Vector::of(&values).unwrap()).run().unwrap().get().re;
    let expected = largest * (1.0 + 1.0 / 16.0_f64).sqrt();
    match amds() {
        None => assert!((got / expected - 1.0).abs() < 4.0 * T::EPSILON, "{got:e}"),
        Some(_) => assert_eq!(got, f64::INFINITY, "squares overflow"),
    }
    // The first of several equal elements.
    let same = bench.upload(&[T::of(C::new(-3.0, 0.0)); 300]);
    let view = Vector::of(&same).unwrap();
    assert_eq!(bench.blas.iamax(&view).run().unwrap(), Some(0));
    assert_eq!(bench.blas.iamin(&view).run().unwrap(), Some(0));
    let nan = bench.upload(&[T::of(C::new(1.0, 0.0)), T::of(C::new(f64::NAN, 0.0)), T::of(C::default())]);
    let view = Vector::of(&nan).unwrap();
    assert!(bench.blas.asum(&view).run().unwrap().get().re.is_nan());
    assert!(bench.blas.nrm2(&view).run().unwrap().get().re.is_nan());
    assert!(bench.blas.dot(&view, &view).run().unwrap().get().re.is_nan());
}

#[test]
fn extreme_numbers() {
    for_reals!(extremes);
}

#[test]
fn results_go_to_device_memory_one_for_each_of_a_batch() {
    let bench = Bench::open();
    let layout = VectorLayout::new(2).with_batch(3, 2);
    let x = bench.upload(&[1.0_f32, 2.0, -3.0, 4.0, 5.0, -6.0]);
    let ones = bench.upload(&[1.0_f32, 1.0]);
    let (x, ones) = (Vector::new(&x, layout).unwrap(), Vector::of(&ones).unwrap());
    // A single vector is used for all.
    assert_eq!(bench.blas.dot(&x, &ones).run_all().unwrap(), [3.0, 1.0, -1.0]);
    let mut sums = bench.upload(&[0.0_f32; 3]);
    bench.blas.asum(&x).run_into(&mut sums).unwrap();
    assert_eq!(bench.download(&sums), [3.0, 7.0, 11.0]);
    assert_eq!(bench.blas.iamax(&x).run_all().unwrap(), [Some(1), Some(1), Some(1)]);
    let mut places = bench.upload(&[0_i32; 3]);
    bench.blas.iamin(&x).run_into(&mut places).unwrap();
    assert_eq!(bench.download(&places), [1, 1, 1]);
    let mut places = hip::DeviceBuffer::<i64>::zeroed(&bench.stream, 3).unwrap();
    bench.blas.iamax(&x).run_into_64(&mut places).unwrap();
    assert_eq!(places.to_vec(&bench.stream).unwrap(), [2, 2, 2]);
    // `run` refuses a batch of several.
    let error = bench.blas.dot(&x, &x).run().unwrap_err();
    assert!(matches!(error, rocblas::Error::BatchCount { got: 3, .. }), "{error}");
    let mut two = bench.upload(&[0.0_f32; 2]);
    let error = bench.blas.asum(&x).run_into(&mut two).unwrap_err();
    assert!(
        matches!(error, rocblas::Error::Shape { operand: "results", expected: 3, got: 2, .. }),
        "{error}"
    );
    assert_eq!(layout.needed().unwrap(), 6);
}
