#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lanista/model/graph/graph.h"

namespace lanista::bench {

inline constexpr std::int64_t kCaseClasses = 10;

/// Adds layers that read one value; the order of adding is the order of parameters.
class Net {
 public:
  using List = std::vector<std::int64_t>;

  explicit Net(const List& sample, const std::string& dtype = "real")
      : input_{builder_.add("input", {}, {{"shape", sample}, {"dtype", dtype}}), 0} {}

  graph::Port input() const { return input_; }
  graph::Port append(graph::Port from, const char* op, graph::Attrs attrs = {}) {
    return {builder_.add(op, {from}, std::move(attrs)), 0};
  }
  graph::Port linear(graph::Port from, std::int64_t out) { return append(from, "linear", {{"out", out}}); }
  graph::Port add(std::vector<graph::Port> values) { return {builder_.add("add", std::move(values)), 0}; }

  /// A square convolution without bias that keeps the size at stride 1, normalised.
  graph::Port conv_norm(graph::Port from, std::int64_t out, std::int64_t kernel, std::int64_t stride = 1) {
    const graph::Attrs attrs{{"out", out},
                             {"kernel", List{kernel}},
                             {"stride", List{stride}},
                             {"padding", List{kernel / 2}},
                             {"bias", false}};
    return append(append(from, "conv2d", attrs), "batch_norm");
  }
  graph::Port depthwise_norm(graph::Port from, std::int64_t stride) {
    const graph::Attrs attrs{{"stride", List{stride}}, {"padding", List{1}}, {"bias", false}};
    return append(append(from, "depthwise_conv2d", attrs), "batch_norm");
  }

  graph::Graph classify(graph::Port from) && {
    append(linear(from, kCaseClasses), "output");
    return std::move(builder_).take();
  }

 private:
  graph::GraphBuilder builder_;
  graph::Port input_;
};

}  // namespace lanista::bench
