//! The AMD loader extension: the memory addresses and the origins of code objects.

use std::ffi::c_void;

use hsa_sys::*;

use super::agent::Agent;
use super::loader::{reader_of_file, state};
use super::{S, call, machine, write};

unsafe extern "C" fn reader_from_part_of_file(
    file: hsa_file_t,
    offset: usize,
    size: usize,
    reader: *mut hsa_code_object_reader_t,
) -> S {
    // SAFETY: the caller's pointer is null or valid for a write.
    call(|| unsafe { reader_of_file(file, offset as u64, Some(size as u64), reader) })
}

unsafe extern "C" fn query_host_address(device: *const c_void, host: *mut *const c_void) -> S {
    call(|| {
        if device.is_null() || machine().code_at(device as u64).is_none() {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller's pointer is null or valid for a write. Both addresses are the same here.
        unsafe { write(host, device) }
    })
}

unsafe extern "C" fn query_executable(device: *const c_void, executable: *mut hsa_executable_t) -> S {
    call(|| {
        let address = device as u64;
        let state = state();
        let found = state.executables.iter().find(|(_, executable)| {
            executable.loaded.iter().any(|loaded| (loaded.code.base()..loaded.code.end()).contains(&address))
        });
        let handle = *found.ok_or(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)?.0;
        // SAFETY: the caller's pointer is null or valid for a write.
        unsafe { write(executable, hsa_executable_t { handle }) }
    })
}

unsafe extern "C" fn query_segment_descriptors(
    descriptors: *mut hsa_ven_amd_loader_segment_descriptor_t,
    count: *mut usize,
) -> S {
    call(|| {
        if count.is_null() {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let state = state();
        let mut list = Vec::new();
        for (&handle, executable) in &state.executables {
            for loaded in &executable.loaded {
                for segment in loaded.code.object().segments() {
                    use hsa_ven_amd_loader_code_object_storage_type_t as T;
                    let (kind, address, size) = match loaded.storage {
                        Some((address, size)) => {
                            (T::HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY, address, size)
                        }
                        None => (T::HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_NONE, 0, 0),
                    };
                    list.push(hsa_ven_amd_loader_segment_descriptor_t {
                        agent: Agent::device_handle(loaded.device),
                        executable: hsa_executable_t { handle },
                        code_object_storage_type: kind,
                        code_object_storage_base: address as *const c_void,
                        code_object_storage_size: size,
                        code_object_storage_offset: if size == 0 { 0 } else { segment.file_range.start },
                        segment_base: (loaded.code.base() + segment.vaddr) as *const c_void,
                        segment_size: segment.mem_size as usize,
                    });
                }
            }
        }
        drop(state);
        // SAFETY: the caller's counter is valid; a list that is not null has as many entries as the counter
        // says.
        unsafe {
            if descriptors.is_null() {
                return write(count, list.len());
            }
            if count.read_unaligned() != list.len() {
                return Err(S::HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS);
            }
            for (index, descriptor) in list.into_iter().enumerate() {
                descriptors.add(index).write_unaligned(descriptor);
            }
        }
        Ok(())
    })
}

unsafe extern "C" fn iterate_loaded(
    executable: hsa_executable_t,
    callback: Option<unsafe extern "C" fn(hsa_executable_t, hsa_loaded_code_object_t, *mut c_void) -> S>,
    data: *mut c_void,
) -> S {
    call(|| {
        let callback = callback.ok_or(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        let handles: Vec<u64> =
            state().executable(executable)?.loaded.iter().map(|loaded| loaded.handle).collect();
        for handle in handles {
            // SAFETY: the caller's callback takes any loaded code object and the caller's data.
            match unsafe { callback(executable, hsa_loaded_code_object_t { handle }, data) } {
                S::HSA_STATUS_SUCCESS => {}
                status => return Err(status),
            }
        }
        Ok(())
    })
}

unsafe extern "C" fn loaded_info(
    loaded: hsa_loaded_code_object_t,
    attribute: hsa_ven_amd_loader_loaded_code_object_info_t,
    value: *mut c_void,
) -> S {
    use hsa_ven_amd_loader_loaded_code_object_info_t as I;
    call(|| {
        let state = state();
        let found = state.executables.iter().find_map(|(&handle, executable)| {
            let found = executable.loaded.iter().find(|entry| entry.handle == loaded.handle)?;
            Some((handle, found))
        });
        let (executable, found) = found.ok_or(S::HSA_STATUS_ERROR_INVALID_CODE_OBJECT)?;
        let code = &found.code;
        let uri = match found.storage {
            Some((address, size)) => {
                format!("memory://{}#offset={address:#x}&size={size}", std::process::id())
            }
            None => String::new(),
        };
        if value.is_null() {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller's pointer is valid for a write of the attribute's type.
        unsafe {
            match attribute {
                I::HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_EXECUTABLE => {
                    write(value.cast(), hsa_executable_t { handle: executable })
                }
                I::HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_KIND => write(
                    value.cast(),
                    hsa_ven_amd_loader_loaded_code_object_kind_t::HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_KIND_AGENT,
                ),
                I::HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT => {
                    write(value.cast(), Agent::device_handle(found.device))
                }
                I::HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE => {
                    use hsa_ven_amd_loader_code_object_storage_type_t as T;
                    write(
                        value.cast(),
                        if found.storage.is_some() {
                            T::HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY
                        } else {
                            T::HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_NONE
                        },
                    )
                }
                I::HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE => {
                    write(value.cast(), found.storage.ok_or(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)?.0 as u64)
                }
                I::HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE => {
                    write(value.cast(), found.storage.ok_or(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)?.1 as u64)
                }
                I::HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA => write(value.cast(), code.base() as i64),
                I::HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE => write(value.cast(), code.base()),
                I::HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE => {
                    write(value.cast(), code.end() - code.base())
                }
                I::HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH => write(value.cast(), uri.len() as u32),
                I::HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI => {
                    std::ptr::copy_nonoverlapping(uri.as_ptr(), value.cast(), uri.len());
                    Ok(())
                }
                _ => Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT),
            }
        }
    })
}

unsafe extern "C" fn iterate_executables(
    callback: Option<unsafe extern "C" fn(hsa_executable_t, *mut c_void) -> S>,
    data: *mut c_void,
) -> S {
    call(|| {
        let callback = callback.ok_or(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        let handles: Vec<u64> = state().executables.keys().copied().collect();
        for handle in handles {
            // SAFETY: the caller's callback takes any executable and the caller's data.
            match unsafe { callback(hsa_executable_t { handle }, data) } {
                S::HSA_STATUS_SUCCESS => {}
                status => return Err(status),
            }
        }
        Ok(())
    })
}

/// The functions of the AMD loader extension.
pub(super) fn extension_table() -> hsa_ven_amd_loader_1_03_pfn_t {
    hsa_ven_amd_loader_1_03_pfn_t {
        hsa_ven_amd_loader_query_host_address: Some(query_host_address),
        hsa_ven_amd_loader_query_segment_descriptors: Some(query_segment_descriptors),
        hsa_ven_amd_loader_query_executable: Some(query_executable),
        hsa_ven_amd_loader_executable_iterate_loaded_code_objects: Some(iterate_loaded),
        hsa_ven_amd_loader_loaded_code_object_get_info: Some(loaded_info),
        hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size: Some(
            reader_from_part_of_file,
        ),
        hsa_ven_amd_loader_iterate_executables: Some(iterate_executables),
    }
}

pub(super) fn provide(builder: &mut Builder) {
    builder.hsa_ven_amd_loader_query_host_address(query_host_address);
    builder.hsa_ven_amd_loader_query_segment_descriptors(query_segment_descriptors);
    builder.hsa_ven_amd_loader_query_executable(query_executable);
    builder.hsa_ven_amd_loader_executable_iterate_loaded_code_objects(iterate_loaded);
    builder.hsa_ven_amd_loader_loaded_code_object_get_info(loaded_info);
    builder.hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size(reader_from_part_of_file);
    builder.hsa_ven_amd_loader_iterate_executables(iterate_executables);
}
