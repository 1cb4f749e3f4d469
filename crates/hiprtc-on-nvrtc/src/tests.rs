//! The order of the crate's modules, and its table of results.

use cuda_sys::nvrtc::nvrtcResult;
use hip_sys::rtc::hiprtcResult;

use crate::error::{name, translate};

/// The lowest first. Those of one row know each other.
const LAYERS: &[&[&str]] = &[&["error", "includes", "option"], &["runtime"], &["calls"]];

#[test]
fn no_module_uses_a_higher_one() {
    layers_test::check_modules(env!("CARGO_MANIFEST_DIR"), LAYERS);
}

#[test]
fn results_are_translated_and_have_names() {
    assert_eq!(translate(nvrtcResult::NVRTC_SUCCESS), hiprtcResult::HIPRTC_SUCCESS);
    assert_eq!(translate(nvrtcResult::NVRTC_ERROR_COMPILATION), hiprtcResult::HIPRTC_ERROR_COMPILATION);
    assert_eq!(translate(nvrtcResult(4711)), hiprtcResult::HIPRTC_ERROR_INTERNAL_ERROR);
    assert_eq!(name(hiprtcResult::HIPRTC_ERROR_LINKING), c"HIPRTC_ERROR_LINKING");
    assert_eq!(name(hiprtcResult(4711)), c"Invalid HIPRTC error code");
}
