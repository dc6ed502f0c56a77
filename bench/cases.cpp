#include "bench/cases.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "bench/case_net.h"
#include "lanista/base/edit_distance.h"
#include "lanista/base/rng.h"

namespace lanista::bench {
namespace {

using graph::Port;
using List = std::vector<std::int64_t>;

constexpr std::int64_t kVocab = 128;

graph::Graph mlp(const List& sample, std::initializer_list<std::int64_t> hidden) {
  Net net(sample);
  Port end = net.input();
  for (const std::int64_t width : hidden) end = net.append(net.linear(end, width), "relu");
  return std::move(net).classify(end);
}

graph::Graph cnn(const List& sample) {
  Net net(sample);
  Port end = net.input();
  for (const std::int64_t channels : {16, 32}) {
    end = net.append(end, "conv2d", {{"out", channels}, {"padding", List{1}}});
    end = net.append(net.append(end, "relu"), "max_pool2d");
  }
  return std::move(net).classify(net.append(end, "flatten"));
}

graph::Graph nb201_cell(const List& sample) {
  constexpr std::int64_t kChannels = 16;
  Net net(sample);
  const Port x = net.conv_norm(net.input(), kChannels, 3);
  const Port active = net.append(x, "relu");
  const Port wide = net.conv_norm(active, kChannels, 3);
  const Port narrow = net.conv_norm(active, kChannels, 1);
  const Port mean = net.append(
      x, "avg_pool2d", {{"kernel", List{3}}, {"stride", List{1}}, {"padding", List{1}}, {"count_include_pad", false}});
  return std::move(net).classify(net.append(net.add({wide, narrow, mean}), "global_avg_pool"));
}

graph::Graph mobilenet(const List& sample) {
  constexpr std::int64_t kExpansion = 4;
  Net net(sample);
  Port end = net.append(net.conv_norm(net.input(), 16, 3, 2), "relu6");
  std::int64_t channels = 16;
  for (const auto& [out, stride] : {std::pair{16, 1}, std::pair{24, 2}, std::pair{24, 1}}) {
    const Port before = end;
    end = net.append(net.conv_norm(before, kExpansion * channels, 1), "relu6");
    end = net.conv_norm(net.append(net.depthwise_norm(end, stride), "relu6"), out, 1);
    if (stride == 1 && out == channels) end = net.add({before, end});
    channels = out;
  }
  end = net.append(net.conv_norm(end, 64, 1), "relu6");
  return std::move(net).classify(net.append(end, "global_avg_pool"));
}

// One block with a layer norm before attention and before the MLP (Xiong et al., ICML'20).
graph::Graph transformer(const List& sample) {
  constexpr std::int64_t kFeatures = 64, kHeads = 4, kHidden = 256;
  Net net(sample, "index");
  const Port token = net.append(net.input(), "embedding", {{"vocab", kVocab}, {"dim", kFeatures}});
  const Port start = net.append(token, "positional_embedding");
  const Port attended = net.append(net.append(start, "layer_norm"), "attention", {{"heads", kHeads}});
  const Port between = net.add({start, attended});
  const Port hidden = net.append(net.linear(net.append(between, "layer_norm"), kHidden), "gelu");
  const Port end = net.add({between, net.linear(hidden, kFeatures)});
  return std::move(net).classify(net.append(net.append(end, "layer_norm"), "mean", {{"axes", List{1}}}));
}

}  // namespace

std::vector<Case> training_cases() {
  const List vector{64}, pixels{784}, digit{1, 8, 8}, written{1, 28, 28}, small{3, 8, 8}, large{3, 16, 16},
      grey{1, 16, 16}, tokens{32};
  return {
      {.name = "mlp-64", .model = mlp(vector, {64}), .sample = vector},
      {.name = "mlp-256", .model = mlp(pixels, {256, 256}), .sample = pixels, .batch = 128},
      {.name = "cnn-digits", .model = cnn(digit), .sample = digit},
      {.name = "cnn-28", .model = cnn(written), .sample = written},
      {.name = "nb201-cell", .model = nb201_cell(small), .sample = small},
      {.name = "nb201-cell-16", .model = nb201_cell(large), .sample = large},
      // Norms in sequence amplify roundings. At a larger rate even the two memory formats of LibTorch differ.
      {.name = "mobilenet-small", .model = mobilenet(grey), .sample = grey, .rate = 0.01},
      {.name = "transformer-tiny", .model = transformer(tokens), .sample = tokens, .vocab = kVocab},
  };
}

Result<std::vector<Case>> training_cases(std::span<const std::string> names) {
  std::vector<Case> all = training_cases();
  if (names.empty()) return all;
  std::vector<std::string> known;
  for (const Case& c : all) known.push_back(c.name);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string list;
    for (const std::string& each : known) list += (list.empty() ? "" : ", ") + each;
    const std::string nearest = nearest_name(name, known);
    return Error{Code::kNotFound,
                 "there is no case '" + name + "'" + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?") +
                     " (known: " + list + ")",
                 "--case"};
  }
  std::erase_if(all, [&](const Case& c) { return std::find(names.begin(), names.end(), c.name) == names.end(); });
  return all;
}

CaseBatch::CaseBatch(const Case& c) : labels_(static_cast<std::size_t>(c.batch)), sample_index_(labels_.size()) {
  const std::int64_t elements = std::accumulate(c.sample.begin(), c.sample.end(), c.batch, std::multiplies<>());
  features_.resize(static_cast<std::size_t>(elements));
  Rng rng(7);
  for (float& value : features_) {
    value = static_cast<float>(c.vocab > 0 ? static_cast<double>(rng.below(static_cast<std::uint64_t>(c.vocab)))
                                           : rng.normal());
  }
  for (auto& label : labels_) label = static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(c.classes)));
  std::iota(sample_index_.begin(), sample_index_.end(), 0);
}

program::Batch CaseBatch::view() const {
  return {.size = static_cast<std::int64_t>(labels_.size()),
          .features = features_,
          .labels = labels_,
          .targets = {},
          .sample_index = sample_index_};
}

}  // namespace lanista::bench
