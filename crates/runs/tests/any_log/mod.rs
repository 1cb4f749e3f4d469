//! Properties of every log and every record, whatever the bytes are. The fuzz target and the property tests
//! check them.

use runs::Record;
use runs::extract::{self, Format, Options};
use runs::record::Shape;

/// Lines of each format, to which bytes are applied as changes.
pub(crate) const LINES: [&str; 11] = [
    "[20260302 10:00:00][rank-7/8][INFO ] [--------trainer.py:2560] : iteration 126/ 5000 | consumed samples: 16128 | elapsed time per \
         iteration (ms): 13372.8/13364.7 | hip mem usage/free/total/usage_ratio: 153.81GB/102.17GB/255.98GB/60.09% | throughput per GPU \
         (TFLOP/s/GPU): 567.6/568.0 | tokens per GPU (tokens/s/GPU): 9801.4/9807.3 | learning rate: 9.984820E-06 | global batch size: \
         128 | lm loss: 6.548988E-03 | grad norm: 0.061 |\n",
    "[Rank 4] (after 1 iterations) memory (MB) | allocated: 18598.75 | max allocated: 20931.01 | reserved: 21534.0 | max reserved: \
         21534.0\n",
    "7: Training epoch 0, iteration 49/49 | lr: 7.496e-06 | global_batch_size: 128 | global_step: 49 | peak_memory_usage: 70833405952 | \
         memory_allocated: 44271689728 | reduced_train_loss: 11.96 | train_step_timing in s: 12.39 | consumed_samples: 6400\n",
    "[rank0]:[titan] 2026-03-02 10:00:00,500 - root - INFO - \x1b[31mstep:  1  loss:  7.0000  grad_norm:  1.0000  memory: \
         50.00GiB(62.50%)  tps: 1,000  tflops: 400.00  mfu: 30.00%\x1b[0m\n",
    "completed step: 49, seconds: 5.018, TFLOP/s/device: 107.127, Tokens/s/device: 6529.527, total_weights: 262144, loss: 10.172\n",
    "[2026-03-02 10:00:00,646] [INFO] [timer.py:260:stop] epoch=0/micro_step=199/global_step=199, RunningAvgSamplesPerSec=58.7, \
         CurrSamplesPerSec=61.35, MemAllocated=6.01GB, MaxMemAllocated=19.52GB\n",
    "\r 13%|#         | 50/378 [17:05<1:52:03, 20.51s/it]{'loss': 2.512, 'grad_norm': 1.25, 'learning_rate': 2e-05, 'epoch': \
         0.01}\n{'train_runtime': 62.4, 'train_samples_per_second': 7.692, 'train_steps_per_second': 0.481, 'train_loss': 2.25, \
         'epoch': 1.0}\n",
    "step    1/10 | loss 11.032358 (+nanz)| norm 22.1414 (+nanz)| lr 8.57e-07 | 2575.63 ms | 39.0% bf16 MFU | 203557 tok/s\n",
    "iter 100: loss 4.8186, time 1537.05ms, mfu 14.52%\n[step 5/100] train_loss=2.31 lr=1e-4 step_time=0.51s tok/s=12345\n",
    "Step 2 | loss:1.8718312978744507 lr:2e-05 tokens_per_second_per_gpu:405.04 peak_memory_alloc:14.5 grad_norm:1.25 \n",
    "  seq_length ...................................... 4096\n  train_batch_size ............. 32\nusing world size: 8, data-parallel \
         size: 4\n[titan] Building device mesh with parallelism: pp=1, dp_replicate=1, dp_shard=8, cp=1, tp=1, ep=1\nbatch_size B=64 * \
         seq_len T=1024 * num_processes=8 and total_batch_size=524288\n| device                | NVIDIA A100-SXM4-80GB |\nPyTorch \
         Version 2.7.0a0+7c8ec84\nnumber parameters: 8.030 billion\n",
];

/// The same log, in which no line is read with the layout of an earlier one: each has different colours.
fn coloured(log: &[u8]) -> Vec<u8> {
    let mut coloured = Vec::new();
    for (count, line) in log.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')).enumerate() {
        if !matches!(line, [b'\n' | b'\r']) {
            coloured.extend_from_slice(format!("\x1b[1;{count}m").as_bytes());
        }
        coloured.extend_from_slice(line);
    }
    coloured
}

/// Everything that extraction returns except the number of bytes, as text, because NaN is not equal to
/// itself.
fn told(log: &[u8], options: &Options) -> String {
    match extract::from_reader(log, options) {
        Ok(found) => {
            let record = found.record.to_json(Shape::Full);
            let ignored = (found.ignored_count, found.ignored);
            format!("{} {} {} {ignored:?} {record}", found.format, found.lines, found.matched)
        }
        Err(error) => error.to_string(),
    }
}

/// Checks that lines read with a known layout give the same as with the parser.
///
/// # Panics
/// If they do not.
pub(crate) fn same_line_by_line(log: &[u8], options: &Options) {
    // Compressed data never begins like this.
    let log = [b"\n", log].concat();
    assert_eq!(told(&log, options), told(&coloured(&log), options), "{:?}", String::from_utf8_lossy(&log));
}

/// Reads bytes as a log in every format, and checks the properties.
///
/// # Panics
/// If a figure of the record is impossible, or the record does not survive writing and reading.
pub(crate) fn log(bytes: &[u8]) {
    for format in std::iter::once(None).chain(Format::all().map(Some)) {
        let options = Options { format, ..Options::default() };
        same_line_by_line(bytes, &options);
        let Ok(extraction) = extract::from_reader(bytes, &options) else { continue };
        let record = extraction.record;
        assert!(
            record.step_times.iter().all(|seconds| seconds.is_finite() && *seconds > 0.0),
            "{:?}",
            record.step_times
        );
        for series in [&record.loss_values, &record.learning_rates, &record.grad_norms] {
            assert!(series.iter().all(|value| !value.is_infinite()), "{series:?}");
            assert!(
                record.step_times.is_empty() || series.is_empty() || series.len() == record.step_times.len()
            );
        }
        assert!(extraction.ignored.len() as u64 <= extraction.ignored_count);
        if let Some(format) = format {
            // Primus prints Megatron-LM's lines.
            let same = |found| if found == Format::Primus { Format::Megatron } else { found };
            assert_eq!(same(extraction.format), same(format));
        }
        written_and_read(&record);
    }
}

/// Reads bytes as a record, and checks the properties.
///
/// # Panics
/// If it does not survive writing and reading.
pub(crate) fn record(bytes: &[u8]) {
    if let Ok(record) = Record::read(bytes) {
        let _ = (runs::check::findings(&record), runs::Statistics::of(&record));
        let _ = record.to_json(Shape::Seed);
        written_and_read(&record);
    }
}

/// The output is JSON for any reader, and reads as the same record. Texts are compared, because NaN is not
/// equal to itself.
fn written_and_read(record: &Record) {
    let text = record.to_json(Shape::Full);
    serde_json::from_str::<serde_json::Value>(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let read = Record::read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(read.to_json(Shape::Full), text);
}

/// A log of realistic lines, with changes: each byte of the recipe chooses a line and a change.
#[must_use]
pub(crate) fn damaged(recipe: &[u8]) -> Vec<u8> {
    let mut log = Vec::new();
    for change in recipe.chunks(4) {
        let [line, what, at, byte] = [0, 1, 2, 3].map(|place| change.get(place).copied().unwrap_or(0));
        let mut text = LINES[usize::from(line) % LINES.len()].as_bytes().to_vec();
        let at = usize::from(at) * text.len() / 256;
        match what % 8 {
            0 => {}
            1 => text.truncate(at),
            2 => text[at] = byte,
            3 => text.insert(at, byte),
            4 => drop(text.drain(..at)),
            5 => {
                text.remove(at);
            }
            6 => text.splice(at..at, LINES[usize::from(byte) % LINES.len()].bytes()).for_each(drop),
            _ => {
                let rest = &mut text[at..];
                let by = usize::from(byte) % rest.len();
                rest.rotate_left(by);
            }
        }
        log.extend_from_slice(&text);
    }
    log
}
