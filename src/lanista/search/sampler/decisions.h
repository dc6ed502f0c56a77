#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "lanista/search/sampler/strategy.h"

namespace lanista::search {

/// The decisions of a proposal, without mutations, as a list: the base model, then every declared parameter.
///
/// Two declarations of one name (lr of sgd, lr of adam) are two decisions.
class DecisionList {
 public:
  /// Builds the list. If `joint`, decisions with equal conditions, which exist together, form one group. Otherwise each
  /// decision is a group of its own.
  DecisionList(const Context& context, bool joint);

  /// Returns the number of decisions: the parameters, and the base model if there are several. It does not bound the
  /// indices of domain(), which go up to the number of parameters in both cases.
  std::size_t size() const { return params_.parameters().size() + (bases_ > 1 ? 1 : 0); }
  /// Returns the domain of decision i. Decision 0 is always the base model, decision 1 + k is parameter k. The domain
  /// of the base model has the indices of the base models as its values.
  const space::Domain& domain(std::size_t i) const { return domains_[i]; }
  /// Indices of the decisions of each group, in order of declaration. A single base model is in no group.
  const std::vector<std::vector<std::size_t>>& groups() const { return groups_; }

  using DecisionValues = std::vector<std::optional<space::Value>>;  ///< One per decision; nullopt if it is inactive.
  /// Returns the value of each decision of a proposal, by decision index, so that of the base model first. A value
  /// outside its domain counts as inactive.
  DecisionValues values_of(const study::Proposal& proposal) const;
  /// Returns the index of a base model and a sample, with the values that `ask` returns. A single base model has index
  /// 0.
  ///
  /// `ask` is called at most once per group, when the first of its decisions becomes active. It returns one value per
  /// decision of the group, in the order of groups().
  std::pair<std::int64_t, space::Sample> choose_values(
      const std::function<std::vector<space::Value>(std::size_t group)>& ask) const;

 private:
  space::SearchSpace params_;
  std::int64_t bases_ = 0;
  std::vector<space::Domain> domains_;
  std::vector<std::vector<std::size_t>> groups_;
  std::vector<std::size_t> group_of_;
};

}  // namespace lanista::search
