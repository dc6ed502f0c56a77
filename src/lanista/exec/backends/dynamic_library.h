#pragma once

#include <dlfcn.h>

#include <string>
#include <utility>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::device {

/// Returns an error with the code kUnavailable and this message.
inline Error unavailable(std::string message) {
  return {.code = Code::kUnavailable, .message = std::move(message), .where = {}};
}

/// A shared library that is opened at run time, and its functions. Not thread-safe.
///
/// lanista links no GPU library and needs none of their headers. The library is never closed, because objects that it
/// made may still exist.
class DynamicLibrary {
 public:
  /// Opens the first library of `names` that can be opened. Errors: kUnavailable with the reason for every name.
  Result<void> open(const std::vector<std::string>& names) {
    std::string reasons;
    for (const std::string& name : names) {
      handle_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) return {};
      const char* const why = ::dlerror();
      reasons += (reasons.empty() ? "" : "; ") + std::string(why == nullptr ? name.c_str() : why);
    }
    return unavailable(reasons);
  }
  /// Sets `to` to the function `name` of the opened library, or to null if it has none. Then check_symbols gives an
  /// error.
  template <class F>
  void find(const char* name, F*& to) {
    to = reinterpret_cast<F*>(symbol(name));
  }
  /// Returns an error if a call of `find` failed: kUnavailable, with the name of the first missing function.
  Result<void> check_symbols() const {
    if (missing_symbol_ == nullptr) return {};
    return unavailable(std::string("the library has no ").append(missing_symbol_));
  }

 private:
  void* symbol(const char* name) {
    void* const found = ::dlsym(handle_, name);
    if (found == nullptr && missing_symbol_ == nullptr) missing_symbol_ = name;
    return found;
  }

  void* handle_ = nullptr;  // never closed
  const char* missing_symbol_ = nullptr;
};

}  // namespace lanista::device
