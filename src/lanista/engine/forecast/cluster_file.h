#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/plan/elastic/cluster.h"

namespace lanista::engine {

/// The content of a cluster file for `lanista simulate`: the cluster, and properties of trials that no log or plan has.
struct ClusterFile {
  plan::Cluster cluster;         ///< Workers, memory and interference of the cluster.
  double busy_fraction = 1;      ///< Share of the time in which a trial keeps its worker busy, from 0.01 to 1.
  double serial_fraction = 0.1;  ///< Share of a step, from 0 to 1, that further workers do not shorten.
  double resize_seconds = 0;     ///< Seconds that a trial loses when its number of workers changes.
  /// True: the file has the key `serial`, `resize_seconds` or `interference`.
  bool has_serial_fraction = false, has_resize_seconds = false, has_interference = false;

  /// A copy in which measured values replace keys that the file does not have. An absent argument leaves the value
  /// unchanged.
  ClusterFile with_defaults(std::optional<double> measured_serial_fraction,
                            std::optional<double> measured_resize_seconds,
                            std::optional<double> measured_interference) const {
    ClusterFile out = *this;
    if (!has_serial_fraction) out.serial_fraction = measured_serial_fraction.value_or(serial_fraction);
    if (!has_resize_seconds) out.resize_seconds = measured_resize_seconds.value_or(resize_seconds);
    if (!has_interference) out.cluster.interference = measured_interference.value_or(cluster.interference);
    return out;
  }
};

/// Reads the YAML `text` of a cluster file; `file` is its name for messages. `workers` is required. Optional keys are
/// `shares` (a power of two), `widest`, `memory_mb` (default: unlimited), `reserve`, `interference`, `busy`, `serial`
/// and `resize_seconds`.
///
/// Errors: kInvalidArgument (an unknown key, a value of another kind or out of range), those of guard_yaml. The message
/// has every mistake with its place ("file:line:column").
Result<ClusterFile> read_cluster(std::string_view text, const std::string& file);

}  // namespace lanista::engine
