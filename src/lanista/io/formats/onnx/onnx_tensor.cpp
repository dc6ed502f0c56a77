#include "lanista/io/formats/onnx/onnx_tensor.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "lanista/base/parse_number.h"
#include "lanista/io/formats/element_table.h"
#include "lanista/io/formats/onnx/onnx_fields.h"
#include "lanista/model/graph/attr.h"

namespace lanista::formats::onnx {
namespace {

constexpr std::size_t kShownName = 64;
constexpr std::size_t kMaxExternalEntries = 8;

/// The content of a tensor's message, before anything of its size is allocated.
struct TensorParts {
  Tensor tensor;
  std::optional<std::uint64_t> type;
  std::optional<std::string_view> raw;
  bool is_external = false;  ///< the elements are in another file
  std::map<std::string, std::string> external_entries;
  int array = 0;          ///< the field of the typed array, 0: none
  std::size_t count = 0;  ///< elements in the typed array
};

Result<void> add_dim(TensorParts& parts, std::int64_t dim) {
  if (dim < 0) return malformed("a tensor has the dimension " + std::to_string(dim) + ", below 0");
  if (parts.tensor.shape.size() == kMaxRank) return malformed("a tensor has more than 64 dimensions");
  parts.tensor.shape.push_back(dim);
  return {};
}

Result<void> count_array(TensorParts& parts, const WireReader& field) {
  if (parts.array != 0 && parts.array != field.field()) return malformed("a tensor has two kinds of typed arrays");
  parts.array = field.field();
  const auto count = [&](auto) -> Result<void> {
    ++parts.count;
    return {};
  };
  if (parts.array == tensor_field::kFloats) return for_each_fixed<float>(field, count);
  if (parts.array == tensor_field::kDoubles) return for_each_fixed<double>(field, count);
  return for_each_integer(field, count);
}

/// One entry of external_data: "location", "offset", "length" or "checksum" with its value.
Result<void> read_location(TensorParts& parts, const WireReader& field) {
  parts.is_external = true;
  LANISTA_ASSIGN(auto entry, read_entry(field));
  LANISTA_TRY(check_count(parts.external_entries.size(), kMaxExternalEntries, "entries of external_data"));
  const auto [at, fresh] = parts.external_entries.insert(std::move(entry));
  if (!fresh) return malformed("external_data has " + in_quotes(at->first) + " twice");
  return {};
}

Result<void> read_part(TensorParts& parts, const WireReader& field) {
  switch (field.field()) {
    case tensor_field::kDims:
      return for_each_integer(field, [&](std::int64_t dim) { return add_dim(parts, dim); });
    case tensor_field::kType:
      return read_into(parts.type, field.varint());
    case tensor_field::kName:
      return read_into(parts.tensor.name, field.bytes());
    case tensor_field::kRaw: {
      if (parts.raw) return malformed("a tensor has two fields raw_data");
      LANISTA_ASSIGN(parts.raw, field.bytes());
      return {};
    }
    case tensor_field::kFloats:
    case tensor_field::kDoubles:
    case tensor_field::kInt32s:
    case tensor_field::kInt64s:
      return count_array(parts, field);
    case tensor_field::kStrings:
    case tensor_field::kUint64s:
      return unsupported("a tensor holds its elements as strings or uint64, which are not held");
    case tensor_field::kSegment:
      return unsupported("a tensor is one segment of a larger one; parts of tensors are not read");
    case tensor_field::kExternal:
      return read_location(parts, field);
    case tensor_field::kLocation: {
      LANISTA_ASSIGN(const std::uint64_t location, field.varint());
      if (location > 1) return malformed("the data_location " + std::to_string(location) + " is unknown");
      parts.is_external = parts.is_external || location == 1;
      return {};
    }
    default:
      return {};
  }
}

/// Whether a code is an element type of 16 bits, which is read as float32.
bool is_half(std::uint64_t code) { return code == element::kFloat16 || code == element::kBfloat16; }

/// The bytes of an element in the file.
std::size_t stored_size(const TensorParts& parts) {
  return is_half(parts.type.value_or(0)) ? 2 : element_size(parts.tensor.type);
}

/// The number with these bits. IEEE 754 binary16: 5 bits of exponent with bias 15, 10 bits of mantissa.
float single_of(std::uint16_t bits, bool is_bfloat) {
  if (is_bfloat) return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16U, mantissa = bits & 0x3FFU;
  const std::uint32_t exponent = (bits >> 10U) & 0x1FU;
  if (exponent == 0) {  // subnormal: mantissa times 2^-24
    const float size = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -size : size;
  }
  const std::uint32_t wide = exponent == 0x1FU ? 0xFFU : exponent + 112U;
  return std::bit_cast<float>(sign | wide << 23U | mantissa << 13U);
}

/// Replaces the bytes of 16-bit elements by those of float32.
void widen(TensorParts& parts) {
  const std::vector<std::byte> half = std::move(parts.tensor.bytes);
  parts.tensor.bytes.resize(half.size() * 2);
  for (std::size_t i = 0; i < half.size() / 2; ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, half.data() + 2 * i, sizeof bits);
    const float number = single_of(bits, *parts.type == element::kBfloat16);
    std::memcpy(parts.tensor.bytes.data() + 4 * i, &number, sizeof number);
  }
}

/// The number of elements of this shape. A dimension of zero does not hide an overflow in the others.
Result<std::size_t> elements_of_shape(const Tensor& tensor) {
  const auto size = static_cast<std::int64_t>(element_size(tensor.type));
  bool empty = false;
  std::int64_t bytes = size;
  for (const std::int64_t dim : tensor.shape) {
    empty = empty || dim == 0;
    if (dim != 0 && __builtin_mul_overflow(bytes, dim, &bytes)) return malformed("the shape overflows");
  }
  return empty ? std::size_t{0} : static_cast<std::size_t>(bytes / size);
}

/// The code of an element type, and the field of TensorProto that holds elements of it.
struct OnnxElement {
  int code, field;
};

constexpr ElementTable<OnnxElement> kElements{{{ElementType::kF32, {element::kFloat, tensor_field::kFloats}},
                                               {ElementType::kF64, {element::kDouble, tensor_field::kDoubles}},
                                               {ElementType::kI32, {element::kInt32, tensor_field::kInt32s}},
                                               {ElementType::kI64, {element::kInt64, tensor_field::kInt64s}},
                                               {ElementType::kU8, {element::kUint8, tensor_field::kInt32s}}}};

template <class T>
class Filler {
 public:
  explicit Filler(std::span<T> target) : target_(target) {}

  template <class Number>
  Result<void> operator()(Number number) {
    if constexpr (std::is_integral_v<T>) {
      if (number < std::numeric_limits<T>::min() || number > std::numeric_limits<T>::max()) {
        return malformed("the element " + std::to_string(number) + " is beyond its type");
      }
    }
    target_[used_++] = static_cast<T>(number);
    return {};
  }

 private:
  std::span<T> target_;
  std::size_t used_ = 0;
};

template <class T>
Result<void> fill(std::string_view message, int array, std::span<T> target) {
  Filler<T> filler(target);
  return for_each_field(message, [&](const WireReader& field) -> Result<void> {
    if (field.field() != array) return {};
    if constexpr (std::is_floating_point_v<T>) {
      return for_each_fixed<T>(field, filler);
    } else {
      return for_each_integer(field, filler);
    }
  });
}

Result<void> fill_typed(std::string_view message, int array, Tensor& tensor) {
  switch (tensor.type) {
    case ElementType::kF32:
      return fill(message, array, elements_of<float>(tensor));
    case ElementType::kF64:
      return fill(message, array, elements_of<double>(tensor));
    case ElementType::kI32:
      return fill(message, array, elements_of<std::int32_t>(tensor));
    case ElementType::kI64:
      return fill(message, array, elements_of<std::int64_t>(tensor));
    case ElementType::kU8:
      return fill(message, array, elements_of<std::uint8_t>(tensor));
  }
  return {};
}

Result<void> read_typed(std::string_view message, TensorParts& parts, std::size_t elements, std::size_t& integers) {
  Tensor& tensor = parts.tensor;
  const bool half = is_half(parts.type.value_or(0));
  if (parts.array != 0 && parts.array != (half ? tensor_field::kInt32s : entry_of(kElements, tensor.type).field)) {
    return malformed("the elements lie in the array of another type");
  }
  if (parts.count != elements) {
    return malformed("the shape needs " + std::to_string(elements) + " elements, the array holds " +
                     std::to_string(parts.count));
  }
  if (tensor.type == ElementType::kI64) {
    integers += elements;
    if (integers > kMaxPackedIntegers) return malformed("more than 1048576 integers in lists; raw_data may hold more");
  }
  tensor.bytes.resize(elements * stored_size(parts));
  if (!half) return fill_typed(message, parts.array, tensor);
  std::vector<std::uint16_t> bits(elements);
  LANISTA_TRY(fill(message, parts.array, std::span(bits)));
  if (!bits.empty()) std::memcpy(tensor.bytes.data(), bits.data(), tensor.bytes.size());
  return {};
}

Result<std::optional<std::uint64_t>> external_number(const TensorParts& parts, const std::string& key) {
  const auto found = parts.external_entries.find(key);
  if (found == parts.external_entries.end()) return std::optional<std::uint64_t>();
  if (const auto number = parse_number<std::uint64_t>(found->second)) return number;
  return malformed("the " + key + " of external_data is " + in_quotes(found->second) +
                   ", which is not a valid number of bytes");
}

Result<void> read_external(TensorParts& parts, std::size_t elements, const OnnxExternal& external) {
  if (parts.raw || parts.array != 0) return malformed("has external data and data of its own");
  if (!external) return unsupported("has external data, which is read only with a file");
  const auto location = parts.external_entries.find("location");
  if (location == parts.external_entries.end()) return malformed("has external data without a location");
  LANISTA_ASSIGN(const auto offset, external_number(parts, "offset"));
  LANISTA_ASSIGN(const auto length, external_number(parts, "length"));
  const std::size_t expected = elements * stored_size(parts);
  if (length && *length != expected) {
    return malformed("the shape needs " + std::to_string(expected) + " bytes, external_data has " +
                     std::to_string(*length));
  }
  LANISTA_ASSIGN(parts.tensor.bytes, external(location->second, offset.value_or(0), expected));
  if (parts.tensor.bytes.size() == expected) return {};
  return malformed("the shape needs " + std::to_string(expected) + " bytes, the external file gives " +
                   std::to_string(parts.tensor.bytes.size()));
}

Result<void> read_elements(std::string_view message, TensorParts& parts, std::size_t& integers,
                           const OnnxExternal& external) {
  LANISTA_ASSIGN(const std::size_t elements, elements_of_shape(parts.tensor));
  if (parts.is_external) return read_external(parts, elements, external);
  if (!parts.raw) return read_typed(message, parts, elements, integers);
  if (parts.array != 0) return malformed("has raw_data and a typed array");
  const std::size_t expected = elements * stored_size(parts);
  if (parts.raw->size() != expected) {
    return malformed("the shape needs " + std::to_string(expected) + " bytes, raw_data holds " +
                     std::to_string(parts.raw->size()));
  }
  const auto* first = reinterpret_cast<const std::byte*>(parts.raw->data());
  parts.tensor.bytes.assign(first, first + expected);
  return {};
}

Result<void> read_dim(std::string_view message, OnnxValueInfo& info) {
  std::int64_t size = -1;
  LANISTA_TRY(for_each_field(message, [&](const WireReader& f) -> Result<void> {
    if (f.field() != dim_field::kValue) return {};
    LANISTA_ASSIGN(size, f.integer());
    if (size < 0) return malformed("has the dimension " + std::to_string(size) + ", below 0");
    return {};
  }));
  info.shape.push_back(size);
  return {};
}

Result<void> read_tensor_type(std::string_view message, OnnxValueInfo& info) {
  std::uint64_t element = 0;
  std::string_view shape;
  LANISTA_TRY(for_each_field(message, [&](const WireReader& f) -> Result<void> {
    if (f.field() == tensor_type_field::kElement) {
      LANISTA_ASSIGN(element, f.varint());
    } else if (f.field() == tensor_type_field::kShape) {
      LANISTA_ASSIGN(shape, f.bytes());
    }
    return {};
  }));
  LANISTA_ASSIGN(info.type, element_type(element));
  return for_each_field(shape, [&](const WireReader& f) -> Result<void> {
    if (f.field() != shape_field::kDims) return {};
    LANISTA_TRY(check_count(info.shape.size(), kMaxRank, "dimensions"));
    LANISTA_ASSIGN(const std::string_view dim, f.bytes());
    return read_dim(dim, info);
  });
}

// A type holds a tensor type or another kind of type, which may nest. The others are refused without reading them.
Result<void> read_type(std::string_view message, OnnxValueInfo& info) {
  std::optional<std::string_view> tensor;
  LANISTA_TRY(for_each_field(message, [&](const WireReader& f) -> Result<void> {
    if (f.field() == type_field::kTensor) {
      LANISTA_ASSIGN(tensor, f.bytes());
    } else if (f.field() != type_field::kDenotation) {
      return unsupported("is no dense tensor, and only those are held");
    }
    return {};
  }));
  if (!tensor) return malformed("has no type");
  return read_tensor_type(*tensor, info);
}

}  // namespace

Error malformed(std::string message) { return {Code::kDataLoss, std::move(message), ""}; }
Error unsupported(std::string message) { return {Code::kUnimplemented, std::move(message), ""}; }
Error with_location(const std::string& where, Error error) {
  error.message = where + ": " + error.message;
  return error;
}

Result<void> check_count(std::size_t used, std::size_t most, const std::string& what) {
  if (used < most) return {};
  return malformed("more than " + std::to_string(most) + " " + what);
}

Result<std::pair<std::string, std::string>> read_entry(const WireReader& field) {
  LANISTA_ASSIGN(const std::string_view message, field.bytes());
  std::pair<std::string, std::string> entry;
  LANISTA_TRY(for_each_field(message, [&](const WireReader& f) -> Result<void> {
    if (f.field() == entry_field::kKey) {
      LANISTA_ASSIGN(entry.first, text_of(f));
    } else if (f.field() == entry_field::kValue) {
      LANISTA_ASSIGN(entry.second, text_of(f));
    }
    return {};
  }));
  return entry;
}

Result<std::string> text_of(const WireReader& field) {
  LANISTA_ASSIGN(const std::string_view bytes, field.bytes());
  return std::string(bytes);
}

std::uint64_t element_code(ElementType type) { return static_cast<std::uint64_t>(entry_of(kElements, type).code); }

Result<ElementType> element_type(std::uint64_t code) {
  if (code == 0) return malformed("has no element type");
  if (code == element::kBool) return ElementType::kU8;
  if (is_half(code)) return ElementType::kF32;
  for (const auto& [type, known] : kElements) {
    if (std::cmp_equal(code, known.code)) return type;
  }
  return unsupported("has the element type " + std::to_string(code) +
                     "; held are float of 16, 32 and 64 bits, int32, int64, uint8 and bool");
}

std::string in_quotes(std::string_view name) { return graph::in_quotes(name.substr(0, kShownName)); }

Result<Tensor> read_tensor(std::string_view message, std::size_t& integers, std::size_t& halves,
                           const OnnxExternal& external) {
  TensorParts parts;
  const auto read = [&]() -> Result<void> {
    LANISTA_TRY(for_each_field(message, [&](const WireReader& field) { return read_part(parts, field); }));
    LANISTA_ASSIGN(parts.tensor.type, element_type(parts.type.value_or(0)));
    return read_elements(message, parts, integers, external);
  }();
  if (!read) return with_location("tensor " + in_quotes(parts.tensor.name), read.error());
  if (is_half(*parts.type)) {
    widen(parts);
    ++halves;
  }
  return std::move(parts.tensor);
}

Result<OnnxValueInfo> read_info(std::string_view message) {
  OnnxValueInfo info;
  std::string_view type;
  LANISTA_TRY(for_each_field(message, [&](const WireReader& f) -> Result<void> {
    if (f.field() == info_field::kName) {
      LANISTA_ASSIGN(info.name, text_of(f));
    } else if (f.field() == info_field::kType) {
      LANISTA_ASSIGN(type, f.bytes());
    }
    return {};
  }));
  const auto read = read_type(type, info);
  if (!read) return with_location("value " + in_quotes(info.name), read.error());
  return info;
}

}  // namespace lanista::formats::onnx
