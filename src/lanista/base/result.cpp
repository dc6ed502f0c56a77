#include "lanista/base/result.h"

namespace lanista {

InternalError::InternalError(const std::string& message, std::source_location where)
    : std::logic_error(std::string(where.file_name()) + ":" + std::to_string(where.line()) + ": " + message) {}

void fail_check(const char* condition, const std::string& message, std::source_location where) {
  throw InternalError("check failed: " + std::string(condition) + (message.empty() ? "" : ": " + message), where);
}

std::string_view code_name(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return "invalid_argument";
    case Code::kNotFound:
      return "not_found";
    case Code::kAlreadyExists:
      return "already_exists";
    case Code::kNotApplicable:
      return "not_applicable";
    case Code::kOutOfRange:
      return "out_of_range";
    case Code::kResourceExhausted:
      return "resource_exhausted";
    case Code::kFailedPrecondition:
      return "failed_precondition";
    case Code::kDataLoss:
      return "data_loss";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kUnimplemented:
      return "unimplemented";
    case Code::kIo:
      return "io";
    case Code::kCancelled:
      return "cancelled";
    case Code::kInternal:
      return "internal";
  }
  return "internal";
}

Failure::Failure(Error error) : error_(new Error(std::move(error))) {}

Failure::Failure(const Failure& other) : error_(other.error_ == nullptr ? nullptr : new Error(*other.error_)) {}

void Failure::fail_value_read() const {
  fail_check("ok()", "value of a failed Result: " + checked()->message, std::source_location::current());
}

Error* Failure::checked() const {
  LANISTA_CHECK(error_ != nullptr, "error() of a Result that holds a value");
  return error_;
}

void Failure::release() { delete error_; }

std::string Error::text() const { return where.empty() ? message : where + ": " + message; }

}  // namespace lanista
