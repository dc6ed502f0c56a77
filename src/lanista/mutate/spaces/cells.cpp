#include "lanista/mutate/spaces/cells.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/mutate/spaces/blocks.h"

namespace lanista::mutate::spaces {
namespace {

using List = std::vector<std::int64_t>;

Block conv(std::int64_t width, List kernel, Setting stride, List padding, std::int64_t dilation = 1) {
  return layer("conv2d", {{"out", width},
                          {"kernel", std::move(kernel)},
                          {"stride", std::move(stride)},
                          {"padding", std::move(padding)},
                          {"dilation", dilation},
                          {"bias", false}});
}

// A k x 1 window, then a 1 x k window.
Chain factored(std::int64_t k, std::int64_t width, const Setting& stride) {
  return {layer("relu"), conv(width, {k, 1}, stride, {k / 2, 0}), conv(width, {1, k}, 1, {0, k / 2}),
          layer("batch_norm")};
}

Chain separable(std::int64_t k, std::int64_t width, const Setting& stride, std::int64_t dilation = 1) {
  return {layer("relu"),
          layer("separable_conv2d", {{"out", width},
                                     {"kernel", k},
                                     {"stride", stride},
                                     {"padding", (k - 1) / 2 * dilation},
                                     {"dilation", dilation},
                                     {"bias", false}}),
          layer("batch_norm")};
}

Chain twice_separable(std::int64_t k, std::int64_t width, const Setting& stride) {
  return chained({separable(k, width, stride), separable(k, width, 1)});
}

struct Place {
  std::int64_t width;
  bool reduction;

  Setting stride() const { return reduction ? Setting(formula("2 if outer else 1")) : Setting(1); }
  /// What is there for the size alone.
  Chain shrink(Chain chain) const { return reduction ? Chain{when("outer", std::move(chain))} : Chain{}; }
};

Chain dilated(std::int64_t k, const Place& at) {
  return {layer("relu"), conv(at.width, {k}, at.stride(), {k - 1}, 2), layer("batch_norm")};
}

Chain zeros(const Place& at) { return chained({at.shrink({max_pool(1, 2)}), {layer("zero")}}); }

struct CellOp {
  std::string_view name;
  Chain (*make)(const Place& at);
};

constexpr CellOp kCellOps[] = {
    {"none", zeros},
    {"skip", [](const Place& at) { return at.shrink(act_conv_bn(at.width, 1, 2)); }},
    {"avg3", [](const Place& at) { return Chain{avg_pool(3, at.stride())}; }},
    {"max3", [](const Place& at) { return Chain{max_pool(3, at.stride())}; }},
    {"max5", [](const Place& at) { return Chain{max_pool(5, at.stride())}; }},
    {"max7", [](const Place& at) { return Chain{max_pool(7, at.stride())}; }},
    {"conv1", [](const Place& at) { return act_conv_bn(at.width, 1, at.stride()); }},
    {"conv3", [](const Place& at) { return act_conv_bn(at.width, 3, at.stride()); }},
    {"conv3x1_1x3", [](const Place& at) { return factored(3, at.width, at.stride()); }},
    {"conv7x1_1x7", [](const Place& at) { return factored(7, at.width, at.stride()); }},
    {"dil3", [](const Place& at) { return dilated(3, at); }},
    {"dil5", [](const Place& at) { return dilated(5, at); }},
    {"sep3", [](const Place& at) { return twice_separable(3, at.width, at.stride()); }},
    {"sep5", [](const Place& at) { return twice_separable(5, at.width, at.stride()); }},
    {"sep7", [](const Place& at) { return twice_separable(7, at.width, at.stride()); }},
    {"dilsep3", [](const Place& at) { return separable(3, at.width, at.stride(), 2); }},
    {"dilsep5", [](const Place& at) { return separable(5, at.width, at.stride(), 2); }},
};

}  // namespace

std::vector<std::string> cell_op_names() {
  std::vector<std::string> names;
  for (const CellOp& op : kCellOps) names.emplace_back(op.name);
  return names;
}

Option cell_op(std::string_view name, std::int64_t width, bool reduction) {
  const auto op =
      std::find_if(std::begin(kCellOps), std::end(kCellOps), [&](const CellOp& o) { return o.name == name; });
  LANISTA_CHECK(op != std::end(kCellOps), "no cell operator is called " + std::string(name));
  return {std::string(name), op->make({width, reduction})};
}

std::vector<OptionSpec> cell_options() {
  using enum OptionSpec::Kind;
  return {{"width", kInt, 8, 1, 4096, {}, "channels of the first stage"},
          {"cells", kInt, 1, 1, 32, {}, "normal cells of a stage"},
          {"stages", kInt, 2, 1, 5, {}, "stages, with a reduction cell between two"}};
}

namespace {

Block cell_block(const CellRules& rules, std::int64_t width, bool reduction) {
  Cell cell{.label = reduction ? "reduce" : "normal",
            .nodes = rules.nodes,
            .inputs = 2,
            .ops = {},
            .previous = {"first", "second"},
            .distinct = rules.distinct,
            .loose_ends = rules.loose_ends,
            .join = Join::kConcat};
  for (const std::string& op : rules.ops) cell.ops.push_back(cell_op(op, width, reduction));
  return {std::move(cell)};
}

}  // namespace

Result<Blueprint> cell_network(const CellRules& rules, const graph::OpTable& ops, const Ends& ends,
                               const Options& options) {
  const auto stages = options.at("stages").get<std::int64_t>();
  const auto cells = options.at("cells").get<std::int64_t>();
  auto width = options.at("width").get<std::int64_t>();
  LANISTA_TRY(want_images(rules.space, ends, std::int64_t{1} << stages));

  Chain chain{named("last", group(conv_bn(width, 3))), alias("before", "last")};
  bool shrunk = false;  // was the cell before a reduction cell, so that the value before it is larger?
  const auto add_cell = [&](bool reduction) {
    chain.push_back(named("first", from({"before"}, group(act_conv_bn(width, 1, shrunk ? 2 : 1)))));
    chain.push_back(named("second", from({"last"}, group(act_conv_bn(width, 1)))));
    chain.push_back(named("cell", cell_block(rules, width, reduction)));
    chain.push_back(alias("before", "last"));
    chain.push_back(alias("last", "cell"));
    shrunk = reduction;
  };
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    if (stage > 0) {
      width *= 2;
      add_cell(true);
    }
    for (std::int64_t cell = 0; cell < cells; ++cell) add_cell(false);
  }
  chain.push_back(from({"last"}, layer("relu")));
  return Blueprint::make(ops, chained({std::move(chain), classifier()}));
}

}  // namespace lanista::mutate::spaces
