//! Finds the end of warm-up from the times alone.

use super::median;

/// The number of consecutive steps that must be steady.
const RUN: usize = 5;

/// Steps before the times become steady: the change-point between warm-up and the rest.
///
/// The steady level is the median of the second half, and its spread the median distance from it (× 1.4826,
/// which makes it a standard deviation if the times are normal). A step is slow if it is above the level by
/// more than five such deviations and more than a tenth of the level. Warm-up ends where five steps in a row
/// are not slow (half of all steps, if there are fewer than ten). A later slow step or a slow drift does not
/// move that place, as it would with means or least squares.
///
/// Never more than half of the steps: if the times do not become steady there, the result is `None`.
#[must_use]
pub fn steady_from(times: &[f64]) -> Option<usize> {
    let second_half = &times[times.len() / 2..];
    let level = median(second_half)?;
    let distances: Vec<f64> = second_half.iter().map(|seconds| (seconds - level).abs()).collect();
    let deviation = 1.4826 * median(&distances)?;
    let limit = level + (5.0 * deviation).max(0.1 * level);
    let run = RUN.min(times.len().div_ceil(2));
    (0..=times.len() / 2).find(|&start| times[start..].iter().take(run).all(|seconds| *seconds <= limit))
}

/// The steps that `--warmup steady` leaves out, and the rule as text: the steps before the times become
/// steady, and at least the first one, in which the program starts. If the times do not become steady in the
/// first half, only the first step is left out.
#[must_use]
pub fn warmup_until_steady(times: &[f64]) -> (usize, &'static str) {
    let most = times.len().saturating_sub(1);
    match steady_from(times) {
        Some(steps) => (steps.max(1).min(most), STEADY_RULE),
        None => (1.min(most), NEVER),
    }
}

const NEVER: &str = "the first step: the times do not become steady within the first half";
const STEADY_RULE: &str = "until the times are steady, and at least the first step";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warm_up_has_a_step_at_least_and_leaves_one() {
        for (times, left_out) in [
            (vec![36.9, 18.0, 16.5, 11.9, 3.3, 3.3, 3.2, 3.4, 3.3, 3.2], 4),
            (vec![22.8, 2.7, 2.5, 2.5, 2.5, 2.4, 2.4, 2.4], 2),
            // A slow step among the first ones extends warm-up; a later one does not.
            (vec![9.0, 1.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 9.0, 1.0], 3),
            (vec![1.0; 8], 1),
            (vec![5.0], 0),
            (vec![], 0),
        ] {
            assert_eq!(
                warmup_until_steady(&times),
                (left_out, if times.is_empty() { NEVER } else { STEADY_RULE }),
                "{times:?}"
            );
        }
        let halving: Vec<f64> = (0..20).map(|step| 2_f64.powi(-step)).collect();
        assert_eq!(warmup_until_steady(&halving), (1, NEVER));
    }

    #[test]
    fn warmup_ends_where_times_become_steady() {
        let noise = |step: usize| 1.0 + 0.01 * ((step * 7919 % 13) as f64 - 6.0) / 6.0;
        let mut times: Vec<f64> = (0..200).map(noise).collect();
        assert_eq!(steady_from(&times), Some(0));
        for (step, factor) in [(0, 9.0), (1, 4.0), (2, 1.0), (3, 1.5)] {
            times[step] *= factor;
        }
        assert_eq!(steady_from(&times), Some(4));
        // A later spike, as from a checkpoint, is not warm-up.
        times[60] *= 20.0;
        assert_eq!(steady_from(&times), Some(4));
        // A drift of a few percent is not warm-up, either.
        for (step, seconds) in times.iter_mut().enumerate() {
            *seconds *= 1.05 - 0.05 * step as f64 / 200.0;
        }
        assert_eq!(steady_from(&times), Some(4));
    }

    #[test]
    fn few_steps_and_steps_that_never_are_steady_have_their_answers() {
        assert_eq!(steady_from(&[]), None);
        assert_eq!(steady_from(&[3.0]), Some(0));
        assert_eq!(steady_from(&[9.0, 1.0]), Some(1));
        assert_eq!(steady_from(&[9.0, 1.0, 1.0, 1.0]), Some(1));
        let halving: Vec<f64> = (0..20).map(|step| 2_f64.powi(-step)).collect();
        assert_eq!(steady_from(&halving), None);
    }
}
