#include "lanista/io/formats/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "lanista/io/formats/element_table.h"
#include "lanista/io/formats/npy_header.h"

namespace lanista::formats {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie");

constexpr std::string_view kMagic = "\x93NUMPY";

Error malformed(std::string message) { return {Code::kDataLoss, "npy: " + std::move(message), ""}; }

/// How elements are stored in the file.
struct DType {
  char kind = 'f';  ///< b bool, i signed, u unsigned, f float
  std::size_t size = 4;
  bool swapped = false;
  ElementType stored_as = ElementType::kF32;
};

Result<DType> parse_dtype(const std::string& descr) {
  const auto refused = [&](const std::string& why) {
    return Error{Code::kUnimplemented, "npy: dtype \"" + descr.substr(0, 32) + "\" " + why, ""};
  };
  const std::string text =
      !descr.empty() && std::string_view("<>|=").find(descr[0]) == std::string_view::npos ? "=" + descr : descr;
  if (text.size() >= 2 && text[1] == 'O') return refused("is refused: object arrays hold pickles, which run code");
  if (text.size() != 3) return refused("is not held; save as float32, float64, int32, int64 or uint8");
  DType type{.kind = text[1], .size = static_cast<std::size_t>(text[2] - '0'), .swapped = text[0] == '>'};
  const std::string code = text.substr(1);
  if (code == "b1" || code == "u1") {
    type.stored_as = ElementType::kU8;
  } else if (code == "i1" || code == "i2" || code == "i4" || code == "u2") {
    type.stored_as = ElementType::kI32;
  } else if (code == "u4" || code == "u8" || code == "i8") {
    type.stored_as = ElementType::kI64;
  } else if (code == "f2" || code == "f4") {
    type.stored_as = ElementType::kF32;
  } else if (code == "f8") {
    type.stored_as = ElementType::kF64;
  } else {
    return refused("is not held; save as float32, float64, int32, int64 or uint8");
  }
  return type;
}

/// IEEE 754 binary16 to binary32; exact.
float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16U;
  const std::uint32_t exponent = (half >> 10U) & 0x1FU;
  const std::uint32_t fraction = half & 0x3FFU;
  if (exponent == 0) {  // zero or subnormal: a multiple of 2^-24
    const float value = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -value : value;
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23U | fraction << 13U);
}

template <class From, class To>
To convert(const char* at, bool swapped) {
  std::array<char, sizeof(From)> raw{};
  std::memcpy(raw.data(), at, raw.size());
  if (swapped) std::reverse(raw.begin(), raw.end());
  const auto value = std::bit_cast<From>(raw);
  if constexpr (std::is_same_v<From, std::uint16_t> && std::is_same_v<To, float>) {
    return half_to_float(value);
  } else {
    return static_cast<To>(value);
  }
}

/// Copies the elements in row-major order. A Fortran array is read by its own strides.
template <class From, class To>
void copy_elements(const NpyHeader& header, bool swapped, std::string_view data, Tensor& out) {
  const std::size_t count = data.size() / sizeof(From);
  out.bytes.resize(count * sizeof(To));
  const auto put = [&](std::size_t to, std::size_t from) {
    const To value = convert<From, To>(data.data() + from * sizeof(From), swapped);
    std::memcpy(out.bytes.data() + to * sizeof(To), &value, sizeof value);
  };
  if (!header.fortran_order || header.shape.size() < 2) {
    for (std::size_t i = 0; i < count; ++i) put(i, i);
    return;
  }
  const std::size_t rank = header.shape.size();
  std::vector<std::size_t> strides(rank, 1), index(rank, 0);
  for (std::size_t d = 1; d < rank; ++d) strides[d] = strides[d - 1] * static_cast<std::size_t>(header.shape[d - 1]);
  std::size_t from = 0;
  for (std::size_t to = 0; to < count; ++to) {
    put(to, from);
    for (std::size_t d = rank; d-- > 0;) {
      from += strides[d];
      if (++index[d] < static_cast<std::size_t>(header.shape[d])) break;
      from -= strides[d] * index[d];
      index[d] = 0;
    }
  }
}

void copy_all(const NpyHeader& header, const DType& type, std::string_view data, Tensor& out) {
  const auto is = [&](char kind, std::size_t size) { return type.kind == kind && type.size == size; };
  const bool s = type.swapped;
  if (is('b', 1) || is('u', 1)) return copy_elements<std::uint8_t, std::uint8_t>(header, s, data, out);
  if (is('i', 1)) return copy_elements<std::int8_t, std::int32_t>(header, s, data, out);
  if (is('i', 2)) return copy_elements<std::int16_t, std::int32_t>(header, s, data, out);
  if (is('i', 4)) return copy_elements<std::int32_t, std::int32_t>(header, s, data, out);
  if (is('u', 2)) return copy_elements<std::uint16_t, std::int32_t>(header, s, data, out);
  if (is('u', 4)) return copy_elements<std::uint32_t, std::int64_t>(header, s, data, out);
  if (is('i', 8) || is('u', 8)) return copy_elements<std::int64_t, std::int64_t>(header, s, data, out);
  if (is('f', 2)) return copy_elements<std::uint16_t, float>(header, s, data, out);
  if (is('f', 4)) return copy_elements<float, float>(header, s, data, out);
  LANISTA_CHECK(is('f', 8), "a dtype without a copy");
  copy_elements<double, double>(header, s, data, out);
}

/// Checks that the unsigned elements of 64 bits are in the range of signed ones, as which `tensor` holds them.
Result<void> check_unsigned(const Tensor& tensor) {
  for (std::size_t i = 0; i < tensor.bytes.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t value = 0;
    std::memcpy(&value, tensor.bytes.data() + i, sizeof value);
    if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) continue;
    return Error{Code::kUnimplemented,
                 "npy: element " + std::to_string(i / sizeof value) + " of dtype uint64 is " + std::to_string(value) +
                     "; the largest that is held is " + std::to_string(std::numeric_limits<std::int64_t>::max()) +
                     "; save as float64",
                 ""};
  }
  return {};
}

std::uint32_t little(std::string_view bytes) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

constexpr ElementTable<const char*> kDescr{{{ElementType::kF32, "<f4"},
                                            {ElementType::kF64, "<f8"},
                                            {ElementType::kI32, "<i4"},
                                            {ElementType::kI64, "<i8"},
                                            {ElementType::kU8, "|u1"}}};

}  // namespace

Result<Tensor> decode_npy(std::string_view bytes) {
  if (bytes.substr(0, kMagic.size()) != kMagic) return malformed("the file does not begin with \"\\x93NUMPY\"");
  if (bytes.size() < 10) return malformed("the file ends inside its header");
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3 || bytes[7] != 0) {
    return malformed("format version " + std::to_string(version) + "." +
                     std::to_string(static_cast<unsigned char>(bytes[7])) + "; known are 1.0, 2.0 and 3.0");
  }
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t begin = 8 + length_bytes;
  if (bytes.size() < begin) return malformed("the file ends inside its header");
  const std::size_t length = little(bytes.substr(8, length_bytes));
  if (length > kMaxNpyHeader) {
    return malformed("the header claims " + std::to_string(length) + " bytes, at most " +
                     std::to_string(kMaxNpyHeader) + " are allowed");
  }
  if (length > bytes.size() - begin) return malformed("the file ends inside its header");
  LANISTA_ASSIGN(NpyHeader header, parse_npy_header(bytes.substr(begin, length)));
  LANISTA_ASSIGN(const DType type, parse_dtype(header.descr));

  // A zero among the dimensions does not hide an overflow in the others. Elements may be wider in memory than in the
  // file.
  const auto widest = static_cast<std::int64_t>(std::max(type.size, element_size(type.stored_as)));
  std::int64_t nonzero = widest;
  bool empty = false;
  for (const std::int64_t d : header.shape) {
    if (d == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(nonzero, d, &nonzero)) {
      return malformed("the shape overflows");
    }
  }
  const std::uint64_t expected_bytes = empty ? 0 : static_cast<std::uint64_t>(nonzero / widest) * type.size;
  const std::string_view data = bytes.substr(begin + length);
  if (data.size() != expected_bytes) {
    return malformed("the shape needs " + std::to_string(expected_bytes) + " bytes, the file has " +
                     std::to_string(data.size()));
  }
  Tensor out{.name = "", .type = type.stored_as, .shape = header.shape, .bytes = {}};
  copy_all(header, type, data, out);
  if (type.kind == 'u' && type.size == 8) LANISTA_TRY(check_unsigned(out));
  return out;
}

std::string encode_npy(const Tensor& tensor) {
  std::string shape = "(";
  for (const std::int64_t d : tensor.shape) shape += std::to_string(d) + (tensor.shape.size() == 1 ? "," : ", ");
  if (tensor.shape.size() > 1) shape.resize(shape.size() - 2);
  std::string text = "{'descr': '";
  text.append(entry_of(kDescr, tensor.type))
      .append("', 'fortran_order': False, 'shape': ")
      .append(shape)
      .append("), }");
  // Version 1 has at most 65,535 bytes of header, more than 32 dimensions need. Data begin at a multiple of 64.
  LANISTA_CHECK(tensor.shape.size() <= kMaxNpyRank, "npy: too many dimensions");
  const std::size_t used = kMagic.size() + 4 + text.size() + 1;
  text.append((64 - used % 64) % 64, ' ');
  text += '\n';

  std::string out(kMagic);
  out += '\x01';
  out += '\0';
  out += static_cast<char>(text.size() & 0xFFU);
  out += static_cast<char>(text.size() >> 8U);
  out += text;
  out.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return out;
}

}  // namespace lanista::formats
