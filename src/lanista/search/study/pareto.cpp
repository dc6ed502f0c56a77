#include "lanista/search/study/pareto.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace lanista::study {
namespace {

bool dominates(const std::vector<double>& a, const std::vector<double>& b) {
  bool better = false;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k] > b[k]) return false;
    better = better || a[k] < b[k];
  }
  return better;
}

bool usable(const std::vector<double>& point) {
  return !point.empty() && std::none_of(point.begin(), point.end(), [](double x) { return std::isnan(x); });
}

/// Returns the fronts for one goal: the distinct values in order. O(n log n).
std::vector<std::int64_t> ranks_of_values(const std::vector<std::vector<double>>& points) {
  std::vector<double> values;
  for (const auto& point : points) {
    if (usable(point)) values.push_back(point[0]);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  std::vector<std::int64_t> rank;
  for (const auto& point : points) {
    rank.push_back(usable(point) ? std::lower_bound(values.begin(), values.end(), point[0]) - values.begin()
                                 : static_cast<std::int64_t>(values.size()));
  }
  return rank;
}

/// Returns a lookup of the values of names in constraints.
Constraint::Lookup values_of(const Measurement& measurement, const space::Sample& sample) {
  return [&](const std::string& name) -> std::optional<double> {
    if (const auto it = measurement.metrics.find(name); it != measurement.metrics.end()) return it->second;
    if (is_metric(name)) return std::numeric_limits<double>::quiet_NaN();
    return number_in(sample, name);
  };
}

}  // namespace

std::vector<double> losses(const std::vector<Goal>& goals, const Measurement& measurement) {
  std::vector<double> out;
  for (const Goal& goal : goals) {
    const auto it = measurement.metrics.find(goal.metric);
    const double value = it == measurement.metrics.end() ? std::numeric_limits<double>::quiet_NaN() : it->second;
    out.push_back(goal.maximize ? -value : value);
  }
  return out;
}

double violation(const std::vector<Constraint>& constraints, const Measurement& measurement,
                 const space::Sample& sample) {
  const auto value_of = values_of(measurement, sample);
  double sum = 0;
  for (const Constraint& constraint : constraints) {
    if (constraint.is_measured()) sum += constraint.violation(value_of).value_or(0);
  }
  return sum;
}

std::vector<std::pair<std::string, std::string>> undefined_constraints(const std::vector<Constraint>& constraints,
                                                                       const Measurement& measurement,
                                                                       const space::Sample& sample) {
  const auto value_of = values_of(measurement, sample);
  std::vector<std::pair<std::string, std::string>> out;
  for (const Constraint& constraint : constraints) {
    if (!constraint.is_measured()) continue;
    if (auto reason = constraint.undefined_reason(value_of)) out.emplace_back(constraint.text(), *std::move(reason));
  }
  return out;
}

std::vector<double> excesses(const std::vector<Constraint>& constraints, const Measurement& measurement,
                             const space::Sample& sample) {
  const auto value_of = values_of(measurement, sample);
  std::vector<double> out;
  for (const Constraint& constraint : constraints) {
    if (!constraint.is_measured()) continue;
    out.push_back(constraint.excess(value_of).value_or(-std::numeric_limits<double>::infinity()));
  }
  return out;
}

std::vector<std::int64_t> non_dominated_ranks(const std::vector<std::vector<double>>& points) {
  const std::size_t n = points.size();
  if (std::none_of(points.begin(), points.end(), [](const auto& point) { return point.size() > 1; })) {
    return ranks_of_values(points);
  }
  std::vector<std::int64_t> rank(n, -1);
  std::vector<std::int64_t> above(n, 0);  // how many points not yet ranked dominate this one
  std::vector<std::vector<std::size_t>> below(n);
  std::vector<std::size_t> front;
  for (std::size_t i = 0; i < n; ++i) {
    if (!usable(points[i])) continue;
    for (std::size_t k = 0; k < n; ++k) {
      if (!usable(points[k])) continue;
      if (dominates(points[i], points[k])) below[i].push_back(k);
      if (dominates(points[k], points[i])) ++above[i];
    }
    if (above[i] == 0) front.push_back(i);
  }
  std::int64_t level = 0;
  for (; !front.empty(); ++level) {
    std::vector<std::size_t> next;
    for (const std::size_t i : front) {
      rank[i] = level;
      for (const std::size_t k : below[i]) {
        if (--above[k] == 0) next.push_back(k);
      }
    }
    front = std::move(next);
  }
  for (std::int64_t& r : rank) r = r < 0 ? level : r;
  return rank;
}

std::vector<std::int64_t> non_dominated_ranks(const std::vector<std::vector<double>>& points,
                                              const std::vector<double>& violations) {
  std::vector<std::vector<double>> kept = points;
  std::vector<std::vector<double>> broken(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!(violations[i] > 0)) continue;
    kept[i].clear();
    if (usable(points[i])) broken[i] = {violations[i]};
  }
  std::vector<std::int64_t> rank = non_dominated_ranks(kept);
  std::int64_t front = 0;
  for (std::size_t i = 0; i < points.size(); ++i) front = std::max(front, usable(kept[i]) ? rank[i] + 1 : 0);
  const std::vector<std::int64_t> behind = non_dominated_ranks(broken);
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!usable(kept[i])) rank[i] = front + behind[i];
  }
  return rank;
}

std::vector<double> crowding_distances(const std::vector<std::vector<double>>& points,
                                       const std::vector<std::int64_t>& ranks) {
  std::map<std::int64_t, std::vector<std::size_t>> fronts;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (usable(points[i])) fronts[ranks[i]].push_back(i);
  }
  std::vector<double> distance(points.size(), 0);
  for (auto& [rank, front] : fronts) {
    for (std::size_t k = 0; k < points[front[0]].size(); ++k) {
      std::sort(front.begin(), front.end(),
                [&](std::size_t a, std::size_t b) { return std::pair(points[a][k], a) < std::pair(points[b][k], b); });
      distance[front.front()] = distance[front.back()] = std::numeric_limits<double>::infinity();
      const double span = points[front.back()][k] - points[front.front()][k];
      if (!(span > 0 && std::isfinite(span))) continue;
      for (std::size_t i = 1; i + 1 < front.size(); ++i) {
        distance[front[i]] += (points[front[i + 1]][k] - points[front[i - 1]][k]) / span;
      }
    }
  }
  return distance;
}

}  // namespace lanista::study
