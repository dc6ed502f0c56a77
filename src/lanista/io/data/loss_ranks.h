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

  /// Adds a loss; a full window drops its oldest loss. O(length).
  void add(double loss);
  /// The fraction of losses in the window that are below `loss`, in (0, 1). Equal losses, with `loss` itself, count
  /// half. Precondition: the window has a loss of the same value. O(log length).
  double rank(double loss) const;

  /// The losses of the window, oldest first; NaN is returned as infinity.
  std::vector<double> losses() const;
  /// Replaces the window by `losses`, oldest first, as losses() returns them. The oldest of more than `length` are
  /// dropped.
  void assign(std::span<const double> losses);

 private:
  std::size_t capacity_;
  std::vector<double> ring_;  // in order of arrival, from next_ on when it is full
  std::size_t next_ = 0;
  std::vector<double> sorted_;
};

}  // namespace lanista::data
