#include "lanista/io/formats/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "lanista/io/formats/safetensors_header.h"

namespace lanista::formats {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are copied as they lie");

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kAlignment = 64;

Error malformed(std::string message) { return {Code::kDataLoss, "safetensors: " + std::move(message), ""}; }
Error invalid_tensors(std::string message) {
  return {Code::kInvalidArgument, "safetensors: " + std::move(message), ""};
}

/// Bytes of a tensor of this shape; nullopt for a negative dimension or more than 2^63 - 1. A dimension of zero does
/// not hide an overflow in the others.
std::optional<std::uint64_t> bytes_of(ElementType type, const std::vector<std::int64_t>& shape) {
  std::int64_t all = 1, nonzero = static_cast<std::int64_t>(element_size(type));
  for (const std::int64_t d : shape) {
    if (d < 0) return std::nullopt;
    if (d == 0) {
      all = 0;
    } else if (__builtin_mul_overflow(nonzero, d, &nonzero)) {
      return std::nullopt;
    }
  }
  return static_cast<std::uint64_t>(all == 0 ? 0 : nonzero);
}

std::uint64_t read_u64(std::string_view bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

/// Checks that offsets cover the data: sorted, each entry begins where the one before it ends.
Result<void> check_tiling(const std::vector<SafetensorsEntry>& entries, std::uint64_t data_bytes) {
  for (const SafetensorsEntry& e : entries) {
    const auto want = bytes_of(e.type, e.shape);
    if (!want) return malformed("shape of tensor \"" + e.name + "\" overflows");
    if (e.begin > e.end || e.end > data_bytes) {
      return malformed("tensor \"" + e.name + "\" lies at [" + std::to_string(e.begin) + ", " + std::to_string(e.end) +
                       "), outside the " + std::to_string(data_bytes) + " bytes of data");
    }
    if (*want != e.end - e.begin) {
      return malformed("shape of tensor \"" + e.name + "\" needs " + std::to_string(*want) +
                       " bytes, its offsets hold " + std::to_string(e.end - e.begin));
    }
  }
  std::vector<std::size_t> order(entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(entries[a].begin, entries[a].end) < std::pair(entries[b].begin, entries[b].end);
  });
  std::uint64_t position = 0;
  for (const std::size_t i : order) {
    const SafetensorsEntry& e = entries[i];
    if (e.begin != position) {
      return malformed("tensor \"" + e.name + "\" begins at byte " + std::to_string(e.begin) + ", which leaves " +
                       (e.begin > position ? "a hole" : "an overlap") + "; expected " + std::to_string(position));
    }
    position = e.end;
  }
  if (position != data_bytes) {
    return malformed(std::to_string(data_bytes - position) + " bytes of data belong to no tensor");
  }
  return {};
}

}  // namespace

Result<std::string> encode_safetensors(const SafetensorsFile& file) {
  if (file.tensors.size() > kMaxSafetensorsTensors) {
    return invalid_tensors(std::to_string(file.tensors.size()) + " tensors, at most " +
                           std::to_string(kMaxSafetensorsTensors) + " are allowed");
  }
  if (file.metadata.size() > kMaxSafetensorsMetadata) {
    return invalid_tensors(std::to_string(file.metadata.size()) + " entries of metadata, at most " +
                           std::to_string(kMaxSafetensorsMetadata) + " are allowed");
  }
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!file.metadata.empty()) header[std::string(kSafetensorsMetadata)] = file.metadata;
  std::set<std::string_view> names;
  std::uint64_t position = 0;
  // Built as text: an ordered_json object of n keys would need n^2 comparisons.
  std::string text = header.empty() ? "{" : "";
  try {
    if (!header.empty()) {
      text = header.dump();
      text.pop_back();
    }
    for (const Tensor& t : file.tensors) {
      if (t.name == kSafetensorsMetadata) return invalid_tensors("a tensor may not be called \"__metadata__\"");
      if (!names.insert(t.name).second) return invalid_tensors("two tensors are called \"" + t.name + "\"");
      const auto bytes = bytes_of(t.type, t.shape);
      if (!bytes || *bytes != t.bytes.size() || t.shape.size() > kMaxTensorRank) {
        return invalid_tensors("tensor \"" + t.name + "\" holds " + std::to_string(t.bytes.size()) +
                               " bytes, which do not fit its shape");
      }
      const nlohmann::ordered_json entry = {{"dtype", entry_of(kSafetensorsTypes, t.type)},
                                            {"shape", t.shape},
                                            {"data_offsets", {position, position + *bytes}}};
      if (text.size() > 1) text += ',';
      text += nlohmann::json(t.name).dump();
      text += ':';
      text += entry.dump();
      position += *bytes;
    }
  } catch (const nlohmann::json::exception&) {
    return invalid_tensors("a name or a metadata text is not UTF-8");
  }
  text += '}';
  const std::size_t used = kLengthBytes + text.size();
  text.append((kAlignment - used % kAlignment) % kAlignment, ' ');
  if (text.size() > kMaxSafetensorsHeader) {
    return invalid_tensors("the header takes " + std::to_string(text.size()) + " bytes, at most " +
                           std::to_string(kMaxSafetensorsHeader) + " are allowed");
  }

  std::string out;
  out.reserve(kLengthBytes + text.size() + position);
  const std::uint64_t length = text.size();
  out.append(reinterpret_cast<const char*>(&length), sizeof length);
  out += text;
  for (const Tensor& t : file.tensors) out.append(reinterpret_cast<const char*>(t.bytes.data()), t.bytes.size());
  return out;
}

Result<SafetensorsFile> decode_safetensors(std::string_view bytes) {
  if (bytes.size() < kLengthBytes) {
    return malformed("the file has " + std::to_string(bytes.size()) + " bytes, too few for the length of a header");
  }
  const std::uint64_t length = read_u64(bytes);
  if (length > kMaxSafetensorsHeader) {
    return malformed("the header claims " + std::to_string(length) + " bytes, at most " +
                     std::to_string(kMaxSafetensorsHeader) + " are allowed");
  }
  if (length > bytes.size() - kLengthBytes) {
    return malformed("the header claims " + std::to_string(length) + " bytes, the file has " +
                     std::to_string(bytes.size() - kLengthBytes) + " left");
  }
  const std::string_view text = bytes.substr(kLengthBytes, length);
  const std::string_view data = bytes.substr(kLengthBytes + length);
  if (text.empty() || text.front() != '{') return malformed("the header does not begin with '{'");
  LANISTA_ASSIGN(SafetensorsHeader header, parse_safetensors_header(text));
  LANISTA_TRY(check_tiling(header.entries, data.size()));

  SafetensorsFile file;
  file.metadata = std::move(header.metadata);
  file.tensors.reserve(header.entries.size());
  for (SafetensorsEntry& e : header.entries) {
    const auto* first = reinterpret_cast<const std::byte*>(data.data()) + e.begin;
    file.tensors.push_back({std::move(e.name), e.type, std::move(e.shape), {first, first + (e.end - e.begin)}});
  }
  return file;
}

}  // namespace lanista::formats
