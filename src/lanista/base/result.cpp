#include "lanista/base/result.h"

#include "lanista/base/enum_table.h"

namespace lanista {

InternalError::InternalError(const std::string& message, std::source_location where)
    : std::logic_error(std::string(where.file_name()) + ":" + std::to_string(where.line()) + ": " + message) {}

void fail_check(const char* condition, const std::string& message, std::source_location where) {
  throw InternalError("check failed: " + std::string(condition) + (message.empty() ? "" : ": " + message), where);
}

std::string_view code_name(Code code) {
  static constexpr EnumTable<Code, std::string_view, 13> kNames{{{Code::kInvalidArgument, "invalid_argument"},
                                                                 {Code::kNotFound, "not_found"},
                                                                 {Code::kAlreadyExists, "already_exists"},
                                                                 {Code::kNotApplicable, "not_applicable"},
                                                                 {Code::kOutOfRange, "out_of_range"},
                                                                 {Code::kResourceExhausted, "resource_exhausted"},
                                                                 {Code::kFailedPrecondition, "failed_precondition"},
                                                                 {Code::kDataLoss, "data_loss"},
                                                                 {Code::kUnavailable, "unavailable"},
                                                                 {Code::kUnimplemented, "unimplemented"},
                                                                 {Code::kIo, "io"},
                                                                 {Code::kCancelled, "cancelled"},
                                                                 {Code::kInternal, "internal"}}};
  return entry_of(kNames, code);
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
