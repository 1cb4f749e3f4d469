//! The tasks of ranks, each in its process.

use std::time::{Duration, Instant};

use hip::Device;
use rccl::{Communicator, Error, Group, Launch, LaunchError, Op, Options};

use crate::common::{LONG, Rank, assert_reduced, rank, values};
use crate::job::{TASK, URI};
use crate::killed::{LIMIT, Phase, Plan};

/// How long a rank has been making a communicator when it dies.
const JOIN: Duration = Duration::from_millis(500);

/// The device of this process's rank.
fn device(launch: &Launch) -> Device {
    let uri = std::env::var(hip::uri::DEVICE_VARIABLE).unwrap_or_default();
    let uri = match uri.starts_with("amdgpu") {
        true => format!("amdgpu:{}", launch.local_rank()),
        false => URI.to_owned(),
    };
    Device::open(uri).unwrap()
}

/// Every kind of operation, in several sizes.
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
    graphs(rank);
    let half = rank.comm.split(Some(at as u32 % 2), 0).unwrap().map(self::rank).unwrap();
    let mut sum = half.buffer(&[at as u64]);
    half.comm.all_reduce_in_place(&half.stream, &mut sum, Op::Sum).unwrap();
    assert_eq!(half.read(&sum), [(0..size as u64).filter(|other| other % 2 == at as u64 % 2).sum::<u64>()]);
}

/// A graph launched several times, with other operations in between, on two streams.
fn graphs(rank: &Rank) {
    let (at, size) = (rank.comm.rank().unwrap() as u32, rank.comm.size().unwrap() as u32);
    // AMD's RCCL orders graphs and other operations only if their streams do.
    let other = match rank.comm.device().backend() {
        hip::Backend::Amd => rank.stream.clone(),
        _ => rank.comm.device().stream().unwrap(),
    };
    let mut largest = rank.buffer(&[0_u32; 3]);
    let (graph, mut sum) = {
        let mut own = rank.buffer(&vec![at + 1; 30_000]);
        let mut sum = rank.buffer(&vec![0_u32; 30_000]);
        let graph = rank.comm.device().capture(|stream| {
            rank.comm.all_reduce(stream, &own, &mut sum, Op::Sum).unwrap();
            own.copy_from(stream, &sum)
        });
        (graph.unwrap().instantiate().unwrap(), sum)
    };
    let mut expected = (1..=size).sum::<u32>();
    for turn in 0..4 {
        graph.launch(if turn % 2 == 0 { &rank.stream } else { &other }).unwrap();
        largest.fill(&other, at + turn).unwrap();
        rank.comm.all_reduce_in_place(&other, &mut largest, Op::Max).unwrap();
        assert_eq!(rank.read(&sum), vec![expected; 30_000]);
        expected *= size;
    }
    rank.comm.wait(&other, LONG).unwrap();
    assert_eq!(rank.read(&largest), [size + 2; 3]);
    sum.fill(&rank.stream, 0).unwrap();
}

#[test]
#[ignore = "runs in the processes that other tests start"]
fn one_rank() {
    let task = std::env::var(TASK).expect("another test starts this one");
    let launch = Launch::from_env().unwrap();
    let device = device(&launch);
    match task.as_str() {
        // Rank 0 never starts.
        "late" => {
            let late = launch.communicator_with(&device, Options::new(), Duration::from_millis(300));
            assert!(matches!(late, Err(Error::Launch(LaunchError::Network { rank: 1, .. }))), "{late:?}");
        }
        "everything" => {
            let options = Options::new().limit(LONG);
            let rank = rank(launch.communicator_with(&device, options, LONG).unwrap());
            let mut buffer = rank.buffer(&[1.0_f32; 1000]);
            rank.comm.all_reduce_in_place(&rank.stream, &mut buffer, Op::Sum).unwrap();
            assert_eq!(rank.read(&buffer)[999], launch.size() as f32);
            everything(&rank);
            println!("done by {}", rank.comm.implementation());
        }
        "killed" => killed(&launch, &device, &Plan::of_environment()),
        other => panic!("no task `{other}`"),
    }
}

/// Kills this process as the system would, without any clean-up.
fn die_after(delay: Duration) -> ! {
    std::thread::sleep(delay);
    let own = std::process::id().to_string();
    std::process::Command::new("kill").args(["-KILL", &own]).status().unwrap();
    loop {
        std::thread::park();
    }
}

/// Carries out a plan: survives it, or dies.
fn killed(launch: &Launch, device: &Device, plan: &Plan) {
    let dies = launch.rank() == plan.rank;
    let delay = Duration::from_millis(plan.delay);
    if dies && plan.phase == Phase::Exchange {
        die_after(delay);
    }
    let error = match rank_of(launch, device, plan, dies) {
        Err(error) => error,
        Ok(rank) => {
            println!("ready");
            if dies && matches!(plan.phase, Phase::Idle | Phase::Split | Phase::Shrink) {
                die_after(delay);
            }
            if dies {
                std::thread::spawn(move || die_after(delay));
            }
            let began = Instant::now();
            if plan.phase == Phase::Shrink {
                go_on_without(&rank, plan);
            }
            let error = work(&rank, plan).unwrap_err();
            // Wait for its death.
            assert!(!dies, "{error}");
            println!("noticed after {:?}", began.elapsed());
            // The stream continues, and the device works.
            let _ = rank.comm.abort();
            rank.stream.synchronize().unwrap();
            let mut buffer = rank.buffer(&[1.0_f32; 1000]);
            buffer.fill(&rank.stream, 2.0).unwrap();
            assert_eq!(buffer.to_vec(&rank.stream).unwrap(), [2.0; 1000]);
            if rank.comm.implementation().starts_with("rccl-on-hip") {
                assert!(error.to_string().contains(&format!("rank {}", plan.rank)), "{error}");
                assert_eq!(error.code(), Some(rccl::rccl_sys::ncclResult_t::ncclRemoteError), "{error}");
            }
            error
        }
    };
    let in_time = matches!(error, Error::Failed { .. } | Error::TimedOut { .. });
    let in_launch = plan.phase == Phase::Exchange && matches!(error, Error::Launch(_));
    assert!(in_time || in_launch, "{error:?}");
    println!("noticed: {error}");
}

/// Notices a dead rank, and makes a communicator of the rest.
fn go_on_without(rank: &Rank, plan: &Plan) {
    let mut sum = rank.buffer(&vec![1_u32; plan.count]);
    rank.comm.all_reduce_in_place(&rank.stream, &mut sum, Op::Sum).unwrap();
    let began = Instant::now();
    let failed = loop {
        match rank.comm.check() {
            Ok(()) => assert!(began.elapsed() < LONG, "nobody is dead"),
            Err(error) => break error,
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(matches!(failed, Error::Failed { .. }), "{failed}");
    let size = rank.comm.size().unwrap() - 1;
    let rest = self::rank(rank.comm.shrink(&[plan.rank]).unwrap());
    assert_eq!(rest.comm.size().unwrap(), size);
    let mut sum = rest.buffer(&vec![1_u32; plan.count]);
    rest.comm.all_reduce_in_place(&rest.stream, &mut sum, Op::Sum).unwrap();
    assert!(rest.read(&sum).iter().all(|sum| *sum == size as u32));
}

/// Makes the rank; the one that is to die meanwhile dies.
fn rank_of(launch: &Launch, device: &Device, plan: &Plan, dies: bool) -> rccl::Result<Rank> {
    // A rank that never joins cannot be known to be dead, and a rank may die just before it can be seen. Use
    // half of the test's own limit: an operation of AMD's RCCL may wait that long for a dead rank before it
    // is enqueued.
    let short = |phases: &[Phase]| if phases.contains(&plan.phase) { LIMIT } else { LONG / 2 };
    let exchange = short(&[Phase::Exchange]);
    let limit = short(&[Phase::Exchange, Phase::Init, Phase::Joined]);
    let options = Options::new().limit(limit);
    let is_last = launch.rank() == plan.last(launch.size());
    match plan.phase {
        Phase::Init | Phase::Joined if dies || is_last => {
            // It gets the id as the others do, and then waits.
            let id = launch.exchange(device, exchange)?;
            if dies && plan.phase == Phase::Init {
                die_after(Duration::from_millis(plan.delay));
            }
            if dies {
                let _joined =
                    Communicator::with(device, &id, launch.rank(), launch.size(), options.wait(false))?;
                die_after(JOIN + Duration::from_millis(plan.delay));
            }
            if plan.phase == Phase::Joined {
                std::thread::sleep(2 * JOIN + Duration::from_millis(plan.delay));
            }
            Communicator::with(device, &id, launch.rank(), launch.size(), options).map(rank)
        }
        _ => launch.communicator_with(device, options, exchange).map(rank),
    }
}

/// Repeats the same operations as all ranks until something fails.
fn work(rank: &Rank, plan: &Plan) -> rccl::Result<()> {
    let (at, size) = (rank.comm.rank()?, rank.comm.size()?);
    let (next, before) = ((at + 1) % size, (at + size - 1) % size);
    let limit = if rank.comm.implementation().starts_with("rccl-on-hip") { LONG } else { 5 * LIMIT };
    let mut buffer = rank.buffer(&vec![1.0_f32; plan.count]);
    let mut other = rank.buffer(&vec![1.0_f32; plan.count]);
    let graph = match plan.phase {
        Phase::Graph => {
            let mut captured = Ok(());
            let graph = rank.comm.device().capture(|stream| {
                // A rank may be dead already.
                captured = rank.comm.all_reduce_in_place(stream, &mut other, Op::Max);
                Ok(())
            })?;
            captured?;
            Some(graph.instantiate()?)
        }
        _ => None,
    };
    let began = Instant::now();
    while began.elapsed() < 2 * LONG {
        match plan.phase {
            Phase::Graph => graph.iter().try_for_each(|graph| graph.launch(&rank.stream))?,
            Phase::Group => {
                let mut group = Group::new();
                group.send(&rank.comm, &rank.stream, &buffer, next)?;
                group.receive(&rank.comm, &rank.stream, &mut other, before)?;
                group.launch()?;
            }
            Phase::Split => {
                let part = rank.comm.split(Some(0), at as i32)?;
                rank.comm.check()?;
                part.map_or(Ok(()), |part| part.check())?;
            }
            _ => rank.comm.all_reduce_in_place(&rank.stream, &mut buffer, Op::Max)?,
        }
        rank.comm.wait(&rank.stream, limit)?;
    }
    Ok(())
}
