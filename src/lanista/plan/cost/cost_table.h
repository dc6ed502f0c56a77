#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "lanista/base/result.h"

namespace lanista::graph {

/// The work that was timed, and the machine. A row is valid only where all of it is equal.
struct CostKey {
  std::string work;          ///< Kernel with attributes and shapes, batch included.
  std::int64_t lanes = 1;    ///< Lanes of the call.
  std::string cpu;           ///< Model name of the CPU.
  std::int64_t threads = 1;  ///< Threads of the call.
  std::string version;       ///< Version of the library.
  auto operator<=>(const CostKey&) const = default;
};

/// The cost of one call in one lane.
struct CostRow {
  double microseconds = 0;   ///< Time of the call.
  double flops = 0;          ///< FLOPs of the call.
  double bytes = 0;          ///< Bytes that it reads and writes.
  std::int64_t samples = 0;  ///< Number of timings, at least one.
  bool operator==(const CostRow&) const = default;
};

/// Measured costs, as an input of planners. A value: it reads no clock and no file.
///
/// The time of a session is the median of its timings, since an interruption only ever adds time. Sessions are combined
/// by their mean, weighted by samples. So a row keeps its size, and tables may be merged in any order.
class CostTable {
 public:
  /// Returns the row of a key, or null if it was not measured.
  const CostRow* find(const CostKey& key) const;
  /// Adds the timings of `row` to those of the key, and replaces FLOPs and bytes.
  ///
  /// A row without samples, or with a time that is not a number from 0 on, fails an internal check.
  void put(const CostKey& key, const CostRow& row);
  /// Adds all rows of `other`, as `put` does.
  void merge(const CostTable& other);
  /// Returns all rows.
  const std::map<CostKey, CostRow>& rows() const { return rows_; }
  bool operator==(const CostTable&) const = default;

  /// Returns an array of rows in the order of their keys.
  nlohmann::json to_json() const;
  /// Reads the array of to_json.
  ///
  /// Errors: kDataLoss with the number of the row, for a field that is missing or has a wrong type, a number out of
  /// range, and a key that is listed twice.
  static Result<CostTable> from_json(const nlohmann::json& json);

 private:
  std::map<CostKey, CostRow> rows_;
};

/// Rates that predict the cost of a call that was not measured.
struct CostPrices {
  double gflops = 100;         ///< Peak of one core in GFLOP/s; a multiply-add counts as two.
  double gb_per_second = 100;  ///< Bandwidth of the memory that holds the program's values, in GB/s.
  double call_us = 0.05;       ///< Microseconds of the smallest call; every call needs them.
};
/// Returns the microseconds of a call: flops / peak + bytes / bandwidth + call_us.
double predicted_us(const CostPrices& prices, double flops, double bytes);

}  // namespace lanista::graph
