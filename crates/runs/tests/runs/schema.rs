//! Compares the published schema of a record with the types, the files and the output.

use boon::{Compiler, SchemaIndex, Schemas};
use runs::Record;
use runs::record::{Finding, Measurement, Memory, ModelInfo, Parallelism, Sample, Shape};
use serde_json::{Value, json};

use crate::any_log::{LINES, damaged};

struct Validator {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Validator {
    fn new() -> Validator {
        let mut schemas = Schemas::new();
        let mut compiler = Compiler::new();
        compiler.add_resource("record", schema()).expect("a resource");
        let index = compiler.compile("record", &mut schemas).unwrap_or_else(|error| panic!("{error}"));
        Validator { schemas, index }
    }

    fn check(&self, record: &Value) -> Result<(), String> {
        self.schemas.validate(record, self.index).map_err(|error| error.to_string())
    }
}

fn schema() -> Value {
    let text = include_str!("../../../../docs/use/bench-record.schema.json");
    serde_json::from_str(text).expect("JSON")
}

/// A record with a value in every field of the types.
fn full() -> Record {
    let mut record = Record::read(
        br#"{"platform": "amd", "gpu_info": {"device_count": 8, "device_name": "x", "total_memory_gb": 1.5, "gpu_cores": 1,
            "pytorch_version": "2",
        "software_stack": "rocm", "software_version": "7", "architecture": "gfx942", "compute_units": 1, "clock_mhz": 1.0,
        "power_limit_watts": 1.0, "driver_version": "1"}, "timestamp": "2026-03-02T10:00:00", "source": "x",
        "training_config": {"max_steps": 1, "global_batch_size": 1, "micro_batch_size": 1, "sequence_length": 1, "num_gpus": 1,
        "parallel_strategy": "x", "precision": "bf16"},
        "performance_metrics": {"total_steps": 1, "total_time_seconds": 1.0, "avg_step_time_seconds": 1.0, "min_step_time_seconds": 1.0,
        "max_step_time_seconds": 1.0, "steps_per_second": 1.0, "tokens_per_second": 1.0, "tokens_per_second_per_gpu": 1.0,
        "throughput_per_gpu_core": 1.0, "tflops_per_gpu": 1.0, "warmup_steps": 1, "warmup_rule": "x"},
        "step_times": [1.0, null], "loss_values": [1.0], "learning_rates": [1.0], "grad_norms": [1.0]}"#,
    )
    .expect("a record");
    let (count, number, text) = (Some(1), Some(1.0), Some("x".to_owned()));
    record.model_info = Some(ModelInfo {
        name: text.clone(),
        parameters: number,
        num_layers: count,
        hidden_size: count,
        intermediate_size: count,
        num_attention_heads: count,
        num_key_value_heads: count,
        head_dim: count,
        vocab_size: count,
        other: Default::default(),
    });
    record.parallelism_config = Some(Parallelism {
        strategy_name: text,
        tensor_model_parallel_size: count,
        pipeline_model_parallel_size: count,
        data_parallel_size: count,
        context_parallel_size: count,
        expert_model_parallel_size: count,
        gradient_accumulation_steps: count,
        other: Default::default(),
    });
    record.memory_metrics = Some(Memory {
        avg_memory_allocated_gb: number,
        peak_memory_allocated_gb: number,
        min_memory_allocated_gb: number,
        avg_memory_reserved_gb: number,
        peak_memory_reserved_gb: number,
        avg_memory_used_gb: number,
        peak_memory_used_gb: number,
        other: Default::default(),
    });
    record.measurements = vec![Measurement {
        group: "gemm".to_owned(),
        name: "x".to_owned(),
        seconds: vec![1.0, f64::NAN],
        flops: number,
        bytes: number,
        tokens: number,
        max_error: number,
        error_bound: number,
        other: Default::default(),
    }];
    record.telemetry = vec![Sample {
        seconds: 1.0,
        gpu: 0,
        clock_mhz: number,
        memory_clock_mhz: number,
        power_watts: number,
        temperature_celsius: number,
    }];
    record.findings =
        vec![Finding { kind: "x".to_owned(), text: "x".to_owned(), stated: number, derived: number }];
    record
}

/// The paths of all fields that are not objects; for lists of objects, those of the first one.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| leaves(value, &format!("{path}/{key}"), found))
        }
        Value::Array(items) if items.first().is_some_and(Value::is_object) => {
            leaves(&items[0], &format!("{path}/0"), found)
        }
        _ => found.push(path.to_owned()),
    }
}

#[test]
fn every_field_of_the_types_is_in_the_schema_with_its_type() {
    let validator = Validator::new();
    let record: Value = serde_json::from_str(&full().to_json(Shape::Full)).expect("JSON");
    validator.check(&record).unwrap_or_else(|error| panic!("{error}"));
    let mut paths = Vec::new();
    leaves(&record, "", &mut paths);
    assert!(paths.len() > 70, "{paths:?}");
    for path in paths {
        // Neither the types nor the schema accept a boolean or a nested list there, so the schema knows the
        // field and agrees with the types.
        for wrong in [json!(true), json!([[1]])] {
            let mut record = record.clone();
            *record.pointer_mut(&path).expect("a field") = wrong;
            let told = validator.check(&record).is_err();
            assert!(Record::read(record.to_string().as_bytes()).is_err(), "the types take {path}: {record}");
            assert!(told, "the schema takes {path}: {record}");
        }
    }
}

#[test]
fn every_property_of_the_schema_is_a_field_of_the_types() {
    fn properties(schema: &Value, path: &str, found: &mut Vec<String>) {
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}/{key}");
            let property = if property.get("items").is_some_and(|items| items.get("properties").is_some()) {
                &property["items"]
            } else {
                property
            };
            if property.get("properties").is_some() {
                properties(property, &path, found)
            } else {
                found.push(path)
            }
        }
    }
    let mut stated = Vec::new();
    properties(&schema(), "", &mut stated);
    let mut written = Vec::new();
    leaves(&serde_json::from_str(&full().to_json(Shape::Full)).expect("JSON"), "", &mut written);
    let written: Vec<String> = written.into_iter().map(|path| path.replace("/0/", "/")).collect();
    // Other names of fields, and fields that extraction adds.
    let others = [
        "/raw_step_times",
        "/model_info/model_name",
        "/model_info/num_parameters",
        "/model_info/num_hidden_layers",
        "/model_info/ffn_hidden_size",
        "/model_info/num_query_groups",
        "/performance_metrics/steps_per_row",
        "/performance_metrics/step_time_source",
        "/performance_metrics/tokens_per_second_source",
    ];
    for path in stated {
        assert!(written.contains(&path) || others.contains(&path.as_str()), "{path} is no field");
    }
}

#[test]
fn the_originals_and_what_is_written_are_valid() {
    let validator = Validator::new();
    let check = |what: &str, record: &Record| {
        for shape in [Shape::Full, Shape::Seed] {
            let value = serde_json::from_str(&record.to_json(shape)).expect("JSON");
            validator.check(&value).unwrap_or_else(|error| panic!("{what} as {shape:?}: {error}"));
        }
    };
    check("an empty record", &Record::default());
    for (line, _) in LINES.iter().enumerate().take(LINES.len() - 1) {
        let log = damaged(&[u8::try_from(line).expect("few lines"), 0, 0, 0]);
        let record = runs::extract::from_reader(&log[..], &Default::default()).expect("a record").record;
        check("an extracted record", &record);
    }
    let Some(folder) = crate::seed::folder() else { return };
    for name in crate::seed::FILES {
        let text = std::fs::read_to_string(folder.join(name)).expect("a file of the four");
        validator
            .check(&serde_json::from_str(&text).expect("JSON"))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        check(name, &Record::read(text.as_bytes()).expect("a record"));
    }
}

#[test]
fn wrong_records_are_not_valid() {
    let validator = Validator::new();
    for wrong in [
        json!([]),
        json!({"platform": 5}),
        json!({"gpu_info": {"device_count": -1}}),
        json!({"gpu_info": {"device_count": "8"}}),
        json!({"training_config": null}),
        json!({"step_times": [1.0, "2.0"]}),
        json!({"step_times": [1.0], "raw_step_times": [1.0]}),
        json!({"findings": [{"kind": "x"}]}),
        json!({"telemetry": [{"gpu": 0}]}),
    ] {
        validator.check(&wrong).expect_err(&wrong.to_string());
        assert!(Record::read(wrong.to_string().as_bytes()).is_err(), "the types take {wrong}");
    }
}
