//! Charts as SVG.
//!
//! They have no background and use the colours of [`super::style`], which a page replaces in a dark scheme.

use std::ops::Range;

use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::style::{AXIS, GRID, SERIES, TEXT, WEAK};
use crate::compare::figures;
use crate::compare::{Comparison, Run};
use crate::statistics::{median, quantile};

/// A chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chart {
    /// Its name, as for a file.
    pub name: &'static str,
    /// Its heading.
    pub title: String,
    /// A description for people who cannot see it.
    pub description: String,
    /// Whether it only has a few bars, which need less room than a plot.
    pub small: bool,
    /// The SVG document.
    pub svg: String,
}

/// A run's index, its label and its points.
type Line<'a> = (usize, &'a str, Points);

/// A chart could not be drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("chart {0} cannot be drawn: {1}")]
pub struct Error(&'static str, String);

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
/// The maximum points of a line or of a cloud.
type Points = Vec<(f64, f64)>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

const WIDTH: u32 = 440;
const HEIGHT: u32 = 280;
const BARS_WIDTH: u32 = 360;
/// More points than pixels only make the file larger.
const MOST_POINTS: usize = 400;

/// The charts for which a comparison has figures.
///
/// # Errors
///
/// [`Error`] if the plotting crate refuses a chart.
pub fn charts(comparison: &Comparison) -> Result<Vec<Chart>, Error> {
    let runs = &comparison.runs;
    let all = [
        bars(runs, "throughput", "tokens_per_second_per_gpu"),
        bars(runs, "mfu", "mfu"),
        bars(runs, "cost", "dollars_per_million_tokens"),
        bars(runs, "energy", "joules_per_token"),
        bars(runs, "memory", "memory_allocated_gb"),
        bars(runs, "memory-reserved", "memory_reserved_gb"),
        bars(runs, "memory-used", "memory_used_gb"),
        step_times(runs),
        throughput(runs),
        distribution(runs),
        loss(runs),
        roofline(runs),
    ];
    all.into_iter().filter_map(Result::transpose).collect()
}

/// The ends of an axis: `None` if they are NaN, or so large, small or close that the plotting crate would
/// search for labels forever.
fn axis(low: f64, high: f64) -> Option<Range<f64>> {
    let size = low.abs().max(high.abs());
    let fits = (SMALL..=LARGE).contains(&size) && high - low >= 1e-6 * size;
    fits.then_some(low..high)
}

/// The ends of a logarithmic axis.
fn log_axis(low: f64, high: f64) -> Option<Range<f64>> {
    axis(low, high).filter(|_| low >= SMALL && high / low >= 1.01)
}

/// Sizes that a chart can show. No real time, rate or loss is beyond.
const SMALL: f64 = 1e-12;
const LARGE: f64 = 1e15;

fn colour(i: usize) -> RGBColor {
    SERIES[i % SERIES.len()]
}

fn font(size: u32, colour: RGBColor) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&colour)
}

fn anchored(size: u32, colour: RGBColor, horizontal: HPos) -> TextStyle<'static> {
    font(size, colour).pos(Pos::new(horizontal, VPos::Center))
}

fn draw(
    name: &'static str,
    title: String,
    description: String,
    size: (u32, u32),
    body: impl FnOnce(&Area<'_>) -> Drawn,
) -> Result<Option<Chart>, Error> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        body(&area).and_then(|()| area.present()).map_err(|error| Error(name, error.to_string()))?;
    }
    Ok(Some(Chart { name, title, description, small: size.0 < WIDTH, svg }))
}

/// A label that fits next to others.
fn short(label: &str, most: usize) -> String {
    let label: String = label.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    match label.chars().count() > most {
        true => label.chars().take(most - 1).chain(['…']).collect(),
        false => label,
    }
}

/// Colours and labels in the rows above a plot; returns the height of the rows.
fn legend(area: &Area<'_>, labels: &[(usize, &str)]) -> Result<u32, DrawingAreaErrorKind<std::io::Error>> {
    let (mut x, mut y) = (58, 12);
    for (i, label) in labels {
        let label = short(label, 26);
        // About seven pixels for each letter, because the viewer chooses the font.
        let width = 22 + 7 * label.chars().count() as i32;
        if x > 58 && x + width > WIDTH as i32 - 8 {
            (x, y) = (58, y + 18);
        }
        area.draw(&Rectangle::new([(x, y - 5), (x + 10, y + 5)], colour(*i).filled()))?;
        area.draw(&Text::new(label, (x + 15, y), anchored(12, TEXT, HPos::Left)))?;
        x += width + 10;
    }
    Ok(y as u32 + 12)
}

/// A plot with axes; `body` draws its contents.
fn plot<X, Y>(
    area: &Area<'_>,
    (x, x_name): (X, &str),
    (y, y_name): (Y, &str),
    body: impl FnOnce(
        &mut ChartContext<'_, SVGBackend<'_>, Cartesian2d<X::CoordDescType, Y::CoordDescType>>,
    ) -> Drawn,
) -> Drawn
where
    X: AsRangedCoord<Value = f64>,
    Y: AsRangedCoord<Value = f64>,
    X::CoordDescType: ValueFormatter<f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let mut chart = ChartBuilder::on(area)
        .margin_right(12)
        .margin_top(4)
        .x_label_area_size(42)
        .y_label_area_size(58)
        .build_cartesian_2d(x, y)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(AXIS)
        .label_style(font(11, WEAK))
        .axis_desc_style(font(12, WEAK))
        .x_labels(5)
        .y_labels(6)
        .x_label_formatter(&|value| short_number(*value))
        .y_label_formatter(&|value| short_number(*value))
        .x_desc(x_name)
        .y_desc(y_name)
        .draw()?;
    body(&mut chart)
}

/// A number on an axis: `2.5`, `65M`, `1e-3`.
fn short_number(value: f64) -> String {
    let size = value.abs();
    let trimmed = |value: f64, digits: usize| {
        let text = format!("{value:.digits$}");
        match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text,
        }
    };
    match size {
        0.0 => "0".to_owned(),
        _ if size >= 1e9 => format!("{}G", trimmed(value / 1e9, 1)),
        _ if size >= 1e6 => format!("{}M", trimmed(value / 1e6, 1)),
        _ if size >= 1e4 => format!("{}k", trimmed(value / 1e3, 1)),
        _ if size >= 1e-3 => trimmed(value, 3),
        _ => format!("{value:.0e}"),
    }
}

/// At most [`MOST_POINTS`] points: the lowest and the highest of each stretch, so that no spike is lost.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= MOST_POINTS {
        return points.to_vec();
    }
    let stretch = points.len().div_ceil(MOST_POINTS / 2);
    points
        .chunks(stretch)
        .flat_map(|chunk| {
            let by = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
            let ends = [chunk.iter().min_by(by), chunk.iter().max_by(by)];
            let mut ends: Vec<(f64, f64)> = ends.into_iter().flatten().copied().collect();
            ends.sort_by(|a, b| a.0.total_cmp(&b.0));
            ends
        })
        .collect()
}

fn step_times(runs: &[Run]) -> Result<Option<Chart>, Error> {
    let shown: Vec<(usize, &Run)> =
        runs.iter().enumerate().filter(|(_, run)| run.steps.all.len() > 1).collect();
    if shown.is_empty() {
        return Ok(None);
    }
    // Warm-up and rare spikes would make the rest look flat.
    let mut top = 0.0_f64;
    let mut bottom = f64::INFINITY;
    for (_, run) in &shown {
        let mut sorted = run.steps.seconds.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |share| quantile(&sorted, share).unwrap_or(0.0);
        top = top.max(at(0.995)).max(1.1 * at(0.5));
        bottom = bottom.min(sorted.first().copied().unwrap_or(0.0));
    }
    let (bottom, top) = ((bottom - (top - bottom) * 0.1).max(0.0), top + (top - bottom) * 0.1);
    let last = shown
        .iter()
        .map(|(_, run)| run.steps.all.len() as f64 * run.steps_per_row as f64)
        .fold(1.0, f64::max);
    let (Some(x), Some(y)) = (axis(0.0, last), axis(bottom, top)) else { return Ok(None) };
    let cut = shown.iter().any(|(_, run)| run.steps.all.iter().any(|step| *step > top));
    let title = if cut { "Time of each step; longer ones are cut off" } else { "Time of each step" };
    draw("step-times", title.to_owned(), describe(runs, "step_seconds"), (WIDTH, HEIGHT), |area| {
        let labels: Vec<(usize, &str)> = shown.iter().map(|(i, run)| (*i, run.label.as_str())).collect();
        let (_, rest) = area.split_vertically(legend(area, &labels)?);
        plot(&rest, (x, "step"), (y, "seconds"), |chart| {
            for (i, run) in &shown {
                let points: Vec<(f64, f64)> = run
                    .steps
                    .all
                    .iter()
                    .enumerate()
                    .map(|(row, seconds)| ((row + 1) as f64 * run.steps_per_row as f64, seconds.min(top)))
                    .collect();
                chart.draw_series(LineSeries::new(thinned(&points), colour(*i).stroke_width(1)))?;
            }
            Ok(())
        })
    })
}

/// Steps around each one whose median is shown as its throughput.
const AROUND: usize = 15;

fn throughput(runs: &[Run]) -> Result<Option<Chart>, Error> {
    let shown: Vec<Line<'_>> = runs
        .iter()
        .enumerate()
        .filter_map(|(i, run)| {
            let tokens = run.tokens_per_step? / run.gpus? as f64;
            let (seconds, half) = (&run.steps.seconds, AROUND / 2);
            let middle = |at: usize| {
                let near = &seconds[at.saturating_sub(half)..(at + half + 1).min(seconds.len())];
                median(near).unwrap_or(f64::NAN)
            };
            let each = run.steps_per_row as f64;
            let at = |row: usize| ((run.steps.warmup + row + 1) as f64 * each, tokens / middle(row));
            let points: Points = (0..seconds.len()).map(at).collect();
            (points.len() > AROUND).then(|| (i, run.label.as_str(), thinned(&points)))
        })
        .collect();
    let values = || shown.iter().flat_map(|(_, _, points)| points).copied();
    let (low, high) =
        values().fold((f64::INFINITY, 0.0_f64), |(low, high), (_, y)| (low.min(y), high.max(y)));
    let end = values().fold(0.0_f64, |end, (x, _)| end.max(x));
    let margin = ((high - low) * 0.08).max(high * 1e-3);
    let (Some(x), Some(y)) = (axis(0.0, end), axis((low - margin).max(0.0), high + margin)) else {
        return Ok(None);
    };
    let title = format!("Tokens/s per GPU, median of {AROUND} steps");
    draw("throughput-steps", title, describe(runs, "tokens_per_second_per_gpu"), (WIDTH, HEIGHT), |area| {
        let labels: Vec<(usize, &str)> = shown.iter().map(|(i, label, _)| (*i, *label)).collect();
        let (_, rest) = area.split_vertically(legend(area, &labels)?);
        plot(&rest, (x, "step"), (y, "tokens/s per GPU"), |chart| {
            for (i, _, points) in &shown {
                chart.draw_series(LineSeries::new(points.clone(), colour(*i).stroke_width(2)))?;
            }
            Ok(())
        })
    })
}

/// A figure of each run, as text.
fn describe(runs: &[Run], key: &str) -> String {
    let Some(figure) = figures::of_key(key) else { return String::new() };
    let parts =
        runs.iter().filter_map(|run| Some(format!("{} {}", run.label, figure.text(run.figure(key)?.value))));
    format!("{}: {}", figure.label, parts.collect::<Vec<_>>().join(", "))
}

/// Bins of a distribution.
const BINS: usize = 60;

fn distribution(runs: &[Run]) -> Result<Option<Chart>, Error> {
    let shown: Vec<(usize, &Run)> =
        runs.iter().enumerate().filter(|(_, run)| run.steps.seconds.len() >= 20).collect();
    let mut all: Vec<f64> = shown.iter().flat_map(|(_, run)| run.steps.seconds.iter().copied()).collect();
    all.sort_unstable_by(f64::total_cmp);
    let Some((low, high)) = quantile(&all, 0.001).zip(quantile(&all, 0.995)) else { return Ok(None) };
    let width = (high - low) / BINS as f64;
    let Some(x) = axis((low - 2.0 * width).max(0.0), high + width).filter(|_| width > 0.0) else {
        return Ok(None);
    };
    let shares: Vec<(usize, Vec<f64>)> = shown
        .iter()
        .map(|(i, run)| {
            let mut counts = vec![0.0; BINS];
            for step in &run.steps.seconds {
                if (low..=high).contains(step) {
                    counts[(((step - low) / width) as usize).min(BINS - 1)] +=
                        100.0 / run.steps.seconds.len() as f64;
                }
            }
            (*i, counts)
        })
        .collect();
    let top = shares.iter().flat_map(|(_, shares)| shares).copied().fold(0.0, f64::max) * 1.08;
    draw(
        "distribution",
        "Distribution of step times".to_owned(),
        describe(runs, "variation"),
        (WIDTH, HEIGHT),
        |area| {
            let labels: Vec<(usize, &str)> = shown.iter().map(|(i, run)| (*i, run.label.as_str())).collect();
            let (_, rest) = area.split_vertically(legend(area, &labels)?);
            plot(&rest, (x, "seconds"), (0.0..top, "% of steps"), |chart| {
                for (i, shares) in &shares {
                    chart.draw_series(shares.iter().enumerate().filter(|(_, share)| **share > 0.0).map(
                        |(bin, share)| {
                            let left = low + width * bin as f64;
                            Rectangle::new(
                                [(left, 0.0), (left + width, *share)],
                                colour(*i).mix(0.55).filled(),
                            )
                        },
                    ))?;
                }
                Ok(())
            })
        },
    )
}

fn loss(runs: &[Run]) -> Result<Option<Chart>, Error> {
    // The median of nine steps gives a visible curve, and only values that steps had.
    let smooth = |losses: &[f64]| -> Vec<f64> {
        (0..losses.len())
            .map(|i| median(&losses[i.saturating_sub(4)..(i + 5).min(losses.len())]).unwrap_or(f64::NAN))
            .collect()
    };
    let by_tokens = runs.iter().all(|run| run.losses.is_empty() || run.tokens_per_step.is_some());
    let shown: Vec<Line<'_>> = runs
        .iter()
        .enumerate()
        .filter_map(|(i, run)| {
            let each = if by_tokens { run.tokens_per_row().unwrap_or(1.0) } else { run.steps_per_row as f64 };
            let known: Vec<(f64, f64)> = run
                .losses
                .iter()
                .enumerate()
                .filter(|(_, loss)| loss.is_finite() && loss.abs() <= LARGE)
                .map(|(step, loss)| ((step + 1) as f64 * each, *loss))
                .collect();
            let values = smooth(&known.iter().map(|point| point.1).collect::<Vec<_>>());
            let points: Vec<(f64, f64)> = known.iter().map(|point| point.0).zip(values).collect();
            (points.len() > 1).then(|| (i, run.label.as_str(), thinned(&points)))
        })
        .collect();
    let values = || shown.iter().flat_map(|(_, _, points)| points).map(|point| point.1);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let end =
        shown.iter().filter_map(|(_, _, points)| points.last()).map(|point| point.0).fold(0.0, f64::max);
    let labels: Vec<(usize, &str)> = shown.iter().map(|(i, label, _)| (*i, *label)).collect();
    let x_name = if by_tokens { "tokens" } else { "step" };
    let margin = ((high - low) * 0.06).max(high.abs() * 1e-3).max(1e-6);
    let logarithmic = if low > 0.0 && high / low > 20.0 { log_axis(low * 0.8, high * 1.25) } else { None };
    let (Some(x), Some(y)) =
        (axis(0.0, end), logarithmic.clone().or_else(|| axis(low - margin, high + margin)))
    else {
        return Ok(None);
    };
    let title = format!("Loss by {}", if by_tokens { "tokens" } else { "step" });
    draw("loss", title, describe(runs, "final_loss"), (WIDTH, HEIGHT), |area| {
        let (_, rest) = area.split_vertically(legend(area, &labels)?);
        let line = |(i, _, points): &Line<'_>| LineSeries::new(points.clone(), colour(*i).stroke_width(2));
        match logarithmic {
            Some(_) => plot(&rest, (x, x_name), (y.log_scale(), "loss"), |chart| {
                shown.iter().try_for_each(|one| chart.draw_series(line(one)).map(drop))
            }),
            None => plot(&rest, (x, x_name), (y, "loss"), |chart| {
                shown.iter().try_for_each(|one| chart.draw_series(line(one)).map(drop))
            }),
        }
    })
}

/// A figure of each run as a bar, with its interval.
fn bars(runs: &[Run], name: &'static str, key: &str) -> Result<Option<Chart>, Error> {
    const ROW: i32 = 46;
    const RIGHT: i32 = 116;
    let Some(figure) = figures::of_key(key) else { return Ok(None) };
    let shown: Vec<(usize, &Run, crate::compare::Estimate)> =
        runs.iter().enumerate().filter_map(|(i, run)| Some((i, run, run.figure(key)?))).collect();
    let most =
        shown.iter().map(|(_, _, estimate)| estimate.high.unwrap_or(estimate.value)).fold(0.0, f64::max);
    // A single bar compares nothing; the tables have its figure.
    if shown.len() < runs.len().min(2) || axis(0.0, most).is_none() {
        return Ok(None);
    }
    let height = (ROW * shown.len() as i32 + 8) as u32;
    let title = match figure.unit {
        "" => figure.label.to_owned(),
        unit => format!("{}, {unit}", figure.label),
    };
    draw(name, capital(&title), describe(runs, key), (BARS_WIDTH, height), |area| {
        // A record may have negative values.
        let at =
            |value: f64| 4 + ((value / most).clamp(0.0, 1.0) * f64::from(BARS_WIDTH as i32 - RIGHT)) as i32;
        for (row, (i, run, estimate)) in shown.iter().enumerate() {
            let top = row as i32 * ROW;
            area.draw(&Text::new(short(&run.label, 48), (4, top + 12), anchored(12, WEAK, HPos::Left)))?;
            area.draw(&Rectangle::new(
                [(4, top + 22), (at(estimate.value).max(5), top + 40)],
                colour(*i).filled(),
            ))?;
            if let (Some(low), Some(high)) = (estimate.low, estimate.high)
                && at(high) - at(low) > 1
            {
                let line = TEXT.stroke_width(1);
                area.draw(&PathElement::new([(at(low), top + 31), (at(high), top + 31)], line))?;
                for end in [at(low), at(high)] {
                    area.draw(&PathElement::new([(end, top + 27), (end, top + 35)], line))?;
                }
            }
            let right = at(estimate.high.unwrap_or(estimate.value)).max(at(estimate.value));
            area.draw(&Text::new(
                figure.text(estimate.value),
                (right + 8, top + 31),
                anchored(13, TEXT, HPos::Left),
            ))?;
        }
        Ok(())
    })
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// Bandwidth in TB/s and peak in TFLOP/s.
type Roof = (f64, f64);

/// The limit for the operations per byte, and the measured rate.
fn roofline(runs: &[Run]) -> Result<Option<Chart>, Error> {
    let shown: Vec<(Line<'_>, Option<Roof>)> = runs
        .iter()
        .enumerate()
        .filter_map(|(i, run)| {
            let points: Points = run
                .measurements
                .iter()
                .filter_map(|one| Some((one.intensity?, one.tflops?.value)))
                .filter(|(intensity, tflops)| *intensity > 0.0 && *tflops > 0.0)
                .collect();
            let kind = run.precision.unwrap_or(crate::peaks::Type::Bf16);
            let peak = run.peak.as_ref().map(|found| found.peak);
            let roof = peak.and_then(|peak| Some((peak.bandwidth_gb_s / 1000.0, peak.tflops(kind)?)));
            (!points.is_empty()).then_some(((i, run.label.as_str(), points), roof))
        })
        .collect();
    if shown.is_empty() {
        return Ok(None);
    }
    // Every point, and the bend of each roof.
    let seen: Points = shown
        .iter()
        .flat_map(|((_, _, points), roof)| {
            points.iter().copied().chain(roof.map(|(bandwidth, peak)| (peak / bandwidth, peak)))
        })
        .collect();
    let ends = |of: fn(&(f64, f64)) -> f64| {
        let values = || seen.iter().map(of);
        log_axis(values().fold(f64::INFINITY, f64::min) / 2.0, values().fold(0.0, f64::max) * 2.0)
    };
    let (Some(x), Some(y)) = (ends(|point| point.0), ends(|point| point.1)) else { return Ok(None) };
    let (x0, x1, y0) = (x.start, x.end, y.start);
    let count: usize = shown.iter().map(|((_, _, points), _)| points.len()).sum();
    let description = format!("{count} measurements below what bandwidth and peak allow");
    draw("roofline", "Roofline".to_owned(), description, (WIDTH, HEIGHT), |area| {
        let labels: Vec<(usize, &str)> = shown.iter().map(|((i, label, _), _)| (*i, *label)).collect();
        let (_, rest) = area.split_vertically(legend(area, &labels)?);
        let (x, y) = ((x.log_scale(), "operations for each byte"), (y.log_scale(), "TFLOP/s"));
        plot(&rest, x, y, |chart| {
            for ((i, _, points), roof) in &shown {
                if let Some((bandwidth, peak)) = roof {
                    // From the place where bandwidth meets the plot's lower end, over the bend, along the
                    // peak.
                    let start = x0.max(y0 / bandwidth);
                    let roof = [start, peak / bandwidth, x1].map(|x| (x, (x * bandwidth).min(*peak)));
                    chart.draw_series(LineSeries::new(roof, colour(*i).stroke_width(2)))?;
                }
                chart.draw_series(points.iter().map(|point| Circle::new(*point, 4, colour(*i).filled())))?;
            }
            Ok(())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_on_axes_are_short() {
        let numbers = [0.0, 2.5, 0.125, 65_536_000.0, 12_000.0, 2e9, 1e-4, 300.0, 1500.0].map(short_number);
        assert_eq!(numbers, ["0", "2.5", "0.125", "65.5M", "12k", "2G", "1e-4", "300", "1500"]);
    }

    #[test]
    fn thinning_keeps_the_highest_and_the_lowest() {
        let mut points: Vec<(f64, f64)> =
            (0..100_000).map(|i| (f64::from(i), 1.0 + f64::from(i % 7) / 100.0)).collect();
        points[54_321].1 = 9.0;
        points[12_345].1 = 0.1;
        let thin = thinned(&points);
        assert!(
            thin.len() <= MOST_POINTS && thin.contains(&(54_321.0, 9.0)) && thin.contains(&(12_345.0, 0.1))
        );
        assert!(thin.is_sorted_by(|a, b| a.0 <= b.0));
        assert_eq!(thinned(&points[..10]), points[..10]);
    }
}
