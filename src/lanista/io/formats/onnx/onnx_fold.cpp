#include "lanista/io/formats/onnx/onnx_fold.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "lanista/io/formats/onnx/onnx_fold_context.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

FoldResult identity(const FoldContext& f) { return f.in_shape(f.input().shape); }

FoldResult transpose(const FoldContext& f) {
  List axes(f.input().shape.size());
  std::iota(axes.rbegin(), axes.rend(), 0);
  LANISTA_ASSIGN(axes, f.attribute("perm", axes));
  List sorted = axes, all(f.input().shape.size());
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all) return malformed("perm is no permutation of the dimensions");
  LANISTA_TRY(f.budget.spend(f.input().bytes.size()));
  return std::optional(transposed(f.input(), axes));
}

FoldResult reshape(const FoldContext& f) {
  if (!f.has(1)) return malformed("its input 1 is missing");
  LANISTA_ASSIGN(const List target, f.list(1));
  LANISTA_ASSIGN(const std::int64_t literal, f.attribute("allowzero", std::int64_t{0}));
  if (literal != 0 && std::find(target.begin(), target.end(), 0) != target.end()) return kNotFolded;
  LANISTA_ASSIGN(List shape, reshaped(target, f.input().shape));
  return f.in_shape(std::move(shape));
}

FoldResult flatten(const FoldContext& f) {
  LANISTA_ASSIGN(const std::int64_t axis, f.attribute("axis", std::int64_t{1}));
  LANISTA_ASSIGN(const std::size_t first, flatten_axis(axis, f.input().shape.size()));
  const auto product = [](auto begin, auto end) {
    return std::accumulate(begin, end, std::int64_t{1}, std::multiplies<>());
  };
  const auto middle = f.input().shape.begin() + static_cast<std::ptrdiff_t>(first);
  return f.in_shape({product(f.input().shape.begin(), middle), product(middle, f.input().shape.end())});
}

FoldResult unsqueeze(const FoldContext& f) {
  LANISTA_ASSIGN(const auto axes, f.list("axes", 1));
  if (!axes) return malformed("it has no axes");
  LANISTA_ASSIGN(List shape, unsqueezed(f.input().shape, *axes));
  return f.in_shape(std::move(shape));
}

FoldResult squeeze(const FoldContext& f) {
  LANISTA_ASSIGN(const auto axes, f.list("axes", 1));
  LANISTA_ASSIGN(List shape, squeezed(f.input().shape, axes));
  return f.in_shape(std::move(shape));
}

FoldResult shape(const FoldContext& f) {
  LANISTA_ASSIGN(const std::int64_t start, f.attribute("start", std::int64_t{0}));
  LANISTA_ASSIGN(const std::int64_t end, f.attribute("end", f.rank()));
  const auto clamped = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + f.rank() : at, 0, f.rank());
  };
  const List dims(f.input().shape.begin() + clamped(start),
                  f.input().shape.begin() + std::max(clamped(start), clamped(end)));
  return std::optional(tensor_of_integers(dims));
}

/// The memory layout of a tensor around one of its axes: [outer, dim, bytes of the inner dimensions].
struct Slabs {
  std::size_t outer = 1, bytes = 1;
};

Slabs slabs_around(const Tensor& tensor, std::size_t axis) {
  Slabs slabs{1, element_size(tensor.type)};
  for (std::size_t i = 0; i < axis; ++i) slabs.outer *= static_cast<std::size_t>(tensor.shape[i]);
  for (std::size_t i = axis + 1; i < tensor.shape.size(); ++i) slabs.bytes *= static_cast<std::size_t>(tensor.shape[i]);
  return slabs;
}

/// The slabs of `picks` along an axis. Precondition: every pick exists.
FoldResult picked(const FoldContext& f, const Tensor& from, std::size_t axis, const List& picks, List shape) {
  LANISTA_ASSIGN(Tensor result, f.allocate(from.type, std::move(shape)));
  if (result.bytes.empty()) return std::optional(std::move(result));
  const Slabs slabs = slabs_around(from, axis);
  const auto dim = static_cast<std::size_t>(from.shape[axis]);
  std::byte* to = result.bytes.data();
  for (std::size_t outer = 0; outer < slabs.outer; ++outer) {
    for (const std::int64_t pick : picks) {
      std::memcpy(to, from.bytes.data() + (outer * dim + static_cast<std::size_t>(pick)) * slabs.bytes, slabs.bytes);
      to += slabs.bytes;
    }
  }
  return std::optional(std::move(result));
}

FoldResult gather(const FoldContext& f) {
  if (!f.has(1)) return malformed("its input 1 is missing");
  const Tensor& positions = f.input(1);
  if (positions.type != ElementType::kI64 && positions.type != ElementType::kI32) return kNotFolded;
  LANISTA_ASSIGN(const std::int64_t named, f.attribute("axis", std::int64_t{0}));
  LANISTA_ASSIGN(const std::size_t axis, axis_of(named, f.input().shape.size()));
  LANISTA_ASSIGN(List picks, integers_of(positions));
  const std::int64_t dim = f.input().shape[axis];
  for (std::int64_t& pick : picks) {
    pick += pick < 0 ? dim : 0;
    if (pick < 0 || pick >= dim) return malformed("an index is beyond the " + std::to_string(dim) + " there are");
  }
  List shape = f.input().shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), positions.shape.begin(), positions.shape.end());
  return picked(f, f.input(), axis, picks, std::move(shape));
}

FoldResult concat(const FoldContext& f) {
  LANISTA_ASSIGN(const std::int64_t named, f.attribute("axis", std::int64_t{0}));
  LANISTA_ASSIGN(const std::size_t axis, axis_of(named, f.input().shape.size()));
  List shape = f.input().shape;
  shape[axis] = 0;
  for (std::size_t i = 0; i < f.inputs.size(); ++i) {
    if (!f.has(i)) return malformed("its input " + std::to_string(i) + " is missing");
    List rest = f.input(i).shape;
    if (f.input(i).type != f.input().type || rest.size() != shape.size()) return malformed("its inputs do not fit");
    if (__builtin_add_overflow(shape[axis], rest[axis], &shape[axis])) return malformed("the shape overflows");
    rest[axis] = shape[axis];
    if (rest != shape) return malformed("its inputs do not fit");
  }
  LANISTA_ASSIGN(Tensor result, f.allocate(f.input().type, shape));
  std::byte* to = result.bytes.data();
  const std::size_t outer = result.bytes.empty() ? 0 : slabs_around(result, axis).outer;
  for (std::size_t at = 0; at < outer; ++at) {
    for (const Tensor* part : f.inputs) {
      const std::size_t bytes = part->bytes.size() / outer;
      if (bytes > 0) std::memcpy(to, part->bytes.data() + at * bytes, bytes);
      to += bytes;
    }
  }
  return std::optional(std::move(result));
}

FoldResult slice(const FoldContext& f) {
  LANISTA_ASSIGN(const auto starts, f.list("starts", 1));
  LANISTA_ASSIGN(const auto ends, f.list("ends", 2));
  LANISTA_ASSIGN(auto axes, f.list("axes", 3));
  LANISTA_ASSIGN(auto steps, f.list("steps", 4));
  if (!starts || !ends) return malformed("it has no starts or no ends");
  LANISTA_ASSIGN(const std::vector<SliceAxis> cuts, slice_axes(*starts, *ends, axes, steps, f.input().shape));
  std::optional<Tensor> result(f.input());
  for (const SliceAxis& cut : cuts) {
    List picks, shape = result->shape;
    for (std::int64_t i = 0, at = cut.begin; i < cut.count; ++i, at += cut.step) picks.push_back(at);
    shape[cut.axis] = cut.count;
    LANISTA_ASSIGN(result, picked(f, *result, cut.axis, picks, std::move(shape)));
  }
  return result;
}

FoldResult expand(const FoldContext& f) {
  if (!f.has(1)) return malformed("its input 1 is missing");
  LANISTA_ASSIGN(const List target, f.list(1));
  LANISTA_ASSIGN(const List shape, broadcast_shape(f.input().shape, target));
  LANISTA_ASSIGN(Tensor result, f.allocate(f.input().type, shape));
  const std::size_t size = element_size(f.input().type);
  std::byte* to = result.bytes.data();
  if (result.bytes.empty()) return std::optional(std::move(result));
  for_each_broadcast(f.input().shape, f.input().shape, shape, [&](std::size_t from, std::size_t) {
    std::memcpy(to, f.input().bytes.data() + from * size, size);
    to += size;
  });
  return std::optional(std::move(result));
}

const FoldTable& fold_table() {
  static const FoldTable table = [] {
    FoldTable all{{"Concat", concat},     {"Expand", expand},       {"Flatten", flatten},    {"Gather", gather},
                  {"Identity", identity}, {"Reshape", reshape},     {"Shape", shape},        {"Slice", slice},
                  {"Squeeze", squeeze},   {"Transpose", transpose}, {"Unsqueeze", unsqueeze}};
    all.merge(numeric_folds());
    return all;
  }();
  return table;
}

}  // namespace

Result<void> ByteBudget::spend(std::size_t bytes) {
  if (bytes > bytes_left) {
    return Error{Code::kResourceExhausted,
                 "constants and weights would take " + std::to_string(bytes - bytes_left) +
                     " bytes more than are allowed: twice the constants of the file and some to spare",
                 ""};
  }
  bytes_left -= bytes;
  return {};
}

Result<std::optional<Tensor>> fold_node(const OnnxNode& node, std::span<const Tensor* const> inputs,
                                        ByteBudget& budget) {
  const auto found = fold_table().find(node.op);
  if (found == fold_table().end() || node.outputs.size() != 1 || inputs.empty() || inputs.front() == nullptr) {
    return kNotFolded;
  }
  return found->second(FoldContext{node, inputs, budget});
}

}  // namespace lanista::formats::onnx
