#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "lanista/base/result.h"

namespace lanista::plan {

/// The work that was timed, and the machine that ran it. A row is valid only where all fields are equal.
struct CostKey {
  std::string work;          ///< Text that names the work: kernel, attributes, shapes and batch size.
  std::int64_t lanes = 1;    ///< Number of lanes that one call computes.
  std::string cpu;           ///< Model name of the CPU.
  std::int64_t threads = 1;  ///< Number of threads that run the call.
  std::string version;       ///< Version of lanista that ran the call.
  auto operator<=>(const CostKey&) const = default;
};

/// The measured cost of one call, for one of its lanes.
struct CostRow {
  double microseconds = 0;   ///< Time of the call for each lane, in microseconds.
  double flops = 0;          ///< FLOPs of one lane in the call.
  double bytes = 0;          ///< Bytes that the call reads and writes for one lane.
  std::int64_t samples = 0;  ///< Number of timings behind `microseconds`, at least one.
  bool operator==(const CostRow&) const = default;
};

/// Measured costs by key, as an input of planners. A value: it reads no clock and no file.
///
/// A profiler gives the median of its timings as one row, since an interruption only ever adds time. The rows of
/// several profiles are combined by their mean, weighted by samples. So times hardly depend on the order in
/// which tables are merged. FLOPs and bytes are those of the last row.
class CostTable {
 public:
  /// Returns the row of a key, or null if the work was not measured. The pointer is valid as long as the table.
  const CostRow* find(const CostKey& key) const;
  /// Adds a measurement of the key.
  ///
  /// The time becomes the mean of the old and the new time, weighted by samples. Samples are added up to at most 10^12.
  /// FLOPs and bytes are replaced. A row without samples, or with a time outside 0 to 1e18, throws InternalError.
  void put(const CostKey& key, const CostRow& row);
  /// Adds all rows of `other`, each as put() does: times become the mean weighted by samples.
  void merge(const CostTable& other);
  /// Returns all rows, in ascending order of their keys.
  const std::map<CostKey, CostRow>& rows() const { return rows_; }
  bool operator==(const CostTable&) const = default;

  /// Returns a JSON array with one object for each row, in ascending order of their keys: {"work", "lanes", "cpu",
  /// "threads", "version", "us", "flops", "bytes", "samples"}.
  nlohmann::json to_json() const;
  /// Reads the array of to_json.
  ///
  /// Errors: kDataLoss if it is no array. Also kDataLoss, with the number of the row (from 1), for a row that is no
  /// object, a field that is missing or has a wrong type, a number out of range, and a key that is listed twice.
  static Result<CostTable> from_json(const nlohmann::json& json);

 private:
  std::map<CostKey, CostRow> rows_;
};

}  // namespace lanista::plan
