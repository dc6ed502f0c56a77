#include <algorithm>
#include <cmath>
#include <limits>

#include "lanista/search/sampler/tpe.h"
#include "lanista/search/study/pareto.h"

namespace lanista::search {
namespace {

constexpr std::size_t kMaxGoodTrials = 25;

bool is_usable(const Observation& o) {
  return !o.losses.empty() && std::none_of(o.losses.begin(), o.losses.end(), [](double loss) {
    return std::isnan(loss) || loss == std::numeric_limits<double>::infinity();
  });
}

/// Returns the points scaled to the unit cube, so that the scale of a goal does not count. Minus infinity becomes 0.
std::vector<std::vector<double>> scaled(std::vector<std::vector<double>> points) {
  for (std::size_t k = 0; k < points[0].size(); ++k) {
    double lo = std::numeric_limits<double>::infinity(), hi = -lo;
    for (const auto& point : points) {
      if (std::isfinite(point[k])) lo = std::min(lo, point[k]);
      if (std::isfinite(point[k])) hi = std::max(hi, point[k]);
    }
    for (auto& point : points) {
      point[k] = hi / 2 > lo / 2 ? std::clamp((point[k] / 2 - lo / 2) / (hi / 2 - lo / 2), 0.0, 1.0) : 0;
    }
  }
  return points;
}

/// Orders the first `count` members of a front by greedy hypervolume subset selection (Guerreiro, Fonseca, Paquete,
/// 2016).
void spread_out(const std::vector<Observation>& trials, std::vector<std::size_t>& front, std::size_t count) {
  std::vector<std::vector<double>> points;
  for (const std::size_t i : front) points.push_back(trials[i].losses);
  points = scaled(std::move(points));
  const std::vector<double> reference(points[0].size(), 1.1);
  std::vector<std::vector<double>> chosen;
  for (std::size_t n = 0; n < count; ++n) {
    std::size_t best = n;
    double most = -1;
    for (std::size_t i = n; i < front.size(); ++i) {
      auto with = chosen;
      with.push_back(points[i]);
      const double volume = hypervolume(std::move(with), reference);
      if (volume > most) {
        most = volume;
        best = i;
      }
    }
    chosen.push_back(points[best]);
    // A rotation keeps the earlier trial first among equals.
    const auto from = static_cast<std::ptrdiff_t>(n), to = static_cast<std::ptrdiff_t>(best);
    std::rotate(front.begin() + from, front.begin() + to, front.begin() + to + 1);
    std::rotate(points.begin() + from, points.begin() + to, points.begin() + to + 1);
  }
}

}  // namespace

std::size_t good_count(Gamma gamma, std::size_t n) {
  if (gamma == Gamma::kLinear) return std::min((n + 9) / 10, kMaxGoodTrials);
  std::size_t count = 0;  // In whole numbers: the least count with 4 count >= sqrt(n).
  while (count < kMaxGoodTrials && 16 * count * count < n) ++count;
  return count;
}

double hypervolume(std::vector<std::vector<double>> points, const std::vector<double>& reference) {
  const std::size_t last = reference.size() - 1;
  std::erase_if(points, [&](const auto& point) { return !(point[last] < reference[last]); });
  std::sort(points.begin(), points.end(), [&](const auto& a, const auto& b) { return a[last] < b[last]; });
  if (last == 0) return points.empty() ? 0 : reference[0] - points[0][0];
  // Slices along the last coordinate. In a slice only the points before its end count, without that coordinate.
  const std::vector<double> rest(reference.begin(), reference.end() - 1);
  std::vector<std::vector<double>> below;
  double volume = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    below.emplace_back(points[i].begin(), points[i].end() - 1);
    const double end = i + 1 < points.size() ? points[i + 1][last] : reference[last];
    if (end > points[i][last]) volume += (end - points[i][last]) * hypervolume(below, rest);
  }
  return volume;
}

std::vector<std::size_t> best_trials(const std::vector<Observation>& trials, std::size_t count) {
  std::vector<const Observation*> usable;
  std::vector<std::size_t> order, lost;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    (is_usable(trials[i]) ? order : lost).push_back(i);
    if (is_usable(trials[i])) usable.push_back(&trials[i]);
  }
  const std::vector<std::int64_t> found = ranks_at_equal_fidelity(usable);
  std::vector<std::int64_t> rank(trials.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = found[i];
  const auto earlier = [&](std::size_t a, std::size_t b) { return trials[a].trial < trials[b].trial; };
  std::sort(lost.begin(), lost.end(), earlier);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return rank[a] != rank[b] ? rank[a] < rank[b] : earlier(a, b); });

  const bool cuts = 0 < count && count < order.size() && rank[order[count - 1]] == rank[order[count]];
  if (cuts && trials[order[count]].losses.size() > 1) {
    const auto is_cut = [&](std::size_t i) { return rank[i] == rank[order[count]]; };
    const auto first = std::find_if(order.begin(), order.end(), is_cut);
    const auto end = std::find_if_not(first, order.end(), is_cut);
    std::vector<std::size_t> front(first, end);
    spread_out(trials, front, count - static_cast<std::size_t>(first - order.begin()));
    std::copy(front.begin(), front.end(), first);
  }
  order.insert(order.end(), lost.begin(), lost.end());
  order.resize(std::min(count, order.size()));
  return order;
}

}  // namespace lanista::search
