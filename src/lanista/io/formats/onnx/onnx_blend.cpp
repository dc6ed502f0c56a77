#include "lanista/io/formats/onnx/onnx_blend.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "lanista/base/check.h"
#include "lanista/base/portable_math.h"
#include "lanista/io/formats/onnx/onnx_export.h"

namespace lanista::formats {
namespace {

using Names = std::vector<std::string>;

class BlendWriter {
 public:
  BlendWriter(std::span<const double> shares, OnnxModel& model) : shares_(shares), model_(model) {}

  std::string add(std::string op, Names inputs, std::string value, OnnxWriter::Attributes attributes = {}) {
    model_.nodes.push_back({value, std::move(op), std::move(inputs), {value}, std::move(attributes)});
    return value;
  }

  std::string scalar(const std::string& name, double value) {
    Tensor tensor{name, ElementType::kF32, {}, std::vector<std::byte>(sizeof(float))};
    elements_of<float>(tensor)[0] = static_cast<float>(value);
    model_.initializers.push_back(std::move(tensor));
    return name;
  }

  /// The sum of values, each times its share.
  void mean(std::span<const std::string> values, const std::string& output) {
    Names parts;
    for (std::size_t k = 0; k < values.size(); ++k) {
      parts.push_back(add("Mul", {values[k], scalar(name("share", k), shares_[k])}, name("part", k)));
    }
    add("Sum", std::move(parts), output);
  }

  /// The logarithm of the weighted mean of what the values are the logarithms of: the largest is taken out, so that
  /// something is left of each.
  std::string log_mean(std::span<const std::string> logs, const std::string& of, const std::string& output) {
    Names weighted, parts;
    for (std::size_t k = 0; k < logs.size(); ++k) {
      const std::string share = scalar(name(of + ".log_share", k), portable_log(shares_[k]));
      weighted.push_back(add("Add", {logs[k], share}, name(of + ".weighted", k)));
    }
    const std::string most = add("Max", weighted, "blend." + of + ".most");
    for (std::size_t k = 0; k < logs.size(); ++k) {
      const std::string rest = add("Sub", {weighted[k], most}, name(of + ".rest", k));
      parts.push_back(add("Exp", {rest}, name(of + ".part", k)));
    }
    const std::string sum = add("Sum", std::move(parts), "blend." + of + ".sum");
    return add("Add", {most, add("Log", {sum}, "blend." + of + ".log")}, output);
  }

  void classes(std::span<const std::string> values, const std::string& output) {
    Names logs;
    for (std::size_t k = 0; k < values.size(); ++k) {
      logs.push_back(add("LogSoftmax", {values[k]}, name("logs", k), {{"axis", std::int64_t{-1}}}));
    }
    log_mean(logs, "classes", output);
  }

  void labels(std::span<const std::string> values, const std::string& output) {
    Names yes, no;
    for (std::size_t k = 0; k < values.size(); ++k) {
      // log(sigmoid(x)) is -softplus(-x).
      const std::string minus = add("Neg", {values[k]}, name("minus", k));
      yes.push_back(add("Neg", {add("Softplus", {minus}, name("not_yes", k))}, name("yes", k)));
      no.push_back(add("Neg", {add("Softplus", {values[k]}, name("not_no", k))}, name("no", k)));
    }
    const std::string most = log_mean(yes, "labels", "blend.yes");
    add("Sub", {most, log_mean(no, "others", "blend.no")}, output);
  }

 private:
  static std::string name(const std::string& of, std::size_t k) { return "blend." + of + "." + std::to_string(k + 1); }

  std::span<const double> shares_;
  OnnxModel& model_;
};

bool holds_node(const OnnxModel& model, const OnnxNode& node) {
  return std::ranges::any_of(model.nodes, [&](const OnnxNode& each) {
    return each.op == node.op && each.inputs == node.inputs && each.outputs == node.outputs &&
           each.attributes == node.attributes;
  });
}

/// What `output` of the model needs, as a model.
OnnxModel part_of(const OnnxModel& model, const std::string& output) {
  OnnxModel part = model;
  part.outputs.front().name = output;
  std::set<std::string> needed{output};
  part.nodes.clear();
  for (auto node = model.nodes.rbegin(); node != model.nodes.rend(); ++node) {
    if (std::ranges::none_of(node->outputs, [&](const std::string& name) { return needed.contains(name); })) continue;
    needed.insert(node->inputs.begin(), node->inputs.end());
    part.nodes.push_back(*node);
  }
  std::ranges::reverse(part.nodes);
  std::erase_if(part.initializers, [&](const Tensor& each) { return !needed.contains(each.name); });
  return part;
}

}  // namespace

bool BlendedModel::shares_normalization() const {
  return std::ranges::all_of(members, [&](const BlendMember& each) {
    const BlendMember& first = members.front();
    return each.mean == first.mean && each.scale == first.scale && each.missing == first.missing;
  });
}

std::string blend_prefix(std::size_t member) { return "m" + std::to_string(member + 1) + "."; }

void add_blend(Blend how, std::span<const std::string> values, std::span<const double> shares,
               const std::string& output, OnnxModel& model) {
  LANISTA_CHECK(values.size() == shares.size(), "every member has a share");
  BlendWriter writer(shares, model);
  switch (how) {
    case Blend::kNumbers:
      return writer.mean(values, output);
    case Blend::kClasses:
      return writer.classes(values, output);
    case Blend::kLabels:
      return writer.labels(values, output);
  }
}

Result<std::vector<OnnxModel>> blended_members(const OnnxModel& model, Blend how, std::span<const double> shares) {
  const auto malformed = [](const std::string& message) { return Error{Code::kDataLoss, "onnx: " + message, ""}; };
  if (model.outputs.size() != 1) return malformed("a blend has one output");
  Names values;
  for (std::size_t k = 0; k < shares.size(); ++k) values.push_back(blend_prefix(k) + "output");
  OnnxModel expected;
  add_blend(how, values, shares, model.outputs.front().name, expected);
  for (const OnnxNode& node : expected.nodes) {
    if (!holds_node(model, node)) return malformed("node '" + node.name + "' is not that of such a blend");
  }
  for (const Tensor& constant : expected.initializers) {
    if (std::ranges::find(model.initializers, constant) == model.initializers.end()) {
      return malformed("constant '" + constant.name + "' is not that of such a blend");
    }
  }
  std::vector<OnnxModel> members;
  for (const std::string& value : values) members.push_back(part_of(model, value));
  return members;
}

}  // namespace lanista::formats
