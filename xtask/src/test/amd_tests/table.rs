//! AMD's test programs, how to run them, and their known failures.

use std::time::Duration;

use shared_commands::libraries::Own;

use super::data::Data;

/// Also runs tests that are disabled by their names.
pub(super) const WITH_DISABLED: &str = "--gtest_also_run_disabled_tests";
/// For programs whose list of tests depends on random numbers.
const SEED: &[&str] = &["--seed", "1"];
/// The reason for leaving out tests that exceed any limit.
const BEYOND_32_BITS: &str =
    "2³¹ elements and more: indices beyond 32 bits, and more work than a CPU does in the time of a test";
/// The reason for leaving out some of rocFFT's tests.
const LARGE_TRANSFORMS: &str = "transforms 25 million numbers or more: 20 GB of host memory, and more work than a CPU does in the time of a test";
/// The reason for leaving out two of rocBLAS's tests.
const LARGE_PRODUCTS: &str = "6 * 10¹⁰ multiplications: more work than a CPU does in the time of a test";
/// The default virtual GPUs for suites.
pub(super) const TARGETS: [&str; 2] = ["gfx1100", "gfx90a"];

/// The programs of one of AMD's test packages.
#[derive(Debug)]
pub(super) struct Suite {
    /// Its name, here and as an addition to a sysroot.
    pub(super) name: &'static str,
    /// The programs: all with this prefix.
    pub(super) programs: &'static str,
    /// Arguments before GoogleTest's.
    pub(super) arguments: &'static [&'static str],
    /// Environment variables.
    pub(super) variables: &'static [(&'static str, &'static str)],
    /// The folder to run in, inside that of the programs; `{target}` is the device's.
    pub(super) folder: &'static str,
    /// The part after the target in the device's URI.
    pub(super) device: &'static str,
    /// The maximum time of one test, in seconds.
    pub(super) seconds: u64,
    /// The maximum number of tests per process.
    pub(super) batch: usize,
    /// Whether a process continues after a failed test, for programs that take minutes to start. Otherwise
    /// that test is its last.
    pub(super) goes_on: bool,
    /// The tests, as a GoogleTest filter.
    pub(super) filter: &'static str,
    /// The number of tests to run of each group; `None` for all.
    pub(super) sample: Option<Sample>,
    /// The program's test descriptions, if reading them all takes long.
    pub(super) data: Option<Data>,
    /// Whether the programs need only HIP, so that they also run on this project's HIP.
    pub(super) only_hip: bool,
    /// Whether the programs use rocBLAS, so that they also run on this project's.
    pub(super) blas: bool,
    /// Whether the programs use RCCL, so that they also run on this project's.
    pub(super) rccl: bool,
    /// Tests that do not run, and why.
    pub(super) left_out: &'static [(&'static str, &'static str)],
}

/// A selection of tests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    /// The maximum number per group.
    pub(super) most: usize,
    /// The definition of a group.
    pub(super) groups: Groups,
}

/// How tests are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Groups {
    /// By GoogleTest's test suite, without the numbers of types and instances.
    Suite,
    /// By the names of suite and test, without the numbers of types, instances and parameters.
    Test,
}

impl Groups {
    /// The group of a test.
    pub(super) fn of(self, name: &str) -> String {
        let (suite, test) = name.split_once('.').unwrap_or((name, ""));
        match self {
            Groups::Suite => kind(suite),
            Groups::Test => format!("{}.{}", kind(suite), without_number(test)),
        }
    }
}

/// A suite without its numbers: `Id113/Sort/0` is one of many instances and types.
fn kind(suite: &str) -> String {
    let suite = without_number(suite);
    let (instance, rest) = suite.split_at(suite.find('/').unwrap_or(0));
    format!("{}{rest}", instance.trim_end_matches(|character: char| character.is_ascii_digit()))
}

/// A name without the number that follows its last slash.
fn without_number(name: &str) -> &str {
    let parts = name.rsplit_once('/').filter(|(_, last)| last.bytes().all(|byte| byte.is_ascii_digit()));
    parts.map_or(name, |(name, _)| name)
}

impl Suite {
    /// The time limit of a test.
    pub(super) fn limit(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

/// The defaults of most suites.
pub(super) const PLAIN: Suite = Suite {
    name: "",
    programs: "test_",
    arguments: &[],
    variables: &[],
    folder: "",
    device: "",
    seconds: 60,
    batch: 20,
    goes_on: false,
    filter: "*",
    sample: None,
    data: None,
    only_hip: true,
    blas: false,
    rccl: false,
    left_out: &[],
};

/// All of them.
pub(super) static SUITES: &[Suite] = &[
    Suite {
        name: "hipcub",
        seconds: 300,
        sample: Some(Sample { most: 1, groups: Groups::Test }),
        left_out: &[("*.LargeIndices*", BEYOND_32_BITS)],
        ..PLAIN
    },
    Suite {
        name: "hipfft",
        programs: "hipfft-test",
        arguments: SEED,
        sample: Some(Sample { most: 2, groups: Groups::Suite }),
        ..PLAIN
    },
    Suite { name: "hiprand", sample: Some(Sample { most: 2, groups: Groups::Suite }), ..PLAIN },
    Suite {
        name: "hipsolver",
        programs: "hipsolver-test",
        filter: "checkin_*",
        sample: Some(Sample { most: 2, groups: Groups::Suite }),
        ..PLAIN
    },
    Suite {
        name: "hipsparse",
        programs: "hipsparse-test",
        sample: Some(Sample { most: 2, groups: Groups::Suite }),
        batch: 100,
        ..PLAIN
    },
    Suite {
        name: "hsa",
        programs: "rocrtst64",
        // One test initialises the runtime two thousand million times.
        seconds: 300,
        arguments: &[WITH_DISABLED],
        folder: "{target}",
        batch: 1,
        only_hip: false,
        left_out: &[
            ("*.DISABLED_Memory_Async_Copy_NUMA", "copies between the memories of two NUMA nodes"),
            ("*.Memory_Async_Copy", "asks for the NUMA node of the GPU's place on the host's PCI bus"),
            (
                "*.Memory_Async_Copy_On_Engine",
                "asks for the NUMA node of the GPU's place on the host's PCI bus",
            ),
        ],
        ..PLAIN
    },
    Suite {
        name: "rccl",
        programs: "rccl-UnitTests",
        // By default, its tests of collectives run all combinations of sizes, types and numbers of GPUs.
        variables: &[("UT_MAX_GPUS", "2"), ("UT_DATATYPES", "ncclFloat32,ncclInt8"), ("UT_REDOPS", "sum")],
        device: "?count=2",
        seconds: 300,
        // A test takes half a minute: AMD's runtime unpacks the code objects of RCCL in each of its
        // processes.
        sample: Some(Sample { most: 2, groups: Groups::Suite }),
        batch: 1,
        rccl: true,
        ..PLAIN
    },
    Suite {
        name: "rocalution",
        programs: "rocalution-test",
        sample: Some(Sample { most: 4, groups: Groups::Suite }),
        ..PLAIN
    },
    Suite {
        name: "rocblas",
        programs: "rocblas-test",
        variables: &[("GTEST_LISTENER", "PASS_LINE_IN_LOG")],
        data: Some(Data {
            file: "usr/share/librocblas5-tests/data/rocblas_gtest.data",
            tier: "quick",
            most: 24,
        }),
        batch: 200,
        blas: true,
        left_out: &[
            ("*/quick_gemm_bf16_*_4096_4096_4096_*", LARGE_PRODUCTS),
            ("*/quick_gemm_bf16_*_3840_4096_4096_*", LARGE_PRODUCTS),
        ],
        ..PLAIN
    },
    Suite {
        name: "rocfft",
        programs: "rocfft-test",
        // One has fifty streams, which takes most of a minute on a busy machine.
        seconds: 300,
        arguments: SEED,
        sample: Some(Sample { most: 3, groups: Groups::Suite }),
        left_out: &[
            ("adhoc_dist/*_len_25165813_*", LARGE_TRANSFORMS),
            ("adhoc_token/*_len_630_38_*_batch_65540_*", LARGE_TRANSFORMS),
            ("adhoc_token/*_len_660_*_batch_435600_*", LARGE_TRANSFORMS),
        ],
        ..PLAIN
    },
    Suite {
        name: "rocprim",
        seconds: 300,
        // All 10,581 take many hours.
        sample: Some(Sample { most: 1, groups: Groups::Test }),
        left_out: &[
            ("*.GraphReduceByKey", BEYOND_32_BITS),
            ("*.LargeIndices*", BEYOND_32_BITS),
            ("*.LargeInput*", BEYOND_32_BITS),
            ("*.LargeSegmentCount*", BEYOND_32_BITS),
            ("*.SortKeysLargeSizes", BEYOND_32_BITS),
            ("*.SortKeysOver4G*", BEYOND_32_BITS),
        ],
        ..PLAIN
    },
    Suite {
        name: "rocrand",
        seconds: 120,
        // All 3,000 take hours on a small machine.
        sample: Some(Sample { most: 3, groups: Groups::Suite }),
        left_out: &[(
            "mt19937_generator*",
            "each test jumps all of MT19937's generators ahead, which takes a CPU several minutes",
        )],
        ..PLAIN
    },
    Suite {
        name: "rocsolver",
        programs: "rocsolver-test",
        filter: "checkin_*",
        sample: Some(Sample { most: 2, groups: Groups::Suite }),
        ..PLAIN
    },
    Suite {
        name: "rocsparse",
        programs: "rocsparse-test",
        filter: "quick/*",
        sample: Some(Sample { most: 2, groups: Groups::Suite }),
        // Reading its data takes a while.
        batch: 300,
        goes_on: true,
        ..PLAIN
    },
    Suite {
        name: "rocwmma",
        programs: "",
        seconds: 300,
        sample: Some(Sample { most: 2, groups: Groups::Suite }),
        ..PLAIN
    },
];

/// A known failure.
#[derive(Debug)]
pub(super) struct Expected {
    /// The suite.
    pub(super) suite: &'static str,
    /// The tests, with `*` for anything.
    pub(super) tests: &'static str,
    /// The target, or `*`.
    pub(super) target: &'static str,
    /// The libraries of this project that it needs; none if it fails with any libraries.
    pub(super) own: Own,
    /// Why.
    pub(super) reason: &'static str,
}

/// A known failure of rocBLAS's tests on this project's rocBLAS.
const fn of_our_blas(tests: &'static str, reason: &'static str) -> Expected {
    Expected { suite: "rocblas", tests, target: "*", own: Own { blas: true, ..Own::NONE }, reason }
}

/// All of them.
pub(super) static EXPECTED: &[Expected] = &[
    Expected {
        suite: "hsa",
        tests: "*.DISABLED_Aql_Barrier_Bit_*",
        target: "*",
        own: Own::NONE,
        reason: "the test's last packet carries the completion signal of a kernel that must not complete, and never sets the barrier bit",
    },
    Expected {
        suite: "hsa",
        tests: "*.DISABLED_CU_Masking",
        target: "gfx1100",
        own: Own::NONE,
        reason: "chooses single compute units; the driver refuses that from gfx10 on, where two are one workgroup processor",
    },
    of_our_blas("_/check_numerics_*", "there is no mode that looks for NaN and infinities"),
    of_our_blas("_/logging.*", "nothing is logged"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rocm::additions;

    #[test]
    fn every_suite_is_an_addition_of_the_newest_release() {
        assert!(SUITES.is_sorted_by(|a, b| a.name < b.name));
        for suite in SUITES {
            assert!(additions::of("7.2").any(|addition| addition.name == suite.name), "{}", suite.name);
            assert!(suite.batch > 0 && suite.seconds > 0);
        }
        for known in EXPECTED {
            assert!(SUITES.iter().any(|suite| suite.name == known.suite), "{known:?}");
            assert!(!known.reason.is_empty());
        }
    }

    #[test]
    fn tests_are_grouped_without_the_numbers_of_instances_types_and_parameters() {
        assert_eq!(Groups::Suite.of("A/b.c/0"), "A/b");
        assert_eq!(Groups::Test.of("A/b/12.c/0"), "A/b.c");
        assert_eq!(Groups::Test.of("A/b.c/x1"), "A/b.c/x1");
        assert_eq!(Groups::Test.of("Id7/b/12.c/0"), Groups::Test.of("Id13/b/3.c/0"));
        assert_eq!(Groups::Test.of("b/12.c"), Groups::Test.of("b/3.c"));
        assert_ne!(Groups::Test.of("b.c"), Groups::Test.of("b.d"));
    }
}
