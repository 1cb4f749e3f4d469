//! A rank dies in each phase of a job, and all the others get an error in time.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::common::LONG;
use crate::job::Job;

/// How long ranks wait for one that never joins, and so cannot be known to be dead.
pub(crate) const LIMIT: Duration = Duration::from_secs(2);
/// The variable with the plan for the ranks.
const PLAN: &str = "FERROCM_TEST_PLAN";

/// When the rank dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Before it has received the id, or sent it to the others.
    Exchange,
    /// With the id, before it has begun to make its communicator.
    Init,
    /// While making the communicator, when another rank is still missing.
    Joined,
    /// Between operations.
    Idle,
    /// In a collective.
    Collective,
    /// In a group of a send and a receive.
    Group,
    /// In a collective of a graph.
    Graph,
    /// Before it divides the communicator with the others.
    Split,
    /// Between operations; the others continue without it.
    Shrink,
}

const PHASES: [Phase; 9] = [
    Phase::Exchange,
    Phase::Init,
    Phase::Joined,
    Phase::Idle,
    Phase::Collective,
    Phase::Group,
    Phase::Graph,
    Phase::Split,
    Phase::Shrink,
];

/// Which rank dies, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) phase: Phase,
    pub(crate) rank: usize,
    /// Milliseconds from the start of the phase.
    pub(crate) delay: u64,
    /// The elements of each operation.
    pub(crate) count: usize,
}

impl Plan {
    /// The rank that joins last, if one must: not the one that dies.
    pub(crate) fn last(&self, size: usize) -> usize {
        (self.rank + 1) % size
    }

    pub(crate) fn of_environment() -> Self {
        let text = std::env::var(PLAN).expect("a plan");
        let numbers: Vec<usize> = text.split(',').map(|word| word.parse().unwrap()).collect();
        let [phase, rank, delay, count] = numbers[..] else { panic!("{PLAN} is {text}") };
        Self { phase: PHASES[phase], rank, delay: delay as u64, count }
    }

    /// The plan as a variable.
    pub(crate) fn variable(&self) -> (&'static str, String) {
        let Self { phase, rank, delay, count } = self;
        let phase = PHASES.iter().position(|other| other == phase).unwrap();
        (PLAN, format!("{phase},{rank},{delay},{count}"))
    }
}

/// Whether a survivor has reported that it noticed.
pub(crate) fn has_noticed(said: &[String]) -> bool {
    said.iter().any(|line| line.contains("noticed: "))
}

/// Runs some plans of a phase, and checks that all but the dead rank noticed.
fn dies(phase: Phase) {
    let plans = (2..=4_usize, any::<prop::sample::Index>(), 0..300_u64, 1..200_000_usize);
    // AMD's RCCL takes half a minute to start.
    let is_virtual = !std::env::var(hip::uri::DEVICE_VARIABLE).is_ok_and(|uri| uri.starts_with("amdgpu"));
    let cases = if is_virtual { 2 } else { 1 };
    let config =
        ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 0, ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    let run = runner.run(&plans, |(size, rank, delay, count)| {
        let plan = Plan { phase, rank: rank.index(size), delay, count };
        let began = Instant::now();
        let said = Job::start("killed", size, &[plan.variable()]).end(&[plan.rank]);
        let noticed = |(rank, said): (usize, &Vec<String>)| rank == plan.rank || has_noticed(said);
        prop_assert!(said.iter().enumerate().all(noticed), "{plan:?} of {size}: {said:#?}");
        // Three times the limit, plus the time that a busy machine takes to start the processes.
        let start = if is_virtual { Duration::from_secs(40) } else { 2 * LONG };
        prop_assert!(began.elapsed() < 3 * LIMIT + start, "{:?}", began.elapsed());
        Ok(())
    });
    run.unwrap();
}

#[test]
fn before_the_ranks_have_found_each_other() {
    dies(Phase::Exchange);
}

#[test]
fn before_the_communicator_is_made() {
    dies(Phase::Init);
}

#[test]
fn while_the_communicator_is_made() {
    dies(Phase::Joined);
}

#[test]
fn between_operations() {
    dies(Phase::Idle);
}

#[test]
fn in_a_collective() {
    dies(Phase::Collective);
}

#[test]
fn in_a_group() {
    dies(Phase::Group);
}

#[test]
fn in_a_graph() {
    dies(Phase::Graph);
}

#[test]
fn before_a_split() {
    dies(Phase::Split);
}

#[test]
fn and_the_others_go_on_without_it() {
    dies(Phase::Shrink);
}
