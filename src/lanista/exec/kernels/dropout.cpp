#include <array>

#include "lanista/base/rng.h"
#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/kernels/levels.h"

namespace lanista::kernels {

std::uint64_t detail::dropout_stream(DropoutKey key) {
  const std::array<std::uint32_t, 4> words = philox(key.trial_seed, key.node, key.step);
  return (std::uint64_t{words[1]} << 32) | words[0];
}

bool dropout_keeps(DropoutKey key, std::int64_t sample, std::int64_t element, double p) {
  // 32 neighbouring elements share eight counters, word by word. So a vector of words needs no transposition.
  const std::int64_t counter = element / 32 * 8 + element % 8;
  const std::size_t word = static_cast<std::size_t>(element / 8 % 4);
  const std::array<std::uint32_t, 4> words =
      philox(detail::dropout_stream(key), static_cast<std::uint64_t>(sample), static_cast<std::uint64_t>(counter));
  constexpr double kUnit = 1.0 / 4294967296.0;
  return words[word] * kUnit < 1.0 - p;
}

}  // namespace lanista::kernels
