//! Unique ids: with them, the ranks of a communicator find each other.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::sync::OnceLock;

use rccl_sys::{ncclResult_t, ncclUniqueId};

use crate::error::{Failure, Result};

const SIZE: usize = size_of::<ncclUniqueId>();
const MAGIC: [u8; 8] = *b"frcm-id2";
/// The offsets of the parts of an id, after the magic number. The rest is zeros.
const BOOT: usize = 8;
const NETWORK: usize = 16;
const SECRET: usize = 24;
const END: usize = SECRET + 32;

/// The contents of an id: the host, the network namespace, and a random number from which the socket's name
/// is derived.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Id {
    place: Place,
    secret: [u8; 32],
}

/// The processes that can reach each other through abstract sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    /// Identifies this host since its boot.
    boot: u64,
    network: u64,
}

impl Id {
    /// A new id on this host.
    pub(crate) fn fresh() -> Result<Self> {
        let mut secret = [0; 32];
        File::open("/dev/urandom")
            .and_then(|mut file| file.read_exact(&mut secret))
            .map_err(|error| Failure::system("cannot read /dev/urandom", error))?;
        Ok(Self { place: here(), secret })
    }

    pub(crate) fn of(raw: &ncclUniqueId) -> Result<Self> {
        let bytes = raw.internal.map(|byte| byte as u8);
        let number = |at: usize| bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let (Some(secret), true, true) = (
            bytes[SECRET..].first_chunk(),
            bytes[..BOOT] == MAGIC,
            bytes[END..].iter().all(|byte| *byte == 0),
        ) else {
            return Err(Failure::argument("the unique id was not made by this library's ncclGetUniqueId"));
        };
        Ok(Self { place: Place { boot: number(BOOT), network: number(NETWORK) }, secret: *secret })
    }

    pub(crate) fn raw(&self) -> ncclUniqueId {
        let mut bytes = [0; SIZE];
        bytes[..BOOT].copy_from_slice(&MAGIC);
        bytes[BOOT..NETWORK].copy_from_slice(&self.place.boot.to_le_bytes());
        bytes[NETWORK..SECRET].copy_from_slice(&self.place.network.to_le_bytes());
        bytes[SECRET..END].copy_from_slice(&self.secret);
        ncclUniqueId { internal: bytes.map(|byte| byte as _) }
    }

    /// The id of a part of this id's ranks. It is the same for all who pass the same words.
    pub(crate) fn part(&self, words: &[u64]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("ferrocm rccl: part of a communicator");
        hasher.update(&self.secret);
        for word in words {
            hasher.update(&word.to_le_bytes());
        }
        Self { place: self.place, secret: *hasher.finalize().as_bytes() }
    }

    /// The name of the ranks' socket, which does not reveal the id. Fails if this process cannot reach the
    /// id's ranks.
    pub(crate) fn socket(&self) -> Result<String> {
        let here = here();
        let problem = match self.place {
            place if place == here => {
                let name = blake3::derive_key("ferrocm rccl: socket of a communicator", &self.secret);
                return Ok(format!("ferrocm-rccl-{}", blake3::Hash::from(name).to_hex()));
            }
            place if place.boot == here.boot => {
                "from another network namespace; containers of a host must share the network for their ranks to connect"
            }
            _ => "from another host; this implementation connects only ranks of one host",
        };
        Err(Failure::new(ncclResult_t::ncclSystemError, format!("the unique id is {problem}")))
    }
}

impl std::fmt::Debug for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Id").field("place", &self.place).finish_non_exhaustive()
    }
}

fn here() -> Place {
    static HERE: OnceLock<Place> = OnceLock::new();
    *HERE.get_or_init(|| {
        let boot = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let boot = blake3::hash(&boot);
        let network = std::fs::metadata("/proc/self/ns/net").map_or(0, |network| network.ino());
        Place { boot: boot.as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)), network }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_id_survives_its_bytes_and_no_two_are_the_same() {
        let id = Id::fresh().unwrap();
        assert_eq!(Id::of(&id.raw()).unwrap(), id);
        assert_ne!(Id::fresh().unwrap(), id);
        assert_ne!(Id::fresh().unwrap().socket(), id.socket());
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
        let foreign = Id::of(&ncclUniqueId { internal: [5; SIZE] }).unwrap_err();
        assert_eq!(foreign.code, ncclResult_t::ncclInvalidArgument);
        let id = Id::fresh().unwrap();
        let place = Place { boot: here().boot ^ 1, ..here() };
        let far = Id { place, ..id.clone() }.socket().unwrap_err();
        assert_eq!(far.code, ncclResult_t::ncclSystemError);
        assert!(far.text.contains("another host"), "{}", far.text);
        let place = Place { network: here().network ^ 1, ..here() };
        let apart = Id { place, ..id }.socket().unwrap_err();
        assert!(apart.text.contains("another network namespace"), "{}", apart.text);
    }

    #[test]
    fn an_id_has_no_room_for_paths() {
        let mut raw = Id::fresh().unwrap().raw();
        for (to, byte) in raw.internal[40..].iter_mut().zip(*b"/tmp/a-folder-of-the-sender") {
            *to = byte as _;
        }
        assert_eq!(Id::of(&raw).unwrap_err().code, ncclResult_t::ncclInvalidArgument);
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_the_id_that_has_them(
            bytes in prop::collection::vec(any::<u8>(), SIZE),
            length in 0..=SIZE,
        ) {
            let mut given = Id::fresh().unwrap().raw().internal.map(|byte| byte as u8);
            given[..length].copy_from_slice(&bytes[..length]);
            crate::any_input::id(&given);
            given[..8].copy_from_slice(&MAGIC);
            given[END..].fill(0);
            crate::any_input::id(&given);
        }
    }
}
