#include <utility>

#include "lanista/mutate/spaces/blocks.h"
#include "lanista/mutate/spaces/builtin.h"
#include "lanista/mutate/spaces/cells.h"

namespace lanista::mutate {

PublishedSpace enas_micro_space() {
  return {"enas_micro", "stacked cells of five nodes; each adds two earlier values through one of five operators",
          "Pham et al., ICML'18, section 2.4", spaces::cell_options(),
          [](const graph::OpTable& ops, const Ends& ends, const Options& options) {
            const spaces::CellRules rules{
                .space = "enas_micro", .nodes = 5, .ops = {"skip", "sep3", "sep5", "avg3", "max3"}, .loose_ends = true};
            return spaces::cell_network(rules, ops, ends, options);
          }};
}

namespace {

std::string numbered(std::string_view word, std::int64_t i) { return std::string(word) + std::to_string(i); }

// The six computations of a layer; pools go through a 1x1 convolution first.
std::vector<Option> layer_options(std::int64_t width) {
  const auto separable = [&](std::int64_t k) {
    return spaces::chained({spaces::depthwise_bn(k), spaces::conv_bn_act(width, 1)});
  };
  const auto pool = [&](Block block) { return spaces::chained({spaces::conv_bn_act(width, 1), {std::move(block)}}); };
  return {{"conv3", spaces::conv_bn_act(width, 3)},
          {"conv5", spaces::conv_bn_act(width, 5)},
          {"sep3", separable(3)},
          {"sep5", separable(5)},
          {"avg3", pool(spaces::avg_pool(3, 1))},
          {"max3", pool(spaces::max_pool(3, 1))}};
}

Result<Blueprint> macro(const graph::OpTable& ops, const Ends& ends, const Options& options) {
  const auto layers = options.at("layers").get<std::int64_t>();
  const auto width = options.at("width").get<std::int64_t>();
  const auto pools = options.at("pools").get<std::int64_t>();
  LANISTA_TRY(spaces::want_images("enas_macro", ends, std::int64_t{2} << pools));

  const auto stage_of = [&](std::int64_t i) { return (i - 1) * (pools + 1) / layers; };
  Chain chain = spaces::conv_bn(width, 3);
  std::vector<std::string> earlier;
  for (std::int64_t i = 1; i <= layers; ++i) {
    // Pools stand at equal distances; all that came before is pooled, so that all values keep one size. The last of
    // them is what the next layer reads.
    if (i > 1 && stage_of(i) != stage_of(i - 1)) {
      for (const std::string& name : earlier) chain.push_back(named(name, from({name}, layer("max_pool2d"))));
    }
    chain.push_back(named("op", choice(numbered("layer", i), layer_options(width))));
    if (!earlier.empty()) {
      chain.push_back({InputChoice{.label = numbered("skips", i),
                                   .from = earlier,
                                   .least = 0,
                                   .most = static_cast<std::int64_t>(earlier.size()),
                                   .join = Join::kSum,
                                   .always = {"op"}}});
    }
    earlier.push_back(numbered("l", i));
    chain.push_back(named(earlier.back(), layer("batch_norm")));
  }
  return Blueprint::make(ops, spaces::chained({std::move(chain), spaces::classifier()}));
}

}  // namespace

PublishedSpace enas_macro_space() {
  using enum OptionSpec::Kind;
  return {"enas_macro",
          "layers in a row; each is one of six operators and adds any set of the layers before it",
          "Pham et al., ICML'18, section 2.3",
          {{"layers", kInt, 6, 1, 32, {}, "layers"},
           {"width", kInt, 16, 1, 4096, {}, "channels of every layer"},
           {"pools", kInt, 2, 0, 5, {}, "2x2 max-pools, at equal distances"}},
          macro};
}

}  // namespace lanista::mutate
