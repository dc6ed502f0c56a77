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

inline constexpr std::size_t kMaxMarkBytes = 64;  ///< largest payload of a mark in bytes

/// The payload of a mark of which the frame begins at byte `offset` of the log.
std::string mark_payload(std::uint64_t offset);

/// True means that `frame`, which begins at byte `offset` of the log, is a mark written for this offset.
bool is_mark(const Frame& frame, std::uint64_t offset);

/// True means that a whole mark begins at an index of `bytes` above `from`, so that damage at `from` is corruption.
/// `bytes` is the rest of a log from its byte `base`; the mark at index i must be written for offset base + i.
bool has_mark_after(std::string_view bytes, std::uint64_t from, std::uint64_t base = 0);

}  // namespace lanista::store
