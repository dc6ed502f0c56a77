#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lanista::data {

/// The last losses in a window of fixed length, and the rank of a loss among them. NaN counts as larger than any
/// number.
class LossRanks {
 public:
  /// An empty window for `length` losses.
  explicit LossRanks(std::size_t length) : capacity_(length) {}

  /// Adds a loss; a full window drops its oldest. O(length), a move of memory.
  void add(double loss);
  /// The fraction of the window below a loss, in (0, 1). Ties count half, so that equal losses rank in the middle.
  /// Precondition: the window holds the loss or one of the same value. O(log length).
  double rank(double loss) const;

  /// The losses, oldest first.
  std::vector<double> losses() const;
  /// Restores what losses() returned. If there are more losses than the window holds, the oldest are dropped.
  void assign(std::span<const double> losses);

 private:
  std::size_t capacity_;
  std::vector<double> ring_;  // in order of arrival, from next_ on when it is full
  std::size_t next_ = 0;
  std::vector<double> sorted_;
};

}  // namespace lanista::data
