# The wrapper runs inside any container: one static executable without Python, glibc or a loader. musl makes it small; where musl-gcc is not
# found, the compiler's own static libc does. Fewer segments are fewer page faults before main, of which a short task sees each.
set(wrapper_sources ${PROBE_WRAPPER_SOURCES} ${PROBE_CORE_SOURCES})
set(wrapper_output ${CMAKE_CURRENT_BINARY_DIR}/gpu-probe)

function(probe_plain_wrapper)
  add_executable(gpu-probe ${PROBE_WRAPPER_SOURCES})
  target_link_libraries(gpu-probe PRIVATE probe_core)
endfunction()

if(NOT PROBE_STATIC_WRAPPER)
  probe_plain_wrapper()
  return()
endif()

find_program(PROBE_MUSL_GCC musl-gcc DOC "compiler of the static wrapper")
if(PROBE_MUSL_GCC)
  list(TRANSFORM wrapper_sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(TRANSFORM PROBE_DEFINITIONS PREPEND -D OUTPUT_VARIABLE wrapper_definitions)
  file(GLOB wrapper_headers ${CMAKE_CURRENT_SOURCE_DIR}/src/*.h ${CMAKE_CURRENT_SOURCE_DIR}/include/*.h)
  add_custom_command(
    OUTPUT ${wrapper_output}
    COMMAND ${PROBE_MUSL_GCC} -std=c11 -O2 -static -s -Wl,-z,noseparate-code ${PROBE_COMPILE_OPTIONS} ${wrapper_definitions}
            -I${CMAKE_CURRENT_SOURCE_DIR}/include -I${CMAKE_CURRENT_SOURCE_DIR}/src ${wrapper_sources} -o ${wrapper_output}
    DEPENDS ${wrapper_sources} ${wrapper_headers}
    COMMENT "Linking gpu-probe statically with musl"
    VERBATIM)
  add_custom_target(gpu-probe-static ALL DEPENDS ${wrapper_output})
  message(STATUS "gpu-probe: static, ${PROBE_MUSL_GCC}")
  return()
endif()

include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_LINK_OPTIONS -static)
check_c_source_compiles("#include <stdio.h>\nint main(void) { return puts(\"\") < 0; }" PROBE_CAN_LINK_STATICALLY)
unset(CMAKE_REQUIRED_LINK_OPTIONS)
probe_plain_wrapper()
if(PROBE_CAN_LINK_STATICALLY)
  target_link_options(gpu-probe PRIVATE -static -s -Wl,-z,noseparate-code)
  message(STATUS "gpu-probe: static, ${CMAKE_C_COMPILER} -static")
else()
  message(WARNING "gpu-probe is linked dynamically and will not run in images with another libc: "
                  "install musl-tools (Debian) or glibc-static (RHEL) and build again")
endif()
