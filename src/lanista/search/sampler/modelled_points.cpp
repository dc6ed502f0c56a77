#include "lanista/search/sampler/modelled_points.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

namespace lanista::search {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// A linear function from values at an earlier epoch to values at a later one.
struct Line {
  double slope = 0, offset = 0;
  double variance = 0;  ///< Variance of the residuals.
};

/// Returns the least-squares line through the pairs, or nullopt for fewer than three. The slope is at least 0, because
/// a worse value never predicts a better one.
std::optional<Line> line_through(const std::vector<std::pair<double, double>>& pairs) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0, left = 0;
  const auto usable = [](const auto& pair) { return std::isfinite(pair.first) && std::isfinite(pair.second); };
  for (const auto& pair : pairs) {
    if (usable(pair)) n += 1, x += pair.first, y += pair.second;
  }
  if (n < 3) return std::nullopt;
  x /= n, y /= n;
  for (const auto& pair : pairs) {
    if (usable(pair)) xx += (pair.first - x) * (pair.first - x), xy += (pair.first - x) * (pair.second - y);
  }
  Line line;
  line.slope = xx > 0 ? std::max(0.0, xy / xx) : 0;
  line.offset = y - line.slope * x;
  for (const auto& pair : pairs) {
    const double rest = pair.second - line.offset - line.slope * pair.first;
    if (usable(pair)) left += rest * rest;
  }
  line.variance = left / (n - 2);
  if (!std::isfinite(line.slope) || !std::isfinite(line.offset) || !std::isfinite(line.variance)) return std::nullopt;
  return line;
}

/// Returns the loss at an epoch followed by the excesses, or nullopt if the trial did not measure it.
std::optional<std::vector<double>> values_at(const ModelledTrial& seen, std::int64_t epoch) {
  const auto epoch_losses = losses_at(seen.trial, epoch);
  if (!epoch_losses) return std::nullopt;
  std::vector<double> out{epoch_losses->losses[0]};
  const auto it = seen.excesses.find(epoch);
  if (it != seen.excesses.end()) out.insert(out.end(), it->second.begin(), it->second.end());
  return out;
}

/// The values of one trial at the modelled epoch.
struct Row {
  std::size_t trial = 0;
  bool measured = true;
  std::vector<double> values;     ///< NaN if it failed.
  std::vector<double> variances;  ///< Variances of estimates; 0 if measured.
};

/// Makes a row of each trial, with estimates for those that ended before the modelled epoch.
class Table {
 public:
  Table(std::span<const ModelledTrial> seen, std::size_t enough) : seen_(seen) {
    std::vector<const Observation*> trials;
    for (const ModelledTrial& one : seen) {
      trials.push_back(&one.trial);
      if (!one.excesses.empty()) width_ = 1 + one.excesses.begin()->second.size();
    }
    epoch_ = modelled_epoch(trials, enough);
  }
  std::size_t width() const { return width_; }

  /// Returns the row of a trial, or nullopt if it can neither be measured nor estimated.
  std::optional<Row> row(std::size_t i) {
    const ModelledTrial& seen = seen_[i];
    Row out{i, true, std::vector<double>(width_, kNaN), std::vector<double>(width_, 0)};
    if (seen.trial.losses.empty()) return out;
    auto values = values_at(seen, epoch_);
    if (!values && seen.trial.epoch < epoch_) {
      out.measured = false;
      values = values_at(seen, seen.trial.epoch);
      for (std::size_t k = 0; values && k < values->size(); ++k) {
        const auto& line = lines(seen.trial.epoch)[k];
        if (!line) return std::nullopt;
        (*values)[k] = line->offset + line->slope * (*values)[k];
        out.variances[k] = line->variance;
      }
    }
    if (!values || values->size() != width_) return std::nullopt;
    out.values = *std::move(values);
    return out;
  }

 private:
  /// Returns the lines from an earlier epoch to the modelled one, one per value.
  const std::vector<std::optional<Line>>& lines(std::int64_t earlier_epoch) {
    const auto known = lines_.find(earlier_epoch);
    if (known != lines_.end()) return known->second;
    std::vector<std::vector<std::pair<double, double>>> pairs(width_);
    for (const ModelledTrial& seen : seen_) {
      const auto before = values_at(seen, earlier_epoch), after = values_at(seen, epoch_);
      for (std::size_t k = 0; before && after && k < std::min({before->size(), after->size(), width_}); ++k) {
        pairs[k].emplace_back((*before)[k], (*after)[k]);
      }
    }
    auto& out = lines_[earlier_epoch];
    for (const auto& one : pairs) out.push_back(line_through(one));
    return out;
  }

  std::span<const ModelledTrial> seen_;
  std::size_t width_ = 1;
  std::int64_t epoch_ = 0;
  std::map<std::int64_t, std::vector<std::optional<Line>>> lines_;
};

bool feasible(const Row& row) {
  return row.measured && !std::isnan(row.values[0]) &&
         std::all_of(row.values.begin() + 1, row.values.end(), [](double excess) { return excess <= 0; });
}

}  // namespace

EvaluatedPoints points_of_modelled_epoch(std::span<const ModelledTrial> seen, const std::vector<bool>& unordered,
                                         std::size_t enough, std::size_t limit) {
  Table table(seen, enough);
  std::vector<Row> rows;
  std::optional<std::size_t> incumbent;  // Index of a trial.
  double best = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    auto row = table.row(i);
    if (!row) continue;
    if (feasible(*row) && (!incumbent || row->values[0] < best)) incumbent = i, best = row->values[0];
    rows.push_back(*std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    return std::tuple(a.trial == incumbent, a.measured, a.trial) >
           std::tuple(b.trial == incumbent, b.measured, b.trial);
  });
  rows.resize(std::min(rows.size(), limit));
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.trial < b.trial; });

  EvaluatedPoints out;
  out.points.unordered = unordered;
  out.excesses.resize(table.width() - 1);
  out.excess_uncertainty.resize(table.width() - 1);
  for (const Row& row : rows) {
    out.points.x.push_back(seen[row.trial].x);
    out.measured.push_back(row.measured);
    out.losses.push_back(row.values[0]);
    out.uncertainty.push_back(row.variances[0]);
    for (std::size_t k = 1; k < table.width(); ++k) {
      out.excesses[k - 1].push_back(row.values[k]);
      out.excess_uncertainty[k - 1].push_back(row.variances[k]);
    }
  }
  return out;
}

}  // namespace lanista::search
