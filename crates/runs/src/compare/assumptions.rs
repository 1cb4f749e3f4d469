//! Default assumptions for money, power and carbon.
//!
//! Each default is a row with its source and date. Prices change within weeks: use your own for a comparison
//! that matters.

use serde::Serialize;

/// A number that a comparison assumes, and its source.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assumption {
    /// The number.
    pub value: f64,
    /// The source, with its date.
    pub source: String,
    /// Whether it is an upper limit.
    #[serde(skip)]
    pub is_limit: bool,
}

impl Assumption {
    /// A number with its source and date.
    pub fn of(value: f64, source: impl Into<String>) -> Self {
        Self { value, source: source.into(), is_limit: false }
    }

    /// An upper limit of a number.
    pub(super) fn limit(value: f64, source: impl Into<String>) -> Self {
        Self { is_limit: true, ..Self::of(value, source) }
    }

    /// A number that the user has given.
    pub fn given(value: f64) -> Self {
        Self::of(value, "given")
    }
}

/// Power of the site divided by power of its machines.
pub fn pue() -> Assumption {
    Assumption::of(1.56, "Uptime Institute, Global Data Center Survey 2024: average of the sites surveyed")
}

/// Grams of CO₂ equivalent per kWh of electricity.
pub fn carbon() -> Assumption {
    Assumption::of(481.0, "Ember, July 2024: average of the world's power generation in 2023")
}

/// The price of a GPU per hour in USD.
pub fn price(product: &str) -> Option<Assumption> {
    let row = PRICES.iter().find(|row| row.product == product)?;
    Some(Assumption::of(row.dollars, row.source))
}

struct Price {
    /// The row of [`crate::peaks`] that it applies to.
    product: &'static str,
    dollars: f64,
    source: &'static str,
}

const RUNPOD: &str =
    "RunPod Secure Cloud, on demand, runpod.io/pricing on 9 November 2026 as others transcribed it";

/// List prices per GPU and hour, all from one provider and one kind of offer, so that they can be compared.
/// Two independent transcriptions of the provider's page agree on them. A product without a row has no
/// default: its price is an input.
#[rustfmt::skip]
static PRICES: &[Price] = &[
    Price { product: "H100 SXM", dollars: 3.99, source: RUNPOD },
    Price { product: "H100 PCIe", dollars: 2.89, source: RUNPOD },
    Price { product: "A100 SXM 80 GB", dollars: 1.79, source: RUNPOD },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peaks::PEAKS;

    #[test]
    fn every_price_is_of_a_gpu_that_is_known_and_every_source_has_a_year() {
        for row in PRICES {
            assert!(PEAKS.iter().any(|peak| peak.product == row.product), "{}", row.product);
            assert!(row.source.contains("20"), "{}", row.source);
        }
        assert!(pue().source.contains("2024") && carbon().source.contains("2024"));
        // Their listed prices are from other providers.
        assert_eq!((price("MI100"), price("MI300X")), (None, None));
        assert_eq!(price("H100 SXM").map(|price| price.value), Some(3.99));
        assert!(PRICES.iter().all(|row| row.source == PRICES[0].source));
    }
}
