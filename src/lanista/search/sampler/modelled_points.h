#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "lanista/search/math/improvement.h"
#include "lanista/search/sampler/history.h"

namespace lanista::search {

/// An ended or paused trial, as a model of the losses uses it.
struct ModelledTrial {
  std::vector<double> x;                                 ///< Coordinates of its proposal.
  Observation trial;                                     ///< Its measurements. The proposal is not used.
  std::map<std::int64_t, std::vector<double>> excesses;  ///< By epoch, one excess per constraint (study::excesses).
};

/// Returns the points of one epoch, modelled_epoch(seen, enough), for a Gaussian process: the losses of the first goal
/// and the excesses. `unordered` has one flag per coordinate; true means that its values have no order.
///
/// A trial that ended before that epoch has an estimate. A line is fitted by least squares, with a slope of at least 0,
/// through the trials that were measured at both epochs. The estimate is the value of the line, with the variance of
/// the residuals. Without three such trials it is left out. Trials without losses are measured points with NaN as
/// values.
///
/// At most `limit` points are kept. The incumbent, which is the best feasible measured trial, comes before all others.
/// Then measured points come before estimates, and later entries of `seen` before earlier ones. The result is in the
/// order of `seen`.
EvaluatedPoints points_of_modelled_epoch(std::span<const ModelledTrial> seen, const std::vector<bool>& unordered,
                                         std::size_t enough, std::size_t limit);

}  // namespace lanista::search
