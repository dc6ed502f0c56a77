// Where with a comparison as its condition.
#include <algorithm>
#include <cmath>
#include <utility>

#include "lanista/io/formats/onnx/onnx_pointwise.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

/// A comparison of a value with a number.
struct Comparison {
  std::string x;
  double bound = 0;
  bool above = false;  ///< x > bound, else x < bound
  bool equal = false;  ///< true where x is the bound, too
};

std::optional<Comparison> comparison_of(const OnnxView& view, const std::string& name) {
  const OnnxNode* node = view.producer(name);
  if (node != nullptr && node->op == "Cast") node = view.producer(node->inputs[0]);  // to bool
  if (node == nullptr || node->inputs.size() != 2) return std::nullopt;
  const bool greater = node->op.starts_with("Greater"), equal = node->op.ends_with("OrEqual");
  if (!greater && !node->op.starts_with("Less")) return std::nullopt;
  for (const std::size_t i : {0U, 1U}) {
    const auto bound = view.scalar(node->inputs[1 - i]);
    if (bound) return Comparison{node->inputs[i], shortest_double(*bound), greater == (i == 0), equal};
  }
  return std::nullopt;
}

/// Whether a value is `x` plus this number, written as a sum or a difference.
bool is_shifted(const OnnxView& view, const std::string& name, const std::string& x, double by) {
  const OnnxNode* node = view.producer(name);
  if (node == nullptr || node->inputs.size() != 2 || node->inputs[0] != x) return false;
  const auto number = view.scalar(node->inputs[1]);
  if (!number || (node->op != "Add" && node->op != "Sub")) return false;
  return shortest_double(*number) == (node->op == "Add" ? by : -by);
}

/// Whether a value is `x` minus its sign times a number.
bool is_shrunk(const OnnxView& view, const std::string& name, const std::string& x, double by) {
  const OnnxNode* difference = view.producer(name, "Sub");
  if (difference == nullptr || difference->inputs.size() != 2 || difference->inputs[0] != x) return false;
  const OnnxNode* product = view.producer(difference->inputs[1], "Mul");
  const OnnxNode* sign =
      product != nullptr && product->inputs.size() == 2 ? view.producer(product->inputs[0], "Sign") : nullptr;
  const auto number = sign != nullptr ? view.scalar(product->inputs[1]) : std::nullopt;
  return number && shortest_double(*number) == by && sign->inputs == std::vector<std::string>{x};
}

/// 1 where a comparison holds, else 0. A gradient does not pass.
Result<Port> step_of(ModelWriter& w, Port x, const Comparison& test) {
  constexpr double kSteep = 3e38;  // makes every difference of two floats above 1
  // x >= c is the opposite of x < c.
  const bool above = test.equal != test.above;
  LANISTA_ASSIGN(Port step, scaled(w, x, above ? 1 : -1));
  LANISTA_ASSIGN(step, shifted(w, step, above ? -test.bound : test.bound));
  LANISTA_ASSIGN(step, w.add("relu", {step}));
  LANISTA_ASSIGN(step, w.add("scale_by", {step}, {{"by", kSteep}}));
  LANISTA_ASSIGN(step, w.add("clip", {step}, {{"min", 0.0}, {"max", 1.0}}));
  if (!test.equal) return step;
  LANISTA_ASSIGN(step, scaled(w, step, -1));
  return shifted(w, step, 1);
}

/// A condition of one comparison, or of two that are joined by And or Or.
struct Condition {
  std::vector<Comparison> tests;
  bool any = false;  ///< Or, else And
};

std::optional<Condition> condition_of(const OnnxView& view, const std::string& name) {
  if (const auto test = comparison_of(view, name)) return Condition{{*test}, false};
  const OnnxNode* node = view.producer(name);
  if (node == nullptr || node->inputs.size() != 2 || (node->op != "And" && node->op != "Or")) return std::nullopt;
  Condition both{{}, node->op == "Or"};
  for (const std::string& input : node->inputs) {
    const auto test = comparison_of(view, input);
    if (!test) return std::nullopt;
    both.tests.push_back(*test);
  }
  return both;
}

/// Whether a value is finite wherever the model's values are: a number, a value that a comparison reads, or another
/// choice of such values.
bool is_bounded(const OnnxView& view, const std::string& name, const Condition& condition) {
  const auto reads = [&](const Comparison& test) {
    const OnnxNode* change = view.producer(test.x);
    const bool finite = change != nullptr && (change->op == "Abs" || change->op == "Mul");
    return test.x == name || (finite && std::ranges::count(change->inputs, name) > 0);
  };
  if (std::ranges::any_of(condition.tests, reads) || view.producer(name, "Where") != nullptr) return true;
  const OnnxNode* quotient = view.producer(name, "Div");
  return quotient != nullptr && view.producer(quotient->inputs[0], "Softplus") != nullptr;
}

/// Where of two values as step a + (1 - step) b. The values must be finite, since zero times infinity is NaN.
RewriteResult choice_by_steps(const NodeReader& node_reader) {
  const OnnxView& view = node_reader.view();
  const auto& names = node_reader.node().inputs;
  const auto condition = condition_of(view, names[0]);
  if (!condition) return Rewrite{};
  std::vector<std::string> values;
  for (const Comparison& test : condition->tests) values.push_back(test.x);
  std::vector<std::optional<float>> numbers;
  for (const std::size_t i : {1U, 2U}) {
    numbers.push_back(view.scalar(names[i]));
    if (numbers.back()) {
      if (!std::isfinite(*numbers.back())) return unsupported("it chooses a number that is not finite");
      continue;
    }
    if (!is_bounded(view, names[i], *condition)) {
      return unsupported("it chooses between values by a comparison, and " + in_quotes(names[i]) + " may be infinite");
    }
    values.push_back(names[i]);
  }
  return elementwise(
      Rewrite{std::move(values), [tests = *condition, numbers](ModelWriter& w, Ports inputs) -> Result<Port> {
                LANISTA_ASSIGN(Port step, step_of(w, inputs[0], tests.tests[0]));
                std::size_t next = tests.tests.size();
                if (next == 2) {
                  LANISTA_ASSIGN(const Port other, step_of(w, inputs[1], tests.tests[1]));
                  LANISTA_ASSIGN(step, w.add(tests.any ? "add" : "mul", {step, other}));
                  if (tests.any) {
                    LANISTA_ASSIGN(step, w.add("clip", {step}, {{"min", 0.0}, {"max", 1.0}}));
                  }
                }
                std::vector<Port> parts;
                for (const std::optional<float>& number : numbers) {
                  Port share = step;
                  if (&number == &numbers.back()) {
                    LANISTA_ASSIGN(share, scaled(w, share, -1));
                    LANISTA_ASSIGN(share, shifted(w, share, 1));
                  }
                  if (number) {
                    LANISTA_ASSIGN(share, scaled(w, share, shortest_double(*number)));
                  } else {
                    LANISTA_ASSIGN(share, w.add("mul", {share, inputs[next++]}));
                  }
                  parts.push_back(share);
                }
                return w.add("add", std::move(parts));
              }});
}

}  // namespace

RewriteResult piecewise_group(const NodeReader& node_reader) {
  const OnnxView& view = node_reader.view();
  const auto& names = node_reader.node().inputs;
  if (names.size() != 3) return Rewrite{};
  const auto test = comparison_of(view, names[0]);
  if (!test) return choice_by_steps(node_reader);
  const double bound = test->bound;
  // The value where x is above the bound, and where it is not.
  const std::string &above = test->above ? names[1] : names[2], &below = test->above ? names[2] : names[1];
  const auto number = view.scalar(test->above ? below : above), low = view.scalar(below);
  // x above c, and c elsewhere.
  if (above == test->x && low && shortest_double(*low) == bound) {
    return changed(test->x, [bound](ModelWriter& w, Port x) {
      return bound == 0 ? w.add("relu", {x}) : w.add("clip", {x}, {{"min", bound}});
    });
  }
  // x - c above c, and 0 elsewhere; or x - c below c.
  if (number == 0.0F && is_shifted(view, names[1], test->x, -bound)) {
    const double sign = test->above ? 1 : -1;
    return changed(test->x, [=](ModelWriter& w, Port x) -> Result<Port> {
      LANISTA_ASSIGN(Port part, scaled(w, x, sign));
      LANISTA_ASSIGN(part, shifted(w, part, -sign * bound));
      LANISTA_ASSIGN(part, w.add("relu", {part}));
      return scaled(w, part, sign);
    });
  }
  const OnnxNode* size = view.producer(test->x, "Abs");
  const OnnxNode* none = view.producer(names[2], "Mul");
  if (size != nullptr && test->above && bound >= 0 && is_shrunk(view, names[1], size->inputs[0], bound) &&
      none != nullptr && none->inputs.size() == 2 && view.scalar(none->inputs[1]) == 0.0F) {
    return changed(size->inputs[0], [bound](ModelWriter& w, Port x) { return soft_shrink(w, x, bound); });
  }
  // From 15 on, softplus is x in single precision.
  const OnnxNode* soft = view.producer(names[2]);
  if (soft != nullptr && soft->op == "Div") soft = view.producer(soft->inputs[0]);
  if (soft != nullptr && soft->op == "Softplus" && soft->inputs[0] == test->x && test->above && bound >= 15) {
    return placed_rewrite({names[2]}, [](ModelWriter&, PlacedPorts inputs) -> Result<PlacedPort> { return inputs[0]; });
  }
  return choice_by_steps(node_reader);
}

}  // namespace lanista::formats::onnx
