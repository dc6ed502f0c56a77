# Finds LibTorch by its headers and libraries. It does not use Torch's own CMake package, which may switch on the CUDA
# language and sets global flags. Works with Debian's libtorch-dev, and with a wheel or zip through LibTorch_ROOT,
# Torch_DIR or CMAKE_PREFIX_PATH.
#
# Target LibTorch::LibTorch: system headers, c10 and torch_cpu. It does not link the library libtorch, because that one
# needs CUDA libraries in a wheel, which a machine without a GPU lacks.
#
# Target LibTorch::CUDA: c10_cuda, torch_cuda and CUDA's headers too. It exists if both libraries and the headers do.
#
# Variables: LibTorch_FOUND, LibTorch_INCLUDE_DIR.
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
mark_as_advanced(LibTorch_INCLUDE_DIR LibTorch_c10_LIBRARY LibTorch_cpu_LIBRARY)

# The probe passes a std::string to the library, so that a library with the old C++ ABI is refused here and not at the
# last link. A probe of c10 is enough, and it compiles in a second.
set(_lanista_libs ${LibTorch_cpu_LIBRARY} ${LibTorch_c10_LIBRARY})
if(LibTorch_INCLUDE_DIR AND LibTorch_c10_LIBRARY AND LibTorch_cpu_LIBRARY)
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
  REQUIRED_VARS LibTorch_INCLUDE_DIR LibTorch_c10_LIBRARY LibTorch_cpu_LIBRARY LibTorch_PROBED
  REASON_FAILURE_MESSAGE "(Debian: libtorch-dev, from a wheel: -DLibTorch_ROOT=<folder that holds include/ and lib/>)")

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  add_library(LibTorch::LibTorch INTERFACE IMPORTED)
  target_include_directories(LibTorch::LibTorch SYSTEM INTERFACE ${LibTorch_INCLUDE_DIR}
                             ${LibTorch_INCLUDE_DIR}/torch/csrc/api/include)
  target_link_libraries(LibTorch::LibTorch INTERFACE ${_lanista_libs})
endif()

# The GPU libraries are in the same folder. Their headers include two headers of CUDA, which come with a toolkit or with
# a Python wheel.
find_library(LibTorch_c10_cuda_LIBRARY NAMES c10_cuda ${_lanista_lib_args} NO_DEFAULT_PATH)
find_library(LibTorch_cuda_LIBRARY NAMES torch_cuda ${_lanista_lib_args} NO_DEFAULT_PATH)
mark_as_advanced(LibTorch_c10_cuda_LIBRARY LibTorch_cuda_LIBRARY)
if(LibTorch_FOUND AND LibTorch_c10_cuda_LIBRARY AND LibTorch_cuda_LIBRARY AND NOT LibTorch_CUDA_INCLUDE_DIR)
  get_filename_component(_lanista_packages "${LibTorch_INCLUDE_DIR}/../.." ABSOLUTE)
  foreach(_lanista_folder IN ITEMS "$ENV{CUDA_HOME}/include" /usr/local/cuda/include
                                   "${_lanista_packages}/nvidia/cu13/include"
                                   "${_lanista_packages}/nvidia/cuda_runtime/include")
    if(EXISTS ${_lanista_folder}/cuda_runtime_api.h AND EXISTS ${_lanista_folder}/crt/host_defines.h)
      set(LibTorch_CUDA_INCLUDE_DIR ${_lanista_folder} CACHE PATH "CUDA's headers")
      break()
    endif()
  endforeach()
  if(NOT LibTorch_CUDA_INCLUDE_DIR)
    message(STATUS "LibTorch has CUDA, but its headers (cuda_runtime_api.h, crt/host_defines.h) are in none of "
                   "$CUDA_HOME/include, /usr/local/cuda/include and Python's nvidia packages: GPUs are left out")
  endif()
endif()
if(LibTorch_CUDA_INCLUDE_DIR AND LibTorch_cuda_LIBRARY AND NOT TARGET LibTorch::CUDA)
  add_library(LibTorch::CUDA INTERFACE IMPORTED)
  target_include_directories(LibTorch::CUDA SYSTEM INTERFACE ${LibTorch_CUDA_INCLUDE_DIR})
  # The GPU operators are in torch_cuda. No symbol of it is referenced, so it is linked with --no-as-needed. It finds
  # its own dependencies at run time.
  target_link_libraries(LibTorch::CUDA INTERFACE
    LibTorch::LibTorch -Wl,--no-as-needed ${LibTorch_cuda_LIBRARY} ${LibTorch_c10_cuda_LIBRARY} -Wl,--as-needed)
  target_link_options(LibTorch::CUDA INTERFACE -Wl,--allow-shlib-undefined)
endif()
unset(_lanista_hints)
unset(_lanista_libs)
unset(_lanista_lib_args)
