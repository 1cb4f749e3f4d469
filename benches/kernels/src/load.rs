//! How busy the machine was with other work, as Linux reports it.

use std::fs;

/// Processor time since the machine started, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    all: u64,
    idle: u64,
    /// Processor time of this process.
    own: u64,
}

impl Load {
    /// The times until now; `None` if the system does not report them.
    pub(crate) fn now() -> Option<Self> {
        Self::read(&fs::read_to_string("/proc/stat").ok()?, &fs::read_to_string("/proc/self/stat").ok()?)
    }

    fn read(machine: &str, process: &str) -> Option<Self> {
        let ticks: Vec<u64> = machine
            .lines()
            .next()?
            .strip_prefix("cpu ")?
            .split_whitespace()
            .map(str::parse)
            .collect::<Result<_, _>>()
            .ok()?;
        // user, nice, system, idle, iowait, irq, softirq, steal; guests are counted among the first two
        let idle = ticks.get(3)? + ticks.get(4)?;
        // after the program's name, which may contain spaces: the state is the third field, the times are the
        // 14th and 15th
        let mut fields = process.rsplit_once(')')?.1.split_whitespace().skip(11);
        let mut ticks_of_process = || fields.next()?.parse::<u64>().ok();
        let own = ticks_of_process()? + ticks_of_process()?;
        Some(Self { all: ticks.iter().take(8).sum(), idle, own })
    }

    /// The fraction of processor time since then that other processes used.
    pub(crate) fn others_since(self, before: Self) -> f64 {
        let all = self.all.saturating_sub(before.all);
        let others =
            all.saturating_sub(self.idle.saturating_sub(before.idle) + self.own.saturating_sub(before.own));
        if all == 0 { 0.0 } else { others as f64 / all as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_have_what_is_neither_idle_nor_ours() {
        let process = |user: u64| format!("7 (a (b) c) R 1 1 1 0 -1 0 0 0 0 0 {user} 50 0 0 20 0");
        let before = Load::read("cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1", &process(50)).unwrap();
        assert_eq!(before, Load { all: 1000, idle: 800, own: 100 });
        // 40 ours, 10 stolen, 20 of others, 30 idle
        let after = Load::read("cpu  140 0 120 720 110 0 0 10 0 0", &process(90)).unwrap();
        assert!((after.others_since(before) - 0.3).abs() < 1e-12);
        assert!(before.others_since(before).abs() < 1e-12);
        for wrong in ["", "cpu", "cpu  1 2", "cpu  a b c d e"] {
            assert_eq!(Load::read(wrong, &process(1)), None, "{wrong}");
        }
        assert_eq!(Load::read("cpu  1 2 3 4 5", "7 (a) R 1"), None);
        assert!(Load::now().is_some());
    }
}
