use serde_json::json;

use super::*;

/// A record without contradictions.
fn sound() -> serde_json::Value {
    json!({
        "platform": "amd",
        "gpu_info": {"device_count": 8, "device_name": "AMD Instinct MI300X", "gpu_cores": 19456, "compute_units": 304,
            "total_memory_gb": 206.1},
        "parallelism_config": {"strategy_name": "TP2_PP2", "tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 2,
            "data_parallel_size": 2, "gradient_accumulation_steps": 8},
        "training_config": {"global_batch_size": 16, "micro_batch_size": 1, "sequence_length": 4096, "num_gpus": 8},
        "model_info": {"parameters": 8.03e9},
        "performance_metrics": {"total_steps": 4, "total_time_seconds": 20.0, "avg_step_time_seconds": 4.0, "min_step_time_seconds": 3.9,
            "max_step_time_seconds": 4.1, "steps_per_second": 0.25, "tokens_per_second": 16384.0, "tokens_per_second_per_gpu": 2048.0,
            "throughput_per_gpu_core": 1.28495e-5, "tflops_per_gpu": 110.0},
        "step_times": [8.0, 3.9, 4.0, 4.1],
        "loss_values": [3.0, 2.0, 1.0, 0.5],
        "memory_metrics": {"avg_memory_allocated_gb": 100.0, "peak_memory_allocated_gb": 110.0, "peak_memory_reserved_gb": 120.0}
    })
}

fn kinds(value: &serde_json::Value) -> Vec<Finding> {
    findings(&Record::read(value.to_string().as_bytes()).expect("a record"))
}

#[test]
fn what_fits_has_no_findings() {
    assert_eq!(kinds(&sound()), []);
    assert_eq!(findings(&Record::default()), []);
}

#[test]
fn each_contradiction_is_found_alone_with_both_figures() {
    for (pointer, value, kind, stated, derived) in [
        (
            "/performance_metrics/tokens_per_second_per_gpu",
            json!(2100.0),
            "tokens-per-gpu-contradict-total",
            2100.0,
            2048.0,
        ),
        (
            "/performance_metrics/steps_per_second",
            json!(0.31),
            "steps-per-second-contradict-mean",
            0.31,
            0.25,
        ),
        ("/performance_metrics/avg_step_time_seconds", json!(5.0), "mean-contradicts-steps", 5.0, 4.0),
        ("/performance_metrics/min_step_time_seconds", json!(3.5), "min-contradicts-steps", 3.5, 3.9),
        ("/performance_metrics/max_step_time_seconds", json!(8.1), "max-contradicts-steps", 8.1, 4.1),
        ("/performance_metrics/total_time_seconds", json!(22.5), "total-exceeds-steps", 22.5, 20.0),
        ("/performance_metrics/total_time_seconds", json!(12.5), "total-below-steps", 12.5, 20.0),
        ("/performance_metrics/total_steps", json!(5), "step-count-contradicts-steps", 5.0, 4.0),
        (
            "/performance_metrics/throughput_per_gpu_core",
            json!(1.5e-5),
            "throughput-per-core-contradicts-cores",
            1.5e-5,
            0.25 / 19456.0,
        ),
        (
            "/performance_metrics/tflops_per_gpu",
            json!(500.0),
            "tflops-contradict-tokens",
            500.0,
            6.0 * 8.03e9 * 2048.0 / 1e12,
        ),
        ("/loss_values", json!([1.0, 2.0]), "series-lengths-differ", 2.0, 4.0),
        ("/gpu_info/device_name", json!("AMD Instinct MI355X"), "cores-contradict-device", 19456.0, 16384.0),
        ("/gpu_info/total_memory_gb", json!(141.0), "memory-contradicts-device", 141.0, 192.0),
        ("/gpu_info/compute_units", json!(228), "cores-contradict-compute-units", 19456.0, 14592.0),
        ("/gpu_info/device_count", json!(3), "gpu-counts-differ", 8.0, 3.0),
        (
            "/parallelism_config/gradient_accumulation_steps",
            json!(4),
            "batch-contradicts-parallelism",
            16.0,
            8.0,
        ),
        ("/parallelism_config/strategy_name", json!("TP2_PP4"), "strategy-contradicts-parallelism", 4.0, 2.0),
        ("/training_config/num_gpus", json!(16), "gpus-contradict-parallelism", 16.0, 8.0),
        ("/memory_metrics/avg_memory_allocated_gb", json!(115.0), "memory-contradicts-itself", 115.0, 110.0),
        ("/memory_metrics/peak_memory_reserved_gb", json!(300.0), "memory-contradicts-itself", 300.0, 206.1),
    ] {
        let mut record = sound();
        *record.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = value;
        let found: Vec<Finding> = kinds(&record).into_iter().filter(|finding| finding.kind == kind).collect();
        let [finding] = &found[..] else { panic!("{kind} is not found once: {:?}", kinds(&record)) };
        assert_eq!(finding.stated, Some(stated), "{finding:?}");
        assert!(
            (finding.derived.expect("a figure") / derived - 1.0).abs() < 1e-9,
            "{finding:?}, not {derived}"
        );
        // Further findings that follow from the changed value: the number of GPUs affects the tokens per GPU.
        let others = kinds(&record).len() - 1;
        let follows =
            ["gpus-contradict-parallelism", "cores-contradict-device", "cores-contradict-compute-units"];
        assert!(others == 0 || follows.contains(&kind), "{:?}", kinds(&record));
    }
}

#[test]
fn tokens_that_contradict_name_the_length_that_would_fit() {
    let mut record = sound();
    record["performance_metrics"]["tokens_per_second"] = json!(32768.0);
    record["performance_metrics"]["tokens_per_second_per_gpu"] = json!(4096.0);
    record["performance_metrics"]["tflops_per_gpu"] = json!(null);
    let found = kinds(&record);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        found[0].text,
        "tokens_per_second states 32768, and 16 × 4096 ÷ 4 s is 16384; a sequence length of 8192 would fit"
    );
}

#[test]
fn rounding_is_no_contradiction_and_one_digit_more_is() {
    let mut record = sound();
    record["step_times"] = json!([8.0, 3.9, 4.0, 4.1]);
    // The times may be off by 0.05 s each, so the mean may be 3.95 s to 4.05 s.
    for (rate, fits) in [(16181.5, false), (16182.0, true), (16591.0, true), (16592.5, false)] {
        record["performance_metrics"]["tokens_per_second"] = json!(rate);
        record["performance_metrics"]["tokens_per_second_per_gpu"] = json!(null);
        let found = kinds(&record);
        assert_eq!(found.is_empty(), fits, "{rate}: {found:?}");
    }
}

#[test]
fn a_name_with_two_sizes_fits_both_and_is_ambiguous_without_cores() {
    let mut record = sound();
    record["gpu_info"] = json!({"device_count": 8, "device_name": "AMD Instinct MI250X", "gpu_cores": 7040});
    record["performance_metrics"]["throughput_per_gpu_core"] = json!(null);
    assert_eq!(kinds(&record), []);
    record["gpu_info"]["gpu_cores"] = json!(14080);
    assert_eq!(kinds(&record), []);
    record["gpu_info"]["gpu_cores"] = json!(28160);
    assert!(
        kinds(&record)[0]
            .text
            .contains("7040 (MI250X (one die): 110 compute units) or 14080 (MI250X (package of two dies)"),
        "{:?}",
        kinds(&record)
    );
    record["gpu_info"] = json!({"device_name": "NVIDIA H100"});
    assert_eq!(kinds(&record)[0].kind, "device-name-ambiguous");
}

#[test]
fn figures_of_texts_have_six_digits() {
    for (value, text) in [
        (26849.5408, "26849.5"),
        (1.0, "1"),
        (107_400.711, "107400.7"),
        (0.000_037_1, "3.71000e-5"),
        (0.5, "0.5"),
    ] {
        assert_eq!(figure(value), text);
    }
}

/// The table in the documentation, the recomputed kinds and the kinds in the code are the same.
#[test]
fn every_kind_is_in_the_table() {
    let code = include_str!("../check.rs");
    let (documentation, code) = code.split_once("pub fn findings").expect("the function");
    for kind in KINDS {
        assert!(documentation.contains(&format!("`{kind}`")), "{kind} in the table");
    }
    let mut named = Vec::new();
    for line in documentation.lines().filter(|line| line.starts_with("/// | `")) {
        let first = line.trim_start_matches("/// | ").split(" | ").next().expect("a cell");
        named.extend(first.split(", ").map(|kind| kind.trim_matches('`')));
    }
    named.sort_unstable();
    assert_eq!(named, KINDS);
    // Each occurs in the code in addition to the list.
    for kind in KINDS {
        assert!(code.matches(&format!("\"{kind}\"")).count() >= 2, "{kind} is found by nothing");
    }
}

#[test]
fn findings_of_a_record_are_told_once() {
    let mut value = sound();
    value["performance_metrics"]["steps_per_second"] = json!(0.31);
    let mut record = Record::read(value.to_string().as_bytes()).expect("a record");
    record.findings = findings(&record);
    record.findings.push(Finding::remark("step-times-derived", "they are derived".to_owned()));
    record.findings.push(Finding::remark("time-is-no-time", "it does not hold".to_owned()));
    let kinds: Vec<String> = all_findings(&record).into_iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, ["step-times-derived", "steps-per-second-contradict-mean"]);
}

#[test]
fn tokens_are_checked_by_the_mean_where_there_are_no_steps() {
    let record = |rate: f64| {
        kinds(&json!({ "training_config": { "global_batch_size": 64, "sequence_length": 2048 },
            "performance_metrics": { "avg_step_time_seconds": 2.0, "tokens_per_second": rate } }))
    };
    assert_eq!(record(65536.0), []);
    let found = record(262_144.0);
    assert_eq!(
        (found.len(), found[0].kind.as_str(), found[0].derived),
        (1, "tokens-contradict-batch", Some(65536.0))
    );
}
