//! The order of the crate's modules.

/// The lowest first. Modules in one row may use each other.
const LAYERS: &[&[&str]] = &[
    &["address", "current", "live", "quirks", "report", "roctx", "timeline"],
    &["error"],
    &["call", "threads", "uri"],
    &["backend"],
    // A buffer refers to the streams that use it, a stream to the graph that it is captured into, and a graph
    // to the resources of its nodes.
    &[
        "completion",
        "device",
        "event",
        "function",
        "global",
        "graph",
        "kernel_info",
        "launch",
        "memory",
        "module",
        "stream",
        "usage",
    ],
    &["ipc", "lazy", "metrics", "rtc"],
    &["docs"],
];

#[test]
#[cfg_attr(miri, ignore = "reads all sources")]
fn no_module_uses_a_higher_one() {
    layers_test::check_modules(env!("CARGO_MANIFEST_DIR"), LAYERS);
}
