#include "lanista/search/study/constraint.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lanista/base/expression_reader.h"

namespace lanista::study {
namespace {

constexpr std::size_t kLongest = 1000;
constexpr std::size_t kDeepest = 32;
constexpr OperatorLevel kLevels[] = {{.between = {"+", "-"}}, {.between = {"*", "/"}}, {.before = "-"}};

double result_of(char operation, double left, double right) {
  return operation == '+'   ? left + right
         : operation == '-' ? left - right
         : operation == '*' ? left * right
                            : left / right;
}

bool is_name(char c) { return is_letter(c) || is_digit(c) || c == '.'; }

}  // namespace

bool is_metric(std::string_view name) { return name.starts_with("val_") || name.starts_with("train_"); }

/// Reads a constraint. The value of a part is a list of instructions of a stack machine.
class ConstraintParser final : public ExpressionReader<std::vector<Constraint::Step>> {
 public:
  explicit ConstraintParser(std::string_view text)
      : ExpressionReader(text, kLevels, kDeepest, "it is nested deeper than " + std::to_string(kDeepest)) {}

  Result<Constraint> read() {
    if (text().size() > kLongest) return wrong("it is longer than " + std::to_string(kLongest) + " characters");
    out_.text_ = std::string(text());
    LANISTA_ASSIGN(out_.smaller_, nested());
    const bool at_most = accept("<="), at_least = !at_most && accept(">=");
    if (!at_most && !at_least) return wrong("'<=' or '>=' is wanted");
    LANISTA_ASSIGN(out_.larger_, nested());
    skip_blanks();
    if (!rest().empty()) return wrong("an operator or the end is wanted");
    if (at_least) std::swap(out_.smaller_, out_.larger_);
    if (out_.names_.empty()) return wrong("it names nothing that a trial has");
    return std::move(out_);
  }

 private:
  using Steps = std::vector<Constraint::Step>;

  Error wrong(const std::string& what) const override {
    return {Code::kInvalidArgument,
            "'" + std::string(text().substr(0, 80)) + "' is no constraint: at " + found(20, "its end") + ", " + what,
            ""};
  }
  Steps join(std::string_view word, std::vector<Steps> operands) override {
    Steps steps = std::move(operands.front());
    if (operands.size() == 2) steps.insert(steps.end(), operands[1].begin(), operands[1].end());
    steps.push_back({operands.size() == 2 ? word[0] : '~', 0, 0});
    return steps;
  }
  Result<Steps> operand() override {
    if (accept("(")) {
      LANISTA_ASSIGN(Steps steps, nested());
      if (!accept(")")) return wrong("')' is wanted");
      return steps;
    }
    if (is_digit(peek()) || peek() == '.') return number_step();
    const std::string name(read_while(is_name));
    if (name.empty()) return wrong("a name or a number is wanted");
    const auto at = std::find(out_.names_.begin(), out_.names_.end(), name);
    const auto index = static_cast<std::size_t>(at - out_.names_.begin());
    if (at == out_.names_.end()) out_.names_.push_back(name);
    return Steps{{'x', 0, index}};
  }
  Result<Steps> number_step() {
    auto value = number<double>();
    if (!value) return wrong("the number is too large or malformed");
    constexpr std::pair<char, double> kUnits[] = {{'k', 1e3}, {'M', 1e6}, {'G', 1e9}};
    for (const auto& [unit, factor] : kUnits) {
      if (peek() != unit) continue;
      *value *= factor;
      advance(1);
      break;
    }
    if (is_name(peek())) return wrong("a number's unit is k, M or G");
    return Steps{{'#', *value, 0}};
  }

  Constraint out_;
};

Result<Constraint> Constraint::parse(std::string_view text) { return ConstraintParser(text).read(); }

bool Constraint::is_measured() const { return std::any_of(names_.begin(), names_.end(), is_metric); }

std::optional<std::pair<double, double>> Constraint::sides(const Lookup& value_of) const {
  std::vector<double> values;
  for (const std::string& name : names_) {
    const std::optional<double> value = value_of(name);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  const auto evaluate = [&](const std::vector<Step>& steps) {
    std::vector<double> stack;
    for (const Step& step : steps) {
      if (step.what == '#' || step.what == 'x') {
        stack.push_back(step.what == '#' ? step.number : values[step.name]);
        continue;
      }
      if (step.what == '~') {
        stack.back() = -stack.back();
        continue;
      }
      const double right = stack.back();
      stack.pop_back();
      double& left = stack.back();
      left = result_of(step.what, left, right);
    }
    return stack.back();
  };
  return std::pair(evaluate(smaller_), evaluate(larger_));
}

std::optional<double> Constraint::violation(const Lookup& value_of) const {
  const auto sides = this->sides(value_of);
  if (!sides) return std::nullopt;
  const auto [small, large] = *sides;
  if (small <= large) return 0;
  const double relative = (small - large) / std::max(std::abs(small), std::abs(large));
  return std::isnan(relative) ? std::numeric_limits<double>::infinity() : relative;
}

std::optional<double> Constraint::excess(const Lookup& value_of) const {
  const auto sides = this->sides(value_of);
  if (!sides) return std::nullopt;
  const auto [small, large] = *sides;
  if (small == large) return 0;  // infinities too
  return std::isnan(small - large) ? std::numeric_limits<double>::infinity() : small - large;
}

/// True if a divisor is 0. A value that is nullopt is unknown, and so is what is computed from it.
bool Constraint::has_zero_divisor(const std::vector<Step>& steps, const std::vector<std::optional<double>>& values) {
  std::vector<std::optional<double>> stack;
  for (const Step& step : steps) {
    if (step.what == '#' || step.what == 'x') {
      stack.push_back(step.what == '#' ? step.number : values[step.name]);
      continue;
    }
    if (step.what == '~') {
      if (stack.back()) *stack.back() *= -1;
      continue;
    }
    const std::optional<double> right = stack.back();
    stack.pop_back();
    std::optional<double>& left = stack.back();
    if (step.what == '/' && right == 0.0) return true;
    if (!left || !right) {
      left.reset();
    } else {
      *left = result_of(step.what, *left, *right);
    }
  }
  return false;
}

bool Constraint::divides_by_zero() const {
  const std::vector<std::optional<double>> unknown(names_.size());
  return has_zero_divisor(smaller_, unknown) || has_zero_divisor(larger_, unknown);
}

std::optional<std::string> Constraint::undefined_reason(const Lookup& value_of) const {
  const auto sides = this->sides(value_of);
  if (!sides || (std::isfinite(sides->first) && std::isfinite(sides->second))) return std::nullopt;
  std::vector<std::optional<double>> values;
  for (const std::string& name : names_) {
    values.push_back(value_of(name));
    if (std::isnan(*values.back())) return name + " is NaN";
  }
  if (has_zero_divisor(smaller_, values) || has_zero_divisor(larger_, values)) return "it divides by 0";
  return "a side of it is infinite";
}

std::optional<double> Constraint::upper_bound(std::string_view name) const {
  const bool plain = smaller_.size() == 1 && larger_.size() == 1 && smaller_[0].what == 'x' && larger_[0].what == '#';
  if (!plain || names_[0] != name) return std::nullopt;
  return larger_[0].number;
}

std::optional<double> number_in(const space::Sample& sample, const std::string& name) {
  const auto it = sample.find(name);
  if (it == sample.end()) return std::nullopt;
  if (const auto* real = std::get_if<double>(&it->second)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&it->second)) return static_cast<double>(*whole);
  if (const auto* flag = std::get_if<bool>(&it->second)) return *flag ? 1 : 0;
  return std::nullopt;
}

}  // namespace lanista::study
