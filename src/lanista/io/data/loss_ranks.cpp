#include "lanista/io/data/loss_ranks.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lanista::data {
namespace {

double ranked(double loss) { return std::isnan(loss) ? std::numeric_limits<double>::infinity() : loss; }

}  // namespace

void LossRanks::add(double loss) {
  const double value = ranked(loss);
  if (ring_.size() < capacity_) {
    ring_.push_back(value);
  } else {
    sorted_.erase(std::ranges::lower_bound(sorted_, ring_[next_]));
    ring_[next_] = value;
    next_ = (next_ + 1) % capacity_;
  }
  sorted_.insert(std::ranges::upper_bound(sorted_, value), value);
}

double LossRanks::rank(double loss) const {
  const auto [begin, end] = std::ranges::equal_range(sorted_, ranked(loss));
  const auto below = static_cast<double>(begin - sorted_.begin()), equal = static_cast<double>(end - begin);
  return (below + equal / 2) / static_cast<double>(sorted_.size());
}

std::vector<double> LossRanks::losses() const {
  std::vector<double> out = ring_;
  std::ranges::rotate(out, out.begin() + static_cast<std::ptrdiff_t>(next_));
  return out;
}

void LossRanks::assign(std::span<const double> losses) {
  ring_.clear();
  sorted_.clear();
  next_ = 0;
  for (const double loss : losses) add(loss);
}

}  // namespace lanista::data
