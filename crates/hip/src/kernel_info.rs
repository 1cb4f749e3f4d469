//! What a compiler recorded of a kernel: what it takes and what it needs. The rest of the crate knows no more of a kernel, whatever code
//! it is in; each kind of code has a conversion here.

use hip_sys::hipError_t;

use crate::call::call;
use crate::error::{Error, Result};
use crate::launch::{Parameter, ParameterKind};

/// What is known of a kernel before it is loaded.
pub(crate) struct KernelInfo {
    /// As the module knows it: mangled for C++ kernels.
    pub(crate) name: String,
    /// What it takes, in order.
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) attributes: FunctionAttributes,
}

/// What a kernel needs, as its compiler recorded it.
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
    /// Size of the argument segment, bytes; what the runtime adds to the kernel's own arguments is part of it.
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

/// What a driver tells of a kernel that it has loaded, where its code is not read.
pub(crate) struct DriverInfo<'a> {
    pub(crate) table: &'static hip_sys::Table,
    pub(crate) code: hip_sys::DriverCode,
    pub(crate) name: &'a str,
    pub(crate) function: hip_sys::hipFunction_t,
    pub(crate) wave_size: u32,
}

impl DriverInfo<'_> {
    /// Asks for everything. The device is current.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the driver does not tell a kernel's parameters, so that no launch could be checked, else [`Error::Hip`].
    pub(crate) fn read(&self) -> Result<KernelInfo> {
        use hip_sys::hipFunction_attribute as A;
        let parameters = self.parameters()?;
        let end = parameters.iter().map(|parameter| parameter.offset + parameter.size).max().unwrap_or(0);
        Ok(KernelInfo {
            name: self.name.to_owned(),
            attributes: FunctionAttributes {
                vgprs: self.attribute(A::HIP_FUNC_ATTRIBUTE_NUM_REGS)?,
                agprs: 0,
                sgprs: 0,
                vgpr_spills: 0,
                sgpr_spills: 0,
                lds: self.attribute(A::HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
                scratch: self.attribute(A::HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
                wave_size: self.wave_size,
                max_block_threads: self.attribute(A::HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
                required_block: None,
                argument_bytes: end,
                dynamic_stack: false,
            },
            parameters,
        })
    }

    fn attribute(&self, which: hip_sys::hipFunction_attribute) -> Result<u32> {
        let mut value = 0;
        // SAFETY: the function is loaded, and the value is a place to write to.
        unsafe { call!(self.table, hipFuncGetAttribute(&raw mut value, which, self.function))? };
        Ok(u32::try_from(value).unwrap_or(0))
    }

    fn parameters(&self) -> Result<Vec<Parameter>> {
        const OPERATION: &str = "cuFuncGetParamInfo";
        let mut parameters = Vec::new();
        loop {
            let (mut offset, mut size) = (0, 0);
            // SAFETY: the function is loaded, and both results are places to write to.
            let told = unsafe {
                (self.code.parameter)(self.function, parameters.len(), &raw mut offset, &raw mut size)
            };
            match told {
                hipError_t::hipSuccess => {}
                hipError_t::hipErrorInvalidValue => return Ok(parameters),
                hipError_t::hipErrorNotSupported => {
                    return Err(Error::Unsupported {
                        what: format!("checking the arguments of kernel `{}`", self.name),
                        instead: "NVIDIA's driver tells them since CUDA 12.4; install a newer one".to_owned(),
                    });
                }
                code => return Err(Error::Hip { operation: OPERATION, code }),
            }
            let absurd = |_| Error::Hip { operation: OPERATION, code: hipError_t::hipErrorUnknown };
            parameters.push(Parameter {
                name: None,
                type_name: None,
                offset: u32::try_from(offset).map_err(absurd)?,
                size: u32::try_from(size).map_err(absurd)?,
                kind: ParameterKind::Bytes,
                access: None,
                is_const: false,
            });
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
