//! Properties of a device.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use code_object::TargetId;
use hip_sys::hipDeviceProp_tR0600;

use crate::call::call;
use crate::error::{Error, Result};

/// Properties of a device (`hipGetDeviceProperties`). Sizes are in bytes, clocks in kHz.
#[doc(alias = "hipDeviceProp_t")]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Properties {
    /// The device's name.
    pub name: String,
    /// The target to compile code for: processor and features, such as `gfx90a:sramecc+:xnack-`. For an
    /// NVIDIA GPU, its architecture, `sm_90`.
    pub target: TargetId,
    /// `GPU-` and 16 or 32 hexadecimal digits, where the device has one.
    pub uuid: Option<String>,
    /// Compute units (on RDNA in workgroup-processor mode: workgroup processors).
    pub compute_units: u32,
    /// Work-items of a wave: 32 or 64.
    pub wave_size: u32,
    /// Device memory, bytes.
    pub memory: usize,
    /// Most work-items of a workgroup.
    pub max_block_threads: u32,
    /// Most work-items of a workgroup in each dimension.
    pub max_block: [u32; 3],
    /// Most workgroups of a grid in each dimension.
    pub max_grid: [u32; 3],
    /// LDS that one workgroup can have, bytes.
    pub lds_per_block: u32,
    /// LDS of a compute unit, bytes.
    pub lds_per_compute_unit: usize,
    /// Most work-items resident on a compute unit.
    pub threads_per_compute_unit: u32,
    /// Highest clock of the compute units, kHz.
    pub clock: u32,
    /// Highest clock of the memory, kHz.
    pub memory_clock: u32,
    /// Width of the memory bus, bits.
    pub memory_bus_width: u32,
    /// Size of the L2 cache, bytes.
    pub l2_cache: u32,
    /// Most workgroups resident on a compute unit; 0 if the library does not say.
    pub blocks_per_compute_unit: u32,
    /// Vector registers of 32 bits that the work-items of one workgroup can have together.
    pub registers_per_block: u32,
    /// Constant memory, bytes.
    pub constant_memory: usize,
    /// Copies that can run beside kernels.
    pub copy_engines: u32,
    /// PCI address.
    pub pci: PciAddress,
    /// Whether the device shares the host's memory.
    pub integrated: bool,
    /// Whether kernels of several streams run at once.
    pub concurrent_kernels: bool,
    /// Whether the workgroups of one kernel can wait for each other (cooperative launches).
    pub cooperative_launch: bool,
    /// Whether kernels can read and write pinned host memory.
    pub maps_host_memory: bool,
    /// Whether there is managed memory.
    pub managed_memory: bool,
    /// Whether there are memory pools (`hipMallocAsync`).
    pub memory_pools: bool,
    /// Whether memory errors are corrected.
    pub ecc: bool,
}

/// A device's address on the PCI bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PciAddress {
    /// Domain.
    pub domain: u32,
    /// Bus.
    pub bus: u32,
    /// Device.
    pub device: u32,
}

impl std::fmt::Display for PciAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}.0", self.domain, self.bus, self.device)
    }
}

pub(crate) fn read(table: &hip_sys::Table, ordinal: i32) -> Result<Properties> {
    let mut raw = MaybeUninit::<hipDeviceProp_tR0600>::zeroed();
    // SAFETY: the result is a place to write to, of the layout that this version of the function fills.
    unsafe { call!(table, hipGetDevicePropertiesR0600(raw.as_mut_ptr(), ordinal))? };
    // SAFETY: the struct holds integers, arrays of them and raw pointers only, for which zeroes are valid
    // already.
    let raw = unsafe { raw.assume_init() };
    let architecture = text(&raw.gcnArchName);
    let target = target(&architecture).map_err(|error| Error::Unsupported {
        what: format!("device {ordinal}, which reports itself as `{architecture}`"),
        instead: format!("its target id cannot be read ({error})"),
    })?;
    Ok(Properties {
        name: text(&raw.name),
        target,
        uuid: uuid(&raw.uuid.bytes),
        compute_units: number(raw.multiProcessorCount),
        wave_size: number(raw.warpSize),
        memory: raw.totalGlobalMem,
        max_block_threads: number(raw.maxThreadsPerBlock),
        max_block: raw.maxThreadsDim.map(number),
        max_grid: raw.maxGridSize.map(number),
        lds_per_block: u32::try_from(raw.sharedMemPerBlock).unwrap_or(u32::MAX),
        lds_per_compute_unit: raw.maxSharedMemoryPerMultiProcessor,
        threads_per_compute_unit: number(raw.maxThreadsPerMultiProcessor),
        clock: number(raw.clockRate),
        memory_clock: number(raw.memoryClockRate),
        memory_bus_width: number(raw.memoryBusWidth),
        l2_cache: number(raw.l2CacheSize),
        pci: PciAddress {
            domain: number(raw.pciDomainID),
            bus: number(raw.pciBusID),
            device: number(raw.pciDeviceID),
        },
        integrated: raw.integrated != 0,
        blocks_per_compute_unit: number(raw.maxBlocksPerMultiProcessor),
        registers_per_block: number(raw.regsPerBlock),
        constant_memory: raw.totalConstMem,
        copy_engines: number(raw.asyncEngineCount),
        concurrent_kernels: raw.concurrentKernels != 0,
        cooperative_launch: raw.cooperativeLaunch != 0,
        maps_host_memory: raw.canMapHostMemory != 0,
        managed_memory: raw.managedMemory != 0,
        memory_pools: raw.memoryPoolsSupported != 0,
        ecc: raw.ECCEnabled != 0,
    })
}

/// A target id of AMD's, or an architecture of NVIDIA's.
fn target(architecture: &str) -> std::result::Result<TargetId, code_object::ParseTargetError> {
    TargetId::nvidia(architecture).or_else(|_| architecture.parse())
}

fn number(value: i32) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

fn text(chars: &[c_char]) -> String {
    let bytes: Vec<u8> = chars.iter().map(|c| c.to_ne_bytes()[0]).take_while(|b| *b != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// AMD writes 16 hexadecimal digits as text, NVIDIA writes 16 bytes.
fn uuid(chars: &[c_char; 16]) -> Option<String> {
    let bytes = chars.map(|c| c.to_ne_bytes()[0]);
    if bytes.iter().all(|b| *b == 0) {
        return None;
    }
    if bytes.iter().all(u8::is_ascii_hexdigit) {
        return Some(format!("GPU-{}", text(chars).to_ascii_lowercase()));
    }
    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    Some(format!("GPU-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_of_both_vendors_are_read() {
        let amd = b"0e12865A3bf5b7ab".map(|b| b as c_char);
        assert_eq!(uuid(&amd).unwrap(), "GPU-0e12865a3bf5b7ab");
        let nvidia =
            [0x4f_u8, 0x1d, 0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 1];
        assert_eq!(uuid(&nvidia.map(|b| b as c_char)).unwrap(), "GPU-4f1d0011-2233-4455-6677-8899aabbcc01");
        assert_eq!(uuid(&[0; 16]), None);
    }

    #[test]
    fn targets_of_both_vendors_are_read() {
        assert_eq!(target("gfx90a:xnack-").unwrap().to_string(), "gfx90a:xnack-");
        assert_eq!(target("sm_90").unwrap().to_string(), "sm_90");
        for bad in ["", "sm_", "sm_x", "sm", "90"] {
            assert!(target(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn text_ends_at_the_first_nul() {
        assert_eq!(text(&b"gfx1100\0rest".map(|b| b as c_char)), "gfx1100");
        assert_eq!(text(&[]), "");
    }

    #[test]
    fn a_pci_address_prints_as_lspci_does() {
        assert_eq!(PciAddress { domain: 0, bus: 0xc3, device: 0 }.to_string(), "0000:c3:00.0");
    }
}
