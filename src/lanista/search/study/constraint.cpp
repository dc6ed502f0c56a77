#include "lanista/search/study/constraint.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace lanista::study {
namespace {

constexpr std::size_t kLongest = 1000;
constexpr int kDeepest = 32;

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool is_metric(std::string_view name) { return name.starts_with("val_") || name.starts_with("train_"); }

/// A recursive-descent parser that writes instructions of a stack machine.
class ConstraintParser {
 public:
  explicit ConstraintParser(std::string_view text) : text_(text), rest_(text) {}

  Result<Constraint> read() {
    if (text_.size() > kLongest) return wrong("it is longer than " + std::to_string(kLongest) + " characters");
    out_.text_ = std::string(text_);
    LANISTA_TRY(sum(out_.smaller_, 0));
    const bool at_most = accept("<="), at_least = !at_most && accept(">=");
    if (!at_most && !at_least) return wrong("'<=' or '>=' is wanted");
    LANISTA_TRY(sum(out_.larger_, 0));
    skip();
    if (!rest_.empty()) return wrong("an operator or the end is wanted");
    if (at_least) std::swap(out_.smaller_, out_.larger_);
    if (out_.names_.empty()) return wrong("it names nothing that a trial has");
    return std::move(out_);
  }

 private:
  using Steps = std::vector<Constraint::Step>;

  Error wrong(const std::string& what) const {
    const std::string at = rest_.empty() ? "at its end" : "at '" + std::string(rest_.substr(0, 20)) + "'";
    return {Code::kInvalidArgument, "'" + std::string(text_.substr(0, 80)) + "' is no constraint: " + at + ", " + what,
            ""};
  }
  void skip() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t')) rest_.remove_prefix(1);
  }
  bool accept(std::string_view token) {
    skip();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  Result<void> sum(Steps& steps, int depth) { return joined(steps, depth, "+-", &ConstraintParser::product); }
  Result<void> product(Steps& steps, int depth) { return joined(steps, depth, "*/", &ConstraintParser::atom); }
  /// Reads operands that one of two operators joins, from left to right.
  Result<void> joined(Steps& steps, int depth, std::string_view operators,
                      Result<void> (ConstraintParser::*operand)(Steps&, int)) {
    LANISTA_TRY((this->*operand)(steps, depth));
    for (;;) {
      const char op = accept(operators.substr(0, 1)) ? operators[0] : accept(operators.substr(1)) ? operators[1] : 0;
      if (op == 0) return {};
      LANISTA_TRY((this->*operand)(steps, depth));
      steps.push_back({op, 0, 0});
    }
  }
  Result<void> atom(Steps& steps, int depth) {
    if (depth == kDeepest) return wrong("it is nested deeper than " + std::to_string(kDeepest));
    if (accept("-")) {
      LANISTA_TRY(atom(steps, depth + 1));
      steps.push_back({'~', 0, 0});
      return {};
    }
    if (accept("(")) {
      LANISTA_TRY(sum(steps, depth + 1));
      if (!accept(")")) return wrong("')' is wanted");
      return {};
    }
    if (!rest_.empty() && (is_digit(rest_[0]) || rest_[0] == '.')) return number(steps);
    std::size_t length = 0;
    while (length < rest_.size() && is_name(rest_[length])) ++length;
    if (length == 0) return wrong("a name or a number is wanted");
    const std::string name(rest_.substr(0, length));
    rest_.remove_prefix(length);
    const auto at = std::find(out_.names_.begin(), out_.names_.end(), name);
    steps.push_back({'x', 0, static_cast<std::size_t>(at - out_.names_.begin())});
    if (at == out_.names_.end()) out_.names_.push_back(name);
    return {};
  }
  Result<void> number(Steps& steps) {
    double value = 0;
    const auto [end, failed] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (failed != std::errc()) return wrong("the number is too large or malformed");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    constexpr std::pair<char, double> kUnits[] = {{'k', 1e3}, {'M', 1e6}, {'G', 1e9}};
    for (const auto& [unit, factor] : kUnits) {
      if (rest_.empty() || rest_[0] != unit) continue;
      value *= factor;
      rest_.remove_prefix(1);
      break;
    }
    if (!rest_.empty() && is_name(rest_[0])) return wrong("a number's unit is k, M or G");
    steps.push_back({'#', value, 0});
    return {};
  }

  std::string_view text_, rest_;
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
      left = step.what == '+'   ? left + right
             : step.what == '-' ? left - right
             : step.what == '*' ? left * right
                                : left / right;
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
