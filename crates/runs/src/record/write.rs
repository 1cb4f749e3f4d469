//! Writing records: all fields, or the shape of the seed benchmarks, digit by digit.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use serde_json::Value;

use super::{Other, Record};

/// The shape in which a record is written. [`Record::read`] reads both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Shape {
    /// Every field, under `step_times`; numbers have all their digits.
    #[default]
    Full,
    /// The shape of the seed benchmarks, under `raw_step_times`: their keys in their order, numbers with
    /// three decimals and the throughput per core with six. It has no losses, learning rates, parallelism,
    /// measurements or findings.
    Seed,
}

impl Record {
    /// The record as JSON. NaN and infinities become null, so that every JSON reader accepts the text.
    #[must_use]
    pub fn to_json(&self, shape: Shape) -> String {
        match shape {
            // Only maps with keys other than strings could fail, and the types have none.
            Shape::Full => serde_json::to_string_pretty(self).unwrap_or_default() + "\n",
            Shape::Seed => seed(self),
        }
    }

    /// Writes the record to a file.
    ///
    /// # Errors
    /// The error of the system.
    pub fn write(&self, path: impl AsRef<Path>, shape: Shape) -> io::Result<()> {
        std::fs::write(path, self.to_json(shape))
    }
}

/// An object being written: its fields in their order.
struct Object {
    text: String,
    indent: usize,
}

impl Object {
    fn new(indent: usize) -> Object {
        Object { text: "{".to_owned(), indent }
    }

    fn raw(&mut self, key: &str, value: &str) {
        let comma = if self.text.len() > 1 { "," } else { "" };
        let key = Value::from(key);
        let _ = write!(self.text, "{comma}\n{:width$}{key}: {value}", "", width = self.indent + 2);
    }

    fn text(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.raw(key, &Value::from(value).to_string());
        }
    }

    fn count(&mut self, key: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.raw(key, &value.to_string());
        }
    }

    fn number(&mut self, key: &str, value: Option<f64>, decimals: usize) {
        if let Some(value) = value {
            self.raw(key, &decimal(value, decimals));
        }
    }

    fn others(&mut self, other: &Other) {
        for (key, value) in other {
            let text = serde_json::to_string_pretty(value).unwrap_or_default();
            let lines = text.replace('\n', &format!("\n{:width$}", "", width = self.indent + 2));
            self.raw(key, &lines);
        }
    }

    fn end(mut self) -> String {
        let _ = write!(self.text, "\n{:width$}}}", "", width = self.indent);
        self.text
    }
}

fn decimal(value: f64, decimals: usize) -> String {
    if value.is_finite() { format!("{value:.decimals$}") } else { "null".to_owned() }
}

/// The record in the shape of the seed benchmarks.
fn seed(record: &Record) -> String {
    let Record { gpu_info, training_config, performance_metrics, .. } = record;
    let mut gpu = Object::new(2);
    gpu.count("device_count", gpu_info.device_count);
    gpu.text("device_name", gpu_info.device_name.as_deref());
    gpu.number("total_memory_gb", gpu_info.total_memory_gb, 3);
    gpu.count("gpu_cores", gpu_info.gpu_cores);
    gpu.text("pytorch_version", gpu_info.pytorch_version.as_deref());
    gpu.text("software_stack", gpu_info.software_stack.as_deref());
    gpu.others(&gpu_info.other);

    let mut training = Object::new(2);
    training.count("max_steps", training_config.max_steps);
    training.count("global_batch_size", training_config.global_batch_size);
    training.count("micro_batch_size", training_config.micro_batch_size);
    training.count("sequence_length", training_config.sequence_length);
    training.count("num_gpus", training_config.num_gpus);
    training.others(&training_config.other);

    let mut performance = Object::new(2);
    performance.count("total_steps", performance_metrics.total_steps);
    performance.number("total_time_seconds", performance_metrics.total_time_seconds, 3);
    performance.number("avg_step_time_seconds", performance_metrics.avg_step_time_seconds, 3);
    performance.number("min_step_time_seconds", performance_metrics.min_step_time_seconds, 3);
    performance.number("max_step_time_seconds", performance_metrics.max_step_time_seconds, 3);
    performance.number("steps_per_second", performance_metrics.steps_per_second, 3);
    performance.number("tokens_per_second", performance_metrics.tokens_per_second, 3);
    performance.number("tokens_per_second_per_gpu", performance_metrics.tokens_per_second_per_gpu, 3);
    performance.number("throughput_per_gpu_core", performance_metrics.throughput_per_gpu_core, 6);
    performance.others(&performance_metrics.other);

    let mut whole = Object::new(0);
    // A unit variant, written as a string.
    whole.raw("platform", &serde_json::to_string(&record.platform).unwrap_or_default());
    whole.raw("gpu_info", &gpu.end());
    whole.text("timestamp", Some(&record.timestamp));
    whole.raw("training_config", &training.end());
    whole.raw("performance_metrics", &performance.end());
    let times: Vec<String> =
        record.step_times.iter().map(|seconds| format!("    {}", decimal(*seconds, 3))).collect();
    whole.raw(
        "raw_step_times",
        &if times.is_empty() { "[]".to_owned() } else { format!("[\n{}\n  ]", times.join(",\n")) },
    );
    whole.text("source", record.source.as_deref());
    if let Some(metrics) = &record.memory_metrics {
        let mut memory = Object::new(2);
        memory.number("avg_memory_allocated_gb", metrics.avg_memory_allocated_gb, 3);
        memory.number("peak_memory_allocated_gb", metrics.peak_memory_allocated_gb, 3);
        memory.number("avg_memory_reserved_gb", metrics.avg_memory_reserved_gb, 3);
        memory.number("peak_memory_reserved_gb", metrics.peak_memory_reserved_gb, 3);
        memory.others(&metrics.other);
        whole.raw("memory_metrics", &memory.end());
    }
    whole.others(&record.other);
    whole.end() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_none_are_null_in_both_shapes() {
        let mut record = Record { step_times: vec![1.0, f64::NAN, f64::INFINITY], ..Record::default() };
        record.performance_metrics.tokens_per_second = Some(f64::NAN);
        for shape in [Shape::Full, Shape::Seed] {
            let text = record.to_json(shape);
            assert!(!text.contains("NaN") && !text.contains(" inf"), "{text}");
            serde_json::from_str::<Value>(&text).expect("JSON");
            let read = Record::read(text.as_bytes()).expect("a record");
            assert_eq!(read.step_times.len(), 3);
            assert!(read.step_times[1].is_nan() && read.step_times[2].is_nan());
            assert_eq!(read.performance_metrics.tokens_per_second, None);
        }
    }

    #[test]
    fn unknown_fields_survive_at_every_level() {
        let text = r#"{"platform": "amd", "host": {"name": "n1", "cpus": [1, 2.5, null]}, "gpu_info": {"bus": "0000:03:00.0"},
            "training_config": {"seed": 7}, "parallelism_config": {"zero_stage": 1}, "model_info": {"rope": 1e4},
            "performance_metrics": {"loss": "flat"}, "memory_metrics": {"pinned": true}, "step_times": [1.0]}"#;
        let record = Record::read(text.as_bytes()).expect("a record");
        let written = record.to_json(Shape::Full);
        assert_eq!(Record::read(written.as_bytes()).expect("a record"), record);
        let value: Value = serde_json::from_str(&written).expect("JSON");
        for (pointer, expected) in [
            ("/host/cpus/1", Value::from(2.5)),
            ("/gpu_info/bus", Value::from("0000:03:00.0")),
            ("/training_config/seed", Value::from(7)),
            ("/parallelism_config/zero_stage", Value::from(1)),
            ("/model_info/rope", Value::from(1e4)),
            ("/performance_metrics/loss", Value::from("flat")),
            ("/memory_metrics/pinned", Value::from(true)),
        ] {
            assert_eq!(value.pointer(pointer), Some(&expected), "{pointer}");
        }
        let seed = record.to_json(Shape::Seed);
        let value: Value = serde_json::from_str(&seed).expect("JSON");
        for pointer in [
            "/host/cpus/1",
            "/gpu_info/bus",
            "/training_config/seed",
            "/performance_metrics/loss",
            "/memory_metrics/pinned",
        ] {
            assert!(value.pointer(pointer).is_some(), "{pointer} in {seed}");
        }
    }
}
