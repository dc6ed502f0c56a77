#include "lanista/search/sampler/constraint_filter.h"

#include <algorithm>

#include "lanista/model/graph/infer.h"

namespace lanista::search {
namespace {

/// True for an upper bound that is a limit of the model space.
bool is_limit(const study::Constraint& constraint) {
  return constraint.upper_bound("params") || constraint.upper_bound("flops");
}

}  // namespace

ConstraintFilter::ConstraintFilter(const Context& context) : models_(context.models) {
  for (const study::Constraint& constraint : context.constraints) {
    if (!constraint.is_measured() && !is_limit(constraint)) constraints_.push_back(constraint);
  }
}

std::optional<std::string> ConstraintFilter::violated_constraint(const study::Proposal& proposal) const {
  std::optional<graph::ModelCost> cost;  // Computed when a constraint needs it.
  const auto cost_of = [&]() -> const graph::ModelCost& {
    if (!cost) {
      const auto model = models_->rebuild(proposal.base, proposal.edits);
      LANISTA_CHECK(model.ok(), "the edits of a proposal do not apply");
      const auto counted = graph::model_cost(*model, models_->ops());
      LANISTA_CHECK(counted.ok(), "the model of a proposal has no cost");
      cost = *counted;
    }
    return *cost;
  };
  const auto value_of = [&](const std::string& name) -> std::optional<double> {
    if (name == "params") return static_cast<double>(cost_of().parameters);
    if (name == "flops") return cost_of().forward.flops;
    return study::number_in(proposal.sample, name);
  };
  for (const study::Constraint& constraint : constraints_) {
    if (constraint.violation(value_of).value_or(0) > 0) return constraint.text();
  }
  return std::nullopt;
}

}  // namespace lanista::search
