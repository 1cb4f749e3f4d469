//! Comparisons of made-up runs with known answers, and of result files of both vendors with independently
//! computed figures.

use std::path::Path;

use serde_json::json;
use test_skip::{Lack, skip};

use super::*;
use crate::record::Sample;

/// Steps around a time, with a little noise that repeats.
fn times(seconds: f64, count: usize) -> Vec<f64> {
    (0..count).map(|i| seconds * (1.0 + 0.01 * ((i * 7919) % 13) as f64 / 13.0)).collect()
}

/// A run of MI300X or H100, from its parts in JSON.
fn record(changes: serde_json::Value) -> Record {
    let mut value = json!({
        "platform": "amd",
        "gpu_info": { "device_count": 8, "device_name": "AMD Instinct MI300X", "gpu_cores": 19456, "total_memory_gb": 206.14 },
        "timestamp": "2026-02-02T15:28:08",
        "training_config": { "global_batch_size": 64, "micro_batch_size": 1, "sequence_length": 2048, "num_gpus": 8, "precision": "bf16" },
        "model_info": { "name": "llama-3.1-8b" },
        "memory_metrics": { "peak_memory_allocated_gb": 100.0, "peak_memory_reserved_gb": 120.0 },
    });
    merge(&mut value, changes);
    let mut record: Record = serde_json::from_value(value).expect("a record");
    if record.step_times.is_empty() {
        record.step_times = times(2.0, 101);
    }
    record
}

fn merge(into: &mut serde_json::Value, changes: serde_json::Value) {
    match (into, changes) {
        (serde_json::Value::Object(into), serde_json::Value::Object(changes)) => {
            for (key, value) in changes {
                merge(into.entry(key).or_insert(serde_json::Value::Null), value);
            }
        }
        (into, changes) => *into = changes,
    }
}

fn pair(a: Record, b: Record) -> Vec<(String, Record)> {
    vec![("a".to_owned(), a), ("b".to_owned(), b)]
}

fn close(actual: Option<Estimate>, expected: f64) {
    let actual = actual.expect("a figure").value;
    assert!((actual / expected - 1.0).abs() < 1e-9, "{actual} is not {expected}");
}

#[test]
fn a_run_of_half_the_time_is_twice_as_fast() {
    let slow = record(json!({ "step_times": times(4.0, 101) }));
    let comparison = compare(&pair(slow, record(json!({}))), &Options::default()).expect("compares");
    let [speedup] = comparison.speedups.as_slice() else { panic!("one speed-up") };
    for ratio in [speedup.per_gpu, speedup.per_node, speedup.step] {
        let Estimate { value, low: Some(low), high: Some(high) } = ratio.expect("known") else {
            panic!("no interval")
        };
        assert!(
            (value - 2.0).abs() < 1e-9 && low <= value && value <= high && high - low < 0.02,
            "{value} {low} {high}"
        );
    }
    assert_eq!(speedup.verdict(), Verdict::Faster);
    assert_eq!(comparison.warnings, Vec::new());
}

#[test]
fn a_run_is_neither_faster_nor_slower_than_itself() {
    let comparison =
        compare(&pair(record(json!({})), record(json!({}))), &Options::default()).expect("compares");
    assert_eq!(comparison.speedups[0].verdict(), Verdict::Same);
    let short = record(json!({ "step_times": [2.0, 2.0, 2.0] }));
    let comparison = compare(&pair(short.clone(), short), &Options::default()).expect("compares");
    assert_eq!(comparison.speedups[0].verdict(), Verdict::Unknown);
}

#[test]
fn figures_per_gpu_and_per_node_count_gpus() {
    let two_nodes = record(
        json!({ "training_config": { "num_gpus": 16, "global_batch_size": 128 }, "gpu_info": { "device_count": 16 } }),
    );
    let comparison = compare(&pair(record(json!({})), two_nodes), &Options::default()).expect("compares");
    let [one, two] = comparison.runs.as_slice() else { panic!("two runs") };
    let step = one.figure("step_seconds").expect("known").value;
    close(one.figure("tokens_per_second"), 131_072.0 / step);
    close(one.figure("tokens_per_second_per_node"), 131_072.0 / step);
    close(two.figure("tokens_per_second"), 262_144.0 / step);
    close(two.figure("tokens_per_second_per_node"), 131_072.0 / step);
    close(comparison.speedups[0].per_gpu, 1.0);
    assert!(two.notes.iter().any(|note| note.contains("a node is taken to have 8 GPUs")), "{:?}", two.notes);
    let kinds: Vec<_> = comparison.warnings.iter().map(|warning| (warning.kind, warning.differs)).collect();
    assert_eq!(kinds, [("global_batch_size", true), ("gpus", true)]);
    let [scaling] = comparison.scaling.as_slice() else { panic!("one group") };
    assert_eq!((scaling.kind, scaling.steps.len()), ("weak", 2));
    assert!((scaling.steps[1].efficiency - 1.0).abs() < 1e-9);
    let four = Options { gpus_per_node: Some(4), ..Options::default() };
    let comparison = compare(&[("a".to_owned(), record(json!({})))], &four).expect("compares");
    close(comparison.runs[0].figure("tokens_per_second_per_node"), 65_536.0 / step);
}

#[test]
fn strong_scaling_keeps_the_batch() {
    let more = record(json!({ "training_config": { "num_gpus": 32 }, "step_times": times(1.0, 101) }));
    let comparison = compare(&pair(more, record(json!({}))), &Options::default()).expect("compares");
    let scaling = &comparison.scaling[0];
    assert_eq!((scaling.kind, scaling.steps[0].gpus, scaling.steps[1].gpus), ("strong", 8, 32));
    assert!((scaling.steps[1].efficiency - 0.5).abs() < 1e-9, "four times the GPUs, twice as fast");
}

/// MFU from parameters: 6N and attention, relative to the peak of the data sheet.
#[test]
fn mfu_is_by_the_peak_of_the_precision() {
    let comparison = compare(&[("a".to_owned(), record(json!({})))], &Options::default()).expect("compares");
    let run = &comparison.runs[0];
    let rate = run.figure("tokens_per_second_per_gpu").expect("known").value;
    // Llama 3.1 8B without embedding and norms, and 12·L·h·s.
    let flops = 6.0 * (8_030_261_248.0 - 128_256.0 * 4096.0 - 65.0 * 4096.0) + 12.0 * 32.0 * 4096.0 * 2048.0;
    close(run.figure("tflops_per_gpu_full"), rate * flops / 1e12);
    close(run.figure("mfu_full"), rate * flops / 1307.4e12);
    let f8 = record(json!({ "training_config": { "precision": "fp8" } }));
    let comparison = compare(&[("a".to_owned(), f8)], &Options::default()).expect("compares");
    close(comparison.runs[0].figure("mfu_full"), rate * flops / 2614.9e12);
    let unknown =
        record(json!({ "training_config": { "precision": null }, "model_info": { "name": "secret" } }));
    let run =
        compare(&[("a".to_owned(), unknown.clone())], &Options::default()).expect("compares").runs.remove(0);
    assert_eq!(run.figure("mfu"), None);
    assert!(run.notes.iter().any(|note| note.contains("no shape of a model")), "{:?}", run.notes);
    let named = Options { model: Some("mixtral".to_owned()), ..Options::default() };
    let run = compare(&[("a".to_owned(), unknown)], &named).expect("compares").runs.remove(0);
    assert!(
        run.figure("mfu").is_some() && run.notes.iter().any(|note| note.contains("peak of bf16")),
        "{:?}",
        run.notes
    );
}

#[test]
fn a_virtual_gpu_has_no_mfu() {
    let run = compare(&[("a".to_owned(), record(json!({ "platform": "virtual" })))], &Options::default())
        .expect("compares")
        .runs
        .remove(0);
    assert!(
        run.figure("tflops_per_gpu").is_some()
            && run.figure("mfu").is_none()
            && run.figure("joules_per_token").is_none()
    );
    assert!(run.notes.contains(&"no MFU: a virtual GPU has no peak".to_owned()), "{:?}", run.notes);
}

#[test]
fn cost_energy_and_carbon_follow_from_what_is_given() {
    let options = Options {
        prices: vec![(None, 4.0), (Some("b".to_owned()), 2.0)],
        watts: vec![(Some("b".to_owned()), 500.0)],
        pue: Assumption::given(1.2),
        carbon: Assumption::given(100.0),
        ..Options::default()
    };
    let comparison = compare(&pair(record(json!({})), record(json!({}))), &options).expect("compares");
    let [a, b] = comparison.runs.as_slice() else { panic!("two runs") };
    let rate = a.figure("tokens_per_second").expect("known").value;
    close(a.figure("dollars_per_million_tokens"), 8.0 * 4.0 / 3600.0 / rate * 1e6);
    close(b.figure("dollars_per_trillion_tokens"), 8.0 * 2.0 / 3600.0 / rate * 1e12);
    // The TDP of MI300X, and the given power.
    close(a.figure("joules_per_token"), 750.0 * 8.0 * 1.2 / rate);
    close(b.figure("joules_per_token"), 500.0 * 8.0 * 1.2 / rate);
    close(b.figure("kwh_per_million_tokens"), 500.0 * 8.0 * 1.2 / rate / 3.6);
    close(b.figure("co2_grams_per_million_tokens"), 500.0 * 8.0 * 1.2 / rate / 3.6 * 100.0);
    assert!(a.watts.as_ref().is_some_and(|watts| watts.source.contains("TDP")));
    assert_eq!(b.price.as_ref().map(|price| price.source.as_str()), Some("given"));
}

#[test]
fn measured_power_is_weighted_by_time() {
    let sample = |seconds, gpu, watts| Sample { seconds, gpu, power_watts: Some(watts), ..Sample::default() };
    let telemetry = vec![
        sample(0.0, 0, 600.0),
        sample(10.0, 0, 600.0),
        sample(11.0, 0, 200.0),
        sample(0.0, 1, 300.0),
        sample(10.0, 1, 300.0),
        Sample { seconds: 5.0, ..Sample::default() },
    ];
    let run = Record { telemetry, ..record(json!({})) };
    let comparison = compare(&[("a".to_owned(), run)], &Options::default()).expect("compares");
    let first = (10.0 * 600.0 + 400.0) / 11.0;
    close(comparison.runs[0].figure("watts_per_gpu"), f64::midpoint(first, 300.0));
    assert!(comparison.runs[0].watts.as_ref().is_some_and(|watts| watts.source.contains("measured")));
}

#[test]
fn what_differs_is_told_with_its_values() {
    let other = record(json!({
        "training_config": { "sequence_length": 8192, "precision": "fp8", "micro_batch_size": 2, "global_batch_size": null },
        "parallelism_config": { "tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 1 },
        "model_info": { "name": "mixtral-8x7b" },
    }));
    let base = record(
        json!({ "parallelism_config": { "tensor_model_parallel_size": 1, "pipeline_model_parallel_size": 1 } }),
    );
    let comparison = compare(&pair(base, other), &Options::default()).expect("compares");
    let texts: Vec<String> = comparison.warnings.iter().map(Warning::text).collect();
    for (kind, differs, part) in [
        ("model", true, "the model differs: a llama-3.1-8b, b mixtral-8x7b."),
        ("sequence_length", true, "the sequence length differs: a 2048, b 8192."),
        ("global_batch_size", false, "the global batch size is not recorded by all: a 64, b not recorded."),
        ("micro_batch_size", true, "a 1, b 2"),
        ("precision", true, "the precision differs: a bf16, b f8."),
        ("tensor_parallel", true, "tensor parallelism differs: a 1, b 2."),
    ] {
        let found =
            comparison.warnings.iter().position(|warning| warning.kind == kind && warning.differs == differs);
        assert!(
            texts[found.unwrap_or_else(|| panic!("{kind} in {texts:?}"))].contains(part),
            "{part} in {texts:?}"
        );
    }
    assert!(!comparison.warnings.iter().any(|warning| warning.kind == "pipeline_parallel"), "{texts:?}");
}

#[test]
fn losses_are_compared_where_as_many_tokens_were_seen() {
    // The loss only depends on tokens; the second run has twice the batch and a tenth more loss at each
    // point.
    let loss = |tokens: f64| 10.0 / (1.0 + tokens / 1e6);
    let with = |batch: u64, steps: u64, shift: f64| {
        let losses: Vec<f64> = (1..=steps).map(|step| loss((step * batch * 2048) as f64) + shift).collect();
        record(json!({ "training_config": { "global_batch_size": batch }, "loss_values": losses }))
    };
    let comparison =
        compare(&pair(with(64, 200, 0.0), with(128, 80, 0.1)), &Options::default()).expect("compares");
    let losses = comparison.losses.expect("losses");
    assert_eq!(losses.tokens, (80 * 128 * 2048) as f64, "the shorter run's end");
    let [distance] = losses.distances.as_slice() else { panic!("one distance") };
    for value in [distance.mean, distance.mean_absolute, distance.end] {
        assert!((value - 0.1).abs() < 0.01, "{distance:?}");
    }
    for point in &losses.points[1..] {
        assert!((point.losses[0] / loss(point.tokens) - 1.0).abs() < 0.02, "{point:?}");
    }
    let with_hole = record(json!({ "loss_values": [3.0, null, 1.0, null] }));
    let comparison = compare(&pair(with_hole.clone(), with_hole), &Options::default()).expect("compares");
    assert_eq!(comparison.losses.expect("losses").distances[0].largest, 0.0);
}

#[test]
fn measurements_are_matched_by_group_and_name() {
    let with = |seconds: f64| {
        record(json!({ "measurements": [
            { "group": "gemm", "name": "4096 bf16", "seconds": times(seconds, 20), "flops": 137_438_953_472.0, "bytes": 100_663_296.0 },
            { "group": format!("only-{seconds}"), "name": "x", "seconds": [1.0] },
        ] }))
    };
    let comparison = compare(&pair(with(2e-4), with(1e-4)), &Options::default()).expect("compares");
    assert_eq!(comparison.measurements.len(), 3);
    let gemm = &comparison.measurements[0];
    assert!((gemm.speedups[1].expect("matched").value - 2.0).abs() < 1e-9);
    let [Some(slow), Some(fast)] = gemm.runs.as_slice() else { panic!("both runs") };
    close(fast.tflops, slow.tflops.expect("counted").value * 2.0);
    close(slow.gb_per_second, 100_663_296.0 / slow.seconds.value / 1e9);
    assert_eq!(slow.intensity.map(f64::round), Some(1365.0));
    assert_eq!(comparison.measurements[1].speedups, [Some(Estimate::exact(1.0)), None]);
}

#[test]
fn bad_options_are_refused() {
    let records = pair(record(json!({})), record(json!({})));
    let refused = |options: Options| compare(&records, &options).expect_err("refused").to_string();
    assert_eq!(compare(&[], &Options::default()), Err(Error::Nothing));
    assert_eq!(
        refused(Options { baseline: 2, ..Options::default() }),
        "the baseline is run 3, but the number of runs is 2"
    );
    let price = |label: Option<&str>, value| Options {
        prices: vec![(label.map(str::to_owned), value)],
        ..Options::default()
    };
    assert_eq!(refused(price(Some("c"), 1.0)), "no run is called `c`; the runs are a, b");
    assert_eq!(refused(price(None, f64::NAN)), "a price must be a positive number, not NaN");
    assert_eq!(
        refused(Options { pue: Assumption::given(0.0), ..Options::default() }),
        "PUE must be a positive number, not 0"
    );
    let model = refused(Options { model: Some("gpt-9".to_owned()), ..Options::default() });
    assert!(model.starts_with("no model is called `gpt-9`; known models are llama-2-7b, "), "{model}");
    let twice = vec![("a".to_owned(), record(json!({}))), ("a".to_owned(), record(json!({})))];
    assert_eq!(compare(&twice, &Options::default()), Err(Error::Label("a".to_owned())));
}

#[test]
fn records_that_say_nothing_have_notes_and_no_figures() {
    let comparison =
        compare(&pair(Record::default(), Record::default()), &Options::default()).expect("compares");
    assert!(comparison.runs.iter().all(|run| run.figures.is_empty() && !run.notes.is_empty()));
    assert_eq!(comparison.speedups[0].main(), None);
    let stated =
        record(json!({ "step_times": [null], "performance_metrics": { "avg_step_time_seconds": 2.0 } }));
    let run = compare(&[("a".to_owned(), stated)], &Options::default()).expect("compares").runs.remove(0);
    assert_eq!(run.figure("step_seconds"), Some(Estimate::exact(2.0)));
    assert!(run.notes.iter().any(|note| note.contains("no step times")), "{:?}", run.notes);
}

/// The result files of both vendors, if they are next to the checkout.
fn originals(names: &[&str]) -> Option<Vec<(String, Record)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/training");
    if !folder.is_dir() {
        skip(Lack::Data, format_args!("there is no {}", folder.display()));
        return None;
    }
    let read = |name: &&str| {
        let text = std::fs::read(folder.join(format!("{name}.json"))).expect("the file");
        ((*name).to_owned(), serde_json::from_slice(&text).expect("a record"))
    };
    Some(names.iter().map(read).collect())
}

/// Medians, deviations and counts are from Python's `statistics` for the same steps.
#[test]
fn figures_of_the_original_runs_are_those_computed_elsewhere() {
    let Some(records) = originals(&["train_nvd_nemo_llama", "train_amd_prim_llama"]) else { return };
    let options = Options { model: Some("llama-3.1-8b".to_owned()), ..Options::default() };
    let comparison = compare(&records, &options).expect("compares");
    let [nvidia, amd] = comparison.runs.as_slice() else { panic!("two runs") };
    assert_eq!(
        (nvidia.steps.warmup, nvidia.steps.seconds.len(), amd.steps.warmup, amd.steps.seconds.len()),
        (8, 492, 2, 498)
    );
    for (run, key, expected) in [
        (amd, "step_seconds", 2.36005),
        (amd, "step_seconds_mean", 2.429_211_445_783_133),
        (amd, "tokens_per_second_per_gpu", 6_942.225_800_300_84),
        (amd, "tflops_per_gpu", 323.780897213127),
        (amd, "mfu", 323.780897213127 / 1307.4),
        (amd, "variation", 0.051_954_227_389_602),
        (amd, "stragglers", 24.0),
        (amd, "drift", -0.067_320_287_381_294),
        (nvidia, "step_seconds", 3.20762),
        (nvidia, "step_seconds_mean", 3.241_112_784_552),
        (nvidia, "tokens_per_second_per_gpu", 5_107.836_963_231),
        (nvidia, "mfu", 238.226_194_645_201 / 989.4),
        (nvidia, "variation", 0.045_724_001_532_762),
        (nvidia, "stragglers", 22.0),
    ] {
        close(run.figure(key), expected);
    }
    // The recorded mean counts steps that this comparison leaves out; see `docs/use/bench-compare.md`.
    let slow: Vec<f64> = nvidia.steps.all[1..8].iter().map(|step| step / 3.20762).collect();
    assert!(slow.iter().all(|times| (3.0..6.0).contains(times)), "{slow:?}");
    let speedup = comparison.speedups[0].per_gpu.expect("known");
    assert!(
        (speedup.value - 1.359132221774962).abs() < 1e-9
            && comparison.speedups[0].verdict() == Verdict::Faster
    );
    assert!(
        speedup.low.is_some_and(|low| low > 1.3) && speedup.high.is_some_and(|high| high < 1.4),
        "{speedup:?}"
    );
    // Both had the same batch, length and parallelism; neither records its precision.
    let told: Vec<_> = comparison.warnings.iter().map(|warning| (warning.kind, warning.differs)).collect();
    assert_eq!(told, [("precision", false)]);
    assert!(comparison.losses.is_some());
}

#[test]
fn the_original_whose_length_contradicts_its_throughput_is_told() {
    let Some(records) = originals(&["benchmark_cuda_llama", "benchmark_rocm_llama"]) else { return };
    let comparison = compare(&records, &Options::default()).expect("compares");
    let [cuda, rocm] = comparison.runs.as_slice() else { panic!("two runs") };
    let kinds = |run: &Run| run.findings.iter().map(|finding| finding.kind.clone()).collect::<Vec<_>>();
    assert_eq!(kinds(cuda), ["total-exceeds-steps"]);
    assert_eq!(kinds(rocm), ["tokens-contradict-batch", "cores-contradict-device"]);
    let finding = &rocm.findings[0];
    assert!(finding.text.contains("107400.711") && finding.text.contains("26849.5"), "{}", finding.text);
    let differing: Vec<_> =
        comparison.warnings.iter().filter(|warning| warning.differs).map(|warning| warning.kind).collect();
    assert_eq!(differing, ["sequence_length", "global_batch_size"]);
}

/// The same records and options give the same comparison, because resampling uses a seed.
#[test]
fn comparisons_can_be_repeated() {
    let records = pair(record(json!({})), record(json!({ "step_times": times(2.1, 101) })));
    let options = Options { center: Center::Mean, ..Options::default() };
    let once = compare(&records, &options).expect("compares");
    assert_eq!(once, compare(&records, &options).expect("compares"));
    let other = compare(&records, &Options { seed: 1, ..options }).expect("compares");
    assert_ne!(once.speedups[0].per_gpu, other.speedups[0].per_gpu);
}

/// Memory figures of different kinds have separate rows, and the share refers to one kind that all runs have.
#[test]
fn memory_of_different_kinds_is_told_apart() {
    let of = |memory: serde_json::Value| record(json!({ "memory_metrics": memory }));
    let both = of(json!({ "peak_memory_allocated_gb": 100.0, "peak_memory_reserved_gb": 120.0 }));
    let allocated = of(json!({ "peak_memory_allocated_gb": 90.0, "peak_memory_reserved_gb": null }));
    let comparison = compare(&pair(both.clone(), allocated), &Options::default()).expect("compares");
    close(comparison.runs[0].figure("memory_share"), 100.0 / 206.14);
    close(comparison.runs[1].figure("memory_share"), 90.0 / 206.14);
    assert!(comparison.warnings.is_empty(), "{:?}", comparison.warnings);

    let used = of(
        json!({ "peak_memory_allocated_gb": null, "peak_memory_reserved_gb": null, "peak_memory_used_gb": 150.0 }),
    );
    let comparison = compare(&pair(both.clone(), used), &Options::default()).expect("compares");
    assert_eq!(comparison.runs[0].memory, [MemoryKind::Reserved, MemoryKind::Allocated]);
    assert_eq!(comparison.runs[1].memory, [MemoryKind::Used]);
    let [warning] = comparison.warnings.as_slice() else { panic!("{:?}", comparison.warnings) };
    assert!(warning.text().contains("a reserved and allocated, b in use on the GPU."), "{}", warning.text());
    close(comparison.runs[1].figure("memory_used_gb"), 150.0);
    assert_eq!(comparison.runs[0].figure("memory_used_gb"), None);
    for (run, kind) in
        comparison.runs.iter().zip(["that the allocator reserved", "in use on the GPU by all programs"])
    {
        assert!(run.notes.iter().any(|note| note.ends_with(kind)), "{:?}", run.notes);
    }
    let same = compare(&pair(both.clone(), both), &Options::default()).expect("compares");
    assert!(same.warnings.is_empty(), "{:?}", same.warnings);
}

/// What extraction says about derived times reaches the report, once.
#[test]
fn times_that_were_derived_or_averaged_are_told() {
    let derived = record(json!({ "performance_metrics": {
        "step_time_source": "global batch ÷ sequences per second", "steps_per_row": 10 },
        "loss_values": (0..101).map(|i| 10.0 / f64::from(i + 1)).collect::<Vec<_>>() }));
    let measured =
        record(json!({ "loss_values": (0..1010).map(|i| 10.0 / f64::from(i / 10 + 1)).collect::<Vec<_>>(),
        "step_times": times(2.0, 1010) }));
    let comparison = compare(&pair(measured, derived.clone()), &Options::default()).expect("compares");
    let kinds: Vec<_> = comparison.warnings.iter().map(|warning| warning.kind).collect();
    assert_eq!(kinds, ["step_time_source", "steps_per_row", "steps"]);
    let notes = comparison.runs[1].notes.join("\n");
    assert!(notes.contains("not measured: they are global batch ÷ sequences per second"), "{notes}");
    assert!(notes.contains("the mean of 10 steps"), "{notes}");
    // A row of ten steps has the tokens of ten.
    assert_eq!(comparison.losses.expect("losses").tokens, 1010.0 * 64.0 * 2048.0);

    // Extraction has already reported it in findings.
    let mut told = derived;
    for kind in ["step-times-derived", "step-times-averaged"] {
        told.findings.push(crate::record::Finding { kind: kind.to_owned(), ..Default::default() });
    }
    let run = compare(&[("a".to_owned(), told)], &Options::default()).expect("compares").runs.remove(0);
    assert!(
        !run.notes.iter().any(|note| note.contains("mean of 10") || note.contains("not measured")),
        "{:?}",
        run.notes
    );
    assert_eq!(run.findings.len(), 2);
}

/// A ratio based on a self-contradicting record says so; step times of different work get no percentage.
#[test]
fn a_report_doubts_what_contradicts_itself_and_compares_like_with_like() {
    let contradicting = record(
        json!({ "performance_metrics": { "tokens_per_second": 262_144.0, "avg_step_time_seconds": 2.01 } }),
    );
    let larger =
        record(json!({ "training_config": { "global_batch_size": 128 }, "step_times": times(4.0, 101) }));
    let comparison = compare(&pair(record(json!({})), contradicting), &Options::default()).expect("compares");
    let text = crate::report::terminal(&comparison);
    assert!(
        text.lines().next().is_some_and(|line| line.contains("Do not rely on it: what b records")),
        "{text}"
    );
    let silent =
        record(json!({ "training_config": { "sequence_length": null }, "step_times": times(1.0, 101) }));
    let comparison = compare(&pair(record(json!({})), silent), &Options::default()).expect("compares");
    let text = crate::report::terminal(&comparison);
    let first = text.lines().next().expect("a line");
    assert!(first.starts_with("b is 2.000 times as fast as a by the time of a step"), "{text}");
    assert!(first.ends_with("faster. Whether their steps are of equal work is not known."), "{text}");
    let comparison = compare(&pair(record(json!({})), larger), &Options::default()).expect("compares");
    let text = crate::report::terminal(&comparison);
    let row = text.lines().find(|line| line.contains("time of a step (s)")).expect("a row");
    assert!(!row.contains('%') && !text.contains("Do not rely"), "{text}");
    let row = text.lines().find(|line| line.contains("coefficient of variation")).expect("a row");
    assert!(row.ends_with(" points"), "{row}");
}

/// Training settings are not asked of records of `ferrocm bench run`, which have no steps.
#[test]
fn records_of_measurements_alone_are_not_asked_what_they_trained_with() {
    let measured = |seconds: f64| -> Record {
        serde_json::from_value(json!({
            "platform": "amd",
            "gpu_info": { "device_count": 1, "device_name": "AMD Instinct MI300X" },
            "measurements": [{ "group": "gemm", "name": "64x64x64 f32", "seconds": [seconds, seconds, seconds], "flops": 524_288.0 }],
        }))
        .expect("a record")
    };
    let comparison = compare(&pair(measured(2e-4), measured(1e-4)), &Options::default()).expect("compares");
    let text = crate::report::terminal(&comparison);
    assert!(text.starts_with("b and a have no speed of training in common."), "{text}");
    assert!(!text.contains("not recorded") && !text.contains("recorded by any run"), "{text}");
    let row = text.lines().find(|line| line.contains("gemm: 64x64x64 f32")).expect("a row");
    assert!(row.contains("2.62 GFLOP/s") && row.ends_with("5.24 GFLOP/s  ×2.000"), "{row}");
}
