//! Tests that open virtual devices by name, or need none. They do not use the device that `FERROCM_DEVICE`
//! names.

#[cfg(all(feature = "rtc", feature = "virtual"))]
mod checks;
#[path = "../common/mod.rs"]
mod common;
mod derive_hygiene;
#[cfg(feature = "rtc")]
mod examples;
#[cfg(feature = "virtual")]
mod module_bounds;
#[cfg(feature = "rtc")]
mod nvrtc;
#[cfg(feature = "rtc")]
mod rtc_cache;
#[cfg(all(feature = "rtc", feature = "virtual"))]
mod timeline;
#[cfg(feature = "virtual")]
mod variables;
