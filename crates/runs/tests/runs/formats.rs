//! A short log of each program, with the expected figures. The lines are made up; their form follows the
//! programs' sources.

use std::fmt::Write as _;

use runs::Record;
use runs::extract::{self, Extraction, Format, Options, RankRule, Warmup};

pub(crate) fn read_with(log: &str, options: &Options) -> Extraction {
    extract::from_reader(log.as_bytes(), options).unwrap_or_else(|error| panic!("{error}:\n{log}"))
}

pub(crate) fn read(log: &str) -> Extraction {
    read_with(log, &Options::default())
}

pub(crate) fn kinds(record: &Record) -> Vec<&str> {
    record.findings.iter().map(|finding| finding.kind.as_str()).collect()
}

/// A line of Megatron-LM.
pub(crate) fn megatron(step: u64, milliseconds: f64, loss: f64) -> String {
    format!(
        " [2026-03-02 10:00:00] iteration {step:8}/     100 | consumed samples: {:12} | elapsed time per iteration (ms): \
             {milliseconds:.1} | \
         throughput per GPU (TFLOP/s/GPU): 400.0 | learning rate: 1.500000E-04 | global batch size:    16 | lm loss: {loss:.6E} | \
         loss scale: 1.0 | grad norm: 0.500 | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
        step * 16
    )
}

#[test]
fn megatron_with_its_arguments_gives_a_whole_record() {
    let mut log = "using world size: 8, data-parallel size: 4, context-parallel size: 1, tensor-model-parallel size: 2, \
                   pipeline-model-parallel size: 1\n\
                   ------------------------ arguments ------------------------\n\
                   \x20 bf16 ............................................ True\n\
                   \x20 ffn_hidden_size ................................. 14336\n\
                   \x20 global_batch_size ............................... 16\n\
                   \x20 hidden_size ..................................... 4096\n\
                   \x20 micro_batch_size ................................ 2\n\
                   \x20 num_attention_heads ............................. 32\n\
                   \x20 num_layers ...................................... 32\n\
                   \x20 num_query_groups ................................ 8\n\
                   \x20 seq_length ...................................... 4096\n\
                   \x20 train_iters ..................................... 100\n\
                   -------------------- end of arguments ---------------------\n"
        .to_owned();
    log += &megatron(1, 9000.0, 11.0);
    log += "[Rank 0] (after 1 iterations) memory (MB) | allocated: 20000.0 | max allocated: 30000.0 | reserved: 31000.0 | max reserved: \
            32000.0[Rank 4] (after 1 iterations) memory (MB) | allocated: 20000.5 | max allocated: 30500.0 | reserved: 31000.0 | max \
                 reserved: 31500.0\n";
    log += &megatron(2, 2000.0, 10.5);
    log += &megatron(3, 2100.0, 10.0);
    log += " validation loss at iteration 3 | lm loss value: 9.5E+00 | lm loss PPL: 1.3E+04 |\n";
    let extraction = read(&log);
    assert_eq!(
        (extraction.format, extraction.matched, extraction.ignored_count),
        (Format::Megatron, 4, 0),
        "{:?}",
        extraction.ignored
    );
    assert_eq!((extraction.lines, extraction.bytes), (log.lines().count() as u64, log.len() as u64));
    let record = extraction.record;
    assert_eq!(record.source.as_deref(), Some("megatron_log_extraction"));
    assert_eq!(
        (&record.step_times[..], &record.loss_values[..]),
        (&[9.0, 2.0, 2.1][..], &[11.0, 10.5, 10.0][..])
    );
    let performance = &record.performance_metrics;
    assert_eq!((performance.total_steps, performance.warmup_steps), (Some(3), Some(1)));
    assert_eq!(performance.avg_step_time_seconds, Some(2.05));
    assert_eq!(performance.tokens_per_second, Some(16.0 * 4096.0 / 2.05));
    assert_eq!(performance.tokens_per_second_per_gpu, Some(16.0 * 4096.0 / 2.05 / 8.0));
    let parallel = record.parallelism_config.as_ref().expect("parallelism");
    assert_eq!(
        (parallel.strategy_name.as_deref(), parallel.gradient_accumulation_steps),
        (Some("TP2_PP1"), Some(2))
    );
    let model = record.model_info.as_ref().expect("a model");
    assert_eq!(
        (model.num_layers, model.hidden_size, model.intermediate_size),
        (Some(32), Some(4096), Some(14336))
    );
    let memory = record.memory_metrics.as_ref().expect("memory");
    let mib = |count: f64| count * 1_048_576.0 / 1e9;
    assert_eq!(
        (memory.peak_memory_allocated_gb, memory.peak_memory_reserved_gb),
        (Some(mib(30500.0)), Some(mib(32000.0)))
    );
    assert_eq!(
        (record.training_config.precision.as_deref(), record.timestamp.as_str()),
        (Some("bf16"), "2026-03-02T10:00:00")
    );
    assert_eq!(kinds(&record), [""; 0], "{:?}", record.findings);
}

#[test]
fn primus_of_all_versions_has_its_current_values_read() {
    let line = |step: u64, fields: &str| {
        format!(
            "\x1b[32m[20260302 10:00:0{step}\x1b[0m][\x1b[36mrank-7/8\x1b[0m][\x1b[1mINFO \x1b[0m] [--------trainer.py:2560] : iteration \
             {step}/ 10 | consumed samples: {} | {fields} | global batch size: 64 | lm loss: 2.5E+00 | grad norm: 0.5 |\x1b[0m\n",
            step * 64
        )
    };
    let log = "seq_length: 2048\n".to_owned()
        + &line(
            1,
            "elapsed time per iteration (ms): 5000.0 | throughput per GPU (TFLOP/s/GPU): 100.0 | tokens per GPU (tokens/s/GPU): 3276.8",
        )
        + &line(
            2,
            "elapsed time per iteration (ms): 2000.0/3500.0 | hip mem usage/free/total/usage_ratio: 100.00GB/91.98GB/191.98GB/52.09% | \
                    throughput per GPU (TFLOP/s/GPU): 250.0/175.0 | tokens/s/GPU inst/harmonic mean: 8192.0/4681.1",
        )
        + &line(
            3,
            "elapsed time per iteration (ms): 2000.0/3000.0 | hip mem usage/free/total/usage_ratio: 101.00GiB/90.98GiB/191.98GiB/52.61% | \
                    compute per GPU (TFLOP/s/GPU): 250.0 (avg 200.0) | tokens/s/GPU inst/harmonic mean: 8192.0/5461.3",
        );
    let extraction = read(&log);
    assert_eq!(
        (extraction.format, extraction.ignored_count),
        (Format::Primus, 0),
        "{:?}",
        extraction.ignored
    );
    let record = extraction.record;
    assert_eq!(
        (record.source.as_deref(), &record.step_times[..]),
        (Some("primus_log_extraction"), &[5.0, 2.0, 2.0][..])
    );
    let performance = &record.performance_metrics;
    assert_eq!(
        (performance.tokens_per_second_per_gpu, performance.tflops_per_gpu),
        (Some(8192.0), Some(250.0))
    );
    let gib = 1_073_741_824.0 / 1e9;
    let memory = record.memory_metrics.as_ref().expect("memory");
    assert_eq!(
        (memory.peak_memory_used_gb, memory.avg_memory_used_gb),
        (Some(101.0 * gib), Some((100.0 * gib + 101.0 * gib) / 2.0))
    );
    assert_eq!((record.gpu_info.device_count, record.timestamp.as_str()), (Some(8), "2026-03-02T10:00:03"));
    assert_eq!(kinds(&record), [""; 0], "{:?}", record.findings);
}

#[test]
fn tokens_that_contradict_the_batch_are_a_finding_with_both_figures() {
    let line = |step: u64| {
        format!(
            "iteration {step}/ 10 | elapsed time per iteration (ms): 2000.0/2000.0 | tokens per GPU (tokens/s/GPU): 32768.0/32768.0 | \
             global batch size: 64 | lm loss: 2.5E+00 |\n"
        )
    };
    let log = format!("[rank-0/8] seq_length: 2048\n{}{}", line(1), line(2));
    let options = Options { gpus: Some(8), ..Options::default() };
    let record = read_with(&log, &options).record;
    let finding =
        record.findings.iter().find(|finding| finding.kind == "tokens-contradict-batch").expect("a finding");
    assert_eq!((finding.stated, finding.derived), (Some(262_144.0), Some(65_536.0)));
    assert!(finding.text.ends_with("a sequence length of 8192 would fit"), "{}", finding.text);
    assert_eq!(record.training_config.sequence_length, Some(2048));
}

#[test]
fn nemo_2_and_the_bars_of_nemo_1() {
    let log = "0: GLOBAL_RANK: 0, MEMBER: 1/8\n\
        0: Training epoch 0, iteration 0/2 | lr: 1e-06 | global_batch_size: 32 | global_step: 0 | max_memory_reserved: 50000000000 | \
        max_memory_allocated: 40000000000 | reduced_train_loss: 11.5 | train_step_timing in s: 9.5 | TFLOPS_per_GPU: 1.5e+02 | \
             consumed_samples: 32\n\
        0: Training epoch 0, iteration 1/2 | lr: 2e-06 | global_batch_size: 32 | global_step: 1 | max_memory_reserved: 51000000000 | \
        max_memory_allocated: 41000000000 | reduced_train_loss: 11.25 | train_step_timing in s: 2.5 | TFLOPS_per_GPU: 5e+02 | \
             consumed_samples: 64\n\
        0: Training epoch 0, iteration 2/2 | lr: 3e-06 | global_batch_size: 32 | global_step: 2 | max_memory_reserved: 51000000000 | \
        max_memory_allocated: 41000000000 | reduced_train_loss: 11 | train_step_timing in s: 2.5 | TFLOPS_per_GPU: 5e+02 | \
             consumed_samples: 96\n";
    let extraction = read(log);
    assert_eq!((extraction.format, extraction.ignored_count), (Format::Nemo, 0));
    let record = extraction.record;
    assert_eq!(
        (&record.step_times[..], &record.loss_values[..]),
        (&[9.5, 2.5, 2.5][..], &[11.5, 11.25, 11.0][..])
    );
    assert_eq!((record.training_config.max_steps, record.training_config.num_gpus), (Some(3), Some(8)));
    let memory = record.memory_metrics.as_ref().expect("memory");
    assert_eq!((memory.peak_memory_allocated_gb, memory.peak_memory_reserved_gb), (Some(41.0), Some(51.0)));
    assert_eq!(record.performance_metrics.tflops_per_gpu, Some(500.0));

    let bars = "Epoch 0: :  33%|███▎      | 1/3 [00:09<00:18, v_num=, reduced_train_loss=11.50, global_step=0.000, consumed_samples=32.00, \
        train_step_timing in s=9.500]\rEpoch 0: :  67%|██████▋   | 2/3 [00:12<00:06, v_num=, reduced_train_loss=11.20, global_step=1.000, \
        consumed_samples=64.00, train_step_timing in s=2.500]\rEpoch 0: : 100%|██████████| 3/3 [00:14<00:00, v_num=, \
             reduced_train_loss=11.00, \
        global_step=2.000, consumed_samples=96.00, train_step_timing in s=2.250]\n";
    let extraction = read(bars);
    assert_eq!(
        (extraction.format, extraction.ignored_count, extraction.matched),
        (Format::Nemo, 0, 3),
        "{:?}",
        extraction.ignored
    );
    assert_eq!(extraction.record.step_times, [9.5, 2.5, 2.25]);
    assert_eq!(extraction.record.training_config.max_steps, Some(3));
}

#[test]
fn torchtitan_has_times_that_follow_and_says_so() {
    let step = |step: u64, tps: &str| {
        format!(
            "[rank0]:[titan] 2026-03-02 10:00:0{step},500 - root - INFO - \x1b[31mstep: {step:2}  \x1b[32mloss:  7.50000  \
                 \x1b[38;2;180;60;0mgrad_norm:  \
             1.2500  \x1b[36mmemory: 10.00GiB(12.50%)  \x1b[34mtps: {tps}  \x1b[36mtflops: 200.00  \x1b[35mmfu: 20.22%\x1b[39m\n"
        )
    };
    let log = "[rank0]:[titan] 2026-03-02 09:59:00,000 - root - INFO - CUDA capacity: NVIDIA H100 80GB HBM3 with 79.10GiB memory\n\
        [rank0]:[titan] 2026-03-02 09:59:00,000 - root - INFO - Building device mesh with parallelism: pp=1, dp_replicate=1, \
             dp_shard=8, cp=1, tp=1, ep=1\n\
        [rank0]:[titan] 2026-03-02 09:59:01,000 - root - INFO - Trainer is initialized with local batch size 8, global batch size 64, \
             gradient \
        accumulation steps 1, sequence length 2048, total steps 4 (warmup 2)\n"
        .to_owned()
        + &step(1, "1,024")
        + &step(2, "8,192")
        + &step(3, "16,384");
    let extraction = read(&log);
    assert_eq!(
        (extraction.format, extraction.ignored_count),
        (Format::Torchtitan, 0),
        "{:?}",
        extraction.ignored
    );
    let record = extraction.record;
    // 64 × 2048 tokens ÷ (tokens per second of a GPU × 8).
    assert_eq!(record.step_times, [16.0, 2.0, 1.0]);
    assert_eq!(kinds(&record), ["step-times-derived"], "{:?}", record.findings);
    assert_eq!(record.performance_metrics.avg_step_time_seconds, Some(1.5));
    assert_eq!(record.performance_metrics.tokens_per_second, Some(64.0 * 2048.0 / 1.5));
    assert_eq!(record.gpu_info.device_name.as_deref(), Some("NVIDIA H100 80GB HBM3"));
    assert_eq!(
        (record.platform, record.timestamp.as_str()),
        (runs::record::Platform::Nvidia, "2026-03-02T10:00:03.500")
    );
    assert_eq!(record.training_config.max_steps, Some(4));
}

#[test]
fn torchtune_has_rates_and_no_times() {
    let log = "INFO:torchtune.utils.logging:Model is initialized with precision torch.bfloat16.\n\
        Step 1 | loss:2.085338592529297 lr:2e-05 tokens_per_second_per_gpu:57.828881833956174 \n\
        Step 2 | loss:1.8718312978744507 lr:2e-05 tokens_per_second_per_gpu:405.044978758513 peak_memory_active:14.75 \
        peak_memory_alloc:14.5 peak_memory_reserved:16.0 grad_norm:1.25 \n\
        Step 3 | loss:1.1732845306396484 lr:1e-05 tokens_per_second_per_gpu:655.9372371931469 \n\
        Step 4 | loss:0.5\n";
    let extraction = read(log);
    assert_eq!((extraction.format, extraction.matched, extraction.ignored_count), (Format::Torchtune, 3, 0));
    let record = extraction.record;
    assert_eq!(record.loss_values, [2.085338592529297, 1.8718312978744507, 1.1732845306396484]);
    assert_eq!(record.learning_rates, [2e-5, 2e-5, 1e-5]);
    assert!(record.step_times.is_empty(), "a rate without the tokens of a step gives no time");
    let memory = record.memory_metrics.expect("memory");
    let gib = 1_073_741_824.0 / 1e9;
    assert_eq!(
        (memory.peak_memory_allocated_gb, memory.peak_memory_reserved_gb),
        (Some(14.5 * gib), Some(16.0 * gib))
    );
    assert!(record.performance_metrics.tokens_per_second_per_gpu.is_some());
}

#[test]
fn maxtext_with_its_configuration() {
    let log = "Num_devices: 8, shape (1, 1, 8)\nConfig param global_batch_size_to_train_on: 16\nConfig param max_target_length: 2048\n\
        number parameters: 8.030 billion\n\
        completed step: 0, seconds: 20.000, TFLOP/s/device: 10.000, Tokens/s/device: 204.800, total_weights: 32768, loss: 12.000, lr: \
             1.000e-04, grad_norm: 2.500e+00\n\
        completed step: 1, seconds: 2.000, TFLOP/s/device: 100.000, Tokens/s/device: 2048.000, total_weights: 32768, loss: 11.900, lr: \
             3.000e-04, \
        grad_norm: 1.250e+00\n\
        completed step: 2, seconds: 2.000, TFLOP/s/device: 100.000, Tokens/s/device: 2048.000, total_weights: 32768, loss: 11.800, lr: \
             5.000e-04, grad_norm: 1.000e+00\n";
    let record = read(log).record;
    assert_eq!(
        (&record.step_times[..], &record.loss_values[..]),
        (&[20.0, 2.0, 2.0][..], &[12.0, 11.9, 11.8][..])
    );
    assert_eq!(
        (record.performance_metrics.tokens_per_second, record.training_config.num_gpus),
        (Some(16384.0), Some(8))
    );
    assert_eq!(record.learning_rates[1], 3e-4);
    assert_eq!(kinds(&record), [""; 0], "{:?}", record.findings);
}

#[test]
fn deepspeed_and_the_lines_of_megatron_in_its_logs() {
    let line = |step: u64, rate: f64| {
        format!(
            "[2026-03-02 10:00:00,646] [INFO] [logging.py:96:log_dist] [Rank 0] step={step}, skipped=0, lr=[0.0001, 0.0001], mom=[(0.9, \
                 0.999)]\n\
             [2026-03-02 10:00:00,650] [INFO] [timer.py:260:stop] epoch=0/micro_step={step}/global_step={step}, \
                  RunningAvgSamplesPerSec=9.5, \
             CurrSamplesPerSec={rate}, MemAllocated=6.01GB, MaxMemAllocated=19.52GB\n"
        )
    };
    let config =
        "[2026-03-02 09:59:00,000] [INFO] [config.py:1000:print]   train_batch_size ............. 32\n";
    let extraction = read(&(config.to_owned() + &line(10, 8.0) + &line(20, 16.0) + &line(30, 16.0)));
    assert_eq!(
        (extraction.format, extraction.ignored_count),
        (Format::DeepSpeed, 0),
        "{:?}",
        extraction.ignored
    );
    let record = extraction.record;
    assert_eq!((&record.step_times[..], &record.learning_rates[..]), (&[4.0, 2.0, 2.0][..], &[1e-4; 3][..]));
    assert_eq!(kinds(&record), ["step-times-derived", "step-times-averaged"], "{:?}", record.findings);
    assert_eq!(
        (record.performance_metrics.total_steps, record.performance_metrics.total_time_seconds),
        (Some(30), Some(80.0))
    );
    let memory = record.memory_metrics.expect("memory");
    let gib = 1_073_741_824.0;
    assert_eq!(
        (memory.avg_memory_allocated_gb, memory.peak_memory_allocated_gb),
        (Some(6.01 * gib / 1e9), Some(19.52 * gib / 1e9))
    );

    // Without the batch, sequences per second give no time.
    let record = read(&line(10, 8.0)).record;
    assert_eq!((record.step_times.len(), kinds(&record)), (0, vec!["no-step-times"]));

    // Megatron-DeepSpeed writes both; Megatron's lines have the times.
    let both: String = (1..=4).map(|step| line(step, 8.0) + &megatron(step, 2000.0, 5.0)).collect();
    let extraction = read(&both);
    assert_eq!((extraction.format, extraction.record.step_times.len()), (Format::Megatron, 4));
    assert!(kinds(&extraction.record).contains(&"several-formats"), "{:?}", extraction.record.findings);
    let options =
        Options { format: Some(Format::DeepSpeed), global_batch_size: Some(32), ..Options::default() };
    assert_eq!(read_with(&both, &options).record.step_times, [4.0; 4]);
}

#[test]
fn hugging_face_has_the_time_of_the_run() {
    let log = "  Instantaneous batch size per device = 2\n  Total train batch size (w. parallel, distributed & accumulation) = 16\n\
        \x20 Gradient Accumulation steps = 1\n  Total optimization steps = 30\n\r  0%|          | 0/30 [00:00<?, ?it/s]\
        \r 33%|███▎      | 10/30 [00:20<00:40,  2.00s/it]{'loss': 2.5, 'grad_norm': 1.25, 'learning_rate': 2e-05, 'epoch': 0.33}\n\
        \r 67%|██████▋   | 20/30 [00:40<00:20,  2.00s/it]{'loss': '2.25', 'grad_norm': '1.5', 'learning_rate': '1e-05', 'epoch': '0.67'}\n\
        {'eval_loss': 2.4, 'eval_runtime': 5.1, 'epoch': 0.67}\n\
        \r100%|██████████| 30/30 [01:01<00:00,  2.00s/it]{'loss': 2.0, 'grad_norm': 0.5, 'learning_rate': 0.0, 'epoch': 1.0}\n\
        \r100%|██████████| 3/3 [00:01<00:00,  2.00it/s]\n\
        {'train_runtime': 62.4, 'train_samples_per_second': 7.692, 'train_steps_per_second': 0.481, 'train_loss': 2.25, 'epoch': 1.0}\n";
    let options = Options { sequence_length: Some(1024), gpus: Some(8), ..Options::default() };
    let extraction = read_with(log, &options);
    assert_eq!(
        (extraction.format, extraction.ignored_count),
        (Format::HuggingFace, 0),
        "{:?}",
        extraction.ignored
    );
    let record = extraction.record;
    assert_eq!(
        (&record.loss_values[..], &record.learning_rates[..]),
        (&[2.5, 2.25, 2.0][..], &[2e-5, 1e-5, 0.0][..])
    );
    let performance = &record.performance_metrics;
    assert_eq!((performance.total_steps, performance.total_time_seconds), (Some(30), Some(62.4)));
    assert_eq!(performance.avg_step_time_seconds, Some(62.4 / 30.0));
    assert_eq!(performance.tokens_per_second, Some(16.0 * 1024.0 / (62.4 / 30.0)));
    assert_eq!(
        (record.training_config.global_batch_size, record.training_config.micro_batch_size),
        (Some(16), Some(2))
    );
    assert_eq!(kinds(&record), ["no-step-times"]);

    // An unfinished run has its progress bar.
    let cut = log.split("{'train_runtime'").next().expect("a part");
    let record = read(cut).record;
    assert_eq!(record.performance_metrics.avg_step_time_seconds, Some(61.0 / 30.0));
}

#[test]
fn llm_c_and_the_program_beside_it() {
    let log = "| device                | NVIDIA A100-SXM4-80GB                              |\n\
        num_parameters: 124475904 => bytes: 248951808\n\
        batch_size B=64 * seq_len T=1024 * num_processes=8 and total_batch_size=524288\n=> setting grad_accum_steps=1\n\
        val loss 11.0\n\
        step    1/3 | loss 11.032358 (+nanz)| norm 22.1414 (+nanz)| lr 8.57e-07 | 575.00 ms | 39.0% bf16 MFU | 911805 tok/s\n\
        step    2/3 | loss 10.958507 (+nanz)| norm 22.0968 (+nanz)| lr 1.71e-06 | 250.00 ms | 39.6% bf16 MFU | 2097152 tok/s\n\
        step    3/3 | loss 10.811316 (+1.25z)| norm 21.1251 (-0.10z)| lr 2.57e-06 | 250.00 ms | 37.9% bf16 MFU | 2097152 tok/s\n\
        val loss 10.6\ntotal average iteration time: 250.0 ms\n";
    let extraction = read(log);
    assert_eq!(
        (extraction.format, extraction.matched, extraction.ignored_count),
        (Format::LlmC, 3, 0),
        "{:?}",
        extraction.ignored
    );
    let record = extraction.record;
    assert_eq!(
        (&record.step_times[..], &record.grad_norms[..]),
        (&[0.575, 0.25, 0.25][..], &[22.1414, 22.0968, 21.1251][..])
    );
    assert_eq!(record.performance_metrics.tokens_per_second, Some(524_288.0 / 0.25));
    let config = &record.training_config;
    assert_eq!(
        (config.global_batch_size, config.micro_batch_size, config.num_gpus),
        (Some(512), Some(64), Some(8))
    );
    assert_eq!(record.gpu_info.device_name.as_deref(), Some("NVIDIA A100-SXM4-80GB"));
    assert_eq!(kinds(&record), [""; 0], "{:?}", record.findings);

    let python = "step    1/2 | train loss 4.367631 | norm 13.0082 | lr 3.00e-04 | (349.48 ms | 11720 tok/s)\n\
        step    2/2 | train loss 4.031242 | norm 11.0082 | lr 3.00e-04 | (100.50 ms | 40756 tok/s)\n";
    let record = read(python).record;
    assert_eq!(
        (&record.step_times[..], &record.loss_values[..]),
        (&[0.34948, 0.1005][..], &[4.367631, 4.031242][..])
    );
    assert!((record.performance_metrics.tokens_per_second.expect("tokens") - 40756.0).abs() < 1e-6);
}

#[test]
fn plain_lines_need_a_unit_for_a_time() {
    for (log, times, losses) in [
        (
            "iter 0: loss 4.28, time 543.21ms, mfu -100.00%\niter 10: loss 2.57, time 140.22ms, mfu 14.5%\n",
            &[0.54321, 0.14022][..],
            &[4.28, 2.57][..],
        ),
        ("[step 5/100] train_loss=2.31 lr=1e-4 step_time=0.51s tok/s=12345\n", &[0.51], &[2.31]),
        ("Step 7 | Loss: 2.25 | dt: 250.5 ms | 8192 tok/s\n", &[0.2505], &[2.25]),
        ("step: 3, loss: 1.5, step_time_ms: 20.5\n", &[0.0205], &[1.5]),
        ("step 10 loss 3.21\nstep 11 loss 3.20\n", &[], &[3.21, 3.20]),
    ] {
        let extraction = read(log);
        assert_eq!(
            (extraction.format, extraction.ignored_count),
            (Format::Plain, 0),
            "{log}: {:?}",
            extraction.ignored
        );
        assert_eq!(
            (&extraction.record.step_times[..], &extraction.record.loss_values[..]),
            (times, losses),
            "{log}"
        );
    }
    let extraction = read("step 1 loss 2.0 time 0.5\nstep 2 loss 1.5 time 0.5\n");
    assert!(extraction.record.step_times.is_empty());
    assert_eq!((extraction.ignored_count, extraction.ignored[0].why.as_str()), (2, "a time without a unit"));
    // Losses of an evaluation do not belong to a step.
    extract::from_reader(
        &b"step 100: train loss 2.1, val loss 2.2\nfor loss in losses\n"[..],
        &Options::default(),
    )
    .expect_err("no step");
}

#[test]
fn ranks_become_one_row_by_the_stated_rule() {
    let line = |rank: u32, step: u64, milliseconds: f64| {
        format!(
            "[default{rank}]: iteration {step}/ 4 | elapsed time per iteration (ms): {milliseconds:.1} | tokens/sec/GPU: {:.1} | \
             global batch size: 8 | lm loss: 2.500000E+00 |\n",
            1e6 / milliseconds
        )
    };
    // Rank 1 is one step late.
    let log = line(0, 1, 900.0)
        + &line(0, 2, 500.0)
        + &line(1, 1, 1000.0)
        + &line(0, 3, 520.0)
        + &line(1, 2, 400.0)
        + &line(1, 3, 480.0);
    let extraction = read(&log);
    assert_eq!(extraction.record.step_times, [1.0, 0.5, 0.52]);
    let told = &extraction
        .record
        .findings
        .iter()
        .find(|finding| finding.kind == "several-ranks")
        .expect("told")
        .text;
    assert_eq!(
        told,
        "3 lines about steps that another rank wrote about: of each step, the slowest rank counts"
    );
    assert!(!kinds(&extraction.record).contains(&"resumed"));
    let mean = read_with(&log, &Options { ranks: RankRule::Mean, ..Options::default() });
    assert_eq!(mean.record.step_times, [0.95, 0.45, 0.5]);

    // The same without prefixes: lines of the same step have the same loss.
    let bare = log.replace("[default0]: ", "").replace("[default1]: ", "");
    let extraction = read(&bare);
    assert_eq!(extraction.record.step_times, [1.0, 0.5, 0.52]);
    assert!(!kinds(&extraction.record).contains(&"resumed"), "{:?}", extraction.record.findings);
}

#[test]
fn a_resumed_run_counts_what_it_did_last() {
    for prefix in ["", "7: "] {
        let mut log = String::new();
        for step in 1..=10 {
            log += &(prefix.to_owned() + &megatron(step, 1000.0, 5.0 - step as f64 / 10.0));
        }
        for step in 6..=12 {
            log += &(prefix.to_owned() + &megatron(step, 2000.0, 4.9 - step as f64 / 10.0));
        }
        let record = read(&log).record;
        assert_eq!(record.step_times, [[1.0; 5].as_slice(), &[2.0; 7]].concat(), "{prefix}");
        let told: Vec<&str> = record
            .findings
            .iter()
            .filter(|finding| finding.kind == "resumed")
            .map(|finding| finding.text.as_str())
            .collect();
        assert_eq!(
            told,
            ["in line 11, the steps go back from 10 to 6: the run was resumed, and the later lines count"]
        );
        assert!(!kinds(&record).contains(&"several-ranks"), "{:?}", record.findings);
    }
}

#[test]
fn warmup_is_skipped_by_the_rule_that_the_record_states() {
    let mut log = String::new();
    for step in 1..=40 {
        log += &megatron(step, if step <= 6 { 9000.0 } else { 2000.0 + (step % 3) as f64 }, 5.0);
    }
    for (warmup, steps, rule) in [
        (Warmup::First(0), 0, "first 0"),
        (Warmup::First(3), 3, "first 3"),
        (Warmup::First(100), 39, "first 39 (of 100 that were asked for: the log has no more)"),
        (Warmup::Steady, 6, "until the times are steady, and at least the first step"),
    ] {
        let record = read_with(&log, &Options { warmup, ..Options::default() }).record;
        let performance = &record.performance_metrics;
        assert_eq!((performance.warmup_steps, performance.warmup_rule.as_deref()), (Some(steps), Some(rule)));
        assert_eq!(record.step_times.len(), 40);
        let tells = kinds(&record).contains(&"mean-includes-warmup");
        assert_eq!(tells, steps < 6, "{:?}", record.findings);
    }
}

#[test]
fn values_of_the_user_are_before_those_of_the_log() {
    let log = "  seq_length ...................................... 4096\n".to_owned()
        + &megatron(1, 900.0, 5.0)
        + &megatron(2, 900.0, 5.0);
    let options = Options {
        model: Some("llama3_8b".to_owned()),
        device: Some("AMD Instinct MI300X".to_owned()),
        gpus: Some(4),
        sequence_length: Some(1024),
        global_batch_size: Some(32),
        ..Options::default()
    };
    let record = read_with(&log, &options).record;
    let config = &record.training_config;
    assert_eq!(
        (config.num_gpus, config.sequence_length, config.global_batch_size),
        (Some(4), Some(1024), Some(32))
    );
    assert_eq!(record.model_info.and_then(|model| model.name).as_deref(), Some("llama3_8b"));
    assert_eq!(
        (record.platform, record.gpu_info.device_name.as_deref()),
        (runs::record::Platform::Amd, Some("AMD Instinct MI300X"))
    );
}

#[test]
fn several_files_are_read_at_once_as_runs_of_their_own_or_as_one() {
    let folder = tempfile::tempdir().expect("folder");
    let paths: Vec<_> = (0..5)
        .map(|rank| {
            let path = folder.path().join(format!("rank{rank}.log"));
            let log: String = (1..=3).map(|step| megatron(step, 1000.0 + 10.0 * rank as f64, 5.0)).collect();
            std::fs::write(&path, log).expect("write");
            path
        })
        .collect();
    let read = std::sync::atomic::AtomicU64::new(0);
    let each = extract::from_paths(&paths, &Options::default(), &read);
    for (rank, extraction) in each.into_iter().enumerate() {
        assert_eq!(extraction.expect("a record").record.step_times, vec![1.0 + 0.01 * rank as f64; 3]);
    }
    let size: u64 = paths.iter().map(|path| path.metadata().expect("a file").len()).sum();
    assert_eq!(read.into_inner(), size);
    let one = extract::one_run(&paths, &Options::default(), &Default::default()).expect("a record");
    assert_eq!((&one.record.step_times[..], one.matched), (&[1.04; 3][..], 15));
    // Parts of one run, one after the other.
    let mut later = String::new();
    for step in 4..=6 {
        let _ = write!(later, "{}", megatron(step, 500.0, 4.0));
    }
    std::fs::write(&paths[1], later).expect("write");
    let one = extract::one_run(&paths[..2], &Options::default(), &Default::default()).expect("a record");
    assert_eq!(one.record.step_times, [1.0, 1.0, 1.0, 0.5, 0.5, 0.5]);

    let missing = folder.path().join("none.log");
    let error = extract::from_path(&missing, &Options::default()).expect_err("no file").to_string();
    assert!(error.starts_with(&format!("cannot read {}: ", missing.display())), "{error}");
    std::fs::write(&missing, "hello\nworld").expect("write");
    let error = extract::from_path(&missing, &Options::default()).expect_err("no steps").to_string();
    assert!(
        error.starts_with(
            "none of 2 lines is about a step of training; known formats are primus, megatron, nemo,"
        ),
        "{error}"
    );
}

#[test]
fn every_format_has_a_name_and_is_on_the_page() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/use/bench.md"))
        .expect("the page");
    let cells: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next()).collect();
    for format in Format::all() {
        let name = format.name();
        assert!(!name.is_empty() && name.parse() == Ok(format), "{name}");
        let is_listed =
            cells.iter().any(|cell| cell.split("`, `").any(|one| one.trim_end_matches('`') == name));
        assert!(is_listed, "docs/use/bench.md has no row for `{name}`");
    }
    assert_eq!(Format::names().split(", ").count(), Format::all().count());
}
