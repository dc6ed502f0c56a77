#include "lanista/io/formats/onnx/onnx_images.h"

#include <utility>

#include "lanista/model/ops/op_rules.h"

namespace lanista::formats::onnx {
namespace {

using List = std::vector<std::int64_t>;

Result<void> clip(OnnxWriter& w, double min, double max) {
  const std::string low = w.scalar("min", static_cast<float>(min)), high = w.scalar("max", static_cast<float>(max));
  w.add("Clip", {w.input(), low, high});
  return {};
}

Result<void> slice(OnnxWriter& w) {
  const graph::ops::SliceRange range = *graph::ops::slice_range(w.args());
  const std::string start = w.integers("start", List{range.begin}),
                    end = w.integers("end", List{range.begin + range.len});
  w.add("Slice", {w.input(), start, end, w.integers("axis", List{static_cast<std::int64_t>(range.axis)})});
  return {};
}

// The gate gets dimensions of one for those that it lacks.
Result<void> scale(OnnxWriter& w) {
  const auto rank = static_cast<std::int64_t>(w.dims().size());
  List axes;
  for (std::int64_t axis = rank == 4 ? 2 : 1; axis < (rank == 4 ? 4 : rank - 1); ++axis) axes.push_back(axis);
  const std::string gate = w.add("Unsqueeze", {w.input(1), w.integers("axes", axes)}, {}, "gate");
  w.add("Mul", {w.input(0), gate});
  return {};
}

Result<void> channel_shuffle(OnnxWriter& w) {
  const std::int64_t groups = w.args().integer("groups"), c = w.dims()[1], height = w.dims()[2], width = w.dims()[3];
  const std::string apart = w.integers("apart", List{0, groups, c / groups, height, width});
  const std::string together = w.integers("together", List{0, c, height, width});
  const std::string grouped = w.add("Reshape", {w.input(), apart}, {}, "grouped");
  const std::string dealt = w.add("Transpose", {grouped}, {{"perm", List{0, 2, 1, 3, 4}}}, "dealt");
  w.add("Reshape", {dealt, together});
  return {};
}

Result<void> lrn(OnnxWriter& w) {
  OnnxWriter::Attributes attributes{{"size", w.args().integer("size")}};
  for (const char* name : {"alpha", "beta", "bias"}) attributes[name] = static_cast<float>(w.args().real(name));
  w.add("LRN", {w.input()}, std::move(attributes));
  return {};
}

OnnxWriter::Attributes interpolation(const OnnxWriter& w) {
  if (w.args().text("mode") == "bilinear") {
    return {{"mode", std::string("linear")}, {"coordinate_transformation_mode", std::string("half_pixel")}};
  }
  return {{"mode", std::string("nearest")},
          {"coordinate_transformation_mode", std::string("asymmetric")},
          {"nearest_mode", std::string("floor")}};
}

Result<void> upsample(OnnxWriter& w) {
  const auto [rows, columns] = w.args().pair("factor");
  const float scales[] = {1, 1, static_cast<float>(rows), static_cast<float>(columns)};
  w.add("Resize", {w.input(), "", w.floats("scales", {4}, scales)}, interpolation(w));
  return {};
}

// The sizes include the batch, which is known only at run time.
Result<void> resize(OnnxWriter& w) {
  const auto [height, width] = w.args().pair("out");
  const std::string batch = w.add("Shape", {w.input()}, {{"end", std::int64_t{1}}}, "batch");
  const std::string image = w.integers("image", List{w.dims()[1], height, width});
  const std::string sizes = w.add("Concat", {batch, image}, {{"axis", std::int64_t{0}}}, "sizes");
  w.add("Resize", {w.input(), "", "", sizes}, interpolation(w));
  return {};
}

}  // namespace

OnnxMappings image_mappings() {
  return {{"clip", [](OnnxWriter& w) { return clip(w, w.args().real("min"), w.args().real("max")); }},
          {"relu6", [](OnnxWriter& w) { return clip(w, 0, 6); }},
          {"slice", slice},
          {"scale", scale},
          {"channel_shuffle", channel_shuffle},
          {"lrn", lrn},
          {"upsample", upsample},
          {"resize", resize}};
}

}  // namespace lanista::formats::onnx
