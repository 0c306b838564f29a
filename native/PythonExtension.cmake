# probe._native: cffi in API mode, one abi3 module. The declarations are data (cffi/probe.cdef.h); the C around them is generated.
cmake_minimum_required(VERSION 3.26)
find_package(Python REQUIRED COMPONENTS Interpreter Development.Module ${SKBUILD_SABI_COMPONENT})

set(cdef ${CMAKE_CURRENT_SOURCE_DIR}/cffi/probe.cdef.h)
set(csrc ${CMAKE_CURRENT_SOURCE_DIR}/cffi/probe_native.c)
set(generated ${CMAKE_CURRENT_BINARY_DIR}/_native.c)
add_custom_command(
  OUTPUT ${generated}
  COMMAND ${Python_EXECUTABLE} -m cffi.gen_src read-sources probe._native ${cdef} ${csrc} ${generated}
  DEPENDS ${cdef} ${csrc} include/probe.h
  VERBATIM)

python_add_library(_native MODULE WITH_SOABI USE_SABI ${SKBUILD_SABI_VERSION} ${generated} src/session.c)
# Generated code is held to the compiler's defaults, not to our warnings: only the core carries those.
target_include_directories(_native PRIVATE include src)
target_compile_definitions(_native PRIVATE ${PROBE_DEFINITIONS})
target_link_libraries(_native PRIVATE $<LINK_ONLY:probe_core> Threads::Threads)
target_link_options(_native PRIVATE -Wl,--exclude-libs,ALL)

install(TARGETS _native LIBRARY DESTINATION probe)
install(TARGETS gpu-probe-nvml RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR})
install(PROGRAMS ${wrapper_output} DESTINATION ${SKBUILD_SCRIPTS_DIR})
