#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "lanista/search/math/improvement.h"
#include "lanista/search/sampler/history.h"

namespace lanista::strategy {

/// A trial that ended, as a model sees it.
struct ModelledTrial {
  std::vector<double> x;
  Observation trial;                                     ///< its proposal is not looked at
  std::map<std::int64_t, std::vector<double>> excesses;  ///< by epoch, one a constraint (study::excesses)
};

/// What the trials say of one epoch, that of `modelled_epoch`. A trial that was stopped before it comes with an
/// estimate: what the line of least squares through the trials that were measured at both epochs makes of its last
/// values, with the variance of what that line leaves unexplained; without three such trials it is left out. Failed
/// trials are points without values. At most `limit` points: the incumbent, then measured before estimated, younger
/// before older.
EvaluatedPoints points_of_modelled_epoch(std::span<const ModelledTrial> seen, const std::vector<bool>& unordered,
                                         std::size_t enough, std::size_t limit);

}  // namespace lanista::strategy
