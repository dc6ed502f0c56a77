// What the program finds in the library of LibTorch.
#include <torch/version.h>

#include <string>

#include "lanista/device/aten_backend.h"
#include "lanista/device/library.h"

extern "C" {

__attribute__((visibility("default"))) const char* lanista_device_stamp() {
  static const std::string stamp = lanista::device::library_stamp();
  return stamp.c_str();
}

__attribute__((visibility("default"))) const lanista::device::Library* lanista_device_library() {
  static const lanista::device::Library library{"LibTorch " TORCH_VERSION, lanista::device::aten_backend};
  return &library;
}
}
