//! What money, power and carbon are computed with where nobody says otherwise.
//!
//! Each default is a row with where it comes from and when. Prices change within weeks: a comparison that matters is made with one's own.

use serde::Serialize;

/// A number that a comparison assumes, and where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assumption {
    /// The number.
    pub value: f64,
    /// Who says so, and when.
    pub source: String,
}

impl Assumption {
    /// A number that whoever compares has given.
    pub fn given(value: f64) -> Self {
        Self { value, source: "given".to_owned() }
    }
}

/// Power of the site divided by power of its machines.
pub fn pue() -> Assumption {
    Assumption {
        value: 1.56,
        source: "Uptime Institute, Global Data Center Survey 2024: average of the sites surveyed".to_owned(),
    }
}

/// Grams of CO₂ equivalent for a kWh of electricity.
pub fn carbon() -> Assumption {
    Assumption {
        value: 481.0,
        source: "Ember, July 2024: average of the world's power generation in 2023".to_owned(),
    }
}

/// The price of a GPU for an hour in USD.
pub fn price(product: &str) -> Option<Assumption> {
    let row = PRICES.iter().find(|row| row.product == product)?;
    Some(Assumption { value: row.dollars, source: row.source.to_owned() })
}

struct Price {
    /// The row of [`crate::peaks`] that it is for.
    product: &'static str,
    dollars: f64,
    source: &'static str,
}

const RUNPOD: &str = "RunPod, lowest listed rate, March 2026";

/// List prices of one GPU for one hour. A product without a row has no default: providers list it by negotiation only.
#[rustfmt::skip]
static PRICES: &[Price] = &[
    Price { product: "MI325X", dollars: 1.95, source: "TensorWave, listed rate, May 2026" },
    Price { product: "MI300X", dollars: 1.85, source: "Vultr, listed rate, May 2026" },
    Price { product: "B200", dollars: 5.98, source: RUNPOD },
    Price { product: "H200 SXM", dollars: 3.59, source: RUNPOD },
    Price { product: "H100 SXM", dollars: 2.69, source: RUNPOD },
    Price { product: "H100 PCIe", dollars: 1.99, source: RUNPOD },
    Price { product: "A100 SXM 80 GB", dollars: 1.39, source: RUNPOD },
    Price { product: "A100 PCIe 80 GB", dollars: 1.19, source: RUNPOD },
    Price { product: "L40S", dollars: 0.79, source: RUNPOD },
    Price { product: "L4", dollars: 0.44, source: RUNPOD },
    Price { product: "RTX 5090", dollars: 0.69, source: RUNPOD },
    Price { product: "RTX 4090", dollars: 0.34, source: RUNPOD },
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
        assert_eq!(price("MI100"), None);
        assert_eq!(price("MI300X").map(|price| price.value), Some(1.85));
    }
}
