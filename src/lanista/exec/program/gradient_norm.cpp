#include "lanista/exec/program/gradient_norm.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lanista::program {

std::int64_t second_moment_slot(const StateLayout& layout) {
  const auto found = std::ranges::find(layout.slots, "v");
  return found == layout.slots.end() ? -1 : found - layout.slots.begin();
}

double moment_correction(double beta2, std::int64_t steps) {
  double power = 1;
  for (double base = beta2; steps > 0; steps >>= 1, base *= base) {
    if ((steps & 1) != 0) power *= base;
  }
  return power < 1 ? 1 / std::sqrt(1 - power) : 1;
}

template <class T>
double squared_gradient_norm(const LaneState& state, const T* gradients, const LaneHyper& hyper,
                             const kernels::Kernels<T>& k) {
  const StateLayout& layout = state.state_format().layout();
  const std::int64_t slot = second_moment_slot(layout);
  if (slot < 0 || state.step_count() < kSecondMomentWarmupSteps) return k.square_norm(layout.parameters, gradients);
  const T* moments = state.slot<T>(static_cast<std::size_t>(slot));
  const auto correction = static_cast<T>(moment_correction(hyper.beta2, state.step_count()));
  const auto eps = static_cast<T>(hyper.eps);
  constexpr std::int64_t kBlock = 1024;
  std::array<T, kBlock> block;
  T* const divided = block.data();
  double sum = 0;
  for (std::int64_t begin = 0; begin < layout.parameters; begin += kBlock) {
    const std::int64_t count = std::min(kBlock, layout.parameters - begin);
    const T *g = gradients + begin, *v = moments + begin;
    for (std::int64_t i = 0; i < count; ++i) divided[i] = g[i] / (std::sqrt(v[i]) * correction + eps);
    sum += k.square_norm(count, divided);
  }
  return sum;
}

template double squared_gradient_norm(const LaneState&, const float*, const LaneHyper&, const kernels::Kernels<float>&);
template double squared_gradient_norm(const LaneState&, const double*, const LaneHyper&,
                                      const kernels::Kernels<double>&);

}  // namespace lanista::program
