//! Known faults of AMD's HIP library, each with the public report that describes it.
//!
//! An entry says what was reported for the versions named there, not that other versions are free of it.

use std::fmt;

use hip_sys::Version;

/// What a fault does to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Effect {
    /// Memory holds something else than what was written, or the process dies.
    Corruption,
    /// A call never returns.
    Hang,
    /// A call fails that should not.
    Failure,
    /// Memory is never given back.
    Leak,
}

/// A known fault of AMD's HIP library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quirk {
    /// The HIP functions concerned.
    pub functions: &'static [&'static str],
    /// The first version (major, minor) that it was reported for.
    pub from: (u32, u32),
    /// The first version that is reported to be free of it, if one is.
    pub before: Option<(u32, u32)>,
    /// The processors that it was reported for; empty if it does not depend on the processor.
    pub processors: &'static [&'static str],
    /// What it does.
    pub effect: Effect,
    /// What happens, in a sentence.
    pub what: &'static str,
    /// The public report.
    pub report: &'static str,
}

impl Quirk {
    /// Whether it is to be expected of a version of the library on a processor.
    fn concerns(&self, version: Version, processor: &str) -> bool {
        let version = (version.major, version.minor);
        version >= self.from
            && self.before.is_none_or(|before| version < before)
            && (self.processors.is_empty() || self.processors.contains(&processor))
    }

    /// Whether a program should not use what it is about.
    pub(crate) fn is_grave(&self) -> bool {
        matches!(self.effect, Effect::Corruption | Effect::Hang)
    }
}

/// What happens, and where that is reported.
impl fmt::Display for Quirk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.what, self.report)
    }
}

/// Functions that allocate and free in a stream's order.
const STREAM_ORDERED: &[&str] = &["hipMallocAsync", "hipMallocFromPoolAsync", "hipFreeAsync"];

pub(crate) const GRAPH_LAUNCH: &str = "hipGraphLaunch";

/// All known faults.
pub static QUIRKS: &[Quirk] = &[
    Quirk {
        functions: STREAM_ORDERED,
        from: (7, 2),
        before: None,
        processors: &[],
        effect: Effect::Corruption,
        what: "memory that was freed on another stream than it was allocated on comes back zeroed while it is in use, unless the \
               pool's release threshold is raised; reported for gfx1030, with crashes on gfx1032 and gfx1201",
        report: "https://github.com/ROCm/rocm-systems/issues/10943",
    },
    Quirk {
        functions: STREAM_ORDERED,
        from: (7, 2),
        before: None,
        processors: &[],
        effect: Effect::Corruption,
        what: "an allocation that fails for lack of memory keeps what it had got, and the process dies of a double free",
        report: "https://github.com/ROCm/rocm-systems/issues/11642",
    },
    Quirk {
        functions: STREAM_ORDERED,
        from: (7, 0),
        before: None,
        processors: &["gfx1100", "gfx1101"],
        effect: Effect::Corruption,
        what: "allocations fail for lack of memory that there is, or crash",
        report: "https://github.com/ROCm/legacy-rocm-build/issues/6178",
    },
    Quirk {
        functions: &["hipMallocAsync"],
        from: (7, 2),
        before: None,
        processors: &[],
        effect: Effect::Failure,
        what: "allocations are refused while another stream captures, in the relaxed mode too",
        report: "https://github.com/ROCm/legacy-rocm-build/issues/6681",
    },
    Quirk {
        functions: &["hipMallocAsync"],
        from: (6, 3),
        before: Some((7, 0)),
        processors: &[],
        effect: Effect::Failure,
        what: "allocations fail for lack of memory where `hipMalloc` does not",
        report: "https://github.com/ROCm/hip/issues/3775",
    },
    Quirk {
        functions: &["hipFreeAsync"],
        from: (5, 6),
        before: Some((6, 1)),
        processors: &[],
        effect: Effect::Hang,
        what: "several threads that free hang; reported for 5.6 to 6.0",
        report: "https://github.com/ROCm/hip/issues/3370",
    },
    Quirk {
        functions: &["hipMallocAsync", "hipFreeAsync"],
        from: (0, 0),
        before: Some((5, 6)),
        processors: &[],
        effect: Effect::Failure,
        what: "allocating no bytes and freeing a null pointer are errors; this crate does neither",
        report: "https://github.com/alpaka-group/alpaka/pull/2197",
    },
    Quirk {
        functions: &["hipMemcpy"],
        from: (7, 1),
        before: None,
        processors: &[],
        effect: Effect::Leak,
        what: "synchronous copies between host and device leak host memory with each call; this crate copies asynchronously and waits",
        report: "https://github.com/ROCm/legacy-rocm-build/issues/5921",
    },
    Quirk {
        functions: &["hipMemSetAccess"],
        from: (7, 0),
        before: Some((7, 14)),
        processors: &[],
        effect: Effect::Failure,
        what: "a part of what is mapped in a range is refused unless it is as long as some of the first pieces together, counted in no \
               certain order; this crate gives access to all of a buffer in one call",
        report: "https://github.com/ROCm/rocm-systems/issues/2516",
    },
    Quirk {
        functions: &["hipIpcGetEventHandle", "hipIpcOpenEventHandle"],
        from: (6, 3),
        before: Some((7, 2)),
        processors: &[],
        effect: Effect::Corruption,
        what: "events of several processes are done as soon as they are recorded, whatever runs before them, and nothing waits for them",
        report: "https://github.com/ROCm/hip/issues/3778",
    },
    Quirk {
        functions: &["hipGraphNodeSetEnabled"],
        from: (7, 2),
        before: None,
        processors: &[],
        effect: Effect::Corruption,
        what: "nodes that are enabled or disabled after the executable graph has run go on as before",
        report: "https://github.com/ROCm/rocm-systems/pull/9063",
    },
    Quirk {
        functions: &[GRAPH_LAUNCH],
        from: (7, 2),
        before: None,
        processors: &[],
        effect: Effect::Corruption,
        what: "all nodes without a predecessor but the first do not wait for what the stream was given before; this crate waits for the \
               stream before it launches a graph with several of them",
        report: "https://github.com/ferrocm/ferrocm/blob/main/docs/use/amd-hip.md#graphs-with-several-roots",
    },
    Quirk {
        functions: &["hipGraphKernelNodeSetAttribute"],
        from: (0, 0),
        before: None,
        processors: &[],
        effect: Effect::Failure,
        what: "no priority is accepted, whichever it is",
        report: "https://github.com/ROCm/rocm-systems/pull/11278",
    },
];

/// The known faults of a version on a processor.
pub(crate) fn known(version: Version, processor: &str) -> impl Iterator<Item = &'static Quirk> {
    QUIRKS.iter().filter(move |quirk| quirk.concerns(version, processor))
}

/// Environment variable: `ignore` has grave known faults traced like all others, and no longer refused.
pub const KNOWN_FAULTS_VARIABLE: &str = variables::KNOWN_FAULTS.name;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_processors_decide() {
        let grave = |major, minor, processor: &str| {
            known(Version::new(major, minor, 1), processor)
                .filter(|quirk| quirk.functions.contains(&"hipMallocAsync") && quirk.is_grave())
                .count()
        };
        assert_eq!(grave(7, 2, "gfx942"), 2);
        assert_eq!(grave(7, 2, "gfx1100"), 3);
        assert_eq!(grave(7, 1, "gfx1100"), 1);
        assert_eq!(grave(6, 4, "gfx1100"), 0);
        assert_eq!(
            known(Version::new(6, 3, 3), "gfx90a")
                .filter(|quirk| quirk.functions == ["hipMallocAsync"])
                .count(),
            1
        );
        assert_eq!(
            known(Version::new(7, 0, 0), "gfx90a").filter(|quirk| quirk.functions == STREAM_ORDERED).count(),
            0
        );
        assert!(known(Version::new(5, 7, 1), "gfx90a").any(|quirk| quirk.effect == Effect::Hang));
    }

    #[test]
    fn each_entry_has_a_report_and_a_range() {
        for quirk in QUIRKS {
            assert!(quirk.report.starts_with("https://github.com/"), "{quirk}");
            assert!(quirk.before.is_none_or(|before| before > quirk.from), "{quirk}");
            assert!(!quirk.functions.is_empty() && !quirk.what.ends_with('.'));
            for function in quirk.functions {
                assert!(hip_sys::Table::symbols().any(|symbol| symbol == *function), "{function}");
            }
        }
    }
}
