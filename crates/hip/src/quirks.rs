//! Known faults of AMD's HIP library, each with the public report that describes it.
//!
//! An entry lists the versions with reports. Other versions may have the fault, too.

use std::fmt;

use hip_sys::Version;

/// A fault's effect on a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Effect {
    /// Memory has wrong contents, or the process dies.
    Corruption,
    /// A call never returns.
    Hang,
    /// A call fails although it should succeed.
    Failure,
    /// Memory is never released.
    Leak,
}

/// A known fault of AMD's HIP library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quirk {
    /// The affected HIP functions.
    pub functions: &'static [&'static str],
    /// The first version (major, minor) with a report.
    pub from: (u32, u32),
    /// The first version that is reported to be fixed, if any.
    pub before: Option<(u32, u32)>,
    /// The processors with reports; empty if the fault does not depend on the processor.
    pub processors: &'static [&'static str],
    /// Its effect.
    pub effect: Effect,
    /// A short description.
    pub what: &'static str,
    /// The public report.
    pub report: &'static str,
}

impl Quirk {
    /// Whether a version of the library has it on a processor.
    fn concerns(&self, version: Version, processor: &str) -> bool {
        let version = (version.major, version.minor);
        version >= self.from
            && self.before.is_none_or(|before| version < before)
            && (self.processors.is_empty() || self.processors.contains(&processor))
    }

    /// Whether programs should not use the affected functions.
    pub(crate) fn is_grave(&self) -> bool {
        matches!(self.effect, Effect::Corruption | Effect::Hang)
    }
}

/// The description and the report.
impl fmt::Display for Quirk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.what, self.report)
    }
}

/// Functions that allocate and free in stream order.
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
        what: "memory that is freed on a different stream than it was allocated on is later zeroed while in use, unless the \
               pool's release threshold is raised; reported for gfx1030, with crashes on gfx1032 and gfx1201",
        report: "https://github.com/ROCm/rocm-systems/issues/10943",
    },
    Quirk {
        functions: STREAM_ORDERED,
        from: (7, 2),
        before: None,
        processors: &[],
        effect: Effect::Corruption,
        what: "an allocation that fails for lack of memory keeps the part that it got, and the process dies of a double free",
        report: "https://github.com/ROCm/rocm-systems/issues/11642",
    },
    Quirk {
        functions: STREAM_ORDERED,
        from: (7, 0),
        before: None,
        processors: &["gfx1100", "gfx1101"],
        effect: Effect::Corruption,
        what: "allocations crash, or fail as out of memory although there is enough",
        report: "https://github.com/ROCm/legacy-rocm-build/issues/6178",
    },
    Quirk {
        functions: &["hipMallocAsync"],
        from: (7, 2),
        before: None,
        processors: &[],
        effect: Effect::Failure,
        what: "allocations are refused while another stream captures, even in relaxed mode",
        report: "https://github.com/ROCm/legacy-rocm-build/issues/6681",
    },
    Quirk {
        functions: &["hipMallocAsync"],
        from: (6, 3),
        before: Some((7, 0)),
        processors: &[],
        effect: Effect::Failure,
        what: "allocations fail as out of memory where `hipMalloc` succeeds",
        report: "https://github.com/ROCm/hip/issues/3775",
    },
    Quirk {
        functions: &["hipFreeAsync"],
        from: (5, 6),
        before: Some((6, 1)),
        processors: &[],
        effect: Effect::Hang,
        what: "freeing on several threads hangs; reported for 5.6 to 6.0",
        report: "https://github.com/ROCm/hip/issues/3370",
    },
    Quirk {
        functions: &["hipMallocAsync", "hipFreeAsync"],
        from: (0, 0),
        before: Some((5, 6)),
        processors: &[],
        effect: Effect::Failure,
        what: "allocating 0 bytes and freeing a null pointer are errors; this crate does neither",
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
        what: "access to a part of a mapped range is refused unless its size is the total of the range's first few pieces, in an \
               unspecified order; this crate gives access to all of a buffer in one call",
        report: "https://github.com/ROCm/rocm-systems/issues/2516",
    },
    Quirk {
        functions: &["hipIpcGetEventHandle", "hipIpcOpenEventHandle"],
        from: (6, 3),
        before: Some((7, 2)),
        processors: &[],
        effect: Effect::Corruption,
        what: "events shared between processes are done as soon as they are recorded, whatever runs before them, so nothing waits for them",
        report: "https://github.com/ROCm/hip/issues/3778",
    },
    Quirk {
        functions: &["hipGraphNodeSetEnabled"],
        from: (7, 2),
        before: None,
        processors: &[],
        effect: Effect::Corruption,
        what: "enabling or disabling nodes after the executable graph has run has no effect",
        report: "https://github.com/ROCm/rocm-systems/pull/9063",
    },
    Quirk {
        functions: &[GRAPH_LAUNCH],
        from: (7, 2),
        before: None,
        processors: &[],
        effect: Effect::Corruption,
        what: "of the nodes without a predecessor, only the first waits for the stream's earlier work; this crate waits for the \
               stream before it launches a graph with several of them",
        report: "https://github.com/ferrocm/ferrocm/blob/main/docs/use/amd-hip.md#graphs-with-several-roots",
    },
    Quirk {
        functions: &["hipGraphKernelNodeSetAttribute"],
        from: (0, 0),
        before: None,
        processors: &[],
        effect: Effect::Failure,
        what: "every priority is refused",
        report: "https://github.com/ROCm/rocm-systems/pull/11278",
    },
];

/// The known faults of a version on a processor.
pub(crate) fn known(version: Version, processor: &str) -> impl Iterator<Item = &'static Quirk> {
    QUIRKS.iter().filter(move |quirk| quirk.concerns(version, processor))
}

/// The environment variable for known faults. With the value `ignore`, serious faults are only traced, like
/// all others, instead of refused.
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
