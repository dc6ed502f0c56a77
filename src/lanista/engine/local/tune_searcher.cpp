#include "lanista/engine/local/tune_searcher.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "lanista/base/rng.h"
#include "lanista/exec/train/tuning.h"
#include "lanista/io/studyfile/tuning_space.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/search/sampler/strategy.h"

namespace lanista::runtime {
namespace {

/// The metric of a try. Samplers propose trials; here each trial is a try of one epoch, and no model is trained.
constexpr const char* kSpeed = "speed";

Result<std::shared_ptr<const mutate::ModelSpace>> no_models() {
  LANISTA_ASSIGN(auto base, mutate::builtin_base("small-mlp", {{1}}, 2));
  std::vector<mutate::BaseModel> bases;
  bases.push_back(std::move(base));
  LANISTA_ASSIGN(auto models, mutate::ModelSpace::make(graph::builtin_ops(), std::move(bases), {}, {}, {}));
  return std::make_shared<const mutate::ModelSpace>(std::move(models));
}

/// A sampler that has observed these tries in order; running ones count as active.
Result<std::unique_ptr<search::Sampler>> observed_sampler(const search::StrategyPlugin& plugin, const Options& options,
                                                          const search::Context& context, study::Proposal proposal,
                                                          std::span<const study::Try> tries) {
  LANISTA_ASSIGN(auto sampler, plugin.make(context, options));
  std::uint32_t id = 0;
  for (const study::Try& tried : tries) {
    const TrialId trial{++id};
    proposal.sample = tried.setting;
    sampler->observe(study::Proposed{trial, proposal});
    if (tried.losses.empty() && !tried.failed) continue;
    const bool failed = tried.failed || tried.diverged;
    if (!failed) sampler->observe(study::Measured{{trial, 1, 1, {{kSpeed, tried.speed}}}});
    study::Outcome outcome;
    outcome.kind = failed ? study::OutcomeKind::kFailed : study::OutcomeKind::kSucceeded;
    sampler->observe(study::Ended{trial, outcome});
  }
  return sampler;
}

/// The current values of the space's parameters.
space::Sample setting_now(const study::Recipe& recipe, const space::SearchSpace& space) {
  const nlohmann::json values = study::recipe_json(recipe);
  space::Sample now;
  for (const space::Parameter& parameter : space.parameters()) {
    now[parameter.name] = values.at(parameter.name).get<double>();
  }
  return now;
}

/// The current setting, and the same with every other batch size: with small gradients against their noise, a larger
/// batch is an alternative to a lower rate (Smith et al., arXiv 1711.00489).
std::vector<space::Sample> first_settings(const space::Sample& now, const space::Domain* batches) {
  std::vector<space::Sample> out{now};
  if (batches == nullptr) return out;
  const std::int64_t count = space::domain_size(*batches).value_or(0);
  for (std::int64_t i = 0; i < count; ++i) {
    const space::Value batch = space::domain_value(*batches, i, count);
    if (batch == now.at("batch")) continue;
    out.push_back(now);
    out.back()["batch"] = batch;
  }
  return out;
}

/// The searcher that the rules name.
Result<study::ProposeSetting> searcher_of(const study::TuneRules& rules, space::SearchSpace space, const Rng& rng) {
  const auto plugins = search::builtin_strategies();
  const auto plugin = std::ranges::find(plugins, rules.searcher, &search::StrategyPlugin::name);
  if (plugin == plugins.end()) {
    return Error{Code::kInvalidArgument, "'" + rules.searcher + "' cannot propose settings",
                 "train.tune.mltuner.searcher"};
  }
  LANISTA_ASSIGN(const Options options, resolve_options(Options::object(), plugin->options));
  LANISTA_ASSIGN(auto models, no_models());
  const search::Context context{std::move(models), std::move(space), {{true, kSpeed}}, 1, rng};
  LANISTA_ASSIGN(const auto fresh, plugin->make(context, options));  // reports invalid options now
  LANISTA_ASSIGN(const search::Suggestion first, fresh->sample_proposals(1));
  if (first.proposals().empty()) return study::ProposeSetting([](auto) { return std::nullopt; });
  return study::ProposeSetting([plugin = *plugin, options, context, like = first.proposals().front()](
                                   std::span<const study::Try> tries) -> std::optional<space::Sample> {
    const auto sampler = observed_sampler(plugin, options, context, like, tries);
    if (!sampler) return std::nullopt;
    const auto next = (*sampler)->sample_proposals(1);
    if (!next) return std::nullopt;
    const auto proposals = next->proposals();
    if (proposals.empty()) return std::nullopt;
    return proposals.front().sample;
  });
}

}  // namespace

Result<study::ProposeSetting> make_tune_searcher(const train::TrialRun& run) {
  const study::TuneRules& rules = *run.definition().tune_rules;
  const auto searches = train::past_searches(run.progress().measurements()).count;
  Options options = run.recipe().tune.options;
  if (nlohmann::json& params = options["params"]; searches == 0 && params.size() > 1) {
    params.erase("batch");
  }
  LANISTA_ASSIGN(space::SearchSpace space, studyfile::tune_space(options));
  const space::Sample now = setting_now(run.recipe(), space);
  if (searches > 0 && rules.reach > 1) space = study::narrowed_space(space, now, rules.reach);
  const Rng rng = Rng(run.definition().input.trial_seed).split("tune").split(static_cast<std::uint64_t>(searches));
  const auto& params = space.parameters();
  const auto batch = std::ranges::find(params, "batch", &space::Parameter::name);
  const std::vector<space::Sample> first = first_settings(now, batch == params.end() ? nullptr : &batch->domain);
  LANISTA_ASSIGN(auto searcher, searcher_of(rules, std::move(space), rng));
  if (searches == 0) return searcher;
  return study::ProposeSetting(
      [searcher = std::move(searcher), first](std::span<const study::Try> tries) -> std::optional<space::Sample> {
        if (tries.size() < first.size()) return first[tries.size()];
        return searcher(tries);
      });
}

}  // namespace lanista::runtime
