// Values that are put in another order, or together from parts.
#include <algorithm>
#include <utility>
#include <vector>

#include "lanista/device/aten_joins.h"

namespace lanista::device {
namespace {

std::vector<std::int64_t> axes_of(const AtenCall& call) {
  std::vector<std::int64_t> axes{0};
  for (const std::int64_t axis : call.args.list("axes")) axes.push_back(axis + 1);
  return axes;
}

// Whose rows stay rows lies where it did: products read it there. Else once in its new order, so that not everybody who
// reads it puts it there.
AtenRun transpose(const AtenCall& call) {
  const std::vector<std::int64_t> axes = axes_of(call);
  const bool rows_stay = axes.back() + 1 == std::ssize(axes);
  return [axes, rows_stay](const Frame&, const Tensors& in) {
    const Tensor y = in[0].permute(axes);
    return Tensors{rows_stay ? y : y.contiguous()};
  };
}

// The gradient of what was cut in slices: each is written where it belongs. What nobody cut off is zero, and what two
// have cut is their sum. Behind a transposition, the memory is that of its result.
AtenRun joined_slices(std::span<const AtenCall> calls) {
  const bool turned = calls.back().args.def.name == "transpose";
  const auto parts = calls.first(calls.size() - (turned ? 2 : 1));
  struct Part {
    std::int64_t axis, begin, end;
  };
  std::vector<Part> all;
  const graph::Shape whole = calls[parts.size()].y();
  for (const AtenCall& part : parts) {
    const std::int64_t axis = part.args.integer("axis"), begin = part.args.integer("start");
    const auto dim = static_cast<std::size_t>(axis < 0 ? axis + std::ssize(whole.dims) : axis);
    all.push_back({static_cast<std::int64_t>(dim) + 1, begin, begin + part.x().dims[dim]});
  }
  std::vector<Part> sorted = all;
  std::ranges::sort(sorted, {}, &Part::begin);
  bool tile = sorted.front().begin == 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const std::int64_t end = i + 1 < sorted.size()
                                 ? sorted[i + 1].begin
                                 : whole.dims[static_cast<std::size_t>(sorted.front().axis - 1)];
    tile = tile && sorted[i].axis == sorted.front().axis && sorted[i].end == end;
  }
  std::vector<std::int64_t> axes, back;
  if (turned) {
    axes = axes_of(calls.back());
    back.resize(axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i) back[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
  }
  return [all, tile, back, y = calls.back().y()](const Frame& frame, const Tensors& in) {
    const std::vector<std::int64_t> sizes = sizes_of(frame, y);
    const Tensor made = tile ? at::empty(sizes, frame.real) : at::zeros(sizes, frame.real);
    const Tensor into = back.empty() ? made : made.permute(back);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Tensor part = into.narrow(all[i].axis, all[i].begin, all[i].end - all[i].begin);
      part.copy_(tile ? in[i] : part + in[i]);
    }
    return Tensors{made};
  };
}

}  // namespace

void add_lane_moves(AtenTable& table) { table["transpose"] = transpose; }

void join_lane_moves(AtenJoins& joins) { joins[{"slice_grad", "add"}] = {AtenJoin::kParts, joined_slices}; }

}  // namespace lanista::device
