#include "lanista/bench/table_curves.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "lanista/base/check.h"
#include "lanista/base/portable_math.h"

namespace lanista::bench {
namespace {

constexpr double kNoise = 3;  ///< points, at the first epoch

/// How much of the way from the first epoch to the last one is left.
double left_at(std::int64_t epoch, std::int64_t epochs, double rate) {
  if (epoch == epochs) return 0;
  const double end = portable_pow(static_cast<double>(epochs), -rate);
  return (portable_pow(static_cast<double>(epoch), -rate) - end) / (1 - end);
}

/// Equal values share the mean of their places.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> out(values.size());
  for (std::size_t i = 0, end = 0; i < order.size(); i = end) {
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) out[order[k]] = static_cast<double>(i + end - 1) / 2;
  }
  return out;
}

}  // namespace

TableCurves::TableCurves(const AccuracyTable& table, std::int64_t epochs, std::uint64_t seed)
    : table_(&table), epochs_(epochs), rng_(Rng(seed).split("curves")) {
  LANISTA_CHECK(epochs >= 1, "a curve needs an epoch");
}

double TableCurves::validation(std::size_t row, std::int64_t epoch) const {
  LANISTA_CHECK(epoch >= 1 && epoch <= epochs_, "an epoch that the curve does not have");
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
  const std::vector<double> a = ranks(now), b = ranks(at_end);
  const double middle = static_cast<double>(a.size() - 1) / 2;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - middle) * (b[i] - middle);
    aa += (a[i] - middle) * (a[i] - middle);
    bb += (b[i] - middle) * (b[i] - middle);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

}  // namespace lanista::bench
