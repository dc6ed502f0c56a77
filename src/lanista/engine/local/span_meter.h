#pragma once

#include <cstdint>
#include <span>

#include "lanista/search/study/span_costs.h"

namespace lanista::runtime {

/// Adds the time of a chunk to the costs of its lanes' spans. All `lanes` ran `steps` steps in `seconds` together.
/// Lanes with `ended` set also evaluated at the end of the chunk. Evaluation gets the time that remains after the
/// steps, which count as long as earlier ones. If no earlier step is known, nothing is added. Both spans have equal
/// lengths.
void add_chunk_costs(double seconds, std::int64_t steps, std::span<study::SpanCosts* const> lanes,
                     std::span<const std::uint8_t> ended);

}  // namespace lanista::runtime
