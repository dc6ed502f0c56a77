// Images in another size: Resize and its forerunner Upsample.
#include <algorithm>
#include <cmath>
#include <utility>

#include "lanista/io/formats/onnx/onnx_rules.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

using graph::Port;
using Ports = std::span<const Port>;
using Planned = Result<Plan>;

/// How a resizing node finds the cell that a cell of the result comes from.
struct Sampling {
  bool linear = false;
  std::string place, rounding;

  /// Do ours do the same when an axis grows from `in` to `out`? Ours: nearest, floor(i in / out); linear, half a pixel.
  bool known(std::int64_t in, std::int64_t out) const {
    const bool half = place == "half_pixel" || (place == "pytorch_half_pixel" && out > 1);
    if (linear) return half;
    if (place == "asymmetric") return rounding == "floor" || in == out;
    // The centre of each of `out / in` cells rounds to the cell that it lies in.
    return half && rounding.starts_with("round_prefer") && out % in == 0;
  }
};

/// The size of the result from `scales`, where it is exactly that much larger.
Result<List> scaled_size(const Tensor& scales, const List& dims) {
  const auto factors = elements_of<float>(scales);
  if (factors.size() != 4 || factors[0] != 1 || factors[1] != 1) return refused("its scales are not those of images");
  List size;
  for (const std::size_t i : {2U, 3U}) {
    const double exact = static_cast<double>(factors[i]) * static_cast<double>(dims[i]);
    if (!(exact >= 1 && exact <= static_cast<double>(kMaxExtent)) || std::abs(exact - std::round(exact)) > 1e-4) {
      return refused("a side of " + std::to_string(dims[i]) + " times " + std::to_string(factors[i]) + " is no size");
    }
    size.push_back(std::llround(exact));
  }
  return size;
}

Result<Port> resized(ModelWriter& w, Port image, const List& size, const Sampling& sampling) {
  const List dims = w.dims(image);
  if (!sampling.known(dims[2], size[0]) || !sampling.known(dims[3], size[1])) {
    return refused("finds its cells by " + shown(sampling.place + " " + sampling.rounding) +
                   ", which is another way than ours");
  }
  const std::string mode = sampling.linear ? "bilinear" : "nearest";
  if (size[0] % dims[2] == 0 && size[1] % dims[3] == 0) {
    return w.add("upsample", {image}, {{"factor", one_or_two(size[0] / dims[2], size[1] / dims[3])}, {"mode", mode}});
  }
  return w.add("resize", {image}, {{"out", one_or_two(size[0], size[1])}, {"mode", mode}});
}

/// A result of `scales` (a constant, or null), else of `sizes`.
Plan resize_plan(std::string input, const Tensor* scales, Numbers sizes, Sampling sampling) {
  std::vector<std::string> reads = std::move(sizes.shapes_of);
  reads.insert(reads.begin(), std::move(input));
  return {std::move(reads),
          [scales, value = std::move(sizes.value), sampling](ModelWriter& w, Ports inputs) -> Result<Port> {
            const List dims = w.dims(inputs[0]);
            if (dims.size() != 4) return refused("its input is " + graph::Shape{dims}.text() + "; read are images");
            if (scales != nullptr) {
              LANISTA_ASSIGN(const List size, scaled_size(*scales, dims));
              return resized(w, inputs[0], size, sampling);
            }
            std::vector<List> shapes;
            for (const Port& port : inputs.subspan(1)) shapes.push_back(seen_dims(w, port));
            LANISTA_ASSIGN(const List size, value(shapes));
            const List seen = seen_dims(w, inputs[0]);
            if (size.size() != 4 || size[0] != seen[0] || size[1] != seen[1] || std::min(size[2], size[3]) < 1) {
              return refused("its sizes " + shown_sizes(size) + " are not those of images");
            }
            return resized(w, inputs[0], {size[2], size[3]}, sampling);
          }};
}

Planned resize(const Site& site) {
  LANISTA_TRY(site.only({"antialias", "coordinate_transformation_mode", "cubic_coeff_a", "exclude_outside",
                         "extrapolation_value", "keep_aspect_ratio_policy", "mode", "nearest_mode"}));
  LANISTA_TRY(site.must_be("antialias", 0));
  LANISTA_TRY(site.must_be("exclude_outside", 0));
  LANISTA_ASSIGN(const std::string policy, site.text("keep_aspect_ratio_policy", "stretch"));
  LANISTA_ASSIGN(const std::string mode, site.text("mode", "nearest"));
  LANISTA_ASSIGN(std::string input, site.data(0));
  const bool old = site.view().opset() == 10;
  Sampling sampling{.linear = mode == "linear", .place = {}, .rounding = {}};
  LANISTA_ASSIGN(sampling.place, site.text("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel"));
  LANISTA_ASSIGN(sampling.rounding, site.text("nearest_mode", old ? "floor" : "round_prefer_floor"));
  if (mode != "nearest" && mode != "linear") return refused("its mode is " + shown(mode));
  if (policy != "stretch") return refused("its policy is " + shown(policy));
  const std::size_t at = old ? 1 : 2;
  const Tensor* scales = nullptr;
  if (site.has(at)) {
    LANISTA_ASSIGN(scales, site.weight(at));
    if (scales->elements() == 0) scales = nullptr;
  }
  if (scales != nullptr) return resize_plan(std::move(input), scales, {}, sampling);
  if (old) return broken("it has no scales");
  LANISTA_ASSIGN(Numbers sizes, site.numbers(3));
  return resize_plan(std::move(input), nullptr, std::move(sizes), sampling);
}

Planned upsample(const Site& site) {
  LANISTA_TRY(site.only({"mode"}));
  LANISTA_ASSIGN(const std::string mode, site.text("mode", "nearest"));
  LANISTA_ASSIGN(std::string input, site.data(0));
  LANISTA_ASSIGN(const Tensor* scales, site.weight(1));
  return resize_plan(std::move(input), scales, {},
                     {.linear = mode != "nearest", .place = "asymmetric", .rounding = "floor"});
}

}  // namespace

Rules resize_rules() { return {{"Resize", {resize}}, {"Upsample", {upsample}}}; }

}  // namespace lanista::formats::onnx
