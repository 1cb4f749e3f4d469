//! Unique ids: they name the file that the ranks of a communicator share, and the host that it is on.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rccl_sys::ncclUniqueId;

use crate::error::{Failure, Result};

/// Where the ranks' files are, for machines without `/dev/shm`.
const SHARED_MEMORY: &str = "/dev/shm";
const MAGIC: [u8; 8] = *b"frcm-id1";
const FOLDER: usize = 40;

/// What an id says: 8 bytes that tell it from AMD's, the host, the name, and the folder, ended by a zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Id {
    host: u64,
    name: u128,
    folder: PathBuf,
}

impl Id {
    /// A new one, of this host.
    pub(crate) fn fresh() -> Result<Self> {
        let mut name = [0; 16];
        File::open("/dev/urandom")
            .and_then(|mut file| file.read_exact(&mut name))
            .map_err(|error| Failure::system("cannot read /dev/urandom", error))?;
        let folder = folder();
        let room = size_of::<ncclUniqueId>() - FOLDER - 1;
        if folder.as_os_str().len() > room {
            let text = format!("the path {} is too long: {room} bytes at most", folder.display());
            return Err(Failure::argument(text));
        }
        Ok(Self { host: host(), name: u128::from_ne_bytes(name), folder })
    }

    pub(crate) fn of(raw: &ncclUniqueId) -> Result<Self> {
        let bytes = raw.internal.map(|byte| byte as u8);
        let number = |at: usize| bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        if bytes[..8] != MAGIC {
            return Err(Failure::argument("the unique id was not made by this library's ncclGetUniqueId"));
        }
        let folder = bytes[FOLDER..].split(|byte| *byte == 0).next().unwrap_or_default();
        let folder = PathBuf::from(std::ffi::OsString::from_vec(folder.to_vec()));
        let name = u128::from(number(16)) | u128::from(number(24)) << 64;
        Ok(Self { host: number(8), name, folder })
    }

    pub(crate) fn raw(&self) -> ncclUniqueId {
        let mut bytes = [0; size_of::<ncclUniqueId>()];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.host.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.name.to_le_bytes());
        let folder = self.folder.as_os_str().as_bytes();
        bytes[FOLDER..FOLDER + folder.len()].copy_from_slice(folder);
        ncclUniqueId { internal: bytes.map(|byte| byte as _) }
    }

    /// The id of a part of this one's ranks, the same for all who ask with the same words.
    pub(crate) fn part(&self, words: &[u64]) -> Self {
        Self { name: hash(words.iter().flat_map(|word| word.to_le_bytes()), self.name), ..self.clone() }
    }

    /// The file. It is an error if it is another host's.
    pub(crate) fn path(&self) -> Result<PathBuf> {
        if self.host != host() {
            return Err(Failure::new(
                rccl_sys::ncclResult_t::ncclSystemError,
                "the unique id is another host's: this implementation connects ranks of one host only",
            ));
        }
        Ok(self.folder.join(format!("ferrocm-rccl-{:032x}", self.name)))
    }
}

fn folder() -> PathBuf {
    match variables::RCCL_FOLDER.path() {
        Some(folder) => folder,
        _ if Path::new(SHARED_MEMORY).is_dir() => SHARED_MEMORY.into(),
        _ => std::env::temp_dir(),
    }
}

/// What tells this host, since it was started, from others.
fn host() -> u64 {
    static HOST: OnceLock<u64> = OnceLock::new();
    *HOST.get_or_init(|| {
        let boot = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        hash(boot.into_iter(), 0) as u64
    })
}

/// FNV-1a.
fn hash(bytes: impl Iterator<Item = u8>, seed: u128) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.fold(BASIS ^ seed, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
pub(crate) fn fresh_path_for_tests() -> PathBuf {
    Id::fresh().unwrap().path().unwrap()
}

#[cfg(test)]
mod tests {
    use rccl_sys::ncclResult_t;

    use super::*;

    #[test]
    fn an_id_survives_its_bytes_and_no_two_are_the_same() {
        let id = Id::fresh().unwrap();
        assert_eq!(Id::of(&id.raw()).unwrap(), id);
        assert_ne!(Id::fresh().unwrap(), id);
        assert_eq!(id.path().unwrap().parent(), Some(id.folder.as_path()));
    }

    #[test]
    fn parts_differ_by_their_words_and_their_whole() {
        let id = Id::fresh().unwrap();
        assert_eq!(id.part(&[1, 2]), id.part(&[1, 2]));
        assert_ne!(id.part(&[1, 2]), id.part(&[2, 1]));
        assert_ne!(id.part(&[1, 2]), Id::fresh().unwrap().part(&[1, 2]));
    }

    #[test]
    fn foreign_ids_are_refused() {
        let foreign = Id::of(&ncclUniqueId { internal: [5; 128] }).unwrap_err();
        assert_eq!(foreign.code, ncclResult_t::ncclInvalidArgument);
        let far = Id { host: host() ^ 1, ..Id::fresh().unwrap() };
        assert_eq!(far.path().unwrap_err().code, ncclResult_t::ncclSystemError);
    }
}
