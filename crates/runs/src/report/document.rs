//! The contents of a report, independent of its format: paragraphs, lists and tables of plain text.

use crate::compare::figures::{Better, FIGURES, Figure, Group, grouped};
use crate::compare::{Center, Comparison, Estimate, Run, Verdict};
use crate::record::Finding;

/// A report without a format.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Document {
    /// Which run is faster and by how much, one sentence each.
    pub(super) answers: Vec<Answer>,
    /// Why the runs are not comparable, and the errors of their records.
    pub(super) warnings: Vec<String>,
    pub(super) tables: Vec<Table>,
    /// Assumptions, and the sources of figures.
    pub(super) notes: Vec<String>,
}

/// The speed-up of a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    pub(super) label: String,
    pub(super) base: String,
    pub(super) ratio: Option<Estimate>,
    pub(super) verdict: Verdict,
    /// `per GPU`, or another basis of the ratio.
    pub(super) of: &'static str,
    /// Which of the two runs have contradictions in their tokens, on which the ratio is based.
    pub(super) doubtful: Vec<String>,
    /// Whether the ratio compares step times that may be of different work.
    pub(super) unequal: bool,
}

impl Answer {
    /// One sentence.
    pub(super) fn text(&self) -> String {
        let Some(ratio) = self.ratio else {
            return format!("{} and {} have no speed of training in common.", self.label, self.base);
        };
        let range = range(ratio).map_or(String::new(), |range| format!(" (95 %: {range})"));
        let what = match self.verdict {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Same => "no difference beyond the noise of the steps",
            Verdict::Unknown => "too few steps for an interval",
        };
        format!(
            "{} is {:.3} times as fast as {} {}{range}: {what}.{}",
            self.label,
            ratio.value,
            self.base,
            self.of,
            self.doubt().map_or(String::new(), |doubt| format!(" {doubt}"))
        )
    }
}

impl Answer {
    /// Why the ratio is not reliable.
    pub(super) fn doubt(&self) -> Option<String> {
        if self.unequal {
            return Some("Whether their steps are of equal work is not known.".to_owned());
        }
        (!self.doubtful.is_empty()).then(|| {
            let who = self.doubtful.join(" and ");
            format!("Do not rely on it: what {who} records of its tokens contradicts itself, and the ratio rests on it.")
        })
    }
}

/// `1.352 to 1.366`.
pub(super) fn range(estimate: Estimate) -> Option<String> {
    let (low, high) = estimate.low.zip(estimate.high)?;
    Some(format!("{low:.3} to {high:.3}"))
}

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Table {
    pub(super) title: String,
    /// The meaning of its figures, in a sentence or two.
    pub(super) about: String,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<Cell>>,
}

/// A cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Cell {
    pub(super) text: String,
    /// The interval, if the format has room for it.
    pub(super) range: Option<String>,
    /// The difference from the baseline.
    pub(super) change: Option<String>,
    /// Whether that is better or worse; `None` for neither.
    pub(super) good: Option<bool>,
}

impl Cell {
    fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// The document of a comparison.
pub(super) fn document(comparison: &Comparison) -> Document {
    let mut tables = vec![runs(comparison)];
    tables.extend(Group::ALL.into_iter().filter_map(|group| figures(comparison, group)));
    tables.extend(scaling(comparison));
    tables.extend(losses(comparison));
    tables.extend(measurements(comparison));
    Document {
        answers: answers(comparison),
        warnings: warnings(comparison),
        tables,
        notes: notes(comparison),
    }
}

fn answers(comparison: &Comparison) -> Vec<Answer> {
    let base = &comparison.runs[comparison.baseline].label;
    let contradicts = |label: &str| {
        let run = comparison.runs.iter().find(|run| run.label == label);
        run.is_some_and(|run| run.findings.iter().any(|finding| finding.kind == "tokens-contradict-batch"))
    };
    let tokens = |label: &str| comparison.runs.iter().find(|run| run.label == label)?.tokens_per_step;
    comparison
        .speedups
        .iter()
        .map(|speedup| Answer {
            unequal: speedup.per_gpu.is_none()
                && (tokens(base).is_none() || tokens(base) != tokens(&speedup.label)),
            label: speedup.label.clone(),
            base: base.clone(),
            ratio: speedup.main(),
            verdict: speedup.verdict(),
            of: if speedup.per_gpu.is_some() { "per GPU" } else { "by the time of a step" },
            doubtful: [base, &speedup.label]
                .into_iter()
                .filter(|label| speedup.per_gpu.is_some() && contradicts(label))
                .cloned()
                .collect(),
        })
        .collect()
}

fn warnings(comparison: &Comparison) -> Vec<String> {
    let mut warnings: Vec<String> =
        comparison.warnings.iter().map(|warning| capital(&warning.text())).collect();
    for run in &comparison.runs {
        let findings = run.findings.iter().filter(|finding| !is_small(finding));
        warnings.extend(
            findings.map(|finding| format!("{}: {}.", run.label, finding.text.trim_end_matches('.'))),
        );
    }
    warnings
}

/// A finding that does not affect a comparison: less than a hundredth of the time is outside of steps.
fn is_small(finding: &Finding) -> bool {
    let share = finding.stated.zip(finding.derived).map(|(stated, derived)| (stated / derived - 1.0).abs());
    finding.kind == "total-exceeds-steps" && share.is_some_and(|share| share < 0.01)
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

fn columns(first: &str, comparison: &Comparison) -> Vec<String> {
    std::iter::once(first.to_owned()).chain(comparison.runs.iter().map(|run| run.label.clone())).collect()
}

fn runs(comparison: &Comparison) -> Table {
    type Get = fn(&Run) -> Option<String>;
    let rows: &[(&str, Get)] = &[
        ("GPU", |run| Some(run.gpu.clone())),
        ("GPUs", |run| run.gpus.map(|gpus| gpus.to_string())),
        ("software", |run| (!run.software.is_empty()).then(|| run.software.clone())),
        ("ended", |run| {
            // Fractions of a second are meaningless here.
            let (time, _) = run.timestamp.split_once('.').unwrap_or((&run.timestamp, ""));
            (!time.is_empty()).then(|| time.to_owned())
        }),
        ("model", |run| run.shape.as_ref().map(|shape| shape.name.clone())),
        ("sequence length", |run| run.sequence_length.map(|length| length.to_string())),
        ("tokens of a step", |run| run.tokens_per_step.map(|tokens| grouped(tokens, 0))),
        ("peak", |run| {
            let (kind, found) = run.precision.zip(run.peak.as_ref())?;
            Some(format!("{} TFLOP/s {kind}", grouped(found.peak.tflops(kind)?, 1)))
        }),
        ("steps that count", |run| {
            let steps = &run.steps;
            (steps.recorded > 0).then(|| format!("{} of {}", steps.seconds.len(), steps.recorded))
        }),
        ("warm-up", |run| {
            (run.steps.recorded > 0).then(|| match run.steps.warmup {
                1 => "1 step".to_owned(),
                steps => format!("{steps} steps"),
            })
        }),
    ];
    let rows = rows
        .iter()
        .filter(|(_, get)| comparison.runs.iter().any(|run| get(run).is_some()))
        .map(|(name, get)| {
            let cells =
                comparison.runs.iter().map(|run| Cell::new(get(run).unwrap_or_else(|| NONE.to_owned())));
            std::iter::once(Cell::new(*name)).chain(cells).collect()
        })
        .collect();
    Table { title: "Runs".to_owned(), about: String::new(), columns: columns("", comparison), rows }
}

/// The text in place of a missing figure.
const NONE: &str = "–";

fn figures(comparison: &Comparison, group: Group) -> Option<Table> {
    let rows: Vec<Vec<Cell>> = FIGURES
        .iter()
        .filter(|figure| figure.group == group && !repeats(comparison, figure))
        .filter_map(|figure| {
            let values: Vec<Option<Estimate>> =
                comparison.runs.iter().map(|run| run.figure(figure.key)).collect();
            values.iter().any(Option::is_some).then(|| {
                let base = values[comparison.baseline];
                let name = match figure.unit {
                    "" => figure.label.to_owned(),
                    unit => format!("{} ({unit})", figure.label),
                };
                let cells = values.iter().enumerate().map(|(i, value)| match value {
                    Some(value) => cell(figure, *value, base.filter(|_| comparable(comparison, figure, i))),
                    None => Cell::new(NONE),
                });
                std::iter::once(Cell::new(name)).chain(cells).collect()
            })
        })
        .collect();
    let center = match comparison.center {
        Center::Median => "median",
        Center::Mean => "mean",
    };
    let same_work =
        comparison.runs.iter().all(|run| run.tokens_per_step == comparison.runs[0].tokens_per_step);
    let limits = comparison.runs.iter().any(|run| run.watts.as_ref().is_some_and(|watts| watts.is_limit));
    let about = match group {
        Group::Speed => {
            let work = if same_work { "" } else { " The runs have different tokens in a step, so times of steps are not compared." };
            format!("Tokens/s are by the {center} of the steps that count.{work}")
        }
        Group::Efficiency => "Operations are counted from the model's shape, once with the causal mask and once, as PaLM and \
             Megatron-LM do, with attention in full. MFU is the share of the dense peak."
            .to_owned(),
        Group::Stability => "A straggler is beyond the median by a tenth and by five robust standard deviations; a spike takes \
             twice the median."
            .to_owned(),
        Group::Memory | Group::Training => String::new(),
        Group::Cost => {
            let limits = if limits { " Power that was not measured is a limit: the true energy and CO₂e are lower." } else { "" };
            format!("With a PUE of {} and {} g CO₂e/kWh.{limits}", comparison.pue.value, comparison.carbon.value)
        }
    };
    (!rows.is_empty()).then(|| Table {
        title: group.title().to_owned(),
        about,
        columns: columns("", comparison),
        rows,
    })
}

/// Whether a run's figure may be compared with the baseline's. Step times for different work are not
/// comparable.
fn comparable(comparison: &Comparison, figure: &Figure, run: usize) -> bool {
    let work = |run: usize| comparison.runs[run].tokens_per_step;
    let of_a_step = figure.unit == "s";
    run != comparison.baseline && !(of_a_step && work(run) != work(comparison.baseline))
}

/// Whether a figure repeats another row: the center, or the node if it is the only one.
fn repeats(comparison: &Comparison, figure: &Figure) -> bool {
    let same = |other: &str| {
        comparison
            .runs
            .iter()
            .all(|run| run.figure(figure.key).map(|it| it.value) == run.figure(other).map(|it| it.value))
    };
    match figure.key {
        "step_seconds_median" | "step_seconds_mean" => same("step_seconds"),
        "tokens_per_second" => same("tokens_per_second_per_node"),
        _ => false,
    }
}

fn cell(figure: &Figure, value: Estimate, base: Option<Estimate>) -> Cell {
    let range = value
        .low
        .zip(value.high)
        .filter(|(low, high)| low != high)
        .map(|(low, high)| format!("{} to {}", figure.number(low), figure.number(high)));
    let base = base.filter(|_| figure.better != Better::Neither);
    // Counts of a few steps get no percentages. For a percentage, the change is in percentage points, and for
    // a loss near 0, it is the difference.
    let (change, matters) = match (figure.unit, figure.group, base) {
        (_, _, None) | ("steps", _, _) => (None, None),
        ("%", _, Some(base)) => {
            let points = (value.value - base.value) * 100.0;
            (Some(format!("{points:+.2} points")), Some(points).filter(|points| points.abs() >= 0.005))
        }
        (_, Group::Training, Some(base)) => {
            let difference = value.value - base.value;
            (
                Some(format!("{difference:+.4}")),
                Some(difference).filter(|difference| difference.abs() >= 5e-5),
            )
        }
        (_, _, Some(base)) => {
            let change = Some(value.value / base.value - 1.0).filter(|change| change.is_finite());
            (change.map(percent), change.filter(|change| change.abs() >= 0.0005))
        }
    };
    let good = matters.map(|change| (change > 0.0) == (figure.better == Better::Higher));
    Cell { text: figure.number(value.value), range, change, good }
}

/// `+35.9 %`, or a factor if the percentage says little.
pub(super) fn percent(change: f64) -> String {
    match change {
        change if change >= 9.0 => format!("×{:.1}", change + 1.0),
        change => format!("{:+.1} %", change * 100.0),
    }
}

fn scaling(comparison: &Comparison) -> Vec<Table> {
    comparison
        .scaling
        .iter()
        .map(|scaling| Table {
            title: format!("Scaling of {}", scaling.gpu),
            about: format!(
                "Efficiency is tokens/s of a GPU divided by those of a GPU of the smallest run ({} scaling).",
                scaling.kind
            ),
            columns: ["run", "GPUs", "tokens/s", "efficiency"].map(str::to_owned).to_vec(),
            rows: scaling
                .steps
                .iter()
                .map(|step| {
                    vec![
                        Cell::new(step.label.clone()),
                        Cell::new(step.gpus.to_string()),
                        Cell::new(grouped(step.tokens_per_second.value, 1)),
                        Cell::new(format!("{:.1} %", step.efficiency * 100.0)),
                    ]
                })
                .collect(),
        })
        .collect()
}

fn losses(comparison: &Comparison) -> Option<Table> {
    let losses = comparison.losses.as_ref()?;
    let mut columns = vec!["tokens".to_owned()];
    columns.extend(losses.labels.iter().cloned());
    let mut rows: Vec<Vec<Cell>> = losses
        .points
        .iter()
        .map(|point| {
            let first = point.losses[0];
            let cells = point.losses.iter().enumerate().map(|(i, loss)| Cell {
                text: format!("{loss:.4}"),
                change: (i > 0).then(|| format!("{:+.4}", loss - first)),
                ..Cell::default()
            });
            std::iter::once(Cell::new(grouped(point.tokens, 0))).chain(cells).collect()
        })
        .collect();
    let distance = |name: &str, get: fn(&crate::compare::Distance) -> String| {
        let cells = losses.distances.iter().map(|distance| Cell::new(get(distance)));
        [Cell::new(name), Cell::new("")].into_iter().chain(cells).collect::<Vec<_>>()
    };
    rows.push(distance("mean difference", |distance| format!("{:+.4}", distance.mean)));
    rows.push(distance("mean distance", |distance| format!("{:.4}", distance.mean_absolute)));
    rows.push(distance("largest distance", |distance| {
        format!("{:.4} at {} tokens", distance.largest, grouped(distance.largest_at, 0))
    }));
    Some(Table {
        title: "Loss by tokens".to_owned(),
        about: "Interpolated where as many tokens were seen, averaged over 2 % of the common tokens to each side.".to_owned(),
        columns,
        rows,
    })
}

fn measurements(comparison: &Comparison) -> Option<Table> {
    let rows: Vec<Vec<Cell>> = comparison
        .measurements
        .iter()
        .map(|matched| {
            let cells = matched.runs.iter().zip(&matched.speedups).enumerate().map(|(i, (one, speedup))| {
                let Some(one) = one else { return Cell::new(NONE) };
                let text = match (one.tflops, one.gb_per_second) {
                    // A measurement with more operations than its GPU could feed from memory is reported by
                    // its operations.
                    (Some(tflops), gb)
                        if one.intensity.is_none_or(|intensity| intensity > 10.0) || gb.is_none() =>
                    {
                        flops(tflops.value)
                    }
                    (_, Some(gb)) => format!("{} GB/s", grouped(gb.value, 1)),
                    _ => seconds(one.seconds.value),
                };
                let range = one.seconds.low.zip(one.seconds.high);
                Cell {
                    text,
                    range: range.map(|(low, high)| format!("{} to {}", seconds(low), seconds(high))),
                    change: speedup
                        .filter(|_| i != comparison.baseline)
                        .map(|speedup| format!("×{:.3}", speedup.value)),
                    good: speedup.and_then(|speedup| match (speedup.low?, speedup.high?) {
                        (low, _) if low > 1.0 => Some(true),
                        (_, high) if high < 1.0 => Some(false),
                        _ => None,
                    }),
                }
            });
            std::iter::once(Cell::new(format!("{}: {}", matched.group, matched.name))).chain(cells).collect()
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        title: "Measurements".to_owned(),
        about: "× is how many times as fast as the baseline.".to_owned(),
        columns: columns("", comparison),
        rows,
    })
}

/// TFLOP/s in a fitting unit.
fn flops(tflops: f64) -> String {
    if tflops >= 0.1 {
        format!("{} TFLOP/s", grouped(tflops, 2))
    } else {
        format!("{} GFLOP/s", grouped(tflops * 1e3, 2))
    }
}

/// A time in a fitting unit.
fn seconds(value: f64) -> String {
    match value {
        value if value >= 1.0 => format!("{value:.3} s"),
        value if value >= 1e-3 => format!("{:.3} ms", value * 1e3),
        value => format!("{:.3} µs", value * 1e6),
    }
}

fn notes(comparison: &Comparison) -> Vec<String> {
    let of_run = |run: &Run| {
        let mut notes = run.notes.clone();
        notes.extend(
            run.findings.iter().filter(|finding| is_small(finding)).map(|finding| finding.text.clone()),
        );
        notes.extend(
            run.peak.as_ref().map(|found| format!("{} by {}", found.peak.product, found.peak.source)),
        );
        notes.extend(
            run.price
                .as_ref()
                .map(|price| format!("{} USD for a GPU and an hour: {}", price.value, price.source)),
        );
        notes.extend(
            run.watts.as_ref().map(|watts| format!("{:.0} W of a GPU: {}", watts.value, watts.source)),
        );
        let rule = &run.steps.warmup_rule;
        notes.extend((run.steps.recorded > 0).then(|| format!("warm-up left out by this rule: {rule}")));
        notes
    };
    let all: Vec<(&str, Vec<String>)> =
        comparison.runs.iter().map(|run| (run.label.as_str(), of_run(run))).collect();
    // A note shared by several runs appears once.
    let mut notes = Vec::new();
    for note in all.iter().flat_map(|(_, notes)| notes) {
        let with: Vec<&str> =
            all.iter().filter(|(_, notes)| notes.contains(note)).map(|(label, _)| *label).collect();
        let who =
            if with.len() == all.len() && with.len() > 1 { "all runs".to_owned() } else { with.join(", ") };
        let text = format!("{who}: {}.", note.trim_end_matches('.'));
        if !notes.contains(&text) {
            notes.push(text);
        }
    }
    if comparison.runs.iter().any(|run| run.watts.is_some()) {
        notes.push(format!("PUE {}: {}.", comparison.pue.value, comparison.pue.source));
        notes.push(format!("{} g CO₂e/kWh: {}.", comparison.carbon.value, comparison.carbon.source));
    }
    notes.push(
        "Intervals hold the middle 95 % of moving-block bootstrap resamples of the steps. They tell how much a figure varies within \
         its run, not how much another run would differ."
            .to_owned(),
    );
    notes
}
