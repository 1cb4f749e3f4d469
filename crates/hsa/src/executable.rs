//! Executables: code objects loaded for an agent, their kernels and variables.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use hsa_sys::*;

use crate::error::{Result, call, note};
use crate::runtime::Runtime;
use crate::{Agent, Allocation, Error};

/// A code object loaded for an agent. Clones share it; kernels keep it loaded.
#[derive(Clone, Debug)]
pub struct Executable {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    agent: Agent,
    raw: hsa_executable_t,
    /// Debuggers and profilers read the code object at the address that it was loaded from.
    _bytes: Arc<[u8]>,
    /// Variables that the program defined, with their memory.
    variables: Vec<(String, Arc<Allocation>)>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: the executable was made here and is destroyed once; running kernels hold it.
        note(unsafe { call!(self.agent.runtime().table(), hsa_executable_destroy(self.raw)) });
    }
}

/// An executable under construction.
#[derive(Debug)]
pub struct ExecutableBuilder {
    inner: Inner,
}

fn c_string(name: &str) -> Result<CString> {
    CString::new(name).map_err(|_| Error::BadName(name.to_owned()))
}

impl ExecutableBuilder {
    /// Defines a variable that the code object uses but does not define
    /// (`hsa_executable_agent_global_variable_define`). The executable holds its memory.
    ///
    /// # Errors
    /// The runtime's error, for example that the variable is already defined.
    #[doc(alias = "hsa_executable_agent_global_variable_define")]
    pub fn define(mut self, name: &str, memory: &Arc<Allocation>) -> Result<ExecutableBuilder> {
        let agent = &self.inner.agent;
        agent.runtime().is_same(memory.pool().agent().runtime())?;
        let text = c_string(name)?;
        let (executable, handle, address) = (self.inner.raw, agent.raw(), memory.as_ptr());
        // SAFETY: executable and agent exist, the name is borrowed for the call, and the memory is held from
        // now on.
        unsafe {
            call!(
                agent.runtime().table(),
                hsa_executable_agent_global_variable_define(executable, handle, text.as_ptr(), address)
            )
        }?;
        self.inner.variables.push((name.to_owned(), Arc::clone(memory)));
        Ok(self)
    }

    /// Loads the code object.
    ///
    /// # Errors
    /// The runtime's error: the bytes are not a code object, it is for another target, or a variable is not
    /// defined.
    pub fn load(self) -> Result<Executable> {
        let agent = &self.inner.agent;
        let table = agent.runtime().table();
        let bytes = &self.inner._bytes;
        let executable = self.inner.raw;
        let mut reader = hsa_code_object_reader_t { handle: 0 };
        // SAFETY: the bytes live as long as the executable, which outlives the reader.
        unsafe {
            call!(
                table,
                hsa_code_object_reader_create_from_memory(bytes.as_ptr().cast(), bytes.len(), &mut reader)
            )
        }?;
        // SAFETY: executable, agent and reader exist; null options and results are allowed.
        let loaded = unsafe {
            call!(
                table,
                hsa_executable_load_agent_code_object(
                    executable,
                    agent.raw(),
                    reader,
                    std::ptr::null(),
                    std::ptr::null_mut()
                )
            )
        };
        // SAFETY: the reader exists and is destroyed once.
        note(unsafe { call!(table, hsa_code_object_reader_destroy(reader)) });
        loaded?;
        // SAFETY: the executable exists; null options are allowed.
        unsafe { call!(table, hsa_executable_freeze(executable, std::ptr::null())) }?;
        Ok(Executable { inner: Arc::new(self.inner) })
    }
}

impl Executable {
    /// Loads a code object for an agent.
    ///
    /// # Errors
    /// As for [`ExecutableBuilder::load`].
    pub fn load(agent: &Agent, bytes: &[u8]) -> Result<Executable> {
        Executable::builder(agent, bytes)?.load()
    }

    /// Begins an executable whose code object uses variables that the program defines
    /// (`hsa_executable_create_alt`).
    ///
    /// # Errors
    /// The runtime's error.
    #[doc(alias = "hsa_executable_create_alt")]
    pub fn builder(agent: &Agent, bytes: &[u8]) -> Result<ExecutableBuilder> {
        let mut raw = hsa_executable_t { handle: 0 };
        let profile = hsa_profile_t::HSA_PROFILE_FULL;
        let rounding = hsa_default_float_rounding_mode_t::HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT;
        // SAFETY: the out pointer is valid; null options are allowed.
        unsafe {
            call!(
                agent.runtime().table(),
                hsa_executable_create_alt(profile, rounding, std::ptr::null(), &mut raw)
            )
        }?;
        let inner = Inner { agent: agent.clone(), raw, _bytes: Arc::from(bytes), variables: Vec::new() };
        Ok(ExecutableBuilder { inner })
    }

    /// The agent that it is loaded for.
    pub fn agent(&self) -> &Agent {
        &self.inner.agent
    }

    fn symbol(&self, kind: &'static str, name: &str, symbol: &str) -> Result<hsa_executable_symbol_t> {
        let text = c_string(symbol)?;
        let mut found = hsa_executable_symbol_t { handle: 0 };
        let (executable, agent) = (self.inner.raw, self.inner.agent.raw());
        // SAFETY: executable and agent exist, the name is borrowed for the call, the out pointer is valid.
        let result = unsafe {
            call!(
                self.agent().runtime().table(),
                hsa_executable_get_symbol_by_name(executable, text.as_ptr(), &agent, &mut found)
            )
        };
        match result {
            Ok(()) => Ok(found),
            Err(Error::Status { status: hsa_status_t::HSA_STATUS_ERROR_INVALID_SYMBOL_NAME, .. }) => {
                Err(Error::NoSymbol { kind, name: name.to_owned() })
            }
            Err(error) => Err(error),
        }
    }

    /// # Safety
    /// `T` is the type that the headers give the attribute.
    unsafe fn info<T: Copy>(
        &self,
        symbol: hsa_executable_symbol_t,
        attribute: hsa_executable_symbol_info_t,
        zero: T,
    ) -> Result<T> {
        let mut value = zero;
        let place: *mut c_void = (&raw mut value).cast();
        // SAFETY: the symbol exists with the executable, and the caller vouches for the type.
        unsafe {
            call!(self.agent().runtime().table(), hsa_executable_symbol_get_info(symbol, attribute, place))
        }?;
        Ok(value)
    }

    /// Finds a kernel by its name without `.kd`.
    ///
    /// # Errors
    /// [`Error::NoSymbol`] if there is none, or the runtime's error.
    #[doc(alias = "hsa_executable_get_symbol_by_name")]
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        use hsa_executable_symbol_info_t as I;
        let symbol = self.symbol("kernel", name, &format!("{name}.kd"))?;
        // SAFETY: the attributes' types are u64 for the object, u32 for sizes.
        unsafe {
            Ok(Kernel {
                executable: self.clone(),
                name: Arc::from(name),
                object: self.info(symbol, I::HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, 0)?,
                kernarg_size: self.info(
                    symbol,
                    I::HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE,
                    0,
                )?,
                group_segment_size: self.info(
                    symbol,
                    I::HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE,
                    0,
                )?,
                private_segment_size: self.info(
                    symbol,
                    I::HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE,
                    0,
                )?,
            })
        }
    }

    /// Finds a variable of the executable.
    ///
    /// # Errors
    /// [`Error::NoSymbol`] if there is none, or the runtime's error.
    pub fn variable(&self, name: &str) -> Result<Variable> {
        use hsa_executable_symbol_info_t as I;
        let symbol = self.symbol("variable", name, name)?;
        // SAFETY: the attribute's type is hsa_symbol_kind_t.
        let kind =
            unsafe { self.info(symbol, I::HSA_EXECUTABLE_SYMBOL_INFO_TYPE, hsa_symbol_kind_t(u32::MAX)) }?;
        if kind != hsa_symbol_kind_t::HSA_SYMBOL_KIND_VARIABLE {
            return Err(Error::NoSymbol { kind: "variable", name: name.to_owned() });
        }
        // SAFETY: the attributes' types are u64 and u32.
        let (address, size) = unsafe {
            (
                self.info(symbol, I::HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, 0u64)?,
                self.info(symbol, I::HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE, 0u32)?,
            )
        };
        // Use the real size: the runtime does not compare the code object's declaration of an undefined
        // variable with the memory that the program gave.
        let defined = self.inner.variables.iter().find(|(defined, _)| defined == name);
        let size = defined.map_or(size as usize, |(_, memory)| memory.size());
        Ok(Variable { executable: self.clone(), address, size })
    }
}

/// A loaded kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    executable: Executable,
    name: Arc<str>,
    object: u64,
    kernarg_size: u32,
    group_segment_size: u32,
    private_segment_size: u32,
}

impl Kernel {
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The executable that contains it.
    pub fn executable(&self) -> &Executable {
        &self.executable
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        self.executable.agent().runtime()
    }

    /// The address for dispatch packets, valid while a clone of the kernel exists.
    pub fn object(&self) -> u64 {
        self.object
    }

    /// The size of the arguments in bytes.
    pub fn kernarg_size(&self) -> u32 {
        self.kernarg_size
    }

    /// LDS that a workgroup needs, bytes.
    pub fn group_segment_size(&self) -> u32 {
        self.group_segment_size
    }

    /// Scratch that a work-item needs, bytes.
    pub fn private_segment_size(&self) -> u32 {
        self.private_segment_size
    }
}

/// A variable of an executable.
#[derive(Clone, Debug)]
pub struct Variable {
    executable: Executable,
    address: u64,
    size: usize,
}

impl Variable {
    /// The address, valid while a clone of the variable exists.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    fn range(&self, offset: usize, len: usize) -> Result<*mut c_void> {
        if offset > self.size || len > self.size - offset {
            return Err(Error::OutOfRange { what: "a variable", offset, len, size: self.size });
        }
        Ok((self.address as *mut c_void).wrapping_byte_add(offset))
    }

    /// Copies bytes into the variable; blocks until that is done (`hsa_memory_copy`).
    ///
    /// # Errors
    /// [`Error::OutOfRange`], or the runtime's error.
    pub fn write(&self, offset: usize, bytes: &[u8]) -> Result<()> {
        let to = self.range(offset, bytes.len())?;
        let table = self.executable.agent().runtime().table();
        // SAFETY: the range is inside the variable, whose executable is held; the bytes are borrowed for the
        // call.
        unsafe { call!(table, hsa_memory_copy(to, bytes.as_ptr().cast(), bytes.len())) }
    }

    /// Copies bytes out of the variable; blocks until that is done (`hsa_memory_copy`).
    ///
    /// # Errors
    /// [`Error::OutOfRange`], or the runtime's error.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<()> {
        let from = self.range(offset, bytes.len())?;
        let table = self.executable.agent().runtime().table();
        // SAFETY: the range is inside the variable, whose executable is held; the bytes are borrowed
        // exclusively.
        unsafe { call!(table, hsa_memory_copy(bytes.as_mut_ptr().cast(), from, bytes.len())) }
    }
}
