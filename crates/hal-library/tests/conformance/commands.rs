//! Command buffers.

use hal::{Arg, Error, Grid, MemoryKind, Options, Place, Recorder, Result, Semaphore, Usage};

use crate::common::{Command, LONG, Setup, pattern, setups, setups_of_both, setups_with};

#[test]
fn copies_move_exactly_their_range_at_every_alignment() {
    for setup in setups_of_both(Options::default()) {
        let source = pattern(100_000, 7);
        let from = setup.buffer(&source);
        let to = setup.buffer(&vec![0; 100_000]);
        let ranges =
            [(0, 0, 100_000), (1, 3, 5000), (4, 8, 4096 * 3 + 4), (16, 32, 16), (99_999, 0, 1), (5, 5, 0)];
        for (first, second, len) in ranges {
            to.write(0, &vec![0xee; 100_000]).unwrap();
            let copy = |commands: &mut Recorder| -> Result<()> {
                commands.copy(Place::Buffer(&to, second), Place::Buffer(&from, first), len).map(|_| ())
            };
            setup.both(&[&copy], |mode| {
                let got = setup.read(&to);
                let (first, second, len) = (first as usize, second as usize, len as usize);
                let mut expected = vec![0xee; 100_000];
                expected[second..second + len].copy_from_slice(&source[first..first + len]);
                assert!(got == expected, "{mode}: {len} bytes from {first} to {second}");
            });
        }
    }
}

#[test]
fn fills_repeat_their_pattern_from_the_first_byte() {
    for setup in setups_of_both(Options::default()) {
        let to = setup.buffer(&[0; 70_000]);
        let words = [1u8, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
        for (size, offset, count) in
            [(1, 3, 60_001), (2, 1, 501), (4, 16, 1024), (8, 2, 33), (16, 5, 4000), (16, 0, 1)]
        {
            to.write(0, &[0xcc; 70_000]).unwrap();
            let fill = |commands: &mut Recorder| -> Result<()> {
                let len = (count * size) as u64;
                commands.fill(Place::Buffer(&to, offset as u64), &words[..size], len).map(|_| ())
            };
            setup.both(&[&fill], |mode| {
                let got = setup.read(&to);
                let mut expected = vec![0xcc; 70_000];
                for index in 0..count * size {
                    expected[offset + index] = words[index % size];
                }
                assert!(got == expected, "{mode}: pattern of {size} at {offset}");
            });
        }
    }
}

#[test]
fn updates_carry_their_bytes() {
    for setup in setups_of_both(Options::default()) {
        let to = setup.buffer(&[0; 66_000]);
        let (small, large) = (pattern(5, 1), pattern(64 << 10, 2));
        let first = |commands: &mut Recorder| -> Result<()> {
            commands
                .update(Place::Buffer(&to, 3), &small)?
                .update(Place::Buffer(&to, 100), &large)
                .map(|_| ())
        };
        setup.both(&[&first], |mode| {
            let got = setup.read(&to);
            assert!(got[3..8] == small && got[100..100 + (64 << 10)] == large, "{mode}");
            assert!(got[..3] == [0; 3] && got[8..100] == [0; 92], "{mode}");
            to.write(0, &[0; 66_000]).unwrap();
        });
        let mut recorder = setup.record();
        let error = recorder.update((&to).into(), &[0; (64 << 10) + 1]).unwrap_err();
        assert_eq!(error.to_string(), "65537 bytes at offset 0 are outside an update of 65536 bytes");
    }
}

#[test]
fn commands_after_a_barrier_see_those_before_it() {
    for setup in setups_of_both(Options::default()) {
        let value = setup.buffer(&1u64.to_le_bytes());
        let steps: Vec<Box<Command<'_>>> = (0..20u64)
            .map(|add| {
                let (setup, value) = (&setup, &value);
                let step: Box<Command<'_>> = Box::new(move |commands| {
                    setup.step(commands, value.into(), add);
                    Ok(())
                });
                step
            })
            .collect();
        let steps: Vec<&Command<'_>> = steps.iter().map(|step| &**step).collect();
        let mut expected = 1u64;
        setup.both(&steps, |mode| {
            expected = (0..20).fold(expected, |value, add| value.wrapping_mul(3).wrapping_add(add));
            assert_eq!(setup.read(&value), expected.to_le_bytes(), "{mode}");
        });
    }
}

#[test]
fn a_list_may_have_more_packets_than_the_ring() {
    let mut options = Options::default();
    options.packets = 64;
    for setup in setups_with(&options) {
        let value = setup.buffer(&1u64.to_le_bytes());
        let mut recorder = setup.record();
        for add in 0..300 {
            setup.step(recorder.barrier(), (&value).into(), add);
        }
        let commands = recorder.finish().unwrap();
        assert_eq!(commands.packets(), 300);
        let done = Semaphore::new(0);
        for replay in 1..=3 {
            setup.queue.execute(&commands, &[], &[], &[(&done, replay)]).unwrap();
        }
        done.wait(3, LONG).unwrap();
        let expected = (0..900u64).fold(1u64, |value, index| value.wrapping_mul(3).wrapping_add(index % 300));
        assert_eq!(setup.read(&value), expected.to_le_bytes());
    }
}

#[test]
fn indirect_dispatches_may_be_anywhere_in_a_list_longer_than_the_ring() {
    let mut options = Options::default();
    options.packets = 64;
    for setup in setups_with(&options) {
        let counts = setup.buffer(&[1u32; 3].map(u32::to_le_bytes).concat());
        let value = setup.buffer(&1u64.to_le_bytes());
        let step = setup.code.kernel("step").unwrap();
        let mut expected = 1u64;
        // Each shift puts other packets at the ends of the ring.
        for shift in 0..3u64 {
            let mut recorder = setup.record();
            for add in 0..shift {
                setup.step(recorder.barrier(), (&value).into(), add);
            }
            for add in shift..100 {
                let args = [Arg::from(&value), Arg::Bytes(&add.to_le_bytes())];
                // SAFETY: the kernel changes one number.
                unsafe { recorder.barrier().dispatch_indirect(&step, [1; 3], 0, (&counts).into(), &args) }
                    .unwrap();
            }
            let commands = recorder.finish().unwrap();
            let done = Semaphore::new(0);
            setup.queue.execute(&commands, &[], &[], &[(&done, 1)]).unwrap();
            done.wait(1, LONG).unwrap();
            expected = (0..100).fold(expected, |value, add| value.wrapping_mul(3).wrapping_add(add));
            assert_eq!(setup.read(&value), expected.to_le_bytes(), "{shift}");
        }
    }
}

#[test]
fn bindings_are_those_of_each_submission() {
    for setup in setups_of_both(Options::default()) {
        let mut recorder = setup.record();
        recorder.fill(Place::Binding(0, 8), &[5], 8).unwrap();
        setup.step(recorder.barrier(), Place::Binding(2, 8), 4);
        recorder.barrier().copy(Place::Binding(0, 0), Place::Binding(2, 8), 8).unwrap();
        let commands = recorder.finish().unwrap();
        let values: Vec<_> =
            (0..4u64).map(|index| setup.buffer(&[index, index].map(u64::to_le_bytes).concat())).collect();
        let targets: Vec<_> = (0..4).map(|_| setup.buffer(&[0; 24])).collect();
        let unused = setup.buffer(&[0]);
        let done = Semaphore::new(0);
        for index in 0..4 {
            let bindings = [
                (targets[index].clone(), index as u64 % 2 * 8),
                (unused.clone(), 0),
                (values[index].clone(), 0),
            ];
            setup.queue.execute(&commands, &bindings, &[], &[(&done, index as u64 + 1)]).unwrap();
        }
        done.wait(4, LONG).unwrap();
        for index in 0..4usize {
            let result = (index as u64 * 3 + 4).to_le_bytes();
            assert_eq!(setup.read(&values[index])[8..], result);
            let start = index % 2 * 8;
            let got = setup.read(&targets[index]);
            assert_eq!((&got[start..start + 8], &got[start + 8..start + 16]), (&result[..], &[5; 8][..]));
        }
        let table = |first: u64| [(targets[0].clone(), first), (unused.clone(), 0), (values[0].clone(), 0)];
        let refused = |bindings: &[(hal::Buffer, u64)]| {
            setup.queue.execute(&commands, bindings, &[], &[]).unwrap_err().to_string()
        };
        assert_eq!(refused(&table(0)[..2]), "binding 2: the table has 2 buffers");
        assert_eq!(refused(&table(9)), "binding 0: commands use 16 bytes, 15 are bound");
        assert_eq!(refused(&table(25)), "binding 0: commands use 16 bytes, 0 are bound");
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn an_indirect_dispatch_takes_its_size_from_memory() {
    for setup in setups_of_both(Options::default()) {
        let kernel = setup.code.kernel("shape").unwrap();
        let counts = setup.buffer(&[0; 12]);
        let seen = setup.buffer(&[0; 4 * 64]);
        let after = setup.buffer(&2u64.to_le_bytes());
        let mut recorder = setup.record();
        // SAFETY: the kernel writes four words and one for each workgroup, of which there are at most 60.
        unsafe { recorder.dispatch_indirect(&kernel, [8, 2, 1], 0, (&counts).into(), &[(&seen).into()]) }
            .unwrap();
        setup.step(recorder.barrier(), (&after).into(), 1);
        let commands = recorder.finish().unwrap();
        let mut value = 2u64;
        for sizes in [[3u32, 2, 5], [1, 1, 1], [0, 1, 1], [60, 1, 1], [1, u32::MAX, 1]] {
            seen.write(0, &[0; 4 * 64]).unwrap();
            counts.write(0, &sizes.map(u32::to_le_bytes).concat()).unwrap();
            let done = Semaphore::new(0);
            setup.queue.execute(&commands, &[], &[], &[(&done, 1)]).unwrap();
            done.wait(1, LONG).unwrap();
            let got = words(&setup.read(&seen));
            let runs = !sizes.contains(&0) && sizes[1] != u32::MAX;
            let blocks = if runs { sizes.iter().product::<u32>() as usize } else { 0 };
            let expected = if runs { [sizes[0], sizes[1], sizes[2], 8] } else { [0; 4] };
            assert_eq!(got[..4], expected);
            assert!((0..60).all(|block| got[4 + block] == if block < blocks { block as u32 + 1 } else { 0 }));
            value = value * 3 + 1;
            assert_eq!(setup.read(&after), value.to_le_bytes());
        }
        // The last packet of a submission, which also ends it, may be an indirect one.
        let mut recorder = setup.record();
        // SAFETY: as above.
        unsafe { recorder.dispatch_indirect(&kernel, [1; 3], 0, Place::Binding(0, 0), &[(&seen).into()]) }
            .unwrap();
        let commands = recorder.finish().unwrap();
        for sizes in [[2u32, 1, 1], [0; 3]] {
            counts.write(0, &sizes.map(u32::to_le_bytes).concat()).unwrap();
            let done = Semaphore::new(0);
            setup.queue.execute(&commands, &[(counts.clone(), 0)], &[], &[(&done, 1)]).unwrap();
            done.wait(1, LONG).unwrap();
        }
        assert_eq!(words(&setup.read(&seen))[0], 2);
    }
}

#[test]
fn time_stamps_grow() {
    for setup in setups_of_both(Options::default()) {
        let times = setup.buffer(&[0; 16]);
        let first = |commands: &mut Recorder| commands.time_stamp((&times).into()).map(|_| ());
        let second = |commands: &mut Recorder| commands.time_stamp(Place::Buffer(&times, 8)).map(|_| ());
        setup.both(&[&first, &second], |mode| {
            let bytes = setup.read(&times);
            let time = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
            assert!(time(0) != 0 && time(8) > time(0), "{mode}");
        });
    }
}

#[test]
fn what_does_not_match_is_refused_when_it_is_recorded() {
    for setup in setups_of_both(Options::default()) {
        let buffer = setup.buffer(&[0; 64]);
        let add = setup.code.kernel("add").unwrap();
        let (n, step) = (16i32.to_le_bytes(), 1i32.to_le_bytes());
        let args = [Arg::from(&buffer), Arg::Bytes(&n), Arg::Bytes(&step)];
        let mut recorder = setup.record();
        // SAFETY: none of these is recorded.
        let mut refused = |grid: Grid, args: &[Arg<'_>]| unsafe {
            recorder.dispatch(&add, grid, args).map(|_| ()).unwrap_err().to_string()
        };
        let grid = Grid::linear(1, 64);
        assert_eq!(refused(grid, &args[..2]), "kernel add: 2 arguments, where it takes 3");
        assert_eq!(
            refused(grid, &[args[0], args[1], Arg::Bytes(&[0; 8])]),
            "kernel add: argument 2 has 8 bytes, where it takes 4"
        );
        assert_eq!(
            refused(grid, &[args[0], args[0], args[2]]),
            "kernel add: argument 1 is a buffer, where it takes a value"
        );
        assert_eq!(
            refused(grid, &[args[1], args[1], args[2]]),
            "kernel add: argument 0 is a value, where it takes a GlobalBuffer"
        );
        assert_eq!(refused(Grid::linear(0, 64), &args), "kernel add: workgroups [0, 1, 1]: a size is 0");
        assert_eq!(
            refused(Grid::linear(1, 2048), &args),
            "kernel add: workgroup [2048, 1, 1]: at most 1024 work-items are possible"
        );
        assert!(refused(Grid::linear(u32::MAX, 64), &args).ends_with("more than 4,294,967,295 work-items"));
        let talk = setup.code.kernel("talk").unwrap();
        // SAFETY: as above.
        let error = unsafe { recorder.dispatch(&talk, grid, &[(&buffer).into()]) }.map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("a service of the host (printf"), "{error}");
        let refused = |result: Result<&mut Recorder>| result.map(|_| ()).unwrap_err().to_string();
        assert_eq!(
            refused(recorder.fill((&buffer).into(), &[1, 2, 3], 3)),
            "kernel hal_fill: a pattern has 1, 2, 4, 8 or 16 bytes, not 3, and fills a multiple of that, not 3"
        );
        assert_eq!(
            refused(recorder.fill((&buffer).into(), &[1, 2], 63)),
            "kernel hal_fill: a pattern has 1, 2, 4, 8 or 16 bytes, not 2, and fills a multiple of that, not 63"
        );
        assert_eq!(
            refused(recorder.fill(Place::Buffer(&buffer, 60), &[1], 5)),
            "5 bytes at offset 60 are outside a buffer of 64 bytes"
        );
        assert_eq!(
            refused(recorder.fill(Place::Buffer(&buffer, u64::MAX), &[1], 5)),
            "5 bytes at offset 18446744073709551615 are outside a buffer of 64 bytes"
        );
        assert_eq!(
            refused(recorder.copy(Place::Buffer(&buffer, 8), (&buffer).into(), 9)),
            "kernel hal_copy: source and target of a copy overlap"
        );
        assert!(recorder.copy(Place::Buffer(&buffer, 8), (&buffer).into(), 8).is_ok());
        assert!(matches!(recorder.fill(Place::Binding(1 << 40, 0), &[1], 1), Err(Error::Binding { .. })));
        assert!(matches!(recorder.fill(Place::Binding(0, u64::MAX), &[1], 1), Err(Error::Binding { .. })));
    }
}

#[test]
fn a_command_buffer_for_one_submission_is_submitted_once() {
    let setup: Setup = setups().remove(0);
    let buffer = setup.buffer(&[0; 8]);
    let mut recorder = setup.device.record(0, Usage::OneShot).unwrap();
    recorder.fill((&buffer).into(), &[1], 8).unwrap();
    let commands = recorder.finish().unwrap();
    let done = Semaphore::new(0);
    setup.queue.execute(&commands, &[], &[], &[(&done, 1)]).unwrap();
    assert_eq!(setup.queue.execute(&commands, &[], &[], &[]), Err(Error::OneShot));
    done.wait(1, LONG).unwrap();
}

#[test]
fn an_empty_command_buffer_only_carries_semaphores() {
    for setup in setups_of_both(Options::default()) {
        let commands = setup.record().finish().unwrap();
        let done = Semaphore::new(0);
        setup.queue.execute(&commands, &[], &[], &[(&done, 3)]).unwrap();
        done.wait(3, LONG).unwrap();
    }
}

#[test]
fn submitted_work_holds_what_it_uses() {
    for setup in setups_of_both(Options::default()) {
        let gate = setup.device.allocate(MemoryKind::Host, 4).unwrap();
        gate.write(0, &[0; 4]).unwrap();
        let value = setup.buffer(&5u64.to_le_bytes());
        let used = setup.device.statistics(MemoryKind::Device, 0).unwrap().used;
        let mut recorder = setup.device.record(0, Usage::OneShot).unwrap();
        let hold = setup.code.kernel("hold").unwrap();
        // SAFETY: the kernel reads the gate.
        unsafe { recorder.dispatch(&hold, Grid::linear(1, 1), &[(&gate).into()]) }.unwrap();
        setup.step(recorder.barrier(), (&value).into(), 1);
        let commands = recorder.finish().unwrap();
        let done = Semaphore::new(0);
        setup.queue.execute(&commands, &[], &[], &[(&done, 1)]).unwrap();
        drop((commands, value));
        setup.device.trim();
        assert_eq!(setup.device.statistics(MemoryKind::Device, 0).unwrap().used, used);
        gate.write(0, &1i32.to_le_bytes()).unwrap();
        done.wait(1, LONG).unwrap();
        setup.device.trim();
        assert!(setup.device.statistics(MemoryKind::Device, 0).unwrap().used < used);
    }
}
