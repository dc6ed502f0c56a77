#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "lanista/base/option_specs.h"
#include "lanista/search/sampler/duplicate_filter.h"
#include "lanista/search/sampler/strategy.h"

namespace lanista::search {

/// Number of samples that a strategy takes from its own model before it samples at random.
inline constexpr std::int64_t kMaxAttempts = 100;
/// Number of random samples after which a strategy returns kResourceExhausted. If one sample in a thousand is allowed,
/// this happens to one proposal in 20,000. A finite space without mutations and with at most this many grid points is
/// enumerated instead.
inline constexpr std::int64_t kMaxRandomAttempts = 10'000;

/// Least (`lo`) and greatest (`hi`) number of mutations of a base model, both included.
struct MutationCount {
  std::int64_t lo = 0, hi = 3;
};
/// Returns the specification of the option `mutations` of a strategy: a list of two numbers from 0 to 64, fewest and
/// most. The default is [0, 3].
OptionSpec mutation_count_option();
/// Returns the value of the option `mutations`. Errors: kInvalidArgument (it has not two numbers, or fewest is above
/// most).
Result<MutationCount> mutation_count(const Options& options);

/// Samples models and hyper-parameters of a context. It checks neither duplicates nor constraints. Base models are
/// hashed once, in the constructor.
class ProposalSampler {
 public:
  /// Prepares the base models. Mutated models get a number of mutations in the range of `count`.
  ProposalSampler(const Context& context, MutationCount count);

  /// Returns a random proposal: base, number of mutations, mutations and hyper-parameters. Errors: kNotApplicable (no
  /// mutation applies, or the model is not valid).
  Result<study::Proposal> random(const Rng& rng) const;
  /// Returns a proposal of the base model with index `base` and the sample, with random mutations. Errors: those of
  /// random().
  Result<study::Proposal> mutated(std::int64_t base, space::Sample sample, const Rng& rng) const;
  /// Returns the model before mutations: the base model, or the model that the blueprint gives for the sample. Errors:
  /// kNotApplicable (the sample gives no valid model).
  Result<mutate::Candidate> model_of_sample(std::int64_t base, const space::Sample& sample) const;
  /// Returns the model of `parent` under another sample.
  ///
  /// If the model choices are equal, it is the parent's model. Otherwise it is a new model of the sample, to which the
  /// parent's mutations are applied again. Errors: kNotApplicable (the sample gives no valid model, or a mutation does
  /// not apply).
  Result<mutate::Candidate> resampled_model(const study::Proposal& parent, const space::Sample& sample) const;
  /// Returns the proposal of a model and a sample. Its budget is the whole schedule.
  study::Proposal proposal(const mutate::Candidate& candidate, space::Sample sample) const;
  /// Returns the base models, in the order of the model space.
  const std::vector<mutate::Candidate>& bases() const { return bases_; }

  /// Returns the number of grid points, at most 2^63: all bases times all samples without mutations.
  ///
  /// Continuous domains are replaced by `grain` values each. Branches of a conditional space have different sizes, so
  /// some points are empty.
  std::uint64_t num_grid_points(std::int64_t grain) const;
  /// Returns grid point i, counted from 0 in a fixed order, or nullopt if it is empty. Errors: kNotApplicable if it
  /// makes no model.
  NextProposal grid_point(std::uint64_t i, std::int64_t grain) const;
  /// True if the space has no mutations, finite domains and at most kMaxRandomAttempts grid points.
  bool is_enumerable() const { return is_enumerable_; }

 private:
  std::shared_ptr<const mutate::ModelSpace> models_;
  space::SearchSpace params_;
  std::int64_t epochs_;
  MutationCount count_;
  std::vector<mutate::Candidate> bases_;
  bool is_enumerable_ = false;
};

/// Returns the first result of sample_next(rng.split(i)), i = 0, 1, …, that `duplicates` allows. A sample that fails
/// with kNotApplicable counts as rejected.
///
/// Errors: kResourceExhausted (all `attempts` samples were rejected; the message has the most frequent reason), other
/// errors of `sample_next`. `attempts` is at least 1.
Result<study::Proposal> first_unique(const Rng& rng, const DuplicateFilter& duplicates,
                                     const std::function<Result<study::Proposal>(const Rng&)>& sample_next,
                                     std::int64_t attempts = kMaxAttempts);
/// Returns a result of first_unique. If kMaxAttempts samples fail in an enumerable space, it returns one of the
/// remaining points at random, or nullopt if the space is exhausted.
///
/// The proposal gets Proposal::repeat = `repeat`. Above 0 it is a further training of decisions that were trained
/// before. Errors: kResourceExhausted after kMaxRandomAttempts samples of a space that is not enumerable, other errors
/// of `sample_next`.
NextProposal first_unique_or_remaining(const ProposalSampler& proposal_sampler, const Rng& rng,
                                       const DuplicateFilter& duplicates,
                                       const std::function<Result<study::Proposal>(const Rng&)>& sample_next,
                                       std::int64_t repeat = 0);

/// Returns a random proposal that is allowed, from a stream of `rng`, or nullopt if the space is exhausted. Errors:
/// kResourceExhausted after kMaxRandomAttempts samples of a space that is not enumerable.
NextProposal random_unique(const ProposalSampler& proposal_sampler, const Rng& rng, const DuplicateFilter& duplicates);
/// Returns the first allowed result of `sample_next` with streams of `own`. If all kMaxAttempts results are rejected,
/// it returns the result of random_unique with `rng`. Errors: those of random_unique, and those of `sample_next` except
/// kNotApplicable.
NextProposal unique_or_random(const ProposalSampler& proposal_sampler, const Rng& rng,
                              const DuplicateFilter& duplicates, const Rng& own,
                              const std::function<Result<study::Proposal>(const Rng&)>& sample_next);

}  // namespace lanista::search
