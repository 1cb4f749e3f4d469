//! Measures how fast logs are read. Run it with `cargo test --release -p ferrocm-runs --test runs
//! -- --ignored --nocapture speed`.

use std::io::{self, Read};
use std::time::Instant;

use runs::extract::{self, Options};

/// A log of at least this many bytes, generated while it is read: a template whose step numbers are
/// incremented in place, so that copying it costs no memory bandwidth.
struct Made {
    template: Vec<u8>,
    /// The places of step numbers in the template, if its lines have them.
    numbers: Vec<usize>,
    next_step: u64,
    at: usize,
    left: u64,
}

const DIGITS: usize = 8;

/// A line about step 1; its numbers differ from those of nearby lines.
type Row = fn(usize) -> String;

/// A number below a limit that differs from those of nearby lines.
fn noise(count: usize, below: usize) -> f64 {
    (count * 7919 % below) as f64
}

fn megatron(count: usize) -> String {
    format!(
        " [2026-03-02 10:{:02}:{:02}] iteration        1/ 8000000 | consumed samples: {:12} | elapsed time per iteration (ms): {:.1} | \
         throughput per GPU (TFLOP/s/GPU): {:.1} | learning rate: {:.6E} | global batch size:    16 | lm loss: {:.6E} | \
         loss scale: 1.0 | grad norm: {:.3} | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
        count / 60 % 60,
        count % 60,
        16 * (count + 1),
        1990.0 + noise(count, 2003) / 10.0,
        390.0 + noise(count, 211) / 10.0,
        1.5e-4 - 1e-9 * count as f64,
        2.0 + 1e4 / (1e3 + count as f64) + noise(count, 1009) / 1e4,
        0.3 + noise(count, 397) / 1e3,
    )
}

fn primus(count: usize) -> String {
    format!(
        "[20260302 10:00:{:02}][rank-7/8][INFO ] [--------trainer.py:2560] : iteration        1/ 8000000 | consumed samples: {:12} | elapsed \
         time per iteration (ms): {:.1}/13364.7 | hip mem usage/free/total/usage_ratio: {:.2}GB/102.17GB/255.98GB/60.09% | throughput \
         per GPU (TFLOP/s/GPU): {:.1}/568.0 | tokens per GPU (tokens/s/GPU): {:.1}/9807.3 | learning rate: {:.6E} | global batch size: \
         128 | lm loss: {:.6E} | grad norm: {:.3} |\n",
        count % 60,
        128 * (count + 1),
        13300.0 + noise(count, 2003) / 10.0,
        153.0 + noise(count, 97) / 100.0,
        560.0 + noise(count, 211) / 10.0,
        9750.0 + noise(count, 1013) / 10.0,
        1e-5 - 1e-10 * count as f64,
        2.0 + 1e4 / (1e3 + count as f64) + noise(count, 1009) / 1e4,
        0.3 + noise(count, 397) / 1e3,
    )
}

fn maxtext(count: usize) -> String {
    format!(
        "completed step:        1, seconds: {:.3}, TFLOP/s/device: {:.3}, Tokens/s/device: {:.3}, total_weights: 262144, loss: {:.3}\n",
        5.0 + noise(count, 2003) / 1e3,
        100.0 + noise(count, 2003) / 1e2,
        6500.0 + noise(count, 1009),
        2.0 + 1e4 / (1e3 + count as f64),
    )
}

fn nemo(count: usize) -> String {
    format!(
        "Training epoch 0, iteration        1/8000000 | lr: {:.3e} | global_batch_size: 128 | global_step: {count} | peak_memory_usage: \
         70833405952 | memory_allocated: 44271689728 | reduced_train_loss: {:.2} | train_step_timing in s: {:.2} | consumed_samples: {}\n",
        1.5e-4 - 1e-9 * count as f64,
        2.0 + 1e4 / (1e3 + count as f64) + noise(count, 1009) / 1e4,
        12.0 + noise(count, 211) / 100.0,
        128 * (count + 1),
    )
}

fn torchtitan(count: usize) -> String {
    format!(
        "[rank0]:[titan] 2026-03-02 10:{:02}:{:02},{:03} - root - INFO - \x1b[31mstep:        1  \x1b[32mloss: {:7.4}  \x1b[38;2;180;60;\
         0mgrad_norm: {:7.4}  \x1b[38;2;54;234;195mmemory: {:5.2}GiB({:.2}%)  \x1b[34mtps: {},{:03}  \x1b[36mtflops: {:.2}  \
         \x1b[35mmfu: {:.2}%\x1b[39m\n",
        count / 60 % 60,
        count % 60,
        count * 7 % 1000,
        2.0 + 1e4 / (1e3 + count as f64) + noise(count, 1009) / 1e4,
        0.3 + noise(count, 397) / 1e3,
        50.0 + noise(count, 97) / 100.0,
        62.0 + noise(count, 97) / 100.0,
        6 + count % 3,
        count * 7919 % 1000,
        390.0 + noise(count, 211) / 10.0,
        39.0 + noise(count, 211) / 100.0,
    )
}

fn deepspeed(count: usize) -> String {
    format!(
        "[2026-03-02 10:{:02}:{:02},{:03}] [INFO] [timer.py:260:stop] epoch=0/micro_step={count}/global_step=       1, \
         RunningAvgSamplesPerSec={}, CurrSamplesPerSec={}, MemAllocated={:.2}GB, MaxMemAllocated=19.52GB\n",
        count / 60 % 60,
        count % 60,
        count * 7 % 1000,
        58.7 + noise(count, 99_991) / 1e5,
        61.3 + noise(count, 99_991) / 1e5,
        6.0 + noise(count, 97) / 100.0,
    )
}

fn hugging_face(count: usize) -> String {
    format!(
        "{{'loss': {:.4}, 'grad_norm': {}, 'learning_rate': {:e}, 'epoch': {:.2}}}\n",
        2.0 + 1e4 / (1e3 + count as f64) + noise(count, 1009) / 1e4,
        1.0 + noise(count, 99_991) / 1e5,
        2e-5 - 1e-11 * (count + 1) as f64,
        0.01 + count as f64 / 1e4,
    )
}

fn llm_c(count: usize) -> String {
    let sign = if count.is_multiple_of(3) { '-' } else { '+' };
    format!(
        "step        1/8000000 | loss {:.6} ({sign}{:.2}z)| norm {:.4} ({sign}{:.2}z)| lr {:.2e} | {:.2} ms | {:.1}% bf16 MFU | {} tok/s\n",
        2.0 + 1e4 / (1e3 + count as f64) + noise(count, 1009) / 1e4,
        noise(count, 301) / 100.0,
        0.3 + noise(count, 397) / 1e3,
        noise(count, 307) / 100.0,
        1.5e-4 - 1e-9 * count as f64,
        2570.0 + noise(count, 1009) / 100.0,
        38.0 + noise(count, 29) / 10.0,
        203_000 + count * 7919 % 997,
    )
}

fn plain(count: usize) -> String {
    format!(
        "step        1 loss {:.4} lr {:.3e} grad_norm {:.3} time {:.3}s\n",
        2.0 + 1e4 / (1e3 + count as f64) + noise(count, 1009) / 1e4,
        1.5e-4 - 1e-9 * count as f64,
        0.3 + noise(count, 397) / 1e3,
        0.5 + noise(count, 211) / 1e3,
    )
}

impl Made {
    fn new(row: Row, others: usize, bytes: u64) -> Made {
        let mut template = Vec::new();
        let mut numbers = Vec::new();
        let mut rows = 0;
        while template.len() < 4 << 20 {
            for line in 0..others {
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
            let row = row(rows);
            rows += 1;
            numbers.extend(row.find("       1").map(|at| template.len() + at));
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
                let mut left = self.next_step;
                for digit in self.template[*place..*place + DIGITS].iter_mut().rev() {
                    *digit = if left == 0 { b' ' } else { b'0' + (left % 10) as u8 };
                    left /= 10;
                }
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

/// Processor seconds of this thread, if the system reports them.
fn processor_time() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse::<f64>().ok().map(|nanoseconds| nanoseconds / 1e9)
}

#[test]
#[ignore = "reads 24 GB; it is a measurement, and means something in release builds only"]
fn speed_of_2_gb_logs() {
    let mut slow = Vec::new();
    for (what, row, others, least) in [
        ("a step in 100 lines", megatron as Row, 99, 500.0),
        ("a step in 10 lines", megatron, 9, 500.0),
        ("only steps", megatron, 0, 500.0),
        ("only steps of Primus", primus, 0, 500.0),
        ("only steps of MaxText", maxtext, 0, 500.0),
        ("only steps of NeMo", nemo, 0, 500.0),
        ("only steps of torchtitan", torchtitan, 0, 500.0),
        ("only steps of DeepSpeed", deepspeed, 0, 500.0),
        ("only steps of Hugging Face's Trainer", hugging_face, 0, 500.0),
        ("only steps of llm.c", llm_c, 0, 500.0),
        ("only steps of no format", plain, 0, 350.0),
    ] {
        let log = Made::new(row, others, 2 << 30);
        let (start, computed) = (Instant::now(), processor_time());
        let extraction = extract::from_reader(log, &Options::default()).expect("a record");
        let elapsed = start.elapsed().as_secs_f64();
        // Other work on the machine makes the elapsed time longer, but not this.
        let seconds = processor_time().zip(computed).map_or(elapsed, |(end, start)| end - start);
        let megabytes = extraction.bytes as f64 / 1e6;
        let rate = megabytes / seconds;
        let steps = extraction.matched;
        println!(
            "{what}: {megabytes:.0} MB, {steps} steps, {seconds:.2} s of one core ({elapsed:.2} s elapsed), {rate:.0} MB/s"
        );
        assert_eq!(extraction.ignored_count, 0, "{:?}", extraction.ignored);
        if rate < least {
            slow.push(what);
        }
    }
    assert!(slow.is_empty(), "slower than required: {slow:?}");
}
