//! Student's t distribution.

/// The value below which Student's t lies with the given probability.
///
/// # Panics
/// If the probability is not between 0.5 and 1, or there is no degree of freedom.
#[must_use]
pub fn quantile(probability: f64, degrees: usize) -> f64 {
    assert!((0.5..1.0).contains(&probability) && degrees > 0, "no quantile");
    let (mut low, mut high) = (0.0, 1.0);
    while cumulative(high, degrees) < probability {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if cumulative(middle, degrees) < probability { low = middle } else { high = middle }
    }
    high
}

/// The probability that t is at most `t`, which is not negative. For whole degrees of freedom it is a finite
/// sum of powers of a cosine (Abramowitz and Stegun, 26.7.3 and 26.7.4).
fn cumulative(t: f64, degrees: usize) -> f64 {
    let n = degrees as f64;
    let angle = (t / n.sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    // The terms of the sum: each is the previous one times (k - 1) / k times the squared cosine.
    let sum = |first: f64, from: usize| {
        let mut term = first;
        let mut sum = 0.0;
        for k in (from..=degrees - 2).step_by(2) {
            sum += term;
            term *= cosine * cosine * (k as f64) / (k as f64 + 1.0);
        }
        sum + term
    };
    let two_sided = match (degrees, degrees % 2) {
        (1, _) => angle * std::f64::consts::FRAC_2_PI,
        (_, 1) => std::f64::consts::FRAC_2_PI * (angle + sine * sum(cosine, 2)),
        (2, _) => sine,
        _ => sine * sum(1.0, 1),
    };
    f64::midpoint(1.0, two_sided)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the tables of the NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
    #[test]
    fn quantiles_are_those_of_published_tables() {
        for (degrees, at_95, at_975, at_995) in [
            (1, 6.314, 12.706, 63.657),
            (2, 2.920, 4.303, 9.925),
            (3, 2.353, 3.182, 5.841),
            (4, 2.132, 2.776, 4.604),
            (5, 2.015, 2.571, 4.032),
            (8, 1.860, 2.306, 3.355),
            (9, 1.833, 2.262, 3.250),
            (10, 1.812, 2.228, 3.169),
            (19, 1.729, 2.093, 2.861),
            (30, 1.697, 2.042, 2.750),
            (99, 1.660, 1.984, 2.626),
            (100, 1.660, 1.984, 2.626),
        ] {
            for (probability, expected) in [(0.95, at_95), (0.975, at_975), (0.995, at_995)] {
                let found = quantile(probability, degrees);
                assert!(
                    (found - expected).abs() < 6e-4,
                    "{found} of {degrees} degrees at {probability}, not {expected}"
                );
            }
        }
        assert!((quantile(0.975, 100_000) - 1.959_988).abs() < 1e-4);
    }
}
