#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/search/sampler/strategy.h"

namespace lanista::bench {

/// Accuracies in percent of all models of a space of cells. A search reads the table instead of training.
///
/// A cell is a text of operations on edges as in NAS-Bench-201 (Dong and Yang, ICLR'20): "|op~0|+|op~0|op~1|". Each
/// edge is a categorical choice among the operations of the table.
class AccuracyTable {
 public:
  /// Reads a table with the columns cell, NAME-val and NAME-test, where NAME is `name`.
  ///
  /// Errors: kDataLoss with "line N" for cells of different forms, a repeated cell, or a value that is not a
  /// percentage; kNotFound for a missing column, with the present ones; kResourceExhausted above 2^26 possible cells.
  static Result<AccuracyTable> read(std::string_view csv, const std::string& name);

  /// The accuracies of a cell in percent.
  struct CellAccuracy {
    double validation = 0, test = 0;
  };
  /// The row of the cell that `sample` chooses; nullopt if the table does not have it.
  std::optional<std::size_t> row_of(const space::Sample& sample) const;
  /// The accuracies of the cell that `sample` chooses; null if the table does not have it.
  const CellAccuracy* find(const space::Sample& sample) const;
  const CellAccuracy& row(std::size_t index) const { return rows_[index]; }
  /// Weights of the cell's convolutions over the squared channels: K x K for each "conv...KxK" ("conv1" is 1 x 1).
  double weights(std::size_t row) const { return weights_[row]; }
  double best_validation() const { return best_.validation; }    ///< Highest validation accuracy of all cells.
  double worst_validation() const { return worst_validation_; }  ///< Lowest validation accuracy of all cells.
  double best_test() const { return best_.test; }                ///< Highest test accuracy of all cells.
  std::size_t rows() const { return rows_.size(); }
  std::size_t edges() const { return edges_.size(); }
  std::size_t operations() const { return operations_.size(); }

  /// The context from which a strategy is made: a parameter for each edge, a base model that is not trained, and the
  /// goal val_accuracy.
  search::Context context(std::uint64_t seed) const;

 private:
  std::vector<std::string> operations_;    ///< Sorted.
  std::vector<std::string> edges_;         ///< Names of the parameters.
  std::vector<std::int32_t> row_of_code_;  ///< Rows by code, which has operations as digits; -1: none.
  std::vector<CellAccuracy> rows_;
  std::vector<double> weights_;  ///< Weights of each row.
  CellAccuracy best_;
  double worst_validation_ = 100;
};

/// The result of a search of a table. A regret is the distance to the best cell in percentage points, never negative.
struct SearchRun {
  /// The result after some queries.
  struct Found {
    double validation_regret = 0;  ///< Regret of the best cell so far, by validation accuracy.
    double test_regret = 0;        ///< Regret of the same cell, by test accuracy.
  };
  std::vector<Found> after;  ///< One for each of `marks`, also after the strategy has ended.
  double seconds = 0;        ///< Wall time of the search.
  std::int64_t queries = 0;  ///< Number of proposals.
};

/// Runs a strategy on a table, one trial at a time.
///
/// Each proposal is a query. A cell that the table does not have is a failed trial. `marks` are ascending numbers of
/// queries; the last one ends the search. Errors: those of the strategy.
Result<SearchRun> search_table(const AccuracyTable& table, const search::StrategyPlugin& plugin, const Options& options,
                               const std::vector<std::int64_t>& marks, std::uint64_t seed);

}  // namespace lanista::bench
