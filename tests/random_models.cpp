#include "random_models.h"

#include <algorithm>
#include <array>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/model/graph/infer.h"
#include "random_attrs.h"

namespace lanista::testing {
namespace {

using graph::Port;
using graph::ValueType;
using List = std::vector<std::int64_t>;

constexpr int kTries = 24;  // samples of inputs and attributes for one operator

struct Value {
  Port port;
  ValueType type;
};

/// A growing graph with its values and the values that no node reads yet.
class ModelBuilder {
 public:
  ModelBuilder(Rng rng, const graph::OpTable& ops, const RandomModelOptions& options)
      : rng_(rng), ops_(ops), options_(options) {
    for (const std::string& name : ops.names()) {
      const bool source = name == "input" || name == "output";
      // Of negative numbers these are NaN, and so would be all that follows in most models.
      const bool is_partial = name == "log" || name == "sqrt";
      if (source || is_partial || options.without.contains(name)) continue;
      // Operators with attributes or several inputs are sampled more often, since they give more different graphs.
      const graph::OpDef& def = *ops.find(name);
      names_.insert(names_.end(), (def.max_inputs == 1 ? 3 : 7) + def.attrs.size(), name);
    }
  }

  graph::Graph grow() {
    put("input", {}, random_input());
    first_layer();
    for (std::int64_t left = rng_.between(1, options_.max_operators); left > 0; --left) add_random_operator();
    put("output", {finish()}, {});
    return std::move(builder_).take();
  }

 private:
  graph::Attrs random_input() {
    static constexpr std::array<std::int64_t, 6> kSizes{1, 2, 3, 4, 5, 7};
    const auto size = [&] { return kSizes[rng_.below(kSizes.size())]; };
    const bool tokens = !options_.without.contains("embedding") && rng_.bernoulli(0.12);
    if (tokens) return {{"shape", List{size()}}, {"dtype", std::string("index")}};
    // Half of the shapes are images, which most operators need.
    List shape(std::array<std::size_t, 8>{1, 1, 2, 2, 3, 3, 4, 4}[rng_.below(8)]);
    for (std::int64_t& dim : shape) dim = shape.size() == 4 ? rng_.between(1, 3) : size();
    if (shape.size() == 1) shape[0] = rng_.between(1, 12);
    return {{"shape", std::move(shape)}};
  }

  // The first layer is usually trained, so that gradients flow through later nodes.
  void first_layer() {
    const bool tokens = values_[0].type.dtype == graph::DType::kIndex;
    if (!tokens && rng_.bernoulli(0.15)) return;
    for (int left = 200; left > 0; --left) {
      const std::string& name = tokens ? std::string("embedding") : names_[rng_.below(names_.size())];
      if (ops_.find(name)->params && try_operator(name, 2)) return;
    }
  }

  void add_random_operator() {
    const std::string& name = names_[rng_.below(names_.size())];
    if (rng_.bernoulli(0.2)) {
      const Value some = any_real();
      if (some.type.dtype == graph::DType::kReal) {
        reshaped(some, random_dims(rng_, some.type.shape.elements_per_sample()));
      }
    }
    if (try_operator(name, kTries)) return;
    // No value fits the operator: make one of another rank or shape.
    const Value from = any_real();
    if (from.type.dtype == graph::DType::kIndex) return;
    if (rng_.bernoulli(0.5)) {
      reshaped(from, random_dims(rng_, from.type.shape.elements_per_sample()));
    } else {
      gate(from);
    }
    try_operator(name, 2 * kTries);
  }

  // Adds the operator if its shape inference accepts one of `tries` samples of inputs and attributes.
  bool try_operator(const std::string& name, int tries) {
    const graph::OpDef& def = *ops_.find(name);
    for (; tries > 0; --tries) {
      const std::vector<Value> inputs = random_inputs(def);
      std::vector<ValueType> types;
      std::vector<Port> ports;
      for (const Value& input : inputs) {
        types.push_back(input.type);
        ports.push_back(input.port);
      }
      graph::Attrs attrs = random_attrs(rng_, def, types);
      if (!accepted(def, types, ports, attrs)) continue;
      // A divisor must not be zero.
      if (name == "div") {
        const bool same = ports[0] == ports[1];
        ports[1] = put("sigmoid", {ports[1]}, {}).port;
        if (same) ports[0] = ports[1];
      }
      const Value value = put(name, std::move(ports), std::move(attrs));
      if (name == "causal_mask") {
        // Only a softmax along the rows may read the infinities.
        put("softmax", {value.port}, {});
        std::erase_if(values_, [&](const Value& each) { return each.port == value.port; });
      }
      return true;
    }
    return false;
  }

  bool accepted(const graph::OpDef& def, const std::vector<ValueType>& types, const std::vector<Port>& ports,
                const graph::Attrs& attrs) const {
    if (!graph::check_node({graph::NodeId{0}, def.name, attrs, ports, ""}, ops_)) return false;
    const graph::OpArgs args{types, attrs, def};
    const auto results = def.infer(args);
    if (!results) return false;
    for (const ValueType& result : *results) {
      if (result.shape.elements_per_sample() > options_.max_elements) return false;
    }
    if (!def.params) return true;
    return std::ranges::all_of(def.params(args), [&](const graph::ParamSpec& param) {
      return param.shape.elements_per_sample() <= options_.max_weights;
    });
  }

  // Returns random inputs: first a late value or any value, then the first again, one of its shape, or any value.
  std::vector<Value> random_inputs(const graph::OpDef& def) {
    const std::int64_t most = def.max_inputs < 0 ? std::max<std::int64_t>(def.min_inputs, 5) : def.max_inputs;
    std::int64_t count = rng_.between(def.min_inputs, most);
    std::vector<Value> inputs;
    if (count-- > 0) inputs.push_back(late_or_any());
    for (; count > 0; --count) {
      std::vector<Value> alike;
      for (const Value& value : values_) {
        if (value.type == inputs[0].type) alike.push_back(value);
      }
      const std::uint64_t kind = rng_.below(4);
      inputs.push_back(kind == 0   ? inputs[rng_.below(inputs.size())]
                       : kind == 3 ? late_or_any()
                                   : alike[rng_.below(alike.size())]);
    }
    return inputs;
  }

  const Value& late_or_any() { return rng_.bernoulli(0.4) ? values_.back() : any(); }
  const Value& any() { return values_[rng_.below(values_.size())]; }
  const Value& any_real() {
    std::vector<const Value*> real;
    for (const Value& value : values_) {
      if (value.type.dtype == graph::DType::kReal) real.push_back(&value);
    }
    return real.empty() ? values_[0] : *real[rng_.below(real.size())];
  }

  // Adds a node that fits, and returns its first output.
  Value put(const std::string& op, std::vector<Port> inputs, graph::Attrs attrs) {
    std::vector<ValueType> types;
    for (const Port port : inputs) {
      types.push_back(std::ranges::find(values_, port, &Value::port)->type);
      std::erase(unused_, port);
    }
    const graph::OpDef& def = *ops_.find(op);
    const auto results = def.infer({types, attrs, def});
    LANISTA_CHECK(results.ok(), op + ": " + (results ? "" : results.error().text()));
    const graph::NodeId id = builder_.add(op, std::move(inputs), std::move(attrs));
    const std::size_t first = values_.size();
    for (std::uint32_t slot = 0; slot < results->size(); ++slot) {
      values_.push_back({{id, slot}, (*results)[slot]});
      unused_.push_back({id, slot});
    }
    return values_[first];
  }

  Value reshaped(const Value& from, List dims) { return put("reshape", {from.port}, {{"shape", std::move(dims)}}); }
  Value flattened(const Value& from) { return from.type.shape.rank() == 2 ? from : put("flatten", {from.port}, {}); }
  Value linear(const Value& from, std::int64_t out) { return put("linear", {flattened(from).port}, {{"out", out}}); }

  // Returns a vector with one element for each channel of a value.
  Value gate(const Value& from) {
    const auto& dims = from.type.shape.dims;
    if (dims.size() < 2) return linear(from, 1);
    return linear(any_real(), dims[rng_.bernoulli(0.5) ? 1 : dims.size() - 1]);
  }

  // Joins the values that no node reads, so that the output depends on each node.
  Port finish() {
    std::vector<Value> ends;
    for (const Port port : std::vector<Port>(unused_)) {
      Value end = *std::ranges::find(values_, port, &Value::port);
      LANISTA_CHECK(end.type.dtype == graph::DType::kReal, "tokens are read by nothing");
      ends.push_back(std::move(end));
    }
    Value all = ends[0];
    if (ends.size() > 1) {
      std::vector<Port> ports;
      const bool sum = rng_.bernoulli(0.3);
      const std::int64_t width = rng_.between(2, 5);
      for (const Value& end : ends) ports.push_back(sum ? linear(end, width).port : flattened(end).port);
      all = put(sum ? "add" : "concat", std::move(ports), {});
    }
    const auto& shape = all.type.shape;
    const bool fits = !options_.classes || (shape.rank() == 2 && shape.dims[1] >= 2);
    return fits && rng_.bernoulli(0.4) ? all.port : linear(all, rng_.between(2, 5)).port;
  }

  Rng rng_;
  const graph::OpTable& ops_;
  const RandomModelOptions& options_;
  std::vector<std::string> names_;
  graph::GraphBuilder builder_;
  std::vector<Value> values_;
  std::vector<Port> unused_;
};

}  // namespace

graph::Graph random_model(Rng rng, const graph::OpTable& ops, const RandomModelOptions& options) {
  graph::Graph model = ModelBuilder(rng, ops, options).grow();
  const auto verified = graph::verify(model, ops);
  LANISTA_CHECK(verified.ok(), verified ? "" : verified.error().text());
  return model;
}

std::vector<float> random_features(Rng& rng, const graph::Graph& model, const graph::OpTable& ops, std::int64_t n) {
  const graph::Node& input = model.node(model.nodes_of("input").front());
  const auto types = graph::infer_shapes(model, ops);
  LANISTA_CHECK(types.ok(), types ? "" : types.error().text());
  const ValueType& type = types->at({input.id});
  std::int64_t vocabulary = 0;
  for (const graph::Use use : model.consumers(input.id)) {
    const graph::AttrValue* given = model.node(use.node).attrs.find("vocab");
    const auto* size = given != nullptr ? std::get_if<std::int64_t>(given) : nullptr;
    if (size != nullptr) vocabulary = vocabulary == 0 ? *size : std::min(vocabulary, *size);
  }
  std::vector<float> features(static_cast<std::size_t>(type.shape.elements(n)));
  for (float& value : features) {
    if (type.dtype != graph::DType::kIndex) {
      value = static_cast<float>(rng.normal());
    } else if (rng.below(5) > 0) {
      value = static_cast<float>(rng.between(0, std::max<std::int64_t>(vocabulary, 1) - 1));
    } else {
      value = static_cast<float>(rng.bernoulli(0.5) ? vocabulary + rng.between(0, 3) : -rng.between(1, 4));
    }
  }
  return features;
}

}  // namespace lanista::testing
