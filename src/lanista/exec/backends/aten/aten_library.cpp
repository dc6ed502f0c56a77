// Entry points of the LibTorch library that the program opens.
#include <torch/version.h>

#include "lanista/exec/backends/aten/aten_backend.h"
#include "lanista/exec/backends/library.h"

extern "C" {

__attribute__((visibility("default"))) const char* lanista_device_stamp() { return lanista::device::kStamp; }

__attribute__((visibility("default"))) const lanista::device::Library* lanista_device_library() {
  static const lanista::device::Library library{"LibTorch " TORCH_VERSION, lanista::device::aten_backend};
  return &library;
}
}
