#pragma once

#include <exception>
#include <new>
#include <utility>

#include "lanista/base/result.h"

namespace lanista::api {

/// Calls `body`, which returns a Result, and returns a std::exception that it throws as an error: kResourceExhausted
/// for std::bad_alloc, else kInternal with its text.
template <class Body>
auto guarded(Body&& body) -> decltype(body()) {
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    return Error{Code::kResourceExhausted, "out of memory: the system gives this process no more", ""};
  } catch (const std::exception& exception) {
    return Error{Code::kInternal, exception.what(), ""};
  }
}

}  // namespace lanista::api
