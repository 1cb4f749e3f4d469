//! What a wave reports when an instruction fails.

use gpu_report::FaultKind;

/// Another instruction that is involved in a fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Elsewhere {
    /// What it did.
    pub what: &'static str,
    /// Its address.
    pub address: u64,
    /// The wave in its workgroup.
    pub wave: u32,
    /// The lane, if a single one is to blame.
    pub lane: Option<u8>,
}

/// What a wave reports when an instruction fails; the dispatch adds the position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaveFault {
    /// What went wrong.
    pub kind: FaultKind,
    /// The lane, if a single one is to blame.
    pub lane: Option<u8>,
    /// The other instruction, if two are to blame.
    pub other: Option<Elsewhere>,
}

impl From<FaultKind> for WaveFault {
    fn from(kind: FaultKind) -> Self {
        WaveFault { kind, lane: None, other: None }
    }
}
