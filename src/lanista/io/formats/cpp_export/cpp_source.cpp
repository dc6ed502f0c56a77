#include "lanista/io/formats/cpp_export/cpp_source.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/base/enum_table.h"
#include "lanista/io/formats/cpp_export/cpp_end.h"
#include "lanista/io/formats/cpp_export/cpp_text.h"
#include "lanista/io/formats/float_weights.h"
#include "lanista/model/graph/text.h"
#include "lanista/model/ops/op_rules.h"

namespace lanista::formats {
namespace {

constexpr std::int64_t kMaxWeights = std::int64_t{1} << 24;

constexpr std::string_view kHead =
    R"(// A trained model: $input in, $output out. Needs nothing but the C++17 standard library.
// predict() takes one sample, row-major, in the numbers of the raw data: normalisation is inside.$missing
// With LANISTA_MODEL_MAIN defined this is a program: samples on stdin, one a line; outputs on stdout.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace model {

using Index = std::ptrdiff_t;

constexpr Index input_size = $input_size;
constexpr Index output_size = $output_size;
)";

Error invalid(std::string message) { return {Code::kInvalidArgument, std::move(message), ""}; }

std::string identifier(std::string name) {
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

/// The shape of one sample of a value: "[3, 8, 8]".
std::string sample_text(const graph::Shape& shape) {
  return graph::ops::unbatched(graph::ops::without_batch(shape)).text();
}

Result<void> check_weights(const std::vector<Tensor>& weights) {
  for (const Tensor& weight : weights) {
    const auto values = elements_of<float>(weight);
    const auto wrong = std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
    if (wrong != values.end()) {
      return invalid("weight '" + weight.name + "' is not finite in element " + std::to_string(wrong - values.begin()));
    }
  }
  return {};
}

Result<void> check_normalization(const char* what, const std::vector<double>& values, const graph::Shape& input,
                                 bool divides) {
  const auto features = static_cast<std::size_t>(input.elements_per_sample());
  const std::size_t channels = input.rank() == 4 ? static_cast<std::size_t>(input.dims[1]) : features;
  if (values.size() > 1 && values.size() != channels && values.size() != features) {
    return invalid("the " + std::string(what) + " has " + std::to_string(values.size()) + " entries, the input " +
                   sample_text(input) + " needs none, 1, " +
                   (channels == features ? "" : std::to_string(channels) + " or ") + std::to_string(features));
  }
  for (const double value : values) {
    if (!std::isfinite(value) || (divides && value == 0)) {
      return invalid("the " + std::string(what) + " " + std::to_string(value) + " is " +
                     (value == 0 ? "nothing to divide by" : "not finite"));
    }
  }
  return {};
}

Result<void> check_unit_of_targets(const CppExport& options, const graph::Shape& output) {
  const auto &mean = options.target_mean, &scale = options.target_scale;
  const auto elements = output.elements_per_sample();
  if (mean.size() != scale.size() || (!mean.empty() && std::ssize(mean) != elements)) {
    return invalid("targets have " + std::to_string(mean.size()) + " means and " + std::to_string(scale.size()) +
                   " scales, the output " + sample_text(output) + " needs none, or " + std::to_string(elements));
  }
  const auto finite = [](double value) { return std::isfinite(value); };
  if (std::ranges::all_of(mean, finite) && std::ranges::all_of(scale, finite)) return {};
  return invalid("a mean or scale of the targets is not finite");
}

/// The declaration of "labels" or "features".
std::string names_text(const std::string& what, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::string out = "\ninline constexpr const char* " + what + "[" + std::to_string(names.size()) + "] = {\n";
  for (const std::string& name : names) out += "    " + cpp_string(name) + ",\n";
  return out + "};\n";
}

Result<std::string> statements(const graph::Graph& graph, const graph::Types& types, const CppExport& options,
                               const graph::OpTable& ops, const CppEmitters& emitters) {
  std::string out;
  for (const graph::NodeId id : graph.topo()) {
    const graph::Node& node = graph.node(id);
    const auto emitter = emitters.find(node.op);
    if (emitter == emitters.end()) {
      return Error{Code::kUnimplemented,
                   "operator '" + node.op + "' of node n" + std::to_string(id.value) + " has no form in C++", ""};
    }
    const auto in_types = types.inputs(node);
    const graph::OpArgs args{in_types, node.attrs, *ops.find(node.op)};
    const graph::Shape& shape = types.at({id, 0}).shape;
    CppNode view{args, shape, {}, std::to_string(id.value), options};
    for (const graph::Port port : node.inputs) view.inputs.push_back("v" + std::to_string(port.node.value));
    out += "\n// " + graph::node_text(node) + " gives " + sample_text(shape) + "\n" + emitter->second(view);
  }
  return out;
}

/// The source text of a checked model, in pieces.
struct Pieces {
  graph::Shape input, output;
  std::vector<Tensor> weights;
  std::string body;  ///< body of its predict()
};

Result<Pieces> pieces_of(const graph::Graph& graph, std::span<const Tensor> weights, const CppExport& options,
                         const graph::OpTable& ops, const CppEmitters& emitters) {
  LANISTA_TRY(graph::verify(graph, ops));
  LANISTA_ASSIGN(const graph::Types types, graph::infer_shapes(graph, ops));
  Pieces out{types.at({graph.nodes_of("input").front(), 0}).shape,
             types.at({graph.nodes_of("output").front(), 0}).shape,
             {},
             {}};
  LANISTA_TRY(check_normalization("mean", options.mean, out.input, false));
  LANISTA_TRY(check_normalization("scale", options.scale, out.input, true));
  LANISTA_TRY(check_normalization("missing", options.missing, out.input, false));
  LANISTA_TRY(check_unit_of_targets(options, out.output));
  LANISTA_ASSIGN(out.body, statements(graph, types, options, ops, emitters));
  LANISTA_ASSIGN(out.weights, float_weights(graph, ops, weights));
  LANISTA_TRY(check_weights(out.weights));
  return out;
}

Result<void> check_size(const std::vector<Pieces>& all) {
  std::int64_t total = 0;
  for (const Pieces& one : all) {
    for (const Tensor& weight : one.weights) total += weight.elements();
  }
  if (total <= kMaxWeights) return {};
  return Error{Code::kResourceExhausted,
               "a model of " + std::to_string(total) + " weights is too large for a source file; at most " +
                   std::to_string(kMaxWeights),
               ""};
}

std::string head_text(const Pieces& one, const CppExport& options) {
  std::string out = cpp_fill(kHead, {{"input", sample_text(one.input)},
                                     {"output", sample_text(one.output)},
                                     {"missing", options.missing.empty() ? "" : " A missing number is NaN."},
                                     {"input_size", std::to_string(one.input.elements_per_sample())},
                                     {"output_size", std::to_string(one.output.elements_per_sample())}});
  return out + names_text("labels", options.labels) + names_text("targets", options.targets) +
         names_text("features", options.features);
}

std::string normalizers_text(const CppExport& options) {
  std::string out;
  if (!options.mean.empty()) out += cpp_array<double>("double", "input_mean", options.mean);
  if (!options.scale.empty()) out += cpp_array<double>("double", "input_scale", options.scale);
  return out;
}

std::string missing_text(const CppExport& options) {
  if (options.missing.empty()) return "";
  // As in training: the replacement of a missing number is a float before it is normalised.
  const std::vector<float> missing(options.missing.begin(), options.missing.end());
  return cpp_array<float>("float", "input_missing", missing);
}

std::string unit_text(const CppExport& options) {
  if (options.target_mean.empty()) return "";
  return cpp_array<double>("double", "target_mean", options.target_mean) +
         cpp_array<double>("double", "target_scale", options.target_scale);
}

std::string weights_text(const Pieces& one) {
  std::string out;
  for (const Tensor& weight : one.weights) {
    out += cpp_array<float>("float", identifier(weight.name), elements_of<float>(weight));
  }
  return out;
}

std::string predict_text(const std::string& body, const char* name = "predict") {
  return "\ninline void " + std::string(name) + "(const float* input, float* output) {" + cpp_indent(body, 2) + "}\n";
}

Result<void> check_origins(const CppExport& options, const Pieces& one) {
  LANISTA_TRY(check_normalization("origin", options.origin, one.input, false));
  const auto outputs = one.output.elements_per_sample();
  if (options.target_origin.empty() || std::ssize(options.target_origin) == outputs) return {};
  return invalid("targets have " + std::to_string(options.target_origin.size()) + " origins, the output " +
                 sample_text(one.output) + " needs none, or " + std::to_string(outputs));
}

constexpr std::string_view kLogSum = R"(
/// log(exp(a) + exp(b))
inline double log_sum(double a, double b) {
  const double most = std::max(a, b);
  return std::isinf(most) ? most : most + std::log(std::exp(a - most) + std::exp(b - most));
}
)";

constexpr std::string_view kBlendNumbers = R"(
// The weighted mean of what the members predict.
std::vector<double> sum(output_size);
std::vector<float> one(output_size);
const auto add = [&](auto member, double share) {
  member(&normalised[0], one.data());
  for (Index i = 0; i < output_size; ++i) sum[i] += share * one[i];
};
$calls
for (Index i = 0; i < output_size; ++i) output[i] = static_cast<float>(sum[i]);
)";

constexpr std::string_view kBlendClasses = R"(
// The logarithm of the weighted mean of the members' probabilities: softmax gives the mean.
constexpr double none = -std::numeric_limits<double>::infinity();
std::vector<double> sum(output_size, none);
std::vector<float> one(output_size);
const auto add = [&](auto member, double share) {
  member(&normalised[0], one.data());
  for (Index row = 0; row < output_size; row += $classes) {
    double all = none;
    for (Index i = row; i < row + $classes; ++i) all = log_sum(all, one[i]);
    for (Index i = row; i < row + $classes; ++i) sum[i] = log_sum(sum[i], std::log(share) + one[i] - all);
  }
};
$calls
for (Index i = 0; i < output_size; ++i) output[i] = static_cast<float>(sum[i]);
)";

constexpr std::string_view kBlendLabels = R"(
// The logit of the weighted mean of the members' probabilities: a sigmoid gives the mean.
constexpr double none = -std::numeric_limits<double>::infinity();
std::vector<double> yes(output_size, none), no(output_size, none);
std::vector<float> one(output_size);
const auto add = [&](auto member, double share) {
  member(&normalised[0], one.data());
  for (Index i = 0; i < output_size; ++i) {
    yes[i] = log_sum(yes[i], std::log(share) - log_sum(0, -one[i]));
    no[i] = log_sum(no[i], std::log(share) - log_sum(0, one[i]));
  }
};
$calls
for (Index i = 0; i < output_size; ++i) output[i] = static_cast<float>(yes[i] - no[i]);
)";

constexpr EnumTable<Blend, std::string_view, 3> kBlendPatterns{
    {{Blend::kNumbers, kBlendNumbers}, {Blend::kClasses, kBlendClasses}, {Blend::kLabels, kBlendLabels}}};

std::string member_space(std::size_t k) { return "m" + std::to_string(k + 1); }

/// Statements that compute `normalised` from the raw numbers, for all members.
Result<std::string> normalised_text(const graph::Graph& graph, const CppExport& options, const graph::OpTable& ops,
                                    const CppEmitters& emitters) {
  LANISTA_ASSIGN(const graph::Types types, graph::infer_shapes(graph, ops));
  const graph::Node& node = graph.node(graph.nodes_of("input").front());
  const graph::OpArgs args{{}, node.attrs, *ops.find(node.op)};
  const CppNode view{args, types.at({node.id, 0}).shape, {}, std::to_string(node.id.value), options};
  return "\n" + emitters.find("input")->second(view) + "const auto& normalised = " + view.value() + ";\n";
}

CppExport without_normalisation(CppExport options) {
  options.mean.clear();
  options.scale.clear();
  options.missing.clear();
  return options;
}

}  // namespace

std::string CppNode::param(std::string_view name) const { return identifier("n" + id + "." + std::string(name)); }

Result<std::string> to_cpp(const graph::Graph& graph, std::span<const Tensor> weights, const CppExport& options,
                           const graph::OpTable& ops, const CppEmitters& emitters) {
  LANISTA_ASSIGN(const Pieces one, pieces_of(graph, weights, options, ops, emitters));
  LANISTA_TRY(check_size({one}));
  LANISTA_TRY(check_origins(options, one));
  return head_text(one, options) + normalizers_text(options) + missing_text(options) + unit_text(options) +
         weights_text(one) + predict_text(one.body, cpp_predict_name(options)) +
         cpp_end(one.output.elements_per_sample(), options);
}

Result<std::string> to_cpp(const BlendedModel& blended, const CppExport& options, const graph::OpTable& ops,
                           const CppEmitters& emitters) {
  LANISTA_CHECK(!blended.members.empty(), "a blend of nothing");
  std::vector<Pieces> all;
  std::vector<CppExport> units;
  const bool once = blended.shares_normalization();
  for (const BlendMember& member : blended.members) {
    CppExport& own = units.emplace_back(options);
    own.mean = member.mean;
    own.scale = member.scale;
    own.target_mean = member.target_mean;
    own.target_scale = member.target_scale;
    own.missing = member.missing;
    if (blended.members.size() == 1) return to_cpp(*member.graph, member.weights, own, ops, emitters);
    // The whole text is built; the part that is shared is omitted.
    auto whole = pieces_of(*member.graph, member.weights, own, ops, emitters);
    if (!whole) return Error{whole.error().code, member_space(all.size()) + ": " + whole.error().message, ""};
    if (once) {
      LANISTA_ASSIGN(whole, pieces_of(*member.graph, member.weights, without_normalisation(own), ops, emitters));
    }
    if (!all.empty() && (whole->input != all[0].input || whole->output != all[0].output)) {
      return invalid(member_space(all.size()) + " takes or gives other shapes than m1");
    }
    all.push_back(*std::move(whole));
  }
  LANISTA_TRY(check_size(all));
  LANISTA_TRY(check_origins(options, all[0]));

  std::string out = head_text(all[0], units[0]);
  if (once) out += missing_text(units[0]) + normalizers_text(units[0]);
  std::string calls;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const std::string name = member_space(k);
    out += "\nnamespace " + name + " {\n" + (once ? "" : missing_text(units[k]) + normalizers_text(units[k])) +
           unit_text(units[k]) + weights_text(all[k]) + predict_text(all[k].body) + "\n}  // namespace " + name + "\n";
    calls += (k == 0 ? "" : "\n") + ("add(" + name + "::predict, " + cpp_hex(blended.members[k].share) + ");");
  }
  std::string body = "\nconst float* normalised = input;\n";
  if (once) {
    LANISTA_ASSIGN(body, normalised_text(*blended.members[0].graph, units[0], ops, emitters));
  }
  const std::string classes = std::to_string(all[0].output.dims.back());
  if (blended.how != Blend::kNumbers) out += kLogSum;
  return out +
         predict_text(body + cpp_fill(entry_of(kBlendPatterns, blended.how), {{"calls", calls}, {"classes", classes}}),
                      cpp_predict_name(options)) +
         cpp_end(all[0].output.elements_per_sample(), options);
}

}  // namespace lanista::formats
