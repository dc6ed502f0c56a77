#include "lanista/io/formats/onnx/onnx_batch.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "lanista/io/formats/onnx/onnx_rules.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

std::size_t factors(const BatchPlace& place) { return (place.before ? 1U : 0U) + (place.after ? 1U : 0U); }

/// The factor before the batch in its dimension of the file.
std::int64_t before_of(const ModelWriter& w, const PlacedPort& value) {
  return value.place.before ? w.dims(value.port)[value.place.axis + 1] : 1;
}

std::int64_t after_of(const ModelWriter& w, const PlacedPort& value) {
  if (!value.place.after) return 1;
  return w.dims(value.port)[value.place.axis + 1 + (value.place.before ? 1 : 0)];
}

std::int64_t product_of(List::const_iterator begin, List::const_iterator end) {
  return std::accumulate(begin, end, std::int64_t{1}, std::multiplies<>());
}

/// The dimensions of a port with the batch at `axis` of `file`, merged with these factors.
List rest_of(const List& file, std::size_t axis, std::int64_t before, std::int64_t after) {
  List rest(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(axis));
  if (before > 1) rest.push_back(before);
  if (after > 1) rest.push_back(after);
  rest.insert(rest.end(), file.begin() + static_cast<std::ptrdiff_t>(axis) + 1, file.end());
  return rest;
}

/// A place of the batch that a Reshape may give.
struct Candidate {
  std::size_t axis;
  std::int64_t before, after;
};

/// How well a place fits exporters: the batch alone, then before its factors, and not in the last dimension.
int rank_of(const Candidate& candidate, std::size_t rank) {
  const int merged = candidate.before > 1 ? 2 : candidate.after > 1 ? 1 : 0;
  return merged + (candidate.axis + 1 == rank && rank > 1 ? 4 : 0);
}

/// The elements before and after the batch of a value, in row-major order of the file.
std::pair<std::int64_t, std::int64_t> around_batch(const ModelWriter& w, const PlacedPort& value) {
  const List& dims = w.dims(value.port);
  const auto split = dims.begin() + 1 + static_cast<std::ptrdiff_t>(value.place.axis + (value.place.before ? 1 : 0));
  return {product_of(dims.begin() + 1, split), product_of(split, dims.end())};
}

/// The place of the batch in `target`, in which at most one size is -1. None: the batch does not fit.
std::optional<Candidate> place_in(const ModelWriter& w, const PlacedPort& value, const List& target) {
  const auto [ahead, behind] = around_batch(w, value);
  std::optional<Candidate> best;
  std::int64_t passed = 1;
  for (std::size_t axis = 0; axis < target.size(); ++axis) {
    const std::int64_t size = target[axis];
    const auto next = target.begin() + static_cast<std::ptrdiff_t>(axis) + 1;
    const bool plain = std::all_of(next, target.end(), [](std::int64_t s) { return s > 0; });
    const std::int64_t following = plain ? product_of(next, target.end()) : 0;
    if (passed > 0 && ahead % passed == 0 && following > 0 && behind % following == 0) {
      const Candidate here{axis, ahead / passed, behind / following};
      const std::int64_t merged = here.before * here.after;
      // A batch of 1 is read as any batch, since it fits no other size.
      const bool known = is_batch(size) ? batch_factor(size) == merged
                                        : size == -1 || size == merged * std::max<std::int64_t>(w.batch(), 1);
      if (known && (!best || rank_of(here, target.size()) < rank_of(*best, target.size()))) best = here;
    }
    if (size < 1 || __builtin_mul_overflow(passed, size, &passed)) break;
  }
  return best;
}

/// The sizes with -1 replaced, if the batch is at another size. None: they do not fit.
std::optional<List> filled(const List& target, std::int64_t ahead, std::int64_t behind) {
  const auto open = std::find(target.begin(), target.end(), -1);
  const auto batch = std::find_if(target.begin(), target.end(), is_batch);
  if (open == target.end() || batch == target.end()) return target;
  std::int64_t known = batch_factor(*batch);
  for (auto size = target.begin(); size != target.end(); ++size) {
    if (size != open && size != batch && (*size < 1 || __builtin_mul_overflow(known, *size, &known))) {
      return std::nullopt;
    }
  }
  if (known < 1 || ahead * behind % known != 0) return std::nullopt;
  List sizes = target;
  sizes[static_cast<std::size_t>(open - target.begin())] = ahead * behind / known;
  return sizes;
}

}  // namespace

std::size_t file_rank(const ModelWriter& writer, const PlacedPort& value) {
  return writer.dims(value.port).size() - factors(value.place);
}

List file_dims(const ModelWriter& writer, const PlacedPort& value) {
  const List& dims = writer.dims(value.port);
  if (dims.empty() || dims.front() != graph::kBatch) return dims;
  const std::int64_t merged = before_of(writer, value) * after_of(writer, value);
  List file(dims.begin() + 1, dims.end());
  const auto at = file.begin() + static_cast<std::ptrdiff_t>(value.place.axis);
  const auto behind = file.erase(at, at + static_cast<std::ptrdiff_t>(factors(value.place)));
  file.insert(behind, writer.batch() > 0 ? writer.batch() * merged : batch_times(merged));
  return file;
}

Result<std::size_t> port_axis(const ModelWriter& writer, const PlacedPort& value, std::int64_t axis) {
  LANISTA_ASSIGN(const std::size_t file_axis, axis_of(axis, file_rank(writer, value)));
  if (file_axis == value.place.axis) return unsupported("its axis " + std::to_string(axis) + " is that of the batch");
  return file_axis < value.place.axis ? file_axis + 1 : file_axis + factors(value.place);
}

Result<PlacedPort> placed_reshape(ModelWriter& writer, const PlacedPort& value, const List& target, bool literal) {
  const List file = file_dims(writer, value);
  List sizes = target;
  for (std::size_t i = 0; i < sizes.size() && !literal; ++i) {
    if (sizes[i] == 0 && i < file.size()) sizes[i] = file[i];
  }
  const auto plain = [&]() -> Result<PlacedPort> {
    LANISTA_ASSIGN(const List rest, reshaped_sample(target, writer.dims(value.port), writer.batch(), literal));
    LANISTA_ASSIGN(const Port port, in_shape(writer, value.port, rest));
    return PlacedPort{port, {}};
  };
  Result<PlacedPort> simple = unsupported("");
  if (value.place.in_front()) {
    simple = plain();
    if (simple || simple.error().code != Code::kUnimplemented) return simple;
  } else {
    simple = unsupported("reshapes " + sizes_text(file) + " to " + sizes_text(target) +
                         ", where the batch does not stay between the same sizes");
  }
  const auto [ahead, behind] = around_batch(writer, value);
  const auto full = filled(sizes, ahead, behind);
  const auto found = full ? place_in(writer, value, *full) : std::nullopt;
  if (!found || full->size() < 2) return simple;
  const PlacedPort result{{}, {found->axis, found->before > 1, found->after > 1}};
  // The sizes before and after the batch have the elements that the value has there.
  const List rest = rest_of(*full, found->axis, found->before, found->after);
  if (std::ranges::any_of(rest, [](std::int64_t size) { return size < 1; }) || product(rest) != ahead * behind) {
    return simple;
  }
  LANISTA_ASSIGN(const Port port, in_shape(writer, value.port, rest));
  return PlacedPort{port, result.place};
}

Result<PlacedPort> placed_transpose(ModelWriter& writer, const PlacedPort& value, const List& perm) {
  const std::size_t rank = file_rank(writer, value);
  List sorted = perm, all(rank);
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all) return malformed("perm is no permutation of the dimensions");
  BatchPlace place = value.place;
  List axes{0};
  for (std::size_t i = 0; i < rank; ++i) {
    const auto from = static_cast<std::size_t>(perm[i]);
    if (from != value.place.axis) {
      LANISTA_ASSIGN(const std::size_t axis, port_axis(writer, value, perm[i]));
      axes.push_back(static_cast<std::int64_t>(axis));
      continue;
    }
    place.axis = i;
    for (std::size_t k = 0; k < factors(place); ++k) axes.push_back(static_cast<std::int64_t>(from + 1 + k));
  }
  if (std::is_sorted(axes.begin(), axes.end())) return PlacedPort{value.port, place};
  LANISTA_ASSIGN(const Port port, writer.add("transpose", {value.port}, {{"axes", std::move(axes)}}));
  return PlacedPort{port, place};
}

Result<PlacedPort> placed_unsqueeze(ModelWriter& writer, const PlacedPort& value, const List& axes) {
  List file = file_dims(writer, value);
  LANISTA_ASSIGN(List all, unsqueezed(file, axes));
  std::vector<bool> inserted(all.size());
  for (const std::int64_t axis : axes) {
    LANISTA_ASSIGN(const std::size_t at, axis_of(axis, all.size()));
    inserted[at] = true;
  }
  BatchPlace place = value.place;
  for (std::size_t i = 0, old = 0; i < all.size(); ++i) {
    if (!inserted[i] && old++ == value.place.axis) place.axis = i;
  }
  const List rest = rest_of(all, place.axis, before_of(writer, value), after_of(writer, value));
  LANISTA_ASSIGN(const Port port, in_shape(writer, value.port, rest));
  return PlacedPort{port, place};
}

Result<PlacedPort> placed_squeeze(ModelWriter& writer, const PlacedPort& value, const std::optional<List>& axes) {
  const List file = file_dims(writer, value);
  // Without axes a batch of one sample is squeezed too.
  List own = axes.value_or(List());
  for (std::size_t i = 0; !axes && i < file.size(); ++i) {
    if (file[i] == 1) own.push_back(static_cast<std::int64_t>(i));
  }
  std::vector<std::size_t> gone;
  for (const std::int64_t axis : own) {
    LANISTA_ASSIGN(const std::size_t at, axis_of(axis, file.size()));
    if (at == value.place.axis) return unsupported("it squeezes the batch away");
    gone.push_back(at);
  }
  LANISTA_ASSIGN(const List left, squeezed(file, own));
  if (left.size() < 2) return unsupported("it leaves nothing but the batch");
  const BatchPlace place = place_without(value.place, gone);
  const List rest = rest_of(left, place.axis, before_of(writer, value), after_of(writer, value));
  LANISTA_ASSIGN(const Port port, in_shape(writer, value.port, rest));
  return PlacedPort{port, place};
}

BatchPlace place_without(const BatchPlace& place, const std::vector<std::size_t>& axes) {
  BatchPlace result = place;
  result.axis -= static_cast<std::size_t>(std::ranges::count_if(axes, [&](std::size_t at) { return at < place.axis; }));
  return result;
}

Result<List> port_axes(const ModelWriter& writer, const PlacedPort& value, const List& axes) {
  List own;
  for (const std::int64_t axis : axes) {
    LANISTA_ASSIGN(const std::size_t at, port_axis(writer, value, axis));
    own.push_back(static_cast<std::int64_t>(at));
  }
  std::sort(own.begin(), own.end());
  return own;
}

Result<List> constant_dims(const ModelWriter& writer, const PlacedPort& value, const List& dims) {
  const std::size_t rank = file_rank(writer, value);
  if (dims.size() > rank) {
    return unsupported("its constant of " + graph::Shape{dims}.text() + " does not stretch over a batch");
  }
  List all(rank - dims.size(), 1);
  all.insert(all.end(), dims.begin(), dims.end());
  if (all[value.place.axis] != 1) {
    return unsupported("its constant of " + graph::Shape{dims}.text() + " does not stretch over a batch");
  }
  List result = rest_of(all, value.place.axis, 1, 1);
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(value.place.axis), factors(value.place), 1);
  result.insert(result.begin(), 1);
  return result;
}

Result<std::pair<PlacedPort, PlacedPort>> placed_broadcast(ModelWriter& writer, PlacedPort a, PlacedPort b,
                                                           std::size_t matrix_dims) {
  const std::size_t rank = std::max(file_rank(writer, a), file_rank(writer, b));
  for (PlacedPort* value : {&a, &b}) {
    const std::size_t missing = rank - file_rank(writer, *value);
    if (missing == 0) continue;
    List rest(writer.dims(value->port).begin() + 1, writer.dims(value->port).end());
    rest.insert(rest.begin(), missing, 1);
    LANISTA_ASSIGN(value->port, in_shape(writer, value->port, rest));
    value->place.axis += missing;
  }
  if (!(a.place == b.place)) {
    return unsupported("it stretches " + sizes_text(file_dims(writer, a)) + " and " + sizes_text(file_dims(writer, b)) +
                       " to one shape");
  }
  for (std::size_t axis = 1; axis + matrix_dims < writer.dims(a.port).size(); ++axis) {
    const std::int64_t x = writer.dims(a.port)[axis], y = writer.dims(b.port)[axis];
    if (x == y) continue;
    if (x != 1 && y != 1) {
      return unsupported("it stretches " + sizes_text(file_dims(writer, a)) + " and " +
                         sizes_text(file_dims(writer, b)) + " to one shape");
    }
    PlacedPort& small = x == 1 ? a : b;
    LANISTA_ASSIGN(small.port, repeated(writer, small.port, axis, std::max(x, y)));
  }
  return std::pair(a, b);
}

}  // namespace lanista::formats::onnx
