#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "lanista/search/sampler/constraint_filter.h"
#include "lanista/search/sampler/strategy.h"

namespace lanista::strategy {

/// What may not be proposed: duplicates of everything proposed so far and of the group in the making, and what breaks a
/// constraint that is known before training. Only asked, never walked.
class DuplicateFilter {
 public:
  bool contains(const Digest& key) const { return seen_->contains(key) || fresh_.contains(key); }
  /// Why the proposal may not be made; nullopt: it may.
  std::optional<std::string> rejection_reason(const study::Proposal& proposal) const;
  /// The group in the making, which no event has told of yet: a model of the history counts these as running.
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

/// What the built-in samplers share: they know what was proposed and never propose it again. A sampler of its own says
/// only how the next proposal is found.
class ReplayableSampler : public Sampler {
 public:
  explicit ReplayableSampler(Context context);

  Result<Suggestion> sample_proposals(std::int64_t count) const final;
  void observe(const study::Event& event) final;

 protected:
  /// The proposal number `index` (0-based, over the whole study), not in `duplicates`; nullopt: nothing left. Draws
  /// come from `rng`, which belongs to this index. Errors: kResourceExhausted.
  virtual Result<std::optional<study::Proposal>> next(std::uint64_t index, const Rng& rng,
                                                      const DuplicateFilter& duplicates) const = 0;
  virtual void fold_event(const study::Event& event) { static_cast<void>(event); }

  const Context& context() const { return context_; }
  const ConstraintFilter& filter() const { return filter_; }
  bool seen(const Digest& key) const { return seen_.contains(key); }  ///< proposed before, or in the event being folded

 private:
  Context context_;
  ConstraintFilter filter_;
  std::unordered_set<Digest> seen_;
  std::uint64_t proposed_ = 0;
};

}  // namespace lanista::strategy
