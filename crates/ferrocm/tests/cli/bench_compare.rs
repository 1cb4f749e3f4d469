//! `ferrocm bench compare`, with runs of known speed.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use test_skip::{Lack, skip};

use crate::{Ran, ferrocm, json, run};

/// Writes a run whose steps take about `seconds`.
fn record(folder: &Path, name: &str, seconds: f64, changes: &[(&str, Value)]) -> String {
    let steps: Vec<f64> =
        (0..150).map(|i| seconds * (1.0 + 0.01 * f64::from((i * 7919) % 13) / 13.0)).collect();
    let mut record = json!({
        "platform": "amd",
        "gpu_info": { "device_count": 8, "device_name": "AMD Instinct MI300X", "total_memory_gb": 206.14 },
        "training_config": { "global_batch_size": 64, "sequence_length": 2048, "num_gpus": 8, "precision": "bf16" },
        "memory_metrics": { "peak_memory_allocated_gb": 100.0 },
        "step_times": steps,
    });
    for (pointer, value) in changes {
        *record.pointer_mut(pointer).expect("a field") = value.clone();
    }
    let file = folder.join(format!("{name}.json"));
    fs::write(&file, record.to_string()).expect("write");
    file.to_str().expect("UTF-8").to_owned()
}

fn compare(arguments: &[&str]) -> Ran {
    let mut command = ferrocm(&["bench", "compare"]);
    run(command.args(arguments).env_remove("GITHUB_SHA").env_remove("CI_COMMIT_SHA"))
}

#[test]
fn tables_say_which_run_is_faster_and_where_runs_differ() {
    let folder = tempfile::tempdir().expect("folder");
    let slow = record(folder.path(), "slow", 3.0, &[]);
    let fast = record(folder.path(), "fast", 2.0, &[("/training_config/sequence_length", json!(4096))]);

    let ran = compare(&[&slow, &fast]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", ran.err);
    assert!(ran.out.starts_with("fast is 3.000 times as fast as slow per GPU (95 %: "), "{}", ran.out);
    assert!(ran.out.contains("warning: The sequence length differs: slow 2048, fast 4096."), "{}", ran.out);
    let ran = compare(&["--baseline", "fast", &slow, &fast]);
    assert!(ran.out.starts_with("slow is 0.333 times as fast as fast per GPU"), "{}", ran.out);
    let ran = compare(&["--baseline", "2", "--model", "llama-3.1-8b", "--format", "json", &slow, &fast]);
    let value = json(&ran.out);
    assert_eq!(value["baseline"], 1);
    assert_eq!(value["runs"][0]["shape"]["layers"], 32);
    let speed = |i: usize| {
        value["runs"][i]["figures"]["tokens_per_second_per_gpu"]["value"].as_f64().expect("a figure")
    };
    assert!((speed(1) / speed(0) - 3.0).abs() < 1e-9);
    let warnings: Vec<_> =
        value["warnings"].as_array().expect("a list").iter().map(|warning| &warning["kind"]).collect();
    assert_eq!(warnings, ["sequence_length"]);
}

#[test]
fn prices_and_power_are_of_all_runs_or_of_one() {
    let folder = tempfile::tempdir().expect("folder");
    let (a, b) = (record(folder.path(), "a", 2.0, &[]), record(folder.path(), "b", 2.0, &[]));
    let arguments = [
        "--format", "json", "--price", "2", "--price", "b=4", "--power", "500", "--pue", "1", "--carbon",
        "0", &a, &b,
    ];
    let value = json(&compare(&arguments).out);
    let figure = |i: usize, key: &str| value["runs"][i]["figures"][key]["value"].as_f64().expect("a figure");
    assert!(
        (figure(1, "dollars_per_million_tokens") / figure(0, "dollars_per_million_tokens") - 2.0).abs()
            < 1e-9
    );
    let rate = figure(0, "tokens_per_second");
    assert!((figure(0, "joules_per_token") - 8.0 * 500.0 / rate).abs() < 1e-12);
    assert!(figure(0, "co2_grams_per_million_tokens").abs() < 1e-12);
}

#[test]
fn every_format_is_written_to_a_file() {
    let folder = tempfile::tempdir().expect("folder");
    let script = json!("<script>alert(1)</script>");
    let (a, b) = (
        record(folder.path(), "a", 3.0, &[("/gpu_info/device_name", script)]),
        record(folder.path(), "b", 2.0, &[]),
    );
    let charts = folder.path().join("charts");
    for (format, start) in [
        ("table", "b is 1.500 times"),
        ("markdown", "# a against b\n"),
        ("html", "<!DOCTYPE html>"),
        ("csv", "run,figure,value,low,high\n"),
        ("json", "{"),
    ] {
        let file = folder.path().join(format);
        let path = file.to_str().expect("UTF-8");
        let ran = compare(&[
            "--format",
            format,
            "--price",
            "2",
            "--power",
            "500",
            "--output",
            path,
            "--charts",
            charts.to_str().expect("UTF-8"),
            &a,
            &b,
        ]);
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "", ""), "{format}");
        let text = fs::read_to_string(&file).expect("read");
        assert!(text.starts_with(start), "{format}: {text}");
        if format == "html" {
            assert!(
                !text.contains("<script") && text.contains("&lt;script&gt;") && text.contains("<svg"),
                "{text}"
            );
        }
    }
    let mut names: Vec<String> = fs::read_dir(charts)
        .expect("charts")
        .map(|file| file.expect("a file").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    // MFU needs a model.
    assert_eq!(
        names,
        [
            "cost.svg",
            "distribution.svg",
            "energy.svg",
            "memory.svg",
            "step-times.svg",
            "throughput-steps.svg",
            "throughput.svg"
        ]
    );
}

#[test]
fn a_history_grows_and_a_regression_ends_with_1() {
    let folder = tempfile::tempdir().expect("folder");
    let history = folder.path().join("history.jsonl");
    let path = history.to_str().expect("UTF-8");
    let lines = || fs::read_to_string(&history).map_or(0, |text| text.lines().count());
    let judge = |file: &str, more: &[&str]| {
        let arguments = [
            &["--history", path, "--against", path, "--date", "2026-11-25T00:00:00Z", "--commit", "abc"],
            more,
            &[file],
        ];
        compare(&arguments.concat())
    };
    let same = record(folder.path(), "nightly", 2.0, &[]);
    let first = judge(&same, &[]);
    assert_eq!((first.code, lines()), (Some(0), 1), "{}", first.err);
    assert!(first.err.contains("no earlier run has its key"), "{}", first.err);
    let entry = json(fs::read_to_string(&history).expect("read").trim());
    assert_eq!(entry["key"], "MI300X x8 s2048 b64 bf16");
    assert_eq!(
        (&entry["commit"], &entry["date"], &entry["label"]),
        (&json!("abc"), &json!("2026-11-25T00:00:00Z"), &json!("nightly"))
    );

    let again = judge(&same, &[]);
    assert_eq!((again.code, lines()), (Some(0), 2), "{}", again.err);
    assert!(again.err.contains("nightly: ok: tokens/s per GPU: "), "{}", again.err);

    // A run that is 10 % slower fails and is not added.
    let slower = record(folder.path(), "nightly", 2.2, &[]);
    let worse = judge(&slower, &["--format", "json"]);
    assert_eq!((worse.code, lines()), (Some(1), 2), "{}", worse.err);
    assert!(worse.err.contains("nightly: REGRESSED: tokens/s per GPU: "), "{}", worse.err);
    let outcomes = json(&worse.out)["against"][0]["figures"].clone();
    let outcome = |key: &str| {
        let found = outcomes.as_array().expect("a list").iter().find(|one| one["figure"] == key);
        found.expect("judged")["outcome"].clone()
    };
    assert_eq!(
        (outcome("step_seconds"), outcome("memory_allocated_gb")),
        (json!("regressed"), json!("same"))
    );
    assert_eq!(judge(&slower, &["--threshold", "15%"]).code, Some(0));

    // A figure of earlier runs is missing.
    let silent =
        record(folder.path(), "nightly", 2.2, &[("/memory_metrics/peak_memory_allocated_gb", json!(null))]);
    let gone = judge(&silent, &[]);
    assert_eq!(gone.code, Some(1));
    assert!(gone.err.contains("GONE: memory allocated at most: 100.00 GB → none"), "{}", gone.err);

    // A truncated line is reported and does not swallow the next one.
    fs::write(&history, fs::read_to_string(&history).expect("read").trim_end()).expect("write");
    assert_eq!((compare(&["--history", path, &same]).code, lines()), (Some(0), 4));
    fs::write(&history, "{\"key\":\"MI3\n").expect("write");
    let cut = judge(&same, &[]);
    assert_eq!(cut.code, Some(2));
    assert!(cut.err.contains("line 1 is not an entry of a history"), "{}", cut.err);
}

#[test]
fn runs_are_judged_by_the_file_of_a_run_too() {
    let folder = tempfile::tempdir().expect("folder");
    let before = record(folder.path(), "before", 2.0, &[]);
    let fine = record(folder.path(), "fine", 2.01, &[]);
    let slow = record(folder.path(), "slow", 2.5, &[]);
    assert_eq!(compare(&["--against", &before, "--price", "fine=2", &fine]).code, Some(0));
    let ran = compare(&["--against", &before, "--baseline", "slow", &fine, &slow]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.contains("fine: ok: ") && ran.err.contains("slow: REGRESSED: time of a step"),
        "{}",
        ran.err
    );
}

#[test]
fn what_cannot_be_read_or_is_wrong_ends_with_2() {
    let folder = tempfile::tempdir().expect("folder");
    let good = record(folder.path(), "good", 2.0, &[]);
    let write = |name: &str, text: &str| -> String {
        let file: PathBuf = folder.path().join(name);
        fs::write(&file, text).expect("write");
        file.to_str().expect("UTF-8").to_owned()
    };
    let (empty, broken, list) =
        (write("empty.json", "{}"), write("broken.json", "{\"step_times\": [1,"), write("list.json", "[]"));
    let zeros = write(
        "zeros.json",
        "{\"step_times\": [0, -1, NaN], \"performance_metrics\": {\"avg_step_time_seconds\": 0}}",
    );
    let nothing = write("nothing.json", "");
    // The same file by another name.
    let again = folder.path().join(".").join("good.json").to_str().expect("UTF-8").to_owned();
    let missing = folder.path().join("missing.json").to_str().expect("UTF-8").to_owned();
    for (arguments, told) in [
        (&[missing.as_str()][..], "cannot read"),
        (&[&empty], "has no positive step time"),
        (&[&zeros, &good], "zeros.json has no positive step time"),
        (&[&nothing], "nothing.json:1:1: EOF while parsing"),
        (&[folder.path().to_str().expect("UTF-8")], "cannot read"),
        (&[&good, &again], "good.json is given twice"),
        (&[&broken], "broken.json:1:18: EOF while parsing a value, in `{\"step_times\": [1,`"),
        (&[&list], "list.json:1:1: invalid type: sequence, expected an object"),
        (&["--baseline", "3", &good], "the baseline is run 3, but the number of runs is 1"),
        (&["--baseline", "x", &good], "no run is called `x`; the runs are good"),
        (&["--price", "x=1", &good], "no run is called `x`"),
        (&["--price=-1", &good], "a price must be a positive number"),
        (&["--model", "gpt-9", &good], "no model is called `gpt-9`; known models are llama-2-7b"),
        (&["--precision", "f1", &good], "`f1` is not the name of a number type"),
        (&["--against", &missing, &good], "cannot read"),
        (&["--against", &empty, &good], "neither a history nor a record"),
        (&["--output", "/no/such/folder/x", &good], "cannot write"),
        (&[&good, &good], "good.json is given twice"),
    ] {
        let ran = compare(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(told), "{told} in {}", ran.err);
    }
}

/// The command in `docs/use/bench-compare.md` produces the page beside it, if the checkout has the files of
/// the runs. `FERROCM_BLESS=1` writes it.
#[test]
fn the_example_of_the_docs_is_what_its_command_gives() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_to_string(root.join("docs/use/bench-compare.md")).expect("the page");
    let start = docs
        .find("$ ferrocm bench compare --model llama-3.1-8b --format html --output docs/generated/")
        .expect("the command");
    let command = docs[start..].split("\n```").next().expect("its end").replace("\\\n", " ");
    // Splits arguments like a shell: at blanks outside quotes.
    let mut arguments = Vec::new();
    for (i, part) in command.split('"').enumerate() {
        match i % 2 {
            0 => arguments.extend(part.split_whitespace().map(str::to_owned)),
            _ => arguments.push(part.to_owned()),
        }
    }
    let output = arguments.iter().position(|argument| argument == "--output").expect("an output");
    let page = root.join(arguments.remove(output + 1));
    arguments.remove(output);
    let folder = root.join("../shared/data/training");
    if !folder.is_dir() {
        skip(Lack::Data, format_args!("there is no {}", folder.display()));
        return;
    }
    let ran = run(ferrocm(&[]).args(&arguments[2..]).current_dir(folder));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", ran.err);
    if std::env::var_os("FERROCM_BLESS").is_some() {
        fs::write(&page, &ran.out).expect("write");
    }
    let expected = fs::read_to_string(&page).expect("the example");
    assert!(expected.len() < 300_000 && expected.contains("1.359×"), "{} bytes", expected.len());
    assert!(ran.out == expected, "FERROCM_BLESS=1 writes {}", page.display());
}

/// Numbers of any size give a report in every format. A run of a million steps is reported quickly, too.
#[test]
fn numbers_of_any_size_and_number_give_a_report() {
    let folder = tempfile::tempdir().expect("folder");
    let good = record(folder.path(), "good", 2.0, &[]);
    let huge = folder.path().join("huge.json");
    let most = u64::MAX;
    let value = json!({
        "step_times": [1e308, 1e308, 1e-300, 5e-324, 1e308, 1e308],
        "loss_values": [1e308, -1e308, 0.0, null, 1.0, 1.0],
        "training_config": { "global_batch_size": most, "sequence_length": most, "num_gpus": most },
        "gpu_info": { "device_name": "AMD Instinct MI300X", "gpu_cores": most, "compute_units": most, "total_memory_gb": 1e308 },
        "memory_metrics": { "peak_memory_used_gb": 1e308 },
        "parallelism_config": { "data_parallel_size": most, "tensor_model_parallel_size": most },
        "performance_metrics": { "avg_step_time_seconds": 1e308, "tokens_per_second": 1e-308, "warmup_steps": most, "steps_per_row": most },
    });
    fs::write(&huge, value.to_string()).expect("write");
    let long = folder.path().join("long.json");
    let steps: Vec<f64> = (0..300_000).map(|step| 2.0 + f64::from(step % 7) * 0.01).collect();
    fs::write(&long, json!({ "step_times": steps }).to_string()).expect("write");
    for file in [huge, long] {
        for format in ["table", "markdown", "html", "csv", "json"] {
            let ran = compare(&["--format", format, &good, file.to_str().expect("UTF-8")]);
            assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{format} {}", ran.err);
            assert!(ran.out.len() < 1_000_000, "{} bytes of {format}", ran.out.len());
        }
    }
}

/// From logs of both vendors to a page. The lines are from real runs; only step number, time and loss are
/// replaced.
#[test]
fn logs_become_records_and_records_a_report() {
    let lines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/training/log_lines.txt");
    let Ok(lines) = fs::read_to_string(&lines) else {
        skip(Lack::Data, format_args!("there is no {}", lines.display()));
        return;
    };
    let line = |part: &str| lines.lines().find(|line| line.contains(part)).expect("a line");
    let folder = tempfile::tempdir().expect("folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    // The noise repeats after 13 steps, the first three steps are slow, and the medians of the rest are
    // 13.3748 s and 12.396 s.
    let noise = |step: u64| if step < 3 { 4000.0 } else { ((step * 5) % 13) as f64 };
    let (primus, nemo) = (line("rank-7/8"), line("train_step_timing"));
    let log = |of: &dyn Fn(u64) -> String| (0..42).map(|step| of(step) + "\n").collect::<String>();
    let primus = log(&|step| {
        primus
            .replace("iteration 126/", &format!("iteration {}/", step + 1))
            .replace("consumed samples: 16128", &format!("consumed samples: {}", (step + 1) * 128))
            .replace("(ms): 13372.8/", &format!("(ms): {:.1}/", 13_368.8 + noise(step)))
            .replace("lm loss: 6.548988E-03", &format!("lm loss: {:.6E}", 10.0 / (step + 1) as f64))
    });
    let nemo = log(&|step| {
        nemo.replace("iteration 49/49", &format!("iteration {step}/49"))
            .replace("global_step: 49", &format!("global_step: {step}"))
            .replace("consumed_samples: 6400", &format!("consumed_samples: {}", (step + 1) * 128))
            .replace("in s: 12.39", &format!("in s: {:.3}", 12.39 + noise(step) / 1000.0))
            .replace(
                "reduced_train_loss: 11.96",
                &format!("reduced_train_loss: {:.4}", 10.1 / (step + 1) as f64),
            )
    });
    assert!(
        primus.contains("(ms): 17368.8/") && nemo.contains("in s: 16.390"),
        "the lines have other figures"
    );
    fs::write(at("mi300x.log"), primus).expect("write");
    fs::write(at("h100.log"), nemo).expect("write");
    fs::create_dir(at("records")).expect("folder");
    let mut extract = ferrocm(&["bench", "extract", "--sequence-length", "8192", "--gpus", "8", "--output"]);
    let ran = run(extract.args([at("records"), at("h100.log"), at("mi300x.log")]));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", ran.out);

    let (h100, mi300x) = (at("records/h100.json"), at("records/mi300x.json"));
    let ran = compare(&["--format", "json", "--model", "llama-3.1-8b", "--price", "h100=2", &h100, &mi300x]);
    let value = json(&ran.out);
    let close = |found: &Value, expected: f64| {
        let found = found.as_f64().expect("a number");
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} is not {expected}");
    };
    let figure = |i: usize, key: &str| &value["runs"][i]["figures"][key]["value"];
    close(figure(0, "step_seconds"), 12.396);
    close(figure(1, "step_seconds"), 13.3748);
    close(figure(0, "tokens_per_second_per_gpu"), 128.0 * 8192.0 / 12.396 / 8.0);
    close(&value["speedups"][0]["per_gpu"]["value"], 12.396 / 13.3748);
    close(figure(0, "dollars_per_million_tokens"), 2.0 * 8.0 / 3600.0 * 12.396 / (128.0 * 8192.0) * 1e6);
    assert_eq!(
        (&value["runs"][0]["steps"]["warmup"], &value["runs"][1]["steps"]["warmup"]),
        (&json!(3), &json!(3))
    );
    assert!(figure(1, "dollars_per_million_tokens").is_null(), "nobody gave a price");
    // NeMo reports what its allocator holds, Primus what the driver counts.
    close(figure(0, "memory_reserved_gb"), 70.833_405_952);
    close(figure(1, "memory_used_gb"), 153.81 * 1.073_741_824);
    assert!(figure(1, "memory_reserved_gb").is_null());
    let kinds = |list: &Value| -> Vec<String> {
        list.as_array()
            .expect("a list")
            .iter()
            .map(|one| one["kind"].as_str().expect("a kind").to_owned())
            .collect()
    };
    let warnings = kinds(&value["warnings"]);
    assert!(warnings.contains(&"memory".to_owned()), "{warnings:?}");
    for run in value["runs"].as_array().expect("runs") {
        let mut found = kinds(&run["findings"]);
        found.sort();
        let count = found.len();
        found.dedup();
        assert_eq!(found.len(), count, "{found:?}");
    }
    assert!(
        value["losses"]["tokens"].as_f64().is_some_and(|tokens| tokens == 42.0 * 128.0 * 8192.0),
        "{}",
        value["losses"]
    );

    for (format, parts) in [
        ("table", &["mi300x is 0.927 times as fast as h100 per GPU", "12.396"][..]),
        ("markdown", &["# h100 against mi300x", "**mi300x is 0.927 times as fast"]),
        ("html", &["<title>h100 against mi300x</title>", "0.927×", "12.396", "<svg"]),
    ] {
        let ran = compare(&["--format", format, &h100, &mi300x]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        for part in parts {
            assert!(ran.out.contains(part), "{part} in {}", ran.out);
        }
    }
}
