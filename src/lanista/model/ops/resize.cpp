// Operators that change the size of images.
#include <utility>

#include "lanista/model/ops/op_rules.h"
#include "lanista/model/ops/window.h"

namespace lanista::graph::ops {
namespace {

// Keeps the positions in kernels inside 64 bits.
constexpr std::int64_t kMaxSide = std::int64_t{1} << 20;

AttrSpec mode() {
  return one_of("mode", {"nearest", "bilinear"},
                "nearest: cell floor(i in / out); bilinear: between the cells around (i + 1/2) in / out - 1/2");
}

Cost resize_cost(const OpArgs& args) {
  const auto [h, w] = *resized(args);
  const double cells = static_cast<double>(shape_of(args).dims[1]) * static_cast<double>(h) * static_cast<double>(w);
  return cost_of(args, args.text("mode") == "bilinear" ? 8 * cells : 0);
}

OpDef resize_family(std::string name, std::string help, AttrSpec size) {
  OpDef def = named_op(std::move(name), std::move(help));
  def.facts = keeping(UnitFlow::kChannels);
  def.attrs = {std::move(size), mode()};
  def.infer = [](const OpArgs& args) -> Result<std::vector<ValueType>> {
    LANISTA_TRY(require_image(args));
    LANISTA_ASSIGN(const auto result, resized(args));
    return value(batched({shape_of(args).dims[1], result.first, result.second}));
  };
  def.cost = resize_cost;
  return def;
}

OpDef resize_op() {
  OpDef def =
      resize_family("resize", "Images brought to a stated size.",
                    required_list("out", 1, AttrRole::kTunable, "height and width of the result, or one for both"));
  def.gradient = sized_gradient("resize_grad", {"mode"});
  return def;
}

OpDef upsample_op() {
  OpDef def = resize_family("upsample", "Images enlarged by a whole factor.",
                            required_list("factor", 1, AttrRole::kTunable, "of height and width, or one for both"));
  def.decompose = [](StepContext& step) {
    const auto [h, w] = *resized(step.args());
    Attrs attrs = selected_attrs(step.args().attrs, {"mode"});
    attrs.set("out", std::vector<std::int64_t>{h, w});
    return step.emit("resize", {step.input(0)}, std::move(attrs));
  };
  return def;
}

}  // namespace

Result<std::pair<std::int64_t, std::int64_t>> resized(const OpArgs& args) {
  const bool by_factor = args.attrs.find("factor") != nullptr;
  const std::string_view name = by_factor ? "factor" : "out";
  LANISTA_TRY(require_pair(args, name));
  auto [h, w] = args.pair(name);
  if (by_factor) {
    h *= shape_of(args).dims[2];
    w *= shape_of(args).dims[3];
  }
  if (h > kMaxSide || w > kMaxSide) {
    return shape_error("a result of " + size_pair_text(h, w) + " cells is above " + std::to_string(kMaxSide) +
                       " a side");
  }
  return std::pair{h, w};
}

Result<void> add_resize_ops(OpTable& table) { return add_all(table, {resize_op(), upsample_op()}); }

}  // namespace lanista::graph::ops
