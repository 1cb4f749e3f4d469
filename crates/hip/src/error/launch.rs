//! Why a launch does not fit its kernel or its device.

use std::fmt;

use code_object::Access;

/// An argument of a kernel: its position, counted from 0, and its name if the code object has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The position, counted from 0.
    pub index: usize,
    /// The name in the source, where the compiler recorded it.
    pub name: Option<String>,
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "argument {} (`{name}`)", self.index),
            None => write!(f, "argument {} (counted from 0)", self.index),
        }
    }
}

/// Why a launch was refused before it reached the device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// Too few or too many arguments.
    #[error("kernel `{kernel}` takes {expected} arguments, got {got}; its parameters are {signature}")]
    ArgumentCount {
        /// The kernel.
        kernel: String,
        /// How many arguments the kernel takes.
        expected: usize,
        /// How many were given.
        got: usize,
        /// What the kernel takes.
        signature: String,
    },

    /// A pointer where the kernel takes a value, or a value where it takes a pointer.
    #[error("kernel `{kernel}`, {argument}: expected {expected}, got {got}")]
    ArgumentKind {
        /// The kernel.
        kernel: String,
        /// Which argument.
        argument: Argument,
        /// What the kernel takes.
        expected: String,
        /// What was given.
        got: String,
    },

    /// A value whose size differs from the kernel's parameter.
    #[error(
        "kernel `{kernel}`, {argument}: expected a value of {expected} bytes, got {got} bytes (`{got_type}`)"
    )]
    ArgumentSize {
        /// The kernel.
        kernel: String,
        /// Which argument.
        argument: Argument,
        /// The parameter's size in bytes.
        expected: u32,
        /// The value's size in bytes.
        got: usize,
        /// The value's type.
        got_type: &'static str,
    },

    /// Numbers of the wrong kind, but of the right size.
    #[error("kernel `{kernel}`, {argument}: expected `{expected}`, got {got}")]
    ArgumentType {
        /// The kernel.
        kernel: String,
        /// Which argument.
        argument: Argument,
        /// The parameter's type in the source.
        expected: String,
        /// What was given.
        got: String,
    },

    /// A shared borrow for a pointer through which, by the code object, the kernel writes.
    #[error(
        "kernel `{kernel}`, {argument}: the kernel writes through this pointer ({access}) and got a shared borrow of memory of \
         `{got_type}`: pass it as `&mut`{}", instead_of_exclusive(*access)
    )]
    WrittenThroughShared {
        /// The kernel.
        kernel: String,
        /// Which argument.
        argument: Argument,
        /// The access that the code object records.
        access: Access,
        /// The type of the memory's elements.
        got_type: &'static str,
    },

    /// A kind of parameter that this crate cannot pass, such as an image.
    #[error("kernel `{kernel}`, {argument}: parameters of kind `{kind}` cannot be passed")]
    UnsupportedParameter {
        /// The kernel.
        kernel: String,
        /// Which argument.
        argument: Argument,
        /// The kind, as the code object names it.
        kind: String,
    },

    /// Memory of one device for a kernel of another.
    #[error(
        "kernel `{kernel}`, {argument}: the buffer belongs to {got}, and {expected} has no access to that device's memory"
    )]
    OtherDevice {
        /// The kernel.
        kernel: String,
        /// Which argument.
        argument: Argument,
        /// The device of the launch.
        expected: String,
        /// The device of the buffer.
        got: String,
    },

    /// The stream belongs to another device than the kernel.
    #[error("kernel `{kernel}` is loaded on {expected}, and the stream belongs to {got}")]
    OtherStream {
        /// The kernel.
        kernel: String,
        /// The kernel's device.
        expected: String,
        /// The stream's device.
        got: String,
    },

    /// A grid or block with no work-items.
    #[error(
        "kernel `{kernel}`: the {what} {size:?} has a zero dimension; skip the launch where there is no work"
    )]
    ZeroSize {
        /// The kernel.
        kernel: String,
        /// `grid` or `block`.
        what: &'static str,
        /// Its size.
        size: [u32; 3],
    },

    /// The launch has no grid or no block size.
    #[error("kernel `{kernel}`: the launch has no {what} size")]
    MissingSize {
        /// The kernel.
        kernel: String,
        /// `grid` or `block`.
        what: &'static str,
    },

    /// More work-items in a block than the kernel or the device allows.
    #[error(
        "kernel `{kernel}`: block {block:?} has {threads} work-items, {limited_by} allows at most {limit}"
    )]
    BlockTooLarge {
        /// The kernel.
        kernel: String,
        /// The block's size.
        block: [u32; 3],
        /// Its work-items.
        threads: u64,
        /// The most that are allowed.
        limit: u32,
        /// What sets the limit.
        limited_by: &'static str,
    },

    /// A block that is too long in one dimension.
    #[error("kernel `{kernel}`: block {block:?} exceeds the device's limit of {limit:?} per dimension")]
    BlockTooLong {
        /// The kernel.
        kernel: String,
        /// The block's size.
        block: [u32; 3],
        /// The device's limit in each dimension.
        limit: [u32; 3],
    },

    /// A block size other than the one that the kernel was compiled for.
    #[error("kernel `{kernel}` was compiled for blocks of {required:?}, got {block:?}")]
    BlockMismatch {
        /// The kernel.
        kernel: String,
        /// The block's size.
        block: [u32; 3],
        /// The size that the kernel requires.
        required: [u32; 3],
    },

    /// A grid with too many blocks in one dimension.
    #[error("kernel `{kernel}`: grid {grid:?} exceeds the device's limit of {limit:?} blocks per dimension")]
    GridTooLarge {
        /// The kernel.
        kernel: String,
        /// The grid's size in blocks.
        grid: [u32; 3],
        /// The device's limit in each dimension.
        limit: [u32; 3],
    },

    /// A grid with more than 2³² − 1 work-items in one dimension.
    #[error(
        "kernel `{kernel}`: grid {grid:?} of blocks {block:?} has more than 4294967295 work-items in one dimension"
    )]
    GridOverflow {
        /// The kernel.
        kernel: String,
        /// The grid's size in blocks.
        grid: [u32; 3],
        /// The block's size.
        block: [u32; 3],
    },

    /// More blocks in a cooperative launch than the device holds at once.
    #[error(
        "kernel `{kernel}`: {blocks} blocks cannot run at once: the device holds {fit} of them (block {block:?}, \
             {dynamic_lds} bytes of dynamic LDS)"
    )]
    CooperativeTooLarge {
        /// The kernel.
        kernel: String,
        /// How many blocks the launch has.
        blocks: u64,
        /// How many such blocks the device holds at once.
        fit: u64,
        /// The block's size.
        block: [u32; 3],
        /// Dynamic LDS of a block, bytes.
        dynamic_lds: u32,
    },

    /// More LDS than a block can have.
    #[error(
        "kernel `{kernel}`: {dynamic} bytes of dynamic LDS and its own {fixed} bytes exceed the {limit} bytes that a block can have"
    )]
    LdsTooLarge {
        /// The kernel.
        kernel: String,
        /// LDS that the kernel declares, bytes.
        fixed: u32,
        /// LDS that the launch adds, bytes.
        dynamic: u32,
        /// The device's limit, bytes.
        limit: u32,
    },

    /// More dynamic LDS than [`Function::set_max_dynamic_lds`](crate::Function::set_max_dynamic_lds) allows.
    #[error(
        "kernel `{kernel}`: {dynamic} bytes of dynamic LDS exceed the {limit} bytes that were set as its limit"
    )]
    DynamicLdsTooLarge {
        /// The kernel.
        kernel: String,
        /// LDS that the launch adds, bytes.
        dynamic: u32,
        /// The limit that was set, bytes.
        limit: u32,
    },

    /// A kernel compiled for a wave size that the device does not have.
    #[error(
        "kernel `{kernel}` was compiled for waves of {kernel_wave}, and the device has waves of {device_wave}"
    )]
    WaveSize {
        /// The kernel.
        kernel: String,
        /// Work-items of a wave of the kernel.
        kernel_wave: u32,
        /// Work-items of a wave of the device.
        device_wave: u32,
    },
}

/// More advice where the kernel may only read, but the compiler could not prove it.
fn instead_of_exclusive(access: Access) -> &'static str {
    match access {
        Access::ReadWrite => ", or declare it `const` if the kernel only reads",
        _ => "",
    }
}

impl LaunchError {
    /// The kernel whose launch was refused.
    pub fn kernel(&self) -> &str {
        match self {
            Self::ArgumentCount { kernel, .. }
            | Self::ArgumentKind { kernel, .. }
            | Self::ArgumentSize { kernel, .. }
            | Self::ArgumentType { kernel, .. }
            | Self::WrittenThroughShared { kernel, .. }
            | Self::UnsupportedParameter { kernel, .. }
            | Self::OtherDevice { kernel, .. }
            | Self::OtherStream { kernel, .. }
            | Self::ZeroSize { kernel, .. }
            | Self::MissingSize { kernel, .. }
            | Self::BlockTooLarge { kernel, .. }
            | Self::BlockTooLong { kernel, .. }
            | Self::BlockMismatch { kernel, .. }
            | Self::GridTooLarge { kernel, .. }
            | Self::GridOverflow { kernel, .. }
            | Self::CooperativeTooLarge { kernel, .. }
            | Self::LdsTooLarge { kernel, .. }
            | Self::DynamicLdsTooLarge { kernel, .. }
            | Self::WaveSize { kernel, .. } => kernel,
        }
    }
}
