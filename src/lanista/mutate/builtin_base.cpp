#include <algorithm>

#include "lanista/base/text_distance.h"
#include "lanista/mutate/model_space.h"
#include "lanista/mutate/view.h"

namespace lanista::mutate {

using graph::Attrs;
using graph::GraphBuilder;
using graph::Port;
using List = std::vector<std::int64_t>;

namespace {

/// A chain of one-input nodes, with ways around parts of it.
class Chain {
 public:
  /// Begins with an embedding of `dim` features where the input is tokens.
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

graph::Graph small_cnn(const List& input, std::int64_t outputs) {
  Chain chain(input, 0, 0);
  int stage = 0;
  for (const std::int64_t channels : {16, 32}) {
    // 3x3 convolutions and 2x2 pools are the operators' defaults.
    chain.then("conv2d", {{"out", channels}, {"padding", List{1}}}, "stage" + std::to_string(++stage));
    chain.then("relu").then("max_pool2d");
  }
  chain.then("flatten");
  return std::move(chain).finish(outputs);
}

// Two blocks of attention and a small network, each normalised in front and added to what it read (Xiong et al., 2020,
// "On Layer Normalization in the Transformer Architecture").
graph::Graph small_transformer(const List& input, std::int64_t outputs, std::int64_t vocab) {
  constexpr std::int64_t kFeatures = 32, kHeads = 4, kHidden = 128;
  Chain chain(input, vocab, kFeatures);
  chain.then("positional_embedding");
  for (const char* block : {"block1", "block2"}) {
    const Port before = chain.end();
    chain.then("layer_norm").then("attention", {{"heads", kHeads}}, block).add(before);
    const Port between = chain.end();
    chain.then("layer_norm").then("linear", {{"out", kHidden}}, block).then("gelu");
    chain.then("linear", {{"out", kFeatures}}).add(between);
  }
  chain.then("layer_norm").then("mean", {{"axes", List{1}}});
  return std::move(chain).finish(outputs);
}

}  // namespace

std::vector<std::string> builtin_base_names() { return {"small-mlp", "small-cnn", "small-transformer"}; }

Result<BaseModel> builtin_base(std::string_view name, const graph::Shape& input, std::int64_t outputs,
                               std::int64_t vocab) {
  const auto names = builtin_base_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    const std::string near = nearest_name(name, names);
    return Error{Code::kNotFound,
                 "unknown base model '" + std::string(name) + "'" +
                     (near.empty() ? "" : "; did you mean '" + near + "'?") +
                     " (known: small-mlp, small-cnn, small-transformer)",
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
  if (vocab > 0 && dims.size() != 1) return invalid("wants tokens [T], the data is " + shown);
  if (name == "small-mlp") return BaseModel{std::string(name), small_mlp(dims, outputs, vocab)};
  if (name == "small-transformer") {
    if (vocab == 0) return invalid("wants tokens, the data is real numbers " + shown);
    return BaseModel{std::string(name), small_transformer(dims, outputs, vocab)};
  }
  if (dims.size() != 3) return invalid("wants images [C, H, W], the data is " + shown);
  if (dims[1] < 4 || dims[2] < 4) return invalid("wants images of at least 4x4, the data is " + shown);
  return BaseModel{std::string(name), small_cnn(dims, outputs)};
}

}  // namespace lanista::mutate
