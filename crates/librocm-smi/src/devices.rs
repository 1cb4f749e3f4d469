//! The virtual GPUs, and writing facts about them through pointers.

use std::ffi::c_char;
use std::ptr;
use std::sync::OnceLock;

use vgpu::Identity;

/// The PCI vendor id.
pub(crate) const VENDOR_ID: u16 = 0x1002;
/// The vendor, as HSA names it.
pub(crate) const VENDOR: &str = "AMD";
/// The version of the drop-ins, as a C string.
pub(crate) const BUILD: &std::ffi::CStr = c"ferrocm";

/// The reason why a call fails, common to both libraries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Failure {
    /// An argument is not valid.
    Argument,
    /// The buffer is too small.
    Size,
    /// A virtual GPU does not have this.
    Unsupported,
    /// The variable that names the devices is wrong.
    Start,
}

/// Starts the log, once.
pub(crate) fn start() {
    static STARTED: OnceLock<()> = OnceLock::new();
    STARTED.get_or_init(|| drop_in::log::start("librocm_smi64"));
}

/// All virtual GPUs.
pub(crate) fn all() -> Result<&'static [Identity], Failure> {
    static DEVICES: OnceLock<Option<Vec<Identity>>> = OnceLock::new();
    let devices = DEVICES.get_or_init(|| {
        start();
        let devices = vgpu::environment::devices()
            .and_then(|config| config.identities().map_err(|error| error.to_string()));
        devices.inspect_err(|reason| tracing::error!("the virtual GPU cannot start: {reason}")).ok()
    });
    devices.as_deref().ok_or(Failure::Start)
}

/// One virtual GPU.
pub(crate) fn one(index: usize) -> Result<&'static Identity, Failure> {
    all()?.get(index).ok_or(Failure::Argument)
}

/// Writes a fact.
///
/// # Safety
/// `place` is null or valid for a write of `T`.
pub(crate) unsafe fn write<T>(place: *mut T, value: T) -> Result<(), Failure> {
    if place.is_null() {
        return Err(Failure::Argument);
    }
    // SAFETY: required by this function's contract.
    unsafe { place.write_unaligned(value) };
    Ok(())
}

/// Writes a text and a NUL. A text that is too long is truncated.
///
/// # Safety
/// `place` is null or valid for writes of `size` bytes.
pub(crate) unsafe fn write_text(place: *mut c_char, size: usize, text: &str) -> Result<(), Failure> {
    if place.is_null() || size == 0 {
        return Err(Failure::Argument);
    }
    let fits = text.len().min(size - 1);
    // SAFETY: required by this function's contract; no more than `size` bytes.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr(), place.cast(), fits);
        place.add(fits).write(0);
    }
    if fits == text.len() { Ok(()) } else { Err(Failure::Size) }
}

/// How two devices are connected.
pub(crate) struct Link {
    /// Hops between them.
    pub(crate) hops: u64,
    /// The weight of a connection over PCI Express, as AMD's driver counts.
    pub(crate) weight: u64,
}

/// The link of two different devices.
pub(crate) fn link(from: usize, to: usize) -> Result<Link, Failure> {
    one(from)?;
    one(to)?;
    if from == to { Err(Failure::Argument) } else { Ok(Link { hops: 2, weight: 40 }) }
}
