//! The table. `docs/generated/variables.md` is generated from it by this crate's tests with
//! `FERROCM_BLESS=1`.

use std::time::Duration;

use crate::Values::{Bytes, Count, Limit, Path, Switch, Text, Time, Word};
use crate::{Reader, Values, Variable};

/// At most a year: longer times are no useful limit and would overflow the clocks of some systems.
const TIME: Values = Time { least: Duration::from_millis(1), most: Duration::from_secs(365 * 24 * 60 * 60) };

macro_rules! variables {
    ($($constant:ident = $name:literal, $reader:ident: $meaning:literal; $values:expr; else $default:literal;)+) => {
        $(
            #[doc = concat!("`", $name, "`: ", $meaning, ".")]
            pub const $constant: Variable = Variable {
                name: $name,
                meaning: $meaning,
                values: $values,
                default: $default,
                reader: Reader::$reader,
            };
        )+

        /// All variables, grouped by reader.
        pub const ALL: &[&Variable] = &[$(&$constant,)+];
    };
}

variables! {
    DEVICE = "FERROCM_DEVICE", Program:
        "the device of programs that do not name one";
        Text("a device URI, such as auto, amdgpu:0 or vgpu:gfx90a?count=2");
        else "`auto`: an AMD GPU, else an NVIDIA one, else a virtual one";
    TRACE = "FERROCM_TRACE", Program:
        "where the [timeline](../use/profiling.md#timeline) of the process goes, as JSON for Perfetto; `%p` stands for the process id";
        Path("a file that does not exist yet, or one of this process");
        else "no timeline is written";
    HIP_DEVICE = "FERROCM_HIP_DEVICE", Program:
        "what the drop-in `libamdhip64` runs on ([hip-programs](../use/hip-programs.md#as-libamdhip64so7))";
        Text("auto, amdgpu, amdgpu:0 or a URI of virtual GPUs, such as vgpu:gfx90a?count=2");
        else "`FERROCM_DEVICE`";
    ALLOCATOR = "FERROCM_ALLOCATOR", Program:
        "the allocator of `hip`'s devices";
        Text("one of `Allocator`'s names: direct, caching or stream-ordered");
        else "caching, and direct on virtual GPUs";
    KNOWN_FAULTS = "FERROCM_KNOWN_FAULTS", Program:
        "`ignore` makes `hip` use functions of AMD's library that are known to corrupt memory or to hang";
        Word(&["ignore"]);
        else "such functions are an error";
    LOG = "FERROCM_LOG", Program:
        "what the drop-in libraries write to standard error";
        Word(&["off", "error", "warn", "info", "debug", "trace"]);
        else "`error`";
    CUDA_LIBRARY = "FERROCM_CUDA_LIBRARY", Program:
        "the one `libcuda` to use ([loading](../use/loading.md))";
        Path("a file");
        else "it is looked for";
    CUBLAS_LIBRARY = "FERROCM_CUBLAS_LIBRARY", Program:
        "the one `libcublas` to use";
        Path("a file");
        else "it is looked for";
    CUBLASLT_LIBRARY = "FERROCM_CUBLASLT_LIBRARY", Program:
        "the one `libcublasLt` to use";
        Path("a file");
        else "the one that `libcublas` uses, else it is looked for";
    NCCL_LIBRARY = "FERROCM_NCCL_LIBRARY", Program:
        "the one `libnccl` to use";
        Path("a file");
        else "it is looked for";
    NVRTC_LIBRARY = "FERROCM_NVRTC_LIBRARY", Program:
        "the one `libnvrtc` to use";
        Path("a file");
        else "it is looked for";
    HIP_LIBRARY = "FERROCM_HIP_LIBRARY", Program:
        "the one `libamdhip64` to use ([loading](../use/loading.md))";
        Path("a file");
        else "it is looked for";
    HIPRTC_LIBRARY = "FERROCM_HIPRTC_LIBRARY", Program:
        "the one `libhiprtc` to use";
        Path("a file");
        else "it is looked for";
    HSA_LIBRARY = "FERROCM_HSA_LIBRARY", Program:
        "the one `libhsa-runtime64` to use";
        Path("a file");
        else "it is looked for";
    ROCBLAS_LIBRARY = "FERROCM_ROCBLAS_LIBRARY", Program:
        "the one `librocblas` to use";
        Path("a file");
        else "it is looked for";
    RCCL_LIBRARY = "FERROCM_RCCL_LIBRARY", Program:
        "the one `librccl` to use";
        Path("a file");
        else "it is looked for";
    ROCTX_LIBRARY = "FERROCM_ROCTX_LIBRARY", Program:
        "the one `libroctx64` to use";
        Path("a file");
        else "it is looked for";
    NVML_LIBRARY = "FERROCM_NVML_LIBRARY", Program:
        "the one `libnvidia-ml` to use in measurements";
        Path("a file");
        else "it is looked for";
    ROCM_SMI_LIBRARY = "FERROCM_ROCM_SMI_LIBRARY", Program:
        "the one `librocm_smi64` to use in measurements";
        Path("a file");
        else "it is looked for";
    RCCL_ADDRESS = "FERROCM_RCCL_ADDRESS", Program:
        "where rank 0 hands the id to the others ([rccl](../use/rccl.md))";
        Text("a host and a port, such as node1:29500");
        else "what the launcher says";
    RCCL_SECRET = "FERROCM_RCCL_SECRET", Program:
        "a secret shared by the processes of a job, with which the ranks find each other ([rccl](../use/rccl.md#strangers-on-the-network))";
        Text("a text that nobody can guess");
        else "the launcher's secret for the job";
    RCCL_TIMEOUT = "FERROCM_RCCL_TIMEOUT", Program:
        "how long this project's RCCL waits for missing ranks";
        TIME;
        else "60 s";
    RTC_TIMEOUT = "FERROCM_RTC_TIMEOUT", Program:
        "how long a compilation at run time may take ([hip](../internals/hip.md#limits))";
        Limit(&TIME);
        else "300 s";
    RTC_MEMORY = "FERROCM_RTC_MEMORY", Program:
        "how much address space a compiler at run time may have";
        Limit(&Bytes { least: 64 << 20, most: 1 << 50 });
        else "2 GiB";
    HSA_DEVICE = "FERROCM_HSA_DEVICE", VirtualGpu:
        "which virtual GPUs the drop-in `libhsa-runtime64` has";
        Text("a URI of virtual GPUs, such as vgpu:gfx90a?count=2");
        else "those of `FERROCM_DEVICE`, else one of the default target";
    VGPU_CHECK = "FERROCM_VGPU_CHECK", VirtualGpu:
        "the [checks](../use/faults.md) that all dispatches run with";
        Text("names of checks, separated by commas, or all or none");
        else "none";
    VGPU_TIMEOUT = "FERROCM_VGPU_TIMEOUT", VirtualGpu:
        "how long a dispatch may run";
        TIME;
        else "for ever";
    VGPU_THREADS = "FERROCM_VGPU_THREADS", VirtualGpu:
        "how many threads run the workgroups of a dispatch";
        Count { least: 1, most: 1024 };
        else "as many as the process has cores";
    VGPU_VECTORS = "FERROCM_VGPU_VECTORS", VirtualGpu:
        "which vector extensions of the CPU execute kernels";
        Word(&["baseline", "avx2", "avx512"]);
        else "the best that the CPU has";
    VGPU_ENGINE = "FERROCM_VGPU_ENGINE", VirtualGpu:
        "what executes kernels: a handler for each instruction, or [native code](../internals/engine.md) where there is any";
        Word(&["reference", "compiled"]);
        else "native code, if the CPU has AVX2 or AVX-512";
    VGPU_DUMP = "FERROCM_VGPU_DUMP", VirtualGpu:
        "makes the compiling engine write [its code](../internals/engine.md#reading-its-code)";
        Path("a folder");
        else "nothing is written";
    VGPU_COUNTERS = "FERROCM_VGPU_COUNTERS", VirtualGpu:
        "makes dispatches write their [counters](../use/profiling.md#counters)";
        Text("table or json, with a file after a colon if wanted, such as json:FILE");
        else "they are not counted";
    VGPU_TRACE = "FERROCM_VGPU_TRACE", VirtualGpu:
        "makes selected waves write their [instructions](../use/profiling.md#traces)";
        Text("settings, separated by commas, such as kernel=gemm*,wave=1,file=FILE");
        else "no instructions are written";
    VGPU_SLOW = "FERROCM_VGPU_SLOW", VirtualGpu:
        "`ok` silences the warning of a virtual GPU that was compiled without optimisation";
        Word(&["ok"]);
        else "it warns once";
    CACHE = "FERROCM_CACHE", Build:
        "the cache folder, for everything that is kept between builds";
        Path("a folder");
        else "`ferrocm` in `XDG_CACHE_HOME`, or in `~/.cache`";
    CLANG = "FERROCM_CLANG", Build:
        "the device compiler";
        Path("a clang");
        else "it is looked for ([setup](../use/setup.md))";
    HIP_PATH = "FERROCM_HIP_PATH", Build:
        "where HIP's headers are";
        Path("a folder with include/hip");
        else "they are looked for";
    SETUP = "FERROCM_SETUP", Build:
        "the command that error messages name for installing a compiler";
        Text("a command");
        else "`ferrocm setup`";
    TARGETS = "FERROCM_TARGETS", Build:
        "the AMD GPUs that kernels are compiled for";
        Text("target ids, separated by commas, such as gfx1100,gfx90a");
        else "the default [processors](processors.md)";
    TARGETS_FOR = "FERROCM_TARGETS_FOR", Build:
        "the same for single sources";
        Text("patterns of sources with targets or none, separated by blanks, such as mmq_*=none");
        else "`FERROCM_TARGETS`";
    CUDA_ARCHS = "FERROCM_CUDA_ARCHS", Build:
        "the NVIDIA GPUs that kernels are compiled for; also makes `ferrocm-kernels` contain code for them";
        Text("architectures, separated by commas, such as sm_80,sm_90a");
        else "`CUDA_COMPUTE_CAP`, else the default ones";
    PREBUILT = "FERROCM_PREBUILT", Build:
        "where the build scripts of this project's crates take compiled kernels from, as those of [packages](../contribute/packaging.md#requirements) do";
        Path("a folder with a folder for each crate");
        else "they compile the kernels";
    KERNEL_METRICS = "FERROCM_KERNEL_METRICS", Build:
        "kernels count bytes and cycles themselves";
        Switch;
        else "off";
    KERNEL_LINES = "FERROCM_KERNEL_LINES", Build:
        "kernels contain source lines";
        Switch;
        else "on";
    CONFIG = "FERROCM_CONFIG", Models:
        "the configuration file of the commands that run [models](../use/models.md)";
        Path("a file of TOML");
        else "`ferrocm/config.toml` in `XDG_CONFIG_HOME`, else `~/.config`, if it exists";
    MODEL = "FERROCM_MODEL", Models:
        "the model of `generate`, `chat`, `serve`, `embed` and `bench-model`";
        Text("a GGUF file, a folder with safetensors, or a name");
        else "there is none";
    CONTEXT = "FERROCM_CONTEXT", Models:
        "the most tokens in prompt and answer together";
        Count { least: 1, most: 1 << 32 };
        else "what the model and the memory allow";
    CACHE_TYPE = "FERROCM_CACHE_TYPE", Models:
        "the type of kept keys and values";
        Text("a type, such as f16 or bf16");
        else "as the back end chooses";
    RANKS = "FERROCM_RANKS", Models:
        "devices that share a model, from the named one on";
        Count { least: 1, most: 64 };
        else "1";
    STEPS = "FERROCM_STEPS", Models:
        "what runs the steps of a model that are recorded ([llm](../use/llm.md#recorded-steps))";
        Word(&["graph", "hal"]);
        else "`graph`";
    KEEP_NUMBERS = "FERROCM_KEEP_NUMBERS", Models:
        "device memory for the numbers of quantised matrices, which prompts then need not compute each time ([llm](../use/llm.md#numbers-that-are-kept))";
        Limit(&Bytes { least: 1 << 10, most: 1 << 60 });
        else "half of what is free on a GPU; `none` on the CPU and virtual GPUs, and for several models";
    LORA = "FERROCM_LORA", Models:
        "an adapter of low rank that is added to the model";
        Text("a GGUF file or a folder of PEFT, with `:` and a factor if it is not 1");
        else "there is none";
    DRAFT_MODEL = "FERROCM_DRAFT_MODEL", Models:
        "the smaller model that guesses tokens";
        Text("a GGUF file, a folder with safetensors, or a name");
        else "there is none";
    GUESSES = "FERROCM_GUESSES", Models:
        "how many tokens are guessed at a time, by the draft model or from what was said before";
        Count { least: 0, most: 64 };
        else "4 with a draft model, else 0";
    NO_MMAP = "FERROCM_NO_MMAP", Models:
        "a model's files are read instead of mapped into memory, which is always so";
        Switch;
        else "off";
    PROMPT = "FERROCM_PROMPT", Models:
        "the prompt of `generate`";
        Text("a text");
        else "standard input";
    PROMPT_FILE = "FERROCM_PROMPT_FILE", Models:
        "the file with the prompt of `generate`";
        Path("a file");
        else "standard input";
    SYSTEM = "FERROCM_SYSTEM", Models:
        "what `generate` and `chat` tell the model before";
        Text("a text");
        else "nothing";
    RAW = "FERROCM_RAW", Models:
        "`generate` continues the prompt as it is, without the chat template";
        Switch;
        else "off";
    MAX_TOKENS = "FERROCM_MAX_TOKENS", Models:
        "the most tokens of an answer";
        Count { least: 1, most: 1 << 32 };
        else "what fits in the context";
    STOP = "FERROCM_STOP", Models:
        "a text that ends the answer of `generate`";
        Text("a text");
        else "there is none";
    JSON_SCHEMA = "FERROCM_JSON_SCHEMA", Models:
        "the JSON schema that the answer of `generate` must match";
        Path("a file of JSON");
        else "there is none";
    GRAMMAR = "FERROCM_GRAMMAR", Models:
        "the grammar that the answer of `generate` must match";
        Path("a file in the language Lark");
        else "there is none";
    REGEX = "FERROCM_REGEX", Models:
        "the regular expression that the answer of `generate` must match";
        Text("a regular expression");
        else "there is none";
    JSON = "FERROCM_JSON", Models:
        "`generate`, `embed` and `models` print JSON";
        Switch;
        else "off";
    VERBOSE = "FERROCM_VERBOSE", Models:
        "`generate` and `chat` print the speed";
        Switch;
        else "off";
    SESSION = "FERROCM_SESSION", Models:
        "the saved conversation that `chat` continues";
        Text("a name, such as last");
        else "a new one";
    SESSIONS = "FERROCM_SESSIONS", Models:
        "the folder of saved conversations";
        Path("a folder");
        else "`ferrocm/sessions` in `XDG_DATA_HOME`, else `~/.local/share`";
    TEXT = "FERROCM_TEXT", Models:
        "the text of `embed`";
        Text("a text");
        else "the lines of standard input";
    POOLING = "FERROCM_POOLING", Models:
        "how `embed` makes one vector of those of a text's tokens";
        Word(&["model", "mean", "first", "last"]);
        else "`model`: as its file says";
    TEMPERATURE = "FERROCM_TEMPERATURE", Models:
        "how random tokens are; 0 always takes the likeliest";
        Text("a number from 0");
        else "0.8";
    TOP_K = "FERROCM_TOP_K", Models:
        "only this many of the likeliest tokens are taken; 0 is all";
        Count { least: 0, most: 1 << 32 };
        else "40";
    TOP_P = "FERROCM_TOP_P", Models:
        "only the likeliest tokens that have this probability together are taken";
        Text("a number from 0 to 1");
        else "0.95";
    MIN_P = "FERROCM_MIN_P", Models:
        "only tokens with at least this part of the likeliest one's probability are taken";
        Text("a number from 0 to 1");
        else "0.05";
    TYPICAL_P = "FERROCM_TYPICAL_P", Models:
        "only tokens of typical information, with this probability together, are taken";
        Text("a number from 0 to 1");
        else "1";
    REPEAT_PENALTY = "FERROCM_REPEAT_PENALTY", Models:
        "divides the logits of tokens that occurred";
        Text("a number above 0");
        else "1";
    REPEAT_LAST = "FERROCM_REPEAT_LAST", Models:
        "how many of the last tokens the penalties see; 0 is all";
        Count { least: 0, most: 1 << 32 };
        else "64";
    PRESENCE_PENALTY = "FERROCM_PRESENCE_PENALTY", Models:
        "subtracted from the logits of tokens that occurred";
        Text("a number");
        else "0";
    FREQUENCY_PENALTY = "FERROCM_FREQUENCY_PENALTY", Models:
        "subtracted from the logits of tokens as often as they occurred";
        Text("a number");
        else "0";
    DRY_MULTIPLIER = "FERROCM_DRY_MULTIPLIER", Models:
        "the penalty of a repeated sequence; 0 is none";
        Text("a number from 0");
        else "0";
    DRY_BASE = "FERROCM_DRY_BASE", Models:
        "the growth of that penalty with each token";
        Text("a number from 0");
        else "1.75";
    DRY_ALLOWED = "FERROCM_DRY_ALLOWED", Models:
        "the length of sequences that may repeat";
        Count { least: 0, most: 1 << 32 };
        else "2";
    SEED = "FERROCM_SEED", Models:
        "the seed: the same one gives the same answer";
        Count { least: 0, most: u64::MAX };
        else "a random one";
    PARALLEL = "FERROCM_PARALLEL", Models:
        "requests that a model of `serve` runs at the same time";
        Count { least: 1, most: 65536 };
        else "as the engine chooses";
    HOST = "FERROCM_HOST", Models:
        "the address of `serve`";
        Text("an address, such as 127.0.0.1 or ::1");
        else "`127.0.0.1`, which only this machine can reach";
    PORT = "FERROCM_PORT", Models:
        "the port of `serve`";
        Count { least: 0, most: 65535 };
        else "8080";
    API_KEY = "FERROCM_API_KEY", Models:
        "the key that clients of `serve` must send";
        Text("a key");
        else "they need none";
    API_KEY_FILE = "FERROCM_API_KEY_FILE", Models:
        "the file with that key";
        Path("a file");
        else "they need none";
    MEMORY_BUDGET = "FERROCM_MEMORY_BUDGET", Models:
        "the memory of all loaded models of `serve` together";
        Limit(&Bytes { least: 1 << 10, most: 1 << 60 });
        else "`none`";
    IDLE_UNLOAD = "FERROCM_IDLE_UNLOAD", Models:
        "`serve` unloads models that are not used for this long";
        Limit(&TIME);
        else "`none`";
    MAX_REQUESTS = "FERROCM_MAX_REQUESTS", Models:
        "requests to `serve` that run or wait at the same time";
        Count { least: 1, most: 1 << 20 };
        else "64";
    MAX_CONNECTIONS = "FERROCM_MAX_CONNECTIONS", Models:
        "open connections of `serve`";
        Count { least: 1, most: 1 << 20 };
        else "1024";
    MAX_BODY = "FERROCM_MAX_BODY", Models:
        "the largest request to `serve`";
        Limit(&Bytes { least: 1 << 10, most: 1 << 60 });
        else "16 MiB";
    HEADER_TIME = "FERROCM_HEADER_TIME", Models:
        "the time for the headers of a request to `serve`";
        TIME;
        else "30 s";
    BODY_TIME = "FERROCM_BODY_TIME", Models:
        "the time for the body of a request to `serve`";
        TIME;
        else "60 s";
    REQUEST_TIME = "FERROCM_REQUEST_TIME", Models:
        "the time for a whole answer of `serve`";
        TIME;
        else "1 h";
    STALL_TIME = "FERROCM_STALL_TIME", Models:
        "the time after which `serve` disconnects a client that reads nothing";
        TIME;
        else "60 s";
    PING_INTERVAL = "FERROCM_PING_INTERVAL", Models:
        "the time between signs of life of `serve` while a client waits for text";
        TIME;
        else "5 s";
    SHUTDOWN_TIME = "FERROCM_SHUTDOWN_TIME", Models:
        "the time for running requests after `serve` is told to stop";
        TIME;
        else "30 s";
    BENCH_PP = "FERROCM_BENCH_PP", Models:
        "the length of the prompt that `bench-model` measures";
        Count { least: 0, most: 1 << 32 };
        else "512";
    BENCH_TG = "FERROCM_BENCH_TG", Models:
        "how many tokens `bench-model` generates";
        Count { least: 0, most: 1 << 32 };
        else "128";
    BENCH_DEPTH = "FERROCM_BENCH_DEPTH", Models:
        "how many tokens come before what `bench-model` measures";
        Count { least: 0, most: 1 << 32 };
        else "0";
    BENCH_REPETITIONS = "FERROCM_BENCH_REPETITIONS", Models:
        "how often `bench-model` measures";
        Count { least: 1, most: 1000 };
        else "5";
    BENCH_OUTPUT = "FERROCM_BENCH_OUTPUT", Models:
        "the form of the table of `bench-model`";
        Word(&["markdown", "csv", "json"]);
        else "`markdown`";
    LIBRARIES = "FERROCM_LIBRARIES", Tool:
        "the folder of the drop-in libraries for `ferrocm run`";
        Path("a folder");
        else "`../lib/ferrocm` beside the program";
    REPLAY_FOLDERS = "FERROCM_REPLAY_FOLDERS", Tool:
        "where `ferrocm replay` looks for files that the captured run read ([hal](../use/hal.md#replay-files))";
        Path("folders, separated as in `PATH`");
        else "only their paths";
    APT_SOURCES = "FERROCM_APT_SOURCES", Tool:
        "a folder of sources and keys for set-up, instead of the machine's `/etc/apt`";
        Path("a folder");
        else "`/etc/apt`";
    SIGNING_KEY = "FERROCM_SIGNING_KEY", Tool:
        "the key that [packages](../contribute/packaging.md#signatures) are signed with";
        Text("an armoured private key");
        else "packages are not signed";
    SIGNING_PASSWORD = "FERROCM_SIGNING_PASSWORD", Tool:
        "the password of that key";
        Text("a password");
        else "the key has none";
    CUDA_HEADERS = "FERROCM_CUDA_HEADERS", Tool:
        "the headers of CUDA's versions";
        Path("a folder of VERSION/usr/include");
        else "`cargo xtask bindgen` leaves CUDA's bindings as they are";
    ROCM_HEADERS = "FERROCM_ROCM_HEADERS", Tool:
        "the headers of ROCm's releases";
        Path("a folder of RELEASE/usr/include");
        else "`cargo xtask test` fetches them";
    ROCM_RUN = "FERROCM_ROCM_RUN", Tool:
        "how child programs run on AMD's libraries; set by `cargo xtask rocm-run`";
        Text("folders and a loader, on lines");
        else "they run unchanged";
    ROCM_SYSROOT = "FERROCM_ROCM_SYSROOT", Test:
        "AMD's libraries for tests that need them; set by `cargo xtask test`";
        Path("a folder");
        else "such tests do not run";
    ROCM_RELEASE = "FERROCM_ROCM_RELEASE", Test:
        "the release of these libraries";
        Text("a release, such as 7.2");
        else "such tests do not run";
    ROCBLAS_KERNELS = "FERROCM_ROCBLAS_KERNELS", Test:
        "the code objects of AMD's rocBLAS; set by `cargo xtask test`";
        Path("a folder");
        else "such tests do not run";
    ROCBLAS = "FERROCM_ROCBLAS", Test:
        "whose rocBLAS is tested";
        Word(&["amd", "cublas"]);
        else "this project's own";
    MODELS = "FERROCM_MODELS", Test:
        "the models of the tests of engines; set by `cargo xtask test engines`";
        Path("a folder");
        else "such tests do not run";
    KERNEL_RESULTS = "FERROCM_KERNEL_RESULTS", Test:
        "where tests of kernels write what they compared";
        Path("a folder");
        else "nowhere";
    BLESS = "FERROCM_BLESS", Test:
        "makes tests rewrite the files that they compare with";
        Text("anything");
        else "they compare";
    HIPIFY_PERL = "FERROCM_HIPIFY_PERL", Test:
        "AMD's `hipify-perl`, to compare with";
        Path("a file");
        else "it is looked for";
    DIFFERENTIAL_SEEDS = "FERROCM_DIFFERENTIAL_SEEDS", Test:
        "which random programs run on all executors";
        Text("a range, such as 0..100");
        else "a few of each generation";
    RANDOM_PROGRAMS = "FERROCM_RANDOM_PROGRAMS", Test:
        "how many code objects with random instructions run";
        Count { least: 1, most: 1_000_000_000 };
        else "2000";
    STREAM_SECONDS = "FERROCM_STREAM_SECONDS", Test:
        "how many seconds 64 clients stream from each server of `cargo xtask test server`";
        Count { least: 2, most: 86_400 };
        else "30";
}

/// The prefix of variables that tests use to control the programs they start.
pub const TEST_PREFIX: &str = "FERROCM_TEST_";
