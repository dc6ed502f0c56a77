#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "lanista/base/result.h"

namespace lanista::graph {

/// What was timed, and where: a row is worth something only to those who share all of it.
struct CostKey {
  std::string work;  ///< kernel with its attributes and shapes, batch included
  std::int64_t lanes = 1;
  std::string cpu;  ///< its model name
  std::int64_t threads = 1;
  std::string version;  ///< of the library
  auto operator<=>(const CostKey&) const = default;
};

/// What a call of the work costs in one lane.
struct CostRow {
  double microseconds = 0;
  double flops = 0, bytes = 0;
  std::int64_t samples = 0;  ///< timings behind it, at least one
  bool operator==(const CostRow&) const = default;
};

/// Measured costs; a value that planners are given. It knows no clock and no file.
///
/// Whoever measures takes the median of a session, because an interruption only ever adds. Sessions are put together by
/// their mean, weighted by samples: a row stays as small as it is, and tables merge in any order.
class CostTable {
 public:
  /// The row of a key, null if nobody measured it.
  const CostRow* find(const CostKey& key) const;
  /// Adds the timings of `row` to those that are there; of flops and bytes the newest count. A row without samples or
  /// with a time that is no number from zero on is a bug.
  void put(const CostKey& key, const CostRow& row);
  void merge(const CostTable& other);
  const std::map<CostKey, CostRow>& rows() const { return rows_; }
  bool operator==(const CostTable&) const = default;

  /// An array of rows in the order of their keys.
  nlohmann::json to_json() const;
  /// Errors: kDataLoss naming the row and what is wrong with it (a field that is missing or of another kind, a number
  /// out of its bounds, the same key twice).
  static Result<CostTable> from_json(const nlohmann::json& json);

 private:
  std::map<CostKey, CostRow> rows_;
};

/// What a call costs where nobody measured it.
struct CostPrices {
  double gflops = 100;         ///< multiply-adds of one core, two operations each
  double gb_per_second = 100;  ///< of the memory that the program's values live in
  double call_us = 0.05;       ///< of every call, however small: what the smallest ones take
};
/// flops / peak + bytes / bandwidth + the price of a call, in microseconds.
double predicted_us(const CostPrices& prices, double flops, double bytes);

}  // namespace lanista::graph
