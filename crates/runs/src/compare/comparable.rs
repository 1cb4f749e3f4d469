//! What makes runs incomparable: the differences in their configurations.

use serde::Serialize;

use super::run::{MemoryKind, Run};
use crate::record::{Parallelism, Record};

/// An aspect in which runs differ, or which some do not record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// A stable name: `sequence_length`, `precision`.
    pub kind: &'static str,
    /// Its name as text.
    pub what: &'static str,
    /// Whether values differ; if not, some runs do not record theirs.
    pub differs: bool,
    /// Each run's label and value; `None` if it is not recorded.
    pub values: Vec<(String, Option<String>)>,
    /// The consequence.
    pub advice: &'static str,
}

impl Warning {
    /// One line: `sequence length differs: a 2048, b 8192`.
    pub fn text(&self) -> String {
        let values: Vec<String> = self
            .values
            .iter()
            .map(|(label, value)| format!("{label} {}", value.as_deref().unwrap_or("not recorded")))
            .collect();
        let verb = match (self.differs, self.values.iter().any(|(_, value)| value.is_some())) {
            (true, _) => "differs",
            (false, true) => "is not recorded by all",
            (false, false) => return format!("{} is not recorded by any run. {}", self.what, self.advice),
        };
        format!("{} {verb}: {}. {}", self.what, values.join(", "), self.advice)
    }
}

struct Aspect {
    kind: &'static str,
    what: &'static str,
    /// Whether a missing value is worth a warning.
    needed: bool,
    advice: &'static str,
    get: fn(&Record, &Run) -> Option<String>,
}

fn text(number: Option<u64>) -> Option<String> {
    number.map(|number| number.to_string())
}

fn size(record: &Record, get: fn(&Parallelism) -> Option<u64>) -> Option<String> {
    text(record.parallelism_config.as_ref().and_then(get))
}

static ASPECTS: &[Aspect] = &[
    Aspect {
        kind: "model",
        what: "the model",
        needed: false,
        advice: "Tokens of different models are different work: compare TFLOP/s and MFU.",
        get: |record, run| {
            let named = record.model_info.as_ref().and_then(|model| model.name.clone());
            named.or_else(|| run.shape.as_ref().map(|shape| shape.name.clone()))
        },
    },
    Aspect {
        kind: "sequence_length",
        what: "the sequence length",
        needed: true,
        advice: "Attention's work for a token grows with the sequence: compare TFLOP/s and MFU instead of tokens/s.",
        get: |record, _| text(record.training_config.sequence_length),
    },
    Aspect {
        kind: "global_batch_size",
        what: "the global batch size",
        needed: true,
        advice: "A larger batch hides the cost of communication and of the optimizer.",
        get: |record, _| text(record.training_config.global_batch_size),
    },
    Aspect {
        kind: "micro_batch_size",
        what: "the micro-batch size",
        needed: false,
        advice: "Larger products run nearer to the peak.",
        get: |record, _| text(record.training_config.micro_batch_size),
    },
    Aspect {
        kind: "precision",
        what: "the precision",
        needed: true,
        advice: "Peaks differ by type; the loss may, too.",
        get: |record, _| {
            let precision =
                record.training_config.precision.as_deref().map(str::trim).filter(|text| !text.is_empty())?;
            Some(
                crate::peaks::Type::of_precision(precision)
                    .map_or_else(|| precision.to_owned(), |kind| kind.to_string()),
            )
        },
    },
    Aspect {
        kind: "gpus",
        what: "the number of GPUs",
        needed: true,
        advice: "Compare per GPU, and see the scaling efficiency.",
        get: |_, run| text(run.gpus),
    },
    Aspect {
        kind: "tensor_parallel",
        what: "tensor parallelism",
        needed: false,
        advice: PARALLEL,
        get: |record, _| size(record, |sizes| sizes.tensor_model_parallel_size),
    },
    Aspect {
        kind: "pipeline_parallel",
        what: "pipeline parallelism",
        needed: false,
        advice: PARALLEL,
        get: |record, _| size(record, |sizes| sizes.pipeline_model_parallel_size),
    },
    Aspect {
        kind: "data_parallel",
        what: "data parallelism",
        needed: false,
        advice: PARALLEL,
        get: |record, _| size(record, |sizes| sizes.data_parallel_size),
    },
    Aspect {
        kind: "context_parallel",
        what: "context parallelism",
        needed: false,
        advice: PARALLEL,
        get: |record, _| size(record, |sizes| sizes.context_parallel_size),
    },
    Aspect {
        kind: "expert_parallel",
        what: "expert parallelism",
        needed: false,
        advice: PARALLEL,
        get: |record, _| size(record, |sizes| sizes.expert_model_parallel_size),
    },
    Aspect {
        kind: "gradient_accumulation",
        what: "gradient accumulation",
        needed: false,
        advice: "Fewer, larger micro-batches leave less of a pipeline empty.",
        get: |record, _| size(record, |sizes| sizes.gradient_accumulation_steps),
    },
    Aspect {
        kind: "memory",
        what: "the kind of memory that is known",
        needed: false,
        advice: "What tensors use, what their allocator holds and what the driver counts are not comparable.",
        get: |_, run| {
            let names: Vec<&str> = run
                .memory
                .iter()
                .map(|kind| match kind {
                    MemoryKind::Reserved => "reserved",
                    MemoryKind::Allocated => "allocated",
                    MemoryKind::Used => "in use on the GPU",
                })
                .collect();
            (!names.is_empty()).then(|| names.join(" and "))
        },
    },
    Aspect {
        kind: "step_time_source",
        what: "how times of steps are known",
        needed: false,
        advice: "Times that follow from printed rates have the rates' rounding and smoothing: their spread is not a property of the run.",
        get: |_, run| {
            (run.steps.recorded > 0).then(|| match &run.step_time_source {
                Some(source) => format!("derived ({source})"),
                None => "measured".to_owned(),
            })
        },
    },
    Aspect {
        kind: "steps_per_row",
        what: "how many steps a time is the mean of",
        needed: false,
        advice: "Means of several steps vary less than steps: do not compare the spread, the stragglers or the longest step.",
        get: |_, run| (run.steps.recorded > 0).then(|| run.steps_per_row.to_string()),
    },
    Aspect {
        kind: "warmup_rule",
        what: "the rule for warm-up",
        needed: false,
        advice: "Steps that one run counts and another does not are part of the difference.",
        get: |_, run| (run.steps.recorded > 0).then(|| run.steps.warmup_rule.clone()),
    },
    Aspect {
        kind: "steps",
        what: "how many steps count",
        needed: false,
        advice: "A short run lacks what slows down a long one: checkpoints, heat, a busy network.",
        // Only the order of magnitude matters here.
        get: |_, run| {
            let steps = run.steps.seconds.len();
            (steps > 0).then(|| match steps {
                0..30 => "fewer than 30".to_owned(),
                30..300 => "30 to 299".to_owned(),
                _ => "300 or more".to_owned(),
            })
        },
    },
];

const PARALLEL: &str = "The GPUs exchange different data, and hold different parts of the model.";

/// The differences in the configurations of runs.
pub(super) fn warnings(records: &[(&Record, &Run)]) -> Vec<Warning> {
    // Training settings do not apply to runs that only measured operations.
    let trained = records.iter().any(|(record, _)| !record.step_times.is_empty());
    ASPECTS
        .iter()
        .filter(|aspect| {
            aspect.kind != "memory" || MemoryKind::common(records.iter().map(|(_, run)| *run)).is_none()
        })
        .filter_map(|aspect| {
            let values: Vec<(String, Option<String>)> =
                records.iter().map(|(record, run)| (run.label.clone(), (aspect.get)(record, run))).collect();
            let told: Vec<&String> = values.iter().filter_map(|(_, value)| value.as_ref()).collect();
            let differs = told.windows(2).any(|pair| pair[0] != pair[1]);
            let silent = trained && aspect.needed && told.len() < values.len();
            (differs || silent).then_some(Warning {
                kind: aspect.kind,
                what: aspect.what,
                differs,
                values,
                advice: if differs { aspect.advice } else { "It is not known whether the runs agree." },
            })
        })
        .collect()
}
