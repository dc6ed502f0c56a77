#include "lanista/search/sampler/proposal_sampler.h"

#include <algorithm>
#include <map>

namespace lanista::search {

OptionSpec mutation_count_option() {
  return number_option("mutations", OptionSpec::Kind::kIntList, {0, 3}, 0, 64,
                       "least and greatest number of mutations of a base model");
}

Result<MutationCount> mutation_count(const Options& options) {
  const auto range = options.at("mutations").get<std::vector<std::int64_t>>();
  if (range.size() != 2 || range[0] > range[1]) {
    return Error{Code::kInvalidArgument,
                 "mutations is " + options.at("mutations").dump() + "; it must be [fewest, most]", "mutations"};
  }
  return MutationCount{range[0], range[1]};
}

ProposalSampler::ProposalSampler(const Context& context, MutationCount count)
    : models_(context.models), params_(context.params), epochs_(context.epochs), count_(count) {
  for (std::size_t i = 0; i < models_->bases().size(); ++i) {
    bases_.push_back(models_->base(static_cast<std::int64_t>(i)));
  }
  const bool mutates = models_->mutator_count() > 0 && count_.hi > 0;
  is_enumerable_ = !mutates && params_.size() && num_grid_points(1) <= static_cast<std::uint64_t>(kMaxRandomAttempts);
}

std::uint64_t ProposalSampler::num_grid_points(std::int64_t grain) const {
  const double count = params_.largest_branch(grain) * static_cast<double>(bases_.size());
  return count < 0x1p63 ? static_cast<std::uint64_t>(count) : std::uint64_t{1} << 63;
}

NextProposal ProposalSampler::grid_point(std::uint64_t i, std::int64_t grain) const {
  space::GridChooser choose(i, grain);
  const auto base = choose.index("base", static_cast<std::int64_t>(bases_.size()));
  space::Sample sample = params_.sample(choose);
  if (choose.exhausted()) return std::optional<study::Proposal>();
  LANISTA_ASSIGN(const mutate::Candidate model, model_of_sample(base, sample));
  return std::optional(proposal(model, std::move(sample)));
}

study::Proposal ProposalSampler::proposal(const mutate::Candidate& candidate, space::Sample sample) const {
  study::Proposal out;
  out.base = candidate.base;
  out.base_hash = bases_[static_cast<std::size_t>(candidate.base)].hash;
  out.steps = candidate.steps;
  out.edits = candidate.edits;
  out.graph_hash = candidate.hash;
  out.sample = std::move(sample);
  out.budget = epochs_;
  return out;
}

Result<study::Proposal> ProposalSampler::random(const Rng& rng) const {
  const auto base = static_cast<std::int64_t>(rng.split("base").below(bases_.size()));
  space::RandomChooser choose(rng.split("sample"));
  return mutated(base, params_.sample(choose), rng);
}

Result<mutate::Candidate> ProposalSampler::model_of_sample(std::int64_t base, const space::Sample& sample) const {
  if (!models_->has_blueprint()) return bases_[static_cast<std::size_t>(base)];
  return models_->model_of_sample(base, sample);
}

Result<mutate::Candidate> ProposalSampler::resampled_model(const study::Proposal& parent,
                                                           const space::Sample& sample) const {
  const auto choices = [](space::Sample all) {
    std::erase_if(all, [](const auto& entry) { return !space::is_model_choice(entry.first); });
    return all;
  };
  if (choices(parent.sample) == choices(sample)) {
    LANISTA_ASSIGN(graph::Graph graph, models_->rebuild(parent.base, parent.edits));
    return mutate::Candidate{parent.base, parent.steps, parent.edits, std::move(graph), parent.graph_hash};
  }
  LANISTA_ASSIGN(mutate::Candidate model, model_of_sample(parent.base, sample));
  return models_->replay(std::move(model), parent.steps);
}

Result<study::Proposal> ProposalSampler::mutated(std::int64_t index, space::Sample sample, const Rng& rng) const {
  LANISTA_ASSIGN(const mutate::Candidate base, model_of_sample(index, sample));
  const std::int64_t count = models_->mutator_count() == 0 ? 0 : rng.split("count").between(count_.lo, count_.hi);
  if (count == 0) return proposal(base, std::move(sample));
  LANISTA_ASSIGN(const mutate::Candidate model, models_->mutate(base, count, rng.split("mutate")));
  return proposal(model, std::move(sample));
}

Result<study::Proposal> first_unique(const Rng& rng, const DuplicateFilter& duplicates,
                                     const std::function<Result<study::Proposal>(const Rng&)>& sample_next,
                                     std::int64_t attempts) {
  std::map<std::string, std::int64_t> reasons;
  for (std::int64_t i = 0; i < attempts; ++i) {
    auto proposal = sample_next(rng.split(static_cast<std::uint64_t>(i)));
    if (!proposal) {
      if (proposal.error().code != Code::kNotApplicable) return std::move(proposal).error();
      ++reasons[proposal.error().text()];
    } else if (const auto why = duplicates.rejection_reason(*proposal)) {
      ++reasons[*why];
    } else {
      return proposal;
    }
  }
  const auto most = std::max_element(reasons.begin(), reasons.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return Error{Code::kResourceExhausted,
               "bad luck: " + std::to_string(attempts) + " samples gave nothing new (" + std::to_string(most->second) +
                   " of them: " + most->first + ")",
               ""};
}

NextProposal first_unique_or_remaining(const ProposalSampler& proposal_sampler, const Rng& rng,
                                       const DuplicateFilter& duplicates,
                                       const std::function<Result<study::Proposal>(const Rng&)>& sample_next,
                                       std::int64_t repeat) {
  const auto repeated = [repeat](auto found) {
    if (found) found->repeat = repeat;
    return found;
  };
  auto found = first_unique(
      rng, duplicates, [&](const Rng& r) { return repeated(sample_next(r)); },
      proposal_sampler.is_enumerable() ? kMaxAttempts : kMaxRandomAttempts);
  if (found) return std::optional(*std::move(found));
  if (!proposal_sampler.is_enumerable() || found.error().code != Code::kResourceExhausted)
    return std::move(found).error();
  std::vector<std::uint64_t> left;
  for (std::uint64_t i = 0; i < proposal_sampler.num_grid_points(1); ++i) {
    const auto proposal = proposal_sampler.grid_point(i, 1);
    if (proposal && *proposal && !duplicates.rejection_reason(*repeated(*proposal))) left.push_back(i);
  }
  if (left.empty()) return std::optional<study::Proposal>();
  LANISTA_ASSIGN(auto chosen, proposal_sampler.grid_point(left[rng.split("left").below(left.size())], 1));
  return repeated(std::move(chosen));
}

NextProposal random_unique(const ProposalSampler& proposal_sampler, const Rng& rng, const DuplicateFilter& duplicates) {
  return first_unique_or_remaining(proposal_sampler, rng.split("random"), duplicates,
                                   [&](const Rng& r) { return proposal_sampler.random(r); });
}

NextProposal unique_or_random(const ProposalSampler& proposal_sampler, const Rng& rng,
                              const DuplicateFilter& duplicates, const Rng& own,
                              const std::function<Result<study::Proposal>(const Rng&)>& sample_next) {
  auto found = first_unique(own, duplicates, sample_next);
  if (found) return std::optional(*std::move(found));
  if (found.error().code != Code::kResourceExhausted) return std::move(found).error();
  return random_unique(proposal_sampler, rng, duplicates);
}

}  // namespace lanista::search
