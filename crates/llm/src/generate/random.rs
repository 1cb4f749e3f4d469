//! Random numbers that depend on nothing but a seed and a position.

/// A number in [0, 1) for the token at a position of a result. Requests of one batch do not influence each
/// other.
pub(crate) fn uniform(seed: u64, position: u64) -> f64 {
    // SplitMix64, whose state is a counter.
    let mut bits = mixed(seed).wrapping_add(position.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = mixed(bits);
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

fn mixed(bits: u64) -> u64 {
    let mut z = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected: the published first outputs of SplitMix64 for the state 1234567.
    #[test]
    fn bits_are_those_of_splitmix64() {
        assert_eq!(mixed(1_234_567), 6_457_827_717_110_365_317);
        assert_eq!(mixed(1_234_567_u64.wrapping_add(0x9e37_79b9_7f4a_7c15)), 3_203_168_211_198_807_973);
    }

    #[test]
    fn numbers_are_spread_evenly() {
        for seed in 0..4 {
            let mut counts = [0; 10];
            for position in 0..10_000 {
                let x = uniform(seed, position);
                assert!((0.0..1.0).contains(&x));
                counts[(x * 10.0) as usize] += 1;
            }
            assert!(counts.iter().all(|count| (900..1100).contains(count)), "{counts:?}");
        }
        assert_ne!(uniform(0, 0), uniform(1, 0));
    }
}
