#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/app/report/factors.h"
#include "lanista/search/study/study_view.h"

namespace lanista::report {

/// Number of trials below which the shares are only a hint.
inline constexpr std::size_t kFewTrials = 20;

/// The importance of each decision for one goal: shares of the variance of a random forest's predictions over the whole
/// search space (fANOVA; Hutter, Hoos, Leyton-Brown, ICML'14).
struct Importance {
  /// The effect of one decision alone.
  struct Single {
    std::string name;                 ///< Name of the decision.
    double share = 0;                 ///< Share of the variance, 0 to 1.
    double spread = 0;                ///< Standard deviation of the share over the trees.
    std::vector<std::string> labels;  ///< [cells]: the value, or a value in the middle of the cell.
    std::vector<double> weights;      ///< [cells]: shares of the range, with the sum 1.
    std::vector<double> means;        ///< [cells]: predicted metric, averaged over all other decisions.
    std::size_t best = 0;             ///< Index of the cell with the best prediction.
  };
  /// The effect of two decisions in addition to the two alone.
  struct Pair {
    std::string first, second;  ///< Names of the decisions.
    double share = 0;           ///< Share of the variance, 0 to 1.
    double spread = 0;          ///< Standard deviation of the share over the trees.
  };
  /// An axis of the maps: one of the most important decisions.
  struct MapAxis {
    std::string name;                    ///< Name of the decision.
    std::vector<std::string> labels;     ///< [cells]: label of the cell.
    std::vector<double> weights;         ///< [cells]: shares of the axis, with the sum 1.
    std::optional<Factor::Range> range;  ///< Range of a numeric decision.
    std::vector<double> positions;       ///< [points]: position, 0 to 1; NaN without a value.
  };
  /// The predictions of the forest for two decisions, averaged over all others.
  struct Map {
    std::size_t first = 0, second = 0;  ///< Indices of axes, first < second.
    std::vector<double> means;          ///< [cells of first, cells of second]; NaN for impossible pairs.
  };
  std::string metric;            ///< Metric of the goal.
  bool maximize = true;          ///< True: larger is better.
  std::int64_t epoch = 0;        ///< Epoch of the comparison: the last one that half of the finished trials measured.
  std::size_t finished = 0;      ///< Number of ranked trials (succeeded or stopped) without refinements.
  std::size_t trials = 0;        ///< Trials that the forest trained on; 0 (fewer than 4, or equal values): no lists.
  std::size_t num_omitted = 0;   ///< Number of decisions beyond the first 100.
  std::size_t num_outliers = 0;  ///< Number of very bad values that were moved to the edge of the others.
  double explained = 0;          ///< Share of the variance of unseen trials that the forest explains; NaN: unknown.
  std::vector<Single> singles;   ///< By decreasing share, then in the order of declaration.
  std::vector<Pair> pairs;       ///< At most 20 pairs of the 12 most used decisions, by decreasing share.
  std::vector<MapAxis> axes;     ///< Axes of the first five singles.
  std::vector<Map> maps;         ///< One map for each pair of axes.
  std::vector<TrialId> points;   ///< Trials that the forest trained on.
  std::vector<double> values;    ///< [points]: their metric at `epoch`, with outliers moved.
};

/// Returns the importance of decisions for each goal, in the order of the goals. With more than 1,000 trials it uses an
/// even sample. The result depends on the view alone.
std::vector<Importance> importance(const study::StudyView& view);

/// Returns the importance of all goals as an array of objects with these keys: metric, maximize, epoch, finished,
/// trials, few, left_out, far_off, explained, singles, pairs. A single has name, share and spread; the first twelve
/// also have at, weights, means and best. A pair has names, share and spread. Names are cut at 200 bytes, labels at 60.
/// maps_json() has the maps.
nlohmann::json importance_json(const std::vector<Importance>& found);

/// Returns the maps of one goal for the report page, as an object with these keys: axes, maps, count, trial, values. An
/// axis has name, labels, weights, range (null, or lo, hi, log, own) and places. A map has first, second and means.
/// places, means and values are packed reals; trial is packed integers. Null with fewer than two axes.
nlohmann::json maps_json(const Importance& found);

}  // namespace lanista::report
