//! A kernel's parameters and resources, as its compiler recorded them. The rest of the crate uses only this,
//! whatever the format of the code; each format has a conversion here.

use crate::launch::{Parameter, ParameterKind};

/// The properties of a kernel that is not loaded.
pub(crate) struct KernelInfo {
    /// The name in the module: mangled for C++ kernels.
    pub(crate) name: String,
    /// The parameters, in order.
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) attributes: FunctionAttributes,
}

/// The resources that a kernel needs, as its compiler recorded them.
#[doc(alias = "hipFuncGetAttribute")]
#[doc(alias = "cuFuncGetAttribute")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FunctionAttributes {
    /// Vector registers of a work-item.
    pub vgprs: u32,
    /// Accumulation registers of a work-item.
    pub agprs: u32,
    /// Scalar registers of a wave.
    pub sgprs: u32,
    /// Vector registers that the compiler spilled.
    pub vgpr_spills: u32,
    /// Scalar registers that the compiler spilled.
    pub sgpr_spills: u32,
    /// LDS of a block that the kernel declares itself, bytes.
    pub lds: u32,
    /// Scratch of a work-item, bytes.
    pub scratch: u32,
    /// Work-items of a wave: 32 or 64.
    pub wave_size: u32,
    /// Most work-items that a block may have.
    pub max_block_threads: u32,
    /// The block that a launch must have, if the source fixes it.
    pub required_block: Option<[u32; 3]>,
    /// Size of the argument segment, bytes; this includes what the runtime adds to the kernel's own
    /// arguments.
    pub argument_bytes: u32,
    /// The kernel may need more scratch than the compiler knew: recursion, indirect calls, `alloca`.
    pub dynamic_stack: bool,
}

/// Code objects of AMD GPUs.
impl From<&code_object::Kernel> for KernelInfo {
    fn from(kernel: &code_object::Kernel) -> Self {
        Self {
            name: kernel.name.clone(),
            parameters: kernel.explicit_args().map(parameter).collect(),
            attributes: FunctionAttributes {
                vgprs: kernel.vgpr_count,
                agprs: kernel.agpr_count,
                sgprs: kernel.sgpr_count,
                vgpr_spills: kernel.vgpr_spills,
                sgpr_spills: kernel.sgpr_spills,
                lds: kernel.group_segment_size,
                scratch: kernel.private_segment_size,
                wave_size: kernel.wavefront_size,
                max_block_threads: kernel.max_flat_workgroup_size,
                required_block: kernel.required_workgroup_size,
                argument_bytes: kernel.kernarg_size,
                dynamic_stack: kernel.uses_dynamic_stack,
            },
        }
    }
}

fn parameter(argument: &code_object::Arg) -> Parameter {
    let kind = match &argument.kind {
        code_object::ArgKind::ByValue => ParameterKind::Value,
        code_object::ArgKind::GlobalBuffer => ParameterKind::Pointer,
        other => ParameterKind::Other(format!("{other:?}")),
    };
    Parameter {
        name: argument.name.clone(),
        type_name: argument.type_name.clone(),
        offset: argument.offset,
        size: argument.size,
        kind,
        access: argument.access,
        is_const: argument.is_const,
    }
}
