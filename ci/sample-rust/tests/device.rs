//! Tests on the device that FERROCM_DEVICE names.

use sample_rust::{scale, sum};

#[test]
fn elements_are_multiplied() {
    let mut values: Vec<f32> = (0..1000u16).map(f32::from).collect();
    scale(&mut values, 2.0).expect("HIP");
    assert!(values.iter().zip(0..1000u16).all(|(value, i)| *value == 2.0 * f32::from(i)));
}

#[test]
fn sums_of_whole_numbers_are_exact() {
    let values: Vec<f32> = (1..=4000u16).map(f32::from).collect();
    assert_eq!(sum(&values), Ok(8_002_000.0));
}

#[test]
fn an_empty_slice_has_no_memory_on_the_device() {
    assert_eq!(sum(&[]), Ok(0.0));
}
