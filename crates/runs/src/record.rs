//! What one run says about itself, as JSON.
//!
//! The keys are those of the result files of training benchmarks of both vendors. Missing fields are `None`
//! or empty; unknown fields are kept in `other` and written back.

mod read;
mod timestamp;
mod write;

pub use read::ReadError;
pub use timestamp::timestamp;
pub use write::Shape;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The unknown fields of an object.
pub type Other = Map<String, Value>;

/// One run: what ran, on which GPUs, and what was measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The vendor of the GPUs.
    #[serde(default)]
    pub platform: Platform,
    /// The GPUs and the software that used them.
    #[serde(default)]
    pub gpu_info: GpuInfo,
    /// When the run ended, as ISO 8601; empty if it is not known.
    #[serde(default)]
    pub timestamp: String,
    /// Where the record comes from: `primus_log_extraction`, `ferrocm_bench_run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The model, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_info: Option<ModelInfo>,
    /// How the work was spread over GPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallelism_config: Option<Parallelism>,
    /// The configuration of training.
    #[serde(default)]
    pub training_config: TrainingConfig,
    /// The statistics of the run, as computed by the writer of the record.
    #[serde(default)]
    pub performance_metrics: Performance,
    /// Memory of one GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_metrics: Option<Memory>,
    /// Seconds of each step, the first one first, warm-up included. The seed format's `raw_step_times`.
    #[serde(default, alias = "raw_step_times", with = "numbers", skip_serializing_if = "Vec::is_empty")]
    pub step_times: Vec<f64>,
    /// The loss after each step; NaN if a step had none.
    #[serde(default, with = "numbers", skip_serializing_if = "Vec::is_empty")]
    pub loss_values: Vec<f64>,
    /// The learning rate of each step.
    #[serde(default, with = "numbers", skip_serializing_if = "Vec::is_empty")]
    pub learning_rates: Vec<f64>,
    /// The norm of the gradient of each step.
    #[serde(default, with = "numbers", skip_serializing_if = "Vec::is_empty")]
    pub grad_norms: Vec<f64>,
    /// Measurements other than training steps: bandwidths, products, latencies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measurements: Vec<Measurement>,
    /// Clocks, power and temperature during the run, the earliest sample first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub telemetry: Vec<Sample>,
    /// Values of the record that contradict each other, and other things that a reader must know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// The vendor of the GPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Platform {
    /// AMD.
    #[serde(rename = "amd")]
    Amd,
    /// NVIDIA.
    #[serde(rename = "nvd", alias = "nvidia", alias = "cuda")]
    Nvidia,
    /// A virtual AMD GPU: its times are those of the CPU that executes it.
    #[serde(rename = "virtual")]
    Virtual,
    /// Unknown, or no GPU.
    #[default]
    #[serde(rename = "unknown", other)]
    Unknown,
}

/// The GPUs and the software that used them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuInfo {
    /// GPUs of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_count: Option<u64>,
    /// The product's name, as reported by its driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// Memory of one GPU in GB (10⁹ bytes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_memory_gb: Option<f64>,
    /// Lanes of one GPU: AMD's stream processors, NVIDIA's CUDA cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_cores: Option<u64>,
    /// The version of PyTorch; empty if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pytorch_version: Option<String>,
    /// `rocm`, `cuda`, `nemo`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software_stack: Option<String>,
    /// The version of ROCm or CUDA.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software_version: Option<String>,
    /// The instruction set: `gfx942`, `sm_90`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// Compute units or streaming multiprocessors of one GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_units: Option<u64>,
    /// The highest clock in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_mhz: Option<f64>,
    /// The power limit of one GPU in watts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_limit_watts: Option<f64>,
    /// The driver's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_version: Option<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// The model of a training run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// `llama3_8b`, `mistral`, `qwen2.5_7b`.
    #[serde(default, alias = "model_name", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Parameters.
    #[serde(default, alias = "num_parameters", skip_serializing_if = "Option::is_none")]
    pub parameters: Option<f64>,
    /// Transformer blocks.
    #[serde(default, alias = "num_hidden_layers", skip_serializing_if = "Option::is_none")]
    pub num_layers: Option<u64>,
    /// Width of the residual stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden_size: Option<u64>,
    /// Width between the products of the feed-forward network.
    #[serde(default, alias = "ffn_hidden_size", skip_serializing_if = "Option::is_none")]
    pub intermediate_size: Option<u64>,
    /// Heads of queries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_attention_heads: Option<u64>,
    /// Heads of keys and values.
    #[serde(default, alias = "num_query_groups", skip_serializing_if = "Option::is_none")]
    pub num_key_value_heads: Option<u64>,
    /// Width of a head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_dim: Option<u64>,
    /// Tokens of the vocabulary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocab_size: Option<u64>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// How the work was spread over GPUs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Parallelism {
    /// `TP1_PP2_SP0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy_name: Option<String>,
    /// GPUs that share each product.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensor_model_parallel_size: Option<u64>,
    /// Stages of the pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline_model_parallel_size: Option<u64>,
    /// Replicas of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_parallel_size: Option<u64>,
    /// GPUs that share a sequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_parallel_size: Option<u64>,
    /// GPUs that share the experts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expert_model_parallel_size: Option<u64>,
    /// Micro-batches of a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradient_accumulation_steps: Option<u64>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// The configuration of training.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingConfig {
    /// The planned number of steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u64>,
    /// Sequences of a step, of all GPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_batch_size: Option<u64>,
    /// Sequences of a GPU at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_batch_size: Option<u64>,
    /// Tokens of a sequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence_length: Option<u64>,
    /// GPUs of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_gpus: Option<u64>,
    /// `TP1_PP2_SP0`, or a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel_strategy: Option<String>,
    /// `bf16`, `fp8`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// The statistics of the run, as computed by the writer of the record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Performance {
    /// Steps that ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_steps: Option<u64>,
    /// Seconds of all steps, warm-up included; or of the whole run, if the writer measured that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_time_seconds: Option<f64>,
    /// The mean of the steps after warm-up, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avg_step_time_seconds: Option<f64>,
    /// The shortest step after warm-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_step_time_seconds: Option<f64>,
    /// The longest step after warm-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_step_time_seconds: Option<f64>,
    /// One divided by the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps_per_second: Option<f64>,
    /// Tokens of all GPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_second: Option<f64>,
    /// Tokens of one GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_second_per_gpu: Option<f64>,
    /// Steps per second divided by the lanes of one GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput_per_gpu_core: Option<f64>,
    /// TFLOP/s of one GPU, as counted by the training program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tflops_per_gpu: Option<f64>,
    /// Steps at the beginning that the statistics leave out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_steps: Option<u64>,
    /// The rule by which they were chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_rule: Option<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// Memory of one GPU in GB (10⁹ bytes).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// In use by tensors, on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avg_memory_allocated_gb: Option<f64>,
    /// In use by tensors, maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory_allocated_gb: Option<f64>,
    /// In use by tensors, minimum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_memory_allocated_gb: Option<f64>,
    /// Held by the allocator, on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avg_memory_reserved_gb: Option<f64>,
    /// Held by the allocator, maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory_reserved_gb: Option<f64>,
    /// In use on the GPU by all programs, as counted by its driver, on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avg_memory_used_gb: Option<f64>,
    /// In use on the GPU by all programs, as counted by its driver, maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory_used_gb: Option<f64>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// A separate measurement: a copy, a product, a latency.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The group: `bandwidth`, `gemm`, `attention`, `latency`, `collective`, `block`, `training`,
    /// `inference`.
    pub group: String,
    /// What was measured, unique within the group: `copy device-device 256 MiB`, `4096x4096x4096 bf16`.
    pub name: String,
    /// Seconds of each repetition, warm-up left out.
    #[serde(with = "numbers")]
    pub seconds: Vec<f64>,
    /// Floating-point operations of one repetition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flops: Option<f64>,
    /// Bytes that one repetition must move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<f64>,
    /// Tokens of one repetition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<f64>,
    /// The largest difference from the reference that the result was checked against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_error: Option<f64>,
    /// The largest allowed difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_bound: Option<f64>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// Clocks, power and temperature of one GPU at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Seconds since the run began.
    pub seconds: f64,
    /// The GPU's ordinal.
    pub gpu: u64,
    /// The clock of its compute units in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_mhz: Option<f64>,
    /// The clock of its memory in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_clock_mhz: Option<f64>,
    /// Power in watts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_watts: Option<f64>,
    /// Temperature in degrees Celsius.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature_celsius: Option<f64>,
}

/// Something about a record that its reader must know.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// A stable name of the kind of finding: `tokens-contradict-batch`, `cores-contradict-device`.
    pub kind: String,
    /// What is wrong, with both figures.
    pub text: String,
    /// The figure that the record states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated: Option<f64>,
    /// The figure that follows from the rest of the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derived: Option<f64>,
}

impl Finding {
    /// A finding that has no figures to compare.
    #[must_use]
    pub fn remark(kind: &str, text: String) -> Self {
        Self { kind: kind.to_owned(), text, stated: None, derived: None }
    }
}

/// Numbers, some of which may be missing or NaN: null in JSON.
mod numbers {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(numbers: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(numbers.iter().map(|number| number.is_finite().then_some(*number)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
        let numbers = Vec::<Option<f64>>::deserialize(deserializer)?;
        Ok(numbers.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect())
    }
}
