#include "bench/table_curves.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/rank_correlation.h"
#include "lanista/base/check.h"
#include "lanista/base/portable_math.h"

namespace lanista::bench {
namespace {

constexpr double kNoise = 3;  ///< standard deviation at the first epoch, in points

/// The part of the way from the first epoch to the last one that is left, from 1 to 0.
double left_at(std::int64_t epoch, std::int64_t epochs, double rate) {
  if (epoch == epochs) return 0;
  const double end = portable_pow(static_cast<double>(epochs), -rate);
  return (portable_pow(static_cast<double>(epoch), -rate) - end) / (1 - end);
}

}  // namespace

TableCurves::TableCurves(const AccuracyTable& table, std::int64_t epochs, std::uint64_t seed)
    : table_(&table), epochs_(epochs), rng_(Rng(seed).split("curves")) {
  LANISTA_CHECK(epochs >= 1, "a curve has at least one epoch");
}

double TableCurves::validation(std::size_t row, std::int64_t epoch) const {
  LANISTA_CHECK(epoch >= 1 && epoch <= epochs_, "an epoch is from 1 to the last one of the curve");
  const Rng own = rng_.split(static_cast<std::uint64_t>(row));
  Rng shape = own.split("shape"), noise = own.split("noise").split(static_cast<std::uint64_t>(epoch));
  const double drop = shape.uniform(0.38, 0.62), rate = shape.uniform(0.1, 1);
  const double end = table_->row(row).validation, left = left_at(epoch, epochs_, rate);
  const double value = end - drop * (end - table_->worst_validation()) * left;
  return std::clamp(value + kNoise * std::sqrt(left) * noise.normal(), 0.0, 100.0);
}

double TableCurves::rank_correlation(std::int64_t epoch) const {
  std::vector<double> now, at_end;
  for (std::size_t row = 0; row < table_->rows(); ++row) {
    now.push_back(validation(row, epoch));
    at_end.push_back(table_->row(row).validation);
  }
  return lanista::bench::rank_correlation(now, at_end);
}

}  // namespace lanista::bench
