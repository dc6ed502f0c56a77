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

/// One thing that was decided for every trial: a hyper-parameter, the base model, a choice inside it, how often a
/// mutator was at work.
struct Factor {
  /// A range that the axis is, from its first value to its last, evenly or by the logarithm. `is_relative`: of several
  /// ranges, each trial's place in its own, in percent.
  struct Range {
    double lo = 0, hi = 1;
    bool log = false, is_relative = false;
  };
  std::string name;
  ForestAxis axis;
  std::vector<std::string> labels;  ///< of the cells: the value, or one in its middle
  std::optional<Range> range = {};  ///< where the axis is one
};

/// What was decided for some trials, as a forest reads it.
///
/// A hyper-parameter's measure is the one by which it is drawn where nobody knows better: uniform over a choice, over a
/// range, or over its logarithm. Where the study has several ranges under one name (lr of sgd, lr of adam), a value's
/// place in its own range counts: then every pair of decisions is one that a trial can have. Ranges are cut into 32
/// cells between the values seen. A conditional parameter means something where its conditions hold; one of which the
/// study file does not tell them (choices inside a model) gets a cell of its own for "not used".
struct FactorTable {
  std::vector<Factor> factors;      ///< those of which the trials have more than one value, the first 100
  std::size_t num_omitted = 0;      ///< behind those
  std::vector<std::uint8_t> cells;  ///< [trials, factors]
  std::vector<double> positions;    ///< [trials, factors]: where on the axis, 0 to 1; NaN for a trial that has none
};
FactorTable factor_table(const study::StudyView& view, std::span<const std::size_t> trials);

}  // namespace lanista::report
