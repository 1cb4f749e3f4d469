//! CUB's collectives of a block and a warp.

use cuda_trees_test::headers;

use crate::common::{bits, gpu, launch};

fn numbers(count: usize, seed: u32) -> Vec<i32> {
    bits(count, seed).into_iter().map(|x| (x >> 7) as i32 % 200).map(i32::abs).collect()
}

#[test]
fn reductions_keep_the_order_of_the_threads() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::CUB);
    let values = numbers(128, 100);
    let input = gpu.upload(&values);
    let mut output = gpu.zeroed::<i32>(4);
    launch!(gpu, module, "reductions", 1, (32, 4, 1); &input, &mut output);
    let compose = |(a, b): (i32, i32), v: &i32| {
        let (c, d) = (v % 2 * 2 + 1, *v);
        (a.wrapping_mul(c), b.wrapping_mul(c).wrapping_add(d))
    };
    let (a, b) = values.iter().fold((1, 0), compose);
    let least = values.iter().map(|v| v % 10).min().unwrap();
    let first = values.iter().position(|v| v % 10 == least).unwrap();
    assert_eq!(gpu.download(&output), [a, b, first as i32, least]);
}

#[test]
fn sums_of_items_and_of_the_first_threads() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::CUB);
    let values = numbers(512, 101);
    let input = gpu.upload(&values);
    for valid in [1, 31, 33, 77, 128] {
        let mut output = gpu.zeroed::<i32>(3);
        launch!(gpu, module, "sums", 1, 128; &input, valid as i32, &mut output);
        let some = values.chunks(4).take(valid);
        let expected =
            [values.iter().sum(), some.clone().map(|x| x[0]).sum(), some.map(|x| x[1]).max().unwrap()];
        assert_eq!(gpu.download(&output), expected, "{valid}");
    }
}

#[test]
fn a_program_may_wrap_cub_in_namespaces_of_its_own() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::WRAPPED);
    let values: Vec<i32> = numbers(64, 102).iter().map(|value| value % 3 + 1).collect();
    let input = gpu.upload(&values);
    let mut output = gpu.zeroed::<i32>(65);
    launch!(gpu, module, "wrapped", 1, 64; &input, &mut output);
    let product = values.iter().fold(1i32, |product, value| product.wrapping_mul(*value));
    let sums = values.iter().scan(0, |sum, value| {
        *sum += value;
        Some(*sum)
    });
    assert_eq!(gpu.download(&output), [product].into_iter().chain(sums).collect::<Vec<_>>());
}

#[test]
fn scans_go_on_where_the_last_one_ended() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::CUB);
    let rounds = 3;
    let values = numbers(rounds * 256, 102);
    let input = gpu.upload(&values);
    let mut output = gpu.zeroed::<i32>(rounds * 256 + 384);
    launch!(gpu, module, "scans", 1, 128; &input, &mut output, rounds as i32);
    let found = gpu.download(&output);
    let mut sum = 100;
    for (i, value) in values.iter().enumerate() {
        assert_eq!(found[i], sum, "{i}");
        sum += value;
    }
    let all: i32 = values[..128].iter().sum();
    let (mut sum, mut largest) = (0, 7);
    for (t, found) in found[rounds * 256..].chunks(3).enumerate() {
        sum += values[t];
        assert_eq!(found, [sum, all, largest], "{t}");
        largest = largest.max(values[t]);
    }
}

#[test]
fn radix_sorts_are_stable() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::CUB);
    let count = 64 * 3;
    let values = bits(count, 103);
    let input = gpu.upload(&values);
    let (mut up, mut down, mut places) =
        (gpu.zeroed::<u32>(count), gpu.zeroed::<f32>(count), gpu.zeroed::<i32>(count));
    let (mut wide, mut some) = (gpu.zeroed::<i64>(count), gpu.zeroed::<u32>(count));
    launch!(gpu, module, "sorts", 1, 64; &input, &mut up, &mut down, &mut places, &mut wide, &mut some);
    let mut expected = values.clone();
    expected.sort_unstable();
    assert_eq!(gpu.download(&up), expected);

    let mut pairs: Vec<(i32, i32)> =
        values.iter().enumerate().map(|(i, x)| (*x as i32 >> 24, i as i32)).collect();
    pairs.sort_by_key(|(key, _)| -key);
    assert!(pairs.windows(2).any(|two| two[0].0 == two[1].0), "some keys are equal");
    assert_eq!(gpu.download(&down), pairs.iter().map(|(key, _)| *key as f32).collect::<Vec<_>>());
    assert_eq!(gpu.download(&places), pairs.iter().map(|(_, value)| *value).collect::<Vec<_>>());

    let mut expected: Vec<i64> = values.iter().map(|x| (i64::from(*x as i32) << 8) ^ 5).collect();
    expected.sort_unstable();
    assert_eq!(gpu.download(&wide), expected);

    let mut expected = values;
    expected.sort_by_key(|x| x >> 4 & 0xff);
    assert_eq!(gpu.download(&some), expected);
}

#[test]
fn differences_take_operators_of_mutable_references() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::CUB);
    let values = numbers(128, 106);
    let input = gpu.upload(&values);
    let mut output = gpu.zeroed::<i32>(256);
    launch!(gpu, module, "mutable_differences", 1, 64; &input, &mut output);
    let found = gpu.download(&output);
    let before = |i: usize| if i == 0 { 7 } else { values[i - 1] };
    let left: Vec<i32> = (0..128).map(|i| values[i] - before(i)).collect();
    let right: Vec<i32> = (0..128).map(|i| values[i] - values.get(i + 1).copied().unwrap_or(9)).collect();
    assert_eq!((&found[..128], &found[128..]), (&left[..], &right[..]));
}

#[test]
fn items_are_loaded_moved_compared_and_merged() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::CUB);
    let (all, count) = (256_usize, 201_usize);
    let values: Vec<i32> = numbers(all, 104).into_iter().map(|x| x / 50).collect();
    let input = gpu.upload(&values);
    let mut output = gpu.zeroed::<i32>(5 * all + 16);
    launch!(gpu, module, "moves", 1, 64; &input, count as i32, &mut output);
    let found = gpu.download(&output);
    let guarded: Vec<i32> = (0..all).map(|i| if i < count { values[i] } else { -1 }).collect();
    assert_eq!(found[..all], guarded, "loaded up to the end, and stored");
    // Thread t has items t, t + 64, t + 128 and t + 192 of the blocked order.
    let striped: Vec<i32> = (0..all).map(|i| values[i % 4 * 64 + i / 4]).collect();
    assert_eq!(found[all..2 * all], striped, "striped");
    let heads: Vec<i32> = (0..all).map(|i| i32::from(i == 0 || guarded[i] != guarded[i - 1])).collect();
    assert_eq!(found[2 * all..3 * all], heads, "heads");
    let steps: Vec<i32> =
        (0..all).map(|i| if i == 0 { guarded[0] } else { guarded[i] - guarded[i - 1] }).collect();
    assert_eq!(found[3 * all..4 * all], steps, "differences");
    let mut sorted = guarded.clone();
    sorted.sort_unstable_by_key(|x| -x);
    assert_eq!(found[4 * all..5 * all], sorted, "merged");
    let counts: Vec<i32> =
        (0..16).map(|bin| guarded.iter().filter(|x| *x & 15 == bin).count() as i32).collect();
    assert_eq!(found[5 * all..], counts, "histogram");
}

#[test]
fn warps_and_parts_of_them() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::CUB);
    let values = numbers(128, 105);
    let input = gpu.upload(&values);
    let mut output = gpu.zeroed::<i32>(128 * 6);
    launch!(gpu, module, "warps", 1, 128; &input, &mut output);
    for (t, found) in gpu.download(&output).chunks(6).enumerate() {
        let (warp, lane) = (&values[t / 32 * 32..][..32], t % 32);
        if lane == 0 {
            assert_eq!(found[0], warp.iter().sum::<i32>(), "thread {t}");
        }
        if lane % 8 == 0 {
            assert_eq!(found[1], *warp[lane..lane + 8].iter().max().unwrap(), "thread {t}");
        }
        // The first lane of each segment has its sum.
        if lane == 0 || warp[lane] % 4 == 0 {
            let end = (lane + 1..32).find(|lane| warp[*lane] % 4 == 0).unwrap_or(32);
            assert_eq!(found[2], warp[lane..end].iter().sum::<i32>(), "thread {t}");
        }
        let largest = warp[..lane].iter().copied().max().unwrap_or(3).max(3);
        assert_eq!(found[3..], [warp[..=lane].iter().sum(), largest, warp[9]], "thread {t}");
    }
}

#[test]
fn items_move_between_lanes_and_threads() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::CUB);
    let all = 256;
    let values = numbers(all, 106);
    let input = gpu.upload(&values);
    let mut output = gpu.zeroed::<i32>(7 * all + 3);
    launch!(gpu, module, "exchanges", 1, 64; &input, &mut output);
    let found = gpu.download(&output);
    let part = |i: usize| &found[i * all..(i + 1) * all];
    // Lane l of 16 has items l, l + 16, l + 32 and l + 48 of its warp's 64.
    let striped: Vec<i32> = (0..all).map(|i| values[i / 64 * 64 + i % 4 * 16 + i % 64 / 4]).collect();
    assert_eq!(part(0), striped, "striped");
    let mut order: Vec<usize> = (0..all).collect();
    order.chunks_mut(128).for_each(|warp| warp.sort_by_key(|i| values[*i] % 50));
    assert_eq!(part(1), order.iter().map(|i| values[*i]).collect::<Vec<_>>(), "sorted warps");
    assert_eq!(part(2), order.iter().map(|i| *i as i32).collect::<Vec<_>>(), "a stable sort");
    let offset = (0..64).map(|t| if t + 3 < 64 { values[(t + 3) * 4] } else { -1 });
    let rotated = (0..64).map(|t| values[(t + 60) % 64 * 4]);
    assert_eq!(part(3)[..128], offset.chain(rotated).collect::<Vec<_>>());
    let up: Vec<i32> = (0..all).map(|i| if i == 0 { -2 } else { values[i - 1] }).collect();
    assert_eq!(part(4), up, "up");
    let down: Vec<i32> = (0..all).map(|i| values.get(i + 1).copied().unwrap_or(-3)).collect();
    assert_eq!(part(5), down, "down");
    let mut decoded = Vec::new();
    for run in 0..128 {
        let length = if run % 2 == 0 { values[run * 2] % 4 } else { values[run / 2 * 4 + 1] % 3 };
        decoded.extend((0..length).map(|place| run as i32 * 100 + place));
    }
    assert_eq!(found[7 * all..], [values[all - 1], values[0], decoded.len() as i32]);
    decoded.resize(all, -1);
    assert_eq!(part(6), decoded, "runs");
}

#[test]
fn differences_are_taken_of_the_valid_items() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::CUB);
    let values = numbers(192, 107);
    let input = gpu.upload(&values);
    for valid in [0, 1, 3, 4, 100, 191, 192] {
        let mut output = gpu.zeroed::<i32>(5 * 192);
        launch!(gpu, module, "differences", 1, 64; &input, valid as i32, &mut output);
        let found = gpu.download(&output);
        for (i, &value) in values.iter().enumerate() {
            let left = |before: Option<i32>| if i > 0 { Some(values[i - 1]) } else { before };
            let right = |behind: Option<i32>| values.get(i + 1).copied().or(behind);
            let of = |other: Option<i32>| other.map_or(value, |other| value - other);
            let expected = [
                if i < valid { of(left(None)) } else { value },
                if i < valid { of(left(Some(1000))) } else { value },
                if i + 1 < valid { of(right(None)) } else { value },
                of(right(Some(1000))),
                of(left(Some(1000))),
            ];
            let found: Vec<i32> = (0..5).map(|part| found[part * 192 + i]).collect();
            assert_eq!(found, expected, "item {i} of {valid}");
        }
    }
}

#[test]
fn keys_of_several_numbers_are_sorted_and_threads_search() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::CUB);
    // A key has a `short`, a byte that does not count, and a byte.
    let words = bits(256, 108);
    let keys: Vec<(i16, u8)> =
        words.iter().map(|word| ((word >> 3) as i16 % 4, (word >> 20) as u8 % 8)).collect();
    let input: Vec<u32> = keys
        .iter()
        .zip(&words)
        .map(|(&(high, low), word)| u32::from(high as u16) | (word & 0xff) << 16 | u32::from(low) << 24)
        .collect();
    let mut sorted = numbers(100, 109);
    sorted.iter_mut().for_each(|value| *value %= 64);
    sorted[..50].sort_unstable();
    sorted[50..].sort_unstable();
    let whole = {
        let mut whole = sorted.clone();
        whole.sort_unstable();
        whole
    };
    let (input, list) = (gpu.upload(&input), gpu.upload(&whole));
    let (mut up, mut down, mut searched) =
        (gpu.zeroed::<i32>(512), gpu.zeroed::<i32>(256), gpu.zeroed::<i32>(64 * 7));
    launch!(gpu, module, "parts", 1, 64; &input, &mut up, &mut down, &list, &mut searched);
    let (up, down, searched) = (gpu.download(&up), gpu.download(&down), gpu.download(&searched));
    let mut order: Vec<usize> = (0..256).collect();
    order.sort_by_key(|&i| keys[i]);
    assert_eq!(up[..256], order.iter().map(|&i| i as i32).collect::<Vec<_>>());
    let all: Vec<i32> = order.iter().map(|&i| i32::from(keys[i].0) * 256 + i32::from(keys[i].1)).collect();
    assert_eq!(up[256..], all);
    // Bits 1 to 19 of 24: the lower number's upper seven, the higher one's lower twelve.
    let part = |i: usize| (i32::from(keys[i].0 as u16 & 0xfff) << 7) | i32::from(keys[i].1 >> 1);
    let mut order: Vec<usize> = (0..256).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(part(i)));
    assert_eq!(down, order.iter().map(|&i| i as i32).collect::<Vec<_>>());
    for t in 0..64_i32 {
        let found = &searched[t as usize * 7..][..7];
        let (low, high) =
            (whole.partition_point(|value| *value < t), whole.partition_point(|value| *value <= t));
        assert_eq!(found[..2], [low as i32, high as i32], "{t}");
        // A merge of both halves, in which the first one's items come first among equals.
        let mut merged: Vec<(i32, usize)> = whole[..50].iter().map(|value| (*value, 0)).collect();
        merged.extend(whole[50..].iter().map(|value| (*value, 1)));
        merged.sort_unstable();
        let diagonal = 2 * t as usize;
        let of_first = merged.iter().take(diagonal).filter(|(_, list)| *list == 0).count();
        assert_eq!(found[2..4], [of_first as i32, (diagonal.min(100) - of_first) as i32], "{t}");
        let mut three = [(whole[t as usize] % 7, 0), (t % 5, 1), (3, 2)];
        three.sort_by_key(|(key, _)| *key);
        assert_eq!(found[4..], three.map(|(key, value)| key * 10 + value), "{t}");
    }
}
