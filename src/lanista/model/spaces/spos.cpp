#include <utility>

#include "lanista/model/spaces/builtin.h"
#include "lanista/model/spaces/network_blocks.h"

namespace lanista::mutate {
namespace {

constexpr std::size_t kMaxStages = 8;

// The trained branch of a unit: one depthwise convolution between two 1x1 ones, or three of each (Xception).
Chain branch(std::int64_t middle, std::int64_t out, std::int64_t kernel, std::int64_t stride, bool xception) {
  if (!xception) {
    return spaces::chained(
        {spaces::conv_bn_act(middle, 1), spaces::depthwise_bn(kernel, stride), spaces::conv_bn_act(out, 1)});
  }
  const auto separable = [&](std::int64_t width, std::int64_t step) {
    return spaces::chained({spaces::depthwise_bn(3, step), spaces::conv_bn_act(width, 1)});
  };
  return spaces::chained({separable(middle, stride), separable(middle, 1), separable(out, 1)});
}

// At stride 1 every second channel passes unchanged. At stride 2 both branches read all channels, and the plain one
// keeps their number.
Chain unit(std::int64_t in, std::int64_t out, std::int64_t kernel, bool first, bool xception) {
  const std::int64_t half = out / 2;
  if (first) {
    const Chain plain = spaces::chained({spaces::depthwise_bn(kernel, 2), spaces::conv_bn_act(in, 1)});
    return {parallel({plain, branch(half, out - in, kernel, 2, xception)}, Join::kConcat)};
  }
  Chain trained = branch(half, half, kernel, 1, xception);
  trained.insert(trained.begin(), layer("slice", {{"axis", 1}, {"start", half}}));
  return {layer("channel_shuffle", {{"groups", half}}),
          parallel({{layer("slice", {{"axis", 1}, {"end", half}})}, std::move(trained)}, Join::kConcat)};
}

Result<std::vector<std::int64_t>> widths_of(const Options& options, std::size_t stages, std::int64_t stem) {
  auto widths = options.at("widths").get<std::vector<std::int64_t>>();
  const auto wrong = [](const std::string& message) { return Error{Code::kInvalidArgument, message, "widths"}; };
  if (widths.empty()) {
    for (std::size_t i = 0; i < stages; ++i) widths.push_back(stem << (i + 1));
  }
  if (widths.size() != stages) {
    return wrong("there are " + std::to_string(widths.size()) + " widths for " + std::to_string(stages) + " stages");
  }
  std::int64_t before = stem;
  for (const std::int64_t width : widths) {
    if (width % 2 != 0 || width <= before) {
      return wrong(std::to_string(width) + " behind " + std::to_string(before) +
                   ": widths are even, and each is more than the one before");
    }
    before = width;
  }
  return widths;
}

Result<Blueprint> spos_network(const graph::OpTable& ops, const ModelInterface& ends, const Options& options) {
  const auto stages = options.at("blocks").get<std::vector<std::int64_t>>();
  const auto stem = options.at("width").get<std::int64_t>();
  const auto stem_stride = options.at("stem_stride").get<std::int64_t>();
  if (stages.empty() || stages.size() > kMaxStages) {
    return Error{Code::kInvalidArgument, "one to " + std::to_string(kMaxStages) + " stages are needed", "blocks"};
  }
  LANISTA_TRY(spaces::require_images("spos", ends, stem_stride << stages.size()));
  LANISTA_ASSIGN(const auto widths, widths_of(options, stages.size(), stem));

  Chain chain = spaces::conv_bn_act(stem, 3, stem_stride);
  std::int64_t number = 0, in = stem;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    const std::int64_t width = widths[stage];
    for (std::int64_t i = 0; i < stages[stage]; ++i) {
      std::vector<Option> candidates;
      for (const std::int64_t kernel : {3, 5, 7}) {
        candidates.push_back({"shuffle" + std::to_string(kernel), unit(in, width, kernel, i == 0, false)});
      }
      candidates.push_back({"xception", unit(in, width, 3, i == 0, true)});
      chain.push_back(choice("block" + std::to_string(++number), std::move(candidates)));
      in = width;
    }
  }
  const auto head = options.at("head").get<std::int64_t>();
  if (head > 0) chain = spaces::chained({std::move(chain), spaces::conv_bn_act(head, 1)});
  const Chain answer = spaces::classifier(options.at("dropout").get<double>(), false);
  return Blueprint::make(ops, spaces::chained({std::move(chain), answer}));
}

}  // namespace

PublishedSpace spos_space() {
  return {"spos",
          "each block a ShuffleNetV2 unit with kernel 3, 5 or 7, or its Xception form",
          "Guo et al., ECCV'20, section 4 (4,4,8,4 blocks: 4^20)",
          {{"width", kInt, 8, 1, 4096, {}, "channels of the stem"},
           {"blocks", kIntList, Options::array({2, 2}), 1, 16, {}, "blocks of each stage; the first halves the image"},
           {"widths", kIntList, Options::array(), 2, 65536, {}, "channels of each stage; none: each doubles them"},
           {"stem_stride", kInt, 1, 1, 2, {}, "stride of the stem"},
           {"head", kInt, 0, 0, 65536, {}, "channels of a 1x1 convolution behind the stages; 0: none"},
           {"dropout", kReal, 0.0, 0, 0.95, {}, "in front of the last layer"}},
          {{"imagenet",
            {{"width", 16},
             {"blocks", {4, 4, 8, 4}},
             {"widths", {64, 160, 320, 640}},
             {"stem_stride", 2},
             {"head", 1024},
             {"dropout", 0.1}}}},
          spos_network};
}

}  // namespace lanista::mutate
