#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "lanista/search/sampler/constraint_filter.h"
#include "lanista/search/sampler/strategy.h"

namespace lanista::search {

/// Proposals that are not allowed: duplicates of earlier ones, and those that break a constraint known before training.
///
/// Duplicates of the group under construction count as well. The sets are never iterated.
class DuplicateFilter {
 public:
  /// True if a proposal with this study::run_key was made before or is in the group under construction.
  bool contains(const Digest& key) const { return seen_->contains(key) || fresh_.contains(key); }
  /// Returns why the proposal is not allowed, as text for people, or nullopt if it is allowed.
  std::optional<std::string> rejection_reason(const study::Proposal& proposal) const;
  /// Returns the proposals of the group under construction, which no event has reported yet. Models of the losses count
  /// them as running trials.
  const std::vector<study::Proposal>& group() const { return *group_; }

 private:
  friend class ReplayableSampler;
  DuplicateFilter(const std::unordered_set<Digest>& seen, const ConstraintFilter& filter,
                  const std::vector<study::Proposal>& group)
      : seen_(&seen), filter_(&filter), group_(&group) {}
  const std::unordered_set<Digest>* seen_;
  const ConstraintFilter* filter_;
  const std::vector<study::Proposal>* group_;
  std::unordered_set<Digest> fresh_;
};

/// A proposal, or nothing if the space is exhausted.
using NextProposal = Result<std::optional<study::Proposal>>;

/// Base class of the built-in samplers. It records the study::run_key of each proposal, so that `next` can avoid it.
///
/// A derived class implements `next`, and `fold_event` if it learns from results. Whether a result of `next` is a
/// duplicate is not checked. If `next` fails or is exhausted after the first proposal, the group is shorter.
class ReplayableSampler : public Sampler {
 public:
  explicit ReplayableSampler(Context context);

  Result<Suggestion> sample_proposals(std::int64_t count) const final;
  void observe(const study::Event& event) final;

 protected:
  /// Returns proposal number `index` (from 0, over the whole study), or nullopt if the space is exhausted.
  ///
  /// `duplicates` must allow it. All random numbers come from `rng`, which belongs to this index. Errors:
  /// kResourceExhausted (all samples were rejected, but the space may have new points).
  virtual NextProposal next(std::uint64_t index, const Rng& rng, const DuplicateFilter& duplicates) const = 0;
  /// Updates the state of the derived class by an event.
  virtual void fold_event(const study::Event& event) { static_cast<void>(event); }

  /// Returns the context of the constructor.
  const Context& context() const { return context_; }
  /// Returns the constraints that are known before training.
  const ConstraintFilter& filter() const { return filter_; }
  /// True if a proposal with this study::run_key was observed. In fold_event, that of the current event counts.
  bool seen(const Digest& key) const { return seen_.contains(key); }

 private:
  Context context_;
  ConstraintFilter filter_;
  std::unordered_set<Digest> seen_;
  std::uint64_t proposed_ = 0;
};

}  // namespace lanista::search
