#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lanista/search/sampler/strategy.h"

namespace lanista::strategy {

/// The constraints that are known before training: a proposal that breaks one is drawn again and never seen by anybody.
/// Plain upper bounds of params and flops are left to the limits of the model space, which its mutators see at once.
class ConstraintFilter {
 public:
  explicit ConstraintFilter(const Context& context);

  /// The constraint that the proposal breaks; nullopt: it keeps to all. A constraint on a hyper-parameter that the
  /// proposal does not have is kept.
  std::optional<std::string> violated_constraint(const study::Proposal& proposal) const;

 private:
  std::shared_ptr<const mutate::ModelSpace> models_;
  std::vector<study::Constraint> constraints_;
};

}  // namespace lanista::strategy
