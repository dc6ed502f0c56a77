#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

namespace lanista {

/// A broken invariant, that is, a bug of lanista. Only the outermost frame of a trial and main() catch it.
class InternalError : public std::logic_error {
 public:
  /// `message` describes the invariant, `where` is the check.
  InternalError(const std::string& message, std::source_location where);
};

/// Throws InternalError; never returns.
[[noreturn]] void fail_check(const char* condition, const std::string& message, std::source_location where);

}  // namespace lanista

/// Throws InternalError with the source location unless `cond` holds.
#define LANISTA_CHECK(cond, message) \
  ((cond) ? static_cast<void>(0) : ::lanista::fail_check(#cond, (message), std::source_location::current()))
