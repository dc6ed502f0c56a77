#include "lanista/exec/pipeline_parallel/stage_mail.h"

#include <algorithm>
#include <cstring>

namespace lanista::nn {
namespace {

Error wrong(std::uint32_t from, const std::string& what) {
  return {Code::kInvalidArgument, "place " + std::to_string(from) + " " + what, ""};
}

std::string range(std::int64_t begin, std::int64_t end) { return std::to_string(begin) + " to " + std::to_string(end); }

}  // namespace

StageInbox::StageInbox(const StageMap& map, std::byte* memory, std::uint32_t own)
    : map_(map), memory_(memory), own_(own), board_(memory, map.place_of.size()), ended_(map.places) {}

Result<void> StageInbox::check(std::uint32_t from, std::uint32_t to, std::int64_t at, std::int64_t bytes) const {
  std::string allowed;
  for (const StageRoute& route : map_.routes) {
    if (route.from != from || route.to != to) continue;
    if (at >= route.begin && at <= route.end && bytes >= 0 && bytes <= route.end - at) return {};
    allowed += (allowed.empty() ? "" : ", ") + range(route.begin, route.end);
  }
  return wrong(from, "says " + std::to_string(bytes) + " bytes from " + std::to_string(at) + " on to place " +
                         std::to_string(to) + "; allowed: " + (allowed.empty() ? "none" : "within " + allowed));
}

Result<void> StageInbox::put(std::uint32_t from, std::int64_t at, std::span<const char> bytes) {
  LANISTA_TRY(check(from, own_, at, static_cast<std::int64_t>(bytes.size())));
  if (!bytes.empty()) std::memcpy(memory_ + at, bytes.data(), bytes.size());
  return {};
}

Result<void> StageInbox::hear(std::uint32_t from, const StageWord& word) {
  if (from >= map_.places || from == own_) {
    return wrong(from, "speaks to place " + std::to_string(own_) + " of " + std::to_string(map_.places));
  }
  switch (word.kind) {
    case StageWord::Kind::kProgress: {
      const std::size_t stages = map_.place_of.size();
      if (word.stage >= stages || map_.place_of[word.stage] != from) {
        return wrong(from, "tells of stage " + std::to_string(word.stage) + ", which is not its own of " +
                               std::to_string(stages));
      }
      if (word.pieces < 1 || word.pieces > map_.pieces) {
        return wrong(
            from, "tells of piece " + std::to_string(word.pieces) + "; allowed: 1 to " + std::to_string(map_.pieces));
      }
      board_.tell(word.forth, word.stage, word.pieces);
      return {};
    }
    case StageWord::Kind::kBegin:
      if (from != 0) return wrong(from, "begins a step; only place 0 does");
      board_.reset();
      board_.begin_step();
      return {};
    case StageWord::Kind::kEnd:
      if (own_ != 0) return wrong(from, "tells place " + std::to_string(own_) + " of its end; place 0 counts them");
      if (ended_[from]) return wrong(from, "has ended a step twice");
      ended_[from] = true;
      // The next step begins when all have.
      if (std::ranges::count(ended_, true) + 1 == static_cast<std::ptrdiff_t>(map_.places)) {
        ended_.assign(map_.places, false);
      }
      board_.end_place();
      return {};
    case StageWord::Kind::kStop:
      board_.stop(word.reason);
      return {};
  }
  return wrong(from, "says an unknown word");
}

}  // namespace lanista::nn
