use crate::ParseTargetError;

/// Why bytes were not accepted as a code object.
///
/// Each variant names the part at fault; numbers are those found in the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file does not start with the ELF magic number.
    #[error("not an ELF file: it starts with {found:02x?}")]
    NotElf {
        /// The first bytes of the file, at most four.
        found: Vec<u8>,
    },
    /// The file is an offload bundle, compressed or not. A bundle holds code objects, but is not one itself.
    #[error(
        "an offload bundle, not a code object: take one target's with code_object::bundle::code_for, or compile with \
         --no-gpu-bundle-output"
    )]
    OffloadBundle,
    /// An offload bundle that cannot be read.
    #[error("{what}")]
    Bundle {
        /// What is wrong with it.
        what: String,
    },
    /// The code object [counts its work](crate::metrics), but the variables with the counts cannot be read.
    #[error("counters of kernels: {0}")]
    Metrics(String),
    /// An offload bundle without code for a device.
    #[error("no code for {device}: there is code for {}", list(available))]
    NoCode {
        /// The device's target id.
        device: String,
        /// The targets that the bundle has code for: target ids, and architectures of NVIDIA GPUs.
        available: Vec<String>,
    },
    /// The file ends before a part that its headers announce.
    #[error("truncated: {what} needs bytes up to {end}, the file has {len}")]
    Truncated {
        /// The part that is cut off.
        what: String,
        /// First offset after the part.
        end: u64,
        /// Length of the file in bytes.
        len: u64,
    },
    /// An ELF file, but not a 64-bit little-endian one for AMD GPUs under HSA.
    #[error("an ELF file, but not an AMDGPU code object: {field} is {found}, expected {expected}")]
    NotAmdgpu {
        /// The ELF header's field.
        field: &'static str,
        /// What it holds.
        found: u32,
        /// What it must hold.
        expected: u32,
    },
    /// An AMDGPU ELF file that is not a shared object, for example a relocatable one that was never linked.
    #[error("ELF type {found} is not a shared object (3): link it with ld.lld -shared")]
    NotLinked {
        /// `e_type` as found.
        found: u16,
    },
    /// This crate does not read this version of code objects.
    #[error("code object version {} is not supported (ABI version {abi_version}); versions 4, 5 and 6 are",
        version_name(*abi_version))]
    UnsupportedVersion {
        /// `e_ident[EI_ABIVERSION]` as found; version minus two.
        abi_version: u8,
    },
    /// A structure of the ELF file contradicts itself or the file's length.
    #[error("malformed ELF: {what}: {reason}")]
    MalformedElf {
        /// The structure.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The processor number in `e_flags` is unknown and the metadata names no target either.
    #[error("unknown processor number {mach:#x} in e_flags, and the metadata has no amdhsa.target")]
    UnknownProcessor {
        /// `e_flags & EF_AMDGPU_MACH`.
        mach: u32,
    },
    /// The target named in the metadata cannot be read.
    #[error("metadata: amdhsa.target: {0}")]
    BadTarget(#[from] ParseTargetError),
    /// Metadata and ELF header name different processors.
    #[error("e_flags say {header}, amdhsa.target says {metadata}")]
    TargetMismatch {
        /// Processor of the ELF header's flags.
        header: String,
        /// Processor of the metadata.
        metadata: String,
    },
    /// Two `NT_AMDGPU_METADATA` notes name different targets.
    #[error("the metadata names two targets, {first} and {other}")]
    MetadataTargets {
        /// The target in the first note.
        first: String,
        /// The target in a later note.
        other: String,
    },
    /// There is no `NT_AMDGPU_METADATA` note.
    #[error("no NT_AMDGPU_METADATA note: the kernels' metadata is missing")]
    MissingMetadata,
    /// The metadata note is not the MessagePack document that it should be.
    #[error("metadata cannot be decoded: {0}")]
    Metadata(#[source] rmp_serde::decode::Error),
    /// A kernel's metadata lacks a required key.
    #[error("metadata of kernel {kernel}: {field} is missing")]
    MissingField {
        /// Kernel name, or its position (`#2`) if the name is missing.
        kernel: String,
        /// Metadata key.
        field: &'static str,
    },
    /// A value in a kernel's metadata is impossible.
    #[error("metadata of kernel {kernel}: {field} is {value}: {reason}")]
    BadField {
        /// Kernel name.
        kernel: String,
        /// Metadata key, with the position of the argument if it belongs to one.
        field: String,
        /// The value.
        value: String,
        /// Why it is impossible.
        reason: String,
    },
    /// Two kernels have the same name.
    #[error("two kernels are named {kernel}")]
    DuplicateKernel {
        /// The name.
        kernel: String,
    },
    /// The symbol of a kernel's descriptor is not defined in the dynamic symbol table.
    #[error("kernel {kernel}: its descriptor symbol {symbol} is not in the dynamic symbol table")]
    MissingDescriptor {
        /// Kernel name.
        kernel: String,
        /// Symbol that the metadata names.
        symbol: String,
    },
    /// A kernel descriptor is not within the bytes of a loaded segment.
    #[error("kernel {kernel}: its descriptor at {vaddr:#x} is not within a loaded segment")]
    DescriptorOutOfRange {
        /// Kernel name.
        kernel: String,
        /// Virtual address of the descriptor.
        vaddr: u64,
    },
    /// A kernel's first instruction is not within an executable segment.
    #[error("kernel {kernel}: its entry point {vaddr:#x} is not within an executable segment")]
    EntryOutOfRange {
        /// Kernel name.
        kernel: String,
        /// Virtual address of the first instruction.
        vaddr: u64,
    },
}

fn version_name(abi_version: u8) -> String {
    (u16::from(abi_version) + 2).to_string()
}

fn list(targets: &[String]) -> String {
    if targets.is_empty() { "no GPU".to_owned() } else { targets.join(", ") }
}
