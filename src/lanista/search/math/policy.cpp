#include "lanista/search/math/policy.h"

#include <algorithm>

#include "lanista/base/portable_math.h"

namespace lanista::search {

std::vector<double> Policy::probabilities(const std::string& decision, std::int64_t count) const {
  const auto n = static_cast<std::size_t>(count);
  const auto it = logits_.find({decision, count});
  if (it == logits_.end()) return std::vector<double>(n, 1.0 / static_cast<double>(count));
  const double most = *std::max_element(it->second.begin(), it->second.end());
  std::vector<double> out;
  double sum = 0;
  for (const double logit : it->second) sum += out.emplace_back(portable_exp(logit - most));
  for (double& p : out) p /= sum;
  return out;
}

std::int64_t Policy::sample(const std::string& decision, std::int64_t count, const Rng& rng) const {
  const std::vector<double> p = probabilities(decision, count);
  double u = Rng(rng).uniform();
  std::size_t i = 0;
  for (; i + 1 < p.size() && u >= p[i]; ++i) u -= p[i];
  return static_cast<std::int64_t>(i);
}

void Policy::reinforce(const std::string& decision, std::int64_t count, std::int64_t answer, double advantage,
                       double rate, double entropy) {
  const std::vector<double> p = probabilities(decision, count);
  double h = 0;
  for (const double x : p) h -= x > 0 ? x * portable_log(x) : 0;
  std::vector<double>& logits = logits_[{decision, count}];
  logits.resize(p.size(), 0);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double hit = static_cast<std::int64_t>(i) == answer ? 1 : 0;
    const double spread = p[i] > 0 ? -p[i] * (portable_log(p[i]) + h) : 0;
    logits[i] += rate * (advantage * (hit - p[i]) + entropy * spread);
  }
}

}  // namespace lanista::search
