// Operators of sequences as C++ text.
#include <cmath>

#include "lanista/io/formats/cpp_export/cpp_emitter_support.h"

namespace lanista::formats::cpp {
namespace {

std::string embedding(const CppNode& node) {
  constexpr std::string_view kForm = R"(std::vector<float> $y($size);
for (Index t = 0; t < $length; ++t) {
  const float token = $x[t];
  if (token >= 0 && token < $vocab) std::copy_n($weight + static_cast<Index>(token) * $dim, $dim, &$y[t * $dim]);
}
)";
  return fill_template(kForm, node,
                       {{"length", text(node.dims()[1])},
                        {"vocab", cpp_float(static_cast<double>(node.args.integer("vocab")))},
                        {"dim", text(node.args.integer("dim"))},
                        {"weight", node.param("weight")}});
}

std::string positional_embedding(const CppNode& node) {
  constexpr std::string_view kForm = R"(std::vector<float> $y($size);
for (Index i = 0; i < $size; ++i) $y[i] = $x[i] + $weight[i];
)";
  return fill_template(kForm, node, {{"weight", node.param("weight")}});
}

std::string scale_by(const CppNode& node) {
  constexpr std::string_view kForm = R"(std::vector<float> $y($size);
for (Index i = 0; i < $size; ++i) $y[i] = $x[i] * $by;
)";
  return fill_template(kForm, node, {{"by", cpp_float(node.args.real("by"))}});
}

std::string causal_mask(const CppNode& node) {
  constexpr std::string_view kForm = R"(std::vector<float> $y($size);
for (Index i = 0; i < $size; ++i) {
  $y[i] = i % $length > i / $length % $length ? -std::numeric_limits<float>::infinity() : $x[i];
}
)";
  return fill_template(kForm, node, {{"length", text(node.dims().back())}});
}

// Queries, keys and contents of a position are next to each other in `parts`, head by head.
std::string attention(const CppNode& node) {
  constexpr std::string_view kForm = R"(std::vector<float> $y($size);
{
  const auto dense = [](const float* x, const float* weight, const float* bias, Index out, float* y) {
    for (Index o = 0; o < out; ++o) {
      y[o] = bias[o];
      for (Index i = 0; i < $features; ++i) y[o] += x[i] * weight[o * $features + i];
    }
  };
  std::vector<float> parts(3 * $size), seen($size), weights($length);
  for (Index t = 0; t < $length; ++t) {
    dense(&$x[t * $features], $in_weight, $in_bias, 3 * $features, &parts[3 * t * $features]);
  }
  for (Index h = 0; h < $heads; ++h) {
    for (Index t = 0; t < $length; ++t) {
      const float* query = &parts[3 * t * $features + h * $width];
      float most = -std::numeric_limits<float>::infinity(), sum = 0;
      for (Index s = 0; s < $reach; ++s) {
        const float* key = &parts[(3 * s + 1) * $features + h * $width];
        weights[s] = 0;
        for (Index i = 0; i < $width; ++i) weights[s] += query[i] * key[i];
        weights[s] *= $scale;
        most = std::max(most, weights[s]);
      }
      for (Index s = 0; s < $reach; ++s) sum += weights[s] = std::exp(weights[s] - most);
      for (Index s = 0; s < $reach; ++s) {
        const float* content = &parts[(3 * s + 2) * $features + h * $width];
        for (Index i = 0; i < $width; ++i) seen[t * $features + h * $width + i] += weights[s] / sum * content[i];
      }
    }
  }
  for (Index t = 0; t < $length; ++t) {
    dense(&seen[t * $features], $out_weight, $out_bias, $features, &$y[t * $features]);
  }
}
)";
  const std::int64_t width = node.dims()[2] / node.args.integer("heads");
  return fill_template(kForm, node,
                       {{"length", text(node.dims()[1])},
                        {"features", text(node.dims()[2])},
                        {"heads", text(node.args.integer("heads"))},
                        {"width", text(width)},
                        {"reach", node.args.flag("causal") ? "t + 1" : text(node.dims()[1])},
                        {"scale", cpp_float(1 / std::sqrt(static_cast<double>(width)))},
                        {"in_weight", node.param("in_proj_weight")},
                        {"in_bias", node.param("in_proj_bias")},
                        {"out_weight", node.param("out_proj.weight")},
                        {"out_bias", node.param("out_proj.bias")}});
}

}  // namespace

CppEmitters sequence_emitters() {
  return {{"embedding", embedding},
          {"positional_embedding", positional_embedding},
          {"scale_by", scale_by},
          {"causal_mask", causal_mask},
          {"attention", attention}};
}

}  // namespace lanista::formats::cpp
