#include "lanista/io/formats/onnx/onnx_import.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "lanista/io/formats/onnx/onnx_rules.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats {
namespace {

using namespace onnx;

// The rules know every change of an operator between these versions. Later versions may change any meaning.
constexpr std::int64_t kFirstOpset = 9, kLastOpset = 28;
// A fixed batch times the elements of a sample fits into 64 bits.
constexpr std::int64_t kMaxBatch = std::int64_t{1} << 30;

/// Whether an input is token numbers, which a table turns into vectors.
bool is_tokens(const OnnxValueInfo& input) {
  return input.type == ElementType::kI64 || input.type == ElementType::kI32;
}

Result<void> check_model(const OnnxModel& model) {
  if (model.opset < kFirstOpset || model.opset > kLastOpset) {
    return unsupported("the model is of opset " + std::to_string(model.opset) + "; read are 9 to 28");
  }
  if (model.inputs.size() != 1 || model.outputs.size() != 1) {
    return unsupported("the model has " + std::to_string(model.inputs.size()) + " inputs and " +
                       std::to_string(model.outputs.size()) + " outputs; read are models with one of each");
  }
  const OnnxValueInfo& input = model.inputs.front();
  if (input.type != ElementType::kF32 && input.type != ElementType::kF64 && !is_tokens(input)) {
    return unsupported("the input " + in_quotes(input.name) + " is not of type float, double, int64 or int32");
  }
  if (input.shape.size() < 2 || std::any_of(input.shape.begin() + 1, input.shape.end(), [](auto d) { return d < 1; })) {
    return unsupported("the input " + in_quotes(input.name) + " has the shape " + graph::Shape{input.shape}.text() +
                       "; read are [N, features...] with all sizes but the batch known");
  }
  if (input.shape.front() > kMaxBatch) {
    return unsupported("the input " + in_quotes(input.name) + " has a batch of " + std::to_string(input.shape.front()) +
                       "; at most " + std::to_string(kMaxBatch));
  }
  return {};
}

/// Numbers that broadcast over a sample: one for all, one for each channel, or one for each feature.
std::optional<std::vector<double>> broadcast_values(const Tensor& tensor, const List& features) {
  List shape = tensor.shape;
  while (!shape.empty() && shape.front() == 1) shape.erase(shape.begin());
  List all = features;
  while (!all.empty() && all.front() == 1) all.erase(all.begin());
  const bool channels = features.size() == 3 && shape == List{features[0], 1, 1};
  if (tensor.type != ElementType::kF32 || (!shape.empty() && !channels && shape != all)) return std::nullopt;
  std::vector<double> values;
  for (const float value : elements_of<float>(tensor)) values.push_back(shortest_double(value));
  return values;
}

/// If the only reader of `value` is one `op` with a constant, returns its numbers and moves `value` to its result.
std::vector<double> extract_normalizer(const OnnxView& view, std::string_view op, const List& features,
                                       std::string& value) {
  const OnnxNode* node = view.sole_consumer(value, op);
  if (node == nullptr || node->inputs.size() != 2 || node->inputs[0] != value) return {};
  const Tensor* constant = view.constant(node->inputs[1]);
  const auto numbers = constant == nullptr ? std::nullopt : broadcast_values(*constant, features);
  if (!numbers || node->outputs.empty() || node->outputs.front().empty()) return {};
  const auto sane = [&](double number) { return std::isfinite(number) && (op != "Div" || number != 0); };
  if (!std::all_of(numbers->begin(), numbers->end(), sane)) return {};
  value = node->outputs.front();
  return *numbers;
}

/// The means, with the rounding error of floats where a second subtraction has it.
std::vector<double> extract_means(const OnnxView& view, const List& features, std::string& value) {
  std::vector<double> means = extract_normalizer(view, "Sub", features, value);
  std::string further = value;
  const std::vector<double> rest = extract_normalizer(view, "Sub", features, further);
  if (means.empty() || rest.size() != means.size()) return means;
  const auto exactly = [](double shortest_double) { return static_cast<double>(static_cast<float>(shortest_double)); };
  std::ranges::transform(means, rest, means.begin(),
                         [&](double mean, double lost) { return exactly(mean) + exactly(lost); });
  value = further;
  return means;
}

/// If the only reader of `value` replaces its NaNs by a constant, returns the numbers and moves `value` to the result.
std::vector<double> extract_missing(const OnnxView& view, const List& features, std::string& value) {
  const OnnxNode *test = view.consumer(value, "IsNaN"), *choice = view.consumer(value, "Where");
  if (test == nullptr || choice == nullptr || view.num_uses(value) != 2) return {};
  const bool fits = test->outputs.size() == 1 && view.num_uses(test->outputs[0]) == 1 && choice->inputs.size() == 3 &&
                    choice->inputs[0] == test->outputs[0] && choice->inputs[2] == value &&
                    choice->outputs.size() == 1 && !choice->outputs[0].empty();
  const Tensor* constant = fits ? view.constant(choice->inputs[1]) : nullptr;
  const auto numbers = constant == nullptr ? std::nullopt : broadcast_values(*constant, features);
  if (!numbers || !std::all_of(numbers->begin(), numbers->end(), [](double v) { return std::isfinite(v); })) return {};
  value = choice->outputs[0];
  return *numbers;
}

/// If a file of lanista ends with the unit of the targets, reads the numbers and moves `result` before these nodes.
void extract_targets(const OnnxView& view, std::string& result, ImportedModel& imported) {
  const OnnxNode* plus = view.producer(result, "Add");
  const OnnxNode* by = plus != nullptr && plus->inputs.size() == 2 ? view.producer(plus->inputs[0], "Mul") : nullptr;
  if (by == nullptr || by->inputs.size() != 2 || view.num_uses(by->outputs[0]) != 1) return;
  // Only lanista's files have initialisers with these names. In other files these nodes are ordinary layers.
  if (!plus->inputs[1].ends_with(".target_mean") || !by->inputs[1].ends_with(".target_scale")) return;
  const Tensor *mean = view.constant(plus->inputs[1]), *scale = view.constant(by->inputs[1]);
  if (mean == nullptr || scale == nullptr || view.constant(by->inputs[0]) != nullptr) return;
  if (mean->type != ElementType::kF32 || scale->type != ElementType::kF32 || mean->shape != scale->shape) return;
  const auto means = elements_of<float>(*mean), scales = elements_of<float>(*scale);
  if (!std::ranges::all_of(means, [](float x) { return std::isfinite(x); })) return;
  if (!std::ranges::all_of(scales, [](float x) { return std::isfinite(x) && x != 0; })) return;
  std::ranges::transform(means, std::back_inserter(imported.target_mean), shortest_double);
  std::ranges::transform(scales, std::back_inserter(imported.target_scale), shortest_double);
  result = by->inputs[0];
}

Result<Rewrite> match_node(const RewriteRules& rules, const NodeReader& node_reader) {
  const OnnxNode& node = node_reader.node();
  const auto found = rules.find(node.op);
  if (found == rules.end()) return unsupported("no operator of ours does this");
  if (node_reader.output() > 0 && node.op != "Split") {
    return unsupported("its output " + std::to_string(node_reader.output()) + " is read");
  }
  for (const RewriteRule& rule : found->second) {
    LANISTA_ASSIGN(Rewrite rewrite, rule(node_reader));
    if (rewrite.applies()) return rewrite;
  }
  return unsupported("is used in a way that no operator of ours does");
}

/// The error with the node in front, unless it already names the node that causes it.
Error at_node(const OnnxNode& node, Error error) {
  if (error.message.starts_with("node ")) return error;
  return with_location("node " + in_quotes(node.name) + " (" + in_quotes(node.op) + ")", std::move(error));
}

/// Checks that the declared shape of the output is the computed one. Other programs refuse such files.
Result<void> check_declared(const OnnxValueInfo& output, const List& dims) {
  bool fits = output.shape.empty() || output.shape.size() == dims.size();
  for (std::size_t i = 1; fits && i < output.shape.size(); ++i)
    fits = output.shape[i] < 1 || output.shape[i] == dims[i];
  if (fits) return {};
  return malformed("the output " + in_quotes(output.name) + " is declared as " + sizes_text(output.shape) +
                   ", but computed is " + sizes_text(dims));
}

/// Checks that there is one number of the targets' unit for each number of the output.
Result<void> check_extracted_targets(const ImportedModel& imported, const List& dims) {
  const List features(dims.begin() + 1, dims.end());
  const std::size_t entries = imported.target_mean.size();
  if (entries == 0 || static_cast<std::int64_t>(entries) == product(features)) return {};
  return malformed("it brings " + std::to_string(entries) + " targets into their unit, but its output is " +
                   sizes_text(dims));
}

/// Writes the values that are needed, each once, with the values that they read.
class ValueWriter {
 public:
  ValueWriter(const OnnxModel& model, OnnxView& view, ModelWriter& writer)
      : model_(model), view_(view), writer_(writer), scans_left_(kScans * (model.nodes.size() + kScans)) {}

  void add(const std::string& name, PlacedPort value) { values_.insert_or_assign(name, value); }

  /// The value `name`, which only nodes before node `end` may compute. Errors: those of rules and of their rewrites.
  Result<PlacedPort> value(const std::string& name, std::size_t end) {
    LANISTA_ASSIGN(const auto planned, plan(name, end));
    for (const PlannedNode& next : planned) {
      const auto written = write(next);
      if (!written) return at_node(*next.node, written.error());
      values_.insert_or_assign(next.result, *written);
      if (!next.rewrite.notice.empty()) ++notices_[next.rewrite.notice];
    }
    const auto found = values_.find(name);
    if (found == values_.end()) return unsupported("the output is not computed from the input");
    return found->second;
  }

  /// Folds the shapes of values, and integers that are computed from them.
  void fold_shapes() {
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
      const OnnxNode& node = model_.nodes[i];
      const bool shape = node.op == "Shape" && node.inputs.size() == 1 && node.outputs.size() == 1;
      if (!shape || view_.is_folded(node.inputs.front())) {
        view_.fold(node);
        continue;
      }
      const auto of = scans_left_ > 0 ? value(node.inputs.front(), i) : unsupported("it has too many shapes");
      if (of) {
        view_.fold_shape(node, file_dims(writer_, *of));
      } else {
        view_.set_failure(node.outputs.front(), of.error());
      }
    }
  }

  std::vector<std::string> notices() const {
    std::vector<std::string> lines;
    for (const auto& [notice, count] : notices_) lines.push_back(std::to_string(count) + " x " + notice);
    return lines;
  }

 private:
  /// The rewrite of one output of a node.
  struct PlannedNode {
    const OnnxNode* node;
    std::string result;
    Rewrite rewrite;
  };
  static constexpr std::size_t kScans = 1000;  // of nodes, for each node

  /// Rewrites of what `name` needs, in the order of the file.
  Result<std::vector<PlannedNode>> plan(const std::string& name, std::size_t end) {
    std::vector<PlannedNode> rewrites;
    std::set<std::string> needed;
    if (!values_.contains(name)) needed.insert(name);
    for (std::size_t i = end; i-- > 0 && !needed.empty();) {
      const OnnxNode& node = model_.nodes[i];
      scans_left_ -= scans_left_ > 0 ? 1 : 0;
      for (std::size_t k = node.outputs.size(); k-- > 0;) {
        if (needed.erase(node.outputs[k]) == 0) continue;
        auto rewrite = match_node(rules_, NodeReader(view_, node, k));
        if (!rewrite) return at_node(node, rewrite.error());
        for (const std::string& input : rewrite->input_values) {
          if (!values_.contains(input)) needed.insert(input);
        }
        rewrites.push_back({&node, node.outputs[k], *std::move(rewrite)});
      }
    }
    std::reverse(rewrites.begin(), rewrites.end());
    return rewrites;
  }

  Result<PlacedPort> write(const PlannedNode& planned) {
    std::vector<PlacedPort> inputs;
    for (const std::string& name : planned.rewrite.input_values) {
      const auto found = values_.find(name);
      if (found == values_.end()) return unsupported("reads " + in_quotes(name) + ", which is not computed");
      inputs.push_back(found->second);
    }
    if (planned.rewrite.emit_placed) return planned.rewrite.emit_placed(writer_, inputs);
    const BatchPlace place = inputs.empty() ? BatchPlace() : inputs.front().place;
    std::vector<graph::Port> ports;
    for (const PlacedPort& input : inputs) {
      ports.push_back(input.port);
      if (planned.rewrite.elementwise ? input.place == place : input.place.in_front()) continue;
      return unsupported("reads " + sizes_text(file_dims(writer_, input)) + ", where the batch is not in front");
    }
    LANISTA_ASSIGN(const graph::Port port, planned.rewrite.emit(writer_, ports));
    return PlacedPort{port, place};
  }

  const OnnxModel& model_;
  OnnxView& view_;
  ModelWriter& writer_;
  const RewriteRules rules_ = import_rules();
  std::map<std::string, PlacedPort, std::less<>> values_;
  std::map<std::string, int> notices_;
  std::size_t scans_left_;
};

/// Writes the output of the model, after checks of its shape.
Result<void> write_output(const OnnxModel& model, const PlacedPort& last, const ImportedModel& imported,
                          ModelWriter& writer) {
  if (!last.place.in_front()) {
    return unsupported("the output is " + sizes_text(file_dims(writer, last)) +
                       ": the batch does not stay in front of something");
  }
  LANISTA_TRY(check_extracted_targets(imported, writer.dims(last.port)));
  LANISTA_TRY(check_declared(model.outputs.front(), writer.dims(last.port)));
  return writer.add("output", {last.port}).ok() ? Result<void>() : malformed("the output has no shape");
}

/// Texts about weights that have another precision in the file.
void add_precision_notices(const OnnxModel& model, const OnnxView& view, std::vector<std::string>& notices) {
  if (model.half_tensors > 0) {
    notices.push_back(std::to_string(model.half_tensors) + " x constant of 16 bits: read as float32");
  }
  if (view.rounded_constants() > 0) {
    notices.push_back(std::to_string(view.rounded_constants()) +
                      " x constant of double precision: rounded to float32, or beyond its range");
  }
}

Result<ImportedModel> import_float_model(const OnnxModel& model, const OnnxImport& options) {
  LANISTA_TRY(check_model(model));
  ByteBudget budget{options.extra_bytes};
  LANISTA_ASSIGN(OnnxView view, OnnxView::make(model, budget));

  ImportedModel imported;
  const OnnxValueInfo& input = model.inputs.front();
  const List features(input.shape.begin() + 1, input.shape.end());
  std::string source = input.name;
  if (!is_tokens(input)) {
    imported.missing = extract_missing(view, features, source);
    imported.mean = extract_means(view, features, source);
    imported.scale = extract_normalizer(view, "Div", features, source);
  }
  view.set_source(source);

  const graph::OpTable ops = graph::builtin_ops();
  std::string result = model.outputs.front().name;
  extract_targets(view, result, imported);
  ModelWriter writer(ops, budget, input.shape.front());
  graph::Attrs attrs{{"shape", features}};
  if (is_tokens(input)) attrs.set("dtype", std::string("index"));
  LANISTA_ASSIGN(const graph::Port first, writer.add("input", {}, std::move(attrs)));
  ValueWriter values(model, view, writer);
  // Only shapes still read the input before its normalisation.
  values.add(input.name, {first, {}});
  values.add(source, {first, {}});
  values.fold_shapes();
  LANISTA_ASSIGN(const PlacedPort last, values.value(result, model.nodes.size()));
  LANISTA_TRY(write_output(model, last, imported, writer));
  imported.notices = values.notices();
  add_precision_notices(model, view, imported.notices);
  LANISTA_ASSIGN(auto finished, std::move(writer).finish());
  std::tie(imported.graph, imported.weights) = std::move(finished);
  return imported;
}

Result<ImportedModel> import_model(const OnnxModel& model, const OnnxImport& options) {
  const auto is_double = [](const OnnxValueInfo& value) { return value.type == ElementType::kF64; };
  const bool wide = std::ranges::any_of(model.inputs, is_double) || std::ranges::any_of(model.outputs, is_double);
  if (!wide) return import_float_model(model, options);
  OnnxModel narrow = model;
  OnnxOrigins origins = take_origins(narrow);
  LANISTA_ASSIGN(ImportedModel imported, import_float_model(narrow, options));
  imported.origins = std::move(origins);
  return imported;
}

}  // namespace

std::vector<double> whole_means(const ImportedModel& model) {
  const std::vector<double>&mean = model.mean, &origin = model.origins.input;
  std::vector<double> out(std::max(mean.size(), origin.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!mean.empty()) out[i] += mean[i * mean.size() / out.size()];
    if (!origin.empty()) out[i] += origin[i * origin.size() / out.size()];
  }
  return out;
}

Result<ImportedModel> from_onnx(const OnnxModel& model, const OnnxImport& options) {
  auto imported = import_model(model, options);
  if (!imported) return with_location("onnx", imported.error());
  return imported;
}

}  // namespace lanista::formats
