#include "lanista/search/halving/rung.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace lanista::search {

bool Rung::add(std::vector<double> losses, double violation, std::int64_t eta) {
  const std::int64_t share = ++count_ / eta, num_best = std::max<std::int64_t>(1, share);
  if (std::any_of(losses.begin(), losses.end(), [](double loss) { return std::isnan(loss); })) return count_ == 1;
  if (losses.size() == 1) {
    const Key key{violation, losses[0]};
    if (rule_ == RungRule::kRay) return above_quantile(key, eta);
    return is_among_best(key, rule_ == RungRule::kSyneTune ? share + 1 : num_best);
  }
  const Result result{std::move(losses), violation};
  const std::size_t front = enter(result);
  if (front == 0) return true;
  std::int64_t before = 0;
  for (std::size_t i = 0; i < front; ++i) before += std::ssize(fronts_[i]);
  if (before + std::ssize(fronts_[front]) <= num_best) return true;
  return before < num_best && is_in_epsilon_net(result, front, num_best - before);
}

bool Rung::is_among_best(const Key& key, std::int64_t num_best) {
  best_.insert(key);
  make_best(num_best);
  return key <= *best_.rbegin();
}

/// Interpolates linearly between the two results next to rank (m - 1) / eta of the m other results, counted from the
/// best (numpy's percentile). There is no interpolation between results with different violations.
bool Rung::above_quantile(const Key& key, std::int64_t eta) {
  const std::int64_t others = std::ssize(best_) + std::ssize(rest_);
  bool is_promoted = true;
  if (others > 0) {
    make_best((others - 1) / eta + 1);
    const Key& low = *best_.rbegin();
    const double fraction = static_cast<double>((others - 1) % eta) / static_cast<double>(eta);
    is_promoted = key <= low;
    if (!is_promoted && fraction > 0 && key.first == low.first && rest_.begin()->first == low.first) {
      is_promoted = key.second <= low.second + fraction * (rest_.begin()->second - low.second);
    }
  }
  (others > 0 && key < *best_.rbegin() ? best_ : rest_).insert(key);
  return is_promoted;
}

/// Moves results so that best_ has the `num_best` best ones.
void Rung::make_best(std::int64_t num_best) {
  while (std::ssize(best_) > num_best) rest_.insert(best_.extract(std::prev(best_.end())));
  while (std::ssize(best_) < num_best && !rest_.empty()) best_.insert(rest_.extract(rest_.begin()));
  // After an insertion, results of rest_ may be better than some of best_. Exchange them until the order is right.
  while (!rest_.empty() && *rest_.begin() < *best_.rbegin()) {
    auto up = rest_.extract(rest_.begin());
    rest_.insert(best_.extract(std::prev(best_.end())));
    best_.insert(std::move(up));
  }
}

bool Rung::is_better(const Result& a, const Result& b) {
  if (a.violation > 0 || b.violation > 0) return a.violation < b.violation;
  bool better = false;
  for (std::size_t k = 0; k < a.losses.size(); ++k) {
    if (a.losses[k] > b.losses[k]) return false;
    better = better || a.losses[k] < b.losses[k];
  }
  return better;
}

/// Adds a result and returns its front: the first one in which no result is better. Results of that front that are
/// worse move to the next front as a group, and so on (Li et al., 2017, efficient non-domination level update).
std::size_t Rung::enter(Result result) {
  std::size_t front = 0;
  const auto beaten_in = [&](const std::vector<Result>& there) {
    return std::any_of(there.begin(), there.end(), [&](const Result& other) { return is_better(other, result); });
  };
  while (front < fronts_.size() && beaten_in(fronts_[front])) ++front;
  std::vector<Result> group{std::move(result)};
  for (std::size_t i = front; !group.empty(); ++i) {
    if (i == fronts_.size()) fronts_.emplace_back();
    std::vector<Result>& there = fronts_[i];
    const auto moved = std::stable_partition(there.begin(), there.end(), [&](const Result& other) {
      return std::none_of(group.begin(), group.end(), [&](const Result& mine) { return is_better(mine, other); });
    });
    std::vector<Result> next(std::make_move_iterator(moved), std::make_move_iterator(there.end()));
    there.erase(moved, there.end());
    there.insert(there.end(), std::make_move_iterator(group.begin()), std::make_move_iterator(group.end()));
    group = std::move(next);
  }
  return front;
}

/// Returns true if the result, or an equal one, is among the `places` points that are selected from its front.
bool Rung::is_in_epsilon_net(const Result& result, std::size_t front, std::int64_t places) const {
  std::vector<std::vector<double>> points;
  for (const Result& each : fronts_[front]) points.push_back(each.losses);
  std::sort(points.begin(), points.end());
  const std::vector<std::size_t> net = epsilon_net(points, places);
  return std::any_of(net.begin(), net.end(), [&](std::size_t i) { return points[i] == result.losses; });
}

std::vector<std::size_t> epsilon_net(const std::vector<std::vector<double>>& points, std::int64_t places) {
  const std::size_t goals = points.front().size();
  std::vector<double> scale(goals, 0);
  for (std::size_t k = 0; k < goals; ++k) {
    const auto [lo, hi] =
        std::minmax_element(points.begin(), points.end(), [k](const auto& a, const auto& b) { return a[k] < b[k]; });
    const double span = (*hi)[k] - (*lo)[k];
    scale[k] = span > 0 && std::isfinite(span) ? 1 / span : 0;
  }
  const auto distance = [&](const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t k = 0; k < goals; ++k) {
      if (scale[k] > 0) sum += (a[k] - b[k]) * scale[k] * (a[k] - b[k]) * scale[k];
    }
    return sum;
  };
  std::vector<std::size_t> out;
  std::vector<double> gap(points.size(), std::numeric_limits<double>::infinity());
  std::size_t taken = 0;
  for (std::int64_t i = 0; i < places; ++i) {
    out.push_back(taken);
    for (std::size_t j = 0; j < points.size(); ++j) gap[j] = std::min(gap[j], distance(points[j], points[taken]));
    taken = static_cast<std::size_t>(std::max_element(gap.begin(), gap.end()) - gap.begin());
  }
  return out;
}

}  // namespace lanista::search
