//! How fast logs are read. Run it with
//! `cargo test --release -p ferrocm-bench --test bench -- --ignored --nocapture speed`.

use std::io::{self, Read};
use std::time::Instant;

use bench::extract::{self, Options};

/// A log of that many bytes at least, which is made while it is read: a template whose step numbers are counted up, so that no memory
/// bandwidth is spent on a copy of it.
struct Made {
    template: Vec<u8>,
    /// Where the numbers of steps are in the template.
    numbers: Vec<usize>,
    next_step: u64,
    at: usize,
    left: u64,
}

const DIGITS: usize = 8;

/// A line about step 1 with values that no line near it has.
fn row(count: usize) -> String {
    let noise = |of: usize| (count * 7919 % of) as f64;
    format!(
        " [2026-03-02 10:{:02}:{:02}] iteration        1/ 8000000 | consumed samples: {:12} | elapsed time per iteration (ms): {:.1} | \
         throughput per GPU (TFLOP/s/GPU): {:.1} | learning rate: {:.6E} | global batch size:    16 | lm loss: {:.6E} | \
         loss scale: 1.0 | grad norm: {:.3} | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
        count / 60 % 60,
        count % 60,
        16 * (count + 1),
        1990.0 + noise(2003) / 10.0,
        390.0 + noise(211) / 10.0,
        1.5e-4 - 1e-9 * count as f64,
        2.0 + 1e4 / (1e3 + count as f64) + noise(1009) / 1e4,
        0.3 + noise(397) / 1e3,
    )
}

impl Made {
    fn new(noise: usize, bytes: u64) -> Made {
        let mut template = Vec::new();
        let mut numbers = Vec::new();
        while template.len() < 4 << 20 {
            for line in 0..noise {
                let text = format!(
                    "[2026-03-02 10:00:00,123] [rank{}] INFO dataloader.py:{}: worker {line} fetched shard {} in {} ms, queue depth {}\n",
                    line % 8,
                    100 + line,
                    line * 7919,
                    line * 13 % 97,
                    line % 5
                );
                template.extend_from_slice(text.as_bytes());
            }
            let row = row(numbers.len());
            numbers.push(template.len() + row.find("       1/").expect("a number"));
            template.extend_from_slice(row.as_bytes());
        }
        Made { template, numbers, next_step: 1, at: 0, left: bytes }
    }
}

impl Read for Made {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.template.len() {
            if self.left == 0 {
                return Ok(0);
            }
            self.at = 0;
        }
        if self.at == 0 {
            for place in &self.numbers {
                let number = format!("{:DIGITS$}", self.next_step);
                self.template[*place..*place + DIGITS].copy_from_slice(number.as_bytes());
                self.next_step += 1;
            }
            self.left = self.left.saturating_sub(self.template.len() as u64);
        }
        let count = buffer.len().min(self.template.len() - self.at);
        buffer[..count].copy_from_slice(&self.template[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// Seconds that this thread has computed, where the system tells.
fn processor_time() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse::<f64>().ok().map(|nanoseconds| nanoseconds / 1e9)
}

#[test]
#[ignore = "reads 4 GB; it is a measurement, and means something in release builds only"]
fn speed_of_2_gb_logs() {
    let mut slow = Vec::new();
    for (what, noise, least) in
        [("a step in 100 lines", 99, 500.0), ("a step in 10 lines", 9, 500.0), ("only steps", 0, 500.0)]
    {
        let log = Made::new(noise, 2 << 30);
        let (start, computed) = (Instant::now(), processor_time());
        let extraction = extract::from_reader(log, &Options::default()).expect("a record");
        let elapsed = start.elapsed().as_secs_f64();
        // Other work on the machine makes the elapsed time longer, and not this.
        let seconds = processor_time().zip(computed).map_or(elapsed, |(end, start)| end - start);
        let megabytes = extraction.bytes as f64 / 1e6;
        let rate = megabytes / seconds;
        let steps = extraction.matched;
        println!(
            "{what}: {megabytes:.0} MB, {steps} steps, {seconds:.2} s of one core ({elapsed:.2} s elapsed), {rate:.0} MB/s"
        );
        assert_eq!(extraction.matched as usize, extraction.record.step_times.len());
        if rate < least {
            slow.push(what);
        }
    }
    assert!(slow.is_empty(), "slower than it has to be: {slow:?}");
}
