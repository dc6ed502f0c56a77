#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/base/result.h"

namespace lanista::formats {

// The part of the protobuf wire format that ONNX and TensorBoard need, without a schema: callers know their field
// numbers.

/// Builds the bytes of one protobuf message. `field` is a field number. Nested messages are built first and added as
/// bytes. Fields have the order of the calls, so that equal calls give equal bytes.
class WireWriter {
 public:
  WireWriter& varint(int field, std::uint64_t value);        ///< Adds a field of uint32 or uint64.
  WireWriter& signed_varint(int field, std::int64_t value);  ///< Adds a field of int32 or int64; negative: ten bytes.
  WireWriter& fixed_float(int field, float value);           ///< Adds a field of float, four bytes.
  WireWriter& fixed_double(int field, double value);         ///< Adds a field of double, eight bytes.
  WireWriter& bytes(int field, std::string_view value);      ///< Adds a field of string, bytes or a packed list.
  /// Adds a field of a nested message; a copy of its bytes.
  WireWriter& message(int field, const WireWriter& value) { return bytes(field, value.str()); }
  const std::string& str() const { return out_; }  ///< Bytes of the fields so far.

 private:
  std::string out_;
};

/// Reads one varint and removes it from the front of `rest`, a packed list. Errors: kDataLoss (cut off, beyond 64
/// bits).
Result<std::uint64_t> consume_varint(std::string_view& rest);

/// Reads the fields of one protobuf message in order. Results point into the bytes of the message, which must outlive
/// them. It never recurses and never allocates.
class WireReader {
 public:
  /// The form of a field's value on the wire, by its number in the protobuf encoding.
  enum class Type { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  explicit WireReader(std::string_view message) : rest_(message) {}

  /// Moves to the next field (at first, to the first one) and returns true; false at the end of the message. Errors:
  /// kDataLoss (cut off, field number 0, groups, a varint beyond 64 bits).
  Result<bool> next();
  int field() const { return field_; }  ///< Number of the current field.
  Type type() const { return type_; }   ///< Type of the current field on the wire.

  // The value of the current field. Errors: kDataLoss if the field has another type on the wire.
  Result<std::uint64_t> varint() const;    ///< Value of uint32, uint64 or an enumeration.
  Result<std::int64_t> integer() const;    ///< Value of int32 or int64.
  Result<float> fixed_float() const;       ///< Value of four bytes.
  Result<double> fixed_double() const;     ///< Value of eight bytes.
  Result<std::string_view> bytes() const;  ///< A string, bytes, a message or a packed list.

 private:
  Result<void> expect_type(Type type) const;
  std::string_view rest_;
  int field_ = 0;
  Type type_ = Type::kVarint;
  std::uint64_t number_ = 0;
  std::string_view bytes_;
};

}  // namespace lanista::formats
