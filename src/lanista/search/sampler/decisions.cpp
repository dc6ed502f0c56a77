#include "lanista/search/sampler/decisions.h"

namespace lanista::search {
DecisionList::DecisionList(const Context& context, bool joint)
    : params_(context.params), bases_(static_cast<std::int64_t>(context.models->bases().size())) {
  space::Categorical bases;
  for (std::int64_t i = 0; i < bases_; ++i) bases.values.emplace_back(i);
  domains_.push_back(std::move(bases));
  using Conditions = std::vector<space::Parameter::Condition>;
  std::vector<Conditions> conditions{{}};
  for (const space::Parameter& parameter : params_.parameters()) {
    domains_.push_back(parameter.domain);
    conditions.push_back(parameter.when);
  }
  group_of_.resize(domains_.size());
  std::vector<Conditions> shared;  // One per group.
  for (std::size_t i = bases_ > 1 ? 0 : 1; i < domains_.size(); ++i) {
    std::size_t group = groups_.size();
    for (std::size_t g = 0; joint && g < groups_.size(); ++g) group = shared[g] == conditions[i] ? g : group;
    if (group == groups_.size()) {
      groups_.emplace_back();
      shared.push_back(conditions[i]);
    }
    groups_[group].push_back(i);
    group_of_[i] = group;
  }
}

DecisionList::DecisionValues DecisionList::values_of(const study::Proposal& proposal) const {
  DecisionValues out{space::Value(proposal.base)};
  space::Sample seen;
  for (const space::Parameter& parameter : params_.parameters()) {
    const auto it = proposal.sample.find(parameter.name);
    const bool exists = space::is_active(parameter, seen) && it != proposal.sample.end() &&
                        space::domain_contains(parameter.domain, it->second);
    out.push_back(exists ? std::optional(it->second) : std::nullopt);
    if (exists) seen.insert(*it);
  }
  return out;
}

std::pair<std::int64_t, space::Sample> DecisionList::choose_values(
    const std::function<std::vector<space::Value>(std::size_t group)>& ask) const {
  std::vector<std::vector<space::Value>> asked(groups_.size());
  const auto value_of = [&](std::size_t i) {
    const std::size_t group = group_of_[i];
    if (asked[group].empty()) asked[group] = ask(group);
    std::size_t k = 0;
    while (groups_[group][k] != i) ++k;
    return asked[group][k];
  };
  const std::int64_t base = bases_ > 1 ? std::get<std::int64_t>(value_of(0)) : 0;
  space::Sample sample;
  for (std::size_t i = 0; i < params_.parameters().size(); ++i) {
    const space::Parameter& parameter = params_.parameters()[i];
    if (space::is_active(parameter, sample)) sample[parameter.name] = value_of(i + 1);
  }
  return {base, std::move(sample)};
}

}  // namespace lanista::search
