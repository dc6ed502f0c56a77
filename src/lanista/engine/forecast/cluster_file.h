#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/plan/elastic/cluster.h"

namespace lanista::engine {

/// A cluster file of `lanista simulate`: the cluster, and facts about trials that no log or plan has.
struct ClusterFile {
  schedule::Cluster cluster;     ///< The cluster.
  double busy_fraction = 1;      ///< Share of the time in which a trial keeps its worker busy.
  double serial_fraction = 0.1;  ///< Share of a step that further workers do not shorten.
  double resize_seconds = 0;     ///< Seconds for a change of a trial's workers.
  /// Whether the file has these keys.
  bool has_serial_fraction = false, has_resize_seconds = false, has_interference = false;

  /// The file with measured values for keys that it does not have, if they are known.
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

/// Reads YAML. `workers` is required. Optional keys are `shares`, `widest`, `memory_mb`, `reserve`, `interference`,
/// `busy`, `serial` and `resize_seconds`. Errors: kInvalidArgument with every mistake and its place
/// ("file:line:column"): an unknown key, a value of another kind or out of range, and those of guard_yaml.
Result<ClusterFile> read_cluster(std::string_view text, const std::string& file);

}  // namespace lanista::engine
