//! The protocol in which a rank asks rank 0 for the id.
//!
//! | sender | message |
//! |---|---|
//! | the rank | [`Hello`]: its rank, the number of ranks, and a random number |
//! | rank 0 | a random number of its own, and a proof that it knows the job's key |
//! | the rank | a proof that it knows the key, too |
//! | rank 0 | an [`Answer`]: the id, or the reason for refusing |
//! | the rank | [`GOT`] |
//!
//! The proofs, and the mask that hides the id, are derived from the key and both random numbers with keyed
//! BLAKE3, so nothing can be replayed. A caller without the key gets one proof, against which it can test
//! guesses of the key, and nothing else.
//!
//! Nothing here waits, or does input or output.

use std::collections::BTreeSet;

use crate::communicator::UniqueId;

pub(super) type Id = [u8; UniqueId::SIZE];
type Nonce = [u8; 32];

const MAGIC: [u8; 8] = *b"frcm-rv2";
pub(super) const HELLO: usize = 56;
pub(super) const CHALLENGE: usize = 64;
pub(super) const PROOF: usize = 32;
pub(super) const ANSWER: usize = 1 + UniqueId::SIZE + 32;
/// A rank's confirmation that it has the id.
pub(super) const GOT: u8 = 1;

/// The key that the ranks of a job share. With a secret, nobody else knows it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key(blake3::Hash);

impl Key {
    /// Makes the key from a job's name, and secrets that may be empty.
    pub(super) fn of(job: &str, secrets: [&str; 2]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("ferrocm rccl: rendezvous of a job");
        for part in [job, secrets[0], secrets[1]] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        Self(hasher.finalize())
    }

    fn session(&self, hello: &[u8; HELLO], nonce: &Nonce) -> Session {
        let mut hasher = blake3::Hasher::new_keyed(self.0.as_bytes());
        Session(*hasher.update(hello).update(nonce).finalize().as_bytes())
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(…)")
    }
}

/// The shared state of one conversation.
struct Session([u8; 32]);

impl Session {
    fn word(&self, purpose: &str, bytes: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(purpose.as_bytes()).update(bytes).finalize()
    }

    fn proof_of_rank_0(&self) -> blake3::Hash {
        self.word("rank 0", &[])
    }

    fn proof_of_rank(&self) -> blake3::Hash {
        self.word("another rank", &[])
    }

    /// Masks the id for the network, or unmasks it.
    fn hide(&self, id: &Id) -> Id {
        let mut mask = [0; UniqueId::SIZE];
        blake3::Hasher::new_keyed(&self.0).update(b"id").finalize_xof().fill(&mut mask);
        std::array::from_fn(|at| id[at] ^ mask[at])
    }

    fn seal(&self, code: u8, hidden: &Id) -> [u8; ANSWER] {
        let mut bytes = [0; ANSWER];
        bytes[0] = code;
        bytes[1..1 + UniqueId::SIZE].copy_from_slice(hidden);
        let seal = self.word("answer", &bytes[..1 + UniqueId::SIZE]);
        bytes[1 + UniqueId::SIZE..].copy_from_slice(seal.as_bytes());
        bytes
    }
}

/// The other end does not know the job's key, or does not speak this protocol.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stranger;

/// Why rank 0 refuses a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Refusal {
    OtherSize = 1,
    Taken = 2,
}

const HERE: u8 = 0;

/// What a rank says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hello {
    size: u64,
    rank: u64,
    nonce: Nonce,
}

impl Hello {
    fn encode(&self) -> [u8; HELLO] {
        let mut bytes = [0; HELLO];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.size.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.rank.to_le_bytes());
        bytes[24..].copy_from_slice(&self.nonce);
        bytes
    }

    fn decode(bytes: &[u8; HELLO]) -> Option<Self> {
        let word = |at: usize| bytes[at..].first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        let nonce = *bytes[24..].first_chunk()?;
        let found = Self { size: word(8)?, rank: word(16)?, nonce };
        (bytes[..8] == MAGIC).then_some(found)
    }
}

/// A rank that asks for the id.
pub(super) struct Asks {
    key: Key,
    hello: [u8; HELLO],
}

impl Asks {
    pub(super) fn new(key: &Key, size: usize, rank: usize, nonce: Nonce) -> Self {
        let hello = Hello { size: size as u64, rank: rank as u64, nonce };
        Self { key: key.clone(), hello: hello.encode() }
    }

    pub(super) fn hello(&self) -> [u8; HELLO] {
        self.hello
    }

    /// Checks rank 0's proof, and returns this rank's.
    pub(super) fn prove(self, challenge: &[u8; CHALLENGE]) -> Result<(Proved, [u8; PROOF]), Stranger> {
        let (nonce, proof) = challenge.split_first_chunk::<32>().ok_or(Stranger)?;
        let session = self.key.session(&self.hello, nonce);
        let proof: &[u8; 32] = proof.first_chunk().ok_or(Stranger)?;
        if session.proof_of_rank_0() != *proof {
            return Err(Stranger);
        }
        let own = *session.proof_of_rank().as_bytes();
        Ok((Proved(session), own))
    }
}

/// A rank that has proved itself to rank 0.
pub(super) struct Proved(Session);

impl Proved {
    pub(super) fn hear(&self, answer: &[u8; ANSWER]) -> Result<Result<Id, Refusal>, Stranger> {
        let hidden: &Id = answer[1..].first_chunk().ok_or(Stranger)?;
        let seal: &[u8; 32] = answer.last_chunk().ok_or(Stranger)?;
        if self.0.word("answer", &answer[..1 + UniqueId::SIZE]) != *seal {
            return Err(Stranger);
        }
        match answer[0] {
            HERE => Ok(Ok(self.0.hide(hidden))),
            1 => Ok(Err(Refusal::OtherSize)),
            2 => Ok(Err(Refusal::Taken)),
            _ => Err(Stranger),
        }
    }
}

/// The id that rank 0 offers, and the ranks that still need it.
pub(super) struct Offer<'a> {
    pub(super) key: &'a Key,
    pub(super) size: usize,
    pub(super) id: Id,
    /// Ranks that do not have the id yet.
    pub(super) missing: BTreeSet<usize>,
}

/// A caller of rank 0, as a state machine.
pub(super) struct Caller {
    nonce: Nonce,
    state: State,
    heard: Vec<u8>,
}

enum State {
    /// It has sent nothing.
    New,
    /// It has named its rank, unproved.
    Claims(Hello, Session),
    /// It has proved its rank, and was sent the id.
    Proved(usize),
    /// The conversation is over.
    Done,
}

impl Caller {
    pub(super) fn new(nonce: Nonce) -> Self {
        Self { nonce, state: State::New, heard: Vec::new() }
    }

    /// Whether it has proved that it is a rank of the job.
    pub(super) fn is_proved(&self) -> bool {
        matches!(self.state, State::Proved(_) | State::Done)
    }

    /// Whether it was refused, or has confirmed the id.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Takes received bytes, and returns the bytes to send back.
    pub(super) fn hear(&mut self, bytes: &[u8], offer: &mut Offer<'_>) -> Result<Vec<u8>, Stranger> {
        self.heard.extend_from_slice(bytes);
        let mut said = Vec::new();
        loop {
            match std::mem::replace(&mut self.state, State::Done) {
                State::New => {
                    let Some(bytes) = self.take::<HELLO>() else {
                        self.state = State::New;
                        break;
                    };
                    let hello = Hello::decode(&bytes).ok_or(Stranger)?;
                    let session = offer.key.session(&bytes, &self.nonce);
                    said.extend_from_slice(&self.nonce);
                    said.extend_from_slice(session.proof_of_rank_0().as_bytes());
                    self.state = State::Claims(hello, session);
                }
                State::Claims(hello, session) => {
                    let Some(bytes) = self.take::<PROOF>() else {
                        self.state = State::Claims(hello, session);
                        break;
                    };
                    if session.proof_of_rank() != bytes {
                        return Err(Stranger);
                    }
                    let rank = usize::try_from(hello.rank).ok().filter(|rank| offer.missing.contains(rank));
                    let (code, id) = match rank {
                        _ if hello.size != offer.size as u64 => (Refusal::OtherSize as u8, None),
                        None => (Refusal::Taken as u8, None),
                        Some(_) => (HERE, Some(session.hide(&offer.id))),
                    };
                    said.extend_from_slice(&session.seal(code, &id.unwrap_or([0; UniqueId::SIZE])));
                    if let (Some(rank), Some(_)) = (rank, id) {
                        self.state = State::Proved(rank);
                    }
                }
                State::Proved(rank) => {
                    let Some([word]) = self.take::<1>() else {
                        self.state = State::Proved(rank);
                        break;
                    };
                    if word != GOT {
                        return Err(Stranger);
                    }
                    offer.missing.remove(&rank);
                }
                State::Done => break,
            }
        }
        Ok(said)
    }

    /// Takes the next unread bytes that it has sent.
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = *self.heard.first_chunk()?;
        self.heard.drain(..N);
        Some(bytes)
    }
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod any_input;
#[cfg(test)]
mod tests;
