//! Programs of random instructions end or fault, and do not affect the process.

use std::collections::BTreeMap;

use vgpu::machine::{DispatchError, FaultKind};

use super::common::Random;
use super::random_program;

#[test]
fn random_programs_end_or_fault() {
    let count =
        std::env::var("FERROCM_RANDOM_PROGRAMS").ok().and_then(|text| text.parse().ok()).unwrap_or(2000);
    let mut seen = BTreeMap::<String, u32>::new();
    for seed in 0..count {
        let mut random = Random(seed);
        let length = 8 + 13 * (1 + random.next() as usize % 60);
        let bytes: Vec<u8> = (0..length).map(|_| (random.next() >> 40) as u8).collect();
        let what = match random_program::run(&bytes).expect("enough bytes") {
            Ok(()) => "ended".to_owned(),
            Err(DispatchError::Fault(fault)) => {
                assert!(!matches!(fault.kind, FaultKind::Internal { .. }), "seed {seed}: {fault}");
                let kind = format!("{:?}", fault.kind);
                kind.split([' ', '(']).next().unwrap_or_default().to_owned()
            }
            Err(other) => panic!("seed {seed}: not even started: {other}"),
        };
        *seen.entry(what).or_default() += 1;
    }
    println!("{seen:?}");
    // If all programs failed at once, the test would check nothing.
    assert!(seen["ended"] > count as u32 / 50 && seen.len() > 3, "{seen:?}");
}
