#include <utility>

#include "lanista/mutate/spaces/blocks.h"
#include "lanista/mutate/spaces/builtin.h"

// The spaces whose models are chains of inverted residuals.
namespace lanista::mutate {
namespace {

using enum OptionSpec::Kind;

OptionSpec width_option() { return {"width", kInt, 8, 1, 4096, {}, "channels of the stem and of the first stage"}; }
OptionSpec stages_option(std::int64_t stages) {
  return {"stages", kInt, stages, 1, 7, {}, "stages; each but the first halves the image and widens it by a half"};
}

std::string text(std::int64_t i) { return std::to_string(i); }

struct Mobile {
  std::int64_t width, stages;

  explicit Mobile(const Options& options)
      : width(options.at("width").get<std::int64_t>()), stages(options.at("stages").get<std::int64_t>()) {}
  /// Channels of stage 0, 1, …; stage -1 is the stem.
  std::int64_t channels(std::int64_t stage) const {
    std::int64_t channels = width;
    for (std::int64_t i = 0; i < stage; ++i) channels += (channels + 1) / 2;
    return channels;
  }
  std::int64_t stride(std::int64_t stage) const { return stage == 0 ? 1 : 2; }
};

// The steps of MnasNet's block b in every round of its repetition; the first round comes from another width.
Chain mnas_layers(const Mobile& mobile, std::int64_t stage) {
  const std::string b = "b" + text(stage + 1) + "_";
  const auto width_of = [&](std::int64_t s) {
    const std::string channels = text(mobile.channels(s));
    return s < 0 ? channels : "max(1, b" + text(s + 1) + "_filters * " + channels + " // 4)";
  };
  const std::string width = width_of(stage);
  const std::string hidden = "6 * (" + width_of(stage - 1) + " if round == 0 else " + width + ")";
  const Setting kernel = formula(b + "kernel");
  const Setting stride = formula(text(mobile.stride(stage)) + " if round == 0 else 1");
  const std::string squeeze = b + "se";
  const Chain excite{when(squeeze, spaces::squeeze_excite(width))};

  Block convolution = choice(
      b + "conv",
      {{"conv", spaces::chained({spaces::conv_bn_act(formula(width), kernel, stride), excite})},
       {"sepconv",
        spaces::chained(
            {spaces::depthwise_bn(kernel, stride), {layer("relu")}, spaces::conv_bn_act(formula(width), 1), excite})},
       {"mbconv", spaces::inverted_residual(hidden, width, kernel, stride, {.act = "relu", .squeeze = squeeze})}});
  const Block sum = from({"after", "before"}, layer("add"));
  const Block shrink = when("round == 0", mobile.stride(stage) == 2 ? Chain{spaces::avg_pool(3, 2)} : Chain{});
  Block shortcut = choice(b + "skip", {{"none", {}},
                                       {"identity", {when("round > 0", {sum})}},
                                       {"pool", {named("before", from({"before"}, shrink)), sum}}});
  return {named("before", group({})), named("after", std::move(convolution)), from({"after"}, std::move(shortcut))};
}

Result<Blueprint> mnasnet(const graph::OpTable& ops, const Ends& ends, const Options& options) {
  const Mobile mobile(options);
  LANISTA_TRY(spaces::want_images("mnasnet", ends, std::int64_t{1} << (mobile.stages - 1)));
  Chain chain = spaces::conv_bn_act(mobile.width, 3);
  std::vector<ValueChoice> choices;
  for (std::int64_t stage = 0; stage < mobile.stages; ++stage) {
    const std::string b = "b" + text(stage + 1) + "_";
    choices.push_back(pick(b + "kernel", {3, 5}));
    choices.push_back(pick(b + "se", {false, true}));
    choices.push_back(pick(b + "filters", {3, 4, 5}));
    Repeat layers{.label = b + "layers", .depth = space::IntRange{1, 4}, .layers = mnas_layers(mobile, stage)};
    layers.index = "round";
    chain.push_back({std::move(layers)});
  }
  return Blueprint::make(ops, spaces::chained({std::move(chain), spaces::classifier()}), std::move(choices));
}

Result<Blueprint> proxylessnas(const graph::OpTable& ops, const Ends& ends, const Options& options) {
  const Mobile mobile(options);
  const auto layers = options.at("layers").get<std::int64_t>();
  LANISTA_TRY(spaces::want_images("proxylessnas", ends, std::int64_t{1} << (mobile.stages - 1)));
  Chain chain = spaces::conv_bn_act(mobile.width, 3, 1, "relu6");
  for (std::int64_t stage = 0; stage < mobile.stages; ++stage) {
    for (std::int64_t i = 0; i < layers; ++i) {
      // The first layer of a stage changes size and width: it has no shortcut and cannot be left out.
      const std::int64_t in = mobile.channels(i == 0 ? stage - 1 : stage);
      std::vector<Option> candidates;
      for (const std::int64_t kernel : {3, 5, 7}) {
        for (const std::int64_t expand : {3, 6}) {
          Chain body = spaces::inverted_residual(text(in * expand), text(mobile.channels(stage)), kernel,
                                                 i == 0 ? mobile.stride(stage) : 1);
          candidates.push_back({"mb" + text(kernel) + "_" + text(expand),
                                i == 0 ? std::move(body) : Chain{parallel({std::move(body), {}})}});
        }
      }
      if (i > 0) candidates.push_back({"zero", {}});
      chain.push_back(choice("s" + text(stage + 1) + "_l" + text(i + 1), std::move(candidates)));
    }
  }
  return Blueprint::make(ops, spaces::chained({std::move(chain), spaces::classifier()}));
}

Result<Blueprint> mobilenetv3(const graph::OpTable& ops, const Ends& ends, const Options& options) {
  const Mobile mobile(options);
  LANISTA_TRY(spaces::want_images("mobilenetv3", ends, std::int64_t{1} << (mobile.stages - 1)));
  Chain chain = spaces::conv_bn_act(mobile.width, 3, 1, "hard_swish");
  for (std::int64_t stage = 0; stage < mobile.stages; ++stage) {
    const std::string s = "s" + text(stage + 1) + "_";
    const std::string out = text(mobile.channels(stage));
    const std::string hidden = s + "expand * (" + text(mobile.channels(stage - 1)) + " if round == 0 else " + out + ")";
    // As in MobileNetV3: gates in every other stage, the costlier activation in the later half.
    const spaces::MobileForm form{.act = 2 * stage >= mobile.stages ? "hard_swish" : "relu",
                                  .gate = "hard_sigmoid",
                                  .squeeze = stage % 2 == 1 ? "true" : ""};
    Repeat layers{.label = s + "depth", .depth = space::IntRange{2, 4}, .layers = {}};
    layers.own = true;
    layers.index = "round";
    layers.choices = {pick(s + "expand", {3, 4, 6})};
    layers.layers = {named("before", group({})),
                     named("after", group(spaces::inverted_residual(
                                        hidden, out, pick(s + "kernel", {3, 5, 7}),
                                        formula(text(mobile.stride(stage)) + " if round == 0 else 1"), form))),
                     when("round > 0", {from({"after", "before"}, layer("add"))})};
    chain.push_back({std::move(layers)});
  }
  return Blueprint::make(ops, spaces::chained({std::move(chain), spaces::classifier()}));
}

}  // namespace

PublishedSpace mnasnet_space() {
  return {"mnasnet",
          "blocks of equal layers: kind of convolution, kernel, squeeze and excite, shortcut, width, depth",
          "Tan et al., CVPR'19, section 4.1 (432 blocks each)",
          {width_option(), stages_option(2)},
          mnasnet};
}

PublishedSpace proxylessnas_space() {
  return {"proxylessnas",
          "each layer an inverted residual of kernel 3, 5, 7 and expansion 3, 6, or left out",
          "Cai et al., ICLR'19, section 4",
          {width_option(), stages_option(2), {"layers", kInt, 2, 1, 8, {}, "layers of a stage"}},
          proxylessnas};
}

PublishedSpace mobilenetv3_space() {
  return {"mobilenetv3",
          "MobileNetV3's stages with two to four layers, each of its own kernel and expansion",
          "Howard et al., ICCV'19, section 5; the elastic dimensions of Cai et al., ICLR'20, section 3",
          {width_option(), stages_option(2)},
          mobilenetv3};
}

}  // namespace lanista::mutate
