#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "lanista/strategy/tpe.h"
#include "lanista/study/pareto.h"

namespace lanista::strategy {
namespace {

constexpr std::size_t kMostGood = 25;

bool is_usable(const Observation& o) {
  return !o.losses.empty() && std::none_of(o.losses.begin(), o.losses.end(), [](double loss) {
    return std::isnan(loss) || loss == std::numeric_limits<double>::infinity();
  });
}

/// 0: trained to its budget, 1: stopped early, 2: breaks a constraint, 3: nothing to compare.
int kind_of(const Observation& o) {
  if (!is_usable(o)) return 3;
  if (o.violation > 0) return 2;
  return o.outcome == study::OutcomeKind::kStopped ? 1 : 0;
}

std::vector<std::int64_t> ranks(const std::vector<Observation>& trials, int kind) {
  std::vector<std::vector<double>> points;
  for (const Observation& o : trials) points.push_back(kind_of(o) == kind ? o.losses : std::vector<double>{});
  return study::non_dominated_ranks(points);
}

/// The points moved into the unit cube, so that no goal's scale counts. An infinite value is as good as the best.
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

/// Greedy hypervolume subset selection (Guerreiro, Fonseca, Paquete, 2016): orders the first `count`.
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
    // Rotated, not swapped: among equals the earlier trial stays first.
    const auto from = static_cast<std::ptrdiff_t>(n), to = static_cast<std::ptrdiff_t>(best);
    std::rotate(front.begin() + from, front.begin() + to, front.begin() + to + 1);
    std::rotate(points.begin() + from, points.begin() + to, points.begin() + to + 1);
  }
}

}  // namespace

std::size_t good_count(Gamma gamma, std::size_t n) {
  if (gamma == Gamma::kLinear) return std::min((n + 9) / 10, kMostGood);
  std::size_t count = 0;  // whole numbers throughout: the least count with 4 count >= sqrt(n)
  while (count < kMostGood && 16 * count * count < n) ++count;
  return count;
}

double hypervolume(std::vector<std::vector<double>> points, const std::vector<double>& reference) {
  const std::size_t last = reference.size() - 1;
  std::erase_if(points, [&](const auto& point) { return !(point[last] < reference[last]); });
  std::sort(points.begin(), points.end(), [&](const auto& a, const auto& b) { return a[last] < b[last]; });
  if (last == 0) return points.empty() ? 0 : reference[0] - points[0][0];
  // Slices along the last coordinate: in each only the points before it count, without that coordinate.
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
  // Those stopped early have fronts of their own.
  const std::vector<std::int64_t> full = ranks(trials, 0), early = ranks(trials, 1);
  std::vector<std::tuple<int, double, std::int64_t, std::int64_t, TrialId>> keys;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const int kind = kind_of(trials[i]);
    keys.emplace_back(kind, kind == 2 ? trials[i].violation : 0, kind == 1 ? -trials[i].epoch : 0,
                      kind == 1 ? early[i] : full[i], trials[i].trial);
    order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  count = std::min(count, order.size());
  const bool several = count > 0 && kind_of(trials[order[0]]) == 0 && trials[order[0]].losses.size() > 1;
  if (several && count < order.size() && kind_of(trials[order[count]]) == 0) {
    const std::int64_t cut = full[order[count]];
    const auto is_cut = [&](std::size_t i) { return kind_of(trials[i]) == 0 && full[i] == cut; };
    const auto first = std::find_if(order.begin(), order.end(), is_cut);
    const auto end = std::find_if_not(first, order.end(), is_cut);
    std::vector<std::size_t> front(first, end);
    spread_out(trials, front, count - std::min<std::size_t>(count, static_cast<std::size_t>(first - order.begin())));
    std::copy(front.begin(), front.end(), first);
  }
  order.resize(count);
  return order;
}

}  // namespace lanista::strategy
