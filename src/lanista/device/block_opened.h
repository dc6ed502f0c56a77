#pragma once

#include <dlfcn.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "lanista/base/result.h"

namespace lanista::device {

inline Error unavailable(std::string message) {
  return {.code = Code::kUnavailable, .message = std::move(message), .where = {}};
}

// A library and the entries that are wanted of it.
class Opened {
 public:
  Result<void> open(std::initializer_list<const char*> names) {
    std::string reasons;
    for (const char* name : names) {
      handle_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) return {};
      const char* const why = ::dlerror();
      reasons += (reasons.empty() ? "" : "; ") + std::string(why == nullptr ? name : why);
    }
    return unavailable(reasons);
  }
  template <class F>
  void find(const char* name, F*& to) {
    to = reinterpret_cast<F*>(entry(name));
  }
  /// Errors: kUnavailable, the first entry that was not found.
  Result<void> complete() const {
    if (missing_ == nullptr) return {};
    return unavailable(std::string("the library has no ").append(missing_));
  }

 private:
  void* entry(const char* name) {
    void* const found = ::dlsym(handle_, name);
    if (found == nullptr && missing_ == nullptr) missing_ = name;
    return found;
  }

  void* handle_ = nullptr;  // never closed: what it made lives on
  const char* missing_ = nullptr;
};

}  // namespace lanista::device
