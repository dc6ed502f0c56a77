#include "lanista/exec/pipeline_parallel/stage_inbox.h"

#include <algorithm>
#include <cstring>

namespace lanista::program {
namespace {

Error protocol_error(std::uint32_t from, const std::string& what) {
  return {Code::kInvalidArgument, "rank " + std::to_string(from) + " " + what, ""};
}

std::string range(std::int64_t begin, std::int64_t end) { return std::to_string(begin) + " to " + std::to_string(end); }

}  // namespace

StageInbox::StageInbox(const StageMemoryMap& map, std::byte* memory, std::uint32_t own)
    : map_(map), memory_(memory), own_(own), board_(memory, map.rank_of.size()), ended_(map.ranks) {}

Result<void> StageInbox::check(std::uint32_t from, std::uint32_t to, std::int64_t at, std::int64_t bytes) const {
  std::string allowed;
  for (const MemoryRoute& route : map_.routes) {
    if (route.from != from || route.to != to) continue;
    if (at >= route.begin && at <= route.end && bytes >= 0 && bytes <= route.end - at) return {};
    allowed += (allowed.empty() ? "" : ", ") + range(route.begin, route.end);
  }
  return protocol_error(from, "sends " + std::to_string(bytes) + " bytes at offset " + std::to_string(at) +
                                  " to rank " + std::to_string(to) +
                                  "; allowed: " + (allowed.empty() ? "none" : "within " + allowed));
}

Result<void> StageInbox::write(std::uint32_t from, std::int64_t at, std::span<const char> bytes) {
  LANISTA_TRY(check(from, own_, at, static_cast<std::int64_t>(bytes.size())));
  if (!bytes.empty()) std::memcpy(memory_ + at, bytes.data(), bytes.size());
  return {};
}

Result<void> StageInbox::receive(std::uint32_t from, const StageSignal& signal) {
  if (from >= map_.ranks || from == own_) {
    return protocol_error(from, "sends to rank " + std::to_string(own_) + " of " + std::to_string(map_.ranks));
  }
  switch (signal.kind) {
    case StageSignal::Kind::kProgress: {
      const std::size_t stages = map_.rank_of.size();
      if (signal.stage >= stages || map_.rank_of[signal.stage] != from) {
        return protocol_error(from, "sends progress of stage " + std::to_string(signal.stage) +
                                        ", which belongs to another rank; stages: " + std::to_string(stages));
      }
      if (signal.pieces < 1 || signal.pieces > map_.pieces) {
        return protocol_error(from, "sends progress to piece " + std::to_string(signal.pieces) + "; allowed: 1 to " +
                                        std::to_string(map_.pieces));
      }
      board_.publish(signal.is_forward, signal.stage, signal.pieces);
      return {};
    }
    case StageSignal::Kind::kBegin:
      if (from != 0) return protocol_error(from, "begins a step; only rank 0 may");
      board_.reset();
      board_.begin_step();
      return {};
    case StageSignal::Kind::kEnd:
      if (own_ != 0)
        return protocol_error(from,
                              "sends its end of step to rank " + std::to_string(own_) + "; only rank 0 receives it");
      if (ended_[from]) return protocol_error(from, "has ended a step twice");
      ended_[from] = true;
      // The next step begins after all ranks have ended.
      if (std::ranges::count(ended_, true) + 1 == static_cast<std::ptrdiff_t>(map_.ranks)) {
        ended_.assign(map_.ranks, false);
      }
      board_.end_rank();
      return {};
    case StageSignal::Kind::kStop:
      board_.stop(signal.reason);
      return {};
  }
  return protocol_error(from, "sends an unknown signal");
}

}  // namespace lanista::program
