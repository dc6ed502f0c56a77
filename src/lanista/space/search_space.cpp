#include <algorithm>

#include "lanista/space/chooser.h"
#include "lanista/space/domain.h"

namespace lanista::space {

bool is_active(const Parameter& parameter, const Sample& seen) {
  if (!parameter.when) return true;
  const auto it = seen.find(parameter.when->parameter);
  return it != seen.end() && it->second == parameter.when->equals;
}

namespace {

/// Declarations before number `end` under which `condition` can hold.
std::vector<std::size_t> supports(const std::vector<Parameter>& all, std::size_t end,
                                  const Parameter::Condition& condition) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < end; ++i) {
    if (all[i].name == condition.parameter && domain_contains(all[i].domain, condition.equals)) found.push_back(i);
  }
  return found;
}

/// Whether declarations a and b can never be active together: their conditions, or those these rest on, contradict.
bool exclude_each_other(const std::vector<Parameter>& all, std::size_t a, std::size_t b) {
  const auto& when_a = all[a].when;
  const auto& when_b = all[b].when;
  if (when_a && when_b && when_a->parameter == when_b->parameter && when_a->equals != when_b->equals) return true;
  if (when_a) {
    const auto below = supports(all, a, *when_a);
    if (std::all_of(below.begin(), below.end(), [&](std::size_t i) { return exclude_each_other(all, i, b); })) {
      return true;
    }
  }
  if (when_b) {
    const auto below = supports(all, b, *when_b);
    if (std::all_of(below.begin(), below.end(), [&](std::size_t i) { return exclude_each_other(all, a, i); })) {
      return true;
    }
  }
  return false;
}

/// Values of parameter number `i` that later conditions ask for.
std::vector<Value> asked_values(const std::vector<Parameter>& all, std::size_t i) {
  std::vector<Value> values;
  for (std::size_t j = i + 1; j < all.size(); ++j) {
    if (!all[j].when || all[j].when->parameter != all[i].name) continue;
    const Value& value = all[j].when->equals;
    const bool known = std::find(values.begin(), values.end(), value) != values.end();
    if (!known && domain_contains(all[i].domain, value)) values.push_back(value);
  }
  return values;
}

/// Samples of the parameters from number `i` on. Values that no condition asks for all count the same, so they are
/// multiplied and not walked.
double count_from(const std::vector<Parameter>& all, std::size_t i, const Sample& seen) {
  if (i == all.size()) return 1;
  if (!is_active(all[i], seen)) return count_from(all, i + 1, seen);
  const auto size = static_cast<double>(*domain_size(all[i].domain));
  const auto asked = asked_values(all, i);
  double total = 0;
  for (const Value& value : asked) {
    Sample with = seen;
    with[all[i].name] = value;
    total += count_from(all, i + 1, with);
  }
  const double others = size - static_cast<double>(asked.size());
  return others > 0 ? total + others * count_from(all, i + 1, seen) : total;
}

Error invalid(const Parameter& parameter, const std::string& message) {
  return Error{Code::kInvalidArgument, message, parameter.name};
}

}  // namespace

Result<void> SearchSpace::add(Parameter parameter) {
  if (parameter.name.empty()) return invalid(parameter, "a parameter needs a name");
  if (const auto checked = check_domain(parameter.domain); !checked) return invalid(parameter, checked.error().message);
  if (parameter.when) {
    const auto& when = *parameter.when;
    const auto declared = [&](const Parameter& p) { return p.name == when.parameter; };
    if (std::none_of(parameters_.begin(), parameters_.end(), declared)) {
      return invalid(parameter, "depends on '" + when.parameter + "', which is not declared before it");
    }
    if (supports(parameters_, parameters_.size(), when).empty()) {
      const auto it = std::find_if(parameters_.begin(), parameters_.end(), declared);
      return invalid(parameter, "needs " + when.parameter + " = " + value_text(when.equals) + ", but " +
                                    when.parameter + " is " + domain_text(it->domain));
    }
  }

  auto extended = parameters_;
  extended.push_back(std::move(parameter));
  const std::size_t last = extended.size() - 1;
  for (std::size_t i = 0; i < last; ++i) {
    if (extended[i].name == extended[last].name && !exclude_each_other(extended, i, last)) {
      return invalid(extended[last],
                     "'" + extended[last].name + "' is declared twice and both declarations may be active at once");
    }
  }
  parameters_ = std::move(extended);
  return {};
}

Sample SearchSpace::draw(Chooser& choose) const {
  Sample sample;
  for (const Parameter& parameter : parameters_) {
    if (is_active(parameter, sample)) sample[parameter.name] = choose.draw(parameter.name, parameter.domain);
  }
  return sample;
}

Result<void> SearchSpace::check(const Sample& sample) const {
  Sample seen;  // conditions look only at what was declared before, as in draw
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

std::optional<double> SearchSpace::size() const {
  for (const Parameter& parameter : parameters_) {
    if (!domain_size(parameter.domain)) return std::nullopt;
  }
  return count_from(parameters_, 0, {});
}

}  // namespace lanista::space
