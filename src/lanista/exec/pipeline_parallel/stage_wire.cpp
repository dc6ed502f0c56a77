#include "lanista/exec/pipeline_parallel/stage_wire.h"

#include <algorithm>

#include "lanista/base/little_endian.h"

namespace lanista::runtime {
namespace {

constexpr std::size_t kPieceHead = 16, kWordHead = 16;
constexpr std::size_t kMostReason = 1024;
constexpr std::int64_t kMostMemory = std::int64_t{1} << 48;

Error broken(const std::string& what) { return {Code::kDataLoss, "broken message of a place: " + what, ""}; }

}  // namespace

std::string encode(const StageBytes& piece) {
  std::string out;
  out.reserve(kPieceHead + piece.bytes.size());
  put_little_endian(piece.from, 4, out);
  put_little_endian(piece.to, 4, out);
  put_little_endian(static_cast<std::uint64_t>(piece.at), 8, out);
  return out.append(piece.bytes);
}

Result<StageBytes> decode_stage_bytes(std::string_view text) {
  if (text.size() < kPieceHead || text.size() > kPieceHead + StageBytes::kMost) {
    return broken(std::to_string(text.size()) + " bytes for a piece of memory; allowed: " + std::to_string(kPieceHead) +
                  " to " + std::to_string(kPieceHead + StageBytes::kMost));
  }
  const std::uint64_t at = get_little_endian(text, 8, 8);
  if (at > static_cast<std::uint64_t>(kMostMemory)) {
    return broken("a piece of memory at " + std::to_string(at) + "; allowed: up to " + std::to_string(kMostMemory));
  }
  return StageBytes{static_cast<std::uint32_t>(get_little_endian(text, 0, 4)),
                    static_cast<std::uint32_t>(get_little_endian(text, 4, 4)), static_cast<std::int64_t>(at),
                    text.substr(kPieceHead)};
}

std::string encode(const SpokenWord& spoken) {
  std::string out;
  put_little_endian(spoken.from, 4, out);
  put_little_endian(static_cast<std::uint64_t>(spoken.word.kind), 1, out);
  put_little_endian(spoken.word.forth ? 1 : 0, 1, out);
  put_little_endian(0, 2, out);
  put_little_endian(spoken.word.stage, 4, out);
  put_little_endian(static_cast<std::uint64_t>(spoken.word.pieces), 4, out);
  return out.append(spoken.word.reason, 0, kMostReason);
}

Result<SpokenWord> decode_spoken_word(std::string_view text) {
  if (text.size() < kWordHead || text.size() > kWordHead + kMostReason) {
    return broken(std::to_string(text.size()) + " bytes for a word; allowed: " + std::to_string(kWordHead) + " to " +
                  std::to_string(kWordHead + kMostReason));
  }
  const std::uint64_t kind = get_little_endian(text, 4, 1), forth = get_little_endian(text, 5, 1);
  if (kind > static_cast<std::uint64_t>(nn::StageWord::Kind::kStop) || forth > 1 ||
      get_little_endian(text, 6, 2) != 0) {
    return broken("a word of the kind " + std::to_string(kind) + "; allowed: 0 to 3");
  }
  return SpokenWord{static_cast<std::uint32_t>(get_little_endian(text, 0, 4)),
                    {.kind = static_cast<nn::StageWord::Kind>(kind),
                     .forth = forth == 1,
                     .stage = static_cast<std::uint32_t>(get_little_endian(text, 8, 4)),
                     .pieces = static_cast<std::int64_t>(get_little_endian(text, 12, 4)),
                     .reason = std::string(text.substr(kWordHead))}};
}

}  // namespace lanista::runtime
