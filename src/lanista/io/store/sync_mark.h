#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/base/frame.h"

namespace lanista::store {

// A log has a mark after every sync. It states that all bytes before it were on disk when it was written. Damage before
// a mark is therefore corruption. Damage after the last mark is what a power loss left of unsynced bytes, including
// whole frames after a gap, and may be cut. A mark contains its own offset, so that stale bytes of another file are no
// mark. It is an attempt record without content, so that builds before marks ignore it.

inline constexpr std::size_t kMaxMarkBytes = 64;  ///< bytes of payload

/// The payload of a mark at byte `offset`.
std::string mark_payload(std::uint64_t offset);

/// Whether a frame at byte `offset` is a mark.
bool is_mark(const Frame& frame, std::uint64_t offset);

/// Whether a whole mark begins anywhere behind byte `from`; the bytes are those of a log from its byte `base` on.
/// Whether a whole mark begins anywhere after byte `from`. `bytes` are those of a log from its byte `base` on.
bool has_mark_after(std::string_view bytes, std::uint64_t from, std::uint64_t base = 0);

}  // namespace lanista::store
