//! `cooperative_groups.h` and its reductions, scans and copies.

use cuda_trees_test::headers;

use crate::common::{bits, gpu, launch};

fn small_numbers(count: usize, seed: u32) -> Vec<i32> {
    bits(count, seed).into_iter().map(|x| (x >> 5) as i32 % 90 + 1).map(i32::abs).collect()
}

fn tile(values: &[i32], thread: usize, size: usize) -> [i32; 15] {
    let group = &values[thread / size * size..][..size];
    let (rank, v) = (thread % size, values[thread]);
    let mask = |of: &dyn Fn(i32) -> bool| (0..size).map(|i| u32::from(of(group[i])) << i).sum::<u32>() as i32;
    [
        rank as i32,
        size as i32,
        (thread / size) as i32,
        (values.len() / size) as i32,
        group[1],
        if rank == 0 { v } else { group[rank - 1] },
        if rank + 2 < size { group[rank + 2] } else { v },
        group[rank ^ (size / 2)],
        i32::from(group.iter().any(|x| x % 16 == 3)) * 2 + i32::from(group.iter().all(|x| x % 16 != 3)),
        mask(&|x| x & 1 == 1),
        mask(&|x| x % 3 == v % 3),
        group.iter().sum(),
        *group.iter().max().unwrap(),
        group[..=rank].iter().sum(),
        group[..rank].iter().sum(),
    ]
}

#[test]
fn tiles_are_parts_of_a_warp() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::GROUPS);
    let mut values = small_numbers(128, 70);
    let input = gpu.upload(&[values.clone(), vec![16]].concat());
    let mut output = gpu.zeroed::<i32>(128 * 60);
    // Threads are numbered across both dimensions.
    launch!(gpu, module, "tiles", 1, (8, 16, 1); &input, &mut output);
    values.truncate(128);
    for (i, found) in gpu.download(&output).chunks(60).enumerate() {
        for (at, size) in [(0, 32), (15, 16), (30, 4)] {
            assert_eq!(found[at..at + 15], tile(&values, i, size), "thread {i}, {size}");
        }
        let thread = i as i32;
        let expected = [
            thread % 8,
            thread % 32 / 8,
            4,
            values[i / 8 * 8 + 5],
            16,
            thread % 16,
            128,
            thread,
            thread / 8 * 100 + 8,
            values[i / 32 * 32] + 1,
            1,
            1,
        ];
        assert_eq!(found[45..57], expected, "thread {i}");
    }
}

#[test]
fn threads_that_run_together_and_those_of_a_label() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::GROUPS);
    let values = small_numbers(128, 71);
    let input = gpu.upload(&values);
    let (mut output, mut counter) = (gpu.zeroed::<i32>(128 * 20), gpu.zeroed::<i32>(1));
    launch!(gpu, module, "together", 1, 128; &input, &mut output, &mut counter);
    let taking_part = values.iter().filter(|x| *x % 3 != 0).count();
    assert_eq!(gpu.download(&counter), [taking_part as i32]);
    let mut places = Vec::new();
    for (i, found) in gpu.download(&output).chunks(20).enumerate() {
        let (first, v) = (i / 32 * 32, values[i]);
        let lanes =
            |of: &dyn Fn(i32) -> bool| (first..first + 32).filter(|i| of(values[*i])).collect::<Vec<usize>>();
        if v % 3 != 0 {
            let active = lanes(&|x| x % 3 != 0);
            let rank = active.iter().position(|lane| *lane == i).unwrap();
            let of = |rank: usize| values[active[rank]];
            let own = || active.iter().map(|lane| values[*lane]);
            let odd = (0..active.len()).map(|rank| (of(rank) & 1) << rank).sum::<i32>();
            let expected = [
                active.len() as i32,
                rank as i32,
                of(0),
                if rank == 0 { v } else { of(rank - 1) },
                if rank + 1 < active.len() { of(rank + 1) } else { v },
                odd,
                i32::from(own().any(|x| x == 5)) * 2 + 1,
                own().sum(),
                own().take(rank + 1).sum(),
            ];
            assert_eq!(found[..9], expected, "thread {i}");
            places.push(found[9]);
            let part = rank / 4 * 4;
            let expected = [(active.len() - part).min(4), rank % 4, rank / 4].map(|x| x as i32);
            assert_eq!(found[10..13], expected, "thread {i}");
        }
        let equal = lanes(&|x| x % 5 == v % 5);
        let odd = lanes(&|x| x & 1 == v & 1);
        let labels = (0..5).filter(|label| !lanes(&|x| x % 5 == *label).is_empty()).count();
        let rank = |group: &[usize]| group.iter().position(|lane| *lane == i).unwrap() as i32;
        let expected = [
            equal.len() as i32,
            rank(&equal),
            equal.iter().map(|lane| values[*lane]).min().unwrap(),
            labels as i32,
            odd.len() as i32,
            v & 1,
            values[*odd.last().unwrap()],
        ];
        assert_eq!(found[13..], expected, "thread {i}");
    }
    // Every place was assigned once.
    places.sort_unstable();
    assert_eq!(places, (0..taking_part as i32).collect::<Vec<_>>());
}

#[test]
fn tiles_of_several_warps() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::GROUPS);
    let values = small_numbers(256, 73);
    let input = gpu.upload(&values);
    let mut output = gpu.zeroed::<i32>(256 * 36);
    launch!(gpu, module, "wide_tiles", 1, 256; &input, &mut output);
    for (i, found) in gpu.download(&output).chunks(12).enumerate() {
        let (thread, size) = (i / 3, 64 << (i % 3));
        let (rank, tile) = (thread % size, &values[thread / size * size..][..size]);
        let any = tile.iter().any(|x| x % 16 == 3);
        let all = tile.iter().all(|x| x % 64 != 3);
        let expected = [
            rank as i32,
            size as i32,
            (thread / size) as i32,
            256 / size as i32,
            tile[size / 2 + 5],
            i32::from(any) * 2 + i32::from(all),
            tile.iter().sum(),
            *tile.iter().max().unwrap(),
            tile[..=rank].iter().sum(),
            tile[..rank].iter().sum(),
            (rank / 32) as i32,
            values[thread / 32 * 32..][..32].iter().sum(),
        ];
        assert_eq!(found, expected, "thread {thread}, {size}");
    }
}

#[test]
fn the_blocks_of_a_grid_wait_for_each_other() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::GROUPS);
    let values = small_numbers(4 * 64, 72);
    let input = gpu.upload(&values);
    let (mut parts, mut output) = (gpu.zeroed::<i32>(8), gpu.zeroed::<i32>(256));
    let kernel = module.function("whole_grid").unwrap();
    let launch = kernel.launch(&gpu.stream).grid(4).block(64).cooperative();
    // SAFETY: four blocks of 64 read and write a number a thread, and two parts a block.
    unsafe { launch.arg(&input).arg(&mut parts).arg(&mut output).enqueue().unwrap() };
    assert_eq!(gpu.download(&output), vec![values.iter().sum::<i32>(); 256]);
}
