//! Reports of runs with names that try to break out of each format.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::compare::{Options, compare};
use crate::record::Record;

const HOSTILE: &str = "<script>alert(1)</script>\"'&|`*_[x](javascript:1)\u{1b}[31m\n=1+1";

fn record(name: &str, seconds: f64) -> Record {
    let noise = |i: u64| 1.0 + 0.01 * ((i * 7919) % 13) as f64 / 13.0;
    let steps: Vec<f64> = (0..120).map(|i| seconds * noise(i)).collect();
    serde_json::from_value(json!({
        "platform": "amd",
        "gpu_info": { "device_count": 8, "device_name": name, "pytorch_version": HOSTILE, "software_stack": "rocm" },
        "timestamp": HOSTILE,
        "training_config": { "global_batch_size": 64, "sequence_length": 2048, "num_gpus": 8, "precision": "bf16" },
        "model_info": { "name": "llama-3.1-8b" },
        "step_times": steps,
        "loss_values": (0..120).map(|i| 12.0 / (1.0 + f64::from(i))).collect::<Vec<_>>(),
        "memory_metrics": { "peak_memory_allocated_gb": 36.0, "peak_memory_reserved_gb": 40.0, "peak_memory_used_gb": 44.0 },
        "findings": [{ "kind": "x", "text": HOSTILE }],
        "measurements": [
            { "group": "gemm", "name": HOSTILE, "seconds": [1e-4, 1.1e-4, 1e-4, 1e-4, 1.2e-4], "flops": 1e11, "bytes": 1e8 },
            { "group": "bandwidth", "name": "copy", "seconds": [1e-3, 1e-3, 1e-3, 1e-3, 1e-3], "flops": 1e8, "bytes": 4e9 },
        ],
    }))
    .expect("a record")
}

fn comparison(names: [&str; 2]) -> Comparison {
    let records = [(HOSTILE.to_owned(), record(names[0], 2.0)), ("plain".to_owned(), record(names[1], 1.5))];
    let options = Options { prices: vec![(None, 2.0)], ..Options::default() };
    compare(&records, &options).expect("compares")
}

fn page() -> Page {
    Page { title: HOSTILE.to_owned(), note: Some(HOSTILE.to_owned()), command: Some(HOSTILE.to_owned()) }
}

/// The tags of a page, in the order in which they open.
fn tags(html: &str) -> Vec<&str> {
    html.split('<')
        .skip(1)
        .map(|rest| {
            rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '!' || c == '/')).next().unwrap_or("")
        })
        .collect()
}

#[test]
fn names_add_no_element_to_a_page() {
    let html = html(&comparison([HOSTILE, "AMD Instinct MI300X"]), &page()).expect("draws");
    let known = "!DOCTYPE html head meta title style body header h1 p pre ul li span strong br main section div i b h2 figure figcaption \
                 svg text rect polyline circle polygon path line table thead tbody tr th td footer code";
    let known: BTreeSet<&str> = known.split_whitespace().collect();
    for tag in tags(&html) {
        assert!(known.contains(tag.trim_start_matches('/')), "<{tag}");
    }
    assert!(!html.contains("<script") && html.contains("&lt;script&gt;"));
    // As many tags are closed as opened, except those without an end.
    let count = |tag: &str| tags(&html).iter().filter(|other| **other == tag).count();
    for tag in
        ["section", "div", "table", "tr", "td", "th", "ul", "li", "figure", "svg", "text", "span", "pre"]
    {
        assert_eq!(count(tag), count(&format!("/{tag}")), "{tag}");
    }
}

#[test]
fn pages_load_nothing() {
    let html = html(&comparison(["AMD Instinct MI300X", "NVIDIA H100 80GB HBM3"]), &page()).expect("draws");
    for part in ["src=", "href=", "url(", "@import", "<link", "<img", "http:", "https:", "onload", "<iframe"]
    {
        let found =
            html.match_indices(part).filter(|(at, _)| !html[*at..].starts_with("http://www.w3.org/")).count();
        assert_eq!(found, 0, "{part}");
    }
    assert!(
        html.contains("default-src 'none'")
            && html.contains("prefers-color-scheme: dark")
            && html.contains("width=device-width")
    );
}

#[test]
fn charts_are_documents_of_their_own() {
    let charts = charts(&comparison(["NVIDIA H100 80GB HBM3", "AMD Instinct MI300X"])).expect("draws");
    let names: Vec<_> = charts.iter().map(|chart| chart.name).collect();
    assert_eq!(
        names,
        [
            "throughput",
            "mfu",
            "cost",
            "energy",
            "memory",
            "memory-reserved",
            "memory-used",
            "step-times",
            "throughput-steps",
            "distribution",
            "loss",
            "roofline"
        ]
    );
    for chart in charts {
        assert!(chart.svg.starts_with("<svg") && chart.svg.trim_end().ends_with("</svg>"), "{}", chart.name);
        assert!(chart.svg.contains("xmlns=\"http://www.w3.org/2000/svg\""), "{}", chart.name);
        assert!(!chart.svg.contains("<script"), "{}", chart.svg);
        let open = chart.svg.matches("<text").count();
        assert!(open > 0 && open == chart.svg.matches("</text>").count(), "{}", chart.name);
    }
}

#[test]
fn names_add_no_column_to_markdown() {
    let markdown = markdown(&comparison([HOSTILE, "AMD Instinct MI300X"]), &page());
    assert!(!markdown.contains("<script") && !markdown.contains("\u{1b}"));
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    let mut rows = 0;
    for table in markdown.split("\n\n").filter(|block| block.starts_with('|')) {
        let count = table.lines().next().map(bars);
        for line in table.lines() {
            assert_eq!(Some(bars(line)), count, "{line}");
            rows += 1;
        }
    }
    assert!(rows > 20, "{rows} rows");
}

#[test]
fn names_do_not_control_a_terminal() {
    let text = terminal(&comparison([HOSTILE, "AMD Instinct MI300X"]));
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
    assert!(text.contains("plain is 1.333 times as fast as"), "{text}");
}

/// Reads RFC 4180.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let last = fields.last_mut().expect("a field");
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => last.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => last.push(c),
        }
    }
    fields
}

#[test]
fn csv_has_five_fields_a_line_and_the_figures_of_the_comparison() {
    let comparison = comparison([HOSTILE, "AMD Instinct MI300X"]);
    let csv = csv(&comparison);
    for line in csv.lines() {
        assert_eq!(fields(line).len(), 5, "{line}");
    }
    let line = csv.lines().find(|line| line.starts_with("plain,tokens_per_second_per_gpu,")).expect("a line");
    let figure = comparison.runs[1].figure("tokens_per_second_per_gpu").expect("a figure");
    let values: Vec<Option<f64>> = fields(line)[2..].iter().map(|field| field.parse().ok()).collect();
    assert_eq!(values, [Some(figure.value), figure.low, figure.high]);
    assert!(csv.lines().any(|line| fields(line)[1] == "speedup_per_gpu"));
}

#[test]
fn one_run_and_runs_without_figures_have_reports_too() {
    let one = [("one".to_owned(), record("AMD Instinct MI300X", 2.0))];
    let empty = [("a".to_owned(), Record::default()), ("b".to_owned(), Record::default())];
    for records in [&one[..], &empty[..]] {
        let comparison = compare(records, &Options::default()).expect("compares");
        let page = Page::of(&comparison);
        assert!(html(&comparison, &page).expect("draws").contains("</html>"));
        assert!(!terminal(&comparison).is_empty() && !markdown(&comparison, &page).is_empty());
    }
}

/// Identical steps have no width to draw.
#[test]
fn charts_of_equal_or_extreme_values_can_be_drawn() {
    for steps in
        [vec![1.0; 50], vec![1e-9; 50], vec![1e12; 50], [vec![1.0; 49], vec![1e9]].concat(), vec![1.0, 2.0]]
    {
        for losses in [
            vec![],
            vec![1.0; 50],
            vec![-3.0; 50],
            vec![f64::NAN, 0.0, 0.0, f64::INFINITY],
            vec![1e-30, 1e30],
        ] {
            let record = Record {
                step_times: steps.clone(),
                loss_values: losses,
                ..record("AMD Instinct MI300X", 1.0)
            };
            let comparison = compare(&[("a".to_owned(), record)], &Options::default()).expect("compares");
            assert!(charts(&comparison).is_ok());
        }
    }
}

/// A negative meter reading, and steps with very different lengths, give an interval that ends far off the
/// chart.
#[test]
fn bars_of_negative_figures_can_be_drawn() {
    let of = |watts: f64, slowest: f64| {
        let telemetry = json!([{ "seconds": 0.0, "gpu": 0, "power_watts": watts }]);
        Record {
            telemetry: serde_json::from_value(telemetry).expect("a sample"),
            step_times: [vec![1e-300; 20], vec![slowest; 30]].concat(),
            ..record("AMD Instinct MI300X", 1.0)
        }
    };
    let records = [("a".to_owned(), of(-1e10, 1e12)), ("b".to_owned(), of(700.0, 1.0))];
    let comparison = compare(&records, &Options::default()).expect("compares");
    let figure = comparison.runs[0].figure("joules_per_token").expect("a figure");
    assert!(
        figure.low.is_some_and(|low| low < -1e12) && figure.high.is_some_and(|high| high > -1e3),
        "{figure:?}"
    );
    assert!(charts(&comparison).is_ok());
}

/// Numbers in records after errors, and ordinary ones.
fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!(0)),
        Just(json!(u64::MAX)),
        Just(json!(1)),
        Just(json!(2048)),
        (1_u64..100).prop_map(|number| json!(number)),
    ]
}

fn float() -> impl Strategy<Value = Value> {
    let extreme =
        prop::sample::select(vec![0.0, -1.0, 1e-300, 1e300, f64::MAX, f64::MIN_POSITIVE, 1e12, 1e-9]);
    prop_oneof![4 => (0.1..10.0).prop_map(|number| json!(number)), 1 => extreme.prop_map(|number| json!(number)), 1 => Just(Value::Null)]
}

fn any_record() -> impl Strategy<Value = Record> {
    let floats = |most| prop::collection::vec(float(), 0..most);
    let name = prop::sample::select(vec!["AMD Instinct MI300X", "NVIDIA H100 PCIe", "", HOSTILE]);
    let sizes = prop::collection::vec(number(), 12);
    (name, sizes, floats(60), floats(60), floats(8), floats(8), (float(), float(), float(), float())).prop_map(
        |(name, sizes, steps, losses, seconds, watts, (stated, flops, bytes, memory))| {
            serde_json::from_value(json!({
                "gpu_info": { "device_name": name, "device_count": sizes[0], "total_memory_gb": memory, "gpu_cores": sizes[1] },
                "training_config": { "global_batch_size": sizes[2], "sequence_length": sizes[3], "num_gpus": sizes[4] },
                "performance_metrics": {
                    "tokens_per_second": stated, "avg_step_time_seconds": flops, "tflops_per_gpu": stated, "warmup_steps": sizes[5],
                },
                "model_info": {
                    "num_layers": sizes[6], "hidden_size": sizes[7], "intermediate_size": sizes[8], "num_attention_heads": sizes[9],
                    "head_dim": sizes[10], "vocab_size": sizes[11],
                },
                "memory_metrics": { "peak_memory_allocated_gb": memory },
                "step_times": steps,
                "loss_values": losses,
                "measurements": [{ "group": "g", "name": "n", "seconds": seconds, "flops": flops, "bytes": bytes }],
                "telemetry": watts.iter().enumerate()
                    .map(|(i, watts)| json!({ "seconds": i, "gpu": i % 2, "power_watts": watts })).collect::<Vec<_>>(),
            }))
            .expect("a record")
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_records_have_reports(a in any_record(), b in any_record(), c in any_record()) {
        let records = [("a".to_owned(), a), ("b".to_owned(), b), (HOSTILE.to_owned(), c)];
        let comparison = compare(&records, &Options { resamples: 50, ..Options::default() }).expect("compares");
        let html = html(&comparison, &page());
        prop_assert!(html.is_ok(), "{html:?}");
        prop_assert!(terminal(&comparison).chars().all(|c| c == '\n' || !c.is_control()));
        prop_assert!(csv(&comparison).lines().all(|line| fields(line).len() == 5));
        prop_assert!(markdown(&comparison, &page()).contains("## Runs"));
        prop_assert!(serde_json::to_string(&comparison).is_ok());
    }
}
