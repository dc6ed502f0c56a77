#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/table_search.h"
#include "lanista/base/rng.h"

namespace lanista::bench {

/// Simulated learning curves for a table that has only final accuracies.
///
/// At epoch e of E, the accuracy of a cell is `f - drop (f - worst) g(e) + noise`. Here f is its final accuracy, and
/// worst is the lowest one of the table. `g(e) = (e^-rate - E^-rate) / (1 - E^-rate)` falls from 1 to 0.
///
/// Each cell has its own values: drop is uniform in [0.38, 0.62] and rate is uniform in [0.1, 1]. The noise is normal
/// with a deviation of 3 sqrt(g) points. The random stream of a cell depends on the seed and on its row in the table,
/// so all searches with one seed have the same curves. The last epoch gives the value of the table.
class TableCurves {
 public:
  /// Curves of `epochs` epochs, at least one. The table must outlive this.
  TableCurves(const AccuracyTable& table, std::int64_t epochs, std::uint64_t seed);

  std::int64_t epochs() const { return epochs_; }
  /// Validation accuracy of a row at an epoch from 1 to epochs(), in percent.
  double validation(std::size_t row, std::int64_t epoch) const;
  /// Spearman's rank correlation of the accuracies at this epoch with the final ones, over all cells.
  double rank_correlation(std::int64_t epoch) const;

 private:
  const AccuracyTable* table_;
  std::int64_t epochs_;
  Rng rng_;
};

}  // namespace lanista::bench
