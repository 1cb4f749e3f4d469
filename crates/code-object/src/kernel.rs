use crate::KernelDescriptor;

/// A kernel: its metadata and its descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Name that programs look it up by (mangled for C++).
    pub name: String,
    /// Symbol of its descriptor, `name.kd`.
    pub symbol: String,
    /// The descriptor.
    pub descriptor: KernelDescriptor,
    /// Address of the descriptor relative to the load base.
    pub descriptor_vaddr: u64,
    /// Address of the first instruction relative to the load base.
    pub entry_vaddr: u64,
    /// All arguments in the order of the metadata, the hidden ones last.
    pub args: Vec<Arg>,
    /// Size of the argument segment, hidden arguments included, bytes. Every argument lies within it.
    pub kernarg_size: u32,
    /// Alignment of the argument segment, a power of two.
    pub kernarg_align: u32,
    /// Static LDS of a workgroup, bytes.
    pub group_segment_size: u32,
    /// Scratch of a work-item, bytes.
    pub private_segment_size: u32,
    /// 32 or 64.
    pub wavefront_size: u32,
    /// Maximum number of work-items in a workgroup.
    pub max_flat_workgroup_size: u32,
    /// Workgroup size that a launch must have, if the source fixes it.
    pub required_workgroup_size: Option<[u32; 3]>,
    /// Scalar registers of a wave.
    pub sgpr_count: u32,
    /// Vector registers of a work-item, accumulation registers included where they share a file.
    pub vgpr_count: u32,
    /// Accumulation registers of a work-item.
    pub agpr_count: u32,
    /// Scalar registers that the compiler spilled.
    pub sgpr_spills: u32,
    /// Vector registers that the compiler spilled.
    pub vgpr_spills: u32,
    /// Scratch use is not known at compile time.
    pub uses_dynamic_stack: bool,
    /// The grid must be a whole number of workgroups.
    pub uniform_workgroup_size: bool,
}

impl Kernel {
    /// The arguments that a caller passes, in order.
    pub fn explicit_args(&self) -> impl Iterator<Item = &Arg> {
        self.args.iter().filter(|arg| !matches!(arg.kind, ArgKind::Hidden(_)))
    }

    /// The arguments that the runtime fills in.
    pub fn hidden_args(&self) -> impl Iterator<Item = (HiddenArg, &Arg)> {
        self.args.iter().filter_map(|arg| match arg.kind {
            ArgKind::Hidden(hidden) => Some((hidden, arg)),
            _ => None,
        })
    }
}

/// One argument of a [`Kernel`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arg {
    /// Name in the source, if the compiler recorded it.
    pub name: Option<String>,
    /// Type in the source, if the compiler recorded it.
    pub type_name: Option<String>,
    /// Position in the argument segment, bytes.
    pub offset: u32,
    /// Size, bytes.
    pub size: u32,
    /// How the value is passed.
    pub kind: ArgKind,
    /// Address space of a pointer, if the compiler recorded it (`global`, `constant`, …).
    pub address_space: Option<String>,
    /// What the kernel does with the memory behind a pointer, if the compiler recorded it.
    pub access: Option<Access>,
    /// The source declares a pointer to `const`, and the compiler recorded that.
    pub is_const: bool,
}

/// What a kernel does with the memory behind a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// It only reads.
    Read,
    /// It only writes.
    Write,
    /// It may read and write.
    ReadWrite,
}

impl Access {
    /// Its name in the metadata.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read_only",
            Self::Write => "write_only",
            Self::ReadWrite => "read_write",
        }
    }

    /// Whether the kernel may write.
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::ReadWrite)
    }

    pub(crate) fn from_metadata(text: &str) -> Option<Self> {
        [Self::Read, Self::Write, Self::ReadWrite].into_iter().find(|access| access.as_str() == text)
    }
}

impl std::fmt::Display for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How an [`Arg`] is passed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArgKind {
    /// The value itself.
    ByValue,
    /// A pointer to memory that the device can reach.
    GlobalBuffer,
    /// A size: the runtime places that much LDS and passes its address.
    DynamicSharedPointer,
    /// A sampler descriptor.
    Sampler,
    /// An image descriptor.
    Image,
    /// An OpenCL pipe.
    Pipe,
    /// An OpenCL device queue.
    Queue,
    /// Filled in by the runtime.
    Hidden(HiddenArg),
    /// A kind that this crate does not know, by its metadata name.
    Other(String),
}

macro_rules! hidden {
    ($($(#[$doc:meta])* $variant:ident = $text:literal,)*) => {
        /// What the runtime has to write into a hidden argument.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum HiddenArg { $($(#[$doc])* $variant,)* }

        impl HiddenArg {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The argument's name in the metadata (`hidden_…`).
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            fn from_metadata(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

hidden! {
    /// Whole workgroups in x (u32).
    BlockCountX = "hidden_block_count_x",
    /// Whole workgroups in y (u32).
    BlockCountY = "hidden_block_count_y",
    /// Whole workgroups in z (u32).
    BlockCountZ = "hidden_block_count_z",
    /// Workgroup size in x (u16).
    GroupSizeX = "hidden_group_size_x",
    /// Workgroup size in y (u16).
    GroupSizeY = "hidden_group_size_y",
    /// Workgroup size in z (u16).
    GroupSizeZ = "hidden_group_size_z",
    /// Size of the partial workgroup in x, or 0 (u16).
    RemainderX = "hidden_remainder_x",
    /// Size of the partial workgroup in y, or 0 (u16).
    RemainderY = "hidden_remainder_y",
    /// Size of the partial workgroup in z, or 0 (u16).
    RemainderZ = "hidden_remainder_z",
    /// Global offset in x (u64).
    GlobalOffsetX = "hidden_global_offset_x",
    /// Global offset in y (u64).
    GlobalOffsetY = "hidden_global_offset_y",
    /// Global offset in z (u64).
    GlobalOffsetZ = "hidden_global_offset_z",
    /// Dimensions of the grid, 1 to 3 (u16).
    GridDims = "hidden_grid_dims",
    /// Buffer of OpenCL's printf (pointer).
    PrintfBuffer = "hidden_printf_buffer",
    /// Buffer through which device code calls the host (pointer).
    HostcallBuffer = "hidden_hostcall_buffer",
    /// Synchronisation of a grid over several devices (pointer).
    MultigridSyncArg = "hidden_multigrid_sync_arg",
    /// Memory that device-side malloc starts from (pointer).
    HeapV1 = "hidden_heap_v1",
    /// Default queue of device-side enqueue (pointer).
    DefaultQueue = "hidden_default_queue",
    /// Completion action of device-side enqueue (pointer).
    CompletionAction = "hidden_completion_action",
    /// LDS that the launch adds to the static part, bytes (u32).
    DynamicLdsSize = "hidden_dynamic_lds_size",
    /// High half of the scratch aperture's address (u32).
    PrivateBase = "hidden_private_base",
    /// High half of the LDS aperture's address (u32).
    SharedBase = "hidden_shared_base",
    /// The HSA queue (pointer).
    QueuePtr = "hidden_queue_ptr",
    /// Nothing: the argument is a placeholder.
    None = "hidden_none",
}

impl ArgKind {
    pub(crate) fn from_metadata(text: &str) -> Self {
        match text {
            "by_value" => Self::ByValue,
            "global_buffer" => Self::GlobalBuffer,
            "dynamic_shared_pointer" => Self::DynamicSharedPointer,
            "sampler" => Self::Sampler,
            "image" => Self::Image,
            "pipe" => Self::Pipe,
            "queue" => Self::Queue,
            other => match HiddenArg::from_metadata(other) {
                Some(hidden) => Self::Hidden(hidden),
                None => Self::Other(other.to_owned()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_names_round_trip() {
        for &hidden in HiddenArg::ALL {
            assert_eq!(ArgKind::from_metadata(hidden.as_str()), ArgKind::Hidden(hidden));
        }
        assert_eq!(ArgKind::from_metadata("hidden_new"), ArgKind::Other("hidden_new".into()));
    }
}
