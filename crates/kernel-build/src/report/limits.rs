//! Upper limits for kernels.

use std::collections::BTreeMap;

use super::{Figure, Report, ReportError};
use crate::Glob;

/// Limits of kernels' figures. If several apply to the same figure of a kernel, the last one counts, so
/// exceptions come after the rule.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
struct Rule {
    /// The limit as written, for messages.
    text: String,
    /// Names of the kernels; `None` means all.
    kernels: Option<Glob>,
    figures: Vec<(Figure, u64)>,
}

/// A kernel that exceeds a limit, or has less than the required occupancy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excess {
    /// Module name.
    pub module: String,
    /// Kernel name.
    pub kernel: String,
    /// Target id.
    pub target: String,
    /// Which figure.
    pub figure: Figure,
    /// The largest allowed value; for occupancy, the smallest.
    pub limit: u64,
    /// The actual value.
    pub found: u64,
}

impl Limits {
    /// Reads limits, each of the form `[KERNEL-GLOB:]figure=number[,figure=number…]`: `vgprs=64,spills=0` or
    /// `gemm_*:vgprs=128`. The figures are those of [`Figure::name`]; the number of `occupancy` is the least
    /// that is allowed.
    ///
    /// # Errors
    /// [`ReportError::Limit`] with the expected form.
    pub fn parse<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Result<Self, ReportError> {
        let rules = texts.into_iter().map(|text| rule(text.as_ref())).collect::<Result<_, _>>()?;
        Ok(Self { rules })
    }

    /// Whether there are no limits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Everything that exceeds its limit, in the report's order. An unknown figure exceeds no limit.
    ///
    /// # Errors
    /// [`ReportError::Limit`] if a pattern matches no kernel: it is misspelt, or its kernels were removed.
    pub fn check(&self, report: &Report) -> Result<Vec<Excess>, ReportError> {
        for rule in &self.rules {
            if !report.kernels.iter().any(|used| rule.is_for(&used.kernel)) {
                return Err(error(&rule.text, "no kernel's name matches"));
            }
        }
        let mut excesses = Vec::new();
        for used in &report.kernels {
            let rules = self.rules.iter().filter(|rule| rule.is_for(&used.kernel));
            let limits: BTreeMap<Figure, u64> = rules.flat_map(|rule| rule.figures.iter().copied()).collect();
            for (figure, limit) in limits {
                let Some(found) = figure.of(used) else { continue };
                let fits = if figure == Figure::Occupancy { found >= limit } else { found <= limit };
                if !fits {
                    let (module, kernel, target) =
                        (used.module.clone(), used.kernel.clone(), used.target.clone());
                    excesses.push(Excess { module, kernel, target, figure, limit, found });
                }
            }
        }
        Ok(excesses)
    }
}

impl Rule {
    fn is_for(&self, kernel: &str) -> bool {
        self.kernels.as_ref().is_none_or(|glob| glob.matches(kernel))
    }
}

fn error(text: &str, reason: impl Into<String>) -> ReportError {
    ReportError::Limit { text: text.to_owned(), reason: reason.into() }
}

fn rule(text: &str) -> Result<Rule, ReportError> {
    // Kernel names contain no colons and no equals signs.
    let (kernels, figures) = match text.rsplit_once(':') {
        Some((glob, figures)) => (Some(self::glob(text, glob.trim())?), figures),
        None => (None, text),
    };
    let figures = figures.split(',').map(|item| limit(text, item.trim())).collect::<Result<_, _>>()?;
    Ok(Rule { text: text.to_owned(), kernels, figures })
}

fn glob(text: &str, glob: &str) -> Result<Glob, ReportError> {
    if glob.is_empty() {
        return Err(error(text, "there is no pattern before the colon"));
    }
    if glob.contains('=') {
        return Err(error(
            text,
            "a limit has one pattern, at its start; write a separate limit for another pattern",
        ));
    }
    Glob::new(glob).map_err(|e| error(text, e.to_string()))
}

fn limit(text: &str, item: &str) -> Result<(Figure, u64), ReportError> {
    let Some((name, number)) = item.split_once('=').map(|(name, number)| (name.trim(), number.trim())) else {
        return Err(error(text, format!("`{item}` is not of the form figure=number")));
    };
    let Some(figure) = Figure::ALL.into_iter().find(|figure| figure.name() == name) else {
        let names = Figure::ALL.map(Figure::name).join(", ");
        return Err(error(text, format!("there is no figure `{name}`; the figures are {names}")));
    };
    let number = number.parse().map_err(|_| error(text, format!("`{number}` is not a whole number")))?;
    Ok((figure, number))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{report, used};
    use super::*;

    fn check(limits: &[&str]) -> Vec<String> {
        let mut spilled = used("b", "_Z4gemmPf", "gfx90a");
        (spilled.vgprs, spilled.vgpr_spills, spilled.sgpr_spills, spilled.occupancy) = (120, 1, 2, None);
        let report = report(vec![used("a", "fill", "gfx1100"), spilled]);
        let excesses = Limits::parse(limits).unwrap().check(&report).unwrap();
        excesses
            .iter()
            .map(|e| format!("{} {} {} > {}", e.kernel, e.figure.name(), e.found, e.limit))
            .collect()
    }

    fn problem(limit: &str) -> String {
        Limits::parse([limit])
            .and_then(|limits| limits.check(&report(vec![used("a", "fill", "gfx1100")])))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn limits_are_for_all_kernels_or_those_of_a_pattern() {
        assert_eq!(check(&[]), [""; 0]);
        assert_eq!(check(&["vgprs=64, spills=0"]), ["_Z4gemmPf vgprs 120 > 64", "_Z4gemmPf spills 3 > 0"]);
        assert_eq!(check(&["vgprs=120,spills=3,scratch=0,agprs=0,sgprs=20,lds=1024,code=1000"]), [""; 0]);
        assert_eq!(check(&["f*:vgprs=39"]), ["fill vgprs 40 > 39"]);
        assert_eq!(check(&["{fill,_Z4gemm*}:lds=0"]), ["fill lds 1024 > 0", "_Z4gemmPf lds 1024 > 0"]);
    }

    #[test]
    fn the_last_limit_of_a_figure_holds() {
        assert_eq!(check(&["vgprs=30,spills=9", "*gemm*:vgprs=128"]), ["fill vgprs 40 > 30"]);
        assert_eq!(check(&["*gemm*:vgprs=128", "vgprs=64"]), ["_Z4gemmPf vgprs 120 > 64"]);
    }

    #[test]
    fn occupancy_is_a_least_figure_and_may_be_unknown() {
        assert_eq!(check(&["occupancy=16"]), [""; 0]);
        assert_eq!(check(&["occupancy=17"]), ["fill occupancy 16 > 17"]);
    }

    #[test]
    fn bad_limits_say_what_would_be_right() {
        assert_eq!(
            problem("registers=64"),
            "the limit `registers=64`: there is no figure `registers`; the figures are code, vgprs, sgprs, agprs, lds, scratch, \
             spills, occupancy"
        );
        assert_eq!(problem("vgprs"), "the limit `vgprs`: `vgprs` is not of the form figure=number");
        for bad in ["", ",", "vgprs=1,", "fill:", "vgprs 64"] {
            assert!(problem(bad).ends_with("is not of the form figure=number"), "{bad}");
        }
        for bad in
            ["vgprs=", "vgprs=-1", "vgprs=1.5", "vgprs=many", "vgprs=99999999999999999999", "vgprs=1=2"]
        {
            assert!(problem(bad).ends_with("is not a whole number"), "{bad}");
        }
        assert_eq!(problem(":vgprs=1"), "the limit `:vgprs=1`: there is no pattern before the colon");
        assert!(problem("a[:vgprs=1").starts_with("the limit `a[:vgprs=1`: the pattern `a[`: "));
        assert!(problem("vgprs=1,f*:lds=2").contains("has one pattern, at its start"));
        assert_eq!(problem("nothing*:vgprs=1"), "the limit `nothing*:vgprs=1`: no kernel's name matches");
    }
}
