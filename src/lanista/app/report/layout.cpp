#include "lanista/app/report/layout.h"

#include <algorithm>
#include <string>

namespace lanista::report {
namespace {

constexpr double kGapX = 28, kGapY = 34, kMargin = 8, kBend = 12;
constexpr std::size_t kMaxLayerNodes = 20'000;
constexpr int kSweeps = 12;

/// A box, or the point at which a long arrow passes a layer.
struct LayerNode {
  double width = 0, height = 0;
  std::size_t layer = 0;
  double order = 0;  ///< preferred position in the layer
  double x = 0, y = 0;
  double row_height = 0;
  std::vector<std::size_t> above, below;
};

struct LayeredDrawing {
  std::vector<LayerNode> slots;                 ///< boxes first
  std::vector<std::vector<std::size_t>> chain;  ///< [arrows]: the slots on its way
  std::vector<std::vector<std::size_t>> layers;
};

/// The layer of each box: the longest path from a box without incoming arrows.
Result<std::vector<std::size_t>> assign_layers(std::size_t boxes, std::span<const Arrow> arrows) {
  std::vector<std::size_t> waits(boxes, 0), layer(boxes, 0), ready;
  std::vector<std::vector<std::size_t>> targets(boxes);
  for (const Arrow& arrow : arrows) {
    if (arrow.from >= boxes || arrow.to >= boxes) {
      return Error{Code::kInvalidArgument,
                   "arrow " + std::to_string(arrow.from) + " -> " + std::to_string(arrow.to) + ": there are only " +
                       std::to_string(boxes) + " boxes",
                   ""};
    }
    targets[arrow.from].push_back(arrow.to);
    ++waits[arrow.to];
  }
  for (std::size_t box = 0; box < boxes; ++box) {
    if (waits[box] == 0) ready.push_back(box);
  }
  for (std::size_t next = 0; next < ready.size(); ++next) {
    for (const std::size_t target : targets[ready[next]]) {
      layer[target] = std::max(layer[target], layer[ready[next]] + 1);
      if (--waits[target] == 0) ready.push_back(target);
    }
  }
  if (ready.size() < boxes) {
    return Error{Code::kInvalidArgument, std::to_string(boxes - ready.size()) + " boxes are on a cycle or after one",
                 ""};
  }
  return layer;
}

Result<LayeredDrawing> make_drawing(std::span<const Box> boxes, std::span<const Arrow> arrows) {
  LANISTA_ASSIGN(const auto layer, assign_layers(boxes.size(), arrows));
  LayeredDrawing out;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    out.slots.push_back({boxes[i].width, boxes[i].height, layer[i], 0, 0, 0, 0, {}, {}});
  }
  for (const Arrow& arrow : arrows) {
    std::vector<std::size_t> chain{arrow.from};
    for (std::size_t l = layer[arrow.from] + 1; l < layer[arrow.to]; ++l) {
      if (out.slots.size() - boxes.size() >= kMaxLayerNodes) {
        return Error{Code::kResourceExhausted,
                     "arrows cross more than " + std::to_string(kMaxLayerNodes) + " layers together", ""};
      }
      chain.push_back(out.slots.size());
      out.slots.push_back({kBend, 0, l, 0, 0, 0, 0, {}, {}});
    }
    chain.push_back(arrow.to);
    for (std::size_t i = 1; i < chain.size(); ++i) {
      out.slots[chain[i - 1]].below.push_back(chain[i]);
      out.slots[chain[i]].above.push_back(chain[i - 1]);
    }
    out.chain.push_back(std::move(chain));
  }
  for (std::size_t i = 0; i < out.slots.size(); ++i) {
    out.layers.resize(std::max(out.layers.size(), out.slots[i].layer + 1));
    out.slots[i].order = static_cast<double>(out.layers[out.slots[i].layer].size());
    out.layers[out.slots[i].layer].push_back(i);
  }
  return out;
}

const std::vector<std::size_t>& neighbours(const LayerNode& slot, bool above) {
  return above ? slot.above : slot.below;
}

double mean(const LayeredDrawing& drawing, const std::vector<std::size_t>& of, double LayerNode::*what,
            double otherwise) {
  if (of.empty()) return otherwise;
  double sum = 0;
  for (const std::size_t i : of) sum += drawing.slots[i].*what;
  return sum / static_cast<double>(of.size());
}

/// Orders a layer by the mean position of its neighbours in the layer above or below.
void order_layer(LayeredDrawing& drawing, std::vector<std::size_t>& layer, bool above) {
  for (const std::size_t i : layer) {
    LayerNode& slot = drawing.slots[i];
    slot.order = mean(drawing, neighbours(slot, above), &LayerNode::order, slot.order);
  }
  std::stable_sort(layer.begin(), layer.end(),
                   [&](auto a, auto b) { return drawing.slots[a].order < drawing.slots[b].order; });
  for (std::size_t position = 0; position < layer.size(); ++position) {
    drawing.slots[layer[position]].order = static_cast<double>(position);
  }
}

/// The positions that are nearest to the preferred ones (least squares) and keep order and gaps. Blocks that would
/// collide merge at the mean of their members' preferences (pool adjacent violators).
void place_layer(LayeredDrawing& drawing, const std::vector<std::size_t>& layer, bool above) {
  struct PositionBlock {
    double wanted_x = 0;  ///< preferred position of its first member, summed over members
    double count = 0;
    std::size_t end = 0;
    double at() const { return wanted_x / count; }
  };
  std::vector<double> offset(layer.size(), 0);
  std::vector<PositionBlock> blocks;
  for (std::size_t i = 0; i < layer.size(); ++i) {
    const LayerNode& slot = drawing.slots[layer[i]];
    if (i > 0) offset[i] = offset[i - 1] + (drawing.slots[layer[i - 1]].width + slot.width) / 2 + kGapX;
    blocks.push_back({mean(drawing, neighbours(slot, above), &LayerNode::x, slot.x) - offset[i], 1, i + 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].at() > blocks.back().at()) {
      const PositionBlock last = blocks.back();
      blocks.pop_back();
      blocks.back() = {blocks.back().wanted_x + last.wanted_x, blocks.back().count + last.count, last.end};
    }
  }
  std::size_t i = 0;
  for (const PositionBlock& block : blocks) {
    for (; i < block.end; ++i) drawing.slots[layer[i]].x = block.at() + offset[i];
  }
}

void sweep(LayeredDrawing& drawing, void (*step)(LayeredDrawing&, std::vector<std::size_t>&, bool)) {
  for (int round = 0; round < kSweeps; ++round) {
    const bool down = round % 2 == 0;
    for (std::size_t i = 0; i < drawing.layers.size(); ++i) {
      step(drawing, drawing.layers[down ? i : drawing.layers.size() - 1 - i], down);
    }
  }
}

void place_rows(LayeredDrawing& drawing, Placement& out) {
  double top = kMargin;
  for (const auto& layer : drawing.layers) {
    double height = 0;
    for (const std::size_t i : layer) height = std::max(height, drawing.slots[i].height);
    for (const std::size_t i : layer) drawing.slots[i].y = top + height / 2;
    for (const std::size_t i : layer) drawing.slots[i].row_height = height;
    top += height + kGapY;
  }
  out.height = drawing.layers.empty() ? 0 : top - kGapY + kMargin;
}

/// The path of an arrow: slanted between rows, vertical inside them, so that it crosses no box.
std::vector<Point> path_of(const LayeredDrawing& drawing, const std::vector<std::size_t>& chain) {
  std::vector<Point> path;
  const auto go = [&path](double x, double y) {
    if (path.empty() || path.back().x != x || path.back().y != y) path.push_back({x, y});
  };
  for (const std::size_t i : chain) {
    const LayerNode& slot = drawing.slots[i];
    const bool first = i == chain.front(), last = i == chain.back();
    if (!first) go(slot.x, slot.y - slot.row_height / 2);
    if (first) go(slot.x, slot.y + slot.height / 2);
    if (last) go(slot.x, slot.y - slot.height / 2);
    if (!last) go(slot.x, slot.y + slot.row_height / 2);
  }
  return path;
}

}  // namespace

Result<Placement> layered_layout(std::span<const Box> boxes, std::span<const Arrow> arrows) {
  LANISTA_ASSIGN(LayeredDrawing drawing, make_drawing(boxes, arrows));
  sweep(drawing, order_layer);
  sweep(drawing, [](LayeredDrawing& d, std::vector<std::size_t>& layer, bool above) { place_layer(d, layer, above); });
  Placement out;
  place_rows(drawing, out);
  double left = 0, right = 0;
  for (std::size_t i = 0; i < drawing.slots.size(); ++i) {
    const LayerNode& slot = drawing.slots[i];
    left = i == 0 ? slot.x - slot.width / 2 : std::min(left, slot.x - slot.width / 2);
    right = i == 0 ? slot.x + slot.width / 2 : std::max(right, slot.x + slot.width / 2);
  }
  out.width = boxes.empty() ? 0 : right - left + 2 * kMargin;
  for (LayerNode& slot : drawing.slots) slot.x += kMargin - left;
  for (std::size_t i = 0; i < boxes.size(); ++i) out.centres.push_back({drawing.slots[i].x, drawing.slots[i].y});
  for (const auto& chain : drawing.chain) out.paths.push_back(path_of(drawing, chain));
  return out;
}

}  // namespace lanista::report
