#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lanista/base/check.h"

namespace lanista {

/// The kind of an expected failure. The set is small and fixed, and the names are stable in logs.
enum class Code {
  kInvalidArgument,     ///< A value from the caller is not allowed.
  kNotFound,            ///< A named object does not exist.
  kAlreadyExists,       ///< An object that must be new exists already.
  kNotApplicable,       ///< The operation finds nothing here to which it applies, such as a mutation.
  kOutOfRange,          ///< A number is outside the allowed range.
  kResourceExhausted,   ///< Memory, disk or slots are used up.
  kFailedPrecondition,  ///< The object is in the wrong state for this call.
  kDataLoss,            ///< A file is corrupt, torn or inconsistent.
  kUnavailable,         ///< Another process or thread holds the object; a later call may succeed.
  kUnimplemented,       ///< The request is valid but not supported.
  kIo,                  ///< The operating system refused a read or a write.
  kCancelled,           ///< The work ended on request.
  kInternal,            ///< A bug of lanista, caught by the outermost function of a trial or of the program.
};

/// The stable snake_case name of a code ("invalid_argument").
std::string_view code_name(Code code);

/// An expected, recoverable failure: its kind, its message and its position.
struct Error {
  Code code = Code::kInternal;  ///< the kind of failure
  std::string message;          ///< names the object, the value found and what is allowed
  std::string where;            ///< "file:line:column", path, key or option; may be empty

  /// The error for messages: "where: message", or the message alone if `where` is empty. Line breaks and control
  /// characters stay.
  std::string text() const;
  bool operator==(const Error&) const = default;
};

/// The failure of a Result: an Error on the heap, or nothing for success. Its code is compiled once, which keeps the
/// many places that return errors small. Convert it with `Result<U>(std::move(failure))`, or read `error()`.
class [[nodiscard]] Failure {
 public:
  /// No failure.
  Failure() = default;
  explicit Failure(Error error);
  Failure(Failure&& other) noexcept : error_(std::exchange(other.error_, nullptr)) {}
  Failure(const Failure& other);
  Failure& operator=(Failure other) noexcept { return std::swap(error_, other.error_), *this; }
  ~Failure() {
    if (error_ != nullptr) release();
  }

  /// True if there is an error.
  bool failed() const { return error_ != nullptr; }
  /// The error. Without one, this throws InternalError.
  const Error& error() const& { return *checked(); }
  /// The error, to be moved from. Without one, this throws InternalError.
  Error&& error() && { return std::move(*checked()); }
  /// Throws InternalError with the message of the error, because the value of a failed Result was read.
  [[noreturn]] void fail_value_read() const;

 private:
  Error* checked() const;
  void release();
  Error* error_ = nullptr;
};

/// A value of T or an Error. Reading the value of an error, or the error of a value, is a bug (LANISTA_CHECK).
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : failure_(std::move(error)) {}
  /// A failed Result. `failure` must hold an error.
  Result(Failure failure) : failure_(std::move(failure)) {}

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }

  T& operator*() & { return check_value(), *value_; }
  const T& operator*() const& { return check_value(), *value_; }
  T&& operator*() && { return check_value(), std::move(*value_); }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

  /// The error. Precondition: !ok().
  const Error& error() const& { return failure_.error(); }
  /// The error, to be moved from. Precondition: !ok().
  Error&& error() && { return std::move(failure_).error(); }
  /// The error for another Result, without a copy.
  Failure&& failure() && { return std::move(failure_); }

 private:
  void check_value() const {
    if (!value_) failure_.fail_value_read();
  }
  std::optional<T> value_;
  Failure failure_;
};

/// Success, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : failure_(std::move(error)) {}
  /// A failed Result. `failure` must hold an error.
  Result(Failure failure) : failure_(std::move(failure)) {}

  bool ok() const { return !failure_.failed(); }
  explicit operator bool() const { return ok(); }
  /// The error. Precondition: !ok().
  const Error& error() const& { return failure_.error(); }
  /// The error for another Result, without a copy.
  Failure&& failure() && { return std::move(failure_); }

 private:
  Failure failure_;
};

}  // namespace lanista

#define LANISTA_CONCAT_IMPL(a, b) a##b
#define LANISTA_CONCAT(a, b) LANISTA_CONCAT_IMPL(a, b)

/// Returns the error of `expr` from the enclosing function if `expr` failed.
#define LANISTA_TRY(expr)                                                                                      \
  do {                                                                                                         \
    if (auto lanista_try_result = (expr); !lanista_try_result) return std::move(lanista_try_result).failure(); \
  } while (false)

/// `LANISTA_ASSIGN(auto x, expr)`: x becomes the value of `expr`; an error is returned from the enclosing function. It
/// is several statements, so not for an `if` without braces.
#define LANISTA_ASSIGN(decl, expr) LANISTA_ASSIGN_IMPL(LANISTA_CONCAT(lanista_result_, __LINE__), decl, expr)
#define LANISTA_ASSIGN_IMPL(tmp, decl, expr) \
  auto tmp = (expr);                         \
  if (!tmp) return std::move(tmp).failure(); \
  decl = *std::move(tmp)
