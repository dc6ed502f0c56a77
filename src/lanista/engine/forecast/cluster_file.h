#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/plan/elastic/cluster.h"

namespace lanista::engine {

/// What `lanista simulate` is told of a cluster, and what no log or plan says of trials.
struct ClusterFile {
  schedule::Cluster cluster;
  double busy_fraction = 1;            ///< part of the time in which a trial keeps its worker busy
  double serial_fraction = 0.1;        ///< of a step: what further workers do not make shorter
  double resize_seconds = 0;  ///< what a change of workers costs a trial
  bool has_serial_fraction = false, has_resize_seconds = false, has_interference = false;  ///< the file has them

  /// With what the file does not say as earlier studies have it, where they know.
  ClusterFile with_defaults(std::optional<double> measured_serial_fraction, std::optional<double> measured_resize_seconds,
                      std::optional<double> measured_interference) const {
    ClusterFile out = *this;
    if (!has_serial_fraction) out.serial_fraction = measured_serial_fraction.value_or(serial_fraction);
    if (!has_resize_seconds) out.resize_seconds = measured_resize_seconds.value_or(resize_seconds);
    if (!has_interference) out.cluster.interference = measured_interference.value_or(cluster.interference);
    return out;
  }
};

/// Reads YAML: `workers` must be there; `shares`, `widest`, `memory_mb`, `reserve`, `interference`, `busy_fraction`, `serial_fraction`,
/// `resize_seconds` may be. Errors: kInvalidArgument with every mistake and its place ("file:line:column"): an unknown
/// key, a value of another kind or out of range, what guard_yaml refuses.
Result<ClusterFile> read_cluster(std::string_view text, const std::string& file);

}  // namespace lanista::engine
