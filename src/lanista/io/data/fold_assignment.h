#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/data/split.h"

namespace lanista::data {

/// The rows of a data set outside its test part, and constraints on their folds.
struct FoldInput {
  std::vector<std::int64_t> rows;             ///< Ascending.
  std::span<const std::int32_t> labels;       ///< Of all rows of the data set; empty for targets that are numbers.
  std::int64_t classes = 0;                   ///< Number of classes.
  std::span<const std::int64_t> groups = {};  ///< of all rows, or empty; a group is never in two folds
  std::span<const double> times = {};         ///< of all rows, or empty; folds follow each other in time
  bool is_sequential = false;                 ///< folds are blocks of consecutive rows
};

/// Rows that are assigned to folds. Training i validates on fold i.
struct FoldAssignment {
  std::vector<std::vector<std::int64_t>> folds;  ///< each ascending
  /// For folds in time: the rows before the first fold. Training i then trains on these and on the folds before its
  /// own, never on later ones.
  std::vector<std::int64_t> before;
  bool in_time = false;  ///< folds follow each other in time

  std::vector<std::int64_t> train_rows(std::size_t fold) const;  ///< rows that a training trains on, ascending
};

/// Assigns the rows of `input` to `folds`, as a function of `input` and `repetition` alone.
///
/// The sizes of folds differ by at most one row, as in scikit-learn's KFold. So do the rows of each class. Groups stay
/// whole: the largest first, each goes to the fold that needs its classes most. With times, `folds` + 1 blocks follow
/// each other. Each has rows / (folds + 1) rows and the first also the remainder, as nearly as equal times allow
/// (TimeSeriesSplit). Blocks of consecutive rows and of times are equal in every repetition. Errors: kInvalidArgument,
/// where = "data.folds": fewer than 2 folds, or more folds than rows, rows of the smallest class, groups, or times - 1.
Result<FoldAssignment> make_folds(const FoldInput& input, std::int64_t folds, std::int64_t repetition);

}  // namespace lanista::data
