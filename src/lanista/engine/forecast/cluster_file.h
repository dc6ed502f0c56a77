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
  double busy = 1;            ///< part of the time in which a trial keeps its worker busy
  double serial = 0.1;        ///< of a step: what further workers do not make shorter
  double resize_seconds = 0;  ///< what a change of workers costs a trial
  bool says_serial = false, says_resize = false, says_interference = false;  ///< the file has them

  /// With what the file does not say as earlier studies have it, where they know.
  ClusterFile settled(std::optional<double> known_serial, std::optional<double> known_resize,
                      std::optional<double> known_interference) const {
    ClusterFile out = *this;
    if (!says_serial) out.serial = known_serial.value_or(serial);
    if (!says_resize) out.resize_seconds = known_resize.value_or(resize_seconds);
    if (!says_interference) out.cluster.interference = known_interference.value_or(cluster.interference);
    return out;
  }
};

/// Reads YAML: `workers` must be there; `shares`, `widest`, `memory_mb`, `reserve`, `interference`, `busy`, `serial`,
/// `resize_seconds` may be. Errors: kInvalidArgument with every mistake and its place ("file:line:column"): an unknown
/// key, a value of another kind or out of range, what guard_yaml refuses.
Result<ClusterFile> read_cluster(std::string_view text, const std::string& file);

}  // namespace lanista::engine
