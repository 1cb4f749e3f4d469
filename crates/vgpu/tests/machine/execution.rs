//! Stacks and calls that are only known at run time, and the progress of waves and workgroups that wait for
//! each other.
use std::sync::Mutex;
use std::time::Duration;

use crate::common::{Arg, Gpu, Random, on_all, on_all_wave_sizes};
use vgpu::machine::{DispatchError, FaultKind, Machine, Space};

fn fibonacci(n: u32) -> u32 {
    if n < 2 { n } else { fibonacci(n - 1) + fibonacci(n - 2) }
}

#[test]
fn recursion_goes_as_deep_in_each_lane_as_it_must() {
    on_all_wave_sizes("execution", |gpu| {
        let out = gpu.alloc(4 * 200);
        gpu.run("recursion", 1, 200, &[Arg::Pointer(out)]);
        let expected: Vec<u32> = (0..200).map(|i| fibonacci(i % 11)).collect();
        assert_eq!(gpu.download::<u32>(out, 200), expected);
    });
}

#[test]
fn a_stack_that_overflows_is_a_fault() {
    on_all_wave_sizes("execution", |gpu| {
        let out = gpu.alloc(4 * 64);
        let mut dispatch = gpu.prepare("deep", [64, 1, 1], [64, 1, 1], 0, &[Arg::U32(40), Arg::Pointer(out)]);
        dispatch.private_segment_size = 16 << 10;
        gpu.dispatch(&dispatch).unwrap();
        assert_eq!(gpu.download::<u32>(out, 64), [40; 64]);
        dispatch.private_segment_size = 2 << 10;
        let Err(DispatchError::Fault(fault)) = gpu.dispatch(&dispatch) else { panic!("no fault") };
        let FaultKind::BeyondLimit { space: Space::Scratch, limit, .. } = fault.kind else {
            panic!("{fault}")
        };
        assert_eq!(limit, 2 << 10);
        assert_eq!(fault.kernel, "deep");
    });
}

#[test]
fn each_lane_gets_the_stack_it_asks_for() {
    on_all_wave_sizes("execution", |gpu| {
        let sizes: Vec<u32> = (0..128).map(|i| i * 5 % 23).collect();
        let (of, out) = (gpu.upload(&sizes), gpu.alloc(4 * 128));
        gpu.run("allocas", 1, 128, &[Arg::Pointer(of), Arg::Pointer(out)]);
        let expected = |i: u32| {
            let size = sizes[i as usize];
            (0..size).rev().fold(0u32, |sum, at| sum.wrapping_mul(3).wrapping_add(at * size + i))
        };
        assert!(gpu.download::<u32>(out, 128).into_iter().eq((0..128).map(expected)));
    });
}

#[test]
fn functions_are_called_by_their_address() {
    on_all_wave_sizes("execution", |gpu| {
        let mut random = Random(3);
        let which: Vec<u32> = (0..256).map(|_| (random.next() >> 40) as u32 % 3).collect();
        let (from, out) = (gpu.upload(&which), gpu.alloc(4 * 256));
        gpu.run("indirect", 1, 256, &[Arg::Pointer(from), Arg::Pointer(out)]);
        let expected = |i: u32| match which[i as usize] {
            0 => 2 * i,
            1 => i * i,
            _ => fibonacci(i % 8) + i,
        };
        assert!(gpu.download::<u32>(out, 256).into_iter().eq((0..256).map(expected)));
        gpu.run("virtual_calls", 1, 256, &[Arg::Pointer(out)]);
        let expected = |i: u32| match i % 3 {
            0 => i,
            1 => i * i,
            _ => 6 * i * i,
        };
        assert!(gpu.download::<u32>(out, 256).into_iter().eq((0..256).map(expected)));
    });
}

#[test]
fn functions_of_other_code_objects_are_called_by_their_address() {
    on_all("execution", |gpu| {
        let target = gpu.device.target().name;
        let other = gpu.load_beside("basics");
        let address = |name| {
            let variable = other.symbol_address(name).expect("the variable");
            gpu.download::<u64>(variable, 1)[0]
        };
        let (thrice, read_nothing) = (address("address_of_thrice"), address("address_of_read_nothing"));
        let values: Vec<u32> = (0..512).map(|i| i * 7).collect();
        let out = gpu.upload(&values);
        gpu.run("call_by_address", 4, 128, &[Arg::Pointer(thrice), Arg::Pointer(out)]);
        let of = |x: u32| if x > 1000 { 7 } else { 3 * x };
        let expected = |(i, &x): (usize, &u32)| if i % 3 == 1 { x } else { of(of(x)) + 1 };
        let expected: Vec<u32> = values.iter().enumerate().map(expected).collect();
        assert_eq!(gpu.download::<u32>(out, 512), expected, "{target}");

        let call = |function| {
            let result = gpu.launch(
                "call_by_address",
                [64, 1, 1],
                [64, 1, 1],
                0,
                &[Arg::Pointer(function), Arg::Pointer(out)],
            );
            let Err(DispatchError::Fault(fault)) = result else { panic!("{target}: {result:?}") };
            *fault
        };
        // A fault in the function is reported with its name and line.
        let fault = call(read_nothing);
        assert!(matches!(fault.kind, FaultKind::OutOfBounds { .. }), "{target}: {fault}");
        let (function, _) = fault.at.function.as_ref().expect("a function");
        assert!(function.contains("read_nothing"), "{target}: {function}");
        assert!(fault.to_string().contains("basics.cu"), "{target}: {fault}");
        // Variables are not code, and unloaded code is not, either.
        let variable = other.symbol_address("address_of_thrice").expect("the variable");
        assert!(matches!(call(variable).kind, FaultKind::BadJump { target } if target == variable));
        drop(other);
        assert!(matches!(call(thrice).kind, FaultKind::BadJump { target } if target == thrice));
    });
}

#[test]
fn a_workgroup_has_all_of_the_lds_and_no_more() {
    on_all_wave_sizes("execution", |gpu| {
        let out = gpu.upload(&[0u32]);
        let all = gpu.device.target().limits.unit.lds;
        let words = all / 4;
        let args = [Arg::U32(words), Arg::Pointer(out)];
        gpu.launch("fill_lds", [5 * 256, 1, 1], [256, 1, 1], 4 * words, &args).unwrap();
        assert_eq!(gpu.download::<u32>(out, 1), [0]);
        let refused = gpu.launch("fill_lds", [256, 1, 1], [256, 1, 1], 4 * words + 1, &args).unwrap_err();
        assert!(
            matches!(refused, DispatchError::LdsTooLarge { size, limit, .. } if size == all + 1 && limit == all),
            "{refused}"
        );
        let expected =
            format!("kernel fill_lds: {} bytes of LDS were requested, but a workgroup has {all}", all + 1);
        assert_eq!(refused.to_string(), expected);
    });
}

#[test]
fn waves_of_a_workgroup_share_a_lock() {
    on_all_wave_sizes("execution", |gpu| {
        let out = gpu.alloc(4 * 6);
        gpu.run("lds_lock", 6, 1024, &[Arg::U32(50), Arg::Pointer(out)]);
        assert_eq!(gpu.download::<u32>(out, 6), [50 * 1024 / gpu.wave() as u32; 6]);
    });
}

#[test]
fn workgroups_take_a_lock_in_turn() {
    on_all_wave_sizes("execution", |gpu| {
        let (ticket, serving, count) = (gpu.upload(&[0u32]), gpu.upload(&[0u32]), gpu.upload(&[0u32]));
        let order = gpu.alloc(4 * 256);
        let args = [ticket, serving, count, order].map(Arg::Pointer);
        gpu.run("ticket_lock", 256, 64, &args);
        assert_eq!(gpu.download::<u32>(count, 1), [256]);
        let mut order = gpu.download::<u32>(order, 256);
        order.sort_unstable();
        assert!(order.into_iter().eq(0..256));
    });
}

#[test]
fn workgroups_wait_for_earlier_and_later_ones() {
    on_all_wave_sizes("execution", |gpu| {
        // As many as the device holds, and no power of two: parts of work that threads take do not fit
        // evenly.
        let held = (gpu.device.compute_units() * gpu.device.target().limits.unit.waves()) as usize;
        for (direction, groups) in [(1, 3 * held), (1, held), (-1, held), (-1, 2), (-1, held - 3)] {
            let (flags, out) = (gpu.upload(&vec![0u32; groups]), gpu.alloc(4 * groups));
            let args = [Arg::I32(direction), Arg::Pointer(flags), Arg::Pointer(out)];
            gpu.run("relay", groups as u32, 32, &args);
            let mut expected: Vec<u32> = (0..groups as u32).collect();
            if direction < 0 {
                expected.reverse();
            }
            assert_eq!(gpu.download::<u32>(out, groups), expected, "direction {direction}");
        }
        let input: Vec<u32> = (0..128 * 64).collect();
        let from = gpu.upload(&input);
        let (partial, ready, out) = (gpu.alloc(4 * 128), gpu.upload(&[0u32; 128]), gpu.alloc(4 * 32));
        gpu.run("fix_up", 128, 64, &[from, partial, ready, out].map(Arg::Pointer));
        let expected: Vec<u32> = input.chunks(256).map(|part| part.iter().sum()).collect();
        assert_eq!(gpu.download::<u32>(out, 32), expected);
    });
}

#[test]
fn waiting_for_a_workgroup_that_finds_no_room_ends_when_time_is_up() {
    let Ok(gpu) = Gpu::open("execution", "gfx1100") else { return };
    let held = (gpu.device.compute_units() * gpu.device.target().limits.unit.waves()) as usize;
    // One more would do if they began in order; but a thread that has no core for a while begins those that
    // it took later.
    let groups = 2 * held;
    let (flags, out) = (gpu.upload(&vec![0u32; groups]), gpu.alloc(4 * groups));
    let args = [Arg::I32(-1), Arg::Pointer(flags), Arg::Pointer(out)];
    let mut dispatch = gpu.prepare("relay", [groups as u32 * 32, 1, 1], [32, 1, 1], 0, &args);
    dispatch.timeout = Some(Duration::from_millis(300));
    let fault = match gpu.dispatch(&dispatch) {
        Err(DispatchError::Fault(fault)) => fault,
        other => panic!("no fault: {other:?}"),
    };
    assert_eq!(fault.kind, FaultKind::Timeout { limit_ms: 300 }, "{fault}");
}

#[test]
fn any_number_of_threads_makes_progress() {
    let machine = Machine::global();
    let before = machine.threads();
    for config in ["gfx1100?cus=3", "gfx90a?cus=5", "gfx1030?cus=1"] {
        let target = config.split('?').next().unwrap();
        let Ok(gpu) = Gpu::open_as("execution", target, config) else { return };
        let held = (gpu.device.compute_units() * gpu.device.target().limits.unit.waves()) as usize;
        for threads in [1, 2, 3, 7, 200] {
            machine.set_threads(threads);
            let (flags, out) = (gpu.upload(&vec![0u32; held]), gpu.alloc(4 * held));
            let args = [Arg::I32(-1), Arg::Pointer(flags), Arg::Pointer(out)];
            gpu.run("relay", held as u32, 32, &args);
            assert!(
                gpu.download::<u32>(out, held).into_iter().eq((0..held as u32).rev()),
                "{threads} threads"
            );
        }
    }
    machine.set_threads(before);
}

#[test]
fn code_is_unloaded_while_kernels_of_others_run() {
    let machine = Machine::global();
    let before = machine.threads();
    machine.set_threads(64);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let Ok(keeper) = Gpu::open("execution", "gfx1100") else { return };
                for _ in 0..200 {
                    let Ok(gpu) = Gpu::open("execution", "gfx1100") else { return };
                    let groups = 16;
                    let (flags, out) = (keeper.upload(&vec![0u32; groups]), keeper.alloc(4 * groups));
                    let args = [Arg::I32(-1), Arg::Pointer(flags), Arg::Pointer(out)];
                    gpu.run("relay", groups as u32, 32, &args);
                    // The code is unloaded at once; helper threads may hold the last reference.
                    gpu.leave_buffers_to(&keeper);
                }
            });
        }
    });
    machine.set_threads(before);
}

#[test]
fn workgroups_meet_by_global_wave_sync() {
    on_all_wave_sizes("execution", |gpu| {
        // As many as the device holds: a compute unit has places for waves, and 16 barriers.
        let of_unit = gpu.device.target().limits.unit.waves() / (128 / gpu.wave() as u32);
        let groups = gpu.device.compute_units() * of_unit.min(16);
        let (values, failures) = (gpu.upload(&vec![0u32; groups as usize]), gpu.upload(&[0u32]));
        let args = [Arg::U32(5), Arg::Pointer(values), Arg::Pointer(failures)];
        gpu.run("wave_sync", groups, 128, &args);
        assert_eq!(gpu.download::<u32>(failures, 1), [0]);
        let has_it = ["gfx90a", "gfx1030"].contains(&gpu.device.target().name);
        let rounds = if has_it { 5 } else { 0 };
        assert!(gpu.download::<u32>(values, groups as usize).into_iter().all(|value| value == rounds));
    });
}

#[test]
fn interrupts_reach_the_host_with_their_number() {
    static EVENTS: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    vgpu::machine::on_interrupt(|event| EVENTS.lock().unwrap().push(event));
    on_all_wave_sizes("execution", |gpu| {
        gpu.run("interrupts", 40, 64, &[Arg::U32(1000)]);
        let mut events = std::mem::take(&mut *EVENTS.lock().unwrap());
        events.sort_unstable();
        assert!(events.into_iter().eq(1000..1040));
    });
}

/// As in rocSOLVER, with a race: the diagonal is replaced while others may still read it.
#[test]
fn a_value_is_replaced_at_the_head_of_a_loop_when_all_waves_have_read_it() {
    on_all_wave_sizes("execution", |gpu| {
        let n = 36usize;
        let mut random = Random(17);
        let lower: Vec<f64> = (0..n * n)
            .map(|at| match (at / n, at % n) {
                (i, j) if i == j => 4.0 + (random.next() >> 40) as f64 / (1 << 24) as f64,
                (i, j) if i > j => (random.next() >> 40) as f64 / (1 << 24) as f64 - 0.5,
                _ => 0.0,
            })
            .collect();
        let product = |i: usize, j: usize| (0..n).map(|k| lower[i * n + k] * lower[j * n + k]).sum::<f64>();
        let matrix: Vec<f32> = (0..n * n).map(|at| product(at / n, at % n) as f32).collect();
        let a = gpu.upload(&matrix);
        let (n_arg, lds) = (Arg::I32(n as i32), 4 * (n * n) as u32);
        gpu.launch("cholesky", [256, 1, 1], [256, 1, 1], lds, &[n_arg, Arg::Pointer(a)]).unwrap();
        let found = gpu.download::<f32>(a, n * n);
        for at in (0..n * n).filter(|at| at % n <= at / n) {
            let (found, expected) = (f64::from(found[at]), lower[at]);
            let target = gpu.device.target().name;
            assert!((found - expected).abs() < 1e-3, "{target}: {at}: {found}, not {expected}");
        }
    });
}

/// As in rocSOLVER, with a race: a row is overwritten while others may still be adding it up.
#[test]
fn a_row_is_overwritten_when_all_waves_have_summed_it_up() {
    on_all_wave_sizes("execution", |gpu| {
        let mut random = Random(18);
        let factors: Vec<u32> = (0..96).map(|_| (random.next() >> 40) as u32 | 1).collect();
        let (of, out) = (gpu.upload(&factors), gpu.alloc(4 * 256));
        gpu.run("sums_of_rows", 1, 256, &[Arg::I32(5), Arg::Pointer(of), Arg::Pointer(out)]);
        let mut row: Vec<u32> = (0..256).collect();
        for round in 0..5 {
            let sum = |item: usize| {
                let products = factors.iter().enumerate().map(|(i, f)| f.wrapping_mul(row[(item + i) & 255]));
                products.fold(0u32, u32::wrapping_add) ^ round
            };
            row = (0..256).map(sum).collect();
        }
        assert!(gpu.download::<u32>(out, 256) == row, "{}", gpu.device.target().name);
    });
}

/// Random programs in which waves overwrite what others have read. They are sequences of steps, and waves
/// read nothing that others wrote since the last barrier. So hardware gives the same result as a machine on
/// which all waves take each step together.
#[test]
fn waves_come_equally_far_between_barriers() {
    const ITEMS: usize = 256;
    let mut random = Random(19);
    let mut draw = |below: u64| ((random.next() >> 33) % below) as u32;
    let programs: Vec<Vec<[u32; 2]>> = (0..8)
        .map(|_| {
            // How far the work-items' own words were shifted in a region that was written since the last
            // barrier.
            let mut written: [Option<u32>; 4] = [None; 4];
            let mut step = || match draw(8) {
                0 => {
                    written = [None; 4];
                    [0, 0]
                }
                1 => [3, draw(256)],
                kind => {
                    let region = draw(4);
                    let shift = written[region as usize].unwrap_or_else(|| draw(256));
                    if kind > 5 {
                        written[region as usize] = Some(shift);
                    }
                    [if kind > 5 { 2 } else { 1 }, 256 * region + shift]
                }
            };
            (0..60).map(|_| step()).collect()
        })
        .collect();
    let model = |program: &[[u32; 2]]| {
        let mut values: Vec<u32> = (0..ITEMS as u32).map(|item| item.wrapping_mul(2_654_435_761)).collect();
        let mut words: Vec<u32> =
            (0..4).flat_map(|r| values.iter().map(move |v| v.wrapping_add(r))).collect();
        for (step, [kind, operand]) in program.iter().enumerate() {
            for (item, value) in values.iter_mut().enumerate() {
                let at = (operand & !255) as usize | (*operand as usize + item) & 255;
                match kind {
                    1 => *value = value.wrapping_mul(31).wrapping_add(words[at]),
                    2 => words[at] = *value ^ step as u32,
                    3 => {
                        for i in 0..(operand & 7) * (item as u32 / 32) {
                            *value = value.wrapping_mul(5).wrapping_add(i);
                        }
                    }
                    _ => {}
                }
            }
        }
        values
    };
    on_all_wave_sizes("execution", |gpu| {
        let out = gpu.alloc(4 * ITEMS);
        for program in &programs {
            let steps = Arg::Pointer(gpu.upload(program));
            gpu.run("in_step", 1, ITEMS as u32, &[Arg::I32(60), steps, Arg::Pointer(out)]);
            let target = gpu.device.target().name;
            assert!(gpu.download::<u32>(out, ITEMS) == model(program), "{target}: {program:?}");
        }
    });
}
