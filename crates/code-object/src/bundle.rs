//! Offload bundles: files that hold code objects for several targets (`.hipfb`, `.hip_fatbin` sections, `.co`
//! of libraries).
//!
//! clang writes `__CLANG_OFFLOAD_BUNDLE__` and a list of entries. With `--offload-compress` it packs that by
//! zlib or Zstandard (`CCOB`). [`code_for`] takes a bundle of either kind, or a plain code object, and
//! returns the code that fits a device best. [`bundle`] writes one, and [`compressed`] packs it. A bundle may
//! also hold code for NVIDIA GPUs, which AMD's libraries skip: [`cuda_id`] names it, and [`cuda_code_for`]
//! returns it. [`extent`]
//! finds the length of a file when only its address is known, as in HIP's C
//! functions. It never exceeds the length of a file that [`CodeObject::parse`](crate::CodeObject::parse)
//! accepts.

mod compressed;
mod extent;
mod md5;

use std::borrow::Cow;

pub use compressed::{COMPRESSED_MAGIC, compressed, of_zstandard, uncompressed};
pub use extent::{Extent, extent};

use crate::cuda_arch::fit;
use crate::embedded::CudaKind;
use crate::{Error, TargetId};

/// What a bundle that is not compressed begins with.
pub const MAGIC: &[u8; 24] = b"__CLANG_OFFLOAD_BUNDLE__";
/// A bundle has at most so many entries.
const MOST_ENTRIES: u64 = 4096;
/// The largest file or content that is read, in bytes.
const LARGEST: u64 = 4 << 30;
/// Offset, size and length of the name come before each entry's name.
const ENTRY_HEAD: usize = 24;

/// One file in a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Kind, triple and target id: `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-`,
    /// `host-x86_64-unknown-linux-gnu-`.
    pub id: &'a str,
    /// The file.
    pub bytes: &'a [u8],
}

impl Entry<'_> {
    /// The target of the entry, if it is HIP code for an AMD GPU.
    #[must_use]
    pub fn target(&self) -> Option<TargetId> {
        let triple = self.id.strip_prefix("hipv4-").or_else(|| self.id.strip_prefix("hip-"))?;
        if triple.starts_with("amdgcn-") { triple.parse().ok() } else { None }
    }

    /// The architecture (`sm_90a`) and the form of the entry, if it is code for NVIDIA GPUs.
    #[must_use]
    pub fn cuda_target(&self) -> Option<(String, CudaKind)> {
        let name = self.id.strip_prefix(CUDA)?;
        match name.strip_prefix("compute_") {
            Some(number) => Some((format!("sm_{number}"), CudaKind::Ptx)),
            None => name.starts_with("sm_").then(|| (name.to_owned(), CudaKind::Cubin)),
        }
    }
}

/// What the names of entries for NVIDIA GPUs begin with, as clang writes them.
const CUDA: &str = "cuda-nvptx64-nvidia-cuda--";

/// The name of an entry with code for NVIDIA GPUs of an architecture (`sm_90a`). As nvcc does, it calls
/// machine code `sm_90a` and PTX `compute_90a`.
///
/// ```
/// use code_object::bundle::cuda_id;
/// use code_object::embedded::CudaKind;
///
/// assert_eq!(cuda_id("sm_90a", CudaKind::Ptx), "cuda-nvptx64-nvidia-cuda--compute_90a");
/// ```
#[must_use]
pub fn cuda_id(arch: &str, kind: CudaKind) -> String {
    match (kind, arch.strip_prefix("sm_")) {
        (CudaKind::Ptx, Some(number)) => format!("{CUDA}compute_{number}"),
        _ => format!("{CUDA}{arch}"),
    }
}

fn bad(what: impl Into<String>) -> Error {
    Error::Bundle { what: what.into() }
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..at.checked_add(8)?)?.first_chunk()?))
}

/// A number that counts bytes.
fn size_at(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u64_at(bytes, at).filter(|&size| size <= LARGEST)?).ok()
}

/// Whether these bytes begin like a bundle, compressed or not. The bundle may still be damaged.
#[must_use]
pub fn is_bundle(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) || bytes.starts_with(COMPRESSED_MAGIC)
}

/// How many entries a bundle says it has.
fn count(bundle: &[u8]) -> Result<u64, Error> {
    let count = u64_at(bundle, MAGIC.len()).ok_or_else(|| bad("an offload bundle that is cut off"))?;
    if count > MOST_ENTRIES {
        return Err(bad(format!("an offload bundle that claims {count} entries")));
    }
    Ok(count)
}

/// The entries of a bundle that is not compressed, in its order.
///
/// # Errors
/// [`Error::Bundle`] if this is not a bundle, or an entry is not inside it.
pub fn entries(bundle: &[u8]) -> Result<Vec<Entry<'_>>, Error> {
    if !bundle.starts_with(MAGIC) {
        return Err(bad("no offload bundle"));
    }
    let cut = || bad("an offload bundle that is cut off");
    let mut at = MAGIC.len() + 8;
    let mut entries = Vec::new();
    for _ in 0..count(bundle)? {
        let [offset, size, length] = [0, 8, 16].map(|field| size_at(bundle, at + field));
        let (offset, size, length) =
            (offset.ok_or_else(cut)?, size.ok_or_else(cut)?, length.ok_or_else(cut)?);
        let name = at + ENTRY_HEAD;
        let id = bundle.get(name..name.saturating_add(length)).ok_or_else(cut)?;
        let id = std::str::from_utf8(id)
            .map_err(|_| bad("an entry of an offload bundle whose name is no text"))?;
        let bytes = bundle.get(offset..offset.saturating_add(size)).ok_or_else(cut)?;
        entries.push(Entry { id, bytes });
        at = name + length;
    }
    Ok(entries)
}

/// Where an entry that is not empty begins: at a multiple of this many bytes, so that a loader can map it.
const ALIGNMENT: usize = 4096;

/// A bundle of these entries, not compressed. Equal entries give equal bytes.
///
/// ```
/// use code_object::bundle::{Entry, bundle, entries};
///
/// let host = Entry { id: "host-x86_64-unknown-linux-gnu-", bytes: b"" };
/// let code = Entry { id: "hipv4-amdgcn-amd-amdhsa--gfx1100", bytes: b"code" };
/// assert_eq!(entries(&bundle(&[host, code]))?, [host, code]);
/// # Ok::<(), code_object::Error>(())
/// ```
#[must_use]
pub fn bundle(entries: &[Entry<'_>]) -> Vec<u8> {
    let heads: usize = entries.iter().map(|entry| ENTRY_HEAD + entry.id.len()).sum();
    let mut end = MAGIC.len() + 8 + heads;
    let mut file = MAGIC.to_vec();
    file.extend((entries.len() as u64).to_le_bytes());
    let mut offsets = Vec::with_capacity(entries.len());
    for Entry { id, bytes } in entries {
        let offset = if bytes.is_empty() { end } else { end.next_multiple_of(ALIGNMENT) };
        for number in [offset, bytes.len(), id.len()] {
            file.extend((number as u64).to_le_bytes());
        }
        file.extend(id.as_bytes());
        offsets.push(offset);
        end = offset + bytes.len();
    }
    for (Entry { bytes, .. }, offset) in entries.iter().zip(offsets) {
        file.resize(offset, 0);
        file.extend_from_slice(bytes);
    }
    file
}

/// The code object for a device. In a bundle, compressed or not, this is the entry that fits best: first one
/// for the exact target id, then one for the processor, then one for its generic processor. Bytes that are
/// not a bundle are returned unchanged. Nothing is copied, unless the bundle is compressed: then all of it is
/// [unpacked](uncompressed) and only the entry is kept.
///
/// # Errors
/// [`Error::NoCode`] if nothing in the bundle fits; it lists what there is. [`Error::Bundle`] if the bundle
/// cannot be read.
pub fn code_for<'a>(bytes: &'a [u8], device: &TargetId) -> Result<Cow<'a, [u8]>, Error> {
    take(bytes, |bundle| best(bundle, device))
}

/// The code for an NVIDIA GPU, by its architecture (`sm_90`). In a bundle, compressed or not, this is the
/// entry that fits best, chosen [as in an embedded
/// module](crate::embedded::Module::for_cuda_device). Bytes that are not a bundle are returned unchanged.
///
/// # Errors
/// As [`code_for`].
pub fn cuda_code_for<'a>(bytes: &'a [u8], device: &str) -> Result<Cow<'a, [u8]>, Error> {
    take(bytes, |bundle| {
        let entries = entries(bundle)?;
        let fit = |entry: &Entry<'_>| {
            let (arch, kind) = entry.cuda_target()?;
            fit(&arch, kind == CudaKind::Cubin, device)
        };
        let best = entries.iter().filter(|entry| fit(entry).is_some()).max_by_key(|entry| fit(entry));
        best.map(|entry| entry.bytes).ok_or_else(|| no_code(device, &entries))
    })
}

/// As [`code_for`], but in a bundle only the code object for exactly this target, as [`TargetId`] prints it.
///
/// # Errors
/// As [`code_for`].
pub(crate) fn code_of<'a>(bytes: &'a [u8], target: &str) -> Result<Cow<'a, [u8]>, Error> {
    take(bytes, |bundle| {
        let entries = entries(bundle)?;
        let is_it = |entry: &&Entry<'_>| entry.target().is_some_and(|id| id.to_string() == target);
        entries.iter().find(is_it).map(|entry| entry.bytes).ok_or_else(|| no_code(target, &entries))
    })
}

/// As [`cuda_code_for`], but in a bundle only the code of exactly this architecture and form.
///
/// # Errors
/// As [`code_for`].
pub(crate) fn cuda_code_of<'a>(bytes: &'a [u8], arch: &str, kind: CudaKind) -> Result<Cow<'a, [u8]>, Error> {
    let id = cuda_id(arch, kind);
    take(bytes, |bundle| {
        let entries = entries(bundle)?;
        let found = entries.iter().find(|entry| entry.id == id).map(|entry| entry.bytes);
        found.ok_or_else(|| no_code(&cuda_name(arch, kind), &entries))
    })
}

/// The entry of a bundle, compressed or not, that `choose` picks. Bytes that are not a bundle are returned
/// unchanged.
fn take<'a>(
    bytes: &'a [u8],
    choose: impl for<'b> Fn(&'b [u8]) -> Result<&'b [u8], Error>,
) -> Result<Cow<'a, [u8]>, Error> {
    if bytes.starts_with(COMPRESSED_MAGIC) {
        let bundle = uncompressed(bytes)?;
        return choose(&bundle).map(|code| code.to_vec().into());
    }
    if bytes.starts_with(MAGIC) {
        return choose(bytes).map(Cow::from);
    }
    Ok(bytes.into())
}

fn best<'a>(bundle: &'a [u8], device: &TargetId) -> Result<&'a [u8], Error> {
    let entries = entries(bundle)?;
    let mut best = None;
    for entry in &entries {
        let fit = entry.target().and_then(|target| target.fit(device));
        if fit.is_some() && fit > best.and_then(|(fit, _)| fit) {
            best = Some((fit, entry.bytes));
        }
    }
    best.map(|(_, bytes)| bytes).ok_or_else(|| no_code(&device.to_string(), &entries))
}

/// Code for NVIDIA GPUs in messages.
fn cuda_name(arch: &str, kind: CudaKind) -> String {
    match kind {
        CudaKind::Ptx => format!("{arch} (PTX)"),
        CudaKind::Cubin => arch.to_owned(),
    }
}

fn no_code(device: &str, entries: &[Entry<'_>]) -> Error {
    let name = |entry: &Entry<'_>| match (entry.target(), entry.cuda_target()) {
        (Some(target), _) => Some(target.to_string()),
        (None, Some((arch, kind))) => Some(cuda_name(&arch, kind)),
        (None, None) => None,
    };
    let available = entries.iter().filter_map(name).collect();
    Error::NoCode { device: device.to_owned(), available }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bundle with these entries and no padding between them.
    pub(super) fn bundle(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut head = MAGIC.to_vec();
        head.extend((entries.len() as u64).to_le_bytes());
        let mut at = head.len() + entries.iter().map(|(name, _)| ENTRY_HEAD + name.len()).sum::<usize>();
        let mut body: Vec<u8> = Vec::new();
        for (name, bytes) in entries {
            head.extend((at as u64).to_le_bytes());
            head.extend((bytes.len() as u64).to_le_bytes());
            head.extend((name.len() as u64).to_le_bytes());
            head.extend(name.as_bytes());
            body.extend(*bytes);
            at += bytes.len();
        }
        head.extend(body);
        head
    }

    fn device(text: &str) -> TargetId {
        text.parse().unwrap()
    }

    const ENTRIES: &[(&str, &[u8])] = &[
        ("host-x86_64-unknown-linux-gnu-", b""),
        ("hipv4-amdgcn-amd-amdhsa--gfx11-generic", b"generic"),
        ("hipv4-amdgcn-amd-amdhsa--gfx1100", b"exact"),
        ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", b"other"),
    ];

    #[test]
    fn the_best_fitting_entry_of_a_bundle_is_taken() {
        let plain = bundle(ENTRIES);
        let packed = compressed::tests::file(3, &plain);
        for bytes in [&plain, &packed] {
            let code = |name: &str| code_for(bytes, &device(name)).unwrap().into_owned();
            assert_eq!(code("gfx1100"), b"exact");
            assert_eq!(code("gfx1101"), b"generic");
            assert_eq!(code("gfx90a:sramecc+:xnack-"), b"other");
        }
        assert!(matches!(code_for(&plain, &device("gfx1100")), Ok(Cow::Borrowed(_))), "nothing is copied");
    }

    #[test]
    fn a_bundle_without_code_for_a_device_says_what_it_has() {
        let error = code_for(&bundle(ENTRIES), &device("gfx1030")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no code for gfx1030: there is code for gfx11-generic, gfx1100, gfx90a:xnack-"
        );
        let error = code_for(&bundle(&ENTRIES[..1]), &device("gfx1030")).unwrap_err();
        assert_eq!(error.to_string(), "no code for gfx1030: there is code for no GPU");
    }

    #[test]
    fn code_for_nvidia_stands_beside_that_for_amd() {
        let names = [("sm_80", CudaKind::Ptx), ("sm_80", CudaKind::Cubin), ("sm_90a", CudaKind::Cubin)];
        let ids: Vec<String> = names.iter().map(|(arch, kind)| cuda_id(arch, *kind)).collect();
        let mut all = ENTRIES.to_vec();
        all.extend(
            ids.iter().zip([&b"ptx"[..], b"cubin", b"hopper"]).map(|(id, bytes)| (id.as_str(), bytes)),
        );
        let plain = bundle(&all);
        let found = entries(&plain).unwrap();
        for (entry, (arch, kind)) in found[ENTRIES.len()..].iter().zip(names) {
            assert_eq!(entry.cuda_target(), Some((arch.to_owned(), kind)));
            assert!(entry.target().is_none());
        }
        let packed = compressed::tests::file(3, &plain);
        for bytes in [&plain, &packed] {
            let code = |arch: &str| cuda_code_for(bytes, arch).map(Cow::into_owned);
            assert_eq!(code("sm_90").unwrap(), b"hopper");
            assert_eq!(code("sm_89").unwrap(), b"cubin");
            assert_eq!(code("sm_100").unwrap(), b"ptx");
            assert_eq!(code_for(bytes, &device("gfx1101")).unwrap(), &b"generic"[..]);
        }
        let error = cuda_code_for(&plain, "sm_75").unwrap_err().to_string();
        assert!(error.ends_with("gfx90a:xnack-, sm_80 (PTX), sm_80, sm_90a"), "{error}");
        assert_eq!(cuda_code_for(b"\x7fELF", "sm_75").unwrap(), &b"\x7fELF"[..]);
    }

    #[test]
    fn entries_are_listed_in_order() {
        let bytes = bundle(ENTRIES);
        let found: Vec<_> =
            entries(&bytes).unwrap().into_iter().map(|entry| (entry.id, entry.bytes)).collect();
        assert_eq!(found, ENTRIES);
        assert!(entries(&bytes).unwrap()[0].target().is_none());
        assert!(entries(b"hello").is_err());
    }

    #[test]
    fn written_entries_are_read_again_and_begin_at_pages() {
        let written: Vec<_> = ENTRIES.iter().map(|&(id, bytes)| Entry { id, bytes }).collect();
        let file = super::bundle(&written);
        let found = entries(&file).unwrap();
        assert_eq!(found, written);
        for entry in found.iter().filter(|entry| !entry.bytes.is_empty()) {
            assert_eq!((entry.bytes.as_ptr().addr() - file.as_ptr().addr()) % ALIGNMENT, 0, "{}", entry.id);
        }
        assert_eq!(code_for(&file, &device("gfx1101")).unwrap(), &b"generic"[..]);
        assert_eq!(extent(&file).unwrap(), Extent::Bytes(file.len()));
        assert_eq!(entries(&super::bundle(&[])).unwrap(), []);
    }

    #[test]
    fn a_truncated_bundle_is_an_error_at_every_length() {
        let bytes = bundle(&ENTRIES[1..]);
        for length in MAGIC.len()..bytes.len() {
            assert!(code_for(&bytes[..length], &device("gfx1100")).is_err(), "{length}");
        }
    }

    #[test]
    fn numbers_that_cannot_be_are_errors() {
        let whole = bundle(&ENTRIES[2..]);
        for (at, what) in [(24, "entries"), (32, "cut off"), (40, "cut off"), (48, "cut off")] {
            let mut bytes = whole.clone();
            bytes[at..at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
            let error = entries(&bytes).unwrap_err().to_string();
            assert!(error.contains(what), "{at}: {error}");
        }
    }

    #[test]
    fn what_is_no_bundle_is_given_back() {
        assert_eq!(code_for(b"\x7fELF...", &device("gfx1100")).unwrap(), &b"\x7fELF..."[..]);
        assert!(!is_bundle(b"\x7fELF") && is_bundle(MAGIC) && is_bundle(COMPRESSED_MAGIC));
    }
}
