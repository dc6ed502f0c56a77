#include "lanista/strategy/draw.h"

namespace lanista::strategy {

OptionSpec mutation_count_option() {
  OptionSpec spec;
  spec.name = "mutations";
  spec.kind = OptionSpec::Kind::kIntList;
  spec.default_value = {0, 3};
  spec.min = 0;
  spec.max = 64;
  spec.help = "fewest and most mutations of a model drawn from a base";
  return spec;
}

OptionSpec number_option(const char* name, OptionSpec::Kind kind, nlohmann::json value, double min, double max,
                         const char* help) {
  OptionSpec spec;
  spec.name = name;
  spec.kind = kind;
  spec.default_value = std::move(value);
  spec.min = min;
  spec.max = max;
  spec.help = help;
  return spec;
}

Result<MutationCount> mutation_count(const Options& options) {
  const auto range = options.at("mutations").get<std::vector<std::int64_t>>();
  if (range.size() != 2 || range[0] > range[1]) {
    return Error{Code::kInvalidArgument,
                 "mutations is " + options.at("mutations").dump() + "; it must be [fewest, most]", "mutations"};
  }
  return MutationCount{range[0], range[1]};
}

Drawer::Drawer(const Context& context, MutationCount count)
    : models_(context.models), params_(context.params), epochs_(context.epochs), count_(count) {
  for (std::size_t i = 0; i < models_->bases().size(); ++i) {
    bases_.push_back(models_->base(static_cast<std::int64_t>(i)));
  }
}

study::Proposal Drawer::proposal(const mutate::Candidate& candidate, space::Sample sample) const {
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

Result<study::Proposal> Drawer::random(const Rng& rng) const {
  const auto base = static_cast<std::int64_t>(rng.split("base").below(bases_.size()));
  space::RandomChooser choose(rng.split("sample"));
  return mutated(base, params_.draw(choose), rng);
}

Result<mutate::Candidate> Drawer::drawn(std::int64_t base, const space::Sample& sample) const {
  if (!models_->has_blueprint()) return bases_[static_cast<std::size_t>(base)];
  return models_->drawn(base, sample);
}

Result<mutate::Candidate> Drawer::redrawn(const study::Proposal& parent, const space::Sample& sample) const {
  const auto choices = [](space::Sample all) {
    std::erase_if(all, [](const auto& entry) { return !space::is_model_choice(entry.first); });
    return all;
  };
  if (choices(parent.sample) == choices(sample)) {
    LANISTA_ASSIGN(graph::Graph graph, models_->rebuild(parent.base, parent.edits));
    return mutate::Candidate{parent.base, parent.steps, parent.edits, std::move(graph), parent.graph_hash};
  }
  LANISTA_ASSIGN(mutate::Candidate model, drawn(parent.base, sample));
  return models_->replay(std::move(model), parent.steps);
}

Result<study::Proposal> Drawer::mutated(std::int64_t index, space::Sample sample, const Rng& rng) const {
  LANISTA_ASSIGN(const mutate::Candidate base, drawn(index, sample));
  const std::int64_t count = models_->mutator_count() == 0 ? 0 : rng.split("count").between(count_.lo, count_.hi);
  if (count == 0) return proposal(base, std::move(sample));
  LANISTA_ASSIGN(const mutate::Candidate model, models_->mutate(base, count, rng.split("mutate")));
  return proposal(model, std::move(sample));
}

Result<study::Proposal> first_new(const Rng& rng, const Taken& taken,
                                  const std::function<Result<study::Proposal>(const Rng&)>& draw) {
  std::string reason;
  for (std::int64_t i = 0; i < kMaxDraws; ++i) {
    auto proposal = draw(rng.split(static_cast<std::uint64_t>(i)));
    if (!proposal) {
      if (proposal.error().code != Code::kNotApplicable) return std::move(proposal).error();
      reason = proposal.error().text();
    } else if (const auto why = taken.refuses(*proposal)) {
      reason = *why;
    } else {
      return proposal;
    }
  }
  return Error{Code::kResourceExhausted,
               "space exhausted: " + std::to_string(kMaxDraws) + " draws gave nothing new (last: " + reason + ")", ""};
}

Result<std::optional<study::Proposal>> random_new(const Drawer& drawer, const Rng& rng, const Taken& taken) {
  LANISTA_ASSIGN(auto proposal, first_new(rng.split("random"), taken, [&](const Rng& r) { return drawer.random(r); }));
  return std::optional(std::move(proposal));
}

Result<std::optional<study::Proposal>> new_or_random(const Drawer& drawer, const Rng& rng, const Taken& taken,
                                                     const Rng& own,
                                                     const std::function<Result<study::Proposal>(const Rng&)>& draw) {
  auto found = first_new(own, taken, draw);
  if (found) return std::optional(*std::move(found));
  if (found.error().code != Code::kResourceExhausted) return std::move(found).error();
  return random_new(drawer, rng, taken);
}

}  // namespace lanista::strategy
