// The inference form of every operator as C++ text. Values of one sample are row-major: [C, H, W], [rows, features].
#include <utility>

#include "lanista/io/formats/cpp_export/cpp_emitter_support.h"
#include "lanista/model/ops/op_rules.h"

namespace lanista::formats {
namespace cpp {

std::string fill_template(std::string_view pattern, const CppNode& node, const CppValues& more) {
  CppValues values = more;
  values.emplace("y", node.value());
  values.emplace("size", text(node.shape.elements_per_sample()));
  if (!node.inputs.empty()) values.emplace("x", node.inputs.front());
  return cpp_fill(pattern, values);
}

std::string plus_param(const CppNode& node, bool is_present, std::string_view param, std::string_view index) {
  return is_present ? " + " + node.param(param) + "[" + std::string(index) + "]" : "";
}

std::string times_param(const CppNode& node, bool is_present, std::string_view param, std::string_view index) {
  return is_present ? " * " + node.param(param) + "[" + std::string(index) + "]" : "";
}

namespace {

using graph::ops::without_batch;

std::int64_t elements(const std::vector<std::int64_t>& dims) {
  return graph::ops::unbatched(dims).elements_per_sample();
}

/// An emitter of y[i] = expression; the expression may use the inputs $x (or $a) and $b.
CppEmitter each(std::string expression) {
  return [pattern = "std::vector<float> $y($size);\nfor (Index i = 0; i < $size; ++i) $y[i] = " +
                    std::move(expression) + ";\n"](const CppNode& node) {
    return fill_template(pattern, node, {{"a", node.inputs.front()}, {"b", node.inputs.back()}});
  };
}

/// The emitter of an element-wise operator from ExportForms::cpp.
CppEmitter elementwise(const std::string& expression) {
  if (expression.find("[i]") != std::string::npos) return each(expression);
  return [expression](const CppNode& node) {
    constexpr std::string_view kForm = R"(std::vector<float> $y($size);
for (Index i = 0; i < $size; ++i) {
  const float v = $x[i];
  $y[i] = $number;
}
)";
    CppValues values;
    for (const graph::AttrSpec& attr : node.args.def.attrs) values[attr.name] = cpp_float(node.args.real(attr.name));
    return fill_template(kForm, node, {{"number", cpp_fill(expression, values)}});
  };
}

/// An alias for a value.
std::string alias(const CppNode& node) { return fill_template("const auto& $y = $x;\n", node); }

// The text input_mean[...] or input_scale[...] for the feature i.
std::string normalizer(const CppNode& node, const std::string& name, std::size_t entries) {
  const std::int64_t features = node.shape.elements_per_sample();
  if (entries == 1) return name + "[0]";
  if (static_cast<std::int64_t>(entries) == features) return name + "[i]";
  return name + "[i / " + text(features / static_cast<std::int64_t>(entries)) + "]";
}

std::string input(const CppNode& node) {
  const auto &mean = node.options.mean, &scale = node.options.scale, &missing = node.options.missing;
  if (mean.empty() && scale.empty() && missing.empty()) return fill_template("const float* $y = input;\n", node);
  std::string number = "input[i]";
  if (!missing.empty()) {
    number = "(std::isnan(input[i]) ? " + normalizer(node, "input_missing", missing.size()) + " : input[i])";
  }
  if (!mean.empty()) number = "(" + number + " - " + normalizer(node, "input_mean", mean.size()) + ")";
  if (!scale.empty()) number += " / " + normalizer(node, "input_scale", scale.size());
  return each("static_cast<float>(" + number + ")")({node.args, node.shape, {""}, node.id, node.options});
}

std::string output(const CppNode& node) {
  if (node.options.target_mean.empty()) return fill_template("std::copy_n(&$x[0], $size, output);\n", node);
  constexpr std::string_view kForm = R"(for (Index i = 0; i < $size; ++i) {
  output[i] = static_cast<float>($x[i] * target_scale[i] + target_mean[i]);
}
)";
  return fill_template(kForm, node);
}

// Compilers warn about a value that is never read.
std::string zero(const CppNode& node) {
  return fill_template("std::vector<float> $y($size);\nstatic_cast<void>($x);\n", node);
}

std::string add(const CppNode& node) {
  std::string sum;
  for (const std::string& value : node.inputs) sum += (sum.empty() ? "" : " + ") + value + "[i]";
  return each(sum)(node);
}

std::string linear(const CppNode& node) {
  constexpr std::string_view kForm = R"(std::vector<float> $y($size);
for (Index r = 0; r < $rows; ++r) {
  for (Index o = 0; o < $out; ++o) {
    float sum = 0;
    for (Index i = 0; i < $in; ++i) sum += $x[r * $in + i] * $weight[o * $in + i];
    $y[r * $out + o] = sum$bias;
  }
}
)";
  const std::int64_t in = node.dims().back(), out = node.args.integer("out");
  return fill_template(kForm, node,
                       {{"rows", text(node.shape.elements_per_sample() / out)},
                        {"in", text(in)},
                        {"out", text(out)},
                        {"weight", node.param("weight")},
                        {"bias", plus_param(node, node.args.flag("bias"), "bias", "o")}});
}

std::string matmul(const CppNode& node) {
  constexpr std::string_view kForm = R"(std::vector<float> $y($size);
for (Index s = 0; s < $matrices; ++s) {
  for (Index m = 0; m < $rows; ++m) {
    for (Index n = 0; n < $columns; ++n) {
      float sum = 0;
      for (Index k = 0; k < $depth; ++k) {
        sum += $a[s * $rows * $depth + $place_a] * $b[s * $depth * $columns + $place_b];
      }
      $y[(s * $rows + m) * $columns + n] = sum;
    }
  }
}
)";
  const auto& a = node.dims(0);
  const bool ta = node.args.flag("transpose_a"), tb = node.args.flag("transpose_b");
  const std::int64_t rows = node.shape.dims[node.shape.rank() - 2], columns = node.shape.dims.back();
  const std::int64_t depth = ta ? a[a.size() - 2] : a.back();
  return fill_template(kForm, node,
                       {{"a", node.inputs[0]},
                        {"b", node.inputs[1]},
                        {"matrices", text(node.shape.elements_per_sample() / (rows * columns))},
                        {"rows", text(rows)},
                        {"columns", text(columns)},
                        {"depth", text(depth)},
                        {"place_a", ta ? "k * " + text(rows) + " + m" : "m * " + text(depth) + " + k"},
                        {"place_b", tb ? "n * " + text(depth) + " + k" : "k * " + text(columns) + " + n"}});
}

std::string batch_norm(const CppNode& node) {
  constexpr std::string_view kForm = R"(std::vector<float> $y($size);
for (Index c = 0; c < $channels; ++c) {
  const float slope = 1 / std::sqrt($var[c] + $eps)$weight;
  for (Index i = c * $positions; i < (c + 1) * $positions; ++i) $y[i] = ($x[i] - $mean[c]) * slope$bias;
}
)";
  const bool affine = node.args.flag("affine");
  return fill_template(kForm, node,
                       {{"channels", text(node.dims()[1])},
                        {"positions", text(node.shape.elements_per_sample() / node.dims()[1])},
                        {"eps", cpp_float(node.args.real("eps"))},
                        {"mean", node.param("running_mean")},
                        {"var", node.param("running_var")},
                        {"weight", times_param(node, affine, "weight", "c")},
                        {"bias", plus_param(node, affine, "bias", "c")}});
}

/// Normalises `rows` runs of numbers. `index_text` is the index of number i of row r in weight and bias.
std::string normalized_rows(const CppNode& node, std::int64_t rows, const std::string& index_text) {
  constexpr std::string_view kForm = R"(std::vector<float> $y($size);
for (Index r = 0; r < $rows; ++r) {
  const auto* x = &$x[r * $length];
  float mean = 0, squares = 0;
  for (Index i = 0; i < $length; ++i) mean += x[i] / $count;
  for (Index i = 0; i < $length; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const float slope = 1 / std::sqrt(squares / $count + $eps);
  for (Index i = 0; i < $length; ++i) $y[r * $length + i] = (x[i] - mean) * slope$weight$bias;
}
)";
  const bool affine = node.args.flag("affine");
  const std::int64_t length = node.shape.elements_per_sample() / rows;
  const CppValues lengths{{"length", text(length)}};
  return fill_template(kForm, node,
                       {{"rows", text(rows)},
                        {"length", text(length)},
                        {"count", cpp_float(static_cast<double>(length))},
                        {"eps", cpp_float(node.args.real("eps"))},
                        {"weight", times_param(node, affine, "weight", cpp_fill(index_text, lengths))},
                        {"bias", plus_param(node, affine, "bias", cpp_fill(index_text, lengths))}});
}

std::string layer_norm(const CppNode& node) {
  const auto& dims = node.dims();
  return normalized_rows(node, elements({dims.begin() + 1, dims.end() - node.args.integer("axes")}), "i");
}

std::string group_norm(const CppNode& node) {
  const std::string positions = text(node.shape.elements_per_sample() / node.dims()[1]);
  return normalized_rows(node, node.args.integer("groups"), "(r * $length + i) / " + positions);
}

std::string softmax(const CppNode& node) {
  constexpr std::string_view kForm = R"(std::vector<float> $y($size);
for (Index r = 0; r < $outer; ++r) {
  for (Index c = 0; c < $inner; ++c) {
    const auto* x = &$x[r * $length * $inner + c];
    float* y = &$y[r * $length * $inner + c];
    float most = x[0], sum = 0;
    for (Index i = 1; i < $length; ++i) most = std::max(most, x[i * $inner]);
    for (Index i = 0; i < $length; ++i) sum += y[i * $inner] = std::exp(x[i * $inner] - most);
    for (Index i = 0; i < $length; ++i) y[i * $inner] /= sum;
  }
}
)";
  const auto& dims = node.dims();
  const std::int64_t axis = node.args.integer("axis");
  const auto at = dims.begin() + (axis < 0 ? axis + static_cast<std::int64_t>(dims.size()) : axis);
  return fill_template(kForm, node,
                       {{"outer", text(elements({dims.begin() + 1, at}))},
                        {"length", text(*at)},
                        {"inner", text(elements({at + 1, dims.end()}))}});
}

/// Distances between neighbouring indices of each dimension, for row-major dims.
std::vector<std::int64_t> strides(const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> out(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) out[i - 1] = out[i] * dims[i];
  return out;
}

/// The text of an index: "i0 * 12 + i2 * 4", or "0".
std::string index_text(const std::vector<std::pair<std::size_t, std::int64_t>>& terms) {
  std::string out;
  for (const auto& [counter, step] : terms) {
    out += (out.empty() ? "i" : " + i") + std::to_string(counter) + " * " + text(step);
  }
  return out.empty() ? "0" : out;
}

std::string transpose(const CppNode& node) {
  const auto& axes = node.args.list("axes");
  const auto steps = strides(without_batch(node.args.inputs[0].shape));
  std::vector<std::pair<std::size_t, std::int64_t>> terms;
  for (std::size_t i = 1; i < axes.size(); ++i) {
    terms.emplace_back(i - 1, steps[static_cast<std::size_t>(axes[i] - 1)]);
  }
  const std::string body = fill_template("$y[$y_at++] = $x[$place];\n", node,
                                         {{"place", index_text(terms)}, {"y_at", node.value() + "_at"}});
  return fill_template("std::vector<float> $y($size);\nIndex $y_at = 0;\n", node, {{"y_at", node.value() + "_at"}}) +
         cpp_loops(without_batch(node.shape), body);
}

std::string mean(const CppNode& node) {
  const auto& axes = node.args.list("axes");
  const std::vector<std::int64_t> dims = without_batch(node.args.inputs[0].shape);
  std::vector<std::int64_t> kept = dims;
  for (const std::int64_t axis : axes) kept[static_cast<std::size_t>(axis - 1)] = 1;
  const auto steps = strides(kept);
  std::vector<std::pair<std::size_t, std::int64_t>> terms;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (kept[i] == dims[i]) terms.emplace_back(i, steps[i]);
  }
  const double count = static_cast<double>(elements(dims)) / static_cast<double>(elements(kept));
  const CppValues more{{"y_at", node.value() + "_at"}, {"place", index_text(terms)}, {"count", cpp_float(count)}};
  return fill_template("std::vector<float> $y($size);\nIndex $y_at = 0;\n", node, more) +
         cpp_loops(dims, fill_template("$y[$place] += $x[$y_at++];\n", node, more)) +
         fill_template("for (float& value : $y) value /= $count;\n", node, more);
}

std::string pad(const CppNode& node) {
  constexpr std::string_view kForm = R"(std::vector<float> $y($size);
for (Index k = 0; k < $channels; ++k) {
  for (Index r = 0; r < $rows; ++r) {
    const Index to = (k * $result_rows + r + $top) * $result_columns + $left;
    std::copy_n(&$x[(k * $rows + r) * $columns], $columns, &$y[to]);
  }
}
)";
  const auto& pads = node.args.list("pads");
  return fill_template(kForm, node,
                       {{"channels", text(node.dims()[1])},
                        {"rows", text(node.dims()[2])},
                        {"columns", text(node.dims()[3])},
                        {"result_rows", text(node.shape.dims[2])},
                        {"result_columns", text(node.shape.dims[3])},
                        {"top", text(pads[0])},
                        {"left", text(pads[2])}});
}

std::string concat(const CppNode& node) {
  constexpr std::string_view kForm =
      R"(for (Index r = 0; r < $outer; ++r) std::copy_n(&$x[r * $run], $run, &$y[r * $all + $begin]);
)";
  const auto axis = node.args.integer("axis");
  const auto run_of = [axis](const std::vector<std::int64_t>& dims) {
    return elements({dims.begin() + axis, dims.end()});
  };
  const std::int64_t all = run_of(node.shape.dims);
  std::string out = fill_template("std::vector<float> $y($size);\n", node);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const std::int64_t run = run_of(node.dims(i));
    out += cpp_fill(kForm, {{"x", node.inputs[i]},
                            {"y", node.value()},
                            {"outer", text(node.shape.elements_per_sample() / all)},
                            {"run", text(run)},
                            {"all", text(all)},
                            {"begin", text(begin)}});
    begin += run;
  }
  return out;
}

}  // namespace
}  // namespace cpp

CppEmitters cpp_emitters() {
  using namespace cpp;
  CppEmitters emitters = window_emitters();
  emitters.merge(sequence_emitters());
  emitters.merge(image_emitters());
  emitters.insert({{"input", input},
                   {"output", output},
                   {"linear", linear},
                   {"matmul", matmul},
                   {"batch_norm", batch_norm},
                   {"layer_norm", layer_norm},
                   {"group_norm", group_norm},
                   {"softmax", softmax},
                   {"identity", alias},
                   {"dropout", alias},
                   {"flatten", alias},
                   {"reshape", alias},
                   {"zero", zero},
                   {"transpose", transpose},
                   {"pad", pad},
                   {"mean", mean},
                   {"add", add},
                   {"concat", concat}});
  const graph::OpTable ops = graph::builtin_ops();
  for (const std::string& name : ops.names()) {
    const std::string& expression = ops.find(name)->exports.cpp;
    if (!expression.empty()) emitters.emplace(name, elementwise(expression));
  }
  return emitters;
}

}  // namespace lanista::formats
