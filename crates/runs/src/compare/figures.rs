//! The figures of a comparison: one row each, used by every report.

use serde::Serialize;

/// Which direction is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More.
    Higher,
    /// Less.
    Lower,
    /// Neither: it is reported, not judged.
    Neither,
}

/// A figure of runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figure {
    /// Its name in JSON, CSV and history files.
    pub key: &'static str,
    /// Its name in reports.
    pub label: &'static str,
    /// The unit in which it is shown.
    pub unit: &'static str,
    /// The factor that converts the value to `unit`.
    pub scale: f64,
    /// The maximum number of digits after the point.
    pub digits: usize,
    /// Which direction is better.
    pub better: Better,
    /// The part of the report that shows it.
    pub group: Group,
    /// Whether `--against` judges it. Figures that follow from a judged one, or depend on prices, are not
    /// judged.
    pub judged: bool,
}

/// A part of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Throughput and time.
    Speed,
    /// TFLOP/s and MFU.
    Efficiency,
    /// How uniform steps are.
    Stability,
    /// Memory of a GPU.
    Memory,
    /// Money, energy, carbon.
    Cost,
    /// The loss.
    Training,
}

impl Group {
    /// All parts, in the order of reports.
    pub const ALL: [Self; 6] =
        [Self::Speed, Self::Efficiency, Self::Stability, Self::Memory, Self::Cost, Self::Training];

    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Speed => "Speed",
            Self::Efficiency => "Efficiency",
            Self::Stability => "Stability",
            Self::Memory => "Memory of a GPU",
            Self::Cost => "Cost, energy, carbon",
            Self::Training => "Training",
        }
    }
}

/// The row of a key.
pub fn of_key(key: &str) -> Option<&'static Figure> {
    FIGURES.iter().find(|figure| figure.key == key)
}

type Row = (&'static str, &'static str, &'static str, f64, usize);

const fn figure((key, label, unit, scale, digits): Row, better: Better, group: Group) -> Figure {
    Figure { key, label, unit, scale, digits, better, group, judged: false }
}

const fn judged(row: Row, better: Better, group: Group) -> Figure {
    Figure { judged: true, ..figure(row, better, group) }
}

use Better::{Higher, Lower, Neither};
use Group::{Cost, Efficiency, Memory, Speed, Stability, Training};

// Columns: key, label, unit, scale, digits; which direction is better; the part of the report.
/// All figures, in the order of reports.
#[rustfmt::skip]
pub static FIGURES: &[Figure] = &[
    judged(("tokens_per_second_per_gpu", "tokens/s per GPU", "", 1.0, 1), Higher, Speed),
    figure(("tokens_per_second_per_node", "tokens/s per node", "", 1.0, 1), Higher, Speed),
    figure(("tokens_per_second", "tokens/s", "", 1.0, 1), Higher, Speed),
    judged(("step_seconds", "time of a step", "s", 1.0, 4), Lower, Speed),
    figure(("step_seconds_median", "median step", "s", 1.0, 4), Lower, Speed),
    figure(("step_seconds_mean", "mean step", "s", 1.0, 4), Lower, Speed),
    figure(("step_seconds_min", "shortest step", "s", 1.0, 4), Lower, Speed),
    figure(("step_seconds_max", "longest step", "s", 1.0, 4), Lower, Speed),
    figure(("step_seconds_recorded", "mean step as recorded", "s", 1.0, 4), Lower, Speed),
    figure(("tflops_per_gpu", "TFLOP/s per GPU", "", 1.0, 1), Higher, Efficiency),
    figure(("mfu", "MFU", "%", 100.0, 2), Higher, Efficiency),
    figure(("tflops_per_gpu_full", "TFLOP/s per GPU, attention in full", "", 1.0, 1), Higher, Efficiency),
    figure(("mfu_full", "MFU, attention in full", "%", 100.0, 2), Higher, Efficiency),
    figure(("tflops_per_gpu_recorded", "TFLOP/s per GPU as recorded", "", 1.0, 1), Higher, Efficiency),
    figure(("variation", "coefficient of variation", "%", 100.0, 2), Lower, Stability),
    figure(("step_seconds_p95", "95 % of steps within", "s", 1.0, 4), Lower, Stability),
    figure(("step_seconds_p99", "99 % of steps within", "s", 1.0, 4), Lower, Stability),
    figure(("stragglers", "stragglers", "steps", 1.0, 0), Lower, Stability),
    figure(("spikes", "spikes", "steps", 1.0, 0), Lower, Stability),
    figure(("lost_to_stragglers", "time lost to stragglers", "%", 100.0, 2), Lower, Stability),
    figure(("drift", "drift from first to last quarter", "%", 100.0, 2), Neither, Stability),
    judged(("memory_allocated_gb", "memory allocated at most", "GB", 1.0, 2), Lower, Memory),
    judged(("memory_reserved_gb", "memory reserved at most", "GB", 1.0, 2), Lower, Memory),
    judged(("memory_used_gb", "memory in use on the GPU at most", "GB", 1.0, 2), Lower, Memory),
    figure(("memory_share", "share of its memory", "%", 100.0, 1), Neither, Memory),
    figure(("dollars_per_million_tokens", "cost of a million tokens", "USD", 1.0, 4), Lower, Cost),
    figure(("dollars_per_trillion_tokens", "cost of a trillion tokens", "USD", 1.0, 0), Lower, Cost),
    figure(("watts_per_gpu", "power of a GPU", "W", 1.0, 0), Neither, Cost),
    figure(("joules_per_token", "energy of a token", "J", 1.0, 3), Lower, Cost),
    figure(("kwh_per_million_tokens", "energy of a million tokens", "kWh", 1.0, 4), Lower, Cost),
    figure(("co2_grams_per_million_tokens", "CO₂e of a million tokens", "g", 1.0, 1), Lower, Cost),
    judged(("final_loss", "loss at the end", "", 1.0, 5), Lower, Training),
];

impl Figure {
    /// A value as text, without its unit: `53,943.6`, `2.3601`.
    pub fn number(&self, value: f64) -> String {
        grouped(value * self.scale, self.digits)
    }

    /// A value as text, with its unit.
    pub fn text(&self, value: f64) -> String {
        let unit = match self.unit {
            "" => String::new(),
            unit => format!(" {unit}"),
        };
        format!("{}{unit}", self.number(value))
    }
}

/// A number with commas between thousands, and as many digits after the point as its size needs: five
/// significant ones, at most `digits`. Implausible sizes are written with an exponent.
pub fn grouped(value: f64, digits: usize) -> String {
    if !value.is_finite() || value.abs() >= 1e15 || (value != 0.0 && value.abs() < 1e-9) {
        return format!("{value:.3e}");
    }
    let before = value.abs().max(1.0).log10().floor() as usize + 1;
    let mut digits = digits.min(5_usize.saturating_sub(before).max(usize::from(before < 6)));
    // A small number keeps three significant digits, even if its figure usually has fewer.
    if value != 0.0 && digits > 0 && value.abs() < 10_f64.powi(-(digits as i32) + 2) && value.abs() < 1.0 {
        digits = (2 - value.abs().log10().floor() as i32).clamp(digits as i32, 9) as usize;
    }
    let text = format!("{value:.digits$}");
    let (sign, unsigned) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let (whole, fraction) =
        unsigned.split_once('.').map_or((unsigned, None), |(whole, part)| (whole, Some(part)));
    let mut out = String::from(sign);
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_as_many_digits_as_count() {
        for (value, digits, text) in [
            (53_943.556, 1, "53,943.6"),
            (2.36012, 4, "2.3601"),
            (22.78724, 4, "22.787"),
            (1234.5, 4, "1,234.5"),
            (1_234_567.8, 1, "1,234,568"),
            (0.0, 2, "0.00"),
            (-6.1234, 2, "-6.12"),
            (0.0123, 4, "0.0123"),
            (0.000_123_4, 4, "0.000123"),
            (24.9, 0, "25"),
            (7.0, 0, "7"),
            (1e300, 1, "1.000e300"),
            (-2.5e-12, 4, "-2.500e-12"),
            (f64::INFINITY, 1, "inf"),
        ] {
            assert_eq!(grouped(value, digits), text, "{value} {digits}");
        }
    }

    #[test]
    fn keys_and_labels_are_each_of_one_figure() {
        for figure in FIGURES {
            let same = |other: &&Figure| other.key == figure.key || other.label == figure.label;
            assert_eq!(FIGURES.iter().filter(same).count(), 1, "{}", figure.key);
            assert!(!figure.judged || figure.better != Better::Neither, "{}", figure.key);
            assert_eq!(of_key(figure.key), Some(figure));
        }
    }
}
