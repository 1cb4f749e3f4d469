//! Damaged logs: nothing panics, and every resulting figure was in the log.

use runs::extract::{self, Options};

use crate::any_log;
use crate::formats::{kinds, megatron, read};

#[test]
fn cut_lines_have_only_their_whole_values() {
    let whole = megatron(2, 2345.6, 3.25);
    let around = |line: &str| megatron(1, 9000.0, 5.0) + line + "\n" + &megatron(3, 2000.0, 3.0);
    for cut in 1..whole.len() {
        let record = read(&around(&whole[..cut])).record;
        for seconds in &record.step_times {
            assert!([9.0, 2.3456, 2.0].contains(seconds), "{seconds} after {}", &whole[..cut]);
        }
        for loss in record.loss_values.iter().filter(|loss| !loss.is_nan()) {
            assert!([5.0, 3.25, 3.0].contains(loss), "{loss} after {}", &whole[..cut]);
        }
        for norm in record.grad_norms.iter().filter(|norm| !norm.is_nan()) {
            assert_eq!(*norm, 0.5, "after {}", &whole[..cut]);
        }
        assert_eq!(record.training_config.global_batch_size, Some(16), "after {}", &whole[..cut]);
    }
    // Lines that end with a number: it is cut if it has fewer decimals than in the other lines.
    let line = |step: u64, loss: &str| {
        format!("completed step: {step}, seconds: 2.500, Tokens/s/device: 100.000, loss: {loss}\n")
    };
    let log = line(0, "12.125") + &line(1, "11.125") + &line(2, "1") + &line(3, "10.12") + &line(4, "10.125");
    let extraction = read(&log);
    let losses: Vec<f64> =
        extraction.record.loss_values.iter().copied().filter(|loss| !loss.is_nan()).collect();
    assert_eq!(
        (losses, extraction.ignored_count),
        (vec![12.125, 11.125, 10.125], 2),
        "{:?}",
        extraction.ignored
    );
    assert_eq!(extraction.ignored[0].line, 3);
}

#[test]
fn a_line_in_another_one_costs_the_first() {
    let log = megatron(1, 9000.0, 5.0)
        + megatron(2, 2345.6, 3.25).split(" | lm loss").next().expect("a part")
        + &megatron(3, 2000.0, 3.0)
        + &megatron(4, 2000.0, 3.0);
    let extraction = read(&log);
    assert_eq!((&extraction.record.step_times[..], extraction.ignored_count), (&[9.0, 2.0, 2.0][..], 1));
    assert_eq!(
        (extraction.ignored[0].line, extraction.ignored[0].why.as_str()),
        (2, "cut by the line of another step")
    );
    assert!(kinds(&extraction.record).contains(&"steps-missing"));
}

#[test]
fn losses_that_are_no_numbers_are_missing_and_told() {
    let log = megatron(1, 9000.0, 5.0)
        + &megatron(2, 2000.0, 4.0).replace("4.000000E0", "nan")
        + &megatron(3, 2000.0, 3.0).replace("3.000000E0", "inf");
    let extraction = read(&log);
    assert_eq!(extraction.ignored_count, 2);
    let record = extraction.record;
    assert_eq!((record.step_times.len(), record.loss_values[0]), (3, 5.0));
    assert!(record.loss_values[1].is_nan() && record.loss_values[2].is_nan());
    assert!(
        kinds(&record).contains(&"loss-is-no-number") && kinds(&record).contains(&"values-ignored"),
        "{:?}",
        record.findings
    );
    let written = record.to_json(runs::record::Shape::Full);
    assert!(!written.contains("NaN"), "{written}");
}

#[test]
fn decimal_commas_are_read_and_ambiguous_ones_are_not() {
    let log = megatron(1, 9000.0, 5.0).replace("9000.0", "9000,5").replace("0.500", "0,500")
        + &megatron(2, 2000.0, 4.0).replace("2000.0", "2,000");
    let extraction = read(&log);
    assert_eq!(
        (&extraction.record.step_times[..], &extraction.record.grad_norms[..]),
        (&[9.0005][..], &[0.5][..])
    );
    assert_eq!(extraction.ignored_count, 1);
    let ignored = &extraction.ignored[0];
    assert_eq!(
        (ignored.field.as_str(), ignored.why.as_str(), ignored.line),
        ("elapsed time per iteration (ms)", "malformed", 2)
    );
}

#[test]
fn impossible_values_are_left_out() {
    let log = megatron(1, 0.0, 5.0) + &megatron(2, -5.0, 4.0) + &megatron(3, 2000.0, 3.0);
    let extraction = read(&log);
    assert_eq!(
        (&extraction.record.step_times[..], extraction.ignored_count),
        (&[2.0][..], 2),
        "{:?}",
        extraction.ignored
    );
}

#[test]
fn other_bytes_and_long_lines_do_no_harm() {
    let mut log = b"\xff\xfe\x00 iteration \xf0\x28 loss \n".to_vec();
    log.extend_from_slice(megatron(1, 9000.0, 5.0).as_bytes());
    log.extend_from_slice(&[b'x'; 40 << 20]);
    log.extend_from_slice(b"\r\n");
    log.extend_from_slice(megatron(2, 2000.0, 4.0).replace('\n', "\r\n").as_bytes());
    log.extend_from_slice(b"\0\0\0");
    log.extend_from_slice(megatron(3, 2000.0, 3.0).trim_end().as_bytes());
    let extraction = extract::from_reader(&log[..], &Options::default()).expect("a record");
    assert_eq!(extraction.record.step_times, [9.0, 2.0, 2.0]);
    assert_eq!((extraction.lines, extraction.bytes), (5, log.len() as u64));
}

#[test]
fn a_compressed_log_that_was_cut_is_read_as_far_as_it_goes() {
    let log: String =
        (1..=2000).map(|step| megatron(step, 2000.0 + (step * 7919 % 997) as f64 / 10.0, 5.0)).collect();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, log.as_bytes()).expect("write");
    let bytes = encoder.finish().expect("ends");
    let whole = extract::from_reader(&bytes[..], &Options::default()).expect("a record").record;
    assert_eq!((whole.step_times.len(), kinds(&whole).contains(&"log-cut")), (2000, false));
    let cut = extract::from_reader(&bytes[..bytes.len() / 2], &Options::default()).expect("a record").record;
    assert!((500..1500).contains(&cut.step_times.len()), "{} steps", cut.step_times.len());
    assert_eq!(cut.step_times[..], whole.step_times[..cut.step_times.len()]);
    assert!(kinds(&cut).contains(&"log-cut"), "{:?}", cut.findings);
    extract::from_reader(&bytes[..5], &Options::default()).expect_err("nothing");
}

/// A line of each format that prints one for each step, with the number of the step.
fn lines(step: u64) -> [String; 8] {
    let text = |line: usize| any_log::LINES[line].lines().next().expect("a line").to_owned() + "\n";
    [
        text(0).replace("iteration 126/", &format!("iteration {step}/")),
        text(2).replace("global_step: 49 ", &format!("global_step: {step} ")),
        text(3).replace("step:  1 ", &format!("step:  {step} ")),
        text(4).replace("step: 49,", &format!("step: {step},")),
        text(5).replace("global_step=199,", &format!("global_step={step},")),
        text(7).replace("step    1/10", &format!("step    {step}/10")),
        text(8).replace("iter 100:", &format!("iter {step}:")),
        text(9).replace("Step 2 ", &format!("Step {step} ")),
    ]
}

#[test]
fn a_cut_line_of_any_format_has_only_values_of_the_whole_one() {
    /// All figures of a record.
    fn figures(log: &str) -> Vec<f64> {
        let options = Options {
            global_batch_size: Some(64),
            sequence_length: Some(2048),
            gpus: Some(8),
            ..Options::default()
        };
        let record = extract::from_reader(log.as_bytes(), &options)
            .unwrap_or_else(|error| panic!("{error}: {log}"))
            .record;
        let memory = record.memory_metrics.unwrap_or_default();
        let single = [
            record.performance_metrics.tokens_per_second_per_gpu,
            record.performance_metrics.tflops_per_gpu,
            memory.peak_memory_allocated_gb,
            memory.peak_memory_reserved_gb,
            memory.min_memory_allocated_gb,
            memory.peak_memory_used_gb,
        ];
        let series =
            [record.step_times, record.loss_values, record.learning_rates, record.grad_norms].concat();
        single.into_iter().flatten().chain(series).filter(|figure| !figure.is_nan()).collect()
    }
    for format in 0..8 {
        let [first, second, third, fourth] = [2, 3, 4, 5].map(|step| lines(step)[format].clone());
        let whole = figures(&[&*first, &second, &third, &fourth].concat());
        assert!(whole.len() >= 4, "{whole:?} of {first}");
        for (cut, _) in second.trim_end().char_indices().skip(1) {
            let log = [&*first, &second[..cut], "\n", &third, &fourth].concat();
            for figure in figures(&log) {
                let known = whole.iter().any(|known| (known - figure).abs() <= 1e-9 * known.abs());
                assert!(known, "{figure} is not in {whole:?}, from a cut line: {}", &second[..cut]);
            }
        }
    }
}
