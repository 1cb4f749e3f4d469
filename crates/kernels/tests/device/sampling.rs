//! Drawing tokens, against a model in f64 that sorts.

use kernels::reference::Expected;
use kernels::{Element, Error, Float, Penalties, Sampling};

use crate::common::{Bench, for_every_type, random};
use crate::record::{assert_exact, compare, exact};

/// The remaining tokens, with their probabilities among these, by token.
fn left(row: &[f64], by: &Sampling) -> Vec<(u32, f64)> {
    let mut order: Vec<usize> = (0..row.len()).filter(|&i| !row[i].is_nan()).collect();
    order.sort_by(|&a, &b| row[b].partial_cmp(&row[a]).unwrap());
    let largest = row[order[0]];
    let weight = |i: usize| ((row[i] - largest) / f64::from(by.temperature)).exp();
    if by.top_k > 0 {
        order.truncate(by.top_k as usize);
    }
    if by.top_p < 1.0 {
        let total: f64 = order.iter().map(|&i| weight(i)).sum();
        let mut sum = 0.0;
        let enough = order.iter().position(|&i| {
            sum += weight(i);
            sum >= f64::from(by.top_p) * total
        });
        order.truncate(enough.unwrap() + 1);
    }
    order.retain(|&i| weight(i) >= f64::from(by.min_p));
    let total: f64 = order.iter().map(|&i| weight(i)).sum();
    order.sort_unstable();
    order.iter().map(|&i| (i as u32, weight(i) / total)).collect()
}

/// Whether a token is the one that a number draws, or its neighbour if the number is at the edge of its
/// probability.
fn is_drawn(left: &[(u32, f64)], u: f32, token: u32) -> bool {
    let mut sum = 0.0;
    for &(candidate, probability) in left {
        let (low, high) = (sum - 1e-5, sum + probability + 1e-5);
        if candidate == token && (low..high).contains(&f64::from(u)) {
            return true;
        }
        sum += probability;
    }
    false
}

const SETTINGS: [Sampling; 9] = [
    Sampling { temperature: 1.0, top_p: 1.0, min_p: 0.0, top_k: 0 },
    Sampling { temperature: 0.3, top_p: 1.0, min_p: 0.0, top_k: 0 },
    Sampling { temperature: 5.0, top_p: 1.0, min_p: 0.0, top_k: 3 },
    Sampling { temperature: 1.0, top_p: 1.0, min_p: 0.0, top_k: 1 },
    Sampling { temperature: 1.5, top_p: 0.8, min_p: 0.0, top_k: 0 },
    Sampling { temperature: 1.0, top_p: 0.01, min_p: 0.0, top_k: 0 },
    Sampling { temperature: 2.0, top_p: 1.0, min_p: 0.2, top_k: 0 },
    Sampling { temperature: 2.0, top_p: 0.9, min_p: 0.05, top_k: 20 },
    Sampling { temperature: 1.0, top_p: 1.0, min_p: 0.0, top_k: 100_000 },
];

fn tokens_are_drawn<T: Float<Compute = f32>>(bench: &Bench) {
    for columns in [1, 50, 700] {
        let logits = random::<T>(columns, 101, 4.0);
        let row: Vec<f64> = logits.iter().map(|x| x.to_f64()).collect();
        for by in SETTINGS {
            let uniforms = [0.0_f32, 0.1, 0.37, 0.5, 0.73, 0.9, 0.999, 1.0 - f32::EPSILON / 2.0];
            let all: Vec<T> = uniforms.iter().flat_map(|_| logits.clone()).collect();
            let (device_logits, device_uniforms) = (bench.upload(&all), bench.upload(&uniforms));
            let settings = bench.upload(&[by; 8]);
            let mut tokens = bench.zeroed::<u32>(8);
            bench
                .kernels
                .sample(&bench.stream, &device_logits, columns, &settings, &device_uniforms, &mut tokens)
                .unwrap();
            let left = left(&row, &by);
            for (u, token) in uniforms.into_iter().zip(bench.download(&tokens)) {
                assert!(exact(is_drawn(&left, u, token)), "{by:?} {u} of {columns} {}: {token}", T::NAME);
            }
        }
    }
}

#[test]
fn tokens() {
    for_every_type!(tokens_are_drawn);
}

/// Edges that the arithmetic represents exactly: four equal logits are a quarter each, and the first ones are
/// kept.
#[test]
fn edges_are_exact() {
    let bench = Bench::open();
    let logits = [2.0_f32, -9.0, 2.0, 2.0, f32::NEG_INFINITY, 2.0];
    let draw = |by: Sampling| {
        let uniforms = [0.0_f32, 0.249, 0.25, 0.499, 0.5, 0.749, 0.75, 0.999];
        let all: Vec<f32> = uniforms.iter().flat_map(|_| logits).collect();
        let (device_logits, device_uniforms) = (bench.upload(&all), bench.upload(&uniforms));
        let (settings, mut tokens) = (bench.upload(&[by; 8]), bench.zeroed::<u32>(8));
        bench
            .kernels
            .sample(&bench.stream, &device_logits, 6, &settings, &device_uniforms, &mut tokens)
            .unwrap();
        bench.download(&tokens)
    };
    let some = Sampling { temperature: 0.01, ..Sampling::default() };
    assert_exact!(draw(some), [0, 0, 2, 2, 3, 3, 5, 5]);
    assert_exact!(draw(Sampling { top_k: 2, ..some }), [0, 0, 0, 0, 2, 2, 2, 2]);
    assert_exact!(draw(Sampling { top_p: 0.5, ..some }), [0, 0, 0, 0, 2, 2, 2, 2]);
    assert_exact!(draw(Sampling { top_p: 0.51, top_k: 4, ..some })[7], 3);
    assert_exact!(draw(Sampling { top_p: 0.0, ..some }), [0; 8]);
    assert_exact!(draw(Sampling { min_p: 1.0, ..Sampling::default() }), [0, 0, 2, 2, 3, 3, 5, 5]);
    assert_exact!(draw(Sampling::GREEDY), [0; 8]);
}

#[test]
fn special_logits() {
    let bench = Bench::open();
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let rows = [
        ([-inf, -inf, 0.0, -inf], 2),
        ([-0.0, -inf, 0.0, -inf], 0),
        ([-inf, -f32::MAX, -inf, -inf], 1),
        ([f32::MAX, f32::MAX, -f32::MAX, -inf], 0),
        ([-inf; 4], u32::MAX),
        ([nan, nan, -inf, -inf], u32::MAX),
        ([nan, 1.0, 2.0, -1.0], u32::MAX),
        ([0.0, inf, 5.0, -inf], u32::MAX),
        ([1.0, 5.0, 0.0, nan], u32::MAX),
    ];
    let logits: Vec<f32> = rows.iter().flat_map(|row| row.0).collect();
    let expected: Vec<u32> = rows.iter().map(|row| row.1).collect();
    let device_logits = bench.upload(&logits);
    for (by, u) in [
        (Sampling::GREEDY, 0.9),
        (Sampling { top_k: 1, ..Sampling::default() }, 0.9),
        (Sampling { temperature: f32::NAN, ..Sampling::default() }, 0.0),
    ] {
        let (settings, uniforms) = (bench.upload(&[by; 9]), bench.upload(&[u; 9]));
        let mut tokens = bench.zeroed::<u32>(9);
        bench.kernels.sample(&bench.stream, &device_logits, 4, &settings, &uniforms, &mut tokens).unwrap();
        assert_exact!(bench.download(&tokens), expected, "{by:?}");
    }
    // numbers outside [0, 1) count as the nearest one inside
    let row = bench.upload(&[[1.0_f32, 1.0]; 4].concat());
    let (settings, uniforms) =
        (bench.upload(&[Sampling::default(); 4]), bench.upload(&[-1.0, 1.0, inf, nan]));
    let mut tokens = bench.zeroed::<u32>(4);
    bench.kernels.sample(&bench.stream, &row, 2, &settings, &uniforms, &mut tokens).unwrap();
    assert_exact!(bench.download(&tokens), [0, 1, 1, 0]);
}

/// Most columns are -∞, around bytes of the index: for all settings and uniforms, a token is a column with a
/// number. If one more column is NaN or +∞, there is no token.
#[test]
fn only_columns_with_numbers_are_drawn_and_none_beside_one_that_is_not_finite() {
    let bench = Bench::open();
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let usual = Sampling::default();
    let settings = [
        usual,
        Sampling { temperature: inf, ..usual },
        Sampling { temperature: f32::MIN_POSITIVE / 4.0, ..usual },
        Sampling { top_p: 0.5, min_p: 2.0, ..usual },
        Sampling { temperature: inf, top_p: 1e-30, top_k: 7, ..usual },
    ];
    let uniforms = [0.0, 0.5, 1.0 - f32::EPSILON / 2.0, 1.0, 2.0, -1.0, nan, inf];
    for columns in [2, 63, 65, 256, 257, 1025] {
        for (largest, other) in [(0.0, 0.0), (f32::MAX, f32::MIN), (-0.0, f32::MIN_POSITIVE / 4.0)] {
            for one_more in [-inf, nan, inf] {
                // two columns with numbers, and none in the last places
                let numbers = [columns / 2 - usize::from(columns > 2), columns / 2];
                let mut row = vec![-inf; columns];
                // the first or the last, where these are others
                let at = if largest == other { 0 } else { columns - 1 };
                row[at] = one_more;
                let is_finite = one_more < 0.0 || numbers.contains(&at);
                row[numbers[0]] = other;
                row[numbers[1]] = largest;
                let rows = settings.len() * uniforms.len();
                let logits = bench.upload(&row.repeat(rows));
                let by: Vec<Sampling> = settings.iter().flat_map(|by| [*by; 8]).collect();
                let (by, uniforms) = (bench.upload(&by), bench.upload(&uniforms.repeat(settings.len())));
                let mut tokens = bench.zeroed::<u32>(rows);
                bench.kernels.sample(&bench.stream, &logits, columns, &by, &uniforms, &mut tokens).unwrap();
                let tokens = bench.download(&tokens);
                let is_right = |token: &u32| match is_finite {
                    true => numbers.contains(&(*token as usize)),
                    false => *token == u32::MAX,
                };
                let wrong = tokens.iter().position(|token| !is_right(token));
                let what = || {
                    format!("{columns} columns, {one_more}, {largest} and {other}: {wrong:?} of {tokens:?}")
                };
                assert!(exact(wrong.is_none()), "{}", what());
                // of equal ones at an infinite temperature, a uniform of 1 draws the last
                if is_finite && largest == other {
                    assert_eq!(tokens[3] as usize, numbers[1], "{}", what());
                }
            }
        }
    }
}

#[test]
fn a_vocabulary() {
    let bench = Bench::open();
    let columns = 128_256;
    let logits = random::<f32>(columns, 102, 12.0);
    let row: Vec<f64> = logits.iter().map(|x| x.to_f64()).collect();
    let device_logits = bench.upload(&logits);
    for by in [SETTINGS[4], SETTINGS[7]] {
        let (settings, uniforms) = (bench.upload(&[by]), bench.upload(&[0.61_f32]));
        let mut tokens = bench.zeroed::<u32>(1);
        bench
            .kernels
            .sample(&bench.stream, &device_logits, columns, &settings, &uniforms, &mut tokens)
            .unwrap();
        assert!(exact(is_drawn(&left(&row, &by), 0.61, bench.download(&tokens)[0])), "{by:?}");
    }
}

fn occurring_tokens_are_penalised<T: Float<Compute = f32>>(bench: &Bench) {
    let (rows, columns) = (3, 90);
    // even columns below zero, odd ones above
    let sign = |i: usize| if i.is_multiple_of(2) { -1.0 } else { 1.0 };
    let noise = random::<T>(rows * columns, 103, 6.0);
    let logits: Vec<T> =
        noise.iter().enumerate().map(|(i, x)| T::from_f64(x.to_f64().abs() * sign(i))).collect();
    let tokens = [5_u32, 8, 5, 89, 5, 90, u32::MAX, 0, 0, 1, 2, 3, 4, 5, 89, 89, 89, 89];
    let mut counts = bench.zeroed::<u32>(rows * columns);
    // twice, half of each row's tokens at a time, as the counts of a generation grow
    for part in [0, 3] {
        let part: Vec<u32> = tokens.chunks(6).flat_map(|row| row[part..part + 3].to_vec()).collect();
        let device = bench.upload(&part);
        bench.kernels.count_tokens(&bench.stream, &device, columns, &mut counts).unwrap();
    }
    let mut expected_counts = vec![0_u32; rows * columns];
    for (row, tokens) in tokens.chunks(6).enumerate() {
        for &token in tokens.iter().filter(|&&token| token < 90) {
            expected_counts[row * columns + token as usize] += 1;
        }
    }
    assert_exact!(bench.download(&counts), expected_counts);

    let penalties = [
        Penalties { repetition: 1.3, frequency: 0.0, presence: 0.0 },
        Penalties { repetition: 1.0, frequency: 0.5, presence: 0.25 },
        Penalties { repetition: 1.1, frequency: -0.2, presence: 2.0 },
    ];
    let (device, mut changed) = (bench.upload(&penalties), bench.upload(&logits));
    bench.kernels.penalize(&bench.stream, &counts, &device, columns, &mut changed).unwrap();
    let expected = logits.iter().zip(&expected_counts).enumerate().map(|(i, (x, &count))| {
        let (x, by) = (x.to_f64(), &penalties[i / columns]);
        if count == 0 {
            return Expected { value: x, slack: 0.0 };
        }
        let repetition = f64::from(by.repetition);
        let scaled = if x > 0.0 { x / repetition } else { x * repetition };
        let frequency = f64::from(by.frequency) * f64::from(count);
        let presence = f64::from(by.presence);
        let magnitude = scaled.abs() + frequency.abs() + presence.abs();
        Expected { value: scaled - frequency - presence, slack: 4.0 * f32::UNIT_ROUNDOFF * magnitude }
    });
    let result = compare(&bench.download(&changed), expected);
    assert!(result.passed(), "{}: {result:?}", T::NAME);
}

#[test]
fn penalties() {
    for_every_type!(occurring_tokens_are_penalised);
}

#[test]
fn bad_shapes_are_refused() {
    let bench = Bench::open();
    let (kernels, stream) = (&bench.kernels, &bench.stream);
    let (logits, settings) = (bench.zeroed::<f32>(12), bench.upload(&[Sampling::GREEDY; 3]));
    let (uniforms, mut tokens) = (bench.zeroed::<f32>(3), bench.zeroed::<u32>(3));
    for columns in [0, 5] {
        let error = kernels.sample(stream, &logits, columns, &settings, &uniforms, &mut tokens).unwrap_err();
        assert!(matches!(error, Error::Size { parameter: "columns", .. }), "{error}");
    }
    let error = kernels.sample(stream, &logits, 3, &settings, &uniforms, &mut tokens).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "settings", expected: 4, got: 3, .. }), "{error}");
    let mut few = bench.zeroed::<u32>(2);
    let error = kernels.sample(stream, &logits, 4, &settings, &uniforms, &mut few).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "tokens", expected: 3, got: 2, .. }), "{error}");
    let (history, mut counts) = (bench.zeroed::<u32>(7), bench.zeroed::<u32>(12));
    let error = kernels.count_tokens(stream, &history, 4, &mut counts).unwrap_err();
    assert!(matches!(error, Error::Size { parameter: "tokens", got: 7, .. }), "{error}");
    let penalties = bench.upload(&[Penalties::default(); 2]);
    let mut logits = logits;
    let error = kernels.penalize(stream, &counts, &penalties, 4, &mut logits).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "penalties", expected: 3, got: 2, .. }), "{error}");
}
