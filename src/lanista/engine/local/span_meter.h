#pragma once

#include <cstdint>
#include <span>

#include "lanista/search/study/span_costs.h"

namespace lanista::runtime {

/// Adds a chunk of `steps` steps of all `lanes`, which took `seconds` together, to what their spans cost. Those of
/// `ended` measured themselves at its end, which took what their steps until then leave of it: the others' share is
/// that of their steps. Who ends with its first chunk is not told apart, and counts no steps of it. `lanes` and `ended`
/// are of one length.
void add_chunk_costs(double seconds, std::int64_t steps, std::span<study::SpanCosts* const> lanes,
               std::span<const std::uint8_t> ended);

}  // namespace lanista::runtime
