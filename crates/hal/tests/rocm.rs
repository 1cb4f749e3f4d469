//! What this crate can do with AMD's own HSA library without a GPU, release by release, in a sysroot;
//! `cargo xtask test rocm` runs this.
//!
//! A row works, is *expected to fail* on a machine without a GPU, or is *not supported for good*: that
//! release's library will never have it. A row that does otherwise fails the test, also if it does better.

use std::path::PathBuf;

use hal::{Driver, Error};
use hsa_sys::{Table, hsa_status_t};
use test_support::sysroot::Sysroot;

/// Releases whose library has what came later than the oldest.
const SINCE_5_7: &[&str] = &["5.7", "6.4", "7.2"];
const ALL: &[&str] = &["5.2", "5.7", "6.4", "7.2"];

/// What a row does on a release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Expected {
    Works,
    /// Without a GPU, with this error.
    FailsWithoutGpu(&'static str),
    /// And never will be.
    NotSupported,
}

/// AMD's library of a release.
struct Amd {
    file: PathBuf,
    table: &'static Table,
}

/// What a row has done: nothing if it works.
#[derive(PartialEq, Eq, Debug)]
enum Found {
    Works,
    Fails(String),
    /// The library lacks these functions.
    Lacks(Vec<&'static str>),
}

struct Row {
    what: &'static str,
    run: fn(&Amd) -> Found,
    expected: fn(release: &str) -> Expected,
}

const NO_GPU: &str = "hsa_init: HSA_STATUS_ERROR_OUT_OF_RESOURCES";

fn always(_: &str) -> Expected {
    Expected::Works
}

fn without_gpu(_: &str) -> Expected {
    Expected::FailsWithoutGpu(NO_GPU)
}

fn since_5_7(release: &str) -> Expected {
    if SINCE_5_7.contains(&release) { Expected::Works } else { Expected::NotSupported }
}

fn never(_: &str) -> Expected {
    Expected::NotSupported
}

fn started(driver: Result<Driver, Error>) -> Found {
    match driver {
        Ok(driver) if driver.topology().cpus.is_empty() => Found::Fails("there is no CPU agent".to_owned()),
        Ok(_) => Found::Works,
        Err(error) => Found::Fails(error.to_string()),
    }
}

fn load_from(places: &[PathBuf]) -> Result<Driver, Error> {
    // SAFETY: the file of the sysroot is AMD's library, and the other places are not there.
    unsafe { Driver::load_from(places) }
}

fn has(amd: &Amd, names: &[&'static str]) -> Found {
    let lacks: Vec<_> = names.iter().copied().filter(|name| !amd.table.has(name)).collect();
    if lacks.is_empty() { Found::Works } else { Found::Lacks(lacks) }
}

const NOWHERE: &str = "/no/such/folder/libhsa-runtime64.so.1";

const ROWS: &[Row] = &[
    Row {
        what: "a library that is not there is an error that says where it was looked for",
        run: |_| match load_from(&[NOWHERE.into()]) {
            Ok(_) => Found::Fails("something was loaded".to_owned()),
            Err(error) if error.to_string().contains(NOWHERE) => Found::Works,
            Err(error) => Found::Fails(error.to_string()),
        },
        expected: always,
    },
    Row { what: "the library that is found starts", run: |_| started(Driver::load()), expected: without_gpu },
    Row {
        what: "the library of a file starts",
        run: |amd| started(load_from(std::slice::from_ref(&amd.file))),
        expected: without_gpu,
    },
    Row {
        what: "the library of a folder starts, the second place that is named",
        run: |amd| {
            let folder = amd.file.parent().map(PathBuf::from).unwrap_or_default();
            started(load_from(&[NOWHERE.into(), folder]))
        },
        expected: without_gpu,
    },
    Row {
        what: "the library starts again after it could not",
        run: |amd| {
            let _ = started(load_from(std::slice::from_ref(&amd.file)));
            started(load_from(std::slice::from_ref(&amd.file)))
        },
        expected: without_gpu,
    },
    Row {
        what: "functions for topology",
        run: |amd| {
            has(
                amd,
                &[
                    "hsa_init",
                    "hsa_shut_down",
                    "hsa_system_get_info",
                    "hsa_iterate_agents",
                    "hsa_agent_get_info",
                    "hsa_agent_iterate_isas",
                    "hsa_isa_get_info_alt",
                    "hsa_amd_agent_memory_pool_get_info",
                ],
            )
        },
        expected: always,
    },
    Row {
        what: "functions for memory",
        run: |amd| {
            has(
                amd,
                &[
                    "hsa_amd_agent_iterate_memory_pools",
                    "hsa_amd_memory_pool_get_info",
                    "hsa_amd_memory_pool_allocate",
                    "hsa_amd_memory_pool_free",
                    "hsa_amd_agents_allow_access",
                    "hsa_memory_copy",
                ],
            )
        },
        expected: always,
    },
    Row {
        what: "functions for imports",
        run: |amd| {
            has(amd, &["hsa_amd_memory_lock_to_pool", "hsa_amd_memory_unlock", "hsa_amd_pointer_info"])
        },
        expected: always,
    },
    Row {
        what: "functions for rings that are mapped twice",
        run: |amd| {
            has(
                amd,
                &[
                    "hsa_amd_vmem_address_reserve",
                    "hsa_amd_vmem_address_free",
                    "hsa_amd_vmem_handle_create",
                    "hsa_amd_vmem_handle_release",
                    "hsa_amd_vmem_map",
                    "hsa_amd_vmem_unmap",
                    "hsa_amd_vmem_set_access",
                ],
            )
        },
        expected: since_5_7,
    },
    Row {
        what: "functions for code",
        run: |amd| {
            has(
                amd,
                &[
                    "hsa_code_object_reader_create_from_memory",
                    "hsa_code_object_reader_destroy",
                    "hsa_executable_create_alt",
                    "hsa_executable_load_agent_code_object",
                    "hsa_executable_freeze",
                    "hsa_executable_symbol_get_info",
                    "hsa_executable_destroy",
                ],
            )
        },
        expected: always,
    },
    Row {
        what: "functions for queues and semaphores",
        run: |amd| {
            has(
                amd,
                &[
                    "hsa_queue_create",
                    "hsa_queue_destroy",
                    "hsa_queue_inactivate",
                    "hsa_queue_add_write_index_screlease",
                    "hsa_queue_load_read_index_scacquire",
                    "hsa_signal_create",
                    "hsa_signal_destroy",
                    "hsa_signal_load_scacquire",
                    "hsa_signal_store_screlease",
                    "hsa_signal_wait_scacquire",
                    "hsa_amd_signal_async_handler",
                ],
            )
        },
        expected: always,
    },
    Row {
        what: "functions for the times of profiles",
        run: |amd| {
            has(amd, &["hsa_amd_profiling_set_profiler_enabled", "hsa_amd_profiling_get_dispatch_time"])
        },
        expected: always,
    },
    Row {
        what: "counters of kernels",
        run: |amd| match amd.table.ext.queue_take_counters {
            Some(_) => Found::Works,
            None => Found::Lacks(vec!["the extension `queue_take_counters`"]),
        },
        expected: never,
    },
    Row {
        what: "the report of a fault",
        run: |amd| match amd.table.ext.queue_fault_report {
            Some(_) => Found::Works,
            None => Found::Lacks(vec!["the extension `queue_fault_report`"]),
        },
        expected: never,
    },
];

#[test]
fn every_row_does_what_is_expected_of_the_release() {
    let Some(sysroot) = Sysroot::find() else { return };
    let releases: Vec<(&str, ())> = ALL.iter().map(|release| (*release, ())).collect();
    if sysroot.pick("HSA", &releases).is_none() {
        return;
    }
    let release = sysroot.release.as_str();
    let table = Table::load().unwrap();
    let amd = Amd { file: table.path().unwrap().to_owned(), table };
    assert!(sysroot.holds(&amd.file), "{}", amd.file.display());
    let is_without_gpu = sysroot.is_without_gpu();
    let mut wrong = Vec::new();
    for Row { what, run, expected } in ROWS {
        let (found, expected) = ((run)(&amd), expected(release));
        println!("{release}: {what}: {found:?}");
        let is_right = match (&expected, &found) {
            (Expected::Works, Found::Works) => true,
            (Expected::FailsWithoutGpu(error), Found::Fails(said)) => is_without_gpu && said.contains(error),
            (Expected::FailsWithoutGpu(_), Found::Works) => !is_without_gpu,
            (Expected::NotSupported, Found::Lacks(_)) => true,
            _ => false,
        };
        if !is_right {
            wrong.push(format!("{what}: expected {expected:?}, found {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "on ROCm {release}:\n{}", wrong.join("\n"));
}

/// A function that a release lacks is a stub that says so, and no crash.
#[test]
fn what_is_not_supported_says_so() {
    let Some(sysroot) = Sysroot::find() else { return };
    if since_5_7(&sysroot.release) != Expected::NotSupported {
        return;
    }
    let table = Table::load().unwrap();
    // SAFETY: a stub reads none of its arguments.
    let status = unsafe { (table.hsa_amd_vmem_unmap)(std::ptr::null_mut(), 0) };
    assert_eq!(status, hsa_status_t::HSA_STATUS_ERROR_NOT_SUPPORTED);
}
