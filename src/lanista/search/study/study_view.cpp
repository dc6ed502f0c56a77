#include "lanista/search/study/study_view.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>

#include "lanista/model/graph/editor.h"
#include "lanista/model/graph/text.h"
#include "lanista/search/study/pareto.h"

namespace lanista::study {

Result<graph::Graph> base_model(const StudyView& view, const TrialView& trial) {
  const auto base = static_cast<std::size_t>(trial.proposal.base);
  const bool there = trial.proposal.base >= 0 && view.models.is_array() && base < view.models.size();
  if (!there || !view.models[base].is_object() || !view.models[base].contains("graph")) {
    return Error{Code::kDataLoss, "the log holds no base model " + std::to_string(trial.proposal.base), ""};
  }
  const auto& text = view.models[base]["graph"];
  if (!text.is_string()) return Error{Code::kDataLoss, "a base model in the log is not text", ""};
  return graph::parse(text.get_ref<const std::string&>());
}

Result<graph::Graph> trial_model(const StudyView& view, const TrialView& trial, const graph::OpTable& ops) {
  LANISTA_ASSIGN(const graph::Graph base, base_model(view, trial));
  return graph::apply_edits(base, trial.proposal.edits, ops);
}

namespace {

RankingKey comparable_outcome(const StudyConfig& config, const Measurement& measurement, const TrialView& trial) {
  const auto ranked = [](double loss) { return std::pair(std::isnan(loss), std::isnan(loss) ? 0 : loss); };
  const double violated = violation(config.subject_to, measurement, trial.proposal.sample);
  RankingKey out{.violation = violated, .parameters = trial.parameters, .trial = trial.id};
  for (const double loss : losses(config.goals, measurement)) out.losses.push_back(ranked(loss));
  if (const auto tie = tie_breaking_goal(config)) out.tie = ranked(losses({*tie}, measurement).front());
  return out;
}

/// Returns true if decisions_key is equal, without hashing.
bool same_decisions(const Proposal& a, const Proposal& b) {
  const Start *of_a = proposed_start(a), *of_b = proposed_start(b);
  const bool same_start = of_a == nullptr || of_b == nullptr ? of_a == of_b : of_a->is_same_start(*of_b);
  return same_start && a.is_refinement == b.is_refinement && a.graph_hash == b.graph_hash &&
         full_epochs(a) == full_epochs(b) && a.sample == b.sample;
}

}  // namespace

Proposal TrialView::begun() const {
  Proposal out = proposal;
  if (!forks.empty()) out.sample = first_sample;
  return out;
}

const space::Sample& TrialView::sample_at(std::int64_t epoch) const {
  for (auto fork = forks.rbegin(); fork != forks.rend(); ++fork) {
    if (fork->epoch < epoch) return fork->sample;
  }
  return forks.empty() ? proposal.sample : first_sample;
}

std::vector<LineageSegment> lineage(const StudyView& view, const TrialView& trial, std::int64_t epochs) {
  // From the end back: the state before a fork belongs to another trial, which may have forks itself.
  std::vector<LineageSegment> back;
  const TrialView* line = &trial;
  std::int64_t through = epochs;
  while (through > 0) {
    const Fork* last = nullptr;
    for (const Fork& fork : line->forks) {
      if (fork.epoch < through) last = &fork;
    }
    const std::int64_t from = last == nullptr ? 0 : last->epoch;
    back.push_back({line->id, from, through, line->sample_at(through)});
    if (last != nullptr) line = &view.trials.at(last->from.value - 1);
    through = from;
  }
  return {back.rbegin(), back.rend()};
}

EpochSelector epoch_selector_of(const StudyConfig& config, const TrialView& trial) {
  return {selection_rule(config), trial.proposal.sample};
}

const Measurement& result_of(const StudyConfig& config, const TrialView& trial) {
  const bool is_lost =
      trial.outcome && (trial.outcome->kind == OutcomeKind::kFailed || trial.outcome->kind == OutcomeKind::kCancelled ||
                        trial.outcome->kind == OutcomeKind::kPrunedByRule);
  if (is_lost) return trial.measurements.back();
  return trial.measurements[selected_index(epoch_selector_of(config, trial), trial.measurements)];
}

RankingKey standing(const StudyConfig& config, const TrialView& trial) {
  return comparable_outcome(
      config, trial.measurements[selected_index(epoch_selector_of(config, trial), trial.measurements)], trial);
}

bool ranks(const TrialView& trial, const Outcome& outcome) {
  const bool finished = outcome.kind == OutcomeKind::kSucceeded || outcome.kind == OutcomeKind::kStopped;
  return finished && !trial.measurements.empty();
}

std::vector<const TrialView*> fold_models_of(const StudyView& view, const TrialView& named) {
  if (!view.config.data.folds) return {&named};
  auto out = trainings_of(view, named);
  std::erase_if(out, [](const TrialView* each) { return !each->outcome || !ranks(*each, *each->outcome); });
  std::ranges::stable_partition(out, [&](const TrialView* each) { return each->id == named.id; });
  return out;
}

std::vector<const TrialView*> trainings_of(const StudyView& view, const TrialView& trial) {
  if (trainings_per_proposal(view.config) == 1) return {&trial};
  // Its first training is not far before it.
  std::size_t first = trial.id.value - 1;
  for (std::size_t i = first + 1; i-- > 0;) {
    const Proposal& other = view.trials[i].proposal;
    if (!same_decisions(other, trial.proposal)) continue;
    first = i;
    if (other.repeat == 0) break;
  }
  std::vector<const TrialView*> out;
  for (std::size_t i = first; i < view.trials.size(); ++i) {
    if (same_decisions(view.trials[i].proposal, trial.proposal)) out.push_back(&view.trials[i]);
  }
  return out;
}

TrainingCounts training_counts_of(const std::vector<const TrialView*>& trainings) {
  TrainingCounts out;
  for (const TrialView* trial : trainings) {
    ++out.proposed;
    if (trial->outcome) out.count(trial->outcome->kind);
  }
  return out;
}

std::vector<Measurement> joint_results(const StudyConfig& config, const std::vector<const TrialView*>& trainings) {
  std::vector<std::vector<Measurement>> stood_for;
  for (const TrialView* trial : trainings) {
    if (!trial->outcome || !ranks(*trial, *trial->outcome)) continue;
    stood_for.push_back(selected_measurements(epoch_selector_of(config, *trial), trial->measurements));
  }
  const std::vector<std::span<const Measurement>> measured(stood_for.begin(), stood_for.end());
  const auto common = common_measurements(measured);
  std::vector<Measurement> out;
  if (!common.empty()) {
    for (const Measurement* m : common.back()) out.push_back(*m);
  }
  return out;
}

std::optional<RankingKey> joint_ranking_key(const StudyConfig& config, const std::vector<const TrialView*>& trainings) {
  const TrainingCounts tally = training_counts_of(trainings);
  if (!trainings_done(config, tally)) return std::nullopt;
  const OutcomeKind kind = joint_outcome(config, tally);
  const bool is_incomplete = kind == OutcomeKind::kCancelled && config.data.rules > kFirstRules;
  if (kind != OutcomeKind::kSucceeded && kind != OutcomeKind::kStopped && !is_incomplete) return std::nullopt;
  std::int64_t ranked = 0;
  std::optional<RankingKey> best;
  for (const TrialView* trial : trainings) {
    if (!ranks(*trial, *trial->outcome)) continue;
    ++ranked;
    RankingKey own = standing(config, *trial);
    own.is_incomplete = is_incomplete;
    if (!best || own < *best) best = std::move(own);
  }
  if (ranked < 2) return best;
  const std::vector<Measurement> joint = joint_results(config, trainings);
  if (joint.empty()) return std::nullopt;
  std::vector<const Measurement*> together;
  for (const Measurement& m : joint) together.push_back(&m);
  const auto named = std::find_if(trainings.begin(), trainings.end(),
                                  [&](const TrialView* trial) { return trial->id == best->trial; });
  RankingKey out = comparable_outcome(config, average(config, together), **named);
  out.is_incomplete = is_incomplete;
  return out;
}

std::vector<RankingKey> ranking_keys(const StudyView& view) {
  std::vector<RankingKey> all;
  std::map<Digest, std::vector<const TrialView*>> proposals;
  for (const TrialView& trial : view.trials) {
    if (trainings_per_proposal(view.config) > 1) {
      proposals[decisions_key(trial.proposal)].push_back(&trial);
    } else if (trial.outcome && ranks(trial, *trial.outcome)) {
      all.push_back(standing(view.config, trial));
    }
  }
  for (const auto& [key, trainings] : proposals) {
    if (auto joint = joint_ranking_key(view.config, trainings)) all.push_back(*std::move(joint));
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<TrialId> ranking(const StudyView& view) {
  std::vector<TrialId> ids;
  for (const RankingKey& s : ranking_keys(view)) ids.push_back(s.trial);
  return ids;
}

std::vector<TrialId> pareto_front(const std::vector<RankingKey>& ranked) {
  std::vector<std::vector<double>> points;
  std::vector<double> violations;
  for (const RankingKey& s : ranked) {
    std::vector<double>& point = points.emplace_back();
    for (const auto& [lost, loss] : s.losses) point.push_back(lost ? std::numeric_limits<double>::infinity() : loss);
    violations.push_back(s.is_incomplete ? std::numeric_limits<double>::infinity() : s.violation);
  }
  const std::vector<std::int64_t> fronts = non_dominated_ranks(points, violations);
  std::vector<TrialId> out;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    if (fronts[i] == 0) out.push_back(ranked[i].trial);
  }
  return out;
}

}  // namespace lanista::study
