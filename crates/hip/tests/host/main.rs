//! Tests that open virtual devices by name, or need none: they are not about the device that `FERROCM_DEVICE` names.

#[cfg(feature = "virtual")]
mod checks;
#[path = "../common/mod.rs"]
mod common;
mod derive_hygiene;
mod examples;
#[cfg(feature = "virtual")]
mod module_bounds;
mod rtc_cache;
#[cfg(feature = "virtual")]
mod timeline;
#[cfg(feature = "virtual")]
mod variables;
