//! Processes of this program, each of which is a rank.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use crate::common;

/// The virtual device of each rank, unless `FERROCM_DEVICE` names AMD's.
pub(crate) const URI: &str = "vgpu:gfx1100?cus=1&memory=256MiB";
/// The variable with the task of a rank.
pub(crate) const TASK: &str = "FERROCM_TEST_TASK";

pub(crate) fn free_port() -> u16 {
    std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// The command that starts a rank; the launcher adds the rest.
pub(crate) fn rank_command(task: &str) -> Command {
    let mut command = common::this_program();
    command.args(["--exact", "tasks::one_rank", "--include-ignored", "--nocapture"]).env(TASK, task);
    command
}

/// The command for one rank, as torchrun would start it.
pub(crate) fn command(task: &str, rank: usize, size: usize, port: u16) -> Command {
    let mut command = rank_command(task);
    command.env("RANK", rank.to_string()).env("WORLD_SIZE", size.to_string());
    command.env("LOCAL_RANK", rank.to_string()).env("MASTER_ADDR", "127.0.0.1");
    command.env("MASTER_PORT", port.to_string());
    command
}

/// The processes of a job, and the output of each by lines.
pub(crate) struct Job {
    processes: Vec<(Child, Receiver<String>)>,
}

impl Job {
    /// Starts the ranks, with these additional variables.
    pub(crate) fn start(task: &str, size: usize, variables: &[(&str, String)]) -> Self {
        let port = free_port();
        let start = |rank| {
            let mut command = command(task, rank, size, port);
            command.envs(variables.iter().map(|(name, value)| (name, value)));
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

    /// Waits for all ranks to end; those in `died` must have failed. Returns the output of each.
    pub(crate) fn end(self, died: &[usize]) -> Vec<Vec<String>> {
        let end = |(rank, (mut process, lines)): (usize, (Child, Receiver<String>))| {
            let status = process.wait().unwrap();
            let said: Vec<String> = lines.iter().collect();
            let passed = status.success() && said.iter().any(|line| line.contains("1 passed"));
            assert_eq!(passed, !died.contains(&rank), "rank {rank}: {status}: {said:#?}");
            said
        };
        self.processes.into_iter().enumerate().map(end).collect()
    }
}
