#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lanista::data {

/// The last losses that were seen, in a window of fixed length, and how a loss ranks among them. A loss that is no
/// number counts as larger than any.
class LossRanks {
 public:
  explicit LossRanks(std::size_t length) : capacity_(length) {}

  /// O(length), a move of memory.
  void add(double loss);
  /// The part of the window below the loss, ties counted half, so that equal losses rank in the middle and none ranks at
  /// 0: in (0, 1). The window holds the loss, or one of its size. O(log length).
  double rank(double loss) const;

  /// Oldest first.
  std::vector<double> losses() const;
  /// The inverse; more than the window holds, and the oldest are forgotten.
  void assign(std::span<const double> losses);

 private:
  std::size_t capacity_;
  std::vector<double> ring_;  // in the order of arrival, from next_ on once it is full
  std::size_t next_ = 0;
  std::vector<double> sorted_;
};

}  // namespace lanista::data
