#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::report {

/// A box to be placed, and an arrow from one box (by index) to another.
struct Box {
  double width = 0, height = 0;
};
struct Arrow {
  std::size_t from = 0, to = 0;
};
struct Point {
  double x = 0, y = 0;
};
/// Where everything goes; y grows downwards, everything lies in [0, width] x [0, height].
struct Placement {
  std::vector<Point> centres;             ///< one a box
  std::vector<std::vector<Point>> paths;  ///< one an arrow: from the source's lower edge to the target's upper edge
  double width = 0, height = 0;
};

/// A layered drawing (Sugiyama, Tagawa and Toda, 1981): every arrow goes down, boxes do not overlap, long arrows bend
/// round the boxes between. Layers by longest path, order by barycentre sweeps, positions by least squares under the
/// order. The same input gives the same drawing. Errors: kInvalidArgument (an arrow to nowhere, a cycle);
/// kResourceExhausted if arrows cross more than 20,000 layers together: nobody could read that.
Result<Placement> layered_layout(std::span<const Box> boxes, std::span<const Arrow> arrows);

}  // namespace lanista::report
