#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "lanista/base/option_specs.h"
#include "lanista/search/sampler/duplicate_filter.h"
#include "lanista/search/sampler/strategy.h"

namespace lanista::strategy {

/// How often a strategy draws by its own lights before it looks elsewhere: at random.
inline constexpr std::int64_t kMaxAttempts = 100;
/// How often one draws at random before one speaks of bad luck: where one draw in a thousand may be proposed, one
/// proposal in 20,000 has that luck. A space of at most so many points is not drawn from but looked through.
inline constexpr std::int64_t kMaxRandomAttempts = 10'000;

/// How many mutations a model drawn from a base gets, inclusive.
struct MutationCount {
  std::int64_t lo = 0, hi = 3;
};
OptionSpec mutation_count_option();
Result<MutationCount> mutation_count(const Options& options);

/// Draws models and hyper-parameters from a context. Base models are hashed once, here.
class ProposalSampler {
 public:
  ProposalSampler(const Context& context, MutationCount count);

  /// Base, number of mutations, mutations, sample. Errors: kNotApplicable.
  Result<study::Proposal> random(const Rng& rng) const;
  /// Number of mutations and mutations, drawn; base and sample are given. Errors: kNotApplicable.
  Result<study::Proposal> mutated(std::int64_t base, space::Sample sample, const Rng& rng) const;
  /// The model before mutations: the base, or what a blueprint makes of the sample. Errors: kNotApplicable.
  Result<mutate::Candidate> model_of_sample(std::int64_t base, const space::Sample& sample) const;
  /// The model of `parent` under another sample: its own if the model's choices are the same, else drawn anew with the
  /// parent's mutations replayed. Errors: kNotApplicable.
  Result<mutate::Candidate> resampled_model(const study::Proposal& parent, const space::Sample& sample) const;
  study::Proposal proposal(const mutate::Candidate& candidate, space::Sample sample) const;
  const std::vector<mutate::Candidate>& bases() const { return bases_; }

  /// All bases times all samples without mutations, numbered from 0 in a fixed order; continuous domains are cut into
  /// `grain` values. Branches of a conditional space have different sizes, so that some numbers stand for nothing
  /// (nullopt). Errors: kNotApplicable, the point makes no model.
  std::uint64_t num_grid_points(std::int64_t grain) const;  ///< how many numbers; at most 2^63
  Result<std::optional<study::Proposal>> grid_point(std::uint64_t i, std::int64_t grain) const;
  /// Whether the points are all there is, and few enough to look through.
  bool is_enumerable() const { return is_enumerable_; }

 private:
  std::shared_ptr<const mutate::ModelSpace> models_;
  space::SearchSpace params_;
  std::int64_t epochs_;
  MutationCount count_;
  std::vector<mutate::Candidate> bases_;
  bool is_enumerable_ = false;
};

/// The first result of draw(rng.split(i)), i = 0, 1, …, that `duplicates` does not refuse. Errors: kResourceExhausted
/// after so many draws, with the reason that stood against most of them.
Result<study::Proposal> first_unique(const Rng& rng, const DuplicateFilter& duplicates,
                                     const std::function<Result<study::Proposal>(const Rng&)>& sample_next,
                                     std::int64_t attempts = kMaxAttempts);
/// As first_unique; where a small space is concerned, one of the points that are left, and nullopt if none is: the
/// space is exhausted. With `repeat` all of them are that training of a proposal, beside those that were before.
/// Errors: kResourceExhausted after kMaxRandomAttempts: bad luck.
Result<std::optional<study::Proposal>> first_unique_or_remaining(
    const ProposalSampler& proposal_sampler, const Rng& rng, const DuplicateFilter& duplicates,
    const std::function<Result<study::Proposal>(const Rng&)>& sample_next, std::int64_t repeat = 0);

/// A new random draw, from a stream of `rng`; nullopt: the space is exhausted.
Result<std::optional<study::Proposal>> random_unique(const ProposalSampler& proposal_sampler, const Rng& rng,
                                                     const DuplicateFilter& duplicates);
/// What `sample_next` finds first from `own` that is new; where all that it finds is refused, a strategy looks
/// elsewhere: a new random draw.
Result<std::optional<study::Proposal>> unique_or_random(
    const ProposalSampler& proposal_sampler, const Rng& rng, const DuplicateFilter& duplicates, const Rng& own,
    const std::function<Result<study::Proposal>(const Rng&)>& sample_next);

}  // namespace lanista::strategy
