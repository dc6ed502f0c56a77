#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lanista/search/sampler/strategy.h"

namespace lanista::search {

/// The constraints of a study that are known before training. A sampler discards a proposal that breaks one and samples
/// again.
///
/// Plain upper bounds of params and flops are not checked here. They are limits of the model space, which its mutators
/// obey.
class ConstraintFilter {
 public:
  explicit ConstraintFilter(const Context& context);

  /// Returns the text of the first constraint, in the order of the study file, that the proposal breaks. nullopt: it
  /// breaks none.
  ///
  /// A constraint on a hyper-parameter that the proposal does not have is met. The edits of the proposal must apply to
  /// its base model.
  std::optional<std::string> violated_constraint(const study::Proposal& proposal) const;

 private:
  std::shared_ptr<const mutate::ModelSpace> models_;
  std::vector<study::Constraint> constraints_;
};

}  // namespace lanista::search
