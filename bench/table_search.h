#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/search/sampler/strategy.h"

namespace lanista::bench {

/// Accuracies of all models of a space of cells, in percent, so that a search costs a look at a table. A cell is a text
/// of operations on edges as in NAS-Bench-201 (Dong and Yang, ICLR'20): "|op~0|+|op~0|op~1|". Every edge is one
/// categorical decision among the operations that the table knows.
class AccuracyTable {
 public:
  /// A table with the columns cell, NAME-val and NAME-test. Errors: kDataLoss with "line N" for cells of different
  /// forms, a cell that stands twice, a value that is no percentage; kNotFound for a column, with those there are.
  static Result<AccuracyTable> read(std::string_view csv, const std::string& name);

  struct CellAccuracy {
    double validation = 0, test = 0;
  };
  /// Nullopt: the table has no such cell.
  std::optional<std::size_t> row_of(const space::Sample& sample) const;
  const CellAccuracy* find(const space::Sample& sample) const;  ///< the same; null
  const CellAccuracy& row(std::size_t index) const { return rows_[index]; }
  /// What the cell's convolutions have, in units of squared channels: K x K for each "conv...KxK" ("conv1" is 1 x 1).
  double weights(std::size_t row) const { return weights_[row]; }
  double best_validation() const { return best_.validation; }    ///< of all cells
  double worst_validation() const { return worst_validation_; }  ///< of all cells
  double best_test() const { return best_.test; }                ///< of all cells, chosen by it
  std::size_t rows() const { return rows_.size(); }
  std::size_t edges() const { return edges_.size(); }
  std::size_t operations() const { return operations_.size(); }

  /// What a strategy is made from: a parameter for every edge, one base model that nobody trains, and one goal,
  /// val_accuracy.
  strategy::Context context(std::uint64_t seed) const;

 private:
  std::vector<std::string> operations_;    ///< sorted
  std::vector<std::string> edges_;         ///< names of the parameters
  std::vector<std::int32_t> row_of_code_;  ///< by the operations as digits, the first edge counting most; -1: none
  std::vector<CellAccuracy> rows_;
  std::vector<double> weights_;  ///< of each row
  CellAccuracy best_;
  double worst_validation_ = 100;
};

/// What a search had found when; regrets are distances to the best of the table in percentage points, never negative.
struct SearchRun {
  struct Found {
    double validation_regret = 0;  ///< of the best by validation accuracy so far
    double test_regret = 0;        ///< of that same cell
  };
  std::vector<Found> after;  ///< one for each of `marks`; what was found stays found when the strategy has no more
  double seconds = 0;
  std::int64_t queries = 0;
};

/// Asks the strategy for one trial at a time and answers from the table, a query a proposal; a cell that the table does
/// not have is a failed trial. `marks`: ascending numbers of queries; the last ends the search.
Result<SearchRun> search_table(const AccuracyTable& table, const strategy::StrategyPlugin& plugin,
                               const Options& options, const std::vector<std::int64_t>& marks, std::uint64_t seed);

}  // namespace lanista::bench
