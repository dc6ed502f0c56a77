#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::report {

/// The size of a box, in units of the drawing. Boxes have gaps of 28 units between them and 34 between layers.
struct Box {
  double width = 0, height = 0;
};
/// An arrow from one box to another, by their indices.
struct Arrow {
  std::size_t from = 0, to = 0;
};
/// A point of the drawing; y grows downwards.
struct Point {
  double x = 0, y = 0;
};
/// The positions of boxes and arrows. All points are in [0, width] x [0, height].
struct Placement {
  std::vector<Point> centres;  ///< [boxes]: centre of each box.
  std::vector<std::vector<Point>>
      paths;  ///< [arrows]: from the lower edge of the source to the upper edge of the target.
  double width = 0, height = 0;
};

/// Returns a layered drawing (Sugiyama, Tagawa and Toda, 1981): arrows go down, boxes do not overlap, and long arrows
/// bend round the boxes between. Layers follow the longest path, orders barycentre sweeps, and positions least squares
/// under the order. Equal inputs give equal drawings. Errors: kInvalidArgument (an arrow without a box, a cycle),
/// kResourceExhausted (the arrows pass more than 20,000 layers between their boxes in sum).
Result<Placement> layered_layout(std::span<const Box> boxes, std::span<const Arrow> arrows);

}  // namespace lanista::report
