//! Executables: code objects loaded for devices, and their symbols.

use std::collections::HashMap;
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};

use code_object::{Binding, SymbolKind};
use hsa_sys::*;

use super::agent::Agent;
use super::event::lock;
use super::{S, call, read_text, write};
use crate::machine::{LoadError, LoadedCode};

/// The minimum alignment of kernel arguments.
const KERNARG_ALIGN: u32 = 16;

/// The bytes of a code object that is not loaded yet.
enum Source {
    /// Bytes in the program's memory, which it keeps until the reader is destroyed.
    Memory { address: usize, size: usize },
    /// The contents of a file.
    File(Vec<u8>),
}

/// A code object that was loaded into an executable.
pub(super) struct Loaded {
    pub(super) handle: u64,
    pub(super) device: usize,
    pub(super) code: Arc<LoadedCode>,
    /// The program's own copy of the bytes, if it passed them in memory.
    pub(super) storage: Option<(usize, usize)>,
}

pub(super) struct Executable {
    frozen: bool,
    profile: hsa_profile_t,
    pub(super) loaded: Vec<Loaded>,
    /// Addresses of variables that the program defined, by device and name.
    defined: HashMap<(Option<usize>, String), u64>,
    /// Handles of symbols, by device and name.
    symbols: HashMap<(usize, String), u64>,
}

/// The symbol behind a handle.
#[derive(Clone)]
struct Symbol {
    device: usize,
    code: Arc<LoadedCode>,
    /// The index among the code object's symbols.
    index: usize,
}

#[derive(Default)]
pub(super) struct State {
    readers: HashMap<u64, Arc<Source>>,
    pub(super) executables: HashMap<u64, Executable>,
    symbols: HashMap<u64, Symbol>,
}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(Mutex::default);
/// Handles are numbers that are never reused, so a stale handle is an error.
static NEXT_HANDLE: AtomicU64 = AtomicU64::new(0x10AD_0001);

pub(super) fn state() -> MutexGuard<'static, State> {
    lock(&STATE)
}

fn new_handle() -> u64 {
    NEXT_HANDLE.fetch_add(1, Ordering::Relaxed)
}

impl State {
    pub(super) fn executable(&mut self, handle: hsa_executable_t) -> Result<&mut Executable, S> {
        self.executables.get_mut(&handle.handle).ok_or(S::HSA_STATUS_ERROR_INVALID_EXECUTABLE)
    }

    /// An executable that is not frozen.
    fn open_executable(&mut self, handle: hsa_executable_t) -> Result<&mut Executable, S> {
        let executable = self.executable(handle)?;
        if executable.frozen { Err(S::HSA_STATUS_ERROR_FROZEN_EXECUTABLE) } else { Ok(executable) }
    }

    /// The handle of a symbol; the same on every call.
    fn symbol_handle(&mut self, executable: u64, symbol: Symbol) -> Result<hsa_executable_symbol_t, S> {
        let owner = self.executables.get_mut(&executable).ok_or(S::HSA_STATUS_ERROR_INVALID_EXECUTABLE)?;
        let name = symbol.code.object().symbols().get(symbol.index).map(|found| found.name.clone());
        let name = name.ok_or(S::HSA_STATUS_ERROR_INVALID_SYMBOL_NAME)?;
        let handle = *owner.symbols.entry((symbol.device, name)).or_insert_with(new_handle);
        self.symbols.entry(handle).or_insert(symbol);
        Ok(hsa_executable_symbol_t { handle })
    }
}

unsafe extern "C" fn reader_from_memory(
    bytes: *const c_void,
    size: usize,
    reader: *mut hsa_code_object_reader_t,
) -> S {
    call(|| {
        let ends = (bytes as usize).checked_add(size).is_some() && isize::try_from(size).is_ok();
        if bytes.is_null() || size == 0 || !ends || reader.is_null() {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let handle = new_handle();
        state().readers.insert(handle, Arc::new(Source::Memory { address: bytes as usize, size }));
        // SAFETY: checked for null above; the caller's pointer is valid for a write.
        unsafe { write(reader, hsa_code_object_reader_t { handle }) }
    })
}

/// Reads `size` bytes of a file from `offset`, or the rest of the file. The file's position does not change.
fn read_file(file: i32, offset: u64, size: Option<u64>) -> Result<Vec<u8>, S> {
    use std::os::fd::FromRawFd;
    use std::os::unix::fs::FileExt;
    // SAFETY: the file is only borrowed: `ManuallyDrop` leaves closing it to the caller. If the number is not
    // an open file, every call fails.
    let file = std::mem::ManuallyDrop::new(unsafe { std::fs::File::from_raw_fd(file) });
    let invalid = S::HSA_STATUS_ERROR_INVALID_FILE;
    let end = file.metadata().map_err(|_| invalid)?.len();
    let size = size.unwrap_or(end.saturating_sub(offset));
    if size == 0 || offset.checked_add(size).is_none_or(|last| last > end) {
        return Err(invalid);
    }
    let mut bytes = vec![0; usize::try_from(size).map_err(|_| invalid)?];
    file.read_exact_at(&mut bytes, offset).map_err(|_| invalid)?;
    Ok(bytes)
}

/// # Safety
/// `reader` is null or valid for a write.
pub(super) unsafe fn reader_of_file(
    file: i32,
    offset: u64,
    size: Option<u64>,
    reader: *mut hsa_code_object_reader_t,
) -> Result<(), S> {
    if reader.is_null() {
        return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    if file < 0 {
        return Err(S::HSA_STATUS_ERROR_INVALID_FILE);
    }
    let bytes = read_file(file, offset, size)?;
    let handle = new_handle();
    state().readers.insert(handle, Arc::new(Source::File(bytes)));
    // SAFETY: the caller's promise.
    unsafe { write(reader, hsa_code_object_reader_t { handle }) }
}

unsafe extern "C" fn reader_from_file(file: hsa_file_t, reader: *mut hsa_code_object_reader_t) -> S {
    // SAFETY: the caller's pointer is null or valid for a write.
    call(|| unsafe { reader_of_file(file, 0, None, reader) })
}

unsafe extern "C" fn reader_destroy(reader: hsa_code_object_reader_t) -> S {
    call(|| {
        let removed = state().readers.remove(&reader.handle);
        removed.map(|_| ()).ok_or(S::HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER)
    })
}

/// # Safety
/// `executable` is null or valid for a write.
unsafe fn create_executable(
    profile: hsa_profile_t,
    frozen: bool,
    executable: *mut hsa_executable_t,
) -> Result<(), S> {
    if executable.is_null() || profile.name().is_none() {
        return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    let handle = new_handle();
    state().executables.insert(
        handle,
        Executable { frozen, profile, loaded: Vec::new(), defined: HashMap::new(), symbols: HashMap::new() },
    );
    // SAFETY: the caller's promise.
    unsafe { write(executable, hsa_executable_t { handle }) }
}

unsafe extern "C" fn executable_create(
    profile: hsa_profile_t,
    initial: hsa_executable_state_t,
    _options: *const c_char,
    executable: *mut hsa_executable_t,
) -> S {
    call(|| {
        let frozen = initial == hsa_executable_state_t::HSA_EXECUTABLE_STATE_FROZEN;
        // SAFETY: as this function's contract.
        unsafe { create_executable(profile, frozen, executable) }
    })
}

unsafe extern "C" fn executable_create_alt(
    profile: hsa_profile_t,
    _rounding: hsa_default_float_rounding_mode_t,
    _options: *const c_char,
    executable: *mut hsa_executable_t,
) -> S {
    // SAFETY: as this function's contract.
    call(|| unsafe { create_executable(profile, false, executable) })
}

unsafe extern "C" fn executable_destroy(executable: hsa_executable_t) -> S {
    call(|| {
        let mut state = state();
        let removed = state.executables.remove(&executable.handle);
        let removed = removed.ok_or(S::HSA_STATUS_ERROR_INVALID_EXECUTABLE)?;
        let mut symbols = Vec::new();
        for handle in removed.symbols.values() {
            symbols.extend(state.symbols.remove(handle));
        }
        // Unmapping the code may wait for kernels, so the lock is released first.
        drop(state);
        drop(symbols);
        drop(removed);
        Ok(())
    })
}

unsafe extern "C" fn load_agent_code_object(
    executable: hsa_executable_t,
    agent: hsa_agent_t,
    reader: hsa_code_object_reader_t,
    _options: *const c_char,
    loaded: *mut hsa_loaded_code_object_t,
) -> S {
    call(|| {
        let device = Agent::from_handle(agent)?.gpu()?;
        let (source, defined) = {
            let mut state = state();
            let source = state.readers.get(&reader.handle).cloned();
            let source = source.ok_or(S::HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER)?;
            (source, state.open_executable(executable)?.defined.clone())
        };
        let bytes: &[u8] = match &*source {
            Source::File(bytes) => bytes,
            // SAFETY: whoever created the reader keeps the bytes until it is destroyed.
            Source::Memory { address, size } => unsafe {
                std::slice::from_raw_parts(*address as *const u8, *size)
            },
        };
        let storage = match &*source {
            Source::Memory { address, size } => Some((*address, *size)),
            Source::File(_) => None,
        };
        let index = device.index();
        let mut resolve = |name: &str| {
            let own = defined.get(&(Some(index), name.to_owned()));
            own.or_else(|| defined.get(&(None, name.to_owned()))).copied()
        };
        let code = device.load(bytes, &mut resolve).map_err(|error| {
            tracing::error!("loading a code object: {error}");
            match error {
                LoadError::WrongTarget { .. } => S::HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
                LoadError::UndefinedSymbol(_) => S::HSA_STATUS_ERROR_VARIABLE_UNDEFINED,
                LoadError::Memory(_) | LoadError::TooLarge(_) => S::HSA_STATUS_ERROR_OUT_OF_RESOURCES,
                _ => S::HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
            }
        })?;
        let handle = new_handle();
        state().open_executable(executable)?.loaded.push(Loaded { handle, device: index, code, storage });
        if loaded.is_null() {
            return Ok(());
        }
        // SAFETY: the caller's pointer is valid for a write.
        unsafe { write(loaded, hsa_loaded_code_object_t { handle }) }
    })
}

unsafe extern "C" fn freeze(executable: hsa_executable_t, _options: *const c_char) -> S {
    call(|| {
        state().open_executable(executable)?.frozen = true;
        Ok(())
    })
}

/// # Safety
/// `result` is null or valid for a write.
unsafe fn validated(executable: hsa_executable_t, result: *mut u32) -> Result<(), S> {
    state().executable(executable)?;
    // Loading has already checked everything. SAFETY: the caller's promise.
    unsafe { write(result, 0) }
}

unsafe extern "C" fn validate(executable: hsa_executable_t, result: *mut u32) -> S {
    // SAFETY: as this function's contract.
    call(|| unsafe { validated(executable, result) })
}

unsafe extern "C" fn validate_alt(
    executable: hsa_executable_t,
    _options: *const c_char,
    result: *mut u32,
) -> S {
    // SAFETY: as this function's contract.
    call(|| unsafe { validated(executable, result) })
}

unsafe extern "C" fn executable_info(
    executable: hsa_executable_t,
    attribute: hsa_executable_info_t,
    value: *mut c_void,
) -> S {
    use hsa_executable_info_t as I;
    call(|| {
        let mut state = state();
        let executable = state.executable(executable)?;
        // SAFETY: the caller's pointer is null or valid for a write of the attribute's type.
        unsafe {
            match attribute {
                I::HSA_EXECUTABLE_INFO_PROFILE => write(value.cast(), executable.profile),
                I::HSA_EXECUTABLE_INFO_STATE => write(
                    value.cast(),
                    if executable.frozen {
                        hsa_executable_state_t::HSA_EXECUTABLE_STATE_FROZEN
                    } else {
                        hsa_executable_state_t::HSA_EXECUTABLE_STATE_UNFROZEN
                    },
                ),
                I::HSA_EXECUTABLE_INFO_DEFAULT_FLOAT_ROUNDING_MODE => write(
                    value.cast(),
                    hsa_default_float_rounding_mode_t::HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR,
                ),
                _ => Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT),
            }
        }
    })
}

fn define(executable: hsa_executable_t, device: Option<usize>, name: &str, address: u64) -> Result<(), S> {
    let mut state = state();
    let executable = state.open_executable(executable)?;
    if address == 0 {
        return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    match executable.defined.entry((device, name.to_owned())) {
        std::collections::hash_map::Entry::Occupied(_) => Err(S::HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED),
        std::collections::hash_map::Entry::Vacant(entry) => {
            entry.insert(address);
            Ok(())
        }
    }
}

unsafe extern "C" fn global_variable_define(
    executable: hsa_executable_t,
    name: *const c_char,
    address: *mut c_void,
) -> S {
    // SAFETY: the caller's string is null or NUL-terminated.
    call(|| define(executable, None, unsafe { read_text(name) }?, address as u64))
}

unsafe extern "C" fn agent_variable_define(
    executable: hsa_executable_t,
    agent: hsa_agent_t,
    name: *const c_char,
    address: *mut c_void,
) -> S {
    call(|| {
        let device = Agent::from_handle(agent)?.gpu()?;
        // SAFETY: the caller's string is null or NUL-terminated.
        define(executable, Some(device.index()), unsafe { read_text(name) }?, address as u64)
    })
}

/// Whether programs may use a symbol: kernels (through their descriptors) and variables. The code symbol of a
/// kernel, which some programs try first, is hidden.
fn is_visible(symbol: &code_object::Symbol) -> bool {
    matches!(symbol.kind, SymbolKind::KernelDescriptor | SymbolKind::Object) && !symbol.undefined
}

/// # Safety
/// `symbol` is null or valid for a write.
unsafe fn find_symbol(
    executable: hsa_executable_t,
    name: &str,
    device: Option<usize>,
    symbol: *mut hsa_executable_symbol_t,
) -> Result<(), S> {
    let mut state = state();
    let found = state.executable(executable)?.loaded.iter().find_map(|loaded| {
        if device.is_some_and(|device| device != loaded.device) {
            return None;
        }
        let symbols = loaded.code.object().symbols();
        let index = symbols.iter().position(|symbol| symbol.name == name && is_visible(symbol))?;
        let code = Arc::clone(&loaded.code);
        Some(Symbol { device: loaded.device, code, index })
    });
    let found = found.ok_or(S::HSA_STATUS_ERROR_INVALID_SYMBOL_NAME)?;
    let handle = state.symbol_handle(executable.handle, found)?;
    drop(state);
    // SAFETY: the caller's promise.
    unsafe { write(symbol, handle) }
}

unsafe extern "C" fn symbol_by_name(
    executable: hsa_executable_t,
    name: *const c_char,
    agent: *const hsa_agent_t,
    symbol: *mut hsa_executable_symbol_t,
) -> S {
    call(|| {
        // SAFETY: the caller's string is null or NUL-terminated, its agent null or valid for a read.
        let (name, agent) = unsafe { (read_text(name)?, (!agent.is_null()).then(|| agent.read_unaligned())) };
        let device = match agent {
            None => None,
            Some(agent) => Some(Agent::from_handle(agent)?.gpu()?.index()),
        };
        // SAFETY: as this function's contract.
        unsafe { find_symbol(executable, name, device, symbol) }
    })
}

unsafe extern "C" fn symbol_by_module(
    executable: hsa_executable_t,
    _module: *const c_char,
    name: *const c_char,
    agent: hsa_agent_t,
    _call_convention: i32,
    symbol: *mut hsa_executable_symbol_t,
) -> S {
    // SAFETY: as this function's contract.
    unsafe { symbol_by_name(executable, name, &raw const agent, symbol) }
}

/// The handles of all visible symbols of an executable, for one device or for all.
fn all_symbols(
    executable: hsa_executable_t,
    device: Option<usize>,
) -> Result<Vec<hsa_executable_symbol_t>, S> {
    let mut state = state();
    let mut found = Vec::new();
    for loaded in &state.executable(executable)?.loaded {
        if device.is_some_and(|device| device != loaded.device) {
            continue;
        }
        for (index, symbol) in loaded.code.object().symbols().iter().enumerate() {
            if is_visible(symbol) {
                let code = Arc::clone(&loaded.code);
                found.push(Symbol { device: loaded.device, code, index });
            }
        }
    }
    found.into_iter().map(|symbol| state.symbol_handle(executable.handle, symbol)).collect()
}

unsafe extern "C" fn iterate_symbols(
    executable: hsa_executable_t,
    callback: Option<unsafe extern "C" fn(hsa_executable_t, hsa_executable_symbol_t, *mut c_void) -> S>,
    data: *mut c_void,
) -> S {
    call(|| {
        let callback = callback.ok_or(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        for symbol in all_symbols(executable, None)? {
            // SAFETY: the caller's callback takes any symbol and the caller's data.
            match unsafe { callback(executable, symbol, data) } {
                S::HSA_STATUS_SUCCESS => {}
                status => return Err(status),
            }
        }
        Ok(())
    })
}

unsafe extern "C" fn iterate_agent_symbols(
    executable: hsa_executable_t,
    agent: hsa_agent_t,
    callback: Option<
        unsafe extern "C" fn(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t, *mut c_void) -> S,
    >,
    data: *mut c_void,
) -> S {
    call(|| {
        let device = Agent::from_handle(agent)?.gpu()?.index();
        let callback = callback.ok_or(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        for symbol in all_symbols(executable, Some(device))? {
            // SAFETY: the caller's callback takes any symbol and the caller's data.
            match unsafe { callback(executable, agent, symbol, data) } {
                S::HSA_STATUS_SUCCESS => {}
                status => return Err(status),
            }
        }
        Ok(())
    })
}

unsafe extern "C" fn iterate_program_symbols(
    executable: hsa_executable_t,
    callback: Option<unsafe extern "C" fn(hsa_executable_t, hsa_executable_symbol_t, *mut c_void) -> S>,
    _data: *mut c_void,
) -> S {
    call(|| {
        // Every symbol belongs to an agent.
        state().executable(executable)?;
        callback.map(|_| ()).ok_or(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)
    })
}

unsafe extern "C" fn symbol_info(
    handle: hsa_executable_symbol_t,
    attribute: hsa_executable_symbol_info_t,
    value: *mut c_void,
) -> S {
    use hsa_executable_symbol_info_t as I;
    call(|| {
        let invalid = S::HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL;
        let symbol = state().symbols.get(&handle.handle).cloned().ok_or(invalid)?;
        if value.is_null() {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let object = symbol.code.object();
        let entry = object.symbols().get(symbol.index).ok_or(invalid)?;
        let address = if entry.absolute { entry.value } else { symbol.code.base() + entry.value };
        let kernel = (entry.kind == SymbolKind::KernelDescriptor)
            .then(|| object.kernels().iter().find(|kernel| kernel.symbol == entry.name))
            .flatten();
        let variable = entry.kind == SymbolKind::Object;
        let not_this_kind = S::HSA_STATUS_ERROR_INVALID_ARGUMENT;
        // SAFETY: the caller's pointer is valid for a write of the attribute's type.
        unsafe {
            match attribute {
                I::HSA_EXECUTABLE_SYMBOL_INFO_TYPE => write(
                    value.cast(),
                    match entry.kind {
                        SymbolKind::KernelDescriptor => hsa_symbol_kind_t::HSA_SYMBOL_KIND_KERNEL,
                        SymbolKind::Function => hsa_symbol_kind_t::HSA_SYMBOL_KIND_INDIRECT_FUNCTION,
                        _ => hsa_symbol_kind_t::HSA_SYMBOL_KIND_VARIABLE,
                    },
                ),
                I::HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH => write(value.cast(), entry.name.len() as u32),
                I::HSA_EXECUTABLE_SYMBOL_INFO_NAME => {
                    std::ptr::copy_nonoverlapping(entry.name.as_ptr(), value.cast(), entry.name.len());
                    Ok(())
                }
                I::HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME_LENGTH => write(value.cast(), 0u32),
                I::HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME => Ok(()),
                I::HSA_EXECUTABLE_SYMBOL_INFO_AGENT => {
                    write(value.cast(), Agent::device_handle(symbol.device))
                }
                I::HSA_EXECUTABLE_SYMBOL_INFO_LINKAGE => write(
                    value.cast(),
                    if entry.binding == Binding::Local {
                        hsa_symbol_linkage_t::HSA_SYMBOL_LINKAGE_MODULE
                    } else {
                        hsa_symbol_linkage_t::HSA_SYMBOL_LINKAGE_PROGRAM
                    },
                ),
                I::HSA_EXECUTABLE_SYMBOL_INFO_IS_DEFINITION => write(value.cast(), true),
                I::HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS if variable => write(value.cast(), address),
                I::HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALLOCATION if variable => {
                    write(value.cast(), hsa_variable_allocation_t::HSA_VARIABLE_ALLOCATION_AGENT)
                }
                I::HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SEGMENT if variable => {
                    write(value.cast(), hsa_variable_segment_t::HSA_VARIABLE_SEGMENT_GLOBAL)
                }
                I::HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALIGNMENT if variable => {
                    write(value.cast(), 1u32 << address.trailing_zeros().min(12))
                }
                I::HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE if variable => {
                    write(value.cast(), u32::try_from(entry.size).unwrap_or(u32::MAX))
                }
                I::HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST if variable => {
                    let segment = object.segments().iter().find(|segment| segment.contains(entry.value, 1));
                    write(value.cast(), segment.is_some_and(|segment| !segment.writable))
                }
                I::HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT => {
                    kernel.ok_or(not_this_kind)?;
                    write(value.cast(), address)
                }
                I::HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE => {
                    write(value.cast(), kernel.ok_or(not_this_kind)?.kernarg_size)
                }
                I::HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT => {
                    // A compiler may record less, but HSA aligns arguments to 16 in any case.
                    write(value.cast(), kernel.ok_or(not_this_kind)?.kernarg_align.max(KERNARG_ALIGN))
                }
                I::HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE => {
                    write(value.cast(), kernel.ok_or(not_this_kind)?.group_segment_size)
                }
                I::HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE => {
                    write(value.cast(), kernel.ok_or(not_this_kind)?.private_segment_size)
                }
                I::HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK => {
                    write(value.cast(), kernel.ok_or(not_this_kind)?.uses_dynamic_stack)
                }
                I::HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_CALL_CONVENTION => {
                    kernel.ok_or(not_this_kind)?;
                    write(value.cast(), 0u32)
                }
                _ => Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT),
            }
        }
    })
}

pub(super) fn provide(builder: &mut Builder) {
    builder.hsa_code_object_reader_create_from_memory(reader_from_memory);
    builder.hsa_code_object_reader_create_from_file(reader_from_file);
    builder.hsa_code_object_reader_destroy(reader_destroy);
    builder.hsa_executable_create(executable_create).hsa_executable_create_alt(executable_create_alt);
    builder.hsa_executable_destroy(executable_destroy);
    builder.hsa_executable_load_agent_code_object(load_agent_code_object);
    builder.hsa_executable_freeze(freeze).hsa_executable_get_info(executable_info);
    builder.hsa_executable_validate(validate).hsa_executable_validate_alt(validate_alt);
    builder.hsa_executable_global_variable_define(global_variable_define);
    builder.hsa_executable_agent_global_variable_define(agent_variable_define);
    builder.hsa_executable_readonly_variable_define(agent_variable_define);
    builder.hsa_executable_get_symbol_by_name(symbol_by_name).hsa_executable_get_symbol(symbol_by_module);
    builder.hsa_executable_iterate_symbols(iterate_symbols);
    builder.hsa_executable_iterate_agent_symbols(iterate_agent_symbols);
    builder.hsa_executable_iterate_program_symbols(iterate_program_symbols);
    builder.hsa_executable_symbol_get_info(symbol_info);
}
