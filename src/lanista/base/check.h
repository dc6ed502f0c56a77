#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

namespace lanista {

/// The exception for a broken invariant, that is, a bug of lanista. Only the outermost function of a trial and main()
/// catch it.
class InternalError : public std::logic_error {
 public:
  /// `message` describes the broken invariant, `where` is the source location of the check.
  InternalError(const std::string& message, std::source_location where);
};

/// Throws InternalError with the text of the condition, the message and the location. Never returns.
[[noreturn]] void fail_check(const char* condition, const std::string& message, std::source_location where);

}  // namespace lanista

/// Throws InternalError with the source location and `message` if `cond` is false. In all builds.
#define LANISTA_CHECK(cond, message) \
  ((cond) ? static_cast<void>(0) : ::lanista::fail_check(#cond, (message), std::source_location::current()))
