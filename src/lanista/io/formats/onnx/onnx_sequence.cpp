// ONNX mappings of the operators of sequences.
#include <cmath>
#include <limits>

#include "lanista/io/formats/onnx/onnx_sequence.h"

namespace lanista::formats::onnx {
namespace {

using List = std::vector<std::int64_t>;

// Gather refuses numbers outside of the table, or counts from its end. As in training, such numbers give zeros here.
Result<void> embedding(OnnxWriter& w) {
  const std::string first = w.integer("first", 0), last = w.integer("last", w.args().integer("vocab") - 1);
  const std::string token = w.add("Clip", {w.input(), first, last}, {}, "token");
  const std::string vectors = w.add("Gather", {w.param("weight"), token}, {{"axis", std::int64_t{0}}}, "vectors");
  const std::string known = w.add("Equal", {w.input(), token}, {}, "known");
  const std::string wide = w.add("Unsqueeze", {known, w.integers("axis", List{2})}, {}, "wide");
  w.add("Where", {wide, vectors, w.scalar("none", 0)});
  return {};
}

Result<void> positional_embedding(OnnxWriter& w) {
  w.add("Add", {w.input(), w.param("weight")});
  return {};
}

Result<void> scale_by(OnnxWriter& w) {
  w.add("Mul", {w.input(), w.scalar("by", static_cast<float>(w.args().real("by")))});
  return {};
}

/// Minus infinity above the diagonal, whatever the value is: Trilu removes even NaN.
std::string masked(OnnxWriter& w, const std::string& value, std::int64_t length, std::string_view part) {
  if (length == 1) return w.add("Identity", {value}, {}, part);
  std::vector<float> mask(static_cast<std::size_t>(length * length), 0);
  for (std::int64_t row = 0; row < length; ++row) {
    for (std::int64_t column = row + 1; column < length; ++column) {
      mask[static_cast<std::size_t>(row * length + column)] = -std::numeric_limits<float>::infinity();
    }
  }
  const std::string below = w.add("Trilu", {value}, {{"upper", std::int64_t{0}}}, "below");
  return w.add("Add", {below, w.floats("mask", {length, length}, mask)}, {}, part);
}

Result<void> causal_mask(OnnxWriter& w) {
  masked(w, w.input(), w.dims().back(), "");
  return {};
}

/// Writes value weight^T + bias.
std::string dense(OnnxWriter& w, const std::string& value, const std::string& weight, const std::string& bias,
                  const std::string& part, std::string_view result) {
  const std::string matrix = w.add("Transpose", {w.param(weight)}, {{"perm", List{1, 0}}}, part + ".matrix");
  const std::string product = w.add("MatMul", {value, matrix}, {}, part + ".product");
  return w.add("Add", {product, w.param(bias)}, {}, result);
}

// The parts are those of training (graph/ops/sequence.cpp), without dropout.
Result<void> attention(OnnxWriter& w) {
  const std::int64_t t = w.dims()[1], d = w.dims()[2], heads = w.args().integer("heads"), width = d / heads;
  const std::string all = dense(w, w.input(), "in_proj_weight", "in_proj_bias", "in_proj", "in_proj.sum");
  const std::string split =
      w.add("Reshape", {all, w.integers("split_shape", List{0, t, 3, heads, width})}, {}, "split");
  const std::string by_head = w.add("Transpose", {split}, {{"perm", List{0, 2, 3, 1, 4}}}, "by_head");
  const std::string axis = w.integers("axis", List{1});
  const auto part = [&](std::int64_t i, const std::string& name) {
    return w.add("Slice", {by_head, w.integers(name + ".start", List{i}), w.integers(name + ".end", List{i + 1}), axis},
                 {}, name);
  };
  const std::string query = part(0, "query"), key = part(1, "key"), content = part(2, "content");
  const std::string is_transposed = w.add("Transpose", {key}, {{"perm", List{0, 1, 2, 4, 3}}}, "turned");
  const std::string product = w.add("MatMul", {query, is_transposed}, {}, "product");
  const std::string scale = w.scalar("scale", static_cast<float>(1 / std::sqrt(static_cast<double>(width))));
  std::string weights = w.add("Mul", {product, scale}, {}, "scaled");
  if (w.args().flag("causal")) weights = masked(w, weights, t, "masked");
  weights = w.add("Softmax", {weights}, {{"axis", std::int64_t{-1}}}, "weights");
  const std::string seen = w.add("MatMul", {weights, content}, {}, "seen");
  const std::string by_position = w.add("Transpose", {seen}, {{"perm", List{0, 3, 1, 2, 4}}}, "by_position");
  const std::string joined = w.add("Reshape", {by_position, w.integers("joined_shape", List{0, t, d})}, {}, "joined");
  dense(w, joined, "out_proj.weight", "out_proj.bias", "out_proj", "");
  return {};
}

}  // namespace

OnnxMappings sequence_mappings() {
  return {{"embedding", embedding},
          {"positional_embedding", positional_embedding},
          {"scale_by", scale_by},
          {"causal_mask", causal_mask},
          {"attention", attention}};
}

}  // namespace lanista::formats::onnx
