#include "lanista/io/zoo/packed_bytes.h"

#include <algorithm>
#include <concepts>

#include "lanista/base/text_cursor.h"

namespace lanista::zoo {
namespace {

constexpr std::size_t kMaxViewNodes = 100'000;  // the limit of graph::parse
constexpr std::size_t kMaxShapes = 64;          // of one signature
constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

template <std::unsigned_integral T>
void put(std::string& out, T value) {
  for (std::size_t k = 0; k < sizeof(T); ++k) out += static_cast<char>(value >> (8 * k) & 0xff);
}

/// Reads numbers from the front; past the end it returns zeros and sets a flag.
struct Reader {
  std::string_view left;
  bool short_of = false;

  template <std::unsigned_integral T>
  T take() {
    if (left.size() < sizeof(T)) {
      short_of = true;
      return 0;
    }
    T out = 0;
    for (std::size_t k = 0; k < sizeof(T); ++k) {
      out = static_cast<T>(out | static_cast<T>(static_cast<unsigned char>(left[k])) << (8 * k));
    }
    left.remove_prefix(sizeof(T));
    return out;
  }
};

Error damaged(const std::string& what) { return {Code::kDataLoss, "the view of a model is damaged: " + what, ""}; }

}  // namespace

std::string packed_bytes(const PackedModel& model, const std::vector<std::int64_t>& numbers) {
  std::string out;
  put(out, static_cast<std::uint32_t>(model.size()));
  put(out, model.hash.hi);
  put(out, model.hash.lo);
  for (std::size_t k = 0; k < model.size(); ++k) {
    put(out, static_cast<std::uint32_t>(numbers[model.signatures[k]]));
    put(out, model.ids[k].value);
    put(out, model.computes[k]);
    put(out, static_cast<std::uint32_t>(model.inputs_of(k).size()));
    for (const std::uint32_t input : model.inputs_of(k)) put(out, input);
  }
  return out;
}

Result<PackedModel> packed_from_bytes(std::string_view bytes, const std::map<std::int64_t, std::uint32_t>& places,
                                      const Signatures& table) {
  Reader reader{bytes};
  PackedModel out;
  const auto nodes = reader.take<std::uint32_t>();
  if (nodes == 0 || nodes > kMaxViewNodes || nodes > bytes.size() / 20) return damaged("number of nodes");
  out.hash.hi = reader.take<std::uint64_t>();
  out.hash.lo = reader.take<std::uint64_t>();
  out.begins.push_back(0);
  for (std::uint32_t node = 0; node < nodes; ++node) {
    const auto place = places.find(reader.take<std::uint32_t>());
    if (place == places.end()) return damaged("a signature that is not there");
    out.signatures.push_back(place->second);
    out.ids.push_back({reader.take<std::uint32_t>()});
    out.computes.push_back(reader.take<std::uint64_t>());
    const auto inputs = reader.take<std::uint32_t>();
    if (inputs > reader.left.size() / 4) return damaged("number of inputs");
    for (std::uint32_t k = 0; k < inputs; ++k) {
      out.inputs.push_back(reader.take<std::uint32_t>());
      if (out.inputs.back() >= node) return damaged("an input behind its reader");
    }
    out.begins.push_back(static_cast<std::uint32_t>(out.inputs.size()));
  }
  if (reader.short_of || !reader.left.empty()) return damaged("its size");
  count_param_signatures(out, table);
  return out;
}

std::string signature_text(const Signature& signature) {
  std::string out = signature.kind;
  for (const auto& shape : signature.shapes) {
    out += "\n";
    for (const std::int64_t dim : shape) out += std::to_string(dim) + ",";
  }
  return out;
}

Result<Signature> signature_from_text(std::string_view text) {
  Signature out;
  const std::size_t end = std::min(text.find('\n'), text.size());
  out.kind = text.substr(0, end);
  TextCursor cursor(text.substr(end), "");
  while (cursor.accept("\n")) {
    auto& shape = out.shapes.emplace_back();
    std::int64_t elements = 1;
    while (!cursor.rest().empty() && cursor.peek() != '\n') {
      const auto dim = cursor.number<std::int64_t>(1);
      const bool fits = dim && !__builtin_mul_overflow(elements, *dim, &elements) && elements <= kMaxElements;
      if (!fits || !cursor.accept(",")) {
        return Error{Code::kDataLoss, "a signature of the zoo is damaged: its shapes", ""};
      }
      shape.push_back(*dim);
    }
    out.params += elements;
    if (out.shapes.size() > kMaxShapes || out.params > kMaxElements) {
      return Error{Code::kDataLoss, "a signature of the zoo is damaged: its shapes", ""};
    }
  }
  return out;
}

Digest relaxed_hash(const PackedModel& model, const Signatures& table) {
  std::vector<Digest> hashes;
  for (std::size_t k = 0; k < model.size(); ++k) {
    std::vector<Digest> inputs;
    for (const std::uint32_t input : model.inputs_of(k)) inputs.push_back(hashes[input]);
    std::ranges::sort(inputs);
    Hasher hasher;
    hasher.text(table[model.signatures[k]].kind);
    for (const Digest& input : inputs) hasher.digest(input);
    hashes.push_back(hasher.finish());
  }
  std::ranges::sort(hashes);
  Hasher all;
  for (const Digest& one : hashes) all.digest(one);
  return all.finish();
}

}  // namespace lanista::zoo
