//! How handles become bytes, and how they identify their sender.

use std::ffi::c_char;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::LazyLock;

use super::IpcError;
use crate::device::Device;

/// Bytes of HIP's own handles.
pub(super) const HANDLE: usize = hip_sys::HIP_IPC_HANDLE_SIZE as usize;
/// Bytes of a device's UUID as text, in either vendor's format.
const UUID: usize = 40;

/// Identifies this process, also among processes with the same number in other containers.
static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().build_hasher().finish());

/// The process and device that a handle comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Sender {
    process: u64,
    device: [u8; UUID],
}

impl Sender {
    pub(super) const SIZE: usize = 8 + UUID;

    pub(super) fn this_process(device: &Device) -> Self {
        Self { process: *PROCESS, device: text(device.properties().uuid.as_deref().unwrap_or_default()) }
    }

    /// Whether its handles can be opened here.
    pub(super) fn check(&self, device: &Device) -> Result<(), IpcError> {
        if self.process == *PROCESS {
            return Err(IpcError::SameProcess);
        }
        let here = device.properties().uuid.as_deref().unwrap_or_default();
        if self.device != text(here) {
            let device = format!("{device} {here}");
            return Err(IpcError::OtherDevice { shared: from_text(&self.device), device });
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn another_process(device: &Device) -> Self {
        Self { process: !*PROCESS, ..Self::this_process(device) }
    }
}

/// Writes a handle.
pub(super) struct Writer(Vec<u8>);

impl Writer {
    /// Bytes of the checksum at the end.
    pub(super) const END: usize = 8;

    pub(super) fn new(kind: &[u8; 8]) -> Self {
        Self(kind.to_vec())
    }

    pub(super) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn number(self, number: u64) -> Self {
        self.bytes(&number.to_le_bytes())
    }

    pub(super) fn sender(self, sender: &Sender) -> Self {
        self.number(sender.process).bytes(&sender.device)
    }

    pub(super) fn end<const N: usize>(self) -> [u8; N] {
        let sum = checksum(&self.0);
        let mut bytes = [0; N];
        for (place, byte) in bytes.iter_mut().zip(self.0.into_iter().chain(sum)) {
            *place = byte;
        }
        bytes
    }
}

/// Reads a handle of the right length.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(
        bytes: &'a [u8],
        expected: usize,
        kind: &[u8; 8],
        what: &'static str,
    ) -> Result<Self, IpcError> {
        if bytes.len() != expected {
            return Err(IpcError::Length { what, expected, got: bytes.len() });
        }
        let rest = bytes.strip_prefix(kind).ok_or(IpcError::Kind { what })?;
        let (content, sum) = bytes.split_at(bytes.len() - Writer::END);
        if checksum(content) != sum { Err(IpcError::Damaged) } else { Ok(Self(rest)) }
    }

    pub(super) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let (first, rest) = self.0.split_first_chunk().unwrap_or((&[0; N], &[]));
        self.0 = rest;
        *first
    }

    pub(super) fn number(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    pub(super) fn sender(&mut self) -> Sender {
        Sender { process: self.number(), device: self.bytes() }
    }
}

fn checksum(bytes: &[u8]) -> [u8; Writer::END] {
    let hash = *blake3::hash(bytes).as_bytes();
    std::array::from_fn(|index| hash[index])
}

/// A text of fixed length, truncated or padded with zeros.
pub(super) fn text<const N: usize>(text: &str) -> [u8; N] {
    let bytes = text.as_bytes();
    std::array::from_fn(|index| bytes.get(index).copied().unwrap_or(0))
}

pub(super) fn from_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned()
}

/// The bytes as C's `char`s.
pub(super) fn to_c(bytes: [u8; HANDLE]) -> [c_char; HANDLE] {
    bytes.map(|byte| byte as c_char)
}

pub(super) fn from_c(bytes: [c_char; HANDLE]) -> [u8; HANDLE] {
    bytes.map(|byte| byte as u8)
}
