#pragma once

#include <cstdint>
#include <span>

#include "lanista/search/study/span_costs.h"

namespace lanista::runtime {

/// Adds the time of a chunk to the costs of its lanes' spans. All `lanes` ran `steps` steps in `seconds` together. A
/// non-zero entry of `ended` means that this lane was also evaluated at the end of the chunk.
///
/// Without evaluation, each lane gets an equal share of the time. With evaluation, steps count as long as earlier ones
/// of the spans, and evaluation gets the rest. If no earlier step is known, nothing is added. `lanes` and `ended` have
/// equal lengths.
void add_chunk_costs(double seconds, std::int64_t steps, std::span<study::SpanCosts* const> lanes,
                     std::span<const std::uint8_t> ended);

}  // namespace lanista::runtime
