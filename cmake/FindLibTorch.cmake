# Finds LibTorch by its headers and libraries, without Torch's own CMake package: that one may switch on the CUDA
# language and sets global flags. Works with Debian's libtorch-dev and with a wheel or zip through LibTorch_ROOT,
# Torch_DIR or CMAKE_PREFIX_PATH.
#
# Target:    LibTorch::LibTorch (system headers; c10 and torch_cpu). Not libtorch itself: in a wheel it drags in CUDA libraries
#            that a machine without a GPU lacks, and what runs here runs on the CPU.
# Variables: LibTorch_FOUND, LibTorch_INCLUDE_DIR
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

# A string crosses the border in the probe, so that a library of the old C++ ABI is refused here and not at the last
# link. c10 alone is enough to know and compiles in a second.
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
unset(_lanista_hints)
unset(_lanista_libs)
unset(_lanista_lib_args)
