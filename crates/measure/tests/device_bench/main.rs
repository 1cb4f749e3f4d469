//! The suite with its smallest cases, on the device that `FERROCM_DEVICE` names, or on a virtual gfx1100.

use std::collections::BTreeSet;

use hip::{Backend, Device, DeviceUri};
use measure::{Error, ModelName, Options, Progress, Size, Suite, run};
use runs::Record;
use runs::record::Platform;

fn device() -> DeviceUri {
    let named = std::env::var("FERROCM_DEVICE").ok().filter(|uri| !uri.is_empty());
    named.unwrap_or_else(|| "vgpu:gfx1100".to_owned()).parse().unwrap()
}

/// The device, twice if it is a virtual one.
fn two_devices() -> DeviceUri {
    match device() {
        DeviceUri::Virtual(gpu) => DeviceUri::Virtual(hip::uri::VirtualGpu { count: Some(2), ..gpu }),
        other => other,
    }
}

fn options(suites: &[Suite]) -> Options {
    Options { device: device(), suites: suites.to_vec(), size: Some(Size::Tiny), ..Options::default() }
}

fn measure(options: &Options) -> Record {
    run(options, &mut measure::silent).unwrap()
}

/// What must hold for every measurement.
fn check(record: &Record, repetitions: usize) {
    assert_eq!(record.source.as_deref(), Some("ferrocm_bench_run"));
    let mut names = BTreeSet::new();
    for measurement in &record.measurements {
        let what = format!("{}: {}", measurement.group, measurement.name);
        assert!(names.insert(what.clone()), "{what} twice");
        assert_eq!(measurement.seconds.len(), repetitions, "{what}");
        assert!(measurement.seconds.iter().all(|seconds| seconds.is_finite() && *seconds >= 0.0), "{what}");
        let (error, bound) = (measurement.max_error.unwrap(), measurement.error_bound.unwrap());
        assert!(error <= bound && bound > 0.0, "{what}: {error} of {bound}");
        assert!(measurement.other["median_seconds"].is_f64(), "{what}");
    }
    // A record read from JSON is written again unchanged; only once may numbers differ in their last digit.
    let read = |text: &str| serde_json::from_str::<Record>(text).unwrap();
    let once = read(&serde_json::to_string(record).unwrap());
    assert_eq!(once.measurements.len(), record.measurements.len());
    let twice = read(&serde_json::to_string(&once).unwrap());
    assert_eq!((&twice.gpu_info, &twice.findings), (&record.gpu_info, &record.findings));
}

fn names<'r>(record: &'r Record, group: &str) -> Vec<&'r str> {
    record.measurements.iter().filter(|found| found.group == group).map(|found| found.name.as_str()).collect()
}

#[test]
fn bandwidth_products_and_latencies() {
    let record = measure(&options(&[Suite::Bandwidth, Suite::Gemm, Suite::Latency]));
    check(&record, 6);
    let of =
        |kind: &str| names(&record, "bandwidth").into_iter().filter(|name| name.starts_with(kind)).count();
    assert_eq!(
        ["copy device-device", "copy by", "read", "write", "triad", "copy pinned", "copy device-pinned"]
            .map(of),
        [1; 7]
    );
    let products = names(&record, "gemm");
    // cuBLAS has no products of AMD's 8-bit floats.
    let has_f8 = !device().to_string().starts_with("cuda");
    for name in ["f64", "f32", "f16", "bf16", "i8"].into_iter().chain(has_f8.then_some("f8")) {
        assert!(
            products.iter().any(|product| product.ends_with(&format!(" {name}"))),
            "{name} in {products:?}"
        );
    }
    assert!(names(&record, "latency").len() >= 6);
    let product = record.measurements.iter().find(|found| found.group == "gemm").unwrap();
    assert_eq!(product.flops, Some(2.0 * 64.0 * 48.0 * 32.0));
}

#[test]
fn the_device_is_described_by_what_it_says_of_itself() {
    let record = measure(&Options { repetitions: Some(1), ..options(&[Suite::Latency]) });
    let (opened, info) = (Device::open_uri(&device()).unwrap(), &record.gpu_info);
    let properties = opened.properties();
    assert_eq!(info.device_name.as_deref(), Some(&*properties.name));
    assert_eq!(info.architecture.as_deref(), Some(&*properties.target.processor));
    assert_eq!(info.total_memory_gb, Some(properties.memory as f64 / 1e9));
    let (units, lanes) = (info.compute_units.unwrap(), info.gpu_cores.unwrap());
    let is_virtual = opened.backend() == Backend::Virtual;
    let (platform, in_unit) = match opened.backend() {
        Backend::Virtual => (Platform::Virtual, 64),
        Backend::Amd => (Platform::Amd, 64),
        Backend::Cuda => (Platform::Nvidia, 128),
    };
    assert_eq!((record.platform, lanes), (platform, in_unit * units));
    assert_eq!(record.findings.iter().any(|finding| finding.kind == "virtual-gpu"), is_virtual);
    assert!(record.timestamp.ends_with('Z') && record.timestamp.starts_with("20"), "{}", record.timestamp);
}

#[test]
fn attention_and_quantised_matrices() {
    let record = measure(&options(&[Suite::Attention, Suite::Quantised]));
    check(&record, 6);
    assert_eq!(names(&record, "attention").len(), 6);
    assert_eq!(names(&record, "quantised").len(), 4);
}

#[test]
fn collectives_between_two_devices() {
    let record =
        measure(&Options { device: two_devices(), ..options(&[Suite::Bandwidth, Suite::Collective]) });
    check(&record, 6);
    if record.gpu_info.device_count == Some(1) {
        let skipped = record.findings.iter().find(|finding| finding.kind == "not-measured").unwrap();
        assert!(skipped.text.contains("need two"), "{}", skipped.text);
        return;
    }
    assert!(names(&record, "bandwidth").iter().any(|name| name.starts_with("copy device 0-device 1")));
    let collectives = names(&record, "collective");
    for name in ["all-reduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all"] {
        assert_eq!(collectives.iter().filter(|found| found.starts_with(name)).count(), 2, "{name}");
    }
}

#[test]
fn a_block_and_a_step_of_training() {
    let record = measure(&Options { repetitions: Some(2), ..options(&[Suite::Block, Suite::Training]) });
    check(&record, 2);
    assert_eq!(names(&record, "block").len(), 3);
    let steps = names(&record, "training");
    assert!(steps.len() == 2 && steps[0].ends_with(" f32") && steps[1].ends_with(" bf16"), "{steps:?}");
}

#[test]
fn prefill_and_decode_of_every_model() {
    let of = |models: &[ModelName], layers: usize| {
        let (models, layers) = (models.to_vec(), Some(layers));
        let record = measure(&Options {
            models: models.clone(),
            layers,
            repetitions: Some(1),
            ..options(&[Suite::Inference])
        });
        check(&record, 1);
        let names = names(&record, "inference");
        assert_eq!(names.len(), 2 * models.len());
        for (pair, model) in names.chunks(2).zip(models) {
            assert!(pair[0].starts_with("prefill") && pair[1].starts_with("decode"), "{pair:?}");
            let (model, layers) = (format!(", {model} "), format!(" {} of ", layers.unwrap()));
            assert!(pair.iter().all(|name| name.contains(&model) && name.contains(&layers)), "{pair:?}");
        }
    };
    of(&[ModelName::Llama], 2);
    of(&[ModelName::Mistral, ModelName::Qwen], 1);
}

/// Several runs have the same names as one run, and later times follow those of the first run.
#[test]
fn runs_add_up() {
    let twice = Options {
        runs: 2,
        repetitions: Some(3),
        cool_down: std::time::Duration::ZERO,
        ..options(&[Suite::Latency])
    };
    let mut seen = Vec::new();
    let record =
        run(&twice, &mut |progress: Progress<'_>| seen.push((progress.done, progress.total))).unwrap();
    check(&record, 6);
    for measurement in &record.measurements {
        assert_eq!(measurement.other["run_medians_seconds"].as_array().map(Vec::len), Some(2));
    }
    assert_eq!((seen[0], *seen.last().unwrap()), ((0, 2), (2, 2)));
    assert!(seen.is_sorted());
}

#[test]
fn a_device_that_is_not_there_and_options_that_cannot_be_are_errors() {
    let wrong = run(&Options { runs: 0, ..Options::default() }, &mut measure::silent);
    assert!(matches!(wrong, Err(Error::Option { option: "--runs", .. })));
    let options = Options { device: "cuda:77".parse().unwrap(), ..Options::default() };
    let error = run(&options, &mut measure::silent).unwrap_err();
    let text = error.to_string();
    // Without NVIDIA's driver, the error says where it was looked for.
    let tells = text.contains("cuda:77") || text.contains("libcuda.so.1");
    assert!(matches!(error, Error::Hip(_)) && tells, "{error}");
}
