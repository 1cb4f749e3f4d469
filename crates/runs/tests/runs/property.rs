//! The fuzz target's properties on a stable toolchain.

use proptest::prelude::*;
use runs::extract::{Format, Options, RankRule};

use crate::any_log;

/// A record with values of every kind of field.
const RECORD: &str = r#"{"platform": "amd", "gpu_info": {"device_count": 8, "device_name": "AMD Instinct MI300X", "gpu_cores": 19456},
    "timestamp": "2026-03-02T10:00:00", "parallelism_config": {"strategy_name": "TP1_PP2", "data_parallel_size": 4},
    "training_config": {"global_batch_size": 64, "sequence_length": 2048, "num_gpus": 8, "seed": [1, {"a": NaN}]},
    "performance_metrics": {"total_steps": 3, "tokens_per_second": 53943.5, "steps_per_second": Infinity},
    "memory_metrics": {"peak_memory_allocated_gb": 117.99}, "step_times": [22.7, NaN, 2.5], "loss_values": [11.8, 11.5, -Infinity]}"#;

/// Numbers as programs print them.
fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        30 => "[0-9]{1,5}\\.[0-9]{1,4}",
        10 => "[1-9][0-9]{0,5}",
        10 => "[0-9]\\.[0-9]{6}[eE][+-][0-9]{2}",
        2 => "[0-9]{14,24}(\\.[0-9]{1,20})?",
        1 => "[0-9]{1,3}e[0-9]{1,4}",
        2 => "nan|inf|-inf|-[0-9]\\.5|0\\.0|1,234|1,5|1\\.2\\.3|5\\.|\\.5|1e|7\\.5E|5\\.0s| |x",
    ]
}

/// Prefixes of a line about a step, with the rank.
const PREFIXES: [fn(u8) -> String; 8] = [
    |_| " ".to_owned(),
    |_| String::new(),
    |rank| format!(" [2026-03-02 10:00:{rank:02}] "),
    |rank| format!("[20260302 10:00:00][rank-{rank}/8][INFO ] : "),
    |rank| format!("{rank}: "),
    |rank| format!("[1,{rank}]<stdout>: "),
    |rank| format!("[default{rank}]:"),
    |rank| format!("seconds {rank}m "),
];

/// Lines about steps as programs print them, with `@` for the number of the step and `#` for others.
const LINES: [&str; 15] = [
    "iteration @/ 100 | consumed samples: # | elapsed time per iteration (ms): # | throughput per GPU (TFLOP/s/GPU): # | learning rate: # | \
     global batch size:    # | lm loss: # | loss scale: # | grad norm: # | number of nan iterations:   0 |",
    "iteration @/ 100 | consumed samples: # | elapsed time per iteration (ms): #/# | hip mem usage/free/total/usage_ratio: \
     #GB/#GB/#GiB/60.09% | tokens per GPU (tokens/s/GPU): #/# | lm loss: # |",
    "\x1b[32miteration @/ 100\x1b[0m | elapsed time per iteration (ms): \x1b[1m#\x1b[0m/# | lm loss: \x1b[31m#\x1b[0m |",
    "Training epoch 0, iteration @/99 | lr: # | global_batch_size: # | global_step: @ | peak_memory_usage: # | reduced_train_loss: # | \
     train_step_timing in s: # | consumed_samples: #",
    "Epoch 0: :  47%|####7     | @/15 [06:19<07:13, reduced_train_loss=#, global_step=#, train_step_timing in s=#]",
    "\x1b[31mstep: @  \x1b[32mloss:  #  grad_norm:  #  memory: #GiB(62.50%)  tps: #  tflops: #  mfu: 30.00%\x1b[0m",
    "Step @ | loss:# lr:# tokens_per_second_per_gpu:# peak_memory_active:# peak_memory_alloc:# peak_memory_reserved:# grad_norm:#",
    "completed step: @, seconds: #, TFLOP/s/device: #, Tokens/s/device: #, total_weights: #, loss: #",
    "epoch=0/micro_step=#/global_step=@, RunningAvgSamplesPerSec=#, CurrSamplesPerSec=#, MemAllocated=#GB, MaxMemAllocated=#GB",
    "[INFO] step=@, skipped=0, lr=[#], mom=[(#, #)] CurrSamplesPerSec=#",
    "{'loss': #, 'grad_norm': '#', 'learning_rate': #, 'epoch': #, 'step': @}",
    " 13%|#         | @/378 [17:05<1:52:03, #s/it]{'loss': #, 'learning_rate': #}",
    "step @/10 | loss # (+#z)| norm # (#z)| lr # | # ms | #% bf16 MFU | # tok/s",
    "[step @/100] train_loss=# lr=# grad_norm: # step_time=#s # tok/s",
    "iter @: loss #, time #ms, mfu #%",
];

prop_compose! {
    /// Lines about steps, one or several for each step, most of them alike.
    fn alike()(
        prefix in 0..PREFIXES.len(),
        kinds in (0..LINES.len(), 0..LINES.len()),
        lines in proptest::collection::vec(
            (0..4_u64, 0..3_u8, proptest::collection::vec(number(), 11), 0..32_u8, any::<u16>(), any::<u8>()), 1..14),
    ) -> Vec<u8> {
        let mut log = Vec::new();
        let mut step = 1;
        for (count, (by, rank, numbers, damage, at, byte)) in lines.into_iter().enumerate() {
            // Step numbers must not be so far off that the line counts as broken.
            step += if damage == 9 { 1 << 40 } else { by };
            let of_kind = LINES[if damage.is_multiple_of(5) { kinds.1 } else { kinds.0 }];
            let mut line = format!("{}{}", PREFIXES[prefix](rank), of_kind.replace('@', &format!("{step:4}")));
            for number in numbers {
                // The first lines are complete, so that later ones can be like them.
                line = line.replacen('#', if count < 2 { "7.5" } else { &number }, 1);
            }
            match damage {
                0 => line = line.replacen("loss", "lm loss", 1),
                1 => line = line.replacen("iteration ", "iteration 3/ 100 | iteration ", 1),
                2 => line = line.replacen(": ", ":   ", 3),
                3 => line = line.replacen('l', "\x1b[31ml\x1b[0m", 1),
                4 => line = line.replacen('[', "[[0m", 1),
                5 => line.push('\r'),
                6 => line += "\nsequence_length ........ 4096",
                7 => line.insert_str(0, "(after 1 iterations) memory (MB) | allocated: 18598.75 | "),
                8 => line = line.replacen("100", "10000000000000000000000", 1),
                16 => line = line.replacen('7', "\x1b[m7", 2),
                17 => line = line.replacen(' ', " -", 2),
                18 => line = line.replacen(": ", ": -", 2),
                _ => {}
            }
            let mut line = line.into_bytes();
            let at = usize::from(at) % line.len();
            match damage {
                10 => line.truncate(at),
                11 => line[at] = byte,
                12 => line.insert(at, byte),
                13 => drop(line.drain(..at)),
                14 => drop(line.remove(at)),
                _ => {}
            }
            log.extend_from_slice(&line);
            // The last line may be cut, and another one may begin in the middle of a line.
            if damage != 15 {
                log.push(b'\n');
            }
        }
        log
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn lines_that_are_alike_say_what_each_says(log in alike(), mean in any::<bool>()) {
        let ranks = if mean { RankRule::Mean } else { RankRule::Slowest };
        for format in std::iter::once(None).chain(Format::all().map(Some)) {
            any_log::same_line_by_line(&log, &Options { format, ranks, ..Options::default() });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_a_log_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        any_log::log(&bytes);
    }

    #[test]
    fn damaged_lines_have_no_impossible_figures(recipe in proptest::collection::vec(any::<u8>(), 4..80)) {
        any_log::log(&any_log::damaged(&recipe));
    }

    #[test]
    fn any_bytes_are_a_record_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        any_log::record(&bytes);
    }

    #[test]
    fn a_changed_record_is_one_or_an_error(changes in proptest::collection::vec((any::<u16>(), any::<u8>()), 0..4)) {
        let mut bytes = RECORD.as_bytes().to_vec();
        for (at, byte) in changes {
            let at = usize::from(at) % bytes.len();
            bytes[at] = byte;
        }
        any_log::record(&bytes);
    }
}

/// With colours, the second line reads `…mory (MB) |`: the last letter of the escape sequence and the text
/// after it.
#[test]
fn the_last_letter_of_a_colour_is_no_part_of_a_word() {
    let [first, memory] =
        [any_log::LINES[0], "emory (MB) | iteration 49/49 | elapsed time: 1 | loss: 11.96\n"];
    any_log::log(format!("{first}{memory}").as_bytes());
    any_log::log(format!("{first}\x1b[3{memory}").as_bytes());
}

#[test]
fn lines_as_they_are_printed_are_read() {
    any_log::record(RECORD.as_bytes());
    for line in 0..any_log::LINES.len() - 1 {
        let log = any_log::damaged(&[u8::try_from(line).expect("few lines"), 0, 0, 0]);
        any_log::log(&log);
        runs::extract::from_reader(&log[..], &Default::default())
            .unwrap_or_else(|error| panic!("{error} of line {line}"));
    }
}
