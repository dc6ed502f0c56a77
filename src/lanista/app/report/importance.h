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

/// Below so many trials a forest knows little.
inline constexpr std::size_t kFewTrials = 20;

/// How much each decision mattered for one goal: shares of the variance of what a random forest predicts over the whole
/// space (fANOVA; Hutter, Hoos, Leyton-Brown, ICML'14).
struct Importance {
  /// A decision alone.
  struct Single {
    std::string name;
    double share = 0, spread = 0;     ///< of the variance, and standard deviation over the trees
    std::vector<std::string> labels;  ///< of its values, or of a value in the middle of each piece of its range
    std::vector<double> weights;      ///< of those, together 1
    std::vector<double> means;        ///< predicted metric there, averaged over all other decisions
    std::size_t best = 0;             ///< index of the best of those
  };
  /// What two decisions have together beyond the two alone.
  struct Pair {
    std::string first, second;
    double share = 0, spread = 0;
  };
  /// An axis of maps, one of the decisions that matter most.
  struct MapAxis {
    std::string name;
    std::vector<std::string> labels;  ///< of its cells
    std::vector<double> weights;      ///< of those, together 1
    std::optional<Factor::Range> range;
    std::vector<double> positions;  ///< of the points, 0 to 1; NaN for one that has no such decision
  };
  /// What the forest predicts where two decisions meet, averaged over all others.
  struct Map {
    std::size_t first = 0, second = 0;  ///< axes, first < second
    std::vector<double> means;          ///< [cells of first, cells of second]; NaN where the two exclude each other
  };
  std::string metric;
  bool maximize = true;
  std::int64_t epoch = 0;        ///< at which trials are compared: the last that half of the finished ones measured
  std::size_t finished = 0;      ///< trials that succeeded or were stopped
  std::size_t trials = 0;        ///< of them behind the shares; 0: there is nothing to say
  std::size_t num_omitted = 0;   ///< decisions beyond the first 100
  std::size_t num_outliers = 0;  ///< of them with a value so bad that it was moved to the others'
  double explained = 0;          ///< share of unseen trials' variance that the forest predicts; NaN: not known
  std::vector<Single> singles;   ///< by share, then in the order of declaration
  std::vector<Pair> pairs;       ///< of the 12 decisions that the forest uses most; by share; 20 at most
  std::vector<MapAxis> axes;     ///< of the first five singles, in their order
  std::vector<Map> maps;         ///< of every two of those
  std::vector<TrialId> points;   ///< the trials behind the shares, …
  std::vector<double> values;    ///< … and what they measured at `epoch`; what was far off is moved to the others'
};

/// For every goal, in their order. Of more than 1,000 trials an even sample is asked. A function of the view alone.
std::vector<Importance> importance(const study::StudyView& view);

/// [{"metric", "maximize", "epoch", "finished", "trials", "few", "num_omitted", "num_outliers", "explained", "singles":
/// [{"name", "share", "spread", "at", "weights", "means", "best"}], "pairs": [{"names", "share", "spread"}]}]. Maps are
/// left out: maps_json has them. The
/// first twelve singles have the last four, which tell of their values; names are cut at 200 bytes, texts of values
/// at 60.
nlohmann::json importance_json(const std::vector<Importance>& found);

/// Of one goal, for the page: {"axes": [{"name", "labels", "weights", "range": {"lo", "hi", "log", "own"} or null,
/// "places": packed reals}], "maps": [{"first", "second", "means": packed reals}], "count", "trial": packed integers,
/// "values": packed reals}; null where there are fewer than two axes.
nlohmann::json maps_json(const Importance& found);

}  // namespace lanista::report
