//! The counters of a code object that counts its own work.
//!
//! `kernel-build` adds counters to kernels on request ([`Builder::metrics`]). They are an array of 64-bit
//! numbers in a variable, [`COUNTERS`], which the kernels add to. A second variable, [`TABLE`], holds a
//! [`Table`] that says what each counter counts.
//!
//! [`Builder::metrics`]: https://docs.rs/ferrocm-kernel-build/latest/kernel_build/struct.Builder.html#method.metrics

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{CodeObject, Error};

/// The variable with the counters: 64-bit numbers, all zero when the code is loaded.
pub const COUNTERS: &str = "__ferrocm_metrics_counters";
/// The variable with the [`Table`], as MessagePack.
pub const TABLE: &str = "__ferrocm_metrics_table";

/// The version of the format that this crate writes and reads.
const VERSION: u32 = 1;

/// Where an access goes, by the pointer's address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Space {
    /// Global memory, buffers included.
    Global,
    /// Global memory that does not change while a kernel runs: `__constant__` variables and HIP's hidden
    /// arguments.
    Constant,
    /// LDS, which CUDA calls shared memory.
    Lds,
    /// Scratch memory: variables of a work-item that are not in registers. Register spills are not counted.
    Scratch,
    /// Any of these; the compiler does not know which.
    Flat,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Access {
    /// It loads.
    Load,
    /// It stores.
    Store,
    /// It does both at once.
    Atomic,
}

/// The counters of a code object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    version: u32,
    /// The kernels, and the device functions that were not inlined into them.
    pub functions: Vec<Function>,
}

/// The counters of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// Its symbol.
    pub name: String,
    /// The counters that only kernels have.
    pub waves: Option<Waves>,
    /// The counter of work-items that have begun it.
    pub work_items: u32,
    /// Its accesses.
    pub traffic: Vec<Traffic>,
}

/// The counters of a kernel's waves. Each wave adds to them when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waves {
    /// Number of waves.
    pub count: u32,
    /// Shader clock cycles from start to end.
    pub cycles: u32,
    /// The same in ticks of the clock of constant rate.
    pub ticks: u32,
    /// Waves that ran too long for the shader clock, so that `cycles` is wrong; only on targets whose clock
    /// has 20 bits.
    pub too_long: Option<u32>,
}

/// Accesses of one kind, with the counter that counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Where they go.
    pub space: Space,
    /// Whether they load, store or both.
    pub access: Access,
    /// Bytes per work-item and access.
    pub bytes: u64,
    /// The counter of work-items that have made them.
    pub counter: u32,
}

/// The values of a function's counters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// The function's symbol.
    pub name: String,
    /// Work-items that have begun the function.
    pub work_items: u64,
    /// For kernels, the time of their waves.
    pub waves: Option<WaveCounts>,
    /// Bytes that work-items have accessed, by space and kind; a missing entry means none.
    pub bytes: BTreeMap<(Space, Access), u64>,
}

/// The time of a kernel's waves, summed over all that have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaveCounts {
    /// Number of waves.
    pub count: u64,
    /// Cycles of the shader clock from start to end; `None` if the target's clock has 20 bits and a wave may
    /// have run for longer than it can count.
    pub cycles: Option<u64>,
    /// Ticks of the constant-rate clock from start to end.
    pub ticks: u64,
}

impl Table {
    /// A table of these functions.
    #[must_use]
    pub fn new(functions: Vec<Function>) -> Self {
        Self { version: VERSION, functions }
    }

    /// The bytes of the variable.
    ///
    /// # Errors
    /// [`Error::Metrics`] if memory runs out.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        rmp_serde::to_vec(self).map_err(|error| Error::Metrics(error.to_string()))
    }

    /// The table of a code object, and the number of its counters; `None` if it counts nothing.
    ///
    /// # Errors
    /// [`Error::Metrics`] if its variables are not what `kernel-build` writes.
    pub fn of(object: &CodeObject, file: &[u8]) -> Result<Option<Self>, Error> {
        let (table, counters) = match (object.symbol(TABLE), object.symbol(COUNTERS)) {
            (None, None) => return Ok(None),
            (Some(table), Some(counters)) => (table, counters),
            _ => return Err(Error::Metrics(format!("only one of {TABLE} and {COUNTERS} is there"))),
        };
        let bytes = object
            .file_range(table.value, table.size)
            .and_then(|range| file.get(range))
            .ok_or_else(|| Error::Metrics(format!("{TABLE} is not in the file")))?;
        Self::from_bytes(bytes, counters.size / size_of::<u64>() as u64).map(Some)
    }

    /// Reads the bytes that [`to_bytes`](Self::to_bytes) writes, for so many counters.
    ///
    /// # Errors
    /// [`Error::Metrics`] if the bytes are not a table, or name a counter that does not exist.
    pub fn from_bytes(bytes: &[u8], counters: u64) -> Result<Self, Error> {
        let table: Self = rmp_serde::from_slice(bytes).map_err(|error| Error::Metrics(error.to_string()))?;
        if table.version != VERSION {
            return Err(Error::Metrics(format!("version {}, not {VERSION}", table.version)));
        }
        for function in &table.functions {
            if let Some(bad) = function.counters().find(|counter| u64::from(*counter) >= counters) {
                return Err(Error::Metrics(format!("`{}` has counter {bad} of {counters}", function.name)));
            }
        }
        Ok(table)
    }
}

impl Function {
    fn counters(&self) -> impl Iterator<Item = u32> {
        let of_waves = self.waves.into_iter().flat_map(|waves| {
            [Some(waves.count), Some(waves.cycles), Some(waves.ticks), waves.too_long].into_iter().flatten()
        });
        let of_traffic = self.traffic.iter().map(|traffic| traffic.counter);
        std::iter::once(self.work_items).chain(of_waves).chain(of_traffic)
    }

    /// The values of the counters. Sums saturate at 64 bits.
    ///
    /// A counter that `counters` lacks is 0.
    #[must_use]
    pub fn counts(&self, counters: &[u64]) -> Counts {
        let value = |counter: u32| counters.get(counter as usize).copied().unwrap_or(0);
        let mut bytes = BTreeMap::new();
        for traffic in &self.traffic {
            let added = value(traffic.counter).saturating_mul(traffic.bytes);
            if added > 0 {
                let sum: &mut u64 = bytes.entry((traffic.space, traffic.access)).or_default();
                *sum = sum.saturating_add(added);
            }
        }
        let waves = self.waves.map(|waves| WaveCounts {
            count: value(waves.count),
            cycles: (waves.too_long.map_or(0, value) == 0).then(|| value(waves.cycles)),
            ticks: value(waves.ticks),
        });
        Counts { name: self.name.clone(), work_items: value(self.work_items), waves, bytes }
    }
}

impl Counts {
    /// The bytes accessed in this way.
    #[must_use]
    pub fn bytes(&self, space: Space, access: Access) -> u64 {
        self.bytes.get(&(space, access)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let traffic = |space, access, bytes, counter| Traffic { space, access, bytes, counter };
        let waves = Waves { count: 0, cycles: 1, ticks: 2, too_long: Some(3) };
        Table::new(vec![
            Function {
                name: "kernel".to_owned(),
                waves: Some(waves),
                work_items: 4,
                traffic: vec![
                    traffic(Space::Global, Access::Load, 8, 4),
                    traffic(Space::Global, Access::Load, 4, 5),
                    traffic(Space::Lds, Access::Store, u64::MAX, 5),
                    traffic(Space::Flat, Access::Atomic, 4, 6),
                ],
            },
            Function { name: "function".to_owned(), waves: None, work_items: 6, traffic: Vec::new() },
        ])
    }

    #[test]
    fn counts_are_counters_times_bytes() {
        let counts = table().functions[0].counts(&[2, 700, 30, 0, 64, 10, 0]);
        assert_eq!((counts.name.as_str(), counts.work_items), ("kernel", 64));
        assert_eq!(counts.waves, Some(WaveCounts { count: 2, cycles: Some(700), ticks: 30 }));
        assert_eq!(counts.bytes(Space::Global, Access::Load), 64 * 8 + 10 * 4);
        assert_eq!(counts.bytes(Space::Lds, Access::Store), u64::MAX);
        assert!(!counts.bytes.contains_key(&(Space::Flat, Access::Atomic)));
        let long = table().functions[0].counts(&[2, 700, 30, 1, 64, 10, 0]);
        assert_eq!(long.waves.and_then(|waves| waves.cycles), None);
        assert_eq!(table().functions[1].counts(&[]).work_items, 0);
    }

    #[test]
    fn tables_go_both_ways_and_name_only_counters_that_are_there() {
        let bytes = table().to_bytes().unwrap();
        assert_eq!(Table::from_bytes(&bytes, 7).unwrap(), table());
        let error = Table::from_bytes(&bytes, 6).unwrap_err().to_string();
        assert!(error.contains("`kernel` has counter 6 of 6"), "{error}");
        for length in 0..bytes.len() {
            assert!(Table::from_bytes(&bytes[..length], 7).is_err(), "{length}");
        }
        let newer = Table { version: 2, functions: Vec::new() }.to_bytes().unwrap();
        assert!(Table::from_bytes(&newer, 7).unwrap_err().to_string().contains("version 2"));
    }
}
