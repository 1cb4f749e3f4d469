//! The measurements.

use std::error::Error;
use std::ffi::{c_int, c_uint, c_void};
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use hip_sys::{Table, hipDeviceptr_t, hipError_t, hipPointer_attribute};

use crate::load;

/// The library that the program is linked to.
const LIBRARY: &str = env!("SYS_CALL_LIBRARY");
/// Calls that are timed together.
const CALLS: u32 = 10_000;
/// As `CALLS`, for calls that are about twenty times slower.
const LOOK_UPS: u32 = 1_000;
/// How often each is timed. All are timed in turn, so that a change of the clock affects all of them.
const REPEATS: usize = 501;

unsafe extern "C" {
    fn hipGetLastError() -> hipError_t;
    fn hipRuntimeGetVersion(version: *mut c_int) -> hipError_t;
    fn hipPointerGetAttribute(
        data: *mut c_void,
        attribute: hipPointer_attribute,
        pointer: hipDeviceptr_t,
    ) -> hipError_t;
}

/// A way to call a function: times this many calls.
type Way<'a> = (&'static str, u32, Box<dyn FnMut(u32) -> Duration + 'a>);

/// Times `calls` runs of a call, a multiple of eight: eight in a row, so that the alignment of the loop
/// matters little.
#[inline(always)]
fn time(calls: u32, mut call: impl FnMut() -> hipError_t) -> Duration {
    let start = Instant::now();
    for _ in 0..calls / 8 {
        _ = black_box(call());
        _ = black_box(call());
        _ = black_box(call());
        _ = black_box(call());
        _ = black_box(call());
        _ = black_box(call());
        _ = black_box(call());
        _ = black_box(call());
    }
    start.elapsed()
}

/// Reads a pointer from the table each time. Otherwise the compiler would move the read out of the loop,
/// which it cannot do in a program with occasional calls.
#[inline(always)]
fn read<F: Copy>(field: &F) -> F {
    // SAFETY: a reference is valid for reads, including volatile ones.
    unsafe { std::ptr::read_volatile(field) }
}

/// The three ways to call one function with some arguments. The name stands for the linked function, the
/// field and the symbol; the arguments are hidden from the optimiser.
macro_rules! ways {
    ($table:expr, $library:expr, $name:ident: $type:ty $(, $argument:expr)*) => {{
        let (table, library): (&'static Table, &libloading::Library) = ($table, $library);
        let linked: Way<'_> = ("linked", CALLS, Box::new(move |calls| {
            // SAFETY: the linked function has this type, and its arguments are valid.
            time(calls, || unsafe { $name($($argument),*) })
        }));
        let through: Way<'_> = ("through the table", CALLS, Box::new(move |calls| {
            // SAFETY: as above.
            time(calls, || unsafe { read(&table.$name)($($argument),*) })
        }));
        let look_up: Way<'_> = ("symbol look-up per call", LOOK_UPS, Box::new(move |calls| {
            let symbol = concat!(stringify!($name), "\0").as_bytes();
            time(calls, || {
                // SAFETY: the library's function has this type, and its arguments are valid.
                match unsafe { library.get::<$type>(symbol) } {
                    // SAFETY: as above.
                    Ok(function) => unsafe { function($($argument),*) },
                    Err(_) => hipError_t::hipErrorNotFound,
                }
            })
        }));
        (stringify!($name), [linked, through, look_up])
    }};
}

/// Measures and writes the figures.
pub(crate) fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let path = Path::new(LIBRARY);
    // SAFETY: the library was made by build.rs, with HIP's types, and has no initialisers.
    let table = unsafe { Table::load_from(path) }?;
    // SAFETY: as above.
    let library = unsafe { libloading::Library::new(path) }?;

    type LastError = unsafe extern "C" fn() -> hipError_t;
    type Version = unsafe extern "C" fn(*mut c_int) -> hipError_t;
    type Attribute = unsafe extern "C" fn(*mut c_void, hipPointer_attribute, hipDeviceptr_t) -> hipError_t;
    let attribute = hipPointer_attribute::HIP_POINTER_ATTRIBUTE_DEVICE_POINTER;
    let mut number = 0;
    let mut pointer: *mut c_void = std::ptr::null_mut();
    let number = &raw mut number;
    let pointer = &raw mut pointer;

    writeln!(out, "{}", machine())?;
    writeln!(out, "median of {REPEATS} repeats, in turn\n")?;
    writeln!(out, "{:<26}{:>12}{:>12}", "call", "ns/call", "ratio")?;
    let functions = [
        ways!(table, &library, hipGetLastError: LastError),
        ways!(table, &library, hipRuntimeGetVersion: Version, black_box(number)),
        ways!(table, &library, hipPointerGetAttribute: Attribute, black_box(pointer.cast()),
              black_box(attribute), black_box(std::ptr::null_mut())),
    ];
    for (name, ways) in functions {
        writeln!(out, "{name}")?;
        let medians = medians(ways);
        let linked = medians.first().map_or(f64::NAN, |(_, nanoseconds)| *nanoseconds);
        for (way, nanoseconds) in medians {
            let ratio = nanoseconds / linked;
            writeln!(out, "  {way:<24}{nanoseconds:>12.2}{ratio:>12.2}")?;
        }
    }

    let load = load::measure()?;
    writeln!(out, "\nloading a library of {} functions", load.functions)?;
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    writeln!(out, "  {:<24}{:>9.2} ms", "opening it alone", milliseconds(load.open))?;
    writeln!(out, "  {:<24}{:>9.2} ms", "opening and the table", milliseconds(load.table))?;
    Ok(())
}

/// Nanoseconds per call of each way.
fn medians<const N: usize>(mut ways: [Way<'_>; N]) -> Vec<(&'static str, f64)> {
    let mut times: [Vec<f64>; N] = std::array::from_fn(|_| Vec::with_capacity(REPEATS));
    for _ in 0..REPEATS {
        for ((_, calls, way), times) in ways.iter_mut().zip(&mut times) {
            times.push(way(*calls).as_secs_f64() * 1e9 / f64::from(*calls));
        }
    }
    ways.iter().zip(times).map(|((name, ..), times)| (*name, median(times))).collect()
}

/// The middle value; NaN without values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The processor's name, and the number of processors.
fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or("unknown processor", |(_, name)| name.trim());
    let processors: c_uint =
        std::thread::available_parallelism().map_or(1, |count| count.get().try_into().unwrap_or(c_uint::MAX));
    format!("{model}, {processors} processors")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn the_table_is_filled_from_the_library_that_the_program_is_linked_to() {
        // SAFETY: the library was made by build.rs, with HIP's types.
        let table = unsafe { Table::load_from(Path::new(LIBRARY)) }.unwrap();
        assert!(table.has("hipGetLastError") && table.has("hipRuntimeGetVersion") && !table.has("hipMalloc"));
        assert_eq!(
            table.version(),
            Some(hip_sys::Version::new(7, 2, 0)),
            "asked: the name has one number only"
        );
        let mut version = 0;
        // SAFETY: the function writes one number.
        assert_eq!(unsafe { hipRuntimeGetVersion(&mut version) }, hipError_t::hipSuccess);
        assert_eq!(version, 70_200_000);
    }
}
