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

/// A chain of one-input nodes.
class Chain {
 public:
  explicit Chain(const List& input) : end_{builder_.add("input", {}, {{"shape", input}}), 0} {}

  Chain& then(std::string op, Attrs attrs = {}, std::string label = {}) {
    end_ = {builder_.add(std::move(op), {end_}, std::move(attrs), std::move(label)), 0};
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

graph::Graph small_mlp(const List& input, std::int64_t outputs) {
  Chain chain(input);
  if (input.size() > 1) chain.then("flatten");
  chain.then("linear", {{"out", std::int64_t{64}}}, "hidden").then("relu");
  return std::move(chain).finish(outputs);
}

graph::Graph small_cnn(const List& input, std::int64_t outputs) {
  Chain chain(input);
  int stage = 0;
  for (const std::int64_t channels : {16, 32}) {
    // 3x3 convolutions and 2x2 pools are the operators' defaults.
    chain.then("conv2d", {{"out", channels}, {"padding", List{1}}}, "stage" + std::to_string(++stage));
    chain.then("relu").then("max_pool2d");
  }
  chain.then("flatten");
  return std::move(chain).finish(outputs);
}

}  // namespace

std::vector<std::string> builtin_base_names() { return {"small-mlp", "small-cnn"}; }

Result<BaseModel> builtin_base(std::string_view name, const graph::Shape& input, std::int64_t outputs) {
  const auto names = builtin_base_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    const std::string near = nearest_name(name, names);
    return Error{Code::kNotFound,
                 "unknown base model '" + std::string(name) + "'" +
                     (near.empty() ? "" : "; did you mean '" + near + "'?") + " (known: small-mlp, small-cnn)",
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
  if (name == "small-mlp") return BaseModel{std::string(name), small_mlp(dims, outputs)};
  if (dims.size() != 3) return invalid("wants images [C, H, W], the data is " + shown);
  if (dims[1] < 4 || dims[2] < 4) return invalid("wants images of at least 4x4, the data is " + shown);
  return BaseModel{std::string(name), small_cnn(dims, outputs)};
}

}  // namespace lanista::mutate
