#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

// Interpolation between values that were measured at some points of a grid.
namespace lanista::goodput {

/// A measured configuration: nodes, replicas, batch size of a replica.
using GridPoint = std::array<std::int32_t, 3>;

/// Seconds of a training step.
struct StepTimes {
  double step = 0;  ///< Seconds of the step.
  double sync = 0;  ///< Seconds of its synchronisation, which are part of the step.
  bool operator==(const StepTimes&) const = default;
};

/// Linear interpolation over the Delaunay triangulation of measured points.
///
/// Points of a grid lie on common spheres, so the triangulation is not unique. A cell is divided from its last point in
/// `points`, which is deterministic and continuous.
class ScatteredTable {
 public:
  ScatteredTable() = default;
  /// `points` must be distinct, and `values` must have one entry for each, in the same order.
  ScatteredTable(std::vector<GridPoint> points, std::vector<StepTimes> values);

  /// Returns the interpolated times, or nothing outside the convex hull of the points.
  ///
  /// The cell is the optimum of a linear programme (the lower hull of the points lifted to a paraboloid). It needs
  /// about 30 iterations of O(points).
  std::optional<StepTimes> at(const GridPoint& point) const;

  /// Returns the measured points.
  const std::vector<GridPoint>& points() const { return points_; }

 private:
  std::vector<GridPoint> points_;
  std::vector<StepTimes> values_;
};

}  // namespace lanista::goodput
