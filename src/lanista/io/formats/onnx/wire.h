#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/base/result.h"

namespace lanista::formats {

// The protobuf wire format, as much of it as ONNX and TensorBoard need. No schema: callers know their field numbers.

/// Builds one message; nested messages are built apart and added as bytes. Fields appear in the order of the calls, so
/// the same calls give the same bytes.
class WireWriter {
 public:
  WireWriter& varint(int field, std::uint64_t value);
  WireWriter& signed_varint(int field, std::int64_t value);  ///< int32 and int64: negative numbers take ten bytes
  WireWriter& fixed_float(int field, float value);
  WireWriter& fixed_double(int field, double value);
  WireWriter& bytes(int field, std::string_view value);  ///< strings, bytes, packed lists
  WireWriter& message(int field, const WireWriter& value) { return bytes(field, value.str()); }
  const std::string& str() const { return out_; }

 private:
  std::string out_;
};

/// Takes one number off the front of a packed list. Errors: kDataLoss (cut off, beyond 64 bit).
Result<std::uint64_t> consume_varint(std::string_view& rest);

/// Walks over the fields of one message. The views point into the bytes it was given. Never recurses, never allocates.
class WireReader {
 public:
  enum class Type { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  explicit WireReader(std::string_view message) : rest_(message) {}

  /// To the next field; false at the end. Errors: kDataLoss (cut off, field number 0, groups, a varint beyond 64 bit).
  Result<bool> next();
  int field() const { return field_; }
  Type type() const { return type_; }

  // The value of the present field. Errors: kDataLoss if the field has another type on the wire.
  Result<std::uint64_t> varint() const;
  Result<std::int64_t> integer() const;
  Result<float> fixed_float() const;
  Result<double> fixed_double() const;
  Result<std::string_view> bytes() const;

 private:
  Result<void> expect_type(Type type) const;
  std::string_view rest_;
  int field_ = 0;
  Type type_ = Type::kVarint;
  std::uint64_t number_ = 0;
  std::string_view bytes_;
};

}  // namespace lanista::formats
