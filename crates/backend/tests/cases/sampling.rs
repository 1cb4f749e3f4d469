//! Drawing tokens.

use backend::{DType, Penalties, Sampling, penalty_words, sampling_words};

use crate::common::{Bench, FLOATS};

#[test]
fn counted_tokens_are_penalised() {
    let bench = Bench::open();
    let (rows, columns) = (2, 50);
    let counts = bench.backend.zeros(DType::U32, &[rows, columns]).unwrap();
    let tokens = bench.u32(&[rows, 4], &[3, 7, 3, 900, 0, 49, 49, 49]);
    bench.backend.count_tokens(&tokens, &counts).unwrap();
    let counted = bench.backend.to_u32(&counts).unwrap();
    assert_eq!((counted[3], counted[7], counted[50], counted[99]), (2, 1, 1, 3));
    assert_eq!(counted.iter().sum::<u32>(), 7, "a token that does not exist is not counted");
    let by = [
        Penalties { repetition: 1.5, frequency: 0.25, presence: 0.5 },
        Penalties { repetition: 1.0, frequency: 1.0, presence: 0.0 },
    ];
    let table = bench.u32(&[rows, 3], &penalty_words(&by));
    for (dtype, _) in FLOATS {
        let (logits, numbers) = bench.random(dtype, &[rows, columns], 61, 4.0);
        bench.backend.penalize(&counts, &table, &logits).unwrap();
        let at = |i: usize| {
            let (count, by, x) = (f64::from(counted[i]), by[i / columns], numbers[i]);
            let repetition = f64::from(by.repetition);
            let repeated = if x > 0.0 { x / repetition } else { x * repetition };
            match counted[i] {
                0 => x,
                _ => repeated - f64::from(by.frequency) * count - f64::from(by.presence),
            }
        };
        let expected: Vec<f64> = (0..rows * columns).map(at).collect();
        bench.is_near(&logits, &expected, |_| 2e-6, "penalize");
    }
}

/// The tokens that remain after the rules, with their probabilities among these.
fn left(row: &[f64], by: &Sampling) -> Vec<(u32, f64)> {
    let mut order: Vec<usize> = (0..row.len()).collect();
    order.sort_by(|a, b| row[*b].total_cmp(&row[*a]));
    let largest = row[order[0]];
    let weight = |i: &usize| ((row[*i] - largest) / f64::from(by.temperature)).exp();
    if by.top_k > 0 {
        order.truncate(by.top_k as usize);
    }
    if by.top_p < 1.0 {
        let total: f64 = order.iter().map(weight).sum();
        let mut sum = 0.0;
        let enough = order.iter().position(|i| {
            sum += weight(i);
            sum >= f64::from(by.top_p) * total
        });
        order.truncate(enough.unwrap() + 1);
    }
    order.retain(|i| weight(i) >= f64::from(by.min_p));
    let total: f64 = order.iter().map(weight).sum();
    order.sort_unstable();
    order.iter().map(|i| (*i as u32, weight(i) / total)).collect()
}

#[test]
fn tokens_are_drawn_by_their_probabilities() {
    let bench = Bench::open();
    let plain = Sampling::default();
    let settings = [
        plain,
        Sampling { temperature: 0.4, ..plain },
        Sampling { temperature: 3.0, top_k: 4, ..plain },
        Sampling { top_p: 0.7, ..plain },
        Sampling { temperature: 2.0, min_p: 0.2, ..plain },
        Sampling { temperature: 2.0, top_p: 0.9, min_p: 0.05, top_k: 20 },
    ];
    let uniforms = [0.0_f32, 0.13, 0.4, 0.66, 0.9, 0.999];
    for (dtype, _) in FLOATS {
        for columns in [1, 60, 300] {
            let one = crate::common::random(columns, 62, 4.0);
            let numbers = crate::common::rounded(dtype, &one);
            let all: Vec<f32> = uniforms.iter().flat_map(|_| one.clone()).collect();
            let logits = bench.tensor(dtype, &[6, columns], &all);
            let drawn_by = bench.tensor(DType::F32, &[6], &uniforms);
            for by in settings {
                let table = bench.u32(&[6, 4], &sampling_words(&[by; 6]));
                let tokens = bench.empty(DType::U32, &[6]);
                bench.backend.sample(&logits, &table, &drawn_by, &tokens).unwrap();
                let left = left(&numbers, &by);
                for (u, token) in uniforms.iter().zip(bench.backend.to_u32(&tokens).unwrap()) {
                    let mut sum = 0.0;
                    let fits = left.iter().any(|(candidate, probability)| {
                        let range = sum - 1e-5..sum + probability + 1e-5;
                        sum += probability;
                        *candidate == token && range.contains(&f64::from(*u))
                    });
                    assert!(fits, "{by:?} {u} of {columns} {dtype}: {token}");
                }
            }
        }
    }
}

/// Greedily and by probabilities, whichever kernel or filter.
#[test]
fn a_row_that_is_not_finite_has_no_token() {
    let bench = Bench::open();
    let (infinity, columns) = (f32::INFINITY, 300);
    let numbers = crate::common::random(columns, 63, 4.0);
    let rows =
        [None, Some((0, f32::NAN)), Some((299, f32::NAN)), Some((150, infinity)), Some((7, -infinity))];
    let changed = |change: &Option<(usize, f32)>| {
        let mut row = numbers.clone();
        change.iter().for_each(|&(at, number)| row[at] = number);
        row
    };
    let rows: Vec<Vec<f32>> = rows.iter().map(changed).chain([vec![-infinity; columns]]).collect();
    let plain = Sampling::default();
    let settings =
        [Sampling::GREEDY, plain, Sampling { top_k: 20, ..plain }, Sampling { top_p: 0.7, ..plain }];
    for (dtype, _) in FLOATS {
        let logits = bench.tensor(dtype, &[rows.len(), columns], &rows.concat());
        let uniforms = bench.tensor(DType::F32, &[rows.len()], &vec![0.4; rows.len()]);
        for by in settings {
            let table = bench.u32(&[rows.len(), 4], &sampling_words(&vec![by; rows.len()]));
            let tokens = bench.empty(DType::U32, &[rows.len()]);
            bench.backend.sample(&logits, &table, &uniforms, &tokens).unwrap();
            let tokens = bench.backend.to_u32(&tokens).unwrap();
            let has_token: Vec<bool> = tokens.iter().map(|token| *token < columns as u32).collect();
            assert_eq!(has_token, [true, false, false, false, true, false], "{by:?} {dtype}: {tokens:?}");
            assert!(tokens.iter().all(|token| *token < columns as u32 || *token == u32::MAX), "{tokens:?}");
        }
    }
}

#[test]
fn the_first_of_the_largest_is_found() {
    let bench = Bench::open();
    let mut numbers = vec![0.5_f32; 3 * 300];
    (numbers[17], numbers[280], numbers[300]) = (4.0, 4.0, 4.0);
    numbers[899] = 4.0;
    for (dtype, _) in FLOATS {
        let x = bench.tensor(dtype, &[3, 300], &numbers);
        let out = bench.empty(DType::U32, &[3]);
        bench.backend.argmax(&x, &out).unwrap();
        assert_eq!(bench.backend.to_u32(&out).unwrap(), [17, 0, 299], "{dtype}");
        let table = bench.u32(&[3, 4], &sampling_words(&[Sampling::GREEDY; 3]));
        let uniforms = bench.tensor(DType::F32, &[3], &[0.9; 3]);
        bench.backend.sample(&x, &table, &uniforms, &out).unwrap();
        assert_eq!(bench.backend.to_u32(&out).unwrap(), [17, 0, 299], "greedy {dtype}");
        let (values, indices) = (bench.empty(dtype, &[3, 3]), bench.empty(DType::U32, &[3, 3]));
        bench.backend.top_k(&x, &values, &indices).unwrap();
        assert_eq!(bench.backend.to_u32(&indices).unwrap(), [17, 280, 0, 0, 1, 2, 299, 0, 1], "{dtype}");
        assert_eq!(bench.backend.to_f32(&values).unwrap()[..4], [4.0, 4.0, 0.5, 4.0]);
    }
}
