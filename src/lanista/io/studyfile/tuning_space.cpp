#include "lanista/io/studyfile/tuning_space.h"

#include <utility>

#include "lanista/io/studyfile/notation.h"
#include "lanista/search/tuning/tuner.h"

namespace lanista::studyfile {
namespace {

Result<space::Domain> domain_of(const nlohmann::json& value, std::int64_t rules) {
  if (value.is_number()) return space::Domain{space::Categorical{{value.get<double>()}}};
  if (value.is_string()) {
    if (auto called = parse_domain(value.get<std::string>(), rules)) return *std::move(called);
  }
  if (!value.is_array() || value.empty()) {
    return Error{Code::kInvalidArgument,
                 value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
                     " is not allowed; a number, a list of numbers, or a range such as log(1e-3, 0.5) is wanted",
                 ""};
  }
  space::Categorical choice;
  for (const auto& item : value) {
    if (!item.is_number()) return Error{Code::kInvalidArgument, item.dump() + " is not a number", ""};
    choice.values.emplace_back(item.get<double>());
  }
  return space::Domain{std::move(choice)};
}

}  // namespace

Result<space::SearchSpace> tune_space(const Options& options, std::int64_t rules) {
  const auto params = options.find("params");
  if (params == options.end() || !params->is_object() || params->empty()) {
    return Error{Code::kInvalidArgument, "at least one setting to tune is wanted, such as lr: log(1e-4, 1)", "params"};
  }
  for (const auto& [name, value] : params->items()) {
    if (const auto known = study::check_tunable(name); !known) {
      return Error{Code::kInvalidArgument, known.error().message, "params." + name};
    }
  }
  space::SearchSpace space;
  for (const std::string& name : study::tunable_names()) {
    const auto found = params->find(name);
    if (found == params->end()) continue;
    const auto wrong = [&](const Error& error) {
      return Error{Code::kInvalidArgument, error.message, "params." + name};
    };
    auto domain = domain_of(*found, rules);
    if (!domain) return wrong(domain.error());
    if (name == "batch" && found->is_string()) {
      return wrong({Code::kInvalidArgument,
                    found->dump() + " is not allowed; a list of multiples of data.batch is wanted, such as [32, 64]",
                    ""});
    }
    if (auto added = space.add({name, *domain, {}}); !added) return wrong(added.error());
    // Of ranges only the bounds are checked.
    const std::int64_t count = space::domain_size(*domain).value_or(2);
    for (std::int64_t i = 0; i < std::min<std::int64_t>(count, 1000); ++i) {
      study::Recipe recipe;
      auto applied = study::apply_sample(recipe, {{name, space::domain_value(*domain, i, count)}});
      if (!applied) return wrong(applied.error());
    }
  }
  return space;
}

}  // namespace lanista::studyfile
