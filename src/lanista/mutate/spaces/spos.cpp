#include <utility>

#include "lanista/mutate/spaces/blocks.h"
#include "lanista/mutate/spaces/builtin.h"

namespace lanista::mutate {
namespace {

// The trained half of a unit: one depthwise convolution between two 1x1 ones, or three of each (Xception).
Chain branch(std::int64_t width, std::int64_t kernel, std::int64_t stride, bool xception) {
  if (!xception) {
    return spaces::chained(
        {spaces::conv_bn_act(width, 1), spaces::depthwise_bn(kernel, stride), spaces::conv_bn_act(width, 1)});
  }
  const auto separable = [&](std::int64_t step) {
    return spaces::chained({spaces::depthwise_bn(3, step), spaces::conv_bn_act(width, 1)});
  };
  return spaces::chained({separable(stride), separable(1), separable(1)});
}

// At stride 1 half of the channels pass by; at stride 2 both halves see all channels.
Chain unit(std::int64_t out, std::int64_t kernel, bool first, bool xception) {
  const std::int64_t half = out / 2;
  Chain left{layer("slice", {{"axis", 1}, {"end", half}})};
  if (first) left = spaces::chained({spaces::depthwise_bn(3, 2), spaces::conv_bn_act(half, 1)});
  Chain right = branch(half, kernel, first ? 2 : 1, xception);
  if (!first) right.insert(right.begin(), layer("slice", {{"axis", 1}, {"start", half}}));
  return {parallel({std::move(left), std::move(right)}, Join::kConcat), layer("channel_shuffle", {{"groups", 2}})};
}

Result<Blueprint> network(const graph::OpTable& ops, const Ends& ends, const Options& options) {
  const auto stages = options.at("blocks").get<std::vector<std::int64_t>>();
  auto width = options.at("width").get<std::int64_t>();
  LANISTA_TRY(spaces::want_images("spos", ends, std::int64_t{1} << stages.size()));

  Chain chain = spaces::conv_bn_act(width, 3);
  std::int64_t number = 0;
  for (const std::int64_t blocks : stages) {
    width *= 2;
    for (std::int64_t i = 0; i < blocks; ++i) {
      std::vector<Option> candidates;
      for (const std::int64_t kernel : {3, 5, 7}) {
        candidates.push_back({"shuffle" + std::to_string(kernel), unit(width, kernel, i == 0, false)});
      }
      candidates.push_back({"xception", unit(width, 3, i == 0, true)});
      chain.push_back(choice("block" + std::to_string(++number), std::move(candidates)));
    }
  }
  return Blueprint::make(ops, spaces::chained({std::move(chain), spaces::classifier()}));
}

}  // namespace

PublishedSpace spos_space() {
  using enum OptionSpec::Kind;
  return {"spos",
          "each block a ShuffleNetV2 unit with kernel 3, 5 or 7, or its Xception form",
          "Guo et al., ECCV'20, section 4 (4,4,8,4 blocks: 4^20)",
          {{"width", kInt, 8, 1, 4096, {}, "channels of the stem; every stage doubles them"},
           {"blocks", kIntList, Options::array({2, 2}), 1, 16, {}, "blocks of each stage; the first halves the image"}},
          network};
}

}  // namespace lanista::mutate
