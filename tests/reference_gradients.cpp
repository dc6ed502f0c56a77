#include "reference_gradients.h"

#include <cmath>
#include <stdexcept>

namespace lanista::testing {
namespace {

using graph::Node;
using graph::NodeId;
using Values = std::vector<double>;

// Values and gradients of one sample.
class SampleGradients {
 public:
  SampleGradients(const graph::Graph& model, const std::map<std::string, Values>& parameters, double scale,
                  ReferenceStep& step)
      : model_(model), parameters_(parameters), scale_(scale), step_(step) {}

  void run(const Values& features, std::int32_t label) {
    const std::vector<NodeId> order = model_.topo();
    for (const NodeId id : order) value_[id] = forward(model_.node(id), features);
    NodeId last{};
    for (const NodeId id : order) {
      slope_[id].assign(value_[id].size(), 0);
      if (model_.node(id).op == "output") last = id;
    }
    const Values& logits = value_[last];
    double sum = 0;
    for (const double logit : logits) sum += std::exp(logit);
    step_.loss += scale_ * (std::log(sum) - logits[static_cast<std::size_t>(label)]);
    for (std::size_t c = 0; c < logits.size(); ++c) {
      slope_[last][c] = scale_ * (std::exp(logits[c]) / sum - (c == static_cast<std::size_t>(label) ? 1 : 0));
    }
    for (auto id = order.rbegin(); id != order.rend(); ++id) backward(model_.node(*id));
  }

 private:
  const Values& in(const Node& node, std::size_t i) const { return value_.at(node.inputs[i].node); }
  Values& slope_in(const Node& node, std::size_t i) { return slope_.at(node.inputs[i].node); }
  static std::string name(const Node& node, const char* parameter) {
    return "n" + std::to_string(node.id.value) + "." + parameter;
  }

  Values forward(const Node& node, const Values& features) {
    if (node.op == "input") return features;
    const Values& x = in(node, 0);
    if (node.op == "output" || node.op == "identity") return x;
    Values y;
    if (node.op == "linear") {
      const Values& w = parameters_.at(name(node, "weight"));
      y = parameters_.at(name(node, "bias"));
      for (std::size_t o = 0; o < y.size(); ++o) {
        for (std::size_t i = 0; i < x.size(); ++i) y[o] += w[o * x.size() + i] * x[i];
      }
    } else if (node.op == "relu") {
      for (const double v : x) y.push_back(v > 0 ? v : 0);
    } else if (node.op == "tanh") {
      for (const double v : x) y.push_back(std::tanh(v));
    } else if (node.op == "sigmoid") {
      for (const double v : x) y.push_back(1 / (1 + std::exp(-v)));
    } else if (node.op == "concat") {
      for (std::size_t i = 0; i < node.inputs.size(); ++i) y.insert(y.end(), in(node, i).begin(), in(node, i).end());
    } else if (node.op == "add" || node.op == "mul") {
      y = x;
      for (std::size_t i = 1; i < node.inputs.size(); ++i) {
        for (std::size_t e = 0; e < y.size(); ++e)
          y[e] = node.op == "add" ? y[e] + in(node, i)[e] : y[e] * in(node, i)[e];
      }
    } else {
      throw std::invalid_argument("no formula for " + node.op);
    }
    return y;
  }

  void backward(const Node& node) {
    if (node.op == "input") return;
    const Values dy = slope_.at(node.id);
    const Values& y = value_.at(node.id);
    if (node.op == "linear") return backward_linear(node, dy);
    std::size_t at = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Values& x = in(node, i);
      Values& dx = slope_in(node, i);
      for (std::size_t e = 0; e < x.size(); ++e) {
        if (node.op == "relu") {
          dx[e] += x[e] > 0 ? dy[e] : 0;
        } else if (node.op == "tanh") {
          dx[e] += dy[e] * (1 - y[e] * y[e]);
        } else if (node.op == "sigmoid") {
          dx[e] += dy[e] * y[e] * (1 - y[e]);
        } else if (node.op == "concat") {
          dx[e] += dy[at++];
        } else if (node.op == "mul") {
          double others = dy[e];
          for (std::size_t j = 0; j < node.inputs.size(); ++j) others *= j == i ? 1 : in(node, j)[e];
          dx[e] += others;
        } else {
          dx[e] += dy[e];
        }
      }
    }
  }

  void backward_linear(const Node& node, const Values& dy) {
    const Values& x = in(node, 0);
    const Values& w = parameters_.at(name(node, "weight"));
    Values& dw = step_.gradients[name(node, "weight")];
    Values& db = step_.gradients[name(node, "bias")];
    dw.resize(w.size());
    db.resize(dy.size());
    for (std::size_t o = 0; o < dy.size(); ++o) {
      db[o] += dy[o];
      for (std::size_t i = 0; i < x.size(); ++i) {
        dw[o * x.size() + i] += dy[o] * x[i];
        slope_in(node, 0)[i] += dy[o] * w[o * x.size() + i];
      }
    }
  }

  const graph::Graph& model_;
  const std::map<std::string, Values>& parameters_;
  double scale_;
  ReferenceStep& step_;
  std::map<NodeId, Values> value_, slope_;
};

}  // namespace

ReferenceStep reference_step(const graph::Graph& model, const std::map<std::string, std::vector<double>>& parameters,
                             const std::vector<float>& features, const std::vector<std::int32_t>& labels) {
  ReferenceStep step;
  const std::size_t width = features.size() / labels.size();
  for (std::size_t n = 0; n < labels.size(); ++n) {
    const auto begin = features.begin() + static_cast<std::ptrdiff_t>(n * width);
    SampleGradients(model, parameters, 1 / static_cast<double>(labels.size()), step)
        .run({begin, begin + static_cast<std::ptrdiff_t>(width)}, labels[n]);
  }
  return step;
}

}  // namespace lanista::testing
