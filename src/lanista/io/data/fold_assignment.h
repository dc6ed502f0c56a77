#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/data/split.h"

namespace lanista::data {

/// The rows of a data set that are no test rows, and what holds some of them together.
struct FoldInput {
  std::vector<std::int64_t> rows;     ///< ascending
  std::span<const std::int32_t> labels;  ///< of all rows of the data set; empty for targets that are numbers
  std::int64_t classes = 0;
  std::span<const std::int64_t> groups = {};  ///< of all rows, or empty: no group lies in two folds
  std::span<const double> times = {};         ///< of all rows, or empty: folds follow each other in time
  bool is_sequential = false;                      ///< folds are blocks of consecutive rows
};

/// Rows dealt into folds: training i validates on fold i.
struct FoldAssignment {
  std::vector<std::vector<std::int64_t>> folds;  ///< each ascending
  /// In time: the rows before the first fold. Training i then trains on these and the folds before its own, and leaves
  /// the later ones alone.
  std::vector<std::int64_t> before;
  bool in_time = false;

  std::vector<std::int64_t> train_rows(std::size_t fold) const;  ///< ascending
};

/// Deals `input` into `folds`. Sizes differ by at most one row, and so does what each fold gets of a class (dealt out row
/// by row, class after class; sizes are scikit-learn's KFold). Whole groups go, the largest first, to the fold that
/// lacks their classes most. In time, `folds` + 1 blocks follow each other, of rows / (folds + 1) rows each and the
/// remainder in the first, as nearly as whole times allow (TimeSeriesSplit). A function of the deck and `repetition`
/// alone; blocks of consecutive rows, and of times, are the same in every repetition. Errors: kInvalidArgument, where =
/// "data.folds": fewer than 2 folds; more than there are rows, rows of the smallest class, groups, or times - 1.
Result<FoldAssignment> make_folds(const FoldInput& input, std::int64_t folds, std::int64_t repetition);

}  // namespace lanista::data
