#include "lanista/search/math/differential_evolution.h"

namespace lanista::search {

std::vector<double> offspring(const std::vector<double>& target,
                              const std::array<const std::vector<double>*, 3>& parents, const DifferentialStep& step,
                              const Rng& rng) {
  Rng sure = rng.split("sure"), cross = rng.split("cross"), repair = rng.split("repair");
  const std::size_t always = sure.below(target.size());
  std::vector<double> out;
  for (std::size_t k = 0; k < target.size(); ++k) {
    const bool mutant = cross.bernoulli(step.crossover) || k == always;
    double x = target[k];
    if (mutant) x = (*parents[0])[k] + step.scale * ((*parents[1])[k] - (*parents[2])[k]);
    const double replacement = repair.uniform();  // Sampled always, so that no coordinate depends on the others.
    out.push_back(x >= 0 && x <= 1 ? x : replacement);
  }
  return out;
}

}  // namespace lanista::search
