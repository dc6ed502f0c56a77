#include <algorithm>

#include "lanista/model/space/chooser.h"
#include "lanista/model/space/domain.h"

namespace lanista::space {

bool is_active(const Parameter& parameter, const Sample& seen) {
  const auto holds = [&](const Parameter::Condition& condition) {
    const auto it = seen.find(condition.parameter);
    return it != seen.end() && std::ranges::find(condition.values, it->second) != condition.values.end();
  };
  return parameter.when.empty() || std::ranges::any_of(parameter.when, holds);
}

namespace {

/// Returns the declarations before number `end` under which `condition` can hold.
std::vector<std::size_t> supports(const std::vector<Parameter>& all, std::size_t end,
                                  const Parameter::Condition& condition) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < end; ++i) {
    const auto in_domain = [&](const Value& value) { return domain_contains(all[i].domain, value); };
    if (all[i].name == condition.parameter && std::ranges::any_of(condition.values, in_domain)) found.push_back(i);
  }
  return found;
}

bool are_disjoint(const std::vector<Value>& a, const std::vector<Value>& b) {
  return std::ranges::none_of(a, [&](const Value& value) { return std::ranges::find(b, value) != b.end(); });
}

/// Whether declarations a and b can never be active together: their conditions, or those of their parents, contradict.
bool exclude_each_other(const std::vector<Parameter>& all, std::size_t a, std::size_t b) {
  const auto contradict = [](const Parameter::Condition& x, const Parameter::Condition& y) {
    return x.parameter == y.parameter && are_disjoint(x.values, y.values);
  };
  // Every way in which `one` can exist must rule out `other`.
  const auto rules_out = [&](std::size_t one, std::size_t other) {
    return !all[one].when.empty() && std::ranges::all_of(all[one].when, [&](const Parameter::Condition& way) {
      const auto& ways = all[other].when;
      if (!ways.empty() && std::ranges::all_of(ways, [&](const auto& w) { return contradict(way, w); })) return true;
      const auto below = supports(all, one, way);
      return std::ranges::all_of(below, [&](std::size_t i) { return exclude_each_other(all, i, other); });
    });
  };
  return rules_out(a, b) || rules_out(b, a);
}

Error invalid(const Parameter& parameter, const std::string& message) {
  return Error{Code::kInvalidArgument, message, parameter.name};
}

}  // namespace

Result<void> SearchSpace::add(Parameter parameter) {
  if (parameter.name.empty()) return invalid(parameter, "a parameter needs a name");
  if (const auto checked = check_domain(parameter.domain); !checked) return invalid(parameter, checked.error().message);
  for (const Parameter::Condition& when : parameter.when) {
    const auto it = std::ranges::find(parameters_, when.parameter, &Parameter::name);
    if (it == parameters_.end()) {
      return invalid(parameter, "depends on '" + when.parameter + "', which is not declared before it");
    }
    if (supports(parameters_, parameters_.size(), when).empty()) {
      std::string wanted;
      for (const Value& value : when.values) wanted += (wanted.empty() ? "" : " or ") + value_text(value);
      return invalid(parameter, "needs " + when.parameter + " = " + wanted + ", but " + when.parameter + " is " +
                                    domain_text(it->domain));
    }
  }

  parameters_.push_back(std::move(parameter));
  const std::size_t last = parameters_.size() - 1;
  for (std::size_t i = 0; i < last; ++i) {
    if (parameters_[i].name != parameters_[last].name || exclude_each_other(parameters_, i, last)) continue;
    const Parameter twice = std::move(parameters_.back());
    parameters_.pop_back();
    return invalid(twice, "'" + twice.name + "' is declared twice and both declarations may be active at once");
  }
  return {};
}

Sample SearchSpace::sample(Chooser& choose) const {
  Sample sample;
  for (const Parameter& parameter : parameters_) {
    if (is_active(parameter, sample)) sample[parameter.name] = choose.sample_value(parameter.name, parameter.domain);
  }
  return sample;
}

Result<void> SearchSpace::check(const Sample& sample) const {
  Sample seen;  // conditions refer to earlier declarations only
  for (const Parameter& parameter : parameters_) {
    if (!is_active(parameter, seen)) continue;
    const auto it = sample.find(parameter.name);
    if (it == sample.end()) return invalid(parameter, "no value; wanted " + domain_text(parameter.domain));
    if (!domain_contains(parameter.domain, it->second)) {
      return invalid(parameter, value_text(it->second) + " is not in " + domain_text(parameter.domain));
    }
    seen.insert(*it);
  }
  for (const auto& [name, value] : sample) {
    if (seen.contains(name)) continue;
    const bool known =
        std::any_of(parameters_.begin(), parameters_.end(), [&](const Parameter& p) { return p.name == name; });
    return Error{Code::kInvalidArgument,
                 value_text(value) + (known ? " is given, but the parameter is not active in this sample"
                                            : " is given, but the space has no such parameter"),
                 name};
  }
  return {};
}

}  // namespace lanista::space
