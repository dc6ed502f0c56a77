#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/base/frame.h"

namespace lanista::store {

// A mark stands in a log behind every sync and says: all before me was on disk when I was written. So damage before a
// mark is damage; damage behind the last one is what a power cut left of bytes that nobody was promised, whole frames
// behind a hole included, and may be cut. A mark names its own place, so that stale bytes of another file are none. It
// is an attempt record that says nothing, so that builds before marks read over it.

inline constexpr std::size_t kMaxMarkBytes = 64;  ///< bytes of payload

std::string mark_payload(std::uint64_t offset);

/// Whether a frame that begins at byte `offset` is a mark.
bool is_mark(const Frame& frame, std::uint64_t offset);

/// Whether a whole mark begins anywhere behind byte `from`; the bytes are those of a log from its byte `base` on.
bool has_mark_after(std::string_view bytes, std::uint64_t from, std::uint64_t base = 0);

}  // namespace lanista::store
