#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lanista/strategy/folding.h"
#include "lanista/strategy/strategy.h"

namespace lanista::strategy {

/// How often a draw that was tried before, or that does not apply, is drawn again.
inline constexpr std::int64_t kMaxDraws = 100;

/// How many mutations a model drawn from a base gets, inclusive.
struct MutationCount {
  std::int64_t lo = 0, hi = 3;
};
OptionSpec mutation_count_option();
OptionSpec number_option(const char* name, OptionSpec::Kind kind, nlohmann::json value, double min, double max,
                         const char* help);
Result<MutationCount> mutation_count(const Options& options);

/// Draws models and hyper-parameters from a context. Base models are hashed once, here.
class Drawer {
 public:
  Drawer(const Context& context, MutationCount count);

  /// Base, number of mutations, mutations, sample. Errors: kNotApplicable.
  Result<study::Proposal> random(const Rng& rng) const;
  /// Number of mutations and mutations, drawn; base and sample are given. Errors: kNotApplicable.
  Result<study::Proposal> mutated(std::int64_t base, space::Sample sample, const Rng& rng) const;
  /// The model before mutations: the base, or what a blueprint makes of the sample. Errors: kNotApplicable.
  Result<mutate::Candidate> drawn(std::int64_t base, const space::Sample& sample) const;
  /// The model of `parent` under another sample: its own if the model's choices are the same, else drawn anew with the
  /// parent's mutations replayed. Errors: kNotApplicable.
  Result<mutate::Candidate> redrawn(const study::Proposal& parent, const space::Sample& sample) const;
  study::Proposal proposal(const mutate::Candidate& candidate, space::Sample sample) const;
  const std::vector<mutate::Candidate>& bases() const { return bases_; }

 private:
  std::shared_ptr<const mutate::ModelSpace> models_;
  space::SearchSpace params_;
  std::int64_t epochs_;
  MutationCount count_;
  std::vector<mutate::Candidate> bases_;
};

/// The first result of draw(rng.split(i)), i = 0, 1, …, that `taken` does not refuse. Errors: kResourceExhausted with
/// the last reason after kMaxDraws.
Result<study::Proposal> first_new(const Rng& rng, const Taken& taken,
                                  const std::function<Result<study::Proposal>(const Rng&)>& draw);

/// A new random draw, from a stream of `rng`.
Result<std::optional<study::Proposal>> random_new(const Drawer& drawer, const Rng& rng, const Taken& taken);
/// What `draw` finds first from `own` that is new; where all that it finds is known, a strategy looks elsewhere: a new
/// random draw.
Result<std::optional<study::Proposal>> new_or_random(const Drawer& drawer, const Rng& rng, const Taken& taken,
                                                     const Rng& own,
                                                     const std::function<Result<study::Proposal>(const Rng&)>& draw);

}  // namespace lanista::strategy
