#include <cmath>
#include <utility>

#include "lanista/base/options.h"
#include "lanista/model/spaces/builtin.h"
#include "lanista/model/spaces/network_blocks.h"

// The spaces of inverted residuals.
namespace lanista::mutate {
namespace {

using List = std::vector<std::int64_t>;

constexpr std::size_t kMaxStages = 8;

std::string text(std::int64_t i) { return std::to_string(i); }

std::vector<OptionSpec> mobile_options(std::vector<OptionSpec> more) {
  std::vector<OptionSpec> all{
      {"width", kInt, 8, 1, 4096, {}, "channels of the stem, and of the first stage unless there are widths"},
      {"stages", kInt, 2, 1, 7, {}, "stages; each but the first halves the image and widens it by a half"},
      {"widths", kIntList, Options::array(), 1, 65536, {}, "channels of each stage, in place of `stages`"},
      {"strides", kIntList, Options::array(), 1, 2, {}, "stride of each stage; none: 1, then 2"},
      {"stem_stride", kInt, 1, 1, 2, {}, "stride of the stem"},
      {"head", kInt, 0, 0, 65536, {}, "channels of a 1x1 convolution behind the stages; 0: none"},
      {"dropout", kReal, 0.0, 0, 0.95, {}, "in front of the last layer"}};
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return all;
}

/// The network around the choices, as the options define it.
class Mobile {
 public:
  static Result<Mobile> make(std::string_view space, const ModelInterface& ends, const Options& options) {
    Mobile mobile;
    mobile.stem_ = options.at("width").get<std::int64_t>();
    mobile.stem_stride_ = options.at("stem_stride").get<std::int64_t>();
    mobile.head_ = options.at("head").get<std::int64_t>();
    mobile.dropout_ = options.at("dropout").get<double>();
    mobile.widths_ = options.at("widths").get<List>();
    if (mobile.widths_.empty()) {
      std::int64_t channels = mobile.stem_;
      for (auto left = options.at("stages").get<std::int64_t>(); left > 0; --left) {
        mobile.widths_.push_back(channels);
        channels += (channels + 1) / 2;
      }
    }
    if (mobile.widths_.size() > kMaxStages) {
      return Error{Code::kInvalidArgument, "at most " + std::to_string(kMaxStages) + " stages are allowed", "widths"};
    }
    mobile.strides_ = options.at("strides").get<List>();
    if (mobile.strides_.empty()) {
      mobile.strides_.assign(mobile.widths_.size(), 2);
      mobile.strides_.front() = 1;
    }
    if (mobile.strides_.size() != mobile.widths_.size()) {
      return Error{Code::kInvalidArgument,
                   "there are " + std::to_string(mobile.strides_.size()) + " strides for " +
                       std::to_string(mobile.widths_.size()) + " stages",
                   "strides"};
    }
    std::int64_t least = mobile.stem_stride_;
    for (const std::int64_t stride : mobile.strides_) least *= stride;
    LANISTA_TRY(spaces::require_images(space, ends, least));
    return mobile;
  }

  std::int64_t stages() const { return static_cast<std::int64_t>(widths_.size()); }
  /// Output channels of stage 0, 1, …; stage -1 is the layer before them.
  std::int64_t channels(std::int64_t stage) const { return stage < 0 ? before_ : widths_[at(stage)]; }
  std::int64_t stride(std::int64_t stage) const { return strides_[at(stage)]; }

  /// A 3x3 convolution and, if `first` is positive, a fixed block without expansion with this many channels.
  Chain stem(std::string_view act, std::int64_t first = 0, std::string_view first_act = "relu6") {
    Chain chain = spaces::conv_bn_act(stem_, 3, stem_stride_, act);
    before_ = first > 0 ? first : stem_;
    if (first == 0) return chain;
    Chain block = spaces::depthwise_separable(text(stem_), text(first), 3, 1, {.act = first_act});
    if (first == stem_) block = {parallel({std::move(block), {}})};
    return spaces::chained({std::move(chain), std::move(block)});
  }
  /// The last 1x1 convolution, a hidden layer of `features` after the means if positive, and the output layer.
  Chain answer(std::string_view act, std::int64_t features = 0) const {
    Chain chain;
    if (head_ > 0) chain = spaces::conv_bn_act(head_, 1, 1, act);
    Chain last = spaces::classifier(dropout_);
    if (features > 0) {
      const Chain mix{layer("linear", {{"out", features}}), layer(std::string(act))};
      last.insert(last.begin() + 1, mix.begin(), mix.end());
    }
    return spaces::chained({std::move(chain), std::move(last)});
  }

 private:
  static std::size_t at(std::int64_t stage) { return static_cast<std::size_t>(stage); }

  List widths_, strides_;
  std::int64_t stem_ = 0, stem_stride_ = 1, head_ = 0, before_ = 0;
  double dropout_ = 0;
};

// One round of block b of MnasNet. The first round has another input width.
Chain mnas_layers(const Mobile& mobile, std::int64_t stage, const List& expansions) {
  const std::string b = "b" + text(stage + 1) + "_";
  const auto width_of = [&](std::int64_t s) {
    const std::string channels = text(mobile.channels(s));
    return s < 0 ? channels : "max(1, b" + text(s + 1) + "_filters * " + channels + " // 4)";
  };
  const std::string width = width_of(stage);
  const std::string in = "(" + width_of(stage - 1) + " if round == 0 else " + width + ")";
  const std::string squeezed = "max(1, " + in + " // 4)";  // by the input channels of the block
  const Setting kernel = formula(b + "kernel");
  const Setting stride = formula(text(mobile.stride(stage)) + " if round == 0 else 1");
  const spaces::InvertedResidualOptions form{.act = "relu", .squeeze = b + "se", .squeezed = squeezed};

  std::vector<Option> kinds{{"conv", spaces::chained({spaces::conv_bn_act(formula(width), kernel, stride),
                                                      {when(form.squeeze, spaces::squeeze_excite(width, squeezed))}})},
                            {"sepconv", spaces::depthwise_separable(in, width, kernel, stride, form)}};
  for (const std::int64_t expand : expansions) {
    kinds.push_back(
        {"mbconv" + text(expand), spaces::inverted_residual(text(expand) + " * " + in, width, kernel, stride, form)});
  }
  const Block sum = from({"after", "before"}, layer("add"));
  const Block shrink = when("round == 0", mobile.stride(stage) == 2 ? Chain{spaces::avg_pool(3, 2)} : Chain{});
  Block shortcut = choice(b + "skip", {{"none", {}},
                                       {"identity", {when("round > 0", {sum})}},
                                       {"pool", {named("before", from({"before"}, shrink)), sum}}});
  return {named("before", group({})), named("after", choice(b + "conv", std::move(kinds))),
          from({"after"}, std::move(shortcut))};
}

Result<Blueprint> mnasnet(const graph::OpTable& ops, const ModelInterface& ends, const Options& options) {
  LANISTA_ASSIGN(Mobile mobile, Mobile::make("mnasnet", ends, options));
  Chain chain = mobile.stem("relu");
  std::vector<ValueChoice> choices;
  for (std::int64_t stage = 0; stage < mobile.stages(); ++stage) {
    const std::string b = "b" + text(stage + 1) + "_";
    choices.push_back(pick(b + "kernel", {3, 5}));
    choices.push_back(pick(b + "se", {false, true}));
    choices.push_back(pick(b + "filters", {3, 4, 5}));
    Repeat layers{.label = b + "layers",
                  .depth = space::IntRange{1, 4},
                  .layers = mnas_layers(mobile, stage, options.at("expand").get<List>())};
    layers.index = "round";
    chain.push_back({std::move(layers)});
  }
  return Blueprint::make(ops, spaces::chained({std::move(chain), mobile.answer("relu")}), std::move(choices));
}

Result<Blueprint> proxylessnas(const graph::OpTable& ops, const ModelInterface& ends, const Options& options) {
  LANISTA_ASSIGN(Mobile mobile, Mobile::make("proxylessnas", ends, options));
  auto depths = options.at("depths").get<List>();
  if (depths.empty())
    depths.assign(static_cast<std::size_t>(mobile.stages()), options.at("layers").get<std::int64_t>());
  if (static_cast<std::int64_t>(depths.size()) != mobile.stages()) {
    return Error{Code::kInvalidArgument,
                 "there are " + std::to_string(depths.size()) + " depths for " + text(mobile.stages()) + " stages",
                 "depths"};
  }
  Chain chain = mobile.stem("relu6", options.at("first").get<std::int64_t>());
  for (std::int64_t stage = 0; stage < mobile.stages(); ++stage) {
    for (std::int64_t i = 0; i < depths[static_cast<std::size_t>(stage)]; ++i) {
      // The first layer of a stage changes size and width, so it has no shortcut and cannot be left out.
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
  return Blueprint::make(ops, spaces::chained({std::move(chain), mobile.answer("relu6")}));
}

// Rounds channels as MobileNetV3 does: to a multiple of eight, at least nine tenths.
std::string divisible(const std::string& channels) {
  const std::string near = "max(8, (" + channels + " + 4) // 8 * 8)";
  return near + " + (8 if 10 * " + near + " < 9 * (" + channels + ") else 0)";
}

// Writes whole numbers without a point, so that tables keep their text.
std::vector<space::Value> numbers(const std::vector<double>& values) {
  std::vector<space::Value> out;
  for (const double value : values) {
    const bool whole = value == std::floor(value);
    out.push_back(whole ? space::Value(static_cast<std::int64_t>(value)) : space::Value(value));
  }
  return out;
}

Result<Blueprint> mobilenetv3(const graph::OpTable& ops, const ModelInterface& ends, const Options& options) {
  LANISTA_ASSIGN(Mobile mobile, Mobile::make("mobilenetv3", ends, options));
  const std::int64_t stages = mobile.stages();
  const auto expansions = numbers(options.at("expand").get<std::vector<double>>());
  Chain chain = mobile.stem("hard_swish", options.at("first").get<std::int64_t>(), "relu");
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    const std::string s = "s" + text(stage + 1) + "_";
    const std::string out = text(mobile.channels(stage));
    const std::string hidden =
        "round(" + s + "expand * (" + text(mobile.channels(stage - 1)) + " if round == 0 else " + out + "))";
    // As in the five stages of MobileNetV3: gates in the second, fourth and last stage, hard_swish from the
    // third on.
    const spaces::InvertedResidualOptions form{
        .act = 2 * stage + 1 >= stages ? "hard_swish" : "relu",
        .gate = "hard_sigmoid",
        .squeeze = stage % 2 == 1 || (stage > 0 && stage + 1 == stages) ? "true" : "",
        .squeezed = divisible("in // 4")};
    Repeat layers{.label = s + "depth", .depth = space::IntRange{2, 4}, .layers = {}};
    layers.own = true;
    layers.index = "round";
    layers.choices = {pick(s + "expand", expansions)};
    layers.layers = {named("before", group({})),
                     named("after", group(spaces::inverted_residual(
                                        hidden, out, pick(s + "kernel", {3, 5, 7}),
                                        formula(text(mobile.stride(stage)) + " if round == 0 else 1"), form))),
                     when("round > 0", {from({"after", "before"}, layer("add"))})};
    chain.push_back({std::move(layers)});
  }
  const Chain answer = mobile.answer("hard_swish", options.at("features").get<std::int64_t>());
  return Blueprint::make(ops, spaces::chained({std::move(chain), answer}));
}

OptionSpec first_option() {
  return {"first", kInt, 0, 0, 4096, {}, "channels of a fixed block without expansion behind the stem; 0: none"};
}

}  // namespace

PublishedSpace mnasnet_space() {
  return {
      "mnasnet",
      "blocks of equal layers: kind of convolution, kernel, squeeze and excite, shortcut, width, depth",
      "Tan et al., CVPR'19, section 4.1 (432 blocks each)",
      mobile_options({{"expand", kIntList, Options::array({6}), 1, 12, {}, "expansions of the inverted residuals"}}),
      {{"imagenet",
        {{"width", 32},
         {"stem_stride", 2},
         {"widths", {16, 24, 40, 80, 112, 160, 320}},
         {"strides", {1, 2, 2, 2, 1, 2, 1}},
         {"head", 1280},
         {"expand", {3, 6}},
         {"dropout", 0.2}}}},
      mnasnet};
}

PublishedSpace proxylessnas_space() {
  // Presets of the networks for a GPU, a phone and a CPU: stem, block after it, stages, head.
  const auto sized = [](std::int64_t stem, std::int64_t first, const List& widths, std::int64_t head) {
    return Options{{"width", stem},
                   {"stem_stride", 2},
                   {"first", first},
                   {"widths", widths},
                   {"strides", {2, 2, 2, 1, 2, 1}},
                   {"depths", {4, 4, 4, 4, 4, 1}},
                   {"head", head}};
  };
  return {
      "proxylessnas",
      "each layer an inverted residual of kernel 3, 5, 7 and expansion 3, 6, or left out",
      "Cai et al., ICLR'19, section 4",
      mobile_options({first_option(),
                      {"layers", kInt, 2, 1, 8, {}, "layers of a stage"},
                      {"depths", kIntList, Options::array(), 1, 8, {}, "layers of each stage, in place of `layers`"}}),
      {{"gpu", sized(40, 24, {32, 56, 112, 128, 256, 432}, 1728)},
       {"mobile", sized(32, 16, {32, 40, 80, 96, 192, 320}, 1280)},
       {"cpu", sized(40, 24, {32, 48, 88, 104, 216, 360}, 1432)}},
      proxylessnas};
}

PublishedSpace mobilenetv3_space() {
  Options elastic{{"width", 16},
                  {"stem_stride", 2},
                  {"first", 16},
                  {"widths", {24, 40, 80, 112, 160}},
                  {"strides", {2, 2, 2, 1, 2}},
                  {"head", 960},
                  {"features", 1280},
                  {"dropout", 0.2}};
  Options large = elastic;
  large["expand"] = {2.3, 2.5, 3, 4, 6};  // includes the manually designed layers
  return {"mobilenetv3",
          "MobileNetV3's stages with two to four layers, each of its own kernel and expansion",
          "Howard et al., ICCV'19, section 5; the elastic dimensions of Cai et al., ICLR'20, section 3",
          mobile_options({first_option(),
                          {"features", kInt, 0, 0, 65536, {}, "of a layer between means and answer; 0: none"},
                          {"expand", kRealList, Options::array({3, 4, 6}), 1, 12, {}, "expansions to choose from"}}),
          {{"elastic", std::move(elastic)}, {"large", std::move(large)}},
          mobilenetv3};
}

}  // namespace lanista::mutate
