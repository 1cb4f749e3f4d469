//! What a log says about the run's configuration: dumps of arguments, lines about batches, parallelism,
//! devices and versions.

use memchr::memmem;

use super::text::{Number, number, whole};

/// An integer of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Setting {
    SequenceLength,
    GlobalBatch,
    MicroBatch,
    Accumulation,
    Gpus,
    Tensor,
    Pipeline,
    Context,
    Expert,
    Data,
    MaxSteps,
    Layers,
    Hidden,
    FeedForward,
    Heads,
    KvHeads,
    HeadDim,
    Vocabulary,
    Parameters,
    /// Tokens of a step.
    TokensPerStep,
    /// Steps that each line covers.
    LogInterval,
}

const COUNT: usize = Setting::LogInterval as usize + 1;

/// Names of settings for texts, in the order of [`Setting`].
const NAMES: [&str; COUNT] = [
    "sequence length",
    "global batch size",
    "micro-batch size",
    "gradient accumulation steps",
    "number of GPUs",
    "tensor parallel size",
    "pipeline parallel size",
    "context parallel size",
    "expert parallel size",
    "data parallel size",
    "number of steps",
    "number of layers",
    "hidden size",
    "feed-forward size",
    "number of heads",
    "number of key-value heads",
    "head dimension",
    "vocabulary size",
    "number of parameters",
    "tokens of a step",
    "log interval",
];

/// Keys as programs write them, before `:`, `=`, dots or a space.
const KEYS: &[(&str, Setting)] = &[
    // Megatron-LM, Primus, NeMo
    ("seq_length", Setting::SequenceLength),
    ("sequence_length", Setting::SequenceLength),
    ("global_batch_size", Setting::GlobalBatch),
    ("micro_batch_size", Setting::MicroBatch),
    ("tensor_model_parallel_size", Setting::Tensor),
    ("pipeline_model_parallel_size", Setting::Pipeline),
    ("context_parallel_size", Setting::Context),
    ("expert_model_parallel_size", Setting::Expert),
    ("data_parallel_size", Setting::Data),
    ("world_size", Setting::Gpus),
    ("train_iters", Setting::MaxSteps),
    ("log_interval", Setting::LogInterval),
    ("num_layers", Setting::Layers),
    ("hidden_size", Setting::Hidden),
    ("ffn_hidden_size", Setting::FeedForward),
    ("num_attention_heads", Setting::Heads),
    ("num_query_groups", Setting::KvHeads),
    ("kv_channels", Setting::HeadDim),
    ("padded_vocab_size", Setting::Vocabulary),
    ("using world size", Setting::Gpus),
    ("data-parallel size", Setting::Data),
    ("data-parallel-size", Setting::Data),
    ("context-parallel size", Setting::Context),
    ("tensor-model-parallel size", Setting::Tensor),
    ("pipeline-model-parallel size", Setting::Pipeline),
    // DeepSpeed
    ("train_batch_size", Setting::GlobalBatch),
    ("train_micro_batch_size_per_gpu", Setting::MicroBatch),
    ("gradient_accumulation_steps", Setting::Accumulation),
    // torchtitan
    ("local batch size", Setting::MicroBatch),
    ("global batch size", Setting::GlobalBatch),
    ("gradient accumulation steps", Setting::Accumulation),
    ("sequence length", Setting::SequenceLength),
    ("total steps", Setting::MaxSteps),
    // MaxText
    ("max_target_length", Setting::SequenceLength),
    ("global_batch_size_to_train_on", Setting::GlobalBatch),
    ("per_device_batch_size", Setting::MicroBatch),
    ("Num_devices", Setting::Gpus),
    ("base_num_decoder_layers", Setting::Layers),
    ("base_emb_dim", Setting::Hidden),
    ("base_mlp_dim", Setting::FeedForward),
    ("base_num_query_heads", Setting::Heads),
    ("base_num_kv_heads", Setting::KvHeads),
    ("head_dim", Setting::HeadDim),
    ("vocab_size", Setting::Vocabulary),
    // Hugging Face
    ("Instantaneous batch size per device", Setting::MicroBatch),
    ("Total train batch size (w. parallel, distributed & accumulation)", Setting::GlobalBatch),
    ("Gradient Accumulation steps", Setting::Accumulation),
    ("Total optimization steps", Setting::MaxSteps),
    ("Number of trainable parameters", Setting::Parameters),
    // llm.c
    ("seq_len T", Setting::SequenceLength),
    ("num_processes", Setting::Gpus),
    ("grad_accum_steps", Setting::Accumulation),
    ("num_parameters", Setting::Parameters),
    ("num_layers L", Setting::Layers),
    ("channels C", Setting::Hidden),
    ("num_heads NH", Setting::Heads),
    ("padded_vocab_size Vp", Setting::Vocabulary),
];

/// Each line about the configuration contains at least one of these texts. They are few and have at least
/// four bytes, which makes the search fast.
pub(super) const NEEDLES: &[&str] = &[
    "....",
    "seq_len",
    "sequence_length",
    // `global_batch_size`, `tensor_model_parallel_size`, `world_size`, `hidden_size`, `vocab_size`
    "_size",
    "batch size",
    "using world size",
    "num_layers",
    "device mesh",
    // `total parameters`, `number parameters: `, `num_parameters`
    "parameters",
    "Config param ",
    "Num_devices: ",
    // `Gradient Accumulation steps`, `Total optimization steps`
    "ation steps",
    "grad_accum_steps",
    "channels C",
    "device memory usage: ",
    "MEMBER: 1/",
    "ersion",
    "Instinct MI",
    "NVIDIA ",
];

/// A place where a setting differs from its earlier value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Change {
    pub(super) name: &'static str,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) line: u64,
}

/// The configuration as far as the log gives it.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    numbers: [Option<u64>; COUNT],
    pub(super) changes: Vec<Change>,
    pub(super) gpu_name: Option<String>,
    pub(super) pytorch: Option<String>,
    pub(super) rocm: Option<String>,
    pub(super) cuda: Option<String>,
    pub(super) precision: Option<&'static str>,
    /// Bytes of one GPU.
    pub(super) gpu_memory: Option<f64>,
    /// GB in use on the GPU, for programs that print it once.
    pub(super) memory_used: Option<f64>,
}

impl Settings {
    pub(super) fn get(&self, setting: Setting) -> Option<u64> {
        self.numbers[setting as usize]
    }

    /// Sets a number; zero means unknown. The last one counts, and changes are kept.
    pub(super) fn set(&mut self, setting: Setting, value: u64, line: u64) {
        if value == 0 {
            return;
        }
        let slot = &mut self.numbers[setting as usize];
        if let Some(from) = slot.replace(value).filter(|from| *from != value)
            && self.changes.len() < 100
        {
            self.changes.push(Change { name: NAMES[setting as usize], from, to: value, line });
        }
    }

    pub(super) fn append(&mut self, other: Settings) {
        for (slot, (value, name)) in self.numbers.iter_mut().zip(other.numbers.into_iter().zip(NAMES)) {
            if let (Some(from), Some(to)) = (*slot, value)
                && from != to
            {
                self.changes.push(Change { name, from, to, line: 0 });
            }
            *slot = value.or(*slot);
        }
        self.changes.extend(other.changes);
        self.gpu_name = other.gpu_name.or(self.gpu_name.take());
        self.pytorch = other.pytorch.or(self.pytorch.take());
        self.rocm = other.rocm.or(self.rocm.take());
        self.cuda = other.cuda.or(self.cuda.take());
        self.precision = other.precision.or(self.precision);
        self.gpu_memory = other.gpu_memory.or(self.gpu_memory);
        self.memory_used = other.memory_used.or(self.memory_used);
    }

    /// Reads a line without colours.
    pub(super) fn read(&mut self, text: &[u8], line: u64) {
        // A longer line is another kind of dump.
        let text = &text[..text.len().min(4000)];
        for (key, setting) in KEYS {
            if let Some(value) = value_of(text, key.as_bytes()) {
                self.set(*setting, value, line);
            }
        }
        self.read_tokens_per_step(text, line);
        self.read_mesh(text, line);
        self.read_ranks(text, line);
        self.read_parameters(text, line);
        self.read_precision(text);
        self.read_gpu(text);
        self.read_versions(text);
    }

    /// llm.c counts the batch in tokens.
    fn read_tokens_per_step(&mut self, text: &[u8], line: u64) {
        if memmem::find(text, b"seq_len T=").is_some()
            && let Some(value) = value_of(text, b"total_batch_size")
        {
            self.set(Setting::TokensPerStep, value, line);
        }
    }

    /// torchtitan's mesh: named sizes, or a list of them.
    fn read_mesh(&mut self, text: &[u8], line: u64) {
        let Some(at) = memmem::find(text, b"device mesh with") else { return };
        let text = &text[at..];
        if let Some(at) = memmem::find(text, b"], [") {
            let sizes: Option<Vec<u64>> = text[at + 4..]
                .split(|byte| *byte == b']')
                .next()
                .unwrap_or_default()
                .split(|byte| *byte == b',')
                .map(|size| whole(size).map(|(size, _)| size))
                .collect();
            if let Some(gpus) = sizes.and_then(|sizes| sizes.into_iter().try_fold(1_u64, u64::checked_mul)) {
                self.set(Setting::Gpus, gpus, line);
            }
            return;
        }
        let size = |key: &[u8]| value_of(text, key);
        let (pipeline, tensor, context) = (size(b"pp"), size(b"tp"), size(b"cp"));
        let replicas = size(b"dp_replicate")
            .zip(size(b"dp_shard"))
            .and_then(|(replicate, shard)| replicate.checked_mul(shard));
        for (setting, value) in [
            (Setting::Pipeline, pipeline),
            (Setting::Tensor, tensor),
            (Setting::Context, context),
            (Setting::Expert, size(b"ep")),
            (Setting::Data, replicas),
        ] {
            if let Some(value) = value {
                self.set(setting, value, line);
            }
        }
        let product = [pipeline, tensor, context, replicas]
            .into_iter()
            .try_fold(1_u64, |product, size| product.checked_mul(size?));
        if let Some(gpus) = product {
            self.set(Setting::Gpus, gpus, line);
        }
    }

    /// Lightning: `GLOBAL_RANK: 0, MEMBER: 1/8`.
    fn read_ranks(&mut self, text: &[u8], line: u64) {
        let key = b"MEMBER: 1/";
        if let Some(at) = memmem::find(text, key)
            && let Some((gpus, _)) = whole(&text[at + key.len()..])
        {
            self.set(Setting::Gpus, gpus, line);
        }
    }

    /// MaxText: `number parameters: 8.030 billion`; torchtitan: `Model llama3 8B size: 8,030,261,248 total
    /// parameters`.
    fn read_parameters(&mut self, text: &[u8], line: u64) {
        if let Some(at) = memmem::find(text, b"number parameters: ")
            && let Number::Value(value, rest) = number(&text[at + 19..], super::text::Commas::Decimal)
            && rest.trim_ascii_start().starts_with(b"billion")
            && (0.0..1e6).contains(&value)
        {
            self.set(Setting::Parameters, (value * 1e9).round() as u64, line);
        }
        if let Some(end) = memmem::find(text, b" total parameters") {
            let start = text[..end].iter().rposition(|byte| *byte == b' ').map_or(0, |space| space + 1);
            if let Some(value) = grouped(&text[start..end]) {
                self.set(Setting::Parameters, value, line);
            }
        }
    }

    /// Megatron-LM's `bf16 .... True` and `fp8 .... hybrid`; MaxText's `dtype: bfloat16`.
    fn read_precision(&mut self, text: &[u8]) {
        let word = |key: &[u8]| {
            value_text(text, key)
                .map(|value| value.split(|byte| byte.is_ascii_whitespace()).next().unwrap_or_default())
        };
        if word(b"fp8").is_some_and(|value| value == b"hybrid" || value == b"e4m3") {
            self.precision = Some("fp8");
        } else if self.precision != Some("fp8") {
            if word(b"bf16").is_some_and(|value| value == b"True")
                || word(b"Config param dtype").is_some_and(|value| value == b"bfloat16")
            {
                self.precision = Some("bf16");
            } else if word(b"fp16").is_some_and(|value| value == b"True") {
                self.precision = Some("fp16");
            }
        }
    }

    /// A GPU's name, and its memory if torchtitan or llm.c prints it.
    fn read_gpu(&mut self, text: &[u8]) {
        for vendor in [&b"AMD Instinct MI"[..], b"NVIDIA "] {
            let Some(at) = memmem::find(text, vendor) else { continue };
            if let Some(name) = gpu_name(&text[at..], vendor) {
                self.gpu_name = Some(name);
            }
        }
        if let Some(at) = memmem::find(text, b"CUDA capacity: ")
            && let Some(with) = memmem::find(&text[at..], b" with ")
            && let Number::Value(value, rest) = number(&text[at + with + 6..], super::text::Commas::Decimal)
            && rest.starts_with(b"GiB")
        {
            self.gpu_memory = Some(value * 1_073_741_824.0);
        }
        if let Some(at) = memmem::find(text, b"device memory usage: ")
            && let Some((used, rest)) = whole(&text[at + 21..])
            && let Some((total, rest)) = rest.strip_prefix(b" MiB / ").and_then(whole)
            && rest.starts_with(b" MiB")
        {
            self.memory_used = Some(used as f64 * 1_048_576.0 / 1e9);
            self.gpu_memory = Some(total as f64 * 1_048_576.0);
        }
    }

    fn read_versions(&mut self, text: &[u8]) {
        for key in [&b"PyTorch version"[..], b"PyTorch Version", b"pytorch version", b"torch version"] {
            if let Some(version) = value_text(text, key).and_then(version) {
                if let Some((_, rocm)) = version.split_once("+rocm") {
                    self.rocm.get_or_insert_with(|| rocm.to_owned());
                }
                self.pytorch = Some(version);
            }
        }
        for (keys, slot) in [
            ([&b"ROCm version"[..], b"rocm version", b"ROCM version"], &mut self.rocm),
            ([b"CUDA version", b"torch cuda version", b"CUDA Version"], &mut self.cuda),
        ] {
            if let Some(version) = keys.into_iter().find_map(|key| value_text(text, key).and_then(version)) {
                *slot = Some(version);
            }
        }
    }
}

/// The text after a key and its separator: quotes, spaces, dots, one of `:` and `=`. The key must be a
/// separate word.
fn value_text<'t>(text: &'t [u8], key: &[u8]) -> Option<&'t [u8]> {
    memmem::find_iter(text, key).find_map(|at| {
        let word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/');
        let mut before = text[..at].iter().rev();
        match before.next() {
            // `--key`, `-key`, but not `encoder-key`.
            Some(b'-')
                if before.find(|byte| **byte != b'-').is_some_and(|byte| byte.is_ascii_alphanumeric()) =>
            {
                return None;
            }
            Some(&byte) if word(byte) => return None,
            _ => {}
        }
        let rest = &text[at + key.len()..];
        let quote = rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"'")).unwrap_or(rest);
        let spaces = quote.trim_ascii_start();
        let dots = spaces.iter().take_while(|byte| **byte == b'.').count();
        let value = match spaces.first() {
            Some(b':' | b'=' | b'|') => &spaces[1..],
            Some(b'.') if dots > 1 => &spaces[dots..],
            _ if spaces.len() < quote.len() => spaces,
            _ => return None,
        };
        Some(value.trim_ascii())
    })
}

/// The integer after a key. `8.0`, as printed by programs that store a float, is 8.
fn value_of(text: &[u8], key: &[u8]) -> Option<u64> {
    let value = value_text(text, key)?;
    let token = value.iter().take_while(|byte| byte.is_ascii_digit() || matches!(byte, b',' | b'.')).count();
    let rest = &value[token..];
    if rest.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_') {
        return None;
    }
    let token = value[..token].strip_suffix(b",").unwrap_or(&value[..token]);
    let token = token.strip_suffix(b".").unwrap_or(token);
    let token = token.strip_suffix(b".0").unwrap_or(token);
    grouped(token)
}

/// An integer, with or without commas between groups of three.
fn grouped(token: &[u8]) -> Option<u64> {
    let mut groups = token.split(|byte| *byte == b',');
    let first = groups.next()?;
    let rest: Vec<&[u8]> = groups.collect();
    let digits = |group: &[u8]| !group.is_empty() && group.iter().all(u8::is_ascii_digit);
    if !digits(first)
        || !rest.is_empty() && first.len() > 3
        || rest.iter().any(|group| group.len() != 3 || !digits(group))
    {
        return None;
    }
    let plain =
        std::iter::once(first).chain(rest).flatten().map(|byte| char::from(*byte)).collect::<String>();
    plain.parse().ok()
}

/// A version at the beginning of a text: it begins with a digit.
fn version(text: &[u8]) -> Option<String> {
    let text = text.strip_prefix(b"(GPU?)").map_or(text, |rest| rest.trim_ascii_start());
    let text = text.strip_prefix(b":").map_or(text, <[u8]>::trim_ascii_start);
    let length = text
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-' | b'_'))
        .count();
    let version = std::str::from_utf8(&text[..length]).ok()?.trim_end_matches(['.', '-']);
    (version.starts_with(|first: char| first.is_ascii_digit()) && version.contains('.'))
        .then(|| version.to_owned())
}

/// A GPU's name: words up to a text that ends a name. A vendor's name alone, or followed by a word that does
/// not begin a product, is not a name.
fn gpu_name(text: &[u8], vendor: &[u8]) -> Option<String> {
    let mut end = text
        .iter()
        .take(60)
        .position(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b' ' | b'-' | b'/'))
        .unwrap_or(text.len().min(60));
    for stop in [&b"  "[..], b" with ", b" - ", b" has ", b" GPU"] {
        if let Some(at) = memmem::find(&text[..end], stop) {
            end = at;
        }
    }
    let name = std::str::from_utf8(&text[..end]).ok()?.trim_end_matches([' ', '-', '/']);
    let product = name.get(vendor.len()..)?;
    let digit = product.split([' ', '-']).take(3).any(|word| {
        word.starts_with(|first: char| first.is_ascii_alphanumeric())
            && word.contains(|c: char| c.is_ascii_digit())
    });
    // `NVIDIA Release 25.03` and `NVIDIA Nsight 2024` are not names.
    let known = ["H", "A", "B", "L", "GH", "GB", "V", "T", "P", "RTX", "GeForce", "Quadro", "Tesla", "TITAN"];
    let first = product.split([' ', '-']).next().unwrap_or_default();
    let letters = first.trim_end_matches(|c: char| c.is_ascii_digit() || c.is_ascii_lowercase());
    let is_product = vendor != b"NVIDIA "
        || known.contains(&first)
        || known.contains(&letters) && first.contains(|c: char| c.is_ascii_digit());
    (is_product && (digit || vendor != b"NVIDIA ")).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Settings {
        let mut settings = Settings::default();
        for (place, line) in lines.iter().enumerate() {
            settings.read(line.as_bytes(), place as u64 + 1);
        }
        settings
    }

    fn numbers(settings: &Settings, which: &[Setting]) -> Vec<Option<u64>> {
        which.iter().map(|setting| settings.get(*setting)).collect()
    }

    #[test]
    fn dumps_of_arguments_are_read() {
        use Setting::{
            Data, Expert, GlobalBatch, Gpus, KvHeads, Layers, MaxSteps, MicroBatch, Pipeline, SequenceLength,
            Tensor, Vocabulary,
        };
        let settings = read(&[
            "  seq_length ...................................... 4096",
            "  global_batch_size ............................... 16",
            "[default0]:  micro_batch_size ................................ 2",
            "  num_query_groups ................................ 8",
            "  num_layers ...................................... 32",
            "  encoder_num_layers .............................. 99",
            "  virtual_pipeline_model_parallel_size ............ None",
            "  expert_model_parallel_size ...................... 1",
            "  vocab_size ...................................... None",
            "  train_iters ..................................... 5000",
            "  bf16 ............................................ True",
            "  fp8 ............................................. None",
            "using world size: 8, data-parallel size: 4, context-parallel size: 1, tensor-model-parallel size: 1, \
             encoder-tensor-model-parallel size: 3, pipeline-model-parallel size: 2, encoder-pipeline-model-parallel size: 0",
        ]);
        let which = [
            SequenceLength,
            GlobalBatch,
            MicroBatch,
            KvHeads,
            Layers,
            Expert,
            MaxSteps,
            Gpus,
            Data,
            Tensor,
            Pipeline,
            Vocabulary,
        ];
        let expected = [4096, 16, 2, 8, 32, 1, 5000, 8, 4, 1, 2].map(Some);
        assert_eq!(numbers(&settings, &which), [&expected[..], &[None]].concat());
        assert_eq!((settings.precision, &settings.changes[..]), (Some("bf16"), &[][..]));
    }

    #[test]
    fn what_the_other_programs_print_is_read() {
        use Setting::{
            Accumulation, Context, Data, GlobalBatch, Gpus, Hidden, MaxSteps, MicroBatch, Parameters,
            SequenceLength, TokensPerStep,
        };
        let titan = read(&[
            "[rank0]:[titan] 2025-11-25 19:44:58,838 - root - INFO - Trainer is initialized with local batch size 8, global batch size 64, \
             gradient accumulation steps 1, sequence length 2048, total steps 10 (warmup 2)",
            "[titan] INFO - Building device mesh with parallelism: pp=1, dp_replicate=2, dp_shard=4, cp=2, tp=1, ep=1",
            "[titan] INFO - CUDA capacity: AMD Instinct MI355X with 287.98GiB memory",
            "[titan] INFO - Model llama3 8B size: 8,030,261,248 total parameters",
        ]);
        let which = [
            MicroBatch,
            GlobalBatch,
            Accumulation,
            SequenceLength,
            MaxSteps,
            Gpus,
            Data,
            Context,
            Parameters,
        ];
        assert_eq!(numbers(&titan, &which), [8, 64, 1, 2048, 10, 16, 8, 2, 8_030_261_248].map(Some));
        assert_eq!(
            (titan.gpu_name.as_deref(), titan.gpu_memory),
            (Some("AMD Instinct MI355X"), Some(287.98 * 1_073_741_824.0))
        );
        assert_eq!(read(&["Building 2-D device mesh with ['dp', 'tp'], [4, 2]"]).get(Gpus), Some(8));

        let deepspeed = read(&[
            "[2024-03-07 15:27:02,646] [INFO] [config.py:1000:print]   train_batch_size ............. 32",
            "  \"train_micro_batch_size_per_gpu\": 4,",
            "torch version .................... 2.1.0+rocm5.6",
        ]);
        assert_eq!(numbers(&deepspeed, &[GlobalBatch, MicroBatch]), [Some(32), Some(4)]);
        assert_eq!(
            (deepspeed.pytorch.as_deref(), deepspeed.rocm.as_deref()),
            (Some("2.1.0+rocm5.6"), Some("5.6"))
        );

        let maxtext = read(&[
            "I0317 09:59:16.242788 125344476638336 pyconfig.py:413] Config param per_device_batch_size: 4.0",
            "I0317 09:59:16.242788 125344476638336 pyconfig.py:413] Config param per_device_batch_size_increment: 2.0",
            "Config param max_target_length: 2048",
            "Config param global_batch_size_to_train_on: 32",
            "Config param dtype: bfloat16",
            "Num_devices: 8, shape (1, 8)",
            "number parameters: 8.030 billion",
        ]);
        assert_eq!(
            numbers(&maxtext, &[MicroBatch, SequenceLength, GlobalBatch, Gpus, Parameters]),
            [4, 2048, 32, 8, 8_030_000_000].map(Some)
        );
        assert_eq!((maxtext.precision, maxtext.changes.len()), (Some("bf16"), 0));

        let face = read(&[
            "  Instantaneous batch size per device = 4",
            "  Total train batch size (w. parallel, distributed & accumulation) = 32",
            "  Total optimization steps = 1,378",
            "  Number of trainable parameters = 8,030,261,248",
        ]);
        assert_eq!(
            numbers(&face, &[MicroBatch, GlobalBatch, MaxSteps, Parameters]),
            [4, 32, 1378, 8_030_261_248].map(Some)
        );

        let llmc = read(&[
            "| device                | NVIDIA A800 80GB PCIe                              |",
            "| channels C            | 768                                                |",
            "num_parameters: 124475904 => bytes: 248951808",
            "batch_size B=56 * seq_len T=1024 * num_processes=4 and total_batch_size=458752",
            "=> setting grad_accum_steps=2",
            "device memory usage: 3511 MiB / 5930 MiB",
        ]);
        assert_eq!(
            numbers(&llmc, &[Hidden, Parameters, SequenceLength, Gpus, TokensPerStep, Accumulation]),
            [768, 124_475_904, 1024, 4, 458_752, 2].map(Some)
        );
        assert_eq!(
            (llmc.gpu_name.as_deref(), llmc.memory_used),
            (Some("NVIDIA A800 80GB PCIe"), Some(3511.0 * 1_048_576.0 / 1e9))
        );
    }

    #[test]
    fn changes_are_kept_and_half_numbers_are_none() {
        let settings = read(&[
            "seq_length: 2048",
            "seq_length: 4096",
            "seq_length: 40x",
            "seq_length: 1,23",
            "global_batch_size=12.5",
        ]);
        assert_eq!(settings.get(Setting::SequenceLength), Some(4096));
        assert_eq!(settings.changes, [Change { name: "sequence length", from: 2048, to: 4096, line: 2 }]);
        assert_eq!(settings.get(Setting::GlobalBatch), None);
    }

    #[test]
    fn only_products_are_names_of_gpus() {
        for (line, name) in [
            ("device 0: NVIDIA H100 80GB HBM3, 81559 MiB", Some("NVIDIA H100 80GB HBM3")),
            ("GPU: \"AMD Instinct MI300X\" gfx942", Some("AMD Instinct MI300X")),
            ("[5] NVIDIA B200 | 66°C", Some("NVIDIA B200")),
            ("NVIDIA GeForce RTX 4090", Some("NVIDIA GeForce RTX 4090")),
            ("Copyright (c) 2024, NVIDIA CORPORATION.", None),
            ("NVIDIA Release 25.03 (build 1)", None),
            ("NVIDIA Driver 550.54", None),
        ] {
            assert_eq!(read(&[line]).gpu_name.as_deref(), name, "{line}");
        }
        assert_eq!(
            read(&["PyTorch Version 2.7.0a0+7c8ec84dab"]).pytorch.as_deref(),
            Some("2.7.0a0+7c8ec84dab")
        );
        assert_eq!(
            read(&["- PyTorch version (GPU?): 2.10.0.dev20251112+rocm7.1 (True)"]).rocm.as_deref(),
            Some("7.1")
        );
    }
}
