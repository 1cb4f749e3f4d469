//! Plane rotations.

use rocblas::{Complex, Real, Scalar, Vector, VectorLayout, VectorMut};

use crate::common::{
    Bench, C, Dense, Places as _, Random, Value, assert_close, for_complex, for_reals, for_scalars,
};

fn rotate<T: Scalar + Value>(bench: &Bench)
where
    T::Real: Value,
{
    let mut random = Random::new(21);
    for (n, increment) in [(0, 1), (1, 1), (65, 2), (300, -1)] {
        let layout = VectorLayout::new(n).with_increment(increment);
        let (x, y) = (random.dense::<T>(n, 1), random.dense::<T>(n, 1));
        let (c, s) = (random.value::<T::Real>(), random.value::<T>());
        let mut in_x = bench.upload(&layout.memory::<T>(std::slice::from_ref(&x)));
        let mut in_y = bench.upload(&layout.memory::<T>(std::slice::from_ref(&y)));
        let mut view_x = VectorMut::new(&mut in_x, layout).unwrap();
        let mut view_y = VectorMut::new(&mut in_y, layout).unwrap();
        bench.blas.rot(&mut view_x, &mut view_y, T::Real::of(c), T::of(s)).unwrap();
        let got = (
            layout.elements(&bench.download(&in_x)).remove(0),
            layout.elements(&bench.download(&in_y)).remove(0),
        );
        assert_close::<T>(&got.0, &x.scaled(c).plus(&y.scaled(s)), 2, 3.0, "x");
        assert_close::<T>(&got.1, &y.scaled(c).plus(&x.scaled(-s.conj())), 2, 3.0, "y");
        // The same with scalars in device memory.
        let (c_memory, s_memory) = (bench.upload(&[T::Real::of(c)]), bench.upload(&[T::of(s)]));
        let mut in_x = bench.upload(&layout.memory::<T>(std::slice::from_ref(&x)));
        let mut in_y = bench.upload(&layout.memory::<T>(std::slice::from_ref(&y)));
        let mut view_x = VectorMut::new(&mut in_x, layout).unwrap();
        let mut view_y = VectorMut::new(&mut in_y, layout).unwrap();
        let (c_memory, s_memory) = (c_memory.as_slice(), s_memory.as_slice());
        bench.blas.rot_from(&mut view_x, &mut view_y, c_memory, s_memory).unwrap();
        // Libraries may round otherwise.
        let from_memory = layout.elements(&bench.download(&in_x)).remove(0);
        assert_close::<T>(&from_memory, &got.0, 2, 3.0, "x by scalars in memory");
        let from_memory = layout.elements(&bench.download(&in_y)).remove(0);
        assert_close::<T>(&from_memory, &got.1, 2, 3.0, "y by scalars in memory");
    }
}

#[test]
fn points_are_rotated() {
    for_scalars!(rotate);
}

fn rotate_real<T: Complex + Value>(bench: &Bench)
where
    T::Real: Value,
{
    let mut random = Random::new(22);
    let layout = VectorLayout::new(70);
    let (x, y) = (random.dense::<T>(70, 1), random.dense::<T>(70, 1));
    let (c, s) = (random.value::<T::Real>(), random.value::<T::Real>());
    let mut in_x = bench.upload(&layout.memory::<T>(std::slice::from_ref(&x)));
    let mut in_y = bench.upload(&layout.memory::<T>(std::slice::from_ref(&y)));
    let mut view_x = VectorMut::new(&mut in_x, layout).unwrap();
    let mut view_y = VectorMut::new(&mut in_y, layout).unwrap();
    bench.blas.rot_real(&mut view_x, &mut view_y, T::Real::of(c), T::Real::of(s)).unwrap();
    let got = layout.elements(&bench.download(&in_x)).remove(0);
    assert_close::<T>(&got, &x.scaled(c).plus(&y.scaled(s)), 2, 3.0, "x");
    let got = layout.elements(&bench.download(&in_y)).remove(0);
    assert_close::<T>(&got, &y.scaled(c).plus(&x.scaled(-s)), 2, 3.0, "y");
}

#[test]
fn complex_points_are_rotated_by_real_sines() {
    for_complex!(rotate_real);
}

fn close<T: Value>(got: C, expected: C, what: &str) {
    let one = |value| Dense { rows: 1, cols: 1, values: vec![value] };
    assert_close::<T>(&one(got), &one(expected), 8, 4.0, what);
}

/// The result is a rotation, and makes the second number zero.
fn makes<T: Scalar + Value>(bench: &Bench)
where
    T::Real: Value,
{
    let mut random = Random::new(23);
    let mut cases: Vec<(C, C)> = (0..6).map(|_| (random.value::<T>(), random.value::<T>())).collect();
    cases.extend([(C::default(), C::new(1.0, 0.0)), (C::new(2.0, 0.0), C::default())]);
    for (a, b) in cases {
        let rotation = bench.blas.rotg(T::of(a), T::of(b)).unwrap();
        let (r, c, s) = (rotation.r.get(), rotation.c.get(), rotation.s.get());
        close::<T>(c * a + s * b, r, "r");
        close::<T>(c * b - s.conj() * a, C::default(), "zero");
        close::<T>(C::new(c.norm_sqr() + s.norm_sqr(), 0.0), C::new(1.0, 0.0), "length");
        // The same in device memory.
        let (mut in_a, mut in_b) = (bench.upload(&[T::of(a)]), bench.upload(&[T::of(b)]));
        let (mut in_c, mut in_s) = (bench.upload(&[T::Real::of(a)]), bench.upload(&[T::of(a)]));
        bench
            .blas
            .rotg_in(
                &mut VectorMut::of(&mut in_a).unwrap(),
                &mut VectorMut::of(&mut in_b).unwrap(),
                &mut VectorMut::of(&mut in_c).unwrap(),
                &mut VectorMut::of(&mut in_s).unwrap(),
            )
            .unwrap();
        close::<T>(bench.download(&in_a)[0].get(), r, "r in memory");
        close::<T>(bench.download(&in_c)[0].get(), c, "c in memory");
        close::<T>(bench.download(&in_s)[0].get(), s, "s in memory");
    }
}

#[test]
fn rotations_are_made() {
    for_scalars!(makes);
}

/// The matrix of a modified rotation, by its flag.
fn matrix(parameters: &[f64; 5]) -> [f64; 4] {
    let [flag, h11, h21, h12, h22] = *parameters;
    match flag {
        -1.0 => [h11, h12, h21, h22],
        0.0 => [1.0, h12, h21, 1.0],
        1.0 => [h11, 1.0, -1.0, h22],
        _ => [1.0, 0.0, 0.0, 1.0],
    }
}

fn modified<T: Real + Value>(bench: &Bench) {
    let real = |value: f64| T::of(C::new(value, 0.0));
    let mut random = Random::new(24);
    let (x, y) = (random.dense::<T>(70, 1), random.dense::<T>(70, 1));
    let layout = VectorLayout::new(70).with_increment(2);
    for flag in [-2.0, -1.0, 0.0, 1.0] {
        let parameters = [flag, 0.5, -0.75, 1.25, 2.0];
        let [h11, h12, h21, h22] = matrix(&parameters).map(|value| C::new(value, 0.0));
        for in_memory in [false, true] {
            let mut in_x = bench.upload(&layout.memory::<T>(std::slice::from_ref(&x)));
            let mut in_y = bench.upload(&layout.memory::<T>(std::slice::from_ref(&y)));
            let mut view_x = VectorMut::new(&mut in_x, layout).unwrap();
            let mut view_y = VectorMut::new(&mut in_y, layout).unwrap();
            if in_memory {
                let memory = bench.upload(&parameters.map(real));
                bench.blas.rotm_from(&mut view_x, &mut view_y, &Vector::of(&memory).unwrap()).unwrap();
            } else {
                bench.blas.rotm(&mut view_x, &mut view_y, parameters.map(real)).unwrap();
            }
            let got = layout.elements(&bench.download(&in_x)).remove(0);
            assert_close::<T>(&got, &x.scaled(h11).plus(&y.scaled(h12)), 2, 4.0, "x");
            let got = layout.elements(&bench.download(&in_y)).remove(0);
            assert_close::<T>(&got, &x.scaled(h21).plus(&y.scaled(h22)), 2, 4.0, "y");
        }
    }
    // The generated rotation makes the second number zero.
    for (d1, d2, x1, y1) in [(1.0, 2.0, 0.5, 0.25), (0.5, 3.0, 0.25, 2.0), (2.0, 0.0, 1.0, 1.0)] {
        let made = bench.blas.rotmg(real(d1), real(d2), real(x1), real(y1)).unwrap();
        let parameters = made.parameters.map(|value| value.get().re);
        let [h11, h12, h21, h22] = matrix(&parameters);
        close::<T>(C::new(h11 * x1 + h12 * y1, 0.0), made.x1.get(), "x1");
        if d2 != 0.0 {
            close::<T>(C::new(h21 * x1 + h22 * y1, 0.0), C::default(), "y1");
        }
        let (mut in_d1, mut in_d2) = (bench.upload(&[real(d1)]), bench.upload(&[real(d2)]));
        let (mut in_x1, in_y1) = (bench.upload(&[real(x1)]), bench.upload(&[real(y1)]));
        let mut memory = bench.upload(&[real(0.0); 5]);
        bench
            .blas
            .rotmg_in(
                &mut VectorMut::of(&mut in_d1).unwrap(),
                &mut VectorMut::of(&mut in_d2).unwrap(),
                &mut VectorMut::of(&mut in_x1).unwrap(),
                &Vector::of(&in_y1).unwrap(),
                &mut VectorMut::of(&mut memory).unwrap(),
            )
            .unwrap();
        close::<T>(bench.download(&in_x1)[0].get(), made.x1.get(), "x1 in memory");
        close::<T>(bench.download(&in_d1)[0].get(), made.d1.get(), "d1 in memory");
        close::<T>(bench.download(&memory)[0].get(), C::new(parameters[0], 0.0), "flag in memory");
    }
}

#[test]
fn modified_rotations() {
    for_reals!(modified);
}
