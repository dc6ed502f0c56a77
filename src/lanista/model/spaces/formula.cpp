#include "lanista/model/spaces/formula.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "lanista/base/portable_math.h"

namespace lanista::mutate {

using space::Value;

namespace {

Error unusable(const std::string& message) { return {Code::kNotApplicable, message, ""}; }

bool is_number(const Value& value) {
  return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
}
double real(const Value& value) {
  const auto* whole = std::get_if<std::int64_t>(&value);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
}

/// Integer arithmetic; no value beyond 64 bits.
std::optional<std::int64_t> whole_result(const std::string& op, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (op == "+") return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional(out);
  if (op == "-") return __builtin_sub_overflow(a, b, &out) ? std::nullopt : std::optional(out);
  if (op == "*") return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
  if (op == "**") {
    out = 1;
    // Beyond 64 factors only 0, 1 and -1 stay inside 64 bits.
    const std::int64_t factors = a >= -1 && a <= 1 && b > 64 ? 64 + b % 2 : b;
    for (std::int64_t i = 0; i < factors; ++i) {
      if (__builtin_mul_overflow(out, a, &out)) return std::nullopt;
    }
    return out;
  }
  if (b == -1) return op == "//" ? whole_result("-", 0, a) : std::optional<std::int64_t>(0);
  // Rounds down, so that a == (a // b) * b + a % b, and the remainder has the sign of the divisor.
  const bool is_above = a % b != 0 && (a % b < 0) != (b < 0);
  return op == "//" ? a / b - (is_above ? 1 : 0) : a % b + (is_above ? b : 0);
}

double power(double a, double b) {
  if (b == std::floor(b) && std::abs(b) <= 64) {
    double out = 1;
    for (int i = 0; i < static_cast<int>(std::abs(b)); ++i) out *= a;
    return b < 0 ? 1 / out : out;
  }
  return portable_pow(a, b);
}

Result<Value> arithmetic(const std::string& op, const Value& a, const Value& b) {
  const std::string shown = space::value_text(a) + " " + op + " " + space::value_text(b);
  if (!is_number(a) || !is_number(b)) return unusable(shown + ": only numbers have arithmetic");
  const bool divides = op == "/" || op == "//" || op == "%";
  if (divides && real(b) == 0) return unusable(shown + ": division by zero");
  const auto* x = std::get_if<std::int64_t>(&a);
  const auto* y = std::get_if<std::int64_t>(&b);
  if (x != nullptr && y != nullptr && op != "/" && !(op == "**" && *y < 0)) {
    const auto result = whole_result(op, *x, *y);
    if (!result) return unusable(shown + " is beyond 64 bits");
    return Value(*result);
  }
  const double p = real(a), q = real(b);
  double result = 0;
  if (op == "+") result = p + q;
  if (op == "-") result = p - q;
  if (op == "*") result = p * q;
  if (op == "/") result = p / q;
  if (op == "//") result = std::floor(p / q);
  if (op == "%") result = p - std::floor(p / q) * q;
  if (op == "**") {
    if (p <= 0 && q != std::floor(q)) return unusable(shown + ": a fraction of a power needs a positive number");
    result = power(p, q);
  }
  if (!std::isfinite(result)) return unusable(shown + " is not a finite number");
  return Value(result);
}

Result<Value> comparison(const std::string& op, const Value& a, const Value& b) {
  const bool numbers = is_number(a) && is_number(b);
  const bool equal = numbers ? real(a) == real(b) : a == b;
  if (op == "==") return Value(equal);
  if (op == "!=") return Value(!equal);
  if (!numbers) {
    return unusable(space::value_text(a) + " " + op + " " + space::value_text(b) + ": only numbers have an order");
  }
  const bool less = real(a) < real(b);
  return Value(op == "<" ? less : op == "<=" ? less || equal : op == ">" ? !less && !equal : !less);
}

Result<Value> rounded(const std::string& function, const Value& value) {
  if (std::holds_alternative<std::int64_t>(value)) return value;
  const double x = real(value);
  const double result = function == "floor" ? std::floor(x) : function == "ceil" ? std::ceil(x) : std::floor(x + 0.5);
  if (std::abs(result) >= 0x1p62) return unusable(function + "(" + space::value_text(value) + ") is beyond 64 bits");
  return Value(static_cast<std::int64_t>(result));
}

Result<bool> truth(const Result<Value>& value) {
  if (!value) return value.error();
  if (const bool* known = std::get_if<bool>(&*value)) return *known;
  return unusable(space::value_text(*value) + " is neither true nor false");
}

}  // namespace

Result<Value> Expression::evaluate(const Lookup& lookup) const {
  auto value = term(terms_.size() - 1, lookup);
  if (!value) return Error{value.error().code, "\"" + text_ + "\": " + value.error().message, value.error().where};
  return value;
}

Result<Value> Expression::term(std::size_t index, const Lookup& lookup) const {
  const Term& term_here = terms_[index];
  const auto part = [&](std::size_t i) { return term(term_here.parts[i], lookup); };
  switch (term_here.kind) {
    case Kind::kValue:
      return term_here.value;
    case Kind::kName:
      return lookup(term_here.word);
    case Kind::kIf: {
      LANISTA_ASSIGN(const bool condition, truth(part(0)));
      return part(condition ? 1 : 2);
    }
    case Kind::kOr:
    case Kind::kAnd: {
      LANISTA_ASSIGN(const bool left, truth(part(0)));
      if (left == (term_here.kind == Kind::kOr)) return Value(left);
      LANISTA_ASSIGN(const bool right, truth(part(1)));
      return Value(right);
    }
    case Kind::kNot: {
      LANISTA_ASSIGN(const bool inner, truth(part(0)));
      return Value(!inner);
    }
    case Kind::kMinus: {
      LANISTA_ASSIGN(const Value inner, part(0));
      return arithmetic("-", Value(std::int64_t{0}), inner);
    }
    case Kind::kBinary: {
      LANISTA_ASSIGN(const Value left, part(0));
      LANISTA_ASSIGN(const Value right, part(1));
      const char first = term_here.word[0];
      const bool compares = first == '=' || first == '!' || first == '<' || first == '>';
      return compares ? comparison(term_here.word, left, right) : arithmetic(term_here.word, left, right);
    }
    case Kind::kCall:
      break;
  }
  LANISTA_ASSIGN(Value best, part(0));
  if (!is_number(best)) return unusable(term_here.word + " of " + space::value_text(best) + ", which is not a number");
  if (term_here.word != "min" && term_here.word != "max") return rounded(term_here.word, best);
  for (std::size_t i = 1; i < term_here.parts.size(); ++i) {
    LANISTA_ASSIGN(const Value other, part(i));
    if (!is_number(other))
      return unusable(term_here.word + " of " + space::value_text(other) + ", which is not a number");
    if (term_here.word == "min" ? real(other) < real(best) : real(other) > real(best)) best = other;
  }
  return best;
}

}  // namespace lanista::mutate
