#include "lanista/engine/ensemble.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/graph/infer.h"
#include "lanista/study/constraint.h"

namespace lanista::engine {
namespace {

/// What a candidate asks of a machine.
struct Size {
  double params = 0, flops = 0;
};

class Choice {
 public:
  Choice(Executor& executor, const study::StudyConfig& config, std::span<const Candidate> candidates)
      : executor_(executor), config_(config), candidates_(candidates) {}

  Result<void> look_at_sizes(const graph::OpTable& ops) {
    for (const Candidate& candidate : candidates_) {
      LANISTA_ASSIGN(const graph::ModelCost cost, graph::model_cost(candidate.job.model, ops));
      sizes_.push_back({static_cast<double>(cost.parameters), cost.forward.flops});
    }
    return {};
  }

  /// The ensemble of these draws, measured.
  Result<study::Ensemble> measured(std::span<const std::int64_t> draws) const {
    study::Ensemble ensemble;
    for (std::size_t k = 0; k < draws.size(); ++k) {
      if (draws[k] > 0) ensemble.members.push_back({candidates_[k].trial->id, draws[k]});
    }
    LANISTA_ASSIGN(ensemble.validation, executor_.measure(tested(candidates_, ensemble), data::Part::kValidation));
    return ensemble;
  }

  /// By how much its members break the study's constraints, the worst of them.
  double violation(const study::Ensemble& ensemble, std::span<const std::int64_t> draws) const {
    Size sum;
    for (std::size_t k = 0; k < draws.size(); ++k) {
      if (draws[k] == 0) continue;
      sum.params += sizes_[k].params;
      sum.flops += sizes_[k].flops;
    }
    double worst = 0;
    for (std::size_t k = 0; k < draws.size(); ++k) {
      if (draws[k] == 0) continue;
      study::Measurement seen = study::result_of(config_, *candidates_[k].trial);
      for (const auto& [name, value] : ensemble.validation) seen.metrics[name] = value;
      seen.metrics["params"] = sum.params;
      seen.metrics["flops"] = sum.flops;
      worst = std::max(worst, broken_by(seen, candidates_[k].trial->proposal.sample));
    }
    return worst;
  }

 private:
  /// All constraints count: what is known of one model before it is trained, its size, is not known of a blend.
  double broken_by(const study::Measurement& seen, const space::Sample& sample) const {
    const auto value_of = [&](const std::string& name) -> std::optional<double> {
      if (const auto found = seen.metrics.find(name); found != seen.metrics.end()) return found->second;
      if (study::is_metric(name)) return std::numeric_limits<double>::quiet_NaN();
      return study::number_in(sample, name);
    };
    double sum = 0;
    for (const study::Constraint& constraint : config_.subject_to) sum += constraint.violation(value_of).value_or(0);
    return sum;
  }

  Executor& executor_;
  const study::StudyConfig& config_;
  std::span<const Candidate> candidates_;
  std::vector<Size> sizes_;
};

}  // namespace

std::vector<Tested> tested(std::span<const Candidate> candidates, const study::Ensemble& ensemble) {
  const std::vector<double> shares = ensemble.shares();
  std::vector<Tested> out;
  for (std::size_t i = 0; i < ensemble.members.size(); ++i) {
    const auto of_it = [&](const Candidate& each) { return each.trial->id == ensemble.members[i].trial; };
    const auto found = std::ranges::find_if(candidates, of_it);
    LANISTA_CHECK(found != candidates.end(), "an ensemble of others");
    out.push_back({found->job, found->weights, shares[i]});
  }
  return out;
}

Result<study::Ensemble> choose_ensemble(Executor& executor, const study::StudyConfig& config,
                                        const graph::OpTable& ops, std::span<const Candidate> candidates,
                                        std::int64_t most) {
  LANISTA_CHECK(!candidates.empty() && !config.goals.empty(), "an ensemble of nobody, or for nothing");
  study::Ensemble single{{{candidates.front().trial->id, 1}}};
  const study::Goal& goal = config.goals.front();
  if (!goal.metric.starts_with("val_")) return single;
  Choice choice(executor, config, candidates);
  LANISTA_TRY(choice.look_at_sizes(ops));

  std::vector<std::int64_t> alone(candidates.size(), 0);
  alone[0] = 1;
  LANISTA_ASSIGN(single, choice.measured(alone));
  const double allowed = choice.violation(single, alone);
  const auto loss = [&](std::span<const std::int64_t> draws) -> Result<std::optional<double>> {
    LANISTA_ASSIGN(const study::Ensemble ensemble, choice.measured(draws));
    const auto value = ensemble.validation.find(goal.metric);
    if (value == ensemble.validation.end() || choice.violation(ensemble, draws) > allowed) return std::optional<double>();
    return std::optional(goal.maximize ? -value->second : value->second);
  };
  LANISTA_ASSIGN(const auto draws, study::select_ensemble(candidates.size(), most, loss));
  return draws == alone ? single : choice.measured(draws);
}

}  // namespace lanista::engine
