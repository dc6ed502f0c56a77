#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/io/formats/onnx/onnx.h"
#include "lanista/io/formats/onnx/wire.h"

// Parts of the ONNX reader that nodes and tensors share.
namespace lanista::formats::onnx {

inline constexpr std::size_t kMaxRank = 64;  ///< largest number of dimensions of a tensor

/// The largest number of integers in lists of one file. An integer needs one byte in a file and eight in memory.
inline constexpr std::size_t kMaxPackedIntegers = std::size_t{1} << 20;

/// Makes a kDataLoss error for a file that breaks a rule of ONNX. The caller adds the location.
Error malformed(std::string message);
/// Makes a kUnimplemented error for a valid file that lanista cannot import. The caller adds the location.
Error unsupported(std::string message);
/// A name from the file in quotes, shortened for messages.
std::string in_quotes(std::string_view name);

/// Returns `error` with "where: " in front of its message.
Error with_location(const std::string& where, Error error);
/// Checks that one more of `what` is allowed. Errors: kDataLoss (`used` is `most` or more).
Result<void> check_count(std::size_t used, std::size_t most, const std::string& what);
/// The text of the current field, which may be invalid UTF-8. Errors: kDataLoss (another type on the wire).
Result<std::string> text_of(const WireReader& field);
/// Key and value of the current field, a StringStringEntryProto; absent ones are empty. Errors: kDataLoss.
Result<std::pair<std::string, std::string>> read_entry(const WireReader& field);

/// Puts what was read into `to`. Errors: that of `from`.
template <class To, class From>
Result<void> read_into(To& to, Result<From> from) {
  LANISTA_ASSIGN(to, std::move(from));
  return {};
}

/// Calls `visit(const WireReader&)` for every field of a message. Errors: kDataLoss for broken bytes; those of `visit`.
template <class Visit>
Result<void> for_each_field(std::string_view message, Visit&& visit) {
  WireReader reader(message);
  while (true) {
    LANISTA_ASSIGN(const bool more, reader.next());
    if (!more) return {};
    LANISTA_TRY(visit(std::as_const(reader)));
  }
}

/// Calls `visit_number(std::int64_t)` for every number in the current field, one value or a packed list. Errors:
/// kDataLoss; those of `visit_number`.
template <class VisitNumber>
Result<void> for_each_integer(const WireReader& field, VisitNumber&& visit_number) {
  if (field.type() == WireReader::Type::kVarint) {
    LANISTA_ASSIGN(const std::int64_t number, field.integer());
    return visit_number(number);
  }
  LANISTA_ASSIGN(std::string_view packed, field.bytes());
  while (!packed.empty()) {
    LANISTA_ASSIGN(const std::uint64_t number, consume_varint(packed));
    LANISTA_TRY(visit_number(static_cast<std::int64_t>(number)));
  }
  return {};
}

/// Calls `visit_number(T)` for every float or double in the current field, one value or a packed list. Errors:
/// kDataLoss; those of `visit_number`.
template <class T, class VisitNumber>
Result<void> for_each_fixed(const WireReader& field, VisitNumber&& visit_number) {
  if (field.type() == WireReader::Type::kBytes) {
    LANISTA_ASSIGN(const std::string_view packed, field.bytes());
    if (packed.size() % sizeof(T) != 0) {
      return malformed("a packed list of " + std::to_string(sizeof(T)) + "-byte numbers has " +
                       std::to_string(packed.size()) + " bytes");
    }
    for (std::size_t at = 0; at < packed.size(); at += sizeof(T)) {
      T value;
      std::memcpy(&value, packed.data() + at, sizeof value);
      LANISTA_TRY(visit_number(value));
    }
    return {};
  }
  if constexpr (std::is_same_v<T, float>) {
    LANISTA_ASSIGN(const float value, field.fixed_float());
    return visit_number(value);
  } else {
    LANISTA_ASSIGN(const double value, field.fixed_double());
    return visit_number(value);
  }
}

/// The tensor in the bytes of a TensorProto. Its elements come from raw_data, from the typed arrays or from `external`.
/// `integers` counts the int64 elements in typed arrays over all tensors of a file; this tensor's are added. A tensor
/// of float16 or bfloat16 becomes float32, and is counted in `halves`. Errors: kDataLoss with the rule, also if
/// `integers` exceeds kMaxPackedIntegers; kUnimplemented (segments, element types, external data without `external`);
/// those of `external`.
Result<Tensor> read_tensor(std::string_view message, std::size_t& integers, std::size_t& halves,
                           const OnnxExternal& external = {});

/// The code of TensorProto.DataType of an element type.
std::uint64_t element_code(ElementType type);
/// The element type of a code of TensorProto.DataType. A bool is kU8, float16 and bfloat16 are kF32. Errors: kDataLoss
/// (code 0), kUnimplemented (a type that Tensor does not have).
Result<ElementType> element_type(std::uint64_t code);

/// The input or output of a model in the bytes of a ValueInfoProto. Each unknown size, with or without a name, becomes
/// -1. Errors: kDataLoss; kUnimplemented (no dense tensor, or an unsupported element type).
Result<OnnxValueInfo> read_info(std::string_view message);

}  // namespace lanista::formats::onnx
