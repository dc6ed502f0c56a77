# Finds LibTorch by its headers and libraries, without Torch's own CMake package: that one may switch on the CUDA
# language and sets global flags. Works with Debian's libtorch-dev and with a wheel or zip through LibTorch_ROOT,
# Torch_DIR or CMAKE_PREFIX_PATH.
#
# Target:    LibTorch::LibTorch (system headers; c10, torch_cpu, torch, and torch_cuda with c10_cuda where present)
# Variables: LibTorch_FOUND, LibTorch_INCLUDE_DIR, LibTorch_HAS_CUDA (libtorch_cuda and the CUDA runtime header)
set(_lanista_hints "")
if(Torch_DIR)  # <root>/share/cmake/Torch, or lib/<triple>/cmake/Torch on Debian
  list(APPEND _lanista_hints ${Torch_DIR}/../../.. ${Torch_DIR}/../../../..)
endif()

find_path(LibTorch_INCLUDE_DIR NAMES torch/csrc/api/include/torch/torch.h HINTS ${_lanista_hints}
          PATH_SUFFIXES include)
# The libraries must come from the tree that the headers came from.
set(_lanista_lib_args HINTS "${LibTorch_INCLUDE_DIR}/../lib" ${_lanista_hints} PATH_SUFFIXES lib)
find_library(LibTorch_c10_LIBRARY NAMES c10 ${_lanista_lib_args})
find_library(LibTorch_cpu_LIBRARY NAMES torch_cpu ${_lanista_lib_args})
find_library(LibTorch_torch_LIBRARY NAMES torch ${_lanista_lib_args})
if(LibTorch_c10_LIBRARY)
  get_filename_component(_lanista_lib_dir "${LibTorch_c10_LIBRARY}" DIRECTORY)
  find_library(LibTorch_cuda_LIBRARY NAMES torch_cuda PATHS ${_lanista_lib_dir} NO_DEFAULT_PATH)
  find_library(LibTorch_c10_cuda_LIBRARY NAMES c10_cuda PATHS ${_lanista_lib_dir} NO_DEFAULT_PATH)
endif()
find_path(LibTorch_CUDA_RUNTIME_DIR NAMES cuda_runtime_api.h HINTS ENV CUDA_HOME PATHS /usr/local/cuda
          PATH_SUFFIXES include)
mark_as_advanced(LibTorch_INCLUDE_DIR LibTorch_c10_LIBRARY LibTorch_cpu_LIBRARY LibTorch_torch_LIBRARY
                 LibTorch_cuda_LIBRARY LibTorch_c10_cuda_LIBRARY LibTorch_CUDA_RUNTIME_DIR)

# A string crosses the border in the probe, so that a library of the old C++ ABI is refused here and not at the last
# link. c10 alone is enough to know and compiles in a second.
set(_lanista_libs ${LibTorch_torch_LIBRARY} ${LibTorch_cpu_LIBRARY} ${LibTorch_c10_LIBRARY})
if(LibTorch_INCLUDE_DIR AND LibTorch_c10_LIBRARY AND LibTorch_cpu_LIBRARY AND LibTorch_torch_LIBRARY)
  if(NOT LibTorch_PROBED STREQUAL LibTorch_c10_LIBRARY)
    set(_lanista_probe ${CMAKE_BINARY_DIR}/CMakeFiles/lanista_probe_torch.cpp)
    file(WRITE ${_lanista_probe} "#include <c10/core/Device.h>\n#include <string>\n"
         "int main() { return c10::Device(std::string(\"cpu\")).str() == \"cpu\" ? 0 : 1; }\n")
    try_compile(_lanista_probe_ok ${CMAKE_BINARY_DIR}/CMakeFiles/lanista_probe_torch SOURCES ${_lanista_probe}
                CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${LibTorch_INCLUDE_DIR}"
                LINK_LIBRARIES ${_lanista_libs}
                OUTPUT_VARIABLE _lanista_probe_log
                CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
    if(_lanista_probe_ok)
      set(LibTorch_PROBED ${LibTorch_c10_LIBRARY} CACHE INTERNAL "the c10 library that the probe linked")
    else()
      message(STATUS "LibTorch in ${LibTorch_INCLUDE_DIR} does not compile and link:\n${_lanista_probe_log}")
    endif()
    unset(_lanista_probe_ok CACHE)
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_INCLUDE_DIR LibTorch_c10_LIBRARY LibTorch_cpu_LIBRARY LibTorch_torch_LIBRARY LibTorch_PROBED
  REASON_FAILURE_MESSAGE "(Debian: libtorch-dev, from a wheel: -DLibTorch_ROOT=<folder that holds include/ and lib/>)")

set(LibTorch_HAS_CUDA OFF)
if(LibTorch_FOUND AND LibTorch_cuda_LIBRARY AND LibTorch_c10_cuda_LIBRARY AND LibTorch_CUDA_RUNTIME_DIR)
  set(LibTorch_HAS_CUDA ON)
endif()

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  add_library(LibTorch::LibTorch INTERFACE IMPORTED)
  target_include_directories(LibTorch::LibTorch SYSTEM INTERFACE ${LibTorch_INCLUDE_DIR}
                             ${LibTorch_INCLUDE_DIR}/torch/csrc/api/include)
  if(LibTorch_cuda_LIBRARY)
    # Nothing of ours names its symbols, yet its operators must register themselves.
    target_link_libraries(LibTorch::LibTorch INTERFACE "-Wl,--push-state,--no-as-needed" ${LibTorch_cuda_LIBRARY}
                          "-Wl,--pop-state")
    if(LibTorch_c10_cuda_LIBRARY)
      target_link_libraries(LibTorch::LibTorch INTERFACE ${LibTorch_c10_cuda_LIBRARY})
    endif()
  endif()
  target_link_libraries(LibTorch::LibTorch INTERFACE ${_lanista_libs})
endif()
unset(_lanista_hints)
unset(_lanista_libs)
unset(_lanista_lib_args)
