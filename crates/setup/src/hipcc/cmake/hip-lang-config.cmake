# For CMake's language HIP: the library to link into every target with HIP sources.
get_filename_component(_hip_lang_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET hip-lang::device)
  add_library(hip-lang::amdhip64 SHARED IMPORTED)
  set_target_properties(hip-lang::amdhip64 PROPERTIES
    IMPORTED_LOCATION "${_hip_lang_prefix}/lib/libamdhip64.so.7"
    IMPORTED_SONAME "libamdhip64.so.7"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "$<$<COMPILE_LANGUAGE:HIP>:${_hip_lang_prefix}/include>"
    INTERFACE_INCLUDE_DIRECTORIES "$<$<COMPILE_LANGUAGE:HIP>:${_hip_lang_prefix}/include>")

  add_library(hip-lang::device INTERFACE IMPORTED)
  set_target_properties(hip-lang::device PROPERTIES
    INTERFACE_LINK_LIBRARIES hip-lang::amdhip64)
endif()
unset(_hip_lang_prefix)
# CMake links this target into targets with HIP sources.
set(_CMAKE_HIP_DEVICE_RUNTIME_TARGET "hip-lang::device")
