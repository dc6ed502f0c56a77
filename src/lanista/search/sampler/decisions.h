#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "lanista/search/sampler/strategy.h"

namespace lanista::strategy {

/// What a proposal decides beside its mutations, as a list: the base model, then every declared parameter. Declarations
/// of one name (lr of sgd, lr of adam) are decisions of their own.
class DecisionList {
 public:
  /// `joint`: decisions with the same condition, which therefore exist together, form one group; else each its own.
  DecisionList(const Context& context, bool joint);

  std::size_t size() const { return params_.parameters().size() + (bases_ > 1 ? 1 : 0); }  ///< that are open
  const space::Domain& domain(std::size_t i) const { return domains_[i]; }
  /// Members in order of declaration; a single base is in no group.
  const std::vector<std::vector<std::size_t>>& groups() const { return groups_; }

  using DecisionValues = std::vector<std::optional<space::Value>>;  ///< nullopt: the proposal does not have it
  DecisionValues values_of(const study::Proposal& proposal) const;
  /// Asks for the values of every group of which a member exists, a group once.
  std::pair<std::int64_t, space::Sample> choose_values(
      const std::function<std::vector<space::Value>(std::size_t group)>& ask) const;

 private:
  space::SearchSpace params_;
  std::int64_t bases_ = 0;
  std::vector<space::Domain> domains_;
  std::vector<std::vector<std::size_t>> groups_;
  std::vector<std::size_t> group_of_;
};

}  // namespace lanista::strategy
