#include <utility>

#include "lanista/model/spaces/builtin.h"
#include "lanista/model/spaces/cell_network.h"
#include "lanista/model/spaces/network_blocks.h"

namespace lanista::mutate {

PublishedSpace enas_micro_space() {
  return {"enas_micro",
          "stacked cells of five nodes; each adds two earlier values through one of five operators",
          "Pham et al., ICML'18, section 2.4",
          spaces::cell_options(),
          {{"cifar10", {{"width", 36}, {"cells", 5}, {"stages", 3}, {"dropout", 0.2}}}},
          [](const graph::OpTable& ops, const ModelInterface& ends, const Options& options) {
            const spaces::CellRules rules{.space = "enas_micro",
                                          .cell_style = spaces::CellStyle::kEnas,
                                          .nodes = 5,
                                          .ops = {"skip", "sep3", "sep5", "avg3", "max3"},
                                          .joins_unread_nodes = true};
            return spaces::cell_network(rules, ops, ends, options);
          }};
}

namespace {

std::string numbered(std::string_view word, std::int64_t i) { return std::string(word) + std::to_string(i); }

// The six operations of a layer, each after a 1x1 convolution.
std::vector<Option> layer_options(std::int64_t width) {
  const auto behind = [&](Chain chain) { return spaces::chained({spaces::act_conv_bn(width, 1), std::move(chain)}); };
  const auto separable = [&](std::int64_t k) {
    return behind({layer("relu"),
                   layer("separable_conv2d", {{"out", width}, {"kernel", k}, {"padding", "same"}, {"bias", false}}),
                   layer("batch_norm")});
  };
  return {{"conv3", behind(spaces::act_conv_bn(width, 3))},
          {"conv5", behind(spaces::act_conv_bn(width, 5))},
          {"sep3", separable(3)},
          {"sep5", separable(5)},
          {"avg3", behind({spaces::avg_pool(3, 1)})},
          {"max3", behind({spaces::max_pool(3, 1)})}};
}

Result<Blueprint> macro(const graph::OpTable& ops, const ModelInterface& ends, const Options& options) {
  const auto layers = options.at("layers").get<std::int64_t>();
  auto width = options.at("width").get<std::int64_t>();
  const auto pools = options.at("pools").get<std::int64_t>();
  LANISTA_TRY(spaces::require_images("enas_macro", ends, std::int64_t{2} << pools));

  const auto stage_of = [&](std::int64_t i) { return (i - 1) * (pools + 1) / layers; };
  Chain chain{named("l0", group(spaces::conv_bn(width, 3)))};
  std::vector<std::string> earlier;  // without the previous layer, which is always read
  for (std::int64_t i = 1; i <= layers; ++i) {
    // Reductions are at equal distances. All earlier values pass through them, so that all values have one
    // size. The next layer reads the last of them.
    if (i > 1 && stage_of(i) != stage_of(i - 1)) {
      width *= 2;
      for (std::int64_t j = 0; j < i; ++j) {
        const std::string name = numbered("l", j);
        chain.push_back(named(name, from({name}, group(spaces::factorised_reduction(width)))));
      }
    }
    chain.push_back(named("op", choice(numbered("layer", i), layer_options(width))));
    if (!earlier.empty()) {
      chain.push_back({InputChoice{.label = numbered("skips", i),
                                   .from = earlier,
                                   .min_count = 0,
                                   .most = static_cast<std::int64_t>(earlier.size()),
                                   .join = Join::kConcat,
                                   .always = {"op"}}});
      chain.push_back(group(spaces::act_conv_bn(width, 1)));
    }
    earlier.push_back(numbered("l", i - 1));
    chain.push_back(named(numbered("l", i), group({})));
  }
  return Blueprint::make(
      ops, spaces::chained({std::move(chain), spaces::classifier(options.at("dropout").get<double>(), false)}));
}

}  // namespace

PublishedSpace enas_macro_space() {
  return {"enas_macro",
          "layers in a row; each is one of six operators next to any set of the layers before it",
          "Pham et al., ICML'18, section 2.3",
          {{"layers", kInt, 6, 1, 32, {}, "layers"},
           {"width", kInt, 16, 2, 4096, {}, "channels of the first layers; each pool doubles them"},
           {"pools", kInt, 2, 0, 5, {}, "factorised reductions, at equal distances"},
           {"dropout", kReal, 0.0, 0, 0.95, {}, "in front of the last layer"}},
          {{"cifar10", {{"layers", 24}, {"width", 96}, {"pools", 2}, {"dropout", 0.5}}}},
          macro};
}

}  // namespace lanista::mutate
