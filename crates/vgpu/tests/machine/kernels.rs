//! Compiled kernels, compared with the same computation on the CPU, on every target.
use crate::common::{Arg, Gpu, Random, on_all};
use half::{bf16, f16};
use vgpu::machine::Machine;

#[test]
fn saxpy() {
    on_all("basics", |gpu| {
        let n = 100_003;
        let mut random = Random(1);
        let (x, y) = (random.f32s(n), random.f32s(n));
        let (dx, dy) = (gpu.upload(&x), gpu.upload(&y));
        let args = [Arg::F32(1.5), Arg::Pointer(dx), Arg::Pointer(dy), Arg::U32(n as u32)];
        gpu.run("saxpy", (n as u32).div_ceil(256), 256, &args);
        let found: Vec<f32> = gpu.download(dy, n);
        for i in 0..n {
            // The compiler contracts the expression.
            assert_eq!(found[i], 1.5f32.mul_add(x[i], y[i]), "element {i} on {}", gpu.device.target().name);
        }
    });
}

#[test]
fn reductions_with_barriers() {
    on_all("basics", |gpu| {
        for block in [64u32, 256, 1024] {
            let n = 5000;
            let x = Random(2).i32s(n, 1000);
            let groups = (n as u32).div_ceil(block);
            let (dx, sums) = (gpu.upload(&x), gpu.alloc(4 * groups as usize));
            gpu.run("block_sum", groups, block, &[Arg::Pointer(dx), Arg::Pointer(sums), Arg::U32(n as u32)]);
            let expected: Vec<i32> = x.chunks(block as usize).map(|chunk| chunk.iter().sum()).collect();
            assert_eq!(gpu.download::<i32>(sums, groups as usize), expected, "{}", gpu.device.target().name);
        }
    });
}

#[test]
fn lanes_exchange_values() {
    on_all("basics", |gpu| {
        let wave = gpu.wave();
        let x = Random(3).f32s(512);
        let (dx, sums) = (gpu.upload(&x), gpu.alloc(4 * 512 / wave));
        gpu.run("wave_sum", 2, 256, &[Arg::Pointer(dx), Arg::Pointer(sums)]);
        let found: Vec<f32> = gpu.download(sums, 512 / wave);
        for (found, values) in found.iter().zip(x.chunks(wave)) {
            let mut values = values.to_vec();
            let mut mask = wave / 2;
            while mask > 0 {
                values = (0..wave).map(|lane| values[lane] + values[lane ^ mask]).collect();
                mask /= 2;
            }
            assert_eq!(*found, values[0], "{}", gpu.device.target().name);
        }
        let x = Random(4).i32s(128, 1000);
        let (dx, out) = (gpu.upload(&x), gpu.alloc(4 * 4 * 128));
        gpu.run("shuffles", 1, 128, &[Arg::Pointer(dx), Arg::Pointer(out)]);
        let found: Vec<i32> = gpu.download(out, 512);
        for i in 0..128 {
            let (first, lane) = (i / wave * wave, i % wave);
            let at = |from: usize| x[first + from];
            let up = at(if lane >= 3 { lane - 3 } else { lane });
            let down = at(if lane + 5 < wave { lane + 5 } else { lane });
            let votes = (0..wave).filter(|lane| at(*lane) % 3 == 0).count() as i32;
            assert_eq!(found[4 * i..4 * i + 4], [up, down, at((lane * 7 + 1) % wave), votes], "item {i}");
        }
    });
}

#[test]
fn private_arrays_are_per_work_item() {
    on_all("basics", |gpu| {
        let x = Random(5).i32s(64, 100_000);
        let (dx, out) = (gpu.upload(&x), gpu.alloc(4 * 300));
        let args = [Arg::Pointer(dx), Arg::Pointer(out), Arg::I32(100)];
        gpu.launch("private_array", [300, 1, 1], [96, 1, 1], 0, &args).unwrap();
        let found: Vec<i32> = gpu.download(out, 300);
        for i in 0..300i32 {
            let mut local: Vec<i32> = (0..40).map(|j| x[((i + j) % 64) as usize]).collect();
            for j in 0..100i32 {
                let at = (local[(j % 40) as usize].wrapping_add(i) % 40).rem_euclid(40) as usize;
                local[at] = local[at].wrapping_mul(3).wrapping_add(j);
            }
            let sum = (0..40)
                .fold(0i32, |sum, j| sum.wrapping_mul(31).wrapping_add(local[((j + i) % 40) as usize]));
            assert_eq!(found[i as usize], sum, "item {i} on {}", gpu.device.target().name);
        }
    });
}

#[test]
fn generic_pointers_reach_every_memory() {
    on_all("basics", |gpu| {
        let x = Random(6).i32s(64, 1000);
        for which in 0..3 {
            let (dx, out) = (gpu.upload(&x), gpu.alloc(4 * 128));
            let args = [Arg::Pointer(dx), Arg::Pointer(out), Arg::I32(7), Arg::I32(which)];
            gpu.run("generic_pointers", 1, 128, &args);
            let found: Vec<i32> = gpu.download(out, 128);
            for (item, found) in found.iter().enumerate() {
                let values: Vec<i32> = match (which as usize + item) % 3 {
                    0 => x.iter().map(|x| x + 1).collect(),
                    1 => (0..8).map(|i| x[(item + i * 7) % 64]).collect(),
                    _ => x.clone(),
                };
                let sum = values[..7].iter().fold(0i32, |sum, x| sum.wrapping_mul(5).wrapping_add(*x));
                assert_eq!(*found, sum, "item {item} of {which} on {}", gpu.device.target().name);
            }
        }
    });
}

#[test]
fn ids_of_grids_with_partial_workgroups() {
    on_all("basics", |gpu| {
        for (grid, workgroup) in
            [([32u32, 12, 6], [8u32, 4, 2]), ([64, 1, 1], [64, 1, 1]), ([6, 6, 6], [3, 2, 6])]
        {
            let count = grid.iter().product::<u32>() as usize;
            let out = gpu.alloc(4 * count);
            gpu.launch("ids", grid, workgroup, 0, &[Arg::Pointer(out)]).unwrap();
            let found: Vec<u32> = gpu.download(out, count);
            for (i, found) in found.iter().enumerate() {
                let i = i as u32;
                let (x, y, z) = (i % grid[0], i / grid[0] % grid[1], i / grid[0] / grid[1]);
                let expected = x | y << 8 | z << 16 | (z / workgroup[2]) << 24;
                assert_eq!(*found, expected, "item {x},{y},{z} on {}", gpu.device.target().name);
            }
        }
        // A last workgroup of 44 work-items.
        let n = 300usize;
        let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let (dx, dy) = (gpu.upload(&x), gpu.upload(&vec![0f32; n]));
        let args = [Arg::F32(2.0), Arg::Pointer(dx), Arg::Pointer(dy), Arg::U32(10_000)];
        gpu.launch("saxpy", [n as u32, 1, 1], [256, 1, 1], 0, &args).unwrap();
        assert!(gpu.download::<f32>(dy, n).iter().enumerate().all(|(i, y)| *y == 2.0 * i as f32));
    });
}

#[test]
fn atomics_of_many_workgroups() {
    on_all("basics", |gpu| {
        let items = 20 * 128u32;
        let i32s = gpu.upload(&[0i32; 3]);
        let mut words = vec![0u32; 8 + items as usize];
        words[0] = u32::MAX;
        let u32s = gpu.upload(&words);
        let u64s = gpu.upload(&[0u64; 2]);
        let f32s = gpu.upload(&[0f32; 1]);
        let f64s = gpu.upload(&[0f64; 1]);
        let args = [i32s, u32s, u64s, f32s, f64s].map(Arg::Pointer);
        gpu.run("atomics", 20, 128, &args);
        let n = i64::from(items);
        assert_eq!(
            gpu.download::<i32>(i32s, 3),
            [(n * (n - 1) / 2) as i32, 1 - items as i32, items as i32 - 1]
        );
        let mut found: Vec<u32> = gpu.download(u32s, words.len());
        assert_eq!(found[..2], [0, u32::MAX]);
        assert_eq!(found[2], (0..items).fold(0, |x, i| x ^ i));
        assert_eq!(found[3], items % 1001);
        assert_eq!((found[4], found[5]), (items, 3 * items));
        found[8..].sort_unstable();
        assert!(found[8..].iter().copied().eq(0..items));
        let sum = (0..u64::from(items)).map(|i| i << 30).sum::<u64>();
        assert_eq!(gpu.download::<u64>(u64s, 2), [sum, u64::from(items - 1) * 0x1000000001]);
        assert_eq!(gpu.download::<f32>(f32s, 1), [0.5 * items as f32]);
        assert_eq!(gpu.download::<f64>(f64s, 1), [0.25 * f64::from(items)]);
    });
}

#[test]
fn histogram_in_lds() {
    on_all("basics", |gpu| {
        let mut random = Random(8);
        let x: Vec<u8> = (0..40_000).map(|_| (random.next() >> 56) as u8 & 0xf7).collect();
        let (dx, bins) = (gpu.upload(&x), gpu.upload(&[0u32; 256]));
        gpu.run("histogram", 7, 192, &[Arg::Pointer(dx), Arg::Pointer(bins), Arg::U32(x.len() as u32)]);
        let mut expected = [0u32; 256];
        x.iter().for_each(|x| expected[usize::from(*x)] += 1);
        assert_eq!(gpu.download::<u32>(bins, 256), expected, "{}", gpu.device.target().name);
    });
}

#[test]
fn integers_of_64_bits() {
    on_all("basics", |gpu| {
        let mut random = Random(9);
        let mut values =
            |shift: u32| -> Vec<u64> { (0..256).map(|i| random.next() >> (i * shift % 60)).collect() };
        let (a, b) = (values(3), values(7));
        let (da, db, out) = (gpu.upload(&a), gpu.upload(&b), gpu.alloc(256 * 64));
        gpu.run("wide_integers", 2, 128, &[da, db, out].map(Arg::Pointer));
        let found: Vec<u64> = gpu.download(out, 8 * 256);
        for i in 0..256 {
            let (x, y) = (a[i], b[i] | 1);
            let (s, t) = (x as i64, y as i64);
            let first = |x: u64| if x == 0 { 0 } else { u64::from(x.trailing_zeros()) + 1 };
            let expected = [
                x.wrapping_mul(y),
                x / y,
                x % y,
                s.wrapping_div(t) as u64,
                x << (y & 63) ^ x >> (y % 61) ^ (s >> (y % 37)) as u64,
                ((u128::from(x) * u128::from(y)) >> 64) as u64,
                x.wrapping_sub(y).wrapping_add(u64::from(s < t)).wrapping_add(2 * u64::from(x < y)),
                u64::from(x.count_ones()) | u64::from(y.leading_zeros()) << 8 | first(x & y) << 16,
            ];
            assert_eq!(found[8 * i..8 * i + 8], expected, "item {i} on {}", gpu.device.target().name);
        }
    });
}

#[test]
fn floats_of_16_bits() {
    on_all("basics", |gpu| {
        let mut random = Random(10);
        let mut values = || -> Vec<f32> { random.f32s(256) };
        let (a, b) = (values(), values());
        let half = |x: &[f32]| x.iter().map(|x| f16::from_f32(*x)).collect::<Vec<_>>();
        let (ha, hb) = (half(&a), half(&b));
        let bits = |x: &[f16]| x.iter().map(|x| x.to_bits()).collect::<Vec<u16>>();
        let (da, db, out) = (gpu.upload(&bits(&ha)), gpu.upload(&bits(&hb)), gpu.alloc(256 * 8));
        gpu.run("halves", 2, 128, &[da, db, out].map(Arg::Pointer));
        let found: Vec<u16> = gpu.download(out, 4 * 256);
        for i in 0..256 {
            let (x, y) = (ha[i].to_f64(), hb[i].to_f64());
            let expected = [x + y, x * y, x * y + x, x - y].map(|value| f16::from_f64(value).to_bits());
            assert_eq!(found[4 * i..4 * i + 4], expected, "item {i} on {}", gpu.device.target().name);
        }
        let brain = |x: &[f32]| x.iter().map(|x| bf16::from_f32(*x)).collect::<Vec<_>>();
        let (ba, bb) = (brain(&a), brain(&b));
        let bits = |x: &[bf16]| x.iter().map(|x| x.to_bits()).collect::<Vec<u16>>();
        let (da, db, out) = (gpu.upload(&bits(&ba)), gpu.upload(&bits(&bb)), gpu.alloc(256 * 4));
        gpu.run("brain_halves", 2, 128, &[da, db, out].map(Arg::Pointer));
        let found: Vec<u16> = gpu.download(out, 2 * 256);
        for i in 0..256 {
            let (x, y) = (ba[i].to_f32(), bb[i].to_f32());
            let expected = [x * y, x + y].map(|value| bf16::from_f32(value).to_bits());
            assert_eq!(found[2 * i..2 * i + 2], expected, "item {i} on {}", gpu.device.target().name);
        }
    });
}

#[test]
fn floats_of_64_bits() {
    on_all("basics", |gpu| {
        let mut random = Random(11);
        let mut values = || -> Vec<f64> { (0..256).map(|_| random.next() as i64 as f64 / 1e15).collect() };
        let (a, b) = (values(), values());
        let (da, db, out) = (gpu.upload(&a), gpu.upload(&b), gpu.alloc(256 * 32));
        gpu.run("doubles", 2, 128, &[da, db, out].map(Arg::Pointer));
        let found: Vec<f64> = gpu.download(out, 4 * 256);
        for i in 0..256 {
            let expected = [a[i] + b[i], a[i] / b[i], a[i].mul_add(b[i], a[i]), a[i].abs().sqrt()];
            assert_eq!(found[4 * i..4 * i + 4], expected, "item {i} on {}", gpu.device.target().name);
        }
    });
}

#[test]
fn narrow_and_wide_elements() {
    on_all("basics", |gpu| {
        let mut random = Random(12);
        let mut next = || random.next() >> 20;
        let count = 192;
        let a: Vec<i8> = (0..count).map(|_| next() as i8).collect();
        let b: Vec<u8> = (0..count).map(|_| next() as u8).collect();
        let c: Vec<i16> = (0..count).map(|_| next() as i16).collect();
        let d: Vec<u16> = (0..count).map(|_| next() as u16).collect();
        let g: Vec<[f32; 4]> = (0..count).map(|i| [0, 1, 2, 3].map(|j| (4 * i + j) as f32)).collect();
        let (e, f, h) = (gpu.alloc(count), gpu.alloc(2 * count), gpu.alloc(8 * count));
        let dg = gpu.upload(&g);
        let args =
            [gpu.upload(&a), gpu.upload(&b), gpu.upload(&c), gpu.upload(&d), e, f, dg, h].map(Arg::Pointer);
        gpu.run("narrow", 2, 96, &args);
        let (e, f, h) =
            (gpu.download::<i8>(e, count), gpu.download::<u16>(f, count), gpu.download::<i64>(h, count));
        let moved = gpu.download::<[f32; 4]>(dg, count);
        for i in 0..count {
            let sum = i32::from(a[i]) + i32::from(b[i]) + i32::from(c[i]) + i32::from(d[i]);
            assert_eq!((e[i], f[i], h[i]), (sum as i8, (sum * 3) as u16, i64::from(sum) << 20));
            assert_eq!(moved[i], [g[i][3], g[i][0] + 1.0, g[i][1], sum as f32]);
        }
    });
}

#[test]
fn structures_dynamic_lds_and_variables() {
    on_all("basics", |gpu| {
        let mut bytes = Vec::new();
        for value in [3i32, -1, 4, -1, 5] {
            bytes.extend(value.to_le_bytes());
        }
        bytes.extend((-7i16).to_le_bytes());
        bytes.extend([(-2i8) as u8, 0]);
        bytes.extend(2.75f64.to_le_bytes());
        let out = gpu.alloc(4 * 64);
        gpu.run("by_value", 1, 64, &[Arg::Bytes(&bytes), Arg::Pointer(out)]);
        let expected: Vec<i32> = (0..64).map(|i| ([3, -1, 4, -1, 5][i % 5] - 7) * -2 + 2).collect();
        assert_eq!(gpu.download::<i32>(out, 64), expected);

        let x: Vec<i32> = (0..256).collect();
        let (dx, out) = (gpu.upload(&x), gpu.alloc(4 * 256));
        gpu.launch("dynamic_lds", [256, 1, 1], [256, 1, 1], 1024, &[Arg::Pointer(dx), Arg::Pointer(out)])
            .unwrap();
        assert!(gpu.download::<i32>(out, 256).iter().rev().eq(x.iter()));

        let out = gpu.alloc(4 * 128);
        gpu.run("globals", 1, 128, &[Arg::Pointer(out)]);
        let expected: Vec<i32> = (0..128).map(|i| [3, 5, 7, 11][i % 4]).collect();
        assert_eq!(gpu.download::<i32>(out, 128), expected);
        let counter = gpu.code.symbol_address("counter").expect("the variable");
        assert_eq!(gpu.download::<i32>(counter, 1), [40 + 128]);
    });
}

#[test]
fn waves_of_a_workgroup_take_turns() {
    on_all("faults", |gpu| {
        let waves = 256 / gpu.wave();
        let out = gpu.alloc(4 * 3 * waves);
        gpu.run("turns", 3, 256, &[Arg::Pointer(out)]);
        let expected: Vec<i32> = (0..3 * waves).map(|i| (waves - 1 - i % waves) as i32).collect();
        assert_eq!(gpu.download::<i32>(out, 3 * waves), expected);
    });
}

#[test]
fn workgroups_may_wait_for_each_other() {
    on_all("faults", |gpu| {
        let (arrived, out) = (gpu.upload(&[0u32]), gpu.alloc(4 * 16));
        gpu.run("grid_barrier", 16, 64, &[Arg::Pointer(arrived), Arg::Pointer(out)]);
        assert_eq!(gpu.download::<u32>(out, 16), [16; 16]);
    });
}

#[test]
fn kernels_see_what_the_host_writes() {
    on_all("faults", |gpu| {
        let (stop, out) = (gpu.upload(&[0i32]), gpu.alloc(4 * 64));
        std::thread::scope(|scope| {
            let running =
                scope.spawn(|| gpu.run("wait_for_host", 1, 64, &[Arg::Pointer(stop), Arg::Pointer(out)]));
            std::thread::sleep(std::time::Duration::from_millis(30));
            assert!(!running.is_finished());
            // SAFETY: the buffer is allocated, and kernels read it with plain loads of 4 bytes.
            unsafe { std::sync::atomic::AtomicI32::from_ptr(stop as *mut i32) }
                .store(1, std::sync::atomic::Ordering::Release);
        });
        assert_eq!(gpu.download::<i32>(out, 64), [1; 64]);
    });
}

#[test]
fn ended_waves_count_as_arrived() {
    on_all("faults", |gpu| {
        let out = gpu.alloc(4 * gpu.wave());
        gpu.run("early_exit", 1, 256, &[Arg::Pointer(out)]);
        assert_eq!(gpu.download::<i32>(out, gpu.wave()), vec![42; gpu.wave()]);
    });
}

#[test]
fn dispatches_from_many_threads() {
    on_all("basics", |gpu: &Gpu| {
        let n = 4096;
        let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let dx = gpu.upload(&x);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let dy = gpu.upload(&vec![1f32; n]);
                scope.spawn(move || {
                    for _ in 0..5 {
                        let args = [Arg::F32(1.0), Arg::Pointer(dx), Arg::Pointer(dy), Arg::U32(n as u32)];
                        gpu.run("saxpy", 32, 128, &args);
                    }
                    let found: Vec<f32> = gpu.download(dy, n);
                    assert!((0..n).all(|i| found[i] == 1.0 + 5.0 * i as f32), "thread {thread}");
                });
            }
        });
    });
}

#[test]
fn as_many_instructions_are_counted_on_any_number_of_threads() {
    on_all("basics", |gpu| {
        let (groups, n) = (2000, 2000 * 256);
        let (dx, dy) = (gpu.upload(&vec![1f32; n]), gpu.upload(&vec![1f32; n]));
        let args = [Arg::F32(1.0), Arg::Pointer(dx), Arg::Pointer(dy), Arg::U32(n as u32)];
        let machine = Machine::global();
        assert_eq!(gpu.run("saxpy", groups, 256, &args).executed, None);
        let before = machine.executed();
        machine.count_instructions(true);
        let threads = machine.threads();
        let counts = [1, 3, threads].map(|threads| {
            machine.set_threads(threads);
            assert_eq!(machine.threads(), threads);
            gpu.run("saxpy", groups, 256, &args).executed.expect("it counts")
        });
        machine.count_instructions(false);
        assert_eq!((counts[0], counts[0]), (counts[1], counts[2]), "on {}", gpu.device.target().name);
        let waves = u64::from(groups) * 256 / gpu.wave() as u64;
        assert!(counts[0].instructions > 5 * waves && counts[0].instructions.is_multiple_of(waves));
        assert_eq!(counts[0].lane_instructions, counts[0].instructions * gpu.wave() as u64);
        // Other tests may run at the same time and be counted, too.
        assert!(machine.executed().instructions - before.instructions >= 3 * counts[0].instructions);
        assert_eq!(gpu.run("saxpy", groups, 256, &args).executed, None);
    });
}

#[test]
fn a_kernel_that_does_nothing_is_quick() {
    on_all("basics", |gpu| {
        let dispatch = gpu.prepare("nothing", [64, 1, 1], [64, 1, 1], 0, &[]);
        let best = (0..200)
            .map(|_| {
                let begin = std::time::Instant::now();
                gpu.dispatch(&dispatch).unwrap();
                begin.elapsed()
            })
            .min();
        // On a busy machine, a thread switch alone would take longer than this.
        assert!(best < Some(std::time::Duration::from_micros(100)), "{best:?}");
        if std::env::var_os("SHOW_TIMES").is_some() {
            eprintln!("{}: {best:?}", gpu.device.target().name);
        }
    });
}

/// On hardware, by the time that one wave has loaded something from memory after a barrier, all waves have
/// read a value.
#[test]
fn waves_read_lds_after_a_barrier_before_one_goes_on() {
    on_all("basics", |gpu| {
        let tiles = 40u32;
        let (other, next) = (gpu.upload(&[7u32]), gpu.upload(&[0u32]));
        let counts = gpu.upload(&vec![0u32; tiles as usize]);
        let args = [Arg::Pointer(other), Arg::Pointer(next), Arg::Pointer(counts), Arg::U32(tiles)];
        gpu.run("overwritten_tiles", 3, 256, &args);
        assert_eq!(gpu.download::<u32>(counts, tiles as usize), [256; 40], "{}", gpu.device.target().name);
    });
}

#[test]
fn barriers_in_two_steps() {
    on_all("basics", |gpu| {
        if gpu.device.target().name != "gfx1201" {
            return;
        }
        let out = gpu.alloc(4 * 64);
        gpu.run("split_barrier", 1, 64, &[Arg::Pointer(out)]);
        assert_eq!(gpu.download::<i32>(out, 64), [1; 64]);
        // Three waves.
        let (first, state) = (gpu.alloc(4 * 2 * 96), gpu.alloc(8));
        gpu.run("first_at_barrier", 1, 96, &[Arg::Pointer(first), Arg::Pointer(state)]);
        for round in gpu.download::<i32>(first, 192).chunks(96) {
            let firsts: Vec<i32> = round.chunks(32).map(|wave| wave[0]).collect();
            assert!(round.chunks(32).all(|wave| wave.iter().all(|value| *value == wave[0])), "{round:?}");
            assert_eq!(firsts.iter().sum::<i32>(), 1, "{firsts:?}");
        }
        for state in gpu.download::<u32>(state, 2) {
            // Valid, three waves, and not all of them have signalled.
            assert_eq!(state & 0xffff, 1 | 3 << 4);
            assert!(state >> 16 < 3);
        }
        let error = gpu.launch("unsignalled_barrier", [64, 1, 1], [64, 1, 1], 0, &[]).unwrap_err();
        assert!(error.to_string().contains("barrier"), "{error}");
    });
}

#[test]
fn grids_of_more_than_65536_workgroups_in_y() {
    on_all("basics", |gpu| {
        let out = gpu.alloc(4);
        let groups = 65_536 + 3;
        // The kernel does not request z, whatever the grid's size in z.
        gpu.launch("sum_of_y", [1, groups, 2], [1, 1, 1], 0, &[Arg::Pointer(out)]).unwrap();
        let sum = (0..groups).fold(0u32, |sum, y| sum.wrapping_add(y.wrapping_mul(y)));
        assert_eq!(gpu.download::<u32>(out, 1), [sum.wrapping_mul(2)], "{}", gpu.device.target().name);
        let result = gpu.launch("ids", [1, groups, 1], [1, 1, 1], 0, &[Arg::Pointer(gpu.alloc(4 * 70_000))]);
        // For kernels that also use z, gfx1201 has only 16 bits for the workgroup number in y.
        assert_eq!(result.is_err(), gpu.device.target().name == "gfx1201", "{result:?}");
    });
}
