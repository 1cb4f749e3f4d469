//! Ranks in processes of their own: each test starts this program again, once for each rank.

mod common;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use common::{LONG, Rank, assert_reduced, rank, values};
use hip::Device;
use rccl::{Communicator, Error, Group, Launch, LaunchError, Op, Options};

const URI: &str = "vgpu:gfx1100?cus=1&memory=256MiB";
const TASK: &str = "FERROCM_TEST_TASK";

fn free_port() -> u16 {
    std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// The command for one rank, as torchrun would start it.
fn command(task: &str, rank: usize, size: usize, port: u16) -> Command {
    let mut command = common::this_program();
    command.args(["--exact", "one_rank", "--include-ignored", "--nocapture"]);
    command.env(TASK, task).env("RANK", rank.to_string()).env("WORLD_SIZE", size.to_string());
    command.env("LOCAL_RANK", rank.to_string()).env("MASTER_ADDR", "127.0.0.1");
    command.env("MASTER_PORT", port.to_string());
    command
}

/// The processes of a job, and what each says line by line.
struct Job {
    processes: Vec<(Child, Receiver<String>)>,
}

impl Job {
    fn start(task: &str, size: usize) -> Self {
        let port = free_port();
        let start = |rank| {
            let mut command = command(task, rank, size, port);
            let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let (sender, lines) = channel();
            let (out, err) = (process.stdout.take().unwrap(), process.stderr.take().unwrap());
            let other = sender.clone();
            std::thread::spawn(move || {
                BufReader::new(out).lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)));
            });
            std::thread::spawn(move || {
                BufReader::new(err).lines().map_while(Result::ok).for_each(|line| drop(other.send(line)));
            });
            (process, lines)
        };
        Self { processes: (0..size).map(start).collect() }
    }

    /// Waits until a rank has said something.
    fn hear(&self, rank: usize, what: &str) {
        let mut said = Vec::new();
        while let Ok(line) = self.processes[rank].1.recv_timeout(LONG) {
            if line.contains(what) {
                return;
            }
            said.push(line);
        }
        panic!("rank {rank} has not said `{what}`: {said:#?}");
    }

    /// Waits for the end of all ranks but those that are to have died.
    fn end(self, died: &[usize]) {
        for (rank, (mut process, lines)) in self.processes.into_iter().enumerate() {
            let status = process.wait().unwrap();
            let said: Vec<String> = lines.iter().collect();
            let passed = status.success() && said.iter().any(|line| line.contains("1 passed"));
            assert_eq!(passed, !died.contains(&rank), "rank {rank}: {status}: {said:#?}");
        }
    }
}

/// What all ranks do, each in its process.
fn everything(rank: &Rank) {
    let (at, size) = (rank.comm.rank().unwrap(), rank.comm.size().unwrap());
    for count in [0, 1, 1001, 150_001] {
        let inputs: Vec<Vec<f32>> = (0..size).map(|rank| values(rank, count)).collect();
        for op in Op::ALL {
            let mut buffer = rank.buffer(&inputs[at]);
            rank.comm.all_reduce_in_place(&rank.stream, &mut buffer, op).unwrap();
            let found = rank.read(&buffer);
            for index in (0..count).step_by(1 + count / 500) {
                let inputs: Vec<f32> = inputs.iter().map(|input| input[index]).collect();
                assert_reduced(op, &inputs, found[index], "processes");
            }
        }
        let own = rank.buffer(&inputs[at]);
        let mut all = rank.buffer(&vec![0.0_f32; count * size]);
        rank.comm.all_gather(&rank.stream, &own, &mut all).unwrap();
        assert!(rank.read(&all) == inputs.concat());
        let mut back = rank.buffer(&vec![0.0_f32; count]);
        rank.comm.reduce_scatter(&rank.stream, &all, &mut back, Op::Max).unwrap();
        assert!(rank.read(&back) == inputs[at]);
        let (next, before) = ((at + 1) % size, (at + size - 1) % size);
        let mut group = Group::new();
        group.send(&rank.comm, &rank.stream, &own, next).unwrap();
        group.receive(&rank.comm, &rank.stream, &mut back, before).unwrap();
        group.launch().unwrap();
        assert!(rank.read(&back) == inputs[before]);
    }
    let half = rank.comm.split(Some(at as u32 % 2), 0).unwrap().map(self::rank).unwrap();
    let mut sum = half.buffer(&[at as u64]);
    half.comm.all_reduce_in_place(&half.stream, &mut sum, Op::Sum).unwrap();
    assert_eq!(half.read(&sum), [(0..size as u64).filter(|other| other % 2 == at as u64 % 2).sum::<u64>()]);
}

#[test]
#[ignore = "runs in the processes that other tests start"]
fn one_rank() {
    let task = std::env::var(TASK).expect("another test starts this one");
    let launch = Launch::from_env().unwrap();
    let device = Device::open(URI).unwrap();
    if task == "late" && launch.rank() == 1 {
        // Rank 0 gives up in the meantime.
        let late = launch.communicator_with(&device, Options::new(), Duration::from_millis(300));
        assert!(matches!(late, Err(Error::Launch(LaunchError::Network { rank: 1, .. }))), "{late:?}");
        return;
    }
    let rank = rank(launch.communicator(&device).unwrap());
    let mut buffer = rank.buffer(&[1.0_f32; 1000]);
    rank.comm.all_reduce_in_place(&rank.stream, &mut buffer, Op::Sum).unwrap();
    assert_eq!(rank.read(&buffer)[999], launch.size() as f32);
    match task.as_str() {
        "everything" => everything(&rank),
        "collective" | "receive" if launch.rank() == 1 => {
            println!("ready");
            std::thread::sleep(2 * LONG);
        }
        "collective" | "receive" => {
            match task.as_str() {
                "collective" => rank.comm.all_reduce_in_place(&rank.stream, &mut buffer, Op::Sum).unwrap(),
                _ => rank.comm.receive(&rank.stream, &mut buffer, 1).unwrap(),
            }
            assert!(!rank.stream.is_done().unwrap());
            println!("waiting");
            let began = Instant::now();
            let error = rank.comm.wait(&rank.stream, LONG).unwrap_err();
            assert!(matches!(&error, Error::Failed { .. }), "{error}");
            assert!(error.to_string().contains("rank 1"), "{error}");
            assert_eq!(error.code(), Some(rccl::rccl_sys::ncclResult_t::ncclRemoteError));
            println!("noticed after {:?}", began.elapsed());
            // The stream goes on, and the device works.
            rank.stream.synchronize().unwrap();
            buffer.fill(&rank.stream, 2.0).unwrap();
            assert_eq!(buffer.to_vec(&rank.stream).unwrap(), [2.0; 1000]);
        }
        other => panic!("no task `{other}`"),
    }
}

#[test]
fn two_four_and_eight_processes() {
    for size in [2, 4, 8] {
        Job::start("everything", size).end(&[]);
    }
}

/// Kills rank 1 while the others wait for it.
fn kill_one(task: &str) {
    let mut job = Job::start(task, 3);
    job.hear(0, "waiting");
    job.hear(2, "waiting");
    job.hear(1, "ready");
    let killed = Instant::now();
    job.processes[1].0.kill().unwrap();
    for rank in [0, 2] {
        job.hear(rank, "noticed");
    }
    assert!(killed.elapsed() < Duration::from_secs(10), "{:?}", killed.elapsed());
    job.end(&[1]);
}

#[test]
fn a_killed_rank_is_an_error_of_a_collective() {
    kill_one("collective");
}

#[test]
fn a_killed_rank_is_an_error_of_a_receive() {
    kill_one("receive");
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
    // Abort while it comes together.
    let lonely =
        Communicator::with(&devices[0], &rccl::UniqueId::new(&devices[0]).unwrap(), 0, 2, options).unwrap();
    lonely.abort().unwrap();
    assert!(matches!(lonely.check(), Err(Error::Aborted { .. })));
}

#[test]
fn mpirun_starts_ranks() {
    let Some(mpirun) = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .map(|folder| folder.join("mpirun"))
        .find(|program| program.is_file())
    else {
        eprintln!("skipped: there is no mpirun on PATH");
        return;
    };
    let program = common::this_program();
    let mut command = Command::new(mpirun);
    command.args(["-n", "3"]);
    if std::env::var_os("OMPI_ALLOW_RUN_AS_ROOT").is_none() {
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command
            .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
            .env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
    }
    command.arg(program.get_program()).args(program.get_args());
    command.args(["--exact", "one_rank", "--include-ignored", "--nocapture"]).env(TASK, "everything");
    for variable in ["RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"] {
        command.env_remove(variable);
    }
    let output = command.output().unwrap();
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.matches("1 passed").count() == 3, "{said}");
}

/// The example's program, which cargo builds with the tests.
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
    // A published crate has no page beside it.
    if let Ok(page) = std::fs::read_to_string(folder.join("../../docs/rccl.md")) {
        let example = std::fs::read_to_string(folder.join("examples/all_reduce.rs")).unwrap();
        assert!(page.contains(&format!("```rust\n{example}```")), "docs/rccl.md has another first program");
    }
}
