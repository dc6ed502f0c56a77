#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "lanista/base/check.h"

namespace lanista {

/// Why an expected failure happened; a small canonical set, stable in logs.
enum class Code {
  kInvalidArgument,     ///< the caller's value breaks a stated rule
  kNotFound,            ///< a named thing does not exist
  kAlreadyExists,       ///< a thing that must be new is already there
  kNotApplicable,       ///< an operation has no site here (a mutation, say)
  kOutOfRange,          ///< a number outside its stated bounds
  kResourceExhausted,   ///< memory, disk or slots are used up
  kFailedPrecondition,  ///< the object is in the wrong state for this call
  kDataLoss,            ///< a file is corrupt, torn or lies about itself
  kUnavailable,         ///< somebody else holds it now; trying later may work
  kUnimplemented,       ///< known and understood, but not supported
  kIo,                  ///< the operating system refused a read or a write
  kCancelled,           ///< ended on request
  kInternal,            ///< our bug, caught at a wall
};

/// Stable snake_case name of a code ("invalid_argument").
std::string_view code_name(Code code);

/// An expected, recoverable failure: what happened, to which object, where.
struct Error {
  Code code = Code::kInternal;
  std::string message;  ///< names the object, the value seen and the value wanted
  std::string where;    ///< "file:line:column" of user input, a path, or empty

  /// "where: message", or the message alone.
  std::string text() const;
  bool operator==(const Error&) const = default;
};

/// A value of T or an Error. Reading the wrong side is a bug (LANISTA_CHECK).
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& operator*() & { return check_value(), std::get<0>(state_); }
  const T& operator*() const& { return check_value(), std::get<0>(state_); }
  T&& operator*() && { return check_value(), std::get<0>(std::move(state_)); }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

  const Error& error() const& {
    LANISTA_CHECK(!ok(), "error() of a Result that holds a value");
    return std::get<1>(state_);
  }
  Error&& error() && {
    LANISTA_CHECK(!ok(), "error() of a Result that holds a value");
    return std::get<1>(std::move(state_));
  }

 private:
  void check_value() const { LANISTA_CHECK(ok(), "value of a failed Result: " + std::get<1>(state_).message); }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& {
    LANISTA_CHECK(!ok(), "error() of a Result that holds a value");
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace lanista

#define LANISTA_CONCAT_IMPL(a, b) a##b
#define LANISTA_CONCAT(a, b) LANISTA_CONCAT_IMPL(a, b)

/// Returns the error of `expr` from the enclosing function, if it failed.
#define LANISTA_TRY(expr)                                                                                    \
  do {                                                                                                       \
    if (auto lanista_try_result = (expr); !lanista_try_result) return std::move(lanista_try_result).error(); \
  } while (false)

/// `LANISTA_ASSIGN(auto x, expr)`: x is the value of `expr`, or its error is returned.
#define LANISTA_ASSIGN(decl, expr) LANISTA_ASSIGN_IMPL(LANISTA_CONCAT(lanista_result_, __LINE__), decl, expr)
#define LANISTA_ASSIGN_IMPL(tmp, decl, expr) \
  auto tmp = (expr);                         \
  if (!tmp) return std::move(tmp).error();   \
  decl = *std::move(tmp)
