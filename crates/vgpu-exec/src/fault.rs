//! What a wave reports when an instruction fails.

use gpu_report::FaultKind;

/// Another instruction that has a part in a fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Elsewhere {
    /// What it did.
    pub what: &'static str,
    /// Its address.
    pub address: u64,
    /// The wave in its workgroup.
    pub wave: u32,
    /// The lane, where one is to blame.
    pub lane: Option<u8>,
}

/// What a wave reports when an instruction fails; the dispatch adds where that was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaveFault {
    /// What went wrong.
    pub kind: FaultKind,
    /// The lane, where one lane is to blame.
    pub lane: Option<u8>,
    /// The other instruction, where two are to blame.
    pub other: Option<Elsewhere>,
}

impl From<FaultKind> for WaveFault {
    fn from(kind: FaultKind) -> Self {
        WaveFault { kind, lane: None, other: None }
    }
}
