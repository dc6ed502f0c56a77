#include "lanista/io/formats/onnx/onnx_shapes.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include "lanista/io/formats/onnx/onnx_tensor.h"
#include "lanista/model/graph/attr.h"
#include "lanista/model/graph/shape.h"

namespace lanista::formats::onnx {
namespace {

Error shape_mismatch(const List& dims, const List& target) {
  return {Code::kInvalidArgument, "cannot reshape " + sizes_text(dims) + " to " + sizes_text(target), ""};
}

/// The list with an open size, -1, replaced so that it has `elements`.
std::optional<List> filled(List sizes, std::int64_t elements) {
  std::optional<std::size_t> open;
  std::int64_t known = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1 && !open) {
      open = i;
    } else if (sizes[i] < 0 || __builtin_mul_overflow(known, sizes[i], &known)) {
      return std::nullopt;
    }
  }
  if (!open) return known == elements ? std::optional(std::move(sizes)) : std::nullopt;
  if (known == 0 || elements % known != 0) return std::nullopt;
  sizes[*open] = elements / known;
  return sizes;
}

}  // namespace

std::string sizes_text(const List& sizes) {
  std::string out = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const bool batch = is_batch(sizes[i]) || (i == 0 && sizes[i] == graph::kBatch);
    const std::int64_t factor = is_batch(sizes[i]) ? batch_factor(sizes[i]) : 1;
    out += i > 0 ? ", " : "";
    out += !batch ? std::to_string(sizes[i]) : (factor > 1 ? std::to_string(factor) : "") + "N";
  }
  return out + "]";
}

Result<std::size_t> axis_of(std::int64_t axis, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(rank);
  if (axis >= -size && axis < size) return static_cast<std::size_t>(axis < 0 ? axis + size : axis);
  return malformed("the axis " + std::to_string(axis) + " does not exist");
}

Result<std::size_t> flatten_axis(std::int64_t axis, std::size_t rank) {
  return axis == static_cast<std::int64_t>(rank) ? Result<std::size_t>(rank) : axis_of(axis, rank);
}

Result<List> unsqueezed(const List& dims, List axes) {
  if (axes.size() > kMaxRank) return malformed("a tensor has more than 64 dimensions");
  const std::size_t rank = dims.size() + axes.size();
  for (std::int64_t& axis : axes) {
    LANISTA_ASSIGN(const std::size_t axis_index, axis_of(axis, rank));
    axis = static_cast<std::int64_t>(axis_index);
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) return malformed("an axis stands twice");
  List result = dims;
  for (const std::int64_t axis : axes) result.insert(result.begin() + axis, 1);
  return result;
}

Result<List> squeezed(const List& dims, const std::optional<List>& axes) {
  std::vector<bool> gone(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) gone[i] = !axes && dims[i] == 1;
  for (const std::int64_t axis : axes.value_or(List())) {
    LANISTA_ASSIGN(const std::size_t axis_index, axis_of(axis, dims.size()));
    if (dims[axis_index] != 1) return malformed("the axis " + std::to_string(axis) + " is not of size 1");
    gone[axis_index] = true;
  }
  List result;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!gone[i]) result.push_back(dims[i]);
  }
  return result;
}

Result<List> reshaped(const List& target, const List& dims) {
  List sizes = target;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) {
      if (i >= dims.size()) return shape_mismatch(dims, target);
      sizes[i] = dims[i];
    }
  }
  auto result =
      filled(std::move(sizes), std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>()));
  if (!result) return shape_mismatch(dims, target);
  return *std::move(result);
}

Result<List> reshaped_sample(const List& target, const List& dims, std::int64_t batch, bool literal) {
  List rest(target.begin() + (target.empty() ? 0 : 1), target.end());
  for (std::size_t i = 0; i < rest.size() && !literal; ++i) {
    if (rest[i] != 0) continue;
    if (i + 1 >= dims.size()) return shape_mismatch(dims, target);
    rest[i] = dims[i + 1];
  }
  // Without a number that is known to be the batch, all other sizes must be given and hold exactly one sample. A 1 is
  // read as the batch even if the file fixes none, since it fits no other size.
  const std::int64_t first = target.empty() ? 0 : target.front();
  const bool known = first == kUnknownBatch || (first == 0 && !literal) || (batch > 0 && first == batch);
  const bool open = std::find(rest.begin(), rest.end(), -1) != rest.end();
  std::optional<List> result;
  if (!target.empty() && (known || ((first == -1 || first == 1) && !open))) {
    result = filled(rest, std::accumulate(dims.begin() + 1, dims.end(), std::int64_t{1}, std::multiplies<>()));
  }
  if (result && !result->empty()) return *std::move(result);
  if (known && !rest.empty()) return shape_mismatch(dims, target);
  return unsupported("reshapes " + sizes_text(dims) + " to " + sizes_text(target) +
                     ", where the batch does not stay in front of something");
}

Result<List> broadcast_shape(const List& a, const List& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  const auto dim = [rank](const List& dims, std::size_t i) {
    return i + dims.size() < rank ? 1 : dims[i + dims.size() - rank];
  };
  List shape(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t x = dim(a, i), y = dim(b, i);
    if (x != y && x != 1 && y != 1) {
      return malformed("the shapes " + sizes_text(a) + " and " + sizes_text(b) + " do not meet");
    }
    shape[i] = x == 1 ? y : x;
  }
  return shape;
}

Result<std::vector<SliceAxis>> slice_axes(const List& starts, const List& ends, const std::optional<List>& axes,
                                          const std::optional<List>& steps, const List& dims) {
  const std::size_t count = starts.size();
  if (ends.size() != count || (axes && axes->size() != count) || (steps && steps->size() != count)) {
    return malformed("its starts, ends, axes and steps are not equally many");
  }
  if (count > dims.size()) return malformed("it cuts more axes than there are");
  std::vector<SliceAxis> cuts;
  for (std::size_t i = 0; i < count; ++i) {
    LANISTA_ASSIGN(const std::size_t axis, axis_of(axes ? (*axes)[i] : static_cast<std::int64_t>(i), dims.size()));
    const std::int64_t step = steps ? (*steps)[i] : 1, dim = dims[axis];
    if (step == 0 || step == std::numeric_limits<std::int64_t>::min()) return malformed("a step is 0");
    // A backward slice runs from the last element at most to before the first.
    const auto clamped = [&](std::int64_t at) {
      at += at < 0 ? dim : 0;
      return step > 0 ? std::clamp<std::int64_t>(at, 0, dim) : std::clamp<std::int64_t>(at, -1, dim - 1);
    };
    const std::int64_t begin = clamped(starts[i]);
    const std::int64_t distance = clamped(ends[i]) - begin;
    const bool away = distance == 0 || (distance > 0) != (step > 0);
    cuts.push_back({axis, begin, step, away ? 0 : distance / step + (distance % step != 0 ? 1 : 0)});
  }
  return cuts;
}

Tensor tensor_of_integers(const List& numbers) {
  Tensor tensor{.name = {},
                .type = ElementType::kI64,
                .shape = {static_cast<std::int64_t>(numbers.size())},
                .bytes = std::vector<std::byte>(numbers.size() * sizeof(std::int64_t))};
  std::ranges::copy(numbers, elements_of<std::int64_t>(tensor).begin());
  return tensor;
}

Result<List> integers_of(const Tensor& tensor) {
  if (tensor.type == ElementType::kI64) {
    const auto numbers = elements_of<std::int64_t>(tensor);
    return List(numbers.begin(), numbers.end());
  }
  if (tensor.type == ElementType::kI32) {
    const auto numbers = elements_of<std::int32_t>(tensor);
    return List(numbers.begin(), numbers.end());
  }
  return malformed("the constant " + in_quotes(tensor.name) + " holds no integers");
}

Tensor transposed(const Tensor& tensor, const List& axes) {
  const std::size_t rank = axes.size(), size = element_size(tensor.type);
  List source_strides(rank, 1);
  for (std::size_t i = rank; i-- > 1;) source_strides[i - 1] = source_strides[i] * tensor.shape[i];
  Tensor result{.name = tensor.name, .type = tensor.type, .shape = List(rank), .bytes = {}};
  List strides(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    result.shape[i] = tensor.shape[static_cast<std::size_t>(axes[i])];
    strides[i] = source_strides[static_cast<std::size_t>(axes[i])];
  }
  result.bytes.resize(tensor.bytes.size());
  List at(rank, 0);
  std::int64_t from = 0;
  for (std::size_t to = 0; to < result.bytes.size(); to += size) {
    std::memcpy(result.bytes.data() + to, tensor.bytes.data() + static_cast<std::size_t>(from) * size, size);
    for (std::size_t axis = rank; axis-- > 0;) {
      from += strides[axis];
      if (++at[axis] < result.shape[axis]) break;
      from -= strides[axis] * result.shape[axis];
      at[axis] = 0;
    }
  }
  return result;
}

std::vector<std::size_t> broadcast_strides(const List& dims, const List& to) {
  std::vector<std::size_t> strides(to.size(), 0);
  std::size_t stride = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::size_t from_end = dims.size() - 1 - i;
    if (dims[from_end] != 1) strides[to.size() - 1 - i] = stride;
    stride *= static_cast<std::size_t>(dims[from_end]);
  }
  return strides;
}

}  // namespace lanista::formats::onnx
