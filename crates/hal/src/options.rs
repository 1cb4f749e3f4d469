//! How a device is opened.

use crate::error::{Error, Result};
use crate::executable::CodeObjects;

/// How a device is opened. Every number has a range, which [`Driver::open`](crate::Driver::open) checks.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Execution queues of each GPU, made when first used: 1 to 32.
    pub queues: usize,
    /// Packets of a queue, a power of two: 64 to 65,536.
    pub packets: u32,
    /// Bytes that a pool takes from HSA at once: 64 KiB to 16 GiB.
    pub block: u64,
    /// Bytes of each GPU's memory that buffers may use together: 4 KiB to 1 PiB, or 0 for no limit but the
    /// device's.
    pub limit: u64,
    /// The same for the host's memory, which buffers and transfers of files use.
    pub host_limit: u64,
    /// Bytes of arguments that are taken from HSA at once: 64 KiB to 1 GiB.
    pub arguments: u64,
    /// Bytes of the ring in which each queue has the arguments of submissions with bindings or indirect
    /// dispatches: 64 KiB to 1 GiB, or 0 for none. They come from the pool of arguments if the ring has no
    /// room, or if HSA does not map memory twice ([`Queue::ring`](crate::Queue::ring)).
    pub ring: u64,
    /// Bytes of host memory through which a file goes to and from a GPU's memory: 4 KiB to 1 GiB.
    pub staging: u64,
    /// Submissions whose times [`Device::profile`](crate::Device::profile) has at most, up to 1,048,576; 0
    /// for no profile. Profiled work costs the host more: a signal for each kernel.
    pub profile: usize,
    /// With [`profile`](Self::profile): unused completion signals that are kept for later kernels, up to
    /// 1,048,576.
    pub signals: usize,
    /// With [`profile`](Self::profile): kernels also have counters, if the HSA implementation counts, as the
    /// virtual GPU does. Counting makes them slower.
    pub counters: bool,
    /// Keep what is needed to run everything again, for [`Device::capture`](crate::Device::capture). New
    /// buffers then begin with zeros.
    pub capture: bool,
    /// With [`capture`](Self::capture): what is read from a file is kept as its path and a BLAKE3 hash, not
    /// as its bytes. The file must be there when the run is replayed. Paths that are not UTF-8 are kept with
    /// the bytes.
    pub refer_to_files: bool,
    /// Submissions that the scheduler of each GPU has in its list at most, 1 to 4,096; 0 for no scheduler.
    /// With one, work that waits for what nobody has promised is issued by a kernel of the device library.
    /// There is no scheduler with [`profile`](Self::profile) or [`capture`](Self::capture), which need the
    /// host's view of what is issued when.
    pub scheduler: usize,
    /// The device library: kernels for copies, fills and indirect dispatches, and the scheduler. The package
    /// `ferrocm-hal-library` has it.
    pub library: Option<CodeObjects>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            queues: 4,
            packets: 4096,
            block: 64 << 20,
            limit: 0,
            host_limit: 0,
            arguments: 1 << 20,
            ring: 256 << 10,
            staging: 4 << 20,
            profile: 0,
            signals: 1024,
            counters: false,
            capture: false,
            refer_to_files: false,
            scheduler: 0,
            library: None,
        }
    }
}

impl Options {
    /// With the device library.
    #[must_use]
    pub fn with_library(mut self, library: CodeObjects) -> Self {
        self.library = Some(library);
        self
    }

    pub(crate) fn check(&self) -> Result<()> {
        let within = |name, value: u64, least: u64, most: u64| {
            let is_fine = (least..=most).contains(&value);
            if is_fine { Ok(()) } else { Err(Error::Option { name, value, least, most }) }
        };
        within("queues", self.queues as u64, 1, 32)?;
        within("packets", self.packets.into(), 64, 65_536)?;
        if !self.packets.is_power_of_two() {
            let least = u64::from(self.packets.next_power_of_two() / 2);
            return Err(Error::Option {
                name: "packets",
                value: self.packets.into(),
                least,
                most: least * 2,
            });
        }
        within("block", self.block, 64 << 10, 16 << 30)?;
        for (name, limit) in [("limit", self.limit), ("host_limit", self.host_limit)] {
            if limit != 0 {
                within(name, limit, 4 << 10, 1 << 50)?;
            }
        }
        within("arguments", self.arguments, 64 << 10, 1 << 30)?;
        if self.ring != 0 {
            within("ring", self.ring, 64 << 10, 1 << 30)?;
        }
        within("staging", self.staging, 4 << 10, 1 << 30)?;
        within("profile", self.profile as u64, 0, 1 << 20)?;
        within("signals", self.signals as u64, 0, 1 << 20)?;
        let most = if self.profile != 0 || self.capture { 0 } else { 4096 };
        within("scheduler", self.scheduler as u64, 0, most)
    }
}
