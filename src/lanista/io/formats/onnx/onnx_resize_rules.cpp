// Resizing of images: Resize and its predecessor Upsample.
#include <algorithm>
#include <cmath>
#include <utility>

#include "lanista/io/formats/onnx/onnx_rules.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

/// How a resizing node finds the input cell for a cell of the result.
struct Sampling {
  bool linear = false;
  std::string coordinate_mode, rounding;

  /// Whether lanista's operator does the same from size `in` to `out`: nearest, floor(i in / out); linear, half a
  /// pixel.
  bool is_supported(std::int64_t in, std::int64_t out) const {
    const bool half = coordinate_mode == "half_pixel" || (coordinate_mode == "pytorch_half_pixel" && out > 1);
    if (linear) return half;
    if (coordinate_mode == "asymmetric") return rounding == "floor" || in == out;
    // The centre of each of `out / in` cells rounds to the cell that contains it.
    return half && rounding.starts_with("round_prefer") && out % in == 0;
  }
};

/// The size of the result by `scales`, if it is exactly that much larger.
Result<List> scaled_size(const Tensor& scales, const List& dims) {
  const auto factors = elements_of<float>(scales);
  if (factors.size() != dims.size() || factors[0] != 1 || factors[1] != 1)
    return unsupported("its scales are not those of images");
  List size;
  for (std::size_t i = 2; i < dims.size(); ++i) {
    const double exact = static_cast<double>(factors[i]) * static_cast<double>(dims[i]);
    if (!(exact >= 1 && exact <= static_cast<double>(kMaxExtent)) || std::abs(exact - std::round(exact)) > 1e-4) {
      return unsupported("a side of " + std::to_string(dims[i]) + " times " + std::to_string(factors[i]) +
                         " is no size");
    }
    size.push_back(std::llround(exact));
  }
  return size;
}

Result<Port> resized(ModelWriter& w, Port image, const List& size, const Sampling& sampling) {
  const List dims = w.dims(image);
  if (sampling.linear && sampling.coordinate_mode == "align_corners") {
    LANISTA_ASSIGN(const Port rows, interpolated(w, image, 2, size[0]));
    return interpolated(w, rows, 3, size[1]);
  }
  if (!sampling.is_supported(dims[2], size[0]) || !sampling.is_supported(dims[3], size[1])) {
    return unsupported("finds its cells by " + in_quotes(sampling.coordinate_mode + " " + sampling.rounding) +
                       ", which is another way than ours");
  }
  const std::string mode = sampling.linear ? "bilinear" : "nearest";
  if (size[0] % dims[2] == 0 && size[1] % dims[3] == 0) {
    return w.add("upsample", {image}, {{"factor", one_or_two(size[0] / dims[2], size[1] / dims[3])}, {"mode", mode}});
  }
  return w.add("resize", {image}, {{"out", one_or_two(size[0], size[1])}, {"mode", mode}});
}

/// A resize by `scales` (a constant, or null), else to `sizes`.
Rewrite resize_rewrite(std::string input, const Tensor* scales, List sizes, Sampling sampling) {
  return {{std::move(input)},
          [scales, sizes = std::move(sizes), sampling](ModelWriter& w, Ports inputs) -> Result<Port> {
            const List dims = w.dims(inputs[0]);
            if (dims.size() != 4 && dims.size() != 3) {
              return unsupported("its input is " + graph::Shape{dims}.text() + "; read are images and sequences");
            }
            List sides;
            if (scales != nullptr) {
              LANISTA_ASSIGN(sides, scaled_size(*scales, dims));
            } else {
              const List seen = file_dims(w, {inputs[0], {}});
              if (sizes.size() != seen.size() || sizes[0] != seen[0] || sizes[1] != seen[1] ||
                  *std::min_element(sizes.begin() + 2, sizes.end()) < 1) {
                return unsupported("its sizes " + sizes_text(sizes) + " are not those of images");
              }
              sides.assign(sizes.begin() + 2, sizes.end());
            }
            if (dims.size() == 4) return resized(w, inputs[0], sides, sampling);
            // A sequence is an image of one column.
            LANISTA_ASSIGN(const Port image, in_shape(w, inputs[0], {dims[1], dims[2], 1}));
            LANISTA_ASSIGN(const Port result, resized(w, image, {sides[0], 1}, sampling));
            return in_shape(w, result, {dims[1], sides[0]});
          }};
}

RewriteResult resize(const NodeReader& node_reader) {
  LANISTA_TRY(
      node_reader.allow_attributes({"antialias", "coordinate_transformation_mode", "cubic_coeff_a", "exclude_outside",
                                    "extrapolation_value", "keep_aspect_ratio_policy", "mode", "nearest_mode"}));
  LANISTA_TRY(node_reader.require_value("antialias", 0));
  LANISTA_TRY(node_reader.require_value("exclude_outside", 0));
  LANISTA_ASSIGN(const std::string policy, node_reader.text("keep_aspect_ratio_policy", "stretch"));
  LANISTA_ASSIGN(const std::string mode, node_reader.text("mode", "nearest"));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  const bool old = node_reader.view().opset() == 10;
  Sampling sampling{.linear = mode == "linear", .coordinate_mode = {}, .rounding = {}};
  LANISTA_ASSIGN(sampling.coordinate_mode,
                 node_reader.text("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel"));
  LANISTA_ASSIGN(sampling.rounding, node_reader.text("nearest_mode", old ? "floor" : "round_prefer_floor"));
  if (mode != "nearest" && mode != "linear") return unsupported("its mode is " + in_quotes(mode));
  if (policy != "stretch") return unsupported("its policy is " + in_quotes(policy));
  const std::size_t at = old ? 1 : 2;
  const Tensor* scales = nullptr;
  if (node_reader.has(at)) {
    LANISTA_ASSIGN(scales, node_reader.weight(at));
    if (scales->elements() == 0) scales = nullptr;
  }
  if (scales != nullptr) return resize_rewrite(std::move(input), scales, {}, sampling);
  if (old) return malformed("it has no scales");
  LANISTA_ASSIGN(List sizes, node_reader.shape_integers(3));
  return resize_rewrite(std::move(input), nullptr, std::move(sizes), sampling);
}

RewriteResult upsample(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"mode"}));
  LANISTA_ASSIGN(const std::string mode, node_reader.text("mode", "nearest"));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(const Tensor* scales, node_reader.weight(1));
  return resize_rewrite(std::move(input), scales, {},
                        {.linear = mode != "nearest", .coordinate_mode = "asymmetric", .rounding = "floor"});
}

}  // namespace

RewriteRules resize_rules() { return {{"Resize", {resize}}, {"Upsample", {upsample}}}; }

}  // namespace lanista::formats::onnx
