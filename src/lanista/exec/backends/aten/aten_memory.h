#pragma once

#include <c10/util/Exception.h>

#include <new>
#include <stdexcept>
#include <string>

namespace lanista::device {

/// Exception for a device that is out of memory. The call that throws it has changed nothing.
class DeviceOutOfMemory : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Returns true if an exception of lanista or LibTorch means that a device or the host is out of memory.
inline bool is_out_of_memory(const std::exception& error) {
  if (dynamic_cast<const DeviceOutOfMemory*>(&error) != nullptr ||
      dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
      dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) {
    return true;
  }
  const auto* const other = dynamic_cast<const c10::Error*>(&error);
  if (other == nullptr) return false;
  const std::string text = other->what_without_backtrace();
  for (const char* sign : {"out of memory", "can't allocate memory", "ALLOC_FAILED"}) {
    if (text.find(sign) != std::string::npos) return true;
  }
  return false;
}

}  // namespace lanista::device
