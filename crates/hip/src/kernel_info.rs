//! A kernel's parameters and resources, as its compiler recorded them. The rest of the crate uses only this,
//! whatever the format of the code; each format has a conversion here.

use hip_sys::hipError_t;

use crate::call::call;
use crate::error::{Error, Result};
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

/// What a driver tells of a kernel that it has loaded, where its code is not read.
pub(crate) struct DriverInfo<'a> {
    pub(crate) table: &'static hip_sys::Table,
    pub(crate) code: hip_sys::DriverCode,
    pub(crate) name: &'a str,
    pub(crate) function: hip_sys::hipFunction_t,
    pub(crate) wave_size: u32,
    /// What the module was loaded from; empty where that is not known.
    pub(crate) image: &'a [u8],
}

impl DriverInfo<'_> {
    /// Asks for everything. The device is current.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the driver does not tell a kernel's parameters, so that no launch could be
    /// checked, else [`Error::Hip`].
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

    /// What the driver tells, and where it does not, what the code says.
    fn parameters(&self) -> Result<Vec<Parameter>> {
        let told = self.told()?;
        // Only PTX says more than the driver.
        let is_ptx = !self.image.starts_with(b"\x7fELF");
        let own = (told.is_none() || is_ptx)
            .then(|| code_object::cuda::parameters(self.image, self.name))
            .flatten();
        let places = |parameters: &[code_object::cuda::Parameter]| -> Vec<(u32, u32)> {
            parameters.iter().map(|parameter| (parameter.offset, parameter.size)).collect()
        };
        let found = match (told, own) {
            (Some(told), Some(own)) if places(&told) == places(&own) => own,
            (Some(told), _) => told,
            (None, Some(own)) => own,
            (None, None) => {
                return Err(Error::Unsupported {
                    what: format!("checking the arguments of kernel `{}`", self.name),
                    instead: "NVIDIA's driver tells them since CUDA 12.4, and this module does not; install a newer driver"
                        .to_owned(),
                });
            }
        };
        let described = found.into_iter().map(|parameter| Parameter {
            name: None,
            type_name: None,
            offset: parameter.offset,
            size: parameter.size,
            kind: if parameter.is_pointer { ParameterKind::Pointer } else { ParameterKind::Bytes },
            access: None,
            is_const: false,
        });
        Ok(described.collect())
    }

    /// What the driver tells; none if it does not.
    fn told(&self) -> Result<Option<Vec<code_object::cuda::Parameter>>> {
        const OPERATION: &str = "cuFuncGetParamInfo";
        let mut found = Vec::new();
        loop {
            let (mut offset, mut size) = (0, 0);
            // SAFETY: the function is loaded, and both results are places to write to.
            let told =
                unsafe { (self.code.parameter)(self.function, found.len(), &raw mut offset, &raw mut size) };
            match told {
                hipError_t::hipSuccess => {}
                hipError_t::hipErrorInvalidValue => return Ok(Some(found)),
                hipError_t::hipErrorNotSupported => return Ok(None),
                code => return Err(Error::Hip { operation: OPERATION, code }),
            }
            let absurd = |_| Error::Hip { operation: OPERATION, code: hipError_t::hipErrorUnknown };
            found.push(code_object::cuda::Parameter {
                offset: u32::try_from(offset).map_err(absurd)?,
                size: u32::try_from(size).map_err(absurd)?,
                is_pointer: false,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Four parameters as `saxpy` has them, of a driver that tells.
    unsafe extern "C" fn tells(
        _: hip_sys::hipFunction_t,
        index: usize,
        offset: *mut usize,
        size: *mut usize,
    ) -> hipError_t {
        let Some((at, bytes)) = [(0, 4), (8, 8)].get(index) else { return hipError_t::hipErrorInvalidValue };
        // SAFETY: the caller gives places.
        unsafe { (*offset, *size) = (*at, *bytes) };
        hipError_t::hipSuccess
    }

    unsafe extern "C" fn does_not(
        _: hip_sys::hipFunction_t,
        _: usize,
        _: *mut usize,
        _: *mut usize,
    ) -> hipError_t {
        hipError_t::hipErrorNotSupported
    }

    unsafe extern "C" fn no_kernels(_: hip_sys::hipModule_t, _: *mut std::ffi::c_char, _: usize) -> usize {
        0
    }

    unsafe extern "C" fn no_text(_: *mut std::ffi::c_char, _: usize) -> usize {
        0
    }

    unsafe extern "C" fn no_overlap(_: hip_sys::hipModule_t, _: *const std::ffi::c_char) -> bool {
        false
    }

    unsafe extern "C" fn no_launch(
        _: hip_sys::hipFunction_t,
        _: std::ffi::c_uint,
        _: std::ffi::c_uint,
        _: std::ffi::c_uint,
        _: std::ffi::c_uint,
        _: std::ffi::c_uint,
        _: std::ffi::c_uint,
        _: std::ffi::c_uint,
        _: hip_sys::hipStream_t,
        _: *mut *mut std::ffi::c_void,
    ) -> hipError_t {
        hipError_t::hipErrorNotSupported
    }

    fn found(
        parameter: unsafe extern "C" fn(hip_sys::hipFunction_t, usize, *mut usize, *mut usize) -> hipError_t,
        image: &[u8],
    ) -> Result<Vec<(u32, u32, ParameterKind)>> {
        let code = hip_sys::DriverCode {
            kernels: no_kernels,
            parameter,
            load_failure: no_text,
            overlaps: no_overlap,
            launch_overlapping: no_launch,
        };
        let (table, function) = (hip_sys::Table::unsupported(), std::ptr::null_mut());
        let info = DriverInfo { table, code, name: "f", function, wave_size: 32, image };
        Ok(info.parameters()?.into_iter().map(|p| (p.offset, p.size, p.kind)).collect())
    }

    #[test]
    fn the_driver_tells_sizes_and_ptx_says_what_is_a_pointer() {
        use ParameterKind::{Bytes, Pointer};
        let ptx = b".version 8.7\n.visible .entry f(.param .u32 n, .param .u64 .ptr .align 1 p)\n{ ret; }";
        assert_eq!(found(tells, b"").unwrap(), [(0, 4, Bytes), (8, 8, Bytes)]);
        assert_eq!(found(tells, ptx).unwrap(), [(0, 4, Bytes), (8, 8, Pointer)]);
        assert_eq!(found(does_not, ptx).unwrap(), [(0, 4, Bytes), (8, 8, Pointer)]);
        // What contradicts the driver is not believed.
        let other = b".version 8.7\n.visible .entry f(.param .u64 .ptr .align 1 p)\n{ ret; }";
        assert_eq!(found(tells, other).unwrap(), [(0, 4, Bytes), (8, 8, Bytes)]);
        let error = found(does_not, b"").unwrap_err().to_string();
        assert!(error.contains("`f`") && error.contains("since CUDA 12.4"), "{error}");
    }
}
