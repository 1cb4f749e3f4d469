//! The four result files of the seed benchmarks, which are next to the checkout, not part of it. Without
//! them, each test reports that it is skipped.

use std::fs;
use std::path::PathBuf;

use runs::record::Shape;
use runs::statistics::{self, Interval};
use runs::{Record, Statistics, check};
use serde_json::Value;
use test_skip::{Lack, skip};

pub(crate) const FILES: [&str; 4] = [
    "benchmark_cuda_llama.json",
    "benchmark_rocm_llama.json",
    "train_amd_prim_llama.json",
    "train_nvd_nemo_llama.json",
];

/// The folder `shared/data/training` next to the workspace.
pub(crate) fn folder() -> Option<PathBuf> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/training"));
    if folder.is_dir() {
        return Some(folder);
    }
    skip(Lack::Data, "there is no ../shared/data/training next to the checkout");
    None
}

/// A file's text and the record in it.
fn read(name: &str) -> Option<(String, Record)> {
    let path = folder()?.join(name);
    let text = fs::read_to_string(&path).expect("a file of the four");
    Some((text, Record::from_path(&path).expect("a record")))
}

/// Half a unit of the last digit of the number after a key, as printed in the file.
fn half_unit(text: &str, key: &str) -> f64 {
    let (_, after) = text.split_once(&format!("\"{key}\": ")).unwrap_or_else(|| panic!("no {key}"));
    half_unit_of(after.split([',', '\n', '}']).next().expect("a number"))
}

fn half_unit_of(printed: &str) -> f64 {
    let (digits, exponent) = printed.trim().split_once('e').unwrap_or((printed.trim(), "0"));
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    0.5 * 10_f64.powi(exponent.parse::<i32>().expect("an exponent") - decimals as i32)
}

#[test]
fn every_statistic_of_the_originals_is_reproduced() {
    for name in FILES {
        let Some((text, record)) = read(name) else { return };
        let statistics = Statistics::of(&record).expect("steps");
        let stated = &record.performance_metrics;
        assert_eq!(
            (statistics.warmup_steps, stated.total_steps),
            (1, Some(record.step_times.len() as u64)),
            "{name}"
        );
        // How far each time may be from the measured one.
        let list = text.split_once("step_times\": [").expect("times").1;
        let half = list
            .split(']')
            .next()
            .expect("an end")
            .split(',')
            .map(half_unit_of)
            .fold(f64::INFINITY, f64::min);
        let mean = Interval { low: statistics.mean - half, high: statistics.mean + half };
        let over_mean = |value: f64| Interval { low: value / mean.high, high: value / mean.low };
        let around = |value: f64| Interval { low: value - half, high: value + half };

        let cores = record.gpu_info.gpu_cores.expect("cores") as f64;
        // The sequence length of this file contradicts its throughput; 8192 reproduces it.
        let tokens = match name {
            "benchmark_rocm_llama.json" => 128.0 * 8192.0,
            _ => statistics::tokens_per_step(&record).expect("a batch"),
        };
        let mut exact = 0;
        for (key, stated, derived, possible) in [
            ("avg_step_time_seconds", stated.avg_step_time_seconds, statistics.mean, mean),
            ("min_step_time_seconds", stated.min_step_time_seconds, statistics.min, around(statistics.min)),
            ("max_step_time_seconds", stated.max_step_time_seconds, statistics.max, around(statistics.max)),
            ("steps_per_second", stated.steps_per_second, statistics.steps_per_second, over_mean(1.0)),
            ("tokens_per_second", stated.tokens_per_second, tokens / statistics.mean, over_mean(tokens)),
            (
                "tokens_per_second_per_gpu",
                stated.tokens_per_second_per_gpu,
                tokens / statistics.mean / 8.0,
                over_mean(tokens / 8.0),
            ),
            (
                "throughput_per_gpu_core",
                stated.throughput_per_gpu_core,
                1.0 / statistics.mean / cores,
                over_mean(1.0 / cores),
            ),
        ] {
            // One file has no throughput per core.
            let Some(stated) = stated else {
                assert_eq!((name, key), ("benchmark_rocm_llama.json", "throughput_per_gpu_core"));
                continue;
            };
            let half = half_unit(&text, key);
            exact += usize::from((stated - derived).abs() <= half * (1.0 + 1e-9));
            let printed = Interval { low: possible.low - half, high: possible.high + half };
            assert!(printed.holds(stated), "{name}: {key} is {stated}, and the steps give {possible:?}");
        }
        // Times with four or five decimals reproduce every figure to the printed digits; those with three do
        // not reproduce the tokens.
        let expected = match name {
            "benchmark_cuda_llama.json" => 5,
            "benchmark_rocm_llama.json" => 4,
            "train_amd_prim_llama.json" => 7,
            _ => 5,
        };
        assert_eq!(exact, expected, "{name}: figures that are reproduced to the printed digits");
    }
}

#[test]
fn the_total_is_the_sum_of_steps_or_a_named_difference() {
    for (name, outside) in [
        ("benchmark_cuda_llama.json", Some(0.011)),
        ("benchmark_rocm_llama.json", None),
        ("train_amd_prim_llama.json", None),
        ("train_nvd_nemo_llama.json", Some(31.75877)),
    ] {
        let Some((_, record)) = read(name) else { return };
        let found: Vec<_> = check::findings(&record)
            .into_iter()
            .filter(|finding| finding.kind == "total-exceeds-steps")
            .collect();
        match outside {
            None => assert_eq!(found, [], "{name}"),
            Some(seconds) => {
                let [finding] = &found[..] else { panic!("{name}: {found:?}") };
                let difference = finding.stated.expect("stated") - finding.derived.expect("derived");
                assert!((difference - seconds).abs() < 1e-6, "{name}: {difference}");
                assert_eq!(finding.stated, record.performance_metrics.total_time_seconds);
                assert!(finding.text.contains("not in steps"), "{}", finding.text);
            }
        }
    }
}

#[test]
fn all_other_contradictions_of_the_originals_are_these() {
    for (name, expected) in [
        ("benchmark_cuda_llama.json", &[][..]),
        ("benchmark_rocm_llama.json", &["tokens-contradict-batch", "cores-contradict-device"]),
        ("train_amd_prim_llama.json", &["series-lengths-differ"]),
        ("train_nvd_nemo_llama.json", &["mean-includes-warmup"]),
    ] {
        let Some((_, record)) = read(name) else { return };
        let found = check::findings(&record);
        let kinds: Vec<&str> = found
            .iter()
            .map(|finding| finding.kind.as_str())
            .filter(|kind| *kind != "total-exceeds-steps")
            .collect();
        assert_eq!(kinds, expected, "{name}: {found:?}");
    }
    let Some((_, record)) = read("benchmark_rocm_llama.json") else { return };
    let found = check::findings(&record);
    assert_eq!(
        found[0].text,
        "tokens_per_second states 107400.711, and 128 × 2048 ÷ 9.76344 s is 26849.5; a sequence length of 8192 would fit"
    );
    assert_eq!((found[1].stated, found[1].derived), (Some(16896.0), Some(19456.0)));
}

/// The example in `docs/use/bench.md` is the output for these files.
#[test]
fn the_page_shows_the_findings_of_an_original() {
    let Some((_, record)) = read("benchmark_rocm_llama.json") else { return };
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/use/bench.md"))
        .expect("the page");
    for finding in check::findings(&record) {
        let line = format!("{} [{}]\n", finding.text, finding.kind);
        assert!(page.contains(&line), "{line}");
    }
}

#[test]
fn the_seed_shape_is_written_byte_by_byte() {
    for name in &FILES[..2] {
        let Some((text, record)) = read(name) else { return };
        assert_eq!(record.to_json(Shape::Seed), text, "{name}");
    }
}

#[test]
fn every_value_survives_reading_and_writing() {
    for name in FILES {
        let Some((text, record)) = read(name) else { return };
        let mut original: Value = serde_json::from_str(&text).expect("JSON");
        if let Some(times) = original.as_object_mut().and_then(|object| object.remove("raw_step_times")) {
            original["step_times"] = times;
        }
        let written: Value = serde_json::from_str(&record.to_json(Shape::Full)).expect("JSON");
        assert_eq!(written, original, "{name}");
    }
}
