#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

// Values measured at some points of a grid, and what lies between them.
namespace lanista::cluster {

/// Where something was measured: nodes, replicas, batch of a replica.
using GridPoint = std::array<std::int32_t, 3>;

/// Seconds of a step, and those of its synchronisation.
struct StepTimes {
  double step = 0, sync = 0;
  bool operator==(const StepTimes&) const = default;
};

/// Linear interpolation over the Delaunay triangulation of measured points. Points on a grid lie on common spheres, so
/// a triangulation has many choices; here a cell is cut from its point that comes last in `points` on, which is
/// deterministic and continuous over the cell.
class ScatteredTable {
 public:
  ScatteredTable() = default;
  /// `points` are distinct; as many values.
  ScatteredTable(std::vector<GridPoint> points, std::vector<StepTimes> values);

  /// Nothing outside of the hull of all points. The cell is found as the optimum of a linear programme (the lower hull
  /// of points lifted onto a paraboloid), O(points) an iteration of some thirty.
  std::optional<StepTimes> at(const GridPoint& point) const;

  const std::vector<GridPoint>& points() const { return points_; }

 private:
  std::vector<GridPoint> points_;
  std::vector<StepTimes> values_;
};

}  // namespace lanista::cluster
