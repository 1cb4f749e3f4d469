//! Why a dispatch ended early, reported so that a reader can find the line to fix.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::memory::{Allocation, MemoryKind};
use crate::source::{SourceLines, demangle};

/// What a faulting instruction tried to do with memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum AccessKind {
    /// A load.
    Read,
    /// A store.
    Write,
    /// A read-modify-write.
    Atomic,
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::Atomic => "atomic access",
        })
    }
}

/// Which memory a faulting instruction meant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Space {
    /// Memory shared with the host and other devices.
    Global,
    /// The workgroup's local data share.
    Lds,
    /// The work-item's private memory.
    Scratch,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Space::Global => "global memory",
            Space::Lds => "LDS",
            Space::Scratch => "scratch memory",
        })
    }
}

/// What went wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access to global memory that is not entirely inside one live allocation.
    OutOfBounds {
        /// Read, write or atomic.
        access: AccessKind,
        /// First byte accessed.
        address: u64,
        /// Bytes accessed.
        size: u64,
        /// The live allocation nearest to the address.
        nearest: Option<Allocation>,
    },
    /// An access to a freed allocation.
    UseAfterFree {
        /// Read, write or atomic.
        access: AccessKind,
        /// First byte accessed.
        address: u64,
        /// Bytes accessed.
        size: u64,
        /// The allocation before it was freed.
        freed: Allocation,
    },
    /// A write to memory that holds code or constants of a code object.
    ReadOnly {
        /// First byte accessed.
        address: u64,
        /// Bytes accessed.
        size: u64,
        /// The read-only memory.
        allocation: Allocation,
    },
    /// An access beyond the end of the kernel's arguments, in their last page.
    BeyondArguments {
        /// Read, write or atomic.
        access: AccessKind,
        /// First byte accessed, relative to the first argument.
        address: u64,
        /// Bytes accessed.
        size: u64,
        /// Bytes that the kernel declares.
        limit: u64,
    },
    /// An access beyond the end of the workgroup's LDS or the work-item's scratch memory.
    BeyondLimit {
        /// LDS or scratch.
        space: Space,
        /// Read, write or atomic.
        access: AccessKind,
        /// First byte accessed, relative to the start of the space.
        address: u64,
        /// Bytes accessed.
        size: u64,
        /// Bytes the space has.
        limit: u64,
    },
    /// An access whose address is not a multiple of what the hardware requires.
    Misaligned {
        /// Which memory.
        space: Space,
        /// Read, write or atomic.
        access: AccessKind,
        /// First byte accessed.
        address: u64,
        /// The alignment that the instruction requires.
        required: u64,
        /// The allocation of global memory that holds the address.
        allocation: Option<Allocation>,
    },
    /// Bytes that are not an instruction of the target.
    IllegalInstruction {
        /// The bytes at the program counter.
        bytes: Vec<u8>,
    },
    /// An instruction of the target, or a form of one, that the virtual GPU does not execute.
    Unsupported {
        /// What is not executed.
        what: String,
    },
    /// A jump to an address where the code object has no code.
    BadJump {
        /// The target of the jump.
        target: u64,
    },
    /// `s_trap`: an abort, a failed assertion or a breakpoint in the kernel.
    Trap {
        /// The trap's number; 2 is an abort.
        id: u8,
    },
    /// All waves of a workgroup wait and none can ever continue.
    EndlessBarrier {
        /// Waves that wait at a barrier.
        waiting: u32,
        /// Waves of the workgroup.
        waves: u32,
    },
    /// The dispatch ran longer than the watchdog allows (`FERROCM_VGPU_TIMEOUT`).
    Timeout {
        /// The limit in milliseconds.
        limit_ms: u64,
    },
    /// Control flow or an address depends on uninitialised bits
    /// ([`Checks::uninitialised`](crate::Checks::uninitialised)), or a value that a kernel stores does
    /// ([`Checks::outputs`](crate::Checks::outputs)).
    Uninitialised {
        /// What depends on them.
        used: Use,
        /// Where the bits come from.
        origin: Origin,
    },
    /// A barrier that not all waves of the workgroup reach ([`Checks::barriers`](crate::Checks::barriers)).
    DivergentBarrier {
        /// Waves that reached it.
        arrived: u32,
        /// Waves of the workgroup.
        waves: u32,
    },
    /// A barrier that only some lanes of a wave reach, while the others go on
    /// ([`Checks::barriers`](crate::Checks::barriers)).
    DivergentLanes {
        /// Lanes that reached it.
        arrived: u32,
        /// Lanes of the wave.
        lanes: u32,
    },
    /// Two unordered accesses to a byte of LDS, at least one of them a write
    /// ([`Checks::races`](crate::Checks::races)).
    Race {
        /// The byte, relative to the start of the workgroup's LDS.
        address: u64,
        /// The later access, where the fault is reported.
        access: AccessKind,
        /// The earlier access.
        other: AccessKind,
    },
    /// The executor itself failed: a bug in the virtual GPU, not in the kernel.
    Internal {
        /// What failed.
        what: String,
    },
}

/// What must not depend on uninitialised bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Use {
    /// A branch, a jump or EXEC.
    ControlFlow,
    /// The address of a memory access.
    Address,
    /// What is stored to global memory.
    Output,
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Use::ControlFlow => "control flow",
            Use::Address => "an address",
            Use::Output => "what is stored",
        })
    }
}

/// Where uninitialised bits come from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Origin {
    /// A register that had not been written since the wave started.
    Register {
        /// Its name.
        name: String,
    },
    /// Memory.
    Memory {
        /// Which memory.
        space: Space,
        /// First byte of the load.
        address: u64,
        /// Bytes loaded.
        size: u64,
        /// The allocation of global memory.
        allocation: Option<Allocation>,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Register { name } => write!(f, "{name}, which was never written"),
            Origin::Memory { space, address, size, allocation } => {
                write!(f, "{size} bytes of {space} at {address:#x}")?;
                match allocation {
                    Some(found) => {
                        write!(f, ", {} bytes into {}", address.saturating_sub(found.start), describe(found))
                    }
                    None => Ok(()),
                }
            }
        }
    }
}

/// The position of a wave.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Site {
    /// The program counter as an offset into the code object, as disassemblers print it.
    pub pc: u64,
    /// The function of the code object that contains the program counter: its symbol and the offset in it.
    pub function: Option<(String, u64)>,
    /// The source lines.
    pub source: SourceLines,
    /// The instruction in assembler syntax; empty if there is none.
    pub instruction: String,
    /// Workgroup id.
    pub workgroup: [u32; 3],
    /// Wave in the workgroup.
    pub wave: u32,
    /// The lane of the wave, if a single lane is meant.
    pub lane: Option<u8>,
    /// The work-item's id in the workgroup, if a single lane is meant.
    pub work_item: Option<[u32; 3]>,
}

/// The first fault of a dispatch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Fault {
    /// What went wrong.
    pub kind: FaultKind,
    /// The kernel's name.
    pub kernel: String,
    /// The target that the code was built for.
    pub target: String,
    /// The instruction that failed.
    pub at: Site,
    /// Another instruction that is involved, and how. For an endless barrier, it is where a wave waits; for a
    /// divergent barrier, where the other wave is instead, or the barrier that other lanes reached; for a
    /// data race, the other access; for an uninitialised value, the load.
    pub other: Option<(Cow<'static, str>, Box<Site>)>,
}

/// Describes an allocation: kind, size and range.
fn describe(allocation: &Allocation) -> String {
    let what = match allocation.kind {
        MemoryKind::Coarse => "device memory",
        MemoryKind::Fine => "fine-grained device memory",
        MemoryKind::Host => "host memory",
        MemoryKind::Kernarg => "kernel argument memory",
        MemoryKind::Registered => "registered host memory",
        MemoryKind::Code => "code",
        MemoryKind::Constant => "constants of a code object",
        MemoryKind::Data => "variables of a code object",
        MemoryKind::Guarded => "queues and signals of the runtime",
    };
    format!("{} bytes of {what} at {:#x}..{:#x}", allocation.size, allocation.start, allocation.end())
}

impl FaultKind {
    /// The address that was accessed, if the fault concerns one. It is an address in global memory, or
    /// relative to the start of LDS, scratch memory or the arguments.
    pub fn address(&self) -> Option<u64> {
        match self {
            FaultKind::OutOfBounds { address, .. }
            | FaultKind::UseAfterFree { address, .. }
            | FaultKind::ReadOnly { address, .. }
            | FaultKind::BeyondArguments { address, .. }
            | FaultKind::BeyondLimit { address, .. }
            | FaultKind::Misaligned { address, .. }
            | FaultKind::Race { address, .. }
            | FaultKind::Uninitialised { origin: Origin::Memory { address, .. }, .. } => Some(*address),
            _ => None,
        }
    }

    /// The allocation that contains the address, contained it, or is nearest to it.
    pub fn allocation(&self) -> Option<&Allocation> {
        match self {
            FaultKind::OutOfBounds { nearest: allocation, .. }
            | FaultKind::Misaligned { allocation, .. }
            | FaultKind::Uninitialised { origin: Origin::Memory { allocation, .. }, .. } => {
                allocation.as_ref()
            }
            FaultKind::UseAfterFree { freed: allocation, .. } | FaultKind::ReadOnly { allocation, .. } => {
                Some(allocation)
            }
            _ => None,
        }
    }
}

impl Fault {
    /// The source file and line, if the code object has them.
    pub fn line(&self) -> Option<(&str, u32)> {
        let frame = self.at.source.frame()?;
        Some((frame.file.as_deref()?, frame.line?))
    }

    /// The fault as JSON.
    pub fn to_json(&self) -> String {
        // Structs, names and numbers: this cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a fault that [`Fault::to_json`] wrote.
    ///
    /// # Errors
    /// The text is anything else.
    pub fn from_json(text: &str) -> Result<Fault, serde_json::Error> {
        serde_json::from_str(text)
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::OutOfBounds { access, address, size, nearest } => {
                write!(f, "{access} of {size} bytes at {address:#x} is outside every allocation")?;
                match nearest {
                    _ if *address < 0x1_0000 => {
                        write!(f, "\n  the address looks like a null pointer plus {address}")
                    }
                    Some(near) if *address >= near.end() => {
                        write!(f, "\n  {} bytes after the end of {}", address - near.end(), describe(near))
                    }
                    Some(near) if *address < near.start => {
                        write!(f, "\n  {} bytes before the start of {}", near.start - address, describe(near))
                    }
                    Some(near) => {
                        let over = address.saturating_add(*size).saturating_sub(near.end());
                        write!(f, "\n  the last {over} bytes are after the end of {}", describe(near))
                    }
                    None => f.write_str("\n  no memory is allocated"),
                }
            }
            FaultKind::UseAfterFree { access, address, size, freed } => {
                let offset = address.saturating_sub(freed.start);
                write!(
                    f,
                    "{access} of {size} bytes at {address:#x} after free\n  {offset} bytes into {}",
                    describe(freed)
                )
            }
            FaultKind::ReadOnly { address, size, allocation } => {
                write!(
                    f,
                    "write of {size} bytes at {address:#x} to read-only memory\n  {}",
                    describe(allocation)
                )
            }
            FaultKind::BeyondArguments { access, address, size, limit } => {
                write!(
                    f,
                    "{access} of {size} bytes at {address:#x} is beyond the kernel's {limit} bytes of arguments"
                )
            }
            FaultKind::BeyondLimit { space, access, address, size, limit } => write!(
                f,
                "{access} of {size} bytes at {space} address {address:#x} is beyond its {limit} bytes"
            ),
            FaultKind::Misaligned { space, access, address, required, allocation } => {
                write!(f, "{access} at {space} address {address:#x} must be aligned to {required} bytes")?;
                match allocation {
                    Some(found) => write!(
                        f,
                        "\n  {} bytes into {}",
                        address.saturating_sub(found.start),
                        describe(found)
                    ),
                    None => Ok(()),
                }
            }
            FaultKind::IllegalInstruction { bytes } => {
                f.write_str("illegal instruction, bytes")?;
                bytes.iter().try_for_each(|byte| write!(f, " {byte:02x}"))
            }
            FaultKind::Unsupported { what } => write!(f, "not executed by the virtual GPU: {what}"),
            FaultKind::BadJump { target } => write!(f, "jump to {target:#x}, where there is no code"),
            FaultKind::Trap { id: 2 } => {
                f.write_str("trap 2: the kernel aborted (abort, failed assertion or trap)")
            }
            FaultKind::Trap { id } => write!(f, "trap {id}"),
            FaultKind::EndlessBarrier { waiting, waves } => {
                write!(f, "endless barrier: {waiting} of {waves} waves wait and no wave can go on")
            }
            FaultKind::Timeout { limit_ms } => write!(f, "the dispatch ran longer than {limit_ms} ms"),
            FaultKind::Uninitialised { used, origin } => {
                write!(f, "{used} depends on a value that nobody wrote\n  it comes from {origin}")
            }
            FaultKind::DivergentBarrier { arrived, waves } => {
                write!(f, "divergent barrier: {arrived} of {waves} waves of the workgroup reached it")
            }
            FaultKind::DivergentLanes { arrived, lanes } => write!(
                f,
                "divergent barrier: {arrived} of {lanes} lanes of a wave reached it, and others go on"
            ),
            FaultKind::Race { address, access, other } => write!(
                f,
                "data race: {access} at LDS address {address:#x}, {other} by the other, and nothing orders them"
            ),
            FaultKind::Internal { what } => write!(f, "defect of the virtual GPU: {what}"),
        }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  source      {}", self.source)?;
        write!(f, "\n  pc          {:#x}", self.pc)?;
        if let Some((function, offset)) = &self.function {
            write!(f, " <{}+{offset:#x}>", demangle(function))?;
        }
        if !self.instruction.is_empty() {
            write!(f, "\n  instruction {}", self.instruction)?;
        }
        let [x, y, z] = self.workgroup;
        write!(f, "\n  workgroup   {x},{y},{z} wave {}", self.wave)?;
        if let Some(lane) = self.lane {
            write!(f, " lane {lane}")?;
        }
        if let Some([x, y, z]) = self.work_item {
            write!(f, " (work-item {x},{y},{z})")?;
        }
        Ok(())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.kind)?;
        writeln!(f, "  kernel      {} ({})", demangle(&self.kernel), self.target)?;
        write!(f, "{}", self.at)?;
        match &self.other {
            Some((what, site)) => write!(f, "\n {what}\n{site}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Fault {}
