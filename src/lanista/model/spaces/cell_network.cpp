#include "lanista/model/spaces/cell_network.h"

#include <algorithm>
#include <utility>

#include "lanista/model/spaces/network_blocks.h"

namespace lanista::mutate::spaces {
namespace {

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const auto end = std::min(text.find('+'), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

/// Builds a stack of cells. The value "last" is the result of the last cell, and "before" that of the one before.
class CellStack {
 public:
  explicit CellStack(const CellRules& rules) : rules_(rules) {}

  /// Keeps the image size, with `width` channels.
  void add_stem(std::int64_t width) {
    is_stem_ = false;
    chain_.push_back(named("last", group(conv_bn(width, 3))));
    chain_.push_back(alias("before", "last"));
  }
  /// Reduces the image to an eighth by three convolutions of stride 2.
  void add_stem_of_convolutions(std::int64_t width) {
    is_stem_ = false;
    chain_.push_back(named(
        "before", group(chained({conv_bn_act(std::max<std::int64_t>(1, width / 2), 3, 2), conv_bn(width, 3, 2)}))));
    chain_.push_back(named("last", from({"before"}, group(act_conv_bn(width, 3, 2)))));
    last_halvings_ = 1;
  }
  /// Reduces the image to an eighth by a convolution without padding, then two reduction cells.
  void add_stem_of_cells(std::int64_t stem_width, std::int64_t width) {
    Block halve = layer("conv2d", {{"out", stem_width}, {"kernel", 3}, {"stride", 2}, {"bias", false}});
    chain_.push_back(named("last", group({std::move(halve), layer("batch_norm")})));
    chain_.push_back(alias("before", "last"));
    for (const std::int64_t part : {4, 2}) add_cell(std::max<std::int64_t>(2, width / part), true);
    is_stem_ = false;
  }

  void add_cell(std::int64_t width, bool reduction) {
    const CellPlacement at{rules_.cell_style, width, reduction};
    chain_.push_back(named("first", from({"before"}, group(first_input(at)))));
    chain_.push_back(named("second", from({"last"}, group(second_input(at)))));
    chain_.push_back(named("cell", cell(at)));
    if (!reduction || !rules_.past_reduction || is_stem_) {
      chain_.push_back(alias("before", "last"));
      before_halvings_ = last_halvings_;
    }
    chain_.push_back(alias("last", "cell"));
    last_halvings_ += reduction ? 1 : 0;
    is_first_ = false;
  }

  Chain finish(double dropout) && {
    Chain head = classifier(dropout, rules_.cell_style != CellStyle::kEnas);
    if (rules_.cell_style != CellStyle::kDarts) head.insert(head.begin(), layer("relu"));
    return chained({std::move(chain_), std::move(head)});
  }

 private:
  Chain first_input(const CellPlacement& at) const {
    if (at.is_nasnet() && is_first_) return {};
    if (before_halvings_ != last_halvings_) return chained({{layer("relu")}, factorised_reduction(at.width)});
    Chain fit = act_conv_bn(at.width, 1);
    return at.cell_style == CellStyle::kDarts ? fit : Chain{at.if_width_differs(std::move(fit))};
  }
  static Chain second_input(const CellPlacement& at) {
    Chain fit = act_conv_bn(at.width, 1);
    if (at.cell_style == CellStyle::kEnas) fit.insert(fit.begin(), at.if_width_differs(fit));
    return fit;
  }

  Block cell(const CellPlacement& at) const {
    Cell cell{.label = at.reduction ? "reduce" : "normal",
              .nodes = rules_.nodes,
              .inputs = 2,
              .ops = {},
              .carry = {},
              .previous = {"first", "second"},
              .distinct = rules_.distinct,
              .joins_unread_nodes = rules_.joins_unread_nodes,
              .join = Join::kConcat,
              .joins_unread_inputs = rules_.joins_unread_nodes,
              .gives = split(at.reduction ? rules_.reduce_gives : rules_.normal_gives)};
    for (const std::string& op : rules_.ops) cell.ops.push_back(cell_op(op, at));
    if (at.reduction) cell.carry = factorised_reduction(at.width);
    if (!at.reduction && at.is_nasnet()) cell.carry = {at.if_width_differs(conv_bn(at.width, 1))};
    return {std::move(cell)};
  }

  const CellRules& rules_;
  Chain chain_;
  // Number of halvings since the stem: a value before a reduction cell has twice the size of the one after it.
  std::int64_t before_halvings_ = 0, last_halvings_ = 0;
  bool is_first_ = true, is_stem_ = true;
};

}  // namespace

std::vector<OptionSpec> cell_options() {
  using enum OptionSpec::Kind;
  return {{"width", kInt, 8, 2, 4096, {}, "channels of the first stage"},
          {"cells", kInt, 1, 1, 32, {}, "normal cells of a stage"},
          {"stages", kInt, 2, 1, 5, {}, "stages, with a reduction cell between two"},
          {"stem", kText, "cifar", {}, {}, {"cifar", "imagenet"}, "cifar keeps the image, imagenet leaves an eighth"},
          {"dropout", kReal, 0.0, 0, 0.95, {}, "in front of the last layer"}};
}

Result<Blueprint> cell_network(const CellRules& rules, const graph::OpTable& ops, const ModelInterface& ends,
                               const Options& options) {
  const auto stages = options.at("stages").get<std::int64_t>();
  const auto cells = options.at("cells").get<std::int64_t>();
  const bool large = options.at("stem").get<std::string>() == "imagenet";
  const bool of_cells = rules.cell_style == CellStyle::kNasnet || rules.cell_style == CellStyle::kAmoebanet;
  auto width = options.at("width").get<std::int64_t>();
  LANISTA_TRY(require_images(rules.space, ends, std::int64_t{large ? 8 : 1} << stages));

  CellStack stack(rules);
  const std::int64_t stem = rules.stem_width;
  if (!large) {
    stack.add_stem(stem > 0 ? stem : 3 * width);
  } else if (of_cells) {
    stack.add_stem_of_cells(stem > 0 ? stem : 32, width);
  } else {
    stack.add_stem_of_convolutions(width);
  }
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    if (stage > 0) {
      width *= 2;
      stack.add_cell(width, true);
    }
    for (std::int64_t cell = 0; cell < cells; ++cell) stack.add_cell(width, false);
  }
  return Blueprint::make(ops, std::move(stack).finish(options.at("dropout").get<double>()));
}

}  // namespace lanista::mutate::spaces
