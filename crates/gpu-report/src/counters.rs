//! Counters of a dispatch.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{AddAssign, Index, IndexMut};

use code_object::occupancy::Occupancy;
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::class::Class;

/// Instructions by class, each once per wave that executed it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Instructions([u64; Class::ALL.len()]);

impl Instructions {
    /// Instructions of all classes except hints.
    pub fn total(&self) -> u64 {
        Class::ALL
            .iter()
            .filter(|class| **class != Class::Hint)
            .map(|class| self[*class])
            .fold(0, u64::saturating_add)
    }
}

impl Index<Class> for Instructions {
    type Output = u64;

    fn index(&self, class: Class) -> &u64 {
        &self.0[class as usize]
    }
}

impl IndexMut<Class> for Instructions {
    fn index_mut(&mut self, class: Class) -> &mut u64 {
        &mut self.0[class as usize]
    }
}

impl AddAssign for Instructions {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(count, more)| *count = count.saturating_add(more));
    }
}

impl<'de> Deserialize<'de> for Instructions {
    /// Classes that are missing count as zero.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut found = Instructions::default();
        for (name, count) in BTreeMap::<String, u64>::deserialize(deserializer)? {
            let class = Class::ALL.iter().find(|class| class.name() == name);
            let class =
                class.ok_or_else(|| D::Error::custom(format!("`{name}` is not a class of instructions")))?;
            found[*class] = count;
        }
        Ok(found)
    }
}

impl Serialize for Instructions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(Class::ALL.len()))?;
        for &class in Class::ALL {
            map.serialize_entry(class.name(), &self[class])?;
        }
        map.end()
    }
}

/// Structs of numbers that can be added.
macro_rules! sums {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug, serde::Serialize, serde::Deserialize)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: u64,)*
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                $(self.$field = self.$field.saturating_add(other.$field);)*
            }
        }
    )*};
}

sums! {
    /// Lanes of vector instructions, memory instructions included; not of matrix instructions, which ignore
    /// EXEC.
    Lanes {
        /// Lanes that EXEC enabled, summed over all instructions.
        active,
        /// All lanes, enabled or not.
        possible,
    }
    /// Accesses to a memory. Atomic operations count as both reads and writes.
    Traffic {
        /// Loads. Each is an instruction of a wave; one with two addresses counts twice.
        loads,
        /// Stores.
        stores,
        /// Atomic operations.
        atomics,
        /// Bytes read, by all lanes together.
        read_bytes,
        /// Bytes written.
        written_bytes,
    }
    /// Cache lines that vector accesses to global memory touch.
    CacheLines {
        /// Accesses.
        accesses,
        /// Lines, counted once per access that touches them.
        lines,
    }
    /// Use of the 32 banks of LDS.
    LdsBanks {
        /// How many times up to 128 bytes were requested together: the number of cycles without conflicts.
        passes,
        /// The number of cycles with conflicts.
        cycles,
    }
    /// Loads from global memory that waves wait for. Requests that are made together arrive together: waits
    /// for those that a wave made before its last wait do not count.
    InFlight {
        /// Waits of waves for vector loads.
        waits,
        /// Bytes that vector loads of the waiting wave have on the way, summed over these waits.
        bytes,
        /// Waits for scalar loads only.
        scalar_waits,
    }
    /// Branches.
    Branches {
        /// Conditional branches.
        conditional,
        /// Conditional branches that were taken.
        taken,
        /// Conditional branches that a wave reached while some, but not all, of its initial lanes were
        /// disabled.
        partial_exec,
        /// How often an instruction disabled some but not all of the enabled lanes, so that the wave
        /// diverged.
        splits,
    }
}

impl Lanes {
    /// The share of lanes that were active, from 0 to 1; 1 if there were none.
    pub fn utilisation(&self) -> f64 {
        ratio(self.active, self.possible)
    }
}

impl InFlight {
    /// Bytes on the way, in the mean of all waits of a wave for vector loads; 0 if there were none.
    pub fn each(&self) -> f64 {
        if self.waits == 0 { 0.0 } else { self.bytes as f64 / self.waits as f64 }
    }
}

impl LdsBanks {
    /// Cycles lost to bank conflicts.
    pub fn conflicts(&self) -> u64 {
        self.cycles.saturating_sub(self.passes)
    }
}

impl Traffic {
    /// Loads, stores and atomic operations.
    pub fn accesses(&self) -> u64 {
        self.loads.saturating_add(self.stores).saturating_add(self.atomics)
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

/// What a dispatch did.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Counters {
    /// The kernel's name.
    pub kernel: String,
    /// The device's target.
    pub target: String,
    /// Whether the dispatch ended without a fault. After a fault, unfinished workgroups count up to the point
    /// they reached.
    pub complete: bool,
    /// Work-items per dimension.
    pub grid: [u32; 3],
    /// Work-items per dimension of a workgroup.
    pub workgroup: [u32; 3],
    /// Lanes of a wave.
    pub wave_size: u32,
    /// Workgroups that ran.
    pub workgroups: u64,
    /// Waves that ran.
    pub waves: u64,
    /// Instructions by class.
    pub instructions: Instructions,
    /// Dual instructions (VOPD); each pair counts once above.
    pub dual: u64,
    /// Lanes of vector instructions.
    pub lanes: Lanes,
    /// Global memory accessed by vector instructions.
    pub global: Traffic,
    /// Global memory accessed by scalar instructions: constants and kernel arguments.
    pub constant: Traffic,
    /// LDS.
    pub lds: Traffic,
    /// Scratch memory.
    pub scratch: Traffic,
    /// Size of a line of the vector cache, in bytes.
    pub cache_line: u32,
    /// Cache lines.
    pub cache_lines: CacheLines,
    /// Loads on the way when waves wait for them.
    #[serde(default)]
    pub in_flight: InFlight,
    /// LDS banks.
    pub lds_banks: LdsBanks,
    /// Branches.
    pub branches: Branches,
    /// How often waves waited at a barrier.
    pub barriers: u64,
    /// Occupancy: how many waves run at once.
    pub occupancy: Occupancy,
}

impl Counters {
    /// Reads a JSON array of values that [`Counters::to_json`] wrote.
    ///
    /// # Errors
    /// The text is anything else.
    pub fn read_all(text: &str) -> Result<Vec<Counters>, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Bytes that vector loads have on the way in a compute unit that holds as many waves as fit, in the mean
    /// of all waits.
    pub fn bytes_in_flight(&self) -> f64 {
        self.in_flight.each() * self.occupancy.waves_per_unit()
    }

    /// The counters as one line of JSON.
    pub fn to_json(&self) -> String {
        // Numbers, names, and maps with names as keys: this cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

fn sizes([x, y, z]: [u32; 3]) -> String {
    format!("{x}x{y}x{z}")
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |part: u64, whole: u64| 100.0 * ratio(part, whole);
        let broken = if self.complete { "" } else { ", ended by a fault" };
        writeln!(f, "{} on {}{broken}", self.kernel, self.target)?;
        writeln!(
            f,
            "  grid {}, workgroups of {}: {} workgroups, {} waves of {}",
            sizes(self.grid),
            sizes(self.workgroup),
            self.workgroups,
            self.waves,
            self.wave_size
        )?;
        let total = self.instructions.total();
        writeln!(f, "  {:<16}{:>14}{:>16}", "instructions", "executed", "per wave")?;
        for &class in Class::ALL.iter().filter(|class| self.instructions[**class] != 0) {
            let count = self.instructions[class];
            let mean = count as f64 / self.waves.max(1) as f64;
            writeln!(f, "    {:<14}{count:>14}{mean:>16.1}", class.name())?;
        }
        writeln!(
            f,
            "    {:<14}{total:>14}{:>16.1}",
            "all but hints",
            total as f64 / self.waves.max(1) as f64
        )?;
        if self.dual != 0 {
            writeln!(f, "    {:<14}{:>14}", "of them dual", self.dual)?;
        }
        let Lanes { active, possible } = self.lanes;
        writeln!(f, "  lanes active    {active:>14} of {possible} ({:.1} %)", percent(active, possible))?;
        writeln!(
            f,
            "  {:<16}{:>14}{:>16}{:>16}{:>16}{:>16}",
            "memory", "loads", "stores", "atomics", "bytes read", "bytes written"
        )?;
        for (name, traffic) in [
            ("global", self.global),
            ("constant", self.constant),
            ("lds", self.lds),
            ("scratch", self.scratch),
        ] {
            let Traffic { loads, stores, atomics, read_bytes, written_bytes } = traffic;
            writeln!(
                f,
                "    {name:<14}{loads:>14}{stores:>16}{atomics:>16}{read_bytes:>16}{written_bytes:>16}"
            )?;
        }
        let CacheLines { accesses, lines } = self.cache_lines;
        if accesses != 0 {
            let mean = lines as f64 / accesses as f64;
            writeln!(f, "  cache lines     {lines:>14} of {} bytes, {mean:.1} per access", self.cache_line)?;
        }
        let InFlight { waits, scalar_waits, .. } = self.in_flight;
        if waits != 0 || scalar_waits != 0 {
            writeln!(
                f,
                "  in flight       {:>14.0} bytes of a wave, {:.0} of a compute unit; {waits} waits for memory, \
                 {scalar_waits} for scalar loads",
                self.in_flight.each(),
                self.bytes_in_flight()
            )?;
        }
        let LdsBanks { passes, cycles } = self.lds_banks;
        if passes != 0 {
            writeln!(
                f,
                "  LDS cycles      {cycles:>14}, {} of them for bank conflicts ({:.1} %)",
                self.lds_banks.conflicts(),
                percent(self.lds_banks.conflicts(), cycles)
            )?;
        }
        let Branches { conditional, taken, partial_exec, splits } = self.branches;
        writeln!(
            f,
            "  branches        {conditional:>14} conditional, {taken} taken, {partial_exec} with partial EXEC; \
             EXEC split {splits} times"
        )?;
        writeln!(f, "  barriers        {:>14}", self.barriers)?;
        write!(f, "  occupancy       {}", self.occupancy.to_string().replace('\n', "\n  "))
    }
}
