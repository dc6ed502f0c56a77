// Copies of elements along one dimension, and windows over it.
#include <algorithm>
#include <numeric>
#include <utility>

#include "lanista/io/formats/onnx/onnx_batch.h"
#include "lanista/io/formats/onnx/onnx_rules.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

std::int64_t sizes_between(List::const_iterator begin, List::const_iterator end) { return product(List(begin, end)); }

/// Calls `change` on the value as an image of three dimensions around `axis`, with `axis` as rows, and brings the
/// result, which has `size` rows, back to the other dimensions.
template <class Change>
Result<Port> as_rows(ModelWriter& w, Port value, std::size_t axis, std::int64_t size, Change change) {
  const List dims = w.dims(value);
  const auto at = dims.begin() + static_cast<std::ptrdiff_t>(axis);
  LANISTA_ASSIGN(const Port image,
                 in_shape(w, value, {sizes_between(dims.begin() + 1, at), *at, sizes_between(at + 1, dims.end())}));
  LANISTA_ASSIGN(const Port changed, change(image));
  List rest(dims.begin() + 1, dims.end());
  rest[axis - 1] = size;
  return in_shape(w, changed, rest);
}

}  // namespace

Result<Port> taken_in_steps(ModelWriter& writer, Port value, std::size_t axis, std::int64_t start, std::int64_t step,
                            std::int64_t count) {
  const std::int64_t end = start + (count - 1) * step + 1, size = writer.dims(value)[axis];
  if (start > 0 || end < size) {
    LANISTA_ASSIGN(
        value,
        writer.add("slice", {value},
                   {{"axis", static_cast<std::int64_t>(axis)}, {"start", start}, {"end", end == size ? 0 : end}}));
  }
  if (step == 1 || count == 1) return value;
  // A window of one element in steps reads every step-th element.
  return as_rows(writer, value, axis, count, [&](Port image) {
    return writer.add("max_pool2d", {image}, {{"kernel", List{1}}, {"stride", List{step, 1}}});
  });
}

Result<Port> taken(ModelWriter& writer, Port value, std::size_t axis, const List& picks) {
  constexpr std::size_t kMaxRuns = 256;
  std::vector<Port> parts;
  for (std::size_t i = 0; i < picks.size();) {
    const std::int64_t step = i + 1 < picks.size() ? picks[i + 1] - picks[i] : 1;
    std::size_t end = i + 1;
    if (step > 0) {
      while (end < picks.size() && picks[end] - picks[end - 1] == step) ++end;
    }
    // Two elements apart are no steps.
    if (step > 1 && end - i < 3) end = i + 1;
    LANISTA_ASSIGN(const Port part, taken_in_steps(writer, value, axis, picks[i], end - i > 1 ? step : 1,
                                                   static_cast<std::int64_t>(end - i)));
    parts.push_back(part);
    if (parts.size() > kMaxRuns) return unsupported("it gathers more than 256 runs of elements");
    i = end;
  }
  if (parts.size() == 1) return parts.front();
  return writer.add("concat", std::move(parts), {{"axis", static_cast<std::int64_t>(axis)}});
}

Result<Port> repeated(ModelWriter& writer, Port value, std::size_t axis, std::int64_t times) {
  if (times == 1) return value;
  return as_rows(writer, value, axis, times, [&](Port image) {
    return writer.add("upsample", {image}, {{"factor", List{times, 1}}, {"mode", std::string("nearest")}});
  });
}

Result<Port> padded(ModelWriter& writer, Port value, std::size_t axis, std::int64_t before, std::int64_t after,
                    double number) {
  const std::int64_t size = writer.dims(value)[axis];
  if (number == 0) {
    return as_rows(writer, value, axis, before + size + after, [&](Port image) {
      return writer.add("pad", {image}, {{"pads", List{before, after, 0, 0}}});
    });
  }
  std::vector<Port> parts;
  const auto add_cells = [&](std::int64_t cells) -> Result<void> {
    if (cells == 0) return {};
    LANISTA_ASSIGN(Port block, taken_in_steps(writer, value, axis, 0, 1, 1));
    LANISTA_ASSIGN(block, repeated(writer, block, axis, cells));
    LANISTA_ASSIGN(block, writer.add("zero", {block}));
    LANISTA_ASSIGN(block, writer.add("shift_by", {block}, {{"by", number}}));
    parts.push_back(block);
    return {};
  };
  LANISTA_TRY(add_cells(before));
  parts.push_back(value);
  LANISTA_TRY(add_cells(after));
  if (parts.size() == 1) return value;
  return writer.add("concat", std::move(parts), {{"axis", static_cast<std::int64_t>(axis)}});
}

Result<Port> maxima(ModelWriter& writer, Port value, const List& axes) {
  for (const std::int64_t axis : axes) {
    const std::int64_t size = writer.dims(value)[static_cast<std::size_t>(axis)];
    if (size == 1) continue;
    LANISTA_ASSIGN(value, as_rows(writer, value, static_cast<std::size_t>(axis), 1, [&](Port image) {
                     return writer.add("max_pool2d", {image}, {{"kernel", List{size, 1}}});
                   }));
  }
  return value;
}

Result<Port> interpolated(ModelWriter& writer, Port value, std::size_t axis, std::int64_t out) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 24;
  const List dims = writer.dims(value);
  const std::int64_t size = dims[axis];
  if (out == 1) return taken_in_steps(writer, value, axis, 0, 1, 1);
  if (size == 1) return repeated(writer, value, axis, out);
  // With each element `copies` times, the mean of as many neighbours is between two elements. Position j of the result
  // is j (size - 1) / (out - 1).
  const std::int64_t common = std::gcd(size - 1, out - 1), copies = (out - 1) / common, step = (size - 1) / common;
  if (copies > kMostElements / sizes_between(dims.begin() + 1, dims.end())) {
    return unsupported("from " + std::to_string(size) + " to " + std::to_string(out) +
                       " cells it needs too much memory");
  }
  return as_rows(writer, value, axis, out, [&](Port image) -> Result<Port> {
    LANISTA_ASSIGN(const Port fine,
                   writer.add("upsample", {image}, {{"factor", List{copies, 1}}, {"mode", std::string("nearest")}}));
    return writer.add("avg_pool2d", {fine}, {{"kernel", List{copies, 1}}, {"stride", List{step, 1}}});
  });
}

Result<Port> window_maxima(ModelWriter& writer, Port value, std::size_t axis, std::int64_t kernel, std::int64_t stride,
                           std::int64_t dilation) {
  const List dims = writer.dims(value);
  const std::int64_t reach = dilation * (kernel - 1) + 1;
  if (reach > dims[axis]) return unsupported("its windows are larger than its input");
  const std::int64_t count = (dims[axis] - reach) / stride + 1;
  std::vector<Port> parts;
  List rest(dims.begin() + 1, dims.end());
  rest[axis - 1] = count;
  List with_part = rest;
  with_part.insert(with_part.begin() + static_cast<std::ptrdiff_t>(axis) - 1, 1);
  for (std::int64_t i = 0; i < kernel; ++i) {
    LANISTA_ASSIGN(Port part, taken_in_steps(writer, value, axis, i * dilation, stride, count));
    LANISTA_ASSIGN(part, in_shape(writer, part, with_part));
    parts.push_back(part);
  }
  if (parts.size() == 1) return in_shape(writer, parts.front(), rest);
  const auto named = static_cast<std::int64_t>(axis);
  LANISTA_ASSIGN(const Port all, writer.add("concat", std::move(parts), {{"axis", named}}));
  LANISTA_ASSIGN(const Port most, maxima(writer, all, {named}));
  return in_shape(writer, most, rest);
}

}  // namespace lanista::formats::onnx
