#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/base/result.h"

namespace lanista::formats {

// The part of the protobuf wire format that ONNX and TensorBoard need, without a schema: callers know their field
// numbers.

/// Builds one message. Nested messages are built first and added as bytes. Fields have the order of the calls, so that
/// equal calls give equal bytes.
class WireWriter {
 public:
  WireWriter& varint(int field, std::uint64_t value);        ///< adds an unsigned number
  WireWriter& signed_varint(int field, std::int64_t value);  ///< int32 and int64; negative: ten bytes
  WireWriter& fixed_float(int field, float value);           ///< adds four bytes
  WireWriter& fixed_double(int field, double value);         ///< adds eight bytes
  WireWriter& bytes(int field, std::string_view value);      ///< adds a string, bytes or a packed list
  /// Adds a nested message.
  WireWriter& message(int field, const WireWriter& value) { return bytes(field, value.str()); }
  const std::string& str() const { return out_; }  ///< the bytes so far

 private:
  std::string out_;
};

/// Reads one number and removes it from the front of a packed list. Errors: kDataLoss (cut off, beyond 64 bits).
Result<std::uint64_t> consume_varint(std::string_view& rest);

/// Reads the fields of one message. The views point into its bytes. It never recurses and never allocates.
class WireReader {
 public:
  enum class Type { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };  ///< type of a field on the wire

  explicit WireReader(std::string_view message) : rest_(message) {}

  /// Moves to the next field; false at the end. Errors: kDataLoss (cut off, field number 0, groups, a varint beyond 64
  /// bits).
  Result<bool> next();
  int field() const { return field_; }  ///< number of the field
  Type type() const { return type_; }   ///< its type on the wire

  // The value of the current field. Errors: kDataLoss if the field has another type on the wire.
  Result<std::uint64_t> varint() const;    ///< an unsigned number
  Result<std::int64_t> integer() const;    ///< a signed number
  Result<float> fixed_float() const;       ///< four bytes
  Result<double> fixed_double() const;     ///< eight bytes
  Result<std::string_view> bytes() const;  ///< a string, bytes, a message or a packed list

 private:
  Result<void> expect_type(Type type) const;
  std::string_view rest_;
  int field_ = 0;
  Type type_ = Type::kVarint;
  std::uint64_t number_ = 0;
  std::string_view bytes_;
};

}  // namespace lanista::formats
