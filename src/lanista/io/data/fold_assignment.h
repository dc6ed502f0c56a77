#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/data/split.h"

namespace lanista::data {

/// The rows that are to be assigned to folds, and the constraints on the folds.
struct FoldInput {
  std::vector<std::int64_t> rows;        ///< Row numbers outside the test part, ascending.
  std::span<const std::int32_t> labels;  ///< Class by row number, of all rows of the data set; empty without classes.
  std::int64_t classes = 0;              ///< Number of classes.
  std::span<const std::int64_t> groups = {};  ///< Group by row number, or empty. A group is never in two folds.
  std::span<const double> times = {};         ///< Time by row number, or empty. Folds follow each other in time.
  bool is_sequential = false;                 ///< True: folds are blocks of consecutive rows, without groups and times.
  std::span<const std::string> names = {};    ///< Names of the classes for errors, or empty.
};

/// Row numbers by fold. Training i validates on fold i.
struct FoldAssignment {
  std::vector<std::vector<std::int64_t>> folds;  ///< row numbers of each fold, ascending
  /// For folds in time: the row numbers before the first fold, ascending; else empty. Training i then trains on these
  /// and on the folds before its own, never on later ones.
  std::vector<std::int64_t> before;
  bool in_time = false;  ///< true: folds follow each other in time

  std::vector<std::int64_t> train_rows(std::size_t fold) const;  ///< training rows of training `fold`, ascending
};

/// Assigns the rows of `input` to `folds` folds at random; equal arguments give equal folds. `repetition` (from 0) is
/// the seed.
///
/// Of blocks, times and groups, the first that `input` has decides. Without them the sizes of folds differ by at most
/// one row, and so do the rows of each class, as in scikit-learn's StratifiedKFold. Groups stay whole: the largest
/// first, each goes to the fold that needs its classes most. With times, `folds` + 1 blocks follow each other. Each has
/// rows / (folds + 1) rows and the first also the remainder, as nearly as equal times allow (TimeSeriesSplit). Blocks
/// of consecutive rows and of times are equal in every repetition. Errors: kInvalidArgument, where = "data.folds":
/// fewer than 2 folds; more folds than rows, rows of the smallest class, groups, or different times - 1. Also more than
/// 2^31 - 1 rows.
Result<FoldAssignment> make_folds(const FoldInput& input, std::int64_t folds, std::int64_t repetition);

}  // namespace lanista::data
