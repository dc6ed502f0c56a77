#include "lanista/io/formats/idx.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "lanista/io/formats/gzip.h"
#include "lanista/io/formats/unpack.h"

namespace lanista::formats {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers of the file are turned around");

constexpr std::size_t kMaxIdxRank = 8;

Error malformed(std::string message) { return {Code::kDataLoss, "idx: " + std::move(message), ""}; }

/// A big-endian number.
template <class From, class To>
To number_of(std::array<char, sizeof(From)> bytes) {
  std::reverse(bytes.begin(), bytes.end());
  return static_cast<To>(std::bit_cast<From>(bytes));
}

/// Copies big-endian elements into the tensor. Its size was checked against that of the file.
template <class From, class To>
Result<void> read_elements(Unpacker& in, Tensor& out) {
  const auto to = elements_of<To>(out);
  std::array<std::array<char, sizeof(From)>, 4096> chunk{};
  for (std::size_t at = 0; at < to.size();) {
    const std::size_t count = std::min(to.size() - at, chunk.size());
    LANISTA_ASSIGN(const std::size_t got, in.read({reinterpret_cast<char*>(chunk.data()), count * sizeof(From)}));
    LANISTA_CHECK(got == count * sizeof(From), "bytes that were measured do not come");
    for (std::size_t i = 0; i < count; ++i) to[at + i] = number_of<From, To>(chunk[i]);
    at += count;
  }
  return {};
}

/// A type code of the file: the width of its elements, the type in memory, the function that reads them.
struct IdxType {
  int code = 0;
  std::size_t size = 1;
  ElementType held = ElementType::kU8;
  Result<void> (*read)(Unpacker&, Tensor&) = nullptr;
};

constexpr std::array<IdxType, 6> kTypes = {{
    {0x08, 1, ElementType::kU8, &read_elements<std::uint8_t, std::uint8_t>},
    {0x09, 1, ElementType::kI32, &read_elements<std::int8_t, std::int32_t>},
    {0x0B, 2, ElementType::kI32, &read_elements<std::int16_t, std::int32_t>},
    {0x0C, 4, ElementType::kI32, &read_elements<std::int32_t, std::int32_t>},
    {0x0D, 4, ElementType::kF32, &read_elements<float, float>},
    {0x0E, 8, ElementType::kF64, &read_elements<double, double>},
}};

Result<IdxType> parse_type(int code) {
  const auto found = std::ranges::find(kTypes, code, &IdxType::code);
  if (found != kTypes.end()) return *found;
  return malformed("type code " + std::to_string(code) + "; known are 8, 9, 11, 12, 13 and 14");
}

/// The sizes; `bytes` becomes the number of bytes of all elements.
Result<std::vector<std::int64_t>> read_shape(Unpacker& in, std::size_t rank, std::size_t size, std::uint64_t& bytes) {
  if (rank == 0 || rank > kMaxIdxRank) {
    return malformed(std::to_string(rank) + " dimensions; 1 to " + std::to_string(kMaxIdxRank) + " are allowed");
  }
  std::array<unsigned char, 4 * kMaxIdxRank> raw{};
  LANISTA_ASSIGN(const std::size_t got, in.read({reinterpret_cast<char*>(raw.data()), 4 * rank}));
  if (got < 4 * rank) return malformed("the file ends inside its header");
  std::vector<std::int64_t> shape(rank);
  // A zero among the sizes does not hide an overflow in the others.
  std::int64_t nonzero = static_cast<std::int64_t>(size);
  for (std::size_t d = 0; d < rank; ++d) {
    for (std::size_t i = 0; i < 4; ++i) shape[d] = shape[d] * 256 + raw[4 * d + i];
    if (shape[d] > 0 && __builtin_mul_overflow(nonzero, shape[d], &nonzero)) return malformed("the sizes overflow");
  }
  bytes = std::ranges::count(shape, 0) > 0 ? 0 : static_cast<std::uint64_t>(nonzero);
  return shape;
}

}  // namespace

Result<Tensor> decode_idx(std::string_view bytes) {
  const Packing packing = is_gzip(bytes) ? Packing::kGzip : Packing::kStored;
  LANISTA_ASSIGN(const UnpackedSize whole, measure_unpacked(bytes, packing, "idx", unpack_limit(bytes.size())));

  Unpacker in(bytes, packing, "idx");
  std::array<char, 4> magic{};
  LANISTA_ASSIGN(const std::size_t got, in.read(magic));
  if (got >= 2 && (magic[0] != 0 || magic[1] != 0)) return malformed("the file does not begin with two zero bytes");
  if (got < magic.size()) return malformed("the file ends inside its header");
  LANISTA_ASSIGN(const IdxType type, parse_type(static_cast<unsigned char>(magic[2])));
  const std::size_t rank = static_cast<unsigned char>(magic[3]);
  std::uint64_t expected_bytes = 0;
  Tensor out{.name = "", .type = type.held, .shape = {}, .bytes = {}};
  LANISTA_ASSIGN(out.shape, read_shape(in, rank, type.size, expected_bytes));
  const std::uint64_t have = whole.bytes - magic.size() - 4 * rank;
  if (have != expected_bytes) {
    return malformed("the sizes need " + std::to_string(expected_bytes) + " bytes, the file has " +
                     std::to_string(have));
  }
  out.bytes.resize(expected_bytes / type.size * element_size(type.held));
  LANISTA_TRY(type.read(in, out));
  return out;
}

Result<std::string> encode_idx(const Tensor& tensor) {
  const auto unfit = [](const std::string& why) { return Error{Code::kInvalidArgument, "idx: " + why, ""}; };
  // Of several codes for one type in memory, the widest is written.
  const IdxType* type = nullptr;
  for (const IdxType& candidate : kTypes) {
    if (candidate.held == tensor.type) type = &candidate;
  }
  if (type == nullptr) return unfit("64-bit integers cannot be written");
  if (tensor.shape.empty() || tensor.shape.size() > kMaxIdxRank) return unfit("a tensor must have 1 to 8 dimensions");
  std::string out{'\0', '\0', static_cast<char>(type->code), static_cast<char>(tensor.shape.size())};
  for (const std::int64_t size : tensor.shape) {
    if (size < 0 || size > std::numeric_limits<std::uint32_t>::max()) return unfit("a size is beyond 32 bits");
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(size >> shift & 0xff);
  }
  const std::size_t header = out.size();
  out.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  for (auto at = out.begin() + static_cast<std::ptrdiff_t>(header); at != out.end();) {
    const auto end = at + static_cast<std::ptrdiff_t>(type->size);
    std::reverse(at, end);
    at = end;
  }
  return out;
}

}  // namespace lanista::formats
