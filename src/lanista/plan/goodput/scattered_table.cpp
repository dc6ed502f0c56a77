#include "lanista/plan/goodput/scattered_table.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "lanista/base/check.h"

namespace lanista::goodput {
namespace {

using Real = long double;
using Vec = std::array<Real, 4>;  ///< Coordinates and a one, so that a point is a column of the programme.
constexpr Real kTiny = 1e-9L;

/// Solves the 4 x 4 system of `columns`. Empty if they are dependent.
std::optional<Vec> solve(const std::array<Vec, 4>& columns, const Vec& right) {
  std::array<std::array<Real, 5>, 4> rows{};
  for (std::size_t r = 0; r < 4; ++r) {
    for (std::size_t c = 0; c < 4; ++c) rows[r][c] = columns[c][r];
    rows[r][4] = right[r];
  }
  for (std::size_t c = 0; c < 4; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c + 1; r < 4; ++r) {
      if (std::fabs(rows[r][c]) > std::fabs(rows[pivot][c])) pivot = r;
    }
    if (std::fabs(rows[pivot][c]) < kTiny) return {};
    std::swap(rows[c], rows[pivot]);
    for (std::size_t r = 0; r < 4; ++r) {
      if (r == c) continue;
      const Real factor = rows[r][c] / rows[c][c];
      for (std::size_t k = c; k < 5; ++k) rows[r][k] -= factor * rows[c][k];
    }
  }
  Vec x{};
  for (std::size_t r = 0; r < 4; ++r) x[r] = rows[r][4] / rows[r][r];
  return x;
}

std::array<Vec, 4> transposed(const std::array<Vec, 4>& m) {
  std::array<Vec, 4> t{};
  for (std::size_t r = 0; r < 4; ++r) {
    for (std::size_t c = 0; c < 4; ++c) t[r][c] = m[c][r];
  }
  return t;
}

Vec column_of(const GridPoint& p) { return {Real(p[0]), Real(p[1]), Real(p[2]), 1}; }
Real height_of(const GridPoint& p) {
  return Real(p[0]) * Real(p[0]) + Real(p[1]) * Real(p[1]) + Real(p[2]) * Real(p[2]);
}
Real dot(const Vec& a, const Vec& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]; }

/// Returns the points of the Delaunay cell that contains q, in their order. These are the points with lifted heights on
/// the supporting plane of the lower hull above q. Empty outside the hull.
std::vector<std::size_t> cell_of(const std::vector<GridPoint>& points, const GridPoint& q) {
  const Vec right = column_of(q);
  // Four far corners with a prohibitive cost are the first basis.
  const Real corner_distance = 1e6L, corner_cost = 1e16L;
  std::array<Vec, 4> corners{Vec{-corner_distance, -corner_distance, -corner_distance, 1},
                             Vec{3 * corner_distance, -corner_distance, -corner_distance, 1},
                             Vec{-corner_distance, 3 * corner_distance, -corner_distance, 1},
                             Vec{-corner_distance, -corner_distance, 3 * corner_distance, 1}};
  const std::size_t n = points.size();
  std::array<std::size_t, 4> basis{n, n + 1, n + 2, n + 3};
  std::array<Vec, 4> columns = corners;
  std::array<Real, 4> costs{corner_cost, corner_cost, corner_cost, corner_cost};
  for (int iteration = 0; iteration < 2000; ++iteration) {
    const auto plane = solve(transposed(columns), {costs[0], costs[1], costs[2], costs[3]});
    LANISTA_CHECK(plane.has_value(), "a basis of independent points");
    std::size_t entering_point = n;
    Real least = -1e-5L;
    for (std::size_t i = 0; i < n; ++i) {
      const Real reduced = height_of(points[i]) - dot(*plane, column_of(points[i]));
      if (reduced >= least) continue;
      entering_point = i;
      if (iteration >= 400) break;  // Bland's rule does not cycle.
      least = reduced;
    }
    if (entering_point == n) {
      for (std::size_t k = 0; k < 4; ++k) {
        const auto weights = solve(columns, right);
        if (basis[k] >= n && (*weights)[k] > kTiny) return {};
      }
      std::vector<std::size_t> cell;
      for (std::size_t i = 0; i < n; ++i) {
        if (height_of(points[i]) - dot(*plane, column_of(points[i])) < 1e-4L) cell.push_back(i);
      }
      return cell;
    }
    const Vec entering = column_of(points[entering_point]);
    const auto weights = solve(columns, right);
    const auto direction = solve(columns, entering);
    std::size_t leaves = 4;
    Real step = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      if ((*direction)[k] <= 1e-15L) continue;
      const Real ratio = std::max<Real>((*weights)[k], 0) / (*direction)[k];
      if (leaves == 4 || ratio < step - 1e-15L || (ratio <= step + 1e-15L && basis[k] > basis[leaves])) {
        leaves = k;
        step = ratio;
      }
    }
    LANISTA_CHECK(leaves < 4, "the hull of all points is bounded");
    basis[leaves] = entering_point;
    columns[leaves] = entering;
    costs[leaves] = height_of(points[entering_point]);
  }
  return {};
}

using Point = std::array<Real, 3>;
Point operator-(const Point& a, const Point& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
Point cross(const Point& a, const Point& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
Real dot(const Point& a, const Point& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Point point_of(const GridPoint& p) { return {Real(p[0]), Real(p[1]), Real(p[2])}; }

struct Value {
  Real step = 0, sync = 0;
};

/// Interpolates in the hull of points on a sphere. The hull is divided from its last point, face by face.
class Cell {
 public:
  Cell(const std::vector<GridPoint>& points, const std::vector<StepTimes>& values) : points_(points), values_(values) {}

  Value at(const std::vector<std::size_t>& set, const Point& q) const {
    const std::size_t apex = set.back();
    if (set.size() == 1) return value(apex);
    const Point a = point_of(points_[apex]);
    Point towards = q - a;
    if (dot(towards, towards) < 1e-18L) return value(apex);
    // The face behind q as seen from the apex, and the point where the ray meets it.
    std::vector<std::size_t> best;
    Real longest = 0;
    for (const auto& face : faces(set)) {
      if (std::ranges::find(face.points, apex) != face.points.end()) continue;
      const Real speed = dot(face.normal, towards);
      const Real distance = dot(face.normal, point_of(points_[face.points.front()]) - a);
      if (speed <= 0 || distance <= 0) continue;
      const Real reach = distance / speed;
      if (best.empty() || reach < longest) {
        best = face.points;
        longest = reach;
      }
    }
    LANISTA_CHECK(!best.empty(), "a point of a cell lies before one of its faces");
    const Point on_face{a[0] + towards[0] * longest, a[1] + towards[1] * longest, a[2] + towards[2] * longest};
    const Value behind = at(best, on_face);
    const Value here = value(apex);
    const Real part = 1 / longest;
    return {here.step + (behind.step - here.step) * part, here.sync + (behind.sync - here.sync) * part};
  }

 private:
  struct Face {
    std::vector<std::size_t> points;
    Point normal;  ///< Outward normal within the span of the set.
  };

  Value value(std::size_t i) const { return {values_[i].step, values_[i].sync}; }

  /// Returns the axes that span the set: one, two or three.
  std::vector<Point> axes_of(const std::vector<std::size_t>& set) const {
    std::vector<Point> axes;
    const Point origin = point_of(points_[set.front()]);
    for (const std::size_t i : set) {
      const Point d = point_of(points_[i]) - origin;
      if (axes.empty()       ? dot(d, d) > 0
          : axes.size() == 1 ? dot(cross(axes[0], d), cross(axes[0], d)) > 1e-6L
                             : std::fabs(dot(cross(axes[0], axes[1]), d)) > 1e-6L) {
        axes.push_back(d);
      }
      if (axes.size() == 3) break;
    }
    return axes;
  }

  std::vector<Face> faces(const std::vector<std::size_t>& set) const {
    const auto axes = axes_of(set);
    std::vector<Face> all;
    const auto add = [&](const Point& normal, const Point& through) {
      int above = 0, below = 0;
      Face face{{}, normal};
      const Real scale = std::sqrt(dot(normal, normal)) * 1e-9L;
      for (const std::size_t i : set) {
        const Point d = point_of(points_[i]) - through;
        const Real side = dot(normal, d);
        if (std::fabs(side) <= scale * std::max<Real>(1, std::sqrt(dot(d, d)))) {
          face.points.push_back(i);
        } else {
          ++(side > 0 ? above : below);
        }
      }
      if (above > 0 && below > 0) return;
      if (above > 0) face.normal = {-normal[0], -normal[1], -normal[2]};
      if (std::ranges::none_of(all, [&](const Face& other) { return other.points == face.points; })) {
        all.push_back(std::move(face));
      }
    };
    const std::size_t n = set.size();
    for (std::size_t i = 0; i < n; ++i) {
      const Point p = point_of(points_[set[i]]);
      if (axes.size() == 1) add(axes[0], p);
      for (std::size_t j = i + 1; j < n && axes.size() >= 2; ++j) {
        const Point u = point_of(points_[set[j]]) - p;
        if (axes.size() == 2) add(cross(u, cross(axes[0], axes[1])), p);
        for (std::size_t k = j + 1; k < n && axes.size() == 3; ++k) {
          const Point normal = cross(u, point_of(points_[set[k]]) - p);
          if (dot(normal, normal) > 1e-6L) add(normal, p);
        }
      }
    }
    return all;
  }

  const std::vector<GridPoint>& points_;
  const std::vector<StepTimes>& values_;
};

}  // namespace

ScatteredTable::ScatteredTable(std::vector<GridPoint> points, std::vector<StepTimes> values)
    : points_(std::move(points)), values_(std::move(values)) {
  LANISTA_CHECK(points_.size() == values_.size(), "each point needs one value");
}

std::optional<StepTimes> ScatteredTable::at(const GridPoint& point) const {
  if (points_.empty()) return {};
  const auto cell = cell_of(points_, point);
  if (cell.empty()) return {};
  const Value value = Cell(points_, values_).at(cell, point_of(point));
  return StepTimes{static_cast<double>(value.step), static_cast<double>(value.sync)};
}

}  // namespace lanista::goodput
