#include "lanista/io/store/sync_mark.h"

#include "lanista/io/store/log.h"

namespace lanista::store {

std::string mark_payload(std::uint64_t offset) {
  return R"({"event":"synced","place":)" + std::to_string(offset) + "}";
}

bool is_mark(const Frame& frame, std::uint64_t offset) {
  return frame.type == static_cast<std::uint16_t>(RecordType::kAttempt) && frame.payload == mark_payload(offset);
}

bool has_mark_after(std::string_view bytes, std::uint64_t from, std::uint64_t base) {
  for (std::uint64_t at = from + 1; at < bytes.size(); ++at) {
    const auto frame = frame_at(bytes, at, kMaxMarkBytes);
    if (frame && is_mark(*frame, base + at)) return true;
  }
  return false;
}

}  // namespace lanista::store
