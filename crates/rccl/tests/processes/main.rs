//! Ranks in separate processes: each test starts this program again, once per rank.

#[path = "../common/mod.rs"]
mod common;

mod job;
mod killed;
mod mpirun;
mod tasks;

use std::process::{Command, Stdio};
use std::time::Duration;

use common::rank;
use hip::Device;
use job::{Job, URI, command, free_port};
use rccl::{Communicator, Error, Op, Options};

#[test]
fn two_four_and_eight_processes() {
    for size in [2, 4, 8] {
        Job::start("everything", size, &[]).end(&[]);
    }
}

#[test]
fn a_rank_without_rank_0_gives_up() {
    let output = command("late", 1, 2, free_port()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn ranks_that_do_not_come_are_missed() {
    let device = Device::open(URI).unwrap();
    let id = rccl::UniqueId::new(&device).unwrap();
    let options = Options::new().limit(Duration::from_millis(300));
    let late = Communicator::with(&device, &id, 0, 2, options).unwrap_err();
    assert!(matches!(late, Error::TimedOut { .. }), "{late}");
    let id = rccl::UniqueId::from_bytes([7; rccl::UniqueId::SIZE]);
    let foreign = Communicator::with(&device, &id, 0, 2, options).unwrap_err();
    assert!(foreign.to_string().contains("unique id"), "{foreign}");
}

#[test]
fn without_waiting_the_program_asks() {
    let devices = Device::open_all(&format!("{URI}&count=2").parse().unwrap()).unwrap();
    let id = rccl::UniqueId::new(&devices[0]).unwrap();
    let options = Options::new().wait(false);
    let first = rank(Communicator::with(&devices[0], &id, 0, 2, options).unwrap());
    assert!(!first.comm.is_ready().unwrap());
    let mut buffer = first.buffer(&[1_u32]);
    let early = first.comm.all_reduce_in_place(&first.stream, &mut buffer, Op::Sum);
    assert!(matches!(early, Err(Error::NotReady { .. })), "{early:?}");
    let second = rank(Communicator::with(&devices[1], &id, 1, 2, options).unwrap());
    first.comm.wait_until_ready().unwrap();
    second.comm.wait_until_ready().unwrap();
    let mut other = second.buffer(&[2_u32]);
    first.comm.all_reduce_in_place(&first.stream, &mut buffer, Op::Sum).unwrap();
    second.comm.all_reduce_in_place(&second.stream, &mut other, Op::Sum).unwrap();
    assert_eq!((first.read(&buffer), second.read(&other)), (vec![3], vec![3]));
    // Abort while its ranks join.
    let lonely =
        Communicator::with(&devices[0], &rccl::UniqueId::new(&devices[0]).unwrap(), 0, 2, options).unwrap();
    lonely.abort().unwrap();
    assert!(matches!(lonely.check(), Err(Error::Aborted { .. })));
}

/// The program of the example, which cargo builds with the tests.
#[test]
fn the_example_for_launchers_runs() {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(std::path::Path::parent).unwrap();
    let program = folder.join("examples/ranks");
    assert!(program.exists(), "{} is not there: `cargo build --examples` makes it", program.display());
    let port = free_port();
    let start = |rank: usize| {
        let mut command = Command::new(&program);
        command.env("RANK", rank.to_string()).env("WORLD_SIZE", "2").env("LOCAL_RANK", rank.to_string());
        command.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", port.to_string());
        command.env_remove(hip::uri::DEVICE_VARIABLE).stdout(Stdio::piped()).spawn().unwrap()
    };
    let processes = [start(0), start(1)];
    for (rank, process) in processes.into_iter().enumerate() {
        let output = process.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && said.trim() == format!("rank {rank} of 2: 3"), "{said}");
    }
}

#[test]
fn the_page_has_the_example() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    // A published crate does not include the page.
    if let Ok(page) = std::fs::read_to_string(folder.join("../../docs/use/rccl.md")) {
        let example = std::fs::read_to_string(folder.join("examples/all_reduce.rs")).unwrap();
        assert!(
            page.contains(&format!("```rust\n{example}```")),
            "docs/use/rccl.md has another first program"
        );
    }
}
