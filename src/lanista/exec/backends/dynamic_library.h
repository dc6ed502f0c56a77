#pragma once

#include <dlfcn.h>

#include <string>
#include <utility>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::device {

inline Error unavailable(std::string message) {
  return {.code = Code::kUnavailable, .message = std::move(message), .where = {}};
}

/// A library of a GPU's and the entries that are wanted of it: none is linked, and no header of theirs is needed.
class DynamicLibrary {
 public:
  /// The first of these that is here.
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
  template <class F>
  void find(const char* name, F*& to) {
    to = reinterpret_cast<F*>(symbol(name));
  }
  /// Errors: kUnavailable, the first entry that was not found.
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

  void* handle_ = nullptr;  // never closed: what it made lives on
  const char* missing_symbol_ = nullptr;
};

}  // namespace lanista::device
