#include "lanista/engine/local/span_meter.h"

#include <algorithm>

namespace lanista::runtime {

void add_chunk_costs(double seconds, std::int64_t steps, std::span<study::SpanCosts* const> lanes,
                     std::span<const std::uint8_t> ended) {
  const auto ends = std::ranges::count_if(ended, [](std::uint8_t each) { return each != 0; });
  const auto count = static_cast<double>(lanes.size());
  const auto done = static_cast<double>(steps);
  if (ends == 0) {
    for (study::SpanCosts* lane : lanes) {
      lane->steps += steps;
      lane->stepping += seconds / count;
    }
    return;
  }
  // Lanes take turns, so a step needs its earlier time. The rest of the chunk's time is evaluation.
  double known = 0, of_known = 0;
  for (const study::SpanCosts* lane : lanes) {
    known += static_cast<double>(lane->steps);
    of_known += lane->stepping;
  }
  if (known <= 0) return;
  const double stepping = std::min(done * of_known / known, seconds / count);
  const double evaluating = (seconds - stepping * count) / static_cast<double>(ends);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    lanes[i]->steps += steps;
    lanes[i]->stepping += stepping;
    if (ended[i] != 0) lanes[i]->evaluating += evaluating;
  }
}

}  // namespace lanista::runtime
