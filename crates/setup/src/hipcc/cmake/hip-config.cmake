# find_package(hip): HIP for C++ targets.
#
# hip::host      headers and library, for C++ that calls HIP and is compiled by any compiler
# hip::device    the same, and C++ sources compiled as HIP for GPU_TARGETS; the C++ compiler must be hipcc or its clang++
# hip::amdhip64  the library
get_filename_component(hip_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(hip_VERSION "@VERSION@")
set(HIP_VERSION "@VERSION@")
set(HIP_PLATFORM "amd")
set(HIP_COMPILER "clang")
set(HIP_RUNTIME "rocclr")
set(hip_INCLUDE_DIR "${hip_PREFIX}/include")
set(hip_INCLUDE_DIRS "${hip_INCLUDE_DIR}")
set(HIP_INCLUDE_DIR "${hip_INCLUDE_DIR}")
set(HIP_INCLUDE_DIRS "${hip_INCLUDE_DIR}")
set(hip_LIB_INSTALL_DIR "${hip_PREFIX}/lib")
set(HIP_LIB_INSTALL_DIR "${hip_PREFIX}/lib")
set(hip_BIN_INSTALL_DIR "${hip_PREFIX}/bin")
set(HIP_BIN_INSTALL_DIR "${hip_PREFIX}/bin")
set(hip_HIPCC_EXECUTABLE "${hip_PREFIX}/bin/hipcc")
set(HIP_HIPCC_EXECUTABLE "${hip_PREFIX}/bin/hipcc")
set(hip_HIPCONFIG_EXECUTABLE "${hip_PREFIX}/bin/hipconfig")
set(HIP_HIPCONFIG_EXECUTABLE "${hip_PREFIX}/bin/hipconfig")
set(hip_LIBRARIES hip::host hip::device)
set(HIP_LIBRARIES ${hip_LIBRARIES})

set(_hip_library "${hip_PREFIX}/lib/libamdhip64.so.7")
if(NOT EXISTS "${_hip_library}")
  set(hip_FOUND FALSE)
  set(hip_NOT_FOUND_MESSAGE
    "There is no HIP library to link with: ${_hip_library}. Set FERROCM_LIBRARIES to the folder that has it, and run `ferrocm hipconfig --path` again.")
  return()
endif()

# The targets of this machine, unless the project names others.
if(DEFINED AMDGPU_TARGETS AND NOT DEFINED GPU_TARGETS)
  set(GPU_TARGETS "${AMDGPU_TARGETS}")
endif()
if(NOT GPU_TARGETS)
  execute_process(
    COMMAND "${hip_PREFIX}/bin/rocm_agent_enumerator"
    OUTPUT_VARIABLE _hip_targets
    ERROR_VARIABLE _hip_error
    RESULT_VARIABLE _hip_result
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT _hip_result EQUAL 0)
    message(FATAL_ERROR "Cannot find out the targets of this machine; set GPU_TARGETS. ${_hip_error}")
  endif()
  string(REPLACE "\n" ";" _hip_targets "${_hip_targets}")
  set(GPU_TARGETS "${_hip_targets}" CACHE STRING "AMD GPU targets to compile for")
endif()

if(NOT TARGET hip::amdhip64)
  add_library(hip::amdhip64 SHARED IMPORTED)
  set_target_properties(hip::amdhip64 PROPERTIES
    IMPORTED_LOCATION "${_hip_library}"
    IMPORTED_SONAME "libamdhip64.so.7"
    INTERFACE_INCLUDE_DIRECTORIES "${hip_INCLUDE_DIR}"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${hip_INCLUDE_DIR}")

  add_library(hip::host INTERFACE IMPORTED)
  set_target_properties(hip::host PROPERTIES
    INTERFACE_LINK_LIBRARIES hip::amdhip64
    INTERFACE_COMPILE_DEFINITIONS "__HIP_PLATFORM_AMD__=1")

  add_library(hip::device INTERFACE IMPORTED)
  set(_hip_options "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-x hip>")
  foreach(_hip_target IN LISTS GPU_TARGETS)
    list(APPEND _hip_options "$<$<COMPILE_LANGUAGE:CXX>:--offload-arch=${_hip_target}>")
  endforeach()
  set_target_properties(hip::device PROPERTIES
    INTERFACE_LINK_LIBRARIES hip::host
    INTERFACE_COMPILE_OPTIONS "${_hip_options}")
endif()
unset(_hip_library)
unset(_hip_targets)
unset(_hip_target)
unset(_hip_options)
