//! Lines of real runs from a folder next to the checkout. Without it, each test reports that it is skipped.

use runs::extract::{self, Extraction, Format, Options};

/// The lines below a comment of the file.
fn lines(comment: &str) -> Option<String> {
    let path = crate::seed::folder()?.join("log_lines.txt");
    let text = std::fs::read_to_string(path).expect("the lines");
    let (_, after) = text.split_once(&format!("# {comment}")).unwrap_or_else(|| panic!("no {comment}"));
    let (_, after) = after.split_once('\n').expect("a line");
    Some(after.split("\n#").next().expect("a part").to_owned() + "\n")
}

fn read(text: &str) -> Extraction {
    let extraction = extract::from_reader(text.as_bytes(), &Options::default())
        .unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!((extraction.matched, extraction.ignored_count), (1, 0), "{:?}", extraction.ignored);
    extraction
}

#[test]
fn primus() {
    let Some(text) = lines("Primus") else { return };
    let extraction = read(&text);
    assert_eq!(extraction.format, Format::Primus);
    let record = &extraction.record;
    assert_eq!(record.step_times, [13.3728]);
    assert_eq!(
        (&record.loss_values[..], &record.learning_rates[..], &record.grad_norms[..]),
        (&[6.548988e-3][..], &[9.984820e-6][..], &[0.061][..])
    );
    assert_eq!(
        (record.training_config.global_batch_size, record.training_config.max_steps),
        (Some(128), Some(5000))
    );
    assert_eq!(
        (record.training_config.num_gpus, record.timestamp.as_str()),
        (Some(8), "2025-12-02T09:12:08")
    );
    let performance = &record.performance_metrics;
    assert_eq!(
        (performance.tokens_per_second_per_gpu, performance.tokens_per_second),
        (Some(9801.4), Some(9801.4 * 8.0))
    );
    assert_eq!(performance.tflops_per_gpu.map(|tflops| (tflops * 10.0).round()), Some(5676.0));
    // This program calls 2³⁰ bytes GB.
    let memory = record.memory_metrics.as_ref().expect("memory");
    assert_eq!(
        (memory.peak_memory_used_gb, memory.peak_memory_allocated_gb),
        (Some(153.81 * 1_073_741_824.0 / 1e9), None)
    );
    assert_eq!(record.gpu_info.total_memory_gb, Some(255.98 * 1_073_741_824.0 / 1e9));
    // 9801.4 × 8 × 13.3728 s ÷ 128 sequences.
    let length =
        record.findings.iter().find(|finding| finding.kind == "sequence-length-unknown").expect("a finding");
    assert!((length.derived.expect("a length") - 8192.0).abs() < 1.0, "{length:?}");
    assert_eq!(
        (record.training_config.sequence_length, record.platform),
        (None, runs::record::Platform::Amd)
    );
}

#[test]
fn megatron_without_an_average() {
    let Some(text) = lines("raw Megatron") else { return };
    let extraction = read(&text);
    assert_eq!((extraction.format, &extraction.record.step_times[..]), (Format::Megatron, &[6.0466][..]));
}

#[test]
fn nemo() {
    let Some(text) = lines("NeMo") else { return };
    let record = read(&text).record;
    assert_eq!(
        (&record.step_times[..], &record.loss_values[..], &record.learning_rates[..]),
        (&[12.39][..], &[11.96][..], &[7.496e-6][..])
    );
    assert_eq!(
        (record.training_config.global_batch_size, record.training_config.max_steps),
        (Some(128), Some(50))
    );
    let memory = record.memory_metrics.expect("memory");
    assert_eq!(
        (memory.peak_memory_reserved_gb, memory.avg_memory_allocated_gb),
        (Some(70.833_405_952), Some(44.271_689_728))
    );
}

#[test]
fn torchtitan() {
    let Some(text) = lines("torchtitan") else { return };
    let record = read(&text).record;
    assert_eq!((&record.loss_values[..], &record.grad_norms[..]), (&[7.0][..], &[1.0][..]));
    let performance = &record.performance_metrics;
    assert_eq!(
        (performance.tokens_per_second_per_gpu, performance.tflops_per_gpu),
        (Some(1000.0), Some(400.0))
    );
    // Neither batch nor length nor GPUs are in the line, so no time follows.
    assert!(record.step_times.is_empty());
    assert_eq!(
        record.memory_metrics.expect("memory").peak_memory_reserved_gb,
        Some(50.0 * 1_073_741_824.0 / 1e9)
    );
}

#[test]
fn maxtext() {
    let Some(text) = lines("MaxText") else { return };
    let record = read(&text).record;
    assert_eq!((&record.step_times[..], &record.loss_values[..]), (&[5.018][..], &[10.172][..]));
    let performance = &record.performance_metrics;
    assert_eq!(performance.tokens_per_second_per_gpu.map(|tokens| (tokens * 1e3).round()), Some(6_529_527.0));
    assert_eq!(performance.tflops_per_gpu.map(|tflops| (tflops * 1e3).round()), Some(107_127.0));
}
