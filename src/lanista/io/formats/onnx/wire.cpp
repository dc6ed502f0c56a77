#include "lanista/io/formats/onnx/wire.h"

#include <bit>
#include <cstring>

#include "lanista/base/check.h"
#include "lanista/base/enum_table.h"

namespace lanista::formats {
namespace {

static_assert(std::endian::native == std::endian::little, "fixed numbers are copied as they lie");

constexpr int kTypeBits = 3;
constexpr std::uint64_t kMaxField = (std::uint64_t{1} << 29) - 1;

Error malformed(std::string message) { return {Code::kDataLoss, "protobuf: " + std::move(message), ""}; }

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put_tag(std::string& out, int field, WireReader::Type type) {
  LANISTA_CHECK(field >= 1 && static_cast<std::uint64_t>(field) <= kMaxField, "no such field number");
  put_varint(out, static_cast<std::uint64_t>(field) << kTypeBits | static_cast<std::uint64_t>(type));
}

template <class T>
void put_fixed(std::string& out, T value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  out.append(raw, sizeof value);
}

template <class T>
T fixed_value(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

const char* type_name(WireReader::Type type) {
  static constexpr EnumTable<WireReader::Type, const char*, 4> kNames{{{WireReader::Type::kVarint, "a number"},
                                                                       {WireReader::Type::kFixed64, "8 fixed bytes"},
                                                                       {WireReader::Type::kBytes, "bytes"},
                                                                       {WireReader::Type::kFixed32, "4 fixed bytes"}}};
  return entry_of(kNames, type);
}

}  // namespace

WireWriter& WireWriter::varint(int field, std::uint64_t value) {
  put_tag(out_, field, WireReader::Type::kVarint);
  put_varint(out_, value);
  return *this;
}

WireWriter& WireWriter::signed_varint(int field, std::int64_t value) {
  return varint(field, static_cast<std::uint64_t>(value));
}

WireWriter& WireWriter::fixed_float(int field, float value) {
  put_tag(out_, field, WireReader::Type::kFixed32);
  put_fixed(out_, value);
  return *this;
}

WireWriter& WireWriter::fixed_double(int field, double value) {
  put_tag(out_, field, WireReader::Type::kFixed64);
  put_fixed(out_, value);
  return *this;
}

WireWriter& WireWriter::bytes(int field, std::string_view value) {
  put_tag(out_, field, WireReader::Type::kBytes);
  put_varint(out_, value.size());
  out_ += value;
  return *this;
}

Result<std::uint64_t> consume_varint(std::string_view& rest) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (rest.empty()) return malformed("the message ends inside a number");
    const auto byte = static_cast<std::uint8_t>(rest.front());
    rest.remove_prefix(1);
    if (shift == 63 && byte > 1) break;
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return malformed("a number takes more than 64 bits");
}

Result<bool> WireReader::next() {
  if (rest_.empty()) return false;
  LANISTA_ASSIGN(const std::uint64_t tag, consume_varint(rest_));
  const std::uint64_t field = tag >> kTypeBits;
  if (field == 0 || field > kMaxField) return malformed("field number " + std::to_string(field) + " does not exist");
  field_ = static_cast<int>(field);
  std::uint64_t length = 0;
  switch (const auto wire = tag & 7) {
    case 0: {
      type_ = Type::kVarint;
      LANISTA_ASSIGN(number_, consume_varint(rest_));
      return true;
    }
    case 1:
      type_ = Type::kFixed64;
      length = 8;
      break;
    case 2: {
      type_ = Type::kBytes;
      LANISTA_ASSIGN(length, consume_varint(rest_));
      break;
    }
    case 5:
      type_ = Type::kFixed32;
      length = 4;
      break;
    default:
      return malformed("field " + std::to_string(field) + " has wire type " + std::to_string(wire) +
                       "; known are 0, 1, 2 and 5 (groups are not)");
  }
  if (length > rest_.size()) {
    return malformed("field " + std::to_string(field) + " takes " + std::to_string(length) + " bytes, " +
                     std::to_string(rest_.size()) + " are left");
  }
  bytes_ = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return true;
}

Result<void> WireReader::expect_type(Type type) const {
  if (type_ == type) return {};
  return malformed("field " + std::to_string(field_) + " holds " + type_name(type_) + ", not " + type_name(type));
}

Result<std::uint64_t> WireReader::varint() const {
  LANISTA_TRY(expect_type(Type::kVarint));
  return number_;
}

Result<std::int64_t> WireReader::integer() const {
  LANISTA_TRY(expect_type(Type::kVarint));
  return static_cast<std::int64_t>(number_);
}

Result<float> WireReader::fixed_float() const {
  LANISTA_TRY(expect_type(Type::kFixed32));
  return fixed_value<float>(bytes_);
}

Result<double> WireReader::fixed_double() const {
  LANISTA_TRY(expect_type(Type::kFixed64));
  return fixed_value<double>(bytes_);
}

Result<std::string_view> WireReader::bytes() const {
  LANISTA_TRY(expect_type(Type::kBytes));
  return bytes_;
}

}  // namespace lanista::formats
