//! Which GPUs there are, and which of them form a logical device.
//!
//! This is plain data: [`Topology::read`] asks an HSA implementation once, and everything else is decided on
//! the answer.

mod read;
mod selection;

use std::fmt;

pub use selection::{BadSelection, Member, Selection};

/// A processor of the host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cpu {
    /// HSA's handle of the agent.
    pub agent: u64,
    /// Its name.
    pub name: String,
}

/// A GPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gpu {
    /// HSA's handle of the agent.
    pub agent: u64,
    /// The target id: `gfx90a:sramecc+:xnack-`.
    pub target: String,
    /// The name of the product.
    pub product: String,
    /// `GPU-` and 16 hexadecimal digits, if the device has one.
    pub uuid: Option<String>,
    /// The PCI device number of the chip.
    pub chip: u32,
    /// The PCI vendor number.
    pub vendor: u32,
    /// The nearest processor, as an index of [`Topology::cpus`].
    pub cpu: usize,
    /// The number of links to the memory of each GPU, by index of [`Topology::gpus`]: 0 for its own, `None`
    /// where it has no access.
    pub hops: Vec<Option<u32>>,
}

impl fmt::Display for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.product, self.target)?;
        self.uuid.as_ref().map_or(Ok(()), |uuid| write!(f, ", {uuid}"))?;
        f.write_str(")")
    }
}

/// The processors and GPUs of a machine, in HSA's order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Topology {
    /// The processors.
    pub cpus: Vec<Cpu>,
    /// The GPUs.
    pub gpus: Vec<Gpu>,
}

/// A GPU that is not part of a logical device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftOut {
    /// Its index in [`Topology::gpus`].
    pub gpu: usize,
    /// Why.
    pub reason: Incompatible,
}

/// GPUs that work as one device: the same code runs on all, and each reaches the memory of all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogicalDevice {
    /// Indices in [`Topology::gpus`], at least one.
    pub members: Vec<usize>,
    /// GPUs that the selection would have taken along, were they compatible.
    pub left_out: Vec<LeftOut>,
}

/// Why two GPUs cannot form one logical device.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Incompatible {
    /// They come from different vendors.
    #[error("its vendor is {0:#06x}, not {1:#06x}")]
    Vendor(u32, u32),
    /// They execute different code.
    #[error("its target is {0}, not {1}")]
    Target(String, String),
    /// They are different products.
    #[error("it is a {0}, not a {1}")]
    Product(String, String),
    /// They have different chips.
    #[error("its chip is {0:#06x}, not {1:#06x}")]
    Chip(u32, u32),
    /// One has no access to the memory of the other.
    #[error("it and GPU {0} cannot access each other's memory")]
    Access(usize),
}

/// Why a selection names no device of this machine.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelectError {
    /// The machine has no GPU.
    #[error("this machine has no GPU that the HSA library shows")]
    NoGpu,
    /// No GPU has this number.
    #[error("there is no GPU {ordinal}: the HSA library shows {count}, numbered from 0")]
    NoOrdinal {
        /// The number.
        ordinal: usize,
        /// How many there are.
        count: usize,
    },
    /// No GPU has this UUID.
    #[error("no GPU has the UUID {uuid}; there are {}", list(known))]
    NoUuid {
        /// The UUID, as it was written.
        uuid: String,
        /// Those of this machine.
        known: Vec<String>,
    },
    /// Several GPUs have this UUID.
    #[error("the UUID {uuid} belongs to {count} GPUs; name them by their numbers")]
    DoubledUuid {
        /// The UUID.
        uuid: String,
        /// How many have it.
        count: usize,
    },
    /// A GPU is named twice.
    #[error("GPU {0} is named twice")]
    Twice(usize),
    /// A GPU that was asked for by name does not go with the first one.
    #[error("GPU {gpu} ({described}) cannot be one device with GPU {first}: {reason}")]
    Incompatible {
        /// Its number.
        gpu: usize,
        /// What it is.
        described: String,
        /// The number of the first member.
        first: usize,
        /// Why.
        reason: Incompatible,
    },
}

/// A list in an error.
fn list(names: &[String]) -> String {
    if names.is_empty() { "none with a UUID".to_owned() } else { names.join(", ") }
}

impl Topology {
    /// The logical device that a selection names.
    ///
    /// # Errors
    /// There is no such GPU, or GPUs that were named do not go together.
    pub fn select(&self, selection: &Selection) -> Result<LogicalDevice, SelectError> {
        if self.gpus.is_empty() {
            return Err(SelectError::NoGpu);
        }
        let named = match selection {
            Selection::All => return Ok(self.compatible_with_first()),
            Selection::Members(named) => named,
        };
        let mut members: Vec<usize> = Vec::new();
        for member in named {
            let gpu = self.find(member)?;
            if members.contains(&gpu) {
                return Err(SelectError::Twice(gpu));
            }
            if let Some(reason) = self.conflict(&members, gpu) {
                let described = self.gpus[gpu].to_string();
                return Err(SelectError::Incompatible { gpu, described, first: members[0], reason });
            }
            members.push(gpu);
        }
        Ok(LogicalDevice { members, left_out: Vec::new() })
    }

    /// The logical devices of several selections. A GPU may belong to one of them only.
    ///
    /// # Errors
    /// As for [`select`](Self::select), and if two of them share a GPU.
    pub fn select_all(&self, selections: &[Selection]) -> Result<Vec<LogicalDevice>, SelectError> {
        let mut found: Vec<LogicalDevice> = Vec::new();
        for selection in selections {
            let device = self.select(selection)?;
            let is_taken = |gpu: &&usize| found.iter().any(|other| other.members.contains(gpu));
            if let Some(&gpu) = device.members.iter().find(is_taken) {
                return Err(SelectError::Twice(gpu));
            }
            found.push(device);
        }
        Ok(found)
    }

    fn find(&self, member: &Member) -> Result<usize, SelectError> {
        match member {
            Member::Ordinal(ordinal) if *ordinal < self.gpus.len() => Ok(*ordinal),
            Member::Ordinal(ordinal) => {
                Err(SelectError::NoOrdinal { ordinal: *ordinal, count: self.gpus.len() })
            }
            Member::Uuid(uuid) => {
                let has = |gpu: &&Gpu| gpu.uuid.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(uuid));
                match self.gpus.iter().filter(has).count() {
                    0 => Err(SelectError::NoUuid {
                        uuid: uuid.clone(),
                        known: self.gpus.iter().filter_map(|gpu| gpu.uuid.clone()).collect(),
                    }),
                    1 => Ok(self.gpus.iter().position(|gpu| has(&gpu)).unwrap_or(0)),
                    count => Err(SelectError::DoubledUuid { uuid: uuid.clone(), count }),
                }
            }
        }
    }

    fn compatible_with_first(&self) -> LogicalDevice {
        let (mut members, mut left_out) = (vec![0], Vec::new());
        for gpu in 1..self.gpus.len() {
            match self.conflict(&members, gpu) {
                Some(reason) => left_out.push(LeftOut { gpu, reason }),
                None => members.push(gpu),
            }
        }
        LogicalDevice { members, left_out }
    }

    /// Why a GPU does not go with the members.
    fn conflict(&self, members: &[usize], gpu: usize) -> Option<Incompatible> {
        let (own, first) = (&self.gpus[gpu], &self.gpus[*members.first()?]);
        if own.vendor != first.vendor {
            return Some(Incompatible::Vendor(own.vendor, first.vendor));
        }
        if own.target != first.target {
            return Some(Incompatible::Target(own.target.clone(), first.target.clone()));
        }
        if own.product != first.product {
            return Some(Incompatible::Product(own.product.clone(), first.product.clone()));
        }
        if own.chip != first.chip {
            return Some(Incompatible::Chip(own.chip, first.chip));
        }
        let reaches = |from: usize, to: usize| self.gpus[from].hops.get(to).copied().flatten().is_some();
        let apart = members.iter().find(|&&member| !reaches(member, gpu) || !reaches(gpu, member));
        apart.map(|&member| Incompatible::Access(member))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(target: &str, uuid: &str) -> Gpu {
        Gpu {
            agent: 0,
            target: target.to_owned(),
            product: "Product".to_owned(),
            uuid: (!uuid.is_empty()).then(|| uuid.to_owned()),
            chip: 0x73bf,
            vendor: 0x1002,
            cpu: 0,
            hops: vec![Some(0); 8],
        }
    }

    fn machine(gpus: Vec<Gpu>) -> Topology {
        Topology { cpus: vec![Cpu { agent: 9, name: "CPU".to_owned() }], gpus }
    }

    fn selected(topology: &Topology, text: &str) -> Result<LogicalDevice, SelectError> {
        topology.select(&text.parse().expect("a selection"))
    }

    #[test]
    fn all_compatible_gpus_are_one_device_and_the_others_have_a_reason() {
        let mut far = gpu("gfx90a", "GPU-3");
        far.hops = vec![None; 8];
        let topology = machine(vec![
            gpu("gfx90a", "GPU-0"),
            gpu("gfx1100", "GPU-1"),
            gpu("gfx90a", "GPU-2"),
            far,
            Gpu { product: "Other".to_owned(), ..gpu("gfx90a", "") },
            Gpu { chip: 1, ..gpu("gfx90a", "") },
            Gpu { vendor: 0x10de, ..gpu("gfx90a", "") },
        ]);
        let device = selected(&topology, "amdgpu").unwrap();
        assert_eq!(device.members, [0, 2]);
        let reasons: Vec<String> = device.left_out.iter().map(|left| left.reason.to_string()).collect();
        assert_eq!(
            reasons,
            [
                "its target is gfx1100, not gfx90a",
                "it and GPU 0 cannot access each other's memory",
                "it is a Other, not a Product",
                "its chip is 0x0001, not 0x73bf",
                "its vendor is 0x10de, not 0x1002",
            ]
        );
        assert_eq!(device.left_out.iter().map(|left| left.gpu).collect::<Vec<_>>(), [1, 3, 4, 5, 6]);
    }

    #[test]
    fn a_gpu_that_was_named_is_taken_or_an_error() {
        let topology = machine(vec![
            gpu("gfx90a", "GPU-00ab"),
            gpu("gfx1100", "GPU-1"),
            gpu("gfx90a", "GPU-2"),
            gpu("gfx90a", "GPU-2"),
            gpu("gfx90a", ""),
        ]);
        assert_eq!(selected(&topology, "amdgpu:4").unwrap().members, [4]);
        assert_eq!(selected(&topology, "amdgpu://4,0").unwrap().members, [4, 0]);
        assert_eq!(selected(&topology, "amdgpu://GPU-00AB,3").unwrap().members, [0, 3]);
        assert_eq!(selected(&topology, "amdgpu://gpu-00ab").unwrap().members, [0]);
        let error = |text: &str| selected(&topology, text).unwrap_err().to_string();
        assert_eq!(error("amdgpu:5"), "there is no GPU 5: the HSA library shows 5, numbered from 0");
        assert_eq!(
            error("amdgpu://GPU-77"),
            "no GPU has the UUID GPU-77; there are GPU-00ab, GPU-1, GPU-2, GPU-2"
        );
        assert_eq!(error("amdgpu://GPU-2"), "the UUID GPU-2 belongs to 2 GPUs; name them by their numbers");
        assert_eq!(error("amdgpu://0,GPU-00ab"), "GPU 0 is named twice");
        assert_eq!(
            error("amdgpu://0,1"),
            "GPU 1 (Product (gfx1100, GPU-1)) cannot be one device with GPU 0: its target is gfx1100, not gfx90a"
        );
        assert_eq!(
            selected(&machine(Vec::new()), "amdgpu").unwrap_err().to_string(),
            "this machine has no GPU that the HSA library shows"
        );
    }

    #[test]
    fn several_devices_share_no_gpu() {
        let topology = machine(vec![gpu("gfx90a", "GPU-0"), gpu("gfx90a", "GPU-1"), gpu("gfx1100", "GPU-2")]);
        let selections = |text: &[&str]| text.iter().map(|one| one.parse().unwrap()).collect::<Vec<_>>();
        let found = topology.select_all(&selections(&["amdgpu://0,1", "amdgpu:2"])).unwrap();
        assert_eq!(
            found.iter().map(|device| device.members.clone()).collect::<Vec<_>>(),
            [vec![0, 1], vec![2]]
        );
        let error = topology.select_all(&selections(&["amdgpu", "amdgpu:1"])).unwrap_err();
        assert_eq!(error, SelectError::Twice(1));
    }
}
