//! The fuzz target's properties on a stable toolchain.

use proptest::prelude::*;

use crate::any_log;

/// A record with values of every kind of field.
const RECORD: &str = r#"{"platform": "amd", "gpu_info": {"device_count": 8, "device_name": "AMD Instinct MI300X", "gpu_cores": 19456},
    "timestamp": "2026-03-02T10:00:00", "parallelism_config": {"strategy_name": "TP1_PP2", "data_parallel_size": 4},
    "training_config": {"global_batch_size": 64, "sequence_length": 2048, "num_gpus": 8, "seed": [1, {"a": NaN}]},
    "performance_metrics": {"total_steps": 3, "tokens_per_second": 53943.5, "steps_per_second": Infinity},
    "memory_metrics": {"peak_memory_allocated_gb": 117.99}, "step_times": [22.7, NaN, 2.5], "loss_values": [11.8, 11.5, -Infinity]}"#;

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

#[test]
fn lines_as_they_are_printed_are_read() {
    any_log::record(RECORD.as_bytes());
    for line in 0..any_log::LINES.len() - 1 {
        let log = any_log::damaged(&[u8::try_from(line).expect("few lines"), 0, 0, 0]);
        any_log::log(&log);
        bench::extract::from_reader(&log[..], &Default::default())
            .unwrap_or_else(|error| panic!("{error} of line {line}"));
    }
}
