#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/table_search.h"
#include "lanista/base/rng.h"

namespace lanista::bench {

/// Learning curves for a table that knows only where they end, so that early stopping has something to stop. At epoch
/// e of E a cell of final accuracy f stands at f - drop (f - worst) g(e) + noise, where worst is the table's lowest
/// accuracy, g(e) = (e^-rate - E^-rate) / (1 - E^-rate) falls from 1 to 0, and drop, rate and noise are the cell's own:
/// uniform in [0.38, 0.62], uniform in [0.1, 1], normal with deviation 3 sqrt(g) points. What a cell draws is keyed
/// by its row in the table, so that all searches of one seed see the same curves. The last epoch gives the table's
/// value.
class TableCurves {
 public:
  TableCurves(const AccuracyTable& table, std::int64_t epochs, std::uint64_t seed);

  std::int64_t epochs() const { return epochs_; }
  /// In percent; `epoch` from 1 to epochs().
  double validation(std::size_t row, std::int64_t epoch) const;
  /// Spearman's, over all cells, of this epoch's accuracy with the final one.
  double rank_correlation(std::int64_t epoch) const;

 private:
  const AccuracyTable* table_;
  std::int64_t epochs_;
  Rng rng_;
};

}  // namespace lanista::bench
