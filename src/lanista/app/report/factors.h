#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanista/app/report/forest.h"
#include "lanista/search/study/study_view.h"

namespace lanista::report {

/// One decision that each trial has: a hyper-parameter, the base model, a choice inside a model, or the number of uses
/// of a mutator. Its values are divided into cells.
struct Factor {
  /// The range of a numeric factor.
  struct Range {
    double lo = 0;     ///< Lowest value of the range.
    double hi = 1;     ///< Highest value of the range.
    bool log = false;  ///< True: positions are uniform in the logarithm.
    /// True: values are percent of each trial's range, because the name has several ranges.
    bool is_relative = false;
  };
  std::string name;                 ///< Name of the decision.
  ForestAxis axis;                  ///< Cells of its values, and conditions under which it has one.
  std::vector<std::string> labels;  ///< [cells]: the value, or a value in the middle of the cell.
  std::optional<Range> range = {};  ///< Range of a numeric factor; absent: its values are names.
};

/// The decisions of some trials, in the form that a forest reads.
/// The weights of cells follow the prior of the search space: uniform over a choice, over a range, or over its
/// logarithm. Uses of a mutator and "not used" have the observed shares of trials. If a name has several ranges (lr of
/// sgd, lr of adam), the position in the trial's range counts, so that each pair of decisions is possible. A range of
/// fewer than 64 values has a cell for each; a larger one has up to 32 cells, cut between the observed values. A choice
/// has up to 63 cells; the last one is "other" if it has more values. A conditional parameter has a value only if its
/// conditions hold. If the study file does not list the conditions (choices inside a model), "not used" is an
/// additional cell.
struct FactorTable {
  std::vector<Factor> factors;      ///< Decisions that vary in these trials or are in their conditions; at most 100.
  std::size_t num_omitted = 0;      ///< Number of further decisions.
  std::vector<std::uint8_t> cells;  ///< [trials, factors]: index of the cell, or kNoCell.
  std::vector<double> positions;    ///< [trials, factors]: position on the axis, 0 to 1; NaN without a value.
};
/// Returns the decisions of the trials at `trials`, which are indices into view.trials. Empty without trials.
FactorTable factor_table(const study::StudyView& view, std::span<const std::size_t> trials);

}  // namespace lanista::report
