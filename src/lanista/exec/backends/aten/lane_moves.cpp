// Transpositions, and values that are joined from parts.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "lanista/exec/backends/aten/aten_fusion.h"
#include "lanista/exec/backends/aten/lane_products.h"
#include "lanista/exec/backends/aten/operand_rounding.h"

namespace lanista::device {
namespace {

// If the last axis stays the last, the result is a view, which products can read. Otherwise it is copied once, so that
// its readers need not copy it.
AtenRun transpose(const AtenCall& call) {
  const std::vector<std::int64_t> axes = axes_of(call);
  const bool rows_stay = axes.back() + 1 == std::ssize(axes);
  return [axes, rows_stay](const Frame&, const Tensors& in) {
    const Tensor y = in[0].permute(axes);
    return Tensors{rows_stay ? y : y.contiguous()};
  };
}

struct SlicePart {
  std::int64_t axis, begin, end;
  std::optional<LaneMatmul> product;  // product that computes it
};

// Returns true if the parts cover each index of the axis exactly once.
bool tile(std::vector<SlicePart> parts, std::int64_t size) {
  std::ranges::sort(parts, {}, &SlicePart::begin);
  std::int64_t end = 0;
  for (const SlicePart& part : parts) {
    if (part.axis != parts.front().axis || part.begin != end) return false;
    end = part.end;
  }
  return end == size;
}

// Gradient of a value that slices read. Each part is written in place, by its product if there is one. Unread elements
// are zero, and elements of two slices get the sum. A transposition changes the layout of the memory.
AtenRun joined_slices(std::span<const AtenCall> calls, const LaneProducts& multiply) {
  const bool turned = calls.back().args.def.name == "transpose";
  const std::size_t last = calls.size() - (turned ? 2 : 1);
  const graph::Shape whole = calls[last].y();
  std::vector<SlicePart> parts;
  for (std::size_t i = 0; i < last; ++i) {
    std::optional<LaneMatmul> product;
    if (calls[i].args.def.name == "matmul") product.emplace(multiply, calls[i++]);
    const std::int64_t axis = calls[i].args.integer("axis"), begin = calls[i].args.integer("start");
    const auto dim = static_cast<std::size_t>(axis < 0 ? axis + std::ssize(whole.dims) : axis);
    parts.push_back({static_cast<std::int64_t>(dim) + 1, begin, begin + calls[i].x().dims[dim], std::move(product)});
  }
  const bool tiles = tile(parts, whole.dims[static_cast<std::size_t>(parts.front().axis - 1)]);
  const std::vector<std::int64_t> back = turned ? inverse_of(axes_of(calls.back())) : std::vector<std::int64_t>{};
  return [parts, tiles, back, y = calls.back().y()](const Frame& frame, const Tensors& in) {
    const std::vector<std::int64_t> sizes = sizes_of(frame, y);
    const Tensor made = tiles ? at::empty(sizes, frame.real) : at::zeros(sizes, frame.real);
    const Tensor destination = back.empty() ? made : made.permute(back);
    std::size_t next = 0;
    for (const SlicePart& part : parts) {
      const Tensor place = destination.narrow(part.axis, part.begin, part.end - part.begin);
      const Tensor to = tiles ? place : at::empty_like(place);
      if (part.product) {
        (*part.product)(in[next], in[next + 1], to);
        next += 2;
      } else {
        Tensor(to).copy_(in[next++]);
      }
      if (!tiles) Tensor(place).copy_(place + to);
    }
    return Tensors{made};
  };
}

}  // namespace

void add_lane_moves(AtenTable& table) { table["transpose"] = transpose; }

void add_lane_move_fusions(AtenFusions& fusions, const LaneKernels& kernels, const OperandRounding& operand_rounding) {
  fusions[{"slice_grad", "add"}] = {
      AtenFusion::kManyToOne, [multiply = LaneProducts(kernels, operand_rounding)](std::span<const AtenCall> calls) {
        return joined_slices(calls, multiply);
      }};
}

}  // namespace lanista::device
