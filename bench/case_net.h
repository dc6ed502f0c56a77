#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lanista/model/graph/graph.h"

namespace lanista::bench {

/// Classes of each case.
inline constexpr std::int64_t kCaseClasses = 10;

/// A builder of models that adds layers one by one. Parameters are in the order of the layers.
class Net {
 public:
  using List = std::vector<std::int64_t>;

  /// Starts a model for samples of the shape `sample`. `dtype` is "real" or "index" (token numbers).
  explicit Net(const List& sample, const std::string& dtype = "real")
      : input_{builder_.add("input", {}, {{"shape", sample}, {"dtype", dtype}}), 0} {}

  graph::Port input() const { return input_; }
  /// Adds the operator `op` after `from` and returns its output.
  graph::Port append(graph::Port from, const char* op, graph::Attrs attrs = {}) {
    return {builder_.add(op, {from}, std::move(attrs)), 0};
  }
  /// Adds a linear layer with `out` outputs.
  graph::Port linear(graph::Port from, std::int64_t out) { return append(from, "linear", {{"out", out}}); }
  /// Adds the sum of `values`.
  graph::Port add(std::vector<graph::Port> values) { return {builder_.add("add", std::move(values)), 0}; }

  /// Adds a square convolution without bias, and a batch norm. With stride 1 it keeps the size of the image.
  graph::Port conv_norm(graph::Port from, std::int64_t out, std::int64_t kernel, std::int64_t stride = 1) {
    const graph::Attrs attrs{{"out", out},
                             {"kernel", List{kernel}},
                             {"stride", List{stride}},
                             {"padding", List{kernel / 2}},
                             {"bias", false}};
    return append(append(from, "conv2d", attrs), "batch_norm");
  }
  /// Adds a 3x3 depthwise convolution without bias, and a batch norm.
  graph::Port depthwise_norm(graph::Port from, std::int64_t stride) {
    const graph::Attrs attrs{{"stride", List{stride}}, {"padding", List{1}}, {"bias", false}};
    return append(append(from, "depthwise_conv2d", attrs), "batch_norm");
  }

  /// Adds the last linear layer and the output, and returns the model.
  graph::Graph classify(graph::Port from) && {
    append(linear(from, kCaseClasses), "output");
    return std::move(builder_).take();
  }

 private:
  graph::GraphBuilder builder_;
  graph::Port input_;
};

}  // namespace lanista::bench
