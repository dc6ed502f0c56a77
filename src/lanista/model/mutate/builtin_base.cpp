#include <algorithm>

#include "lanista/base/edit_distance.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/model/mutate/model_view.h"

namespace lanista::mutate {

using graph::Attrs;
using graph::GraphBuilder;
using graph::Port;
using List = std::vector<std::int64_t>;

namespace {

/// A chain of nodes with one input, with skip connections.
class Chain {
 public:
  /// Starts with an embedding of `dim` features if the input is tokens.
  Chain(const List& input, std::int64_t vocab, std::int64_t dim) {
    Attrs attrs{{"shape", input}};
    if (vocab > 0) attrs.set("dtype", std::string("index"));
    end_ = {builder_.add("input", {}, std::move(attrs)), 0};
    if (vocab > 0) then("embedding", {{"vocab", vocab}, {"dim", dim}}, "embedding");
  }

  Chain& then(std::string op, Attrs attrs = {}, std::string label = {}) {
    end_ = {builder_.add(std::move(op), {end_}, std::move(attrs), std::move(label)), 0};
    return *this;
  }
  Port end() const { return end_; }
  Chain& add(Port skip) {
    end_ = {builder_.add("add", {skip, end_}), 0};
    return *this;
  }
  graph::Graph finish(std::int64_t outputs) && {
    then("linear", {{"out", outputs}}).then("output");
    return std::move(builder_).take();
  }

 private:
  GraphBuilder builder_;
  Port end_;
};

graph::Graph small_mlp(const List& input, std::int64_t outputs, std::int64_t vocab) {
  Chain chain(input, vocab, 16);
  if (input.size() > 1 || vocab > 0) chain.then("flatten");
  chain.then("linear", {{"out", std::int64_t{64}}}, "hidden").then("relu");
  return std::move(chain).finish(outputs);
}

constexpr std::int64_t kFewestValues = 4, kNarrowest = 2, kWidest = 16;

/// The smallest width with a square of at least `values`, in bounds.
std::int64_t embedding_width(std::int64_t values) {
  std::int64_t width = kNarrowest;
  while (width < kWidest && width * width < values) ++width;
  return width;
}

// A row has at most one value of a category, so a linear layer without bias is a lookup of its weights.
graph::Graph embedding_mlp(std::int64_t features, std::int64_t outputs,
                           const std::vector<BaseRequirements::Category>& categories) {
  GraphBuilder builder;
  const Port input{builder.add("input", {}, {{"shape", List{features}}}), 0};
  std::vector<Port> parts;
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    return Port{builder.add("slice", {input}, {{"axis", std::int64_t{1}}, {"start", begin}, {"end", end}}), 0};
  };
  std::int64_t done = 0;
  for (const BaseRequirements::Category& each : categories) {
    if (each.size < kFewestValues) continue;
    if (each.begin > done) parts.push_back(run(done, each.begin));
    done = each.begin + each.size;
    const Attrs attrs{{"out", embedding_width(each.size)}, {"bias", false}};
    const std::string label = "embedding" + std::to_string(each.begin);
    parts.push_back({builder.add("linear", {run(each.begin, done)}, attrs, label), 0});
  }
  if (done < features) parts.push_back(run(done, features));
  Port end = parts.size() == 1 ? parts[0] : Port{builder.add("concat", parts, {{"axis", std::int64_t{1}}}), 0};
  end = {builder.add("linear", {end}, {{"out", std::int64_t{64}}}, "hidden"), 0};
  end = {builder.add("relu", {end}), 0};
  end = {builder.add("linear", {end}, {{"out", outputs}}), 0};
  builder.add("output", {end});
  return std::move(builder).take();
}

graph::Graph small_cnn(const List& input, std::int64_t outputs) {
  Chain chain(input, 0, 0);
  int stage = 0;
  for (const std::int64_t channels : {16, 32}) {
    // The defaults of the operators are 3x3 convolutions and 2x2 pools.
    chain.then("conv2d", {{"out", channels}, {"padding", List{1}}}, "stage" + std::to_string(++stage));
    chain.then("relu").then("max_pool2d");
  }
  chain.then("flatten");
  return std::move(chain).finish(outputs);
}

// Two blocks of attention and an MLP, each with a norm before it and a skip connection (Xiong et al., 2020,
// "On Layer Normalization in the Transformer Architecture").
graph::Graph small_transformer(const List& input, std::int64_t outputs, std::int64_t vocab, bool everywhere) {
  constexpr std::int64_t kFeatures = 32, kHeads = 4, kHidden = 128;
  Chain chain(input, vocab, kFeatures);
  chain.then("positional_embedding");
  for (const char* block : {"block1", "block2"}) {
    const Port before = chain.end();
    Attrs attention{{"heads", kHeads}};
    if (everywhere) attention.set("causal", true);
    chain.then("layer_norm").then("attention", std::move(attention), block).add(before);
    const Port between = chain.end();
    chain.then("layer_norm").then("linear", {{"out", kHidden}}, block).then("gelu");
    chain.then("linear", {{"out", kFeatures}}).add(between);
  }
  chain.then("layer_norm");
  if (!everywhere) chain.then("mean", {{"axes", List{1}}});
  return std::move(chain).finish(outputs);
}

}  // namespace

std::vector<std::string> builtin_base_names() { return {"small-mlp", "small-cnn", "small-transformer"}; }

Result<BaseModel> builtin_base(std::string_view name, const BaseRequirements& wanted) {
  const auto& [input, outputs, vocab, positions, categories] = wanted;
  auto names = builtin_base_names();
  names.emplace_back("embedding-mlp");
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    const std::string near = nearest_name(name, names);
    return Error{Code::kNotFound,
                 "unknown base model '" + std::string(name) + "'" +
                     (near.empty() ? "" : "; did you mean '" + near + "'?") +
                     " (known: small-mlp, small-cnn, small-transformer, embedding-mlp)",
                 ""};
  }
  const auto invalid = [&](const std::string& message) {
    return Error{Code::kInvalidArgument, std::string(name) + ": " + message, ""};
  };
  List dims = input.dims;
  if (input.has_batch()) dims.erase(dims.begin());
  if (dims.empty() || std::any_of(dims.begin(), dims.end(), [](std::int64_t d) { return d < 1; })) {
    return invalid("the input shape must have positive dimensions, not " + input.text());
  }
  if (outputs < 1) return invalid("the model needs at least one output, not " + std::to_string(outputs));

  const std::string shown = graph::Shape{dims}.text();
  if (vocab > 0 && dims.size() != 1) return invalid("needs tokens [T], but the data are " + shown);
  if (positions > 0 && (name != "small-transformer" || dims != List{positions})) {
    return invalid("gives one output a sample; the data need one at each of " + std::to_string(positions) +
                   " positions of a text (task=next_token), as small-transformer gives");
  }
  if (name == "small-mlp") return BaseModel{std::string(name), small_mlp(dims, outputs, vocab)};
  if (name == "embedding-mlp") {
    const auto has_many = [](const BaseRequirements::Category& each) { return each.size >= kFewestValues; };
    if (dims.size() != 1 || std::none_of(categories.begin(), categories.end(), has_many)) {
      return invalid("needs a table with a category of " + std::to_string(kFewestValues) +
                     " values or more, but the data are " + shown);
    }
    return BaseModel{std::string(name), embedding_mlp(dims[0], outputs, categories)};
  }
  if (name == "small-transformer") {
    if (vocab == 0) return invalid("needs tokens, but the data are real numbers " + shown);
    return BaseModel{std::string(name), small_transformer(dims, outputs, vocab, positions > 0)};
  }
  if (dims.size() != 3) return invalid("needs images [channels, height, width], but the data are " + shown);
  if (dims[1] < 4 || dims[2] < 4) {
    const bool channels_last = dims[0] >= 4 && dims[1] >= 4;
    return invalid("needs images [channels, height, width] of at least 4x4, but the data are " + shown +
                   (channels_last ? "; if the channels are last, write x.transpose(0, 3, 1, 2)" : ""));
  }
  return BaseModel{std::string(name), small_cnn(dims, outputs)};
}

}  // namespace lanista::mutate
