#include "lanista/app/report/importance.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "lanista/app/report/factors.h"
#include "lanista/app/report/facts.h"
#include "lanista/app/report/forest.h"
#include "lanista/app/report/page_columns.h"

namespace lanista::report {
namespace {

using nlohmann::json;
using study::StudyView;
using study::TrialView;

constexpr std::size_t kMaxTrials = 1000;
constexpr std::size_t kMinTrials = 4;
constexpr std::size_t kPairedFactors = 12, kMaxPairs = 20, kDetailed = 12;
constexpr std::size_t kMappedFactors = 5;

std::vector<std::size_t> finished_trials(const StudyView& view) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < view.trials.size(); ++i) {
    const TrialView& trial = view.trials[i];
    // A refinement changes the values of its sample while it trains.
    if (trial.outcome && study::ranks(trial, *trial.outcome) && !trial.proposal.is_refinement) out.push_back(i);
  }
  return out;
}

/// The last epoch that half of the finished trials measured. Results are comparable at equal epochs only, and only good
/// trials reach the last epochs of a search with early stopping.
std::int64_t common_epoch(const StudyView& view, const std::vector<std::size_t>& finished) {
  std::map<std::int64_t, std::size_t> measured;
  for (const std::size_t i : finished) {
    for (const study::Measurement& m : view.trials[i].measurements) ++measured[m.epoch];
  }
  std::int64_t epoch = 0;
  for (const auto& [at, count] : measured) {
    if (2 * count >= finished.size()) epoch = at;
  }
  return epoch;
}

/// The trials with a finite value at the epoch, and these values.
std::vector<std::pair<std::size_t, double>> values_at(const StudyView& view, const std::vector<std::size_t>& finished,
                                                      std::int64_t epoch, const std::string& metric) {
  std::vector<std::pair<std::size_t, double>> out;
  for (const std::size_t i : finished) {
    const auto& measurements = view.trials[i].measurements;
    const auto at = std::lower_bound(measurements.begin(), measurements.end(), epoch,
                                     [](const study::Measurement& m, std::int64_t e) { return m.epoch < e; });
    if (at == measurements.end() || at->epoch != epoch) continue;
    const auto found = at->metrics.find(metric);
    if (found != at->metrics.end() && std::isfinite(found->second)) out.emplace_back(i, found->second);
  }
  return out;
}

std::vector<std::pair<std::size_t, double>> even_sample(std::vector<std::pair<std::size_t, double>> all) {
  if (all.size() <= kMaxTrials) return all;
  std::vector<std::pair<std::size_t, double>> out;
  for (std::size_t k = 0; k < kMaxTrials; ++k) out.push_back(all[k * all.size() / kMaxTrials]);
  return out;
}

/// Moves outliers to the edge of the other values and returns their number. Otherwise one loss of 1e8 would dominate
/// the variance. An outlier is worse than the third quartile by more than three interquartile ranges (Tukey's "far
/// out").
std::size_t clamp_outliers(std::vector<double>& values, bool maximize) {
  std::vector<double> losses = values;
  if (maximize) std::transform(losses.begin(), losses.end(), losses.begin(), std::negate<>());
  std::sort(losses.begin(), losses.end());
  const double low = losses[losses.size() / 4], high = losses[3 * losses.size() / 4];
  if (!(high > low)) return 0;
  const double fence = high + 3 * (high - low);
  std::size_t moved = 0;
  for (double& value : values) {
    if ((maximize ? -value : value) <= fence) continue;
    value = maximize ? -fence : fence;
    ++moved;
  }
  return moved;
}

Importance::Single single_of(const Forest& forest, std::size_t k, const Factor& factor, bool maximize) {
  const Share share = forest.share(k);
  Importance::Single out{factor.name,        share.mean, share.spread, factor.labels, factor.axis.weights,
                         forest.marginal(k), 0};
  const auto best = maximize ? std::max_element(out.means.begin(), out.means.end())
                             : std::min_element(out.means.begin(), out.means.end());
  out.best = static_cast<std::size_t>(best - out.means.begin());
  return out;
}

/// Whether axis `of` never applies together with this cell of axis `on`. False unless all conditions of `of` are on
/// that axis.
bool excludes(const ForestAxis& of, std::size_t on, std::size_t cell) {
  const auto is_on = [&](const ForestAxis::Condition& condition) { return condition.axis == on; };
  if (of.when.empty() || !std::all_of(of.when.begin(), of.when.end(), is_on)) return false;
  return std::none_of(of.when.begin(), of.when.end(), [&](const auto& c) { return (c.cells >> cell & 1U) != 0; });
}

void add_maps(const Forest& forest, const FactorTable& table, Importance& out) {
  std::vector<std::size_t> axes;
  for (const Importance::Single& single : out.singles) {
    if (axes.size() == kMappedFactors) break;
    const auto same = [&](const Factor& factor) { return factor.name == single.name; };
    const auto at = std::find_if(table.factors.begin(), table.factors.end(), same) - table.factors.begin();
    axes.push_back(static_cast<std::size_t>(at));
  }
  const std::size_t factors = table.factors.size();
  for (const std::size_t k : axes) {
    const Factor& factor = table.factors[k];
    out.axes.push_back({factor.name, factor.labels, factor.axis.weights, factor.range, {}});
    for (std::size_t at = k; at < table.positions.size(); at += factors)
      out.axes.back().positions.push_back(table.positions[at]);
  }
  for (std::size_t a = 0; a < axes.size(); ++a) {
    for (std::size_t b = a + 1; b < axes.size(); ++b) {
      const ForestAxis &down = table.factors[axes[a]].axis, &across = table.factors[axes[b]].axis;
      Importance::Map map{a, b, forest.marginal(axes[a], axes[b])};
      const std::size_t columns = across.weights.size();
      for (std::size_t i = 0; i < map.means.size(); ++i) {
        if (!excludes(across, axes[a], i / columns) && !excludes(down, axes[b], i % columns)) continue;
        map.means[i] = std::numeric_limits<double>::quiet_NaN();
      }
      out.maps.push_back(std::move(map));
    }
  }
}

Importance importance_for(const StudyView& view, const study::Goal& goal, const std::vector<std::size_t>& finished) {
  Importance out;
  out.metric = goal.metric;
  out.maximize = goal.maximize;
  out.finished = finished.size();
  out.epoch = common_epoch(view, finished);
  out.explained = std::numeric_limits<double>::quiet_NaN();
  const auto chosen = even_sample(values_at(view, finished, out.epoch, goal.metric));
  if (chosen.size() < kMinTrials) return out;
  std::vector<std::size_t> trials;
  std::vector<double> values;
  for (const auto& [trial, value] : chosen) {
    trials.push_back(trial);
    values.push_back(value);
  }
  out.num_outliers = clamp_outliers(values, goal.maximize);
  const FactorTable table = factor_table(view, trials);
  out.num_omitted = table.num_omitted;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (table.factors.empty() || !(*most > *least)) return out;

  std::vector<ForestAxis> axes;
  for (const Factor& factor : table.factors) axes.push_back(factor.axis);
  const Forest forest = Forest::grow(std::move(axes), table.cells, values);
  out.trials = trials.size();
  out.explained = forest.explained();
  for (std::size_t k = 0; k < table.factors.size(); ++k) {
    out.singles.push_back(single_of(forest, k, table.factors[k], goal.maximize));
  }
  const auto greater = [](const auto& a, const auto& b) { return a.share > b.share; };
  std::stable_sort(out.singles.begin(), out.singles.end(), greater);
  std::vector<std::size_t> used = forest.axes_by_gain();
  if (used.size() > kPairedFactors) used.resize(kPairedFactors);
  std::sort(used.begin(), used.end());
  for (std::size_t a = 0; a < used.size(); ++a) {
    for (std::size_t b = a + 1; b < used.size(); ++b) {
      const Share share = forest.share(used[a], used[b]);
      out.pairs.push_back({table.factors[used[a]].name, table.factors[used[b]].name, share.mean, share.spread});
    }
  }
  std::stable_sort(out.pairs.begin(), out.pairs.end(), greater);
  if (out.pairs.size() > kMaxPairs) out.pairs.resize(kMaxPairs);
  add_maps(forest, table, out);
  for (const std::size_t i : trials) out.points.push_back(view.trials[i].id);
  out.values = values;
  return out;
}

/// A number with four decimal places as JSON.
json rounded(double value) { return std::isfinite(value) ? json(std::round(value * 1e4) / 1e4) : number_json(value); }

json digits(const std::vector<double>& values, int count) {
  json out = json::array();
  char text[32];
  for (const double value : values) {
    std::snprintf(text, sizeof text, "%.*g", count, value);
    out.push_back(number_json(std::strtod(text, nullptr)));
  }
  return out;
}

std::vector<double> packable(std::vector<double> values) {
  for (double& value : values) value = std::isnan(value) ? absent() : value;
  return values;
}

}  // namespace

std::vector<Importance> importance(const StudyView& view) {
  const std::vector<std::size_t> finished = finished_trials(view);
  std::vector<Importance> out;
  for (const study::Goal& goal : view.config.goals) out.push_back(importance_for(view, goal, finished));
  return out;
}

json importance_json(const std::vector<Importance>& found) {
  json out = json::array();
  for (const Importance& of : found) {
    json singles = json::array(), pairs = json::array();
    for (const Importance::Single& single : of.singles) {
      json single_json{
          {"name", clip_utf8(single.name, 200)}, {"share", rounded(single.share)}, {"spread", rounded(single.spread)}};
      if (singles.size() < kDetailed) {
        single_json["at"] = json::array();
        for (const std::string& label : single.labels) single_json["at"].push_back(clip_utf8(label, 60));
        single_json["weights"] = digits(single.weights, 4);
        single_json["means"] = digits(single.means, 6);
        single_json["best"] = single.best;
      }
      singles.push_back(std::move(single_json));
    }
    for (const Importance::Pair& pair : of.pairs) {
      pairs.push_back({{"names", {clip_utf8(pair.first, 200), clip_utf8(pair.second, 200)}},
                       {"share", rounded(pair.share)},
                       {"spread", rounded(pair.spread)}});
    }
    out.push_back({{"metric", clip_utf8(of.metric, 200)},
                   {"maximize", of.maximize},
                   {"epoch", of.epoch},
                   {"finished", of.finished},
                   {"trials", of.trials},
                   {"few", of.trials < kFewTrials},
                   {"left_out", of.num_omitted},
                   {"far_off", of.num_outliers},
                   {"explained", rounded(of.explained)},
                   {"singles", std::move(singles)},
                   {"pairs", std::move(pairs)}});
  }
  return out;
}

json maps_json(const Importance& found) {
  if (found.axes.size() < 2) return nullptr;
  constexpr int kWidth = 3;
  json axes = json::array(), maps = json::array();
  for (const Importance::MapAxis& axis : found.axes) {
    json labels = json::array();
    for (const std::string& label : axis.labels) labels.push_back(clip_utf8(label, 60));
    json range;
    if (axis.range) {
      range = {{"lo", number_json(axis.range->lo)},
               {"hi", number_json(axis.range->hi)},
               {"log", axis.range->log},
               {"own", axis.range->is_relative}};
    }
    axes.push_back({{"name", clip_utf8(axis.name, 200)},
                    {"labels", std::move(labels)},
                    {"weights", digits(axis.weights, 4)},
                    {"range", std::move(range)},
                    {"places", packed_reals(packable(axis.positions), kWidth)}});
  }
  for (const Importance::Map& map : found.maps) {
    maps.push_back(
        {{"first", map.first}, {"second", map.second}, {"means", packed_reals(packable(map.means), kWidth)}});
  }
  std::vector<std::int64_t> trials;
  for (const TrialId id : found.points) trials.push_back(id.value);
  return {{"axes", std::move(axes)},
          {"maps", std::move(maps)},
          {"count", trials.size()},
          {"trial", packed_integers(trials)},
          {"values", packed_reals(found.values, 4)}};
}

}  // namespace lanista::report
