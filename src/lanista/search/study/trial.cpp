#include "lanista/search/study/trial.h"

#include <algorithm>
#include <utility>

#include "lanista/base/json_object.h"
#include "lanista/base/printable.h"
#include "lanista/base/real_json.h"
#include "lanista/search/study/record_fields.h"

namespace lanista::study {
namespace {

using nlohmann::json;
using namespace fields;

constexpr std::pair<OutcomeKind, std::string_view> kOutcomes[] = {
    {OutcomeKind::kSucceeded, "succeeded"}, {OutcomeKind::kStopped, "stopped"},
    {OutcomeKind::kFailed, "failed"},       {OutcomeKind::kCancelled, "cancelled"},
    {OutcomeKind::kDuplicate, "duplicate"}, {OutcomeKind::kPrunedByRule, "implied"}};

}  // namespace

Digest decisions_key(const Proposal& proposal) {
  Proposal first = proposal;
  first.repeat = 0;
  return run_key(first);
}

Digest run_key(const Proposal& proposal) {
  // The choices of a model are in its graph; two samples that lead to one graph are one trial.
  const auto of_model = [](const auto& entry) { return space::is_model_choice(entry.first); };
  Digest recipe;
  if (std::ranges::none_of(proposal.sample, of_model)) {
    recipe = space::hash_sample(proposal.sample);
  } else {
    space::Sample others = proposal.sample;
    std::erase_if(others, of_model);
    recipe = space::hash_sample(others);
  }
  Hasher hasher;
  hasher.digest(proposal.graph_hash).digest(recipe).number(full_epochs(proposal));
  /// The first training has the key of versions without repeats.
  if (proposal.repeat != 0) hasher.number(proposal.repeat);
  if (const Start* start = proposed_start(proposal)) {
    hasher.text("start").number(static_cast<std::int64_t>(start->parent.value)).number(start->epoch).text(start->plan);
  }
  if (proposal.is_refinement) hasher.text("tunes");
  return hasher.finish();
}

std::string start_text(const Start& start) {
  if (!start.zoo.empty()) return "the zoo's model " + printable(start.zoo);
  if (start.is_file()) return "the file";
  return "trial " + std::to_string(start.parent.value) + " as of epoch " + std::to_string(start.epoch);
}

std::string inherited_text(const Start& start) {
  if (!start.is_chosen_by_engine) return start_text(start);
  const auto percent = static_cast<std::int64_t>(start.coverage * 100);  // rounded down
  const std::string kept =
      start.inexact_reason.empty() ? "the same function" : "not the same function: " + printable(start.inexact_reason);
  const std::string optimizer = start.optimizer.empty() ? ""
                                : start.optimizer == kOptimizerCarried
                                    ? ", its optimizer's state too"
                                    : ", a fresh optimizer: " + printable(start.optimizer);
  return start_text(start) + ": " + std::to_string(percent) + " % of its weights, " + kept + optimizer;
}

json start_json(const Start& start) {
  json out{{"parent", start.parent.value}, {"epoch", start.epoch}, {"plan", start.plan}, {"address", start.address}};
  if (!start.is_chosen_by_engine) return out;
  out["chosen"] = true;
  out["coverage"] = start.coverage;
  if (!start.inexact_reason.empty()) out["lost"] = start.inexact_reason;
  if (!start.zoo.empty()) out["zoo"] = start.zoo;
  if (!start.optimizer.empty()) out["optimizer"] = start.optimizer;
  return out;
}

Result<Start> start_from_json(const json& in) {
  return read_record<Start>("start", [&] {
    const bool of_none = integer(in, "parent") == 0;
    Start start{of_none ? TrialId{} : trial(in, "parent"), integer(in, "epoch"), text(in, "plan"), text(in, "address")};
    start.is_chosen_by_engine = in.contains("chosen") && flag(in, "chosen");
    if (of_none && (start.epoch != 0 || !start.is_chosen_by_engine))
      throw Malformed{"'parent' is 0, not a trial's number"};
    if (start.is_chosen_by_engine) start.coverage = real(in, "coverage");
    if (!(start.coverage >= 0 && start.coverage <= 1)) throw Malformed{"'coverage' must be from 0 to 1"};
    if (start.is_chosen_by_engine && in.contains("lost")) start.inexact_reason = text(in, "lost");
    if (in.contains("zoo")) start.zoo = text(in, "zoo");
    if (in.contains("optimizer")) start.optimizer = text(in, "optimizer");
    if (!start.zoo.empty() && !of_none) throw Malformed{"'zoo' and 'parent' exclude each other"};
    if (of_none) return start;
    if (start.epoch < 1) throw Malformed{"'epoch' is " + std::to_string(start.epoch) + "; epochs count from 1"};
    return start;
  });
}

json start_race_json(const StartRace& race) {
  json rivals = json::array();
  for (const Start& rival : race.rivals) rivals.push_back(start_json(rival));
  return {{"steps", race.steps}, {"time", real_json(race.time)}, {"rivals", std::move(rivals)}};
}

Result<StartRace> start_race_from_json(const json& in) {
  return read_record<StartRace>("race", [&] {
    StartRace race{integer(in, "steps"), real(in, "time")};
    if (race.steps < 1) throw Malformed{"'steps' is " + std::to_string(race.steps) + "; it must be at least 1"};
    if (!(race.time >= 0)) throw Malformed{"'time' must be at least 0"};
    for (const json& rival : array(in, "rivals")) {
      race.rivals.push_back(good(start_from_json(rival)));
      if (!race.rivals.back().is_chosen_by_engine) throw Malformed{"a rival must be chosen by the engine"};
    }
    return race;
  });
}

json fork_json(const Fork& fork) {
  return {{"from", fork.from.value},
          {"epoch", fork.epoch},
          {"sample", space::sample_json(fork.sample)},
          {"address", fork.address}};
}

Result<Fork> fork_from_json(const json& in) {
  return read_record<Fork>("fork", [&] {
    Fork fork{trial(in, "from"), integer(in, "epoch"), good(space::sample_from_json(member(in, "sample"))),
              text(in, "address")};
    if (fork.epoch < 1) throw Malformed{"'epoch' is " + std::to_string(fork.epoch) + "; epochs count from 1"};
    return fork;
  });
}

std::string_view outcome_name(OutcomeKind kind) {
  for (const auto& [k, name] : kOutcomes) {
    if (k == kind) return name;
  }
  LANISTA_CHECK(false, "an outcome without a name");
  return {};
}

std::string_view verdict_name(Verdict verdict) {
  return verdict == Verdict::kStop ? "stop" : verdict == Verdict::kPause ? "pause" : "continue";
}

Result<Verdict> verdict_from_name(std::string_view name) {
  for (const Verdict verdict : {Verdict::kContinue, Verdict::kPause, Verdict::kStop}) {
    if (verdict_name(verdict) == name) return verdict;
  }
  return Error{Code::kDataLoss, "'" + std::string(name) + "' is no verdict", "verdict"};
}

json proposal_json(const Proposal& proposal) {
  json steps = json::array();
  for (const space::MutationStep& step : proposal.steps) {
    steps.push_back({{"mutator", step.mutator}, {"trace", space::trace_json(step.trace)}});
  }
  json edits = json::array();
  for (const graph::Edit& edit : proposal.edits) edits.push_back(graph::edit_text(edit));
  json out = json_object("base", proposal.base,                          //
                         "base_hash", proposal.base_hash.hex(),          //
                         "steps", std::move(steps),                      //
                         "edits", std::move(edits),                      //
                         "graph_hash", proposal.graph_hash.hex(),        //
                         "sample", space::sample_json(proposal.sample),  //
                         "budget", proposal.budget);
  if (proposal.horizon != 0 && proposal.horizon != proposal.budget) out["horizon"] = proposal.horizon;
  if (proposal.parent) out["parent"] = proposal.parent->value;
  if (proposal.repeat != 0) out["repeat"] = proposal.repeat;
  if (proposal.fold) out["fold"] = *proposal.fold;
  if (proposal.start) out["start"] = start_json(*proposal.start);
  if (proposal.select_time > 0) out["select_time"] = real_json(proposal.select_time);
  if (proposal.race) out["race"] = start_race_json(*proposal.race);
  if (proposal.is_refinement) out["tunes"] = true;
  return out;
}

Result<Proposal> proposal_from_json(const json& in) {
  return read_record<Proposal>("proposal", [&] {
    Proposal proposal;
    proposal.base = integer(in, "base");
    proposal.base_hash = digest(in, "base_hash");
    for (const json& step : array(in, "steps")) {
      proposal.steps.push_back({text(step, "mutator"), good(space::trace_from_json(member(step, "trace")))});
    }
    for (const json& edit : array(in, "edits")) {
      proposal.edits.push_back(good(graph::parse_edit(edit.get<std::string>())));
    }
    proposal.graph_hash = digest(in, "graph_hash");
    proposal.sample = good(space::sample_from_json(member(in, "sample")));
    proposal.budget = integer(in, "budget");
    if (in.contains("parent")) proposal.parent = trial(in, "parent");
    if (in.contains("horizon")) proposal.horizon = integer(in, "horizon");
    if (in.contains("horizon") && proposal.horizon < proposal.budget) throw Malformed{"'horizon' is below 'budget'"};
    if (in.contains("repeat")) proposal.repeat = integer(in, "repeat");
    if (proposal.repeat < 0) throw Malformed{"'repeat' is below 0"};
    if (in.contains("fold")) proposal.fold = integer(in, "fold");
    if (proposal.fold && *proposal.fold < 0) throw Malformed{"'fold' is below 0"};
    if (in.contains("start")) proposal.start = good(start_from_json(member(in, "start")));
    if (in.contains("select_time")) proposal.select_time = real(in, "select_time");
    if (in.contains("race")) proposal.race = good(start_race_from_json(member(in, "race")));
    if (proposal.race && (!proposal.start || !proposal.start->is_chosen_by_engine))
      throw Malformed{"a 'race' without a start"};
    if (in.contains("tunes")) proposal.is_refinement = flag(in, "tunes");
    if (proposal.is_refinement && !proposal.parent) throw Malformed{"'tunes' without a 'parent'"};
    return proposal;
  });
}

json branch_json(const Branch& branch) {
  return json_object("step", branch.step,                            //
                     "setting", space::sample_json(branch.setting),  //
                     "steps", branch.steps,                          //
                     "trend", branch.trend,                          //
                     "speed", real_json(branch.speed),               //
                     "kept", branch.kept);
}

Result<Branch> branch_from_json(const json& in) {
  return read_record<Branch>("branch", [&] {
    Branch branch{integer(in, "step"),  good(space::sample_from_json(member(in, "setting"))),
                  integer(in, "steps"), text(in, "trend"),
                  real(in, "speed"),    flag(in, "kept")};
    if (branch.step < 0 || branch.steps < 0) throw Malformed{"'step' and 'steps' of a branch must be at least 0"};
    return branch;
  });
}

json start_candidate_json(const StartCandidate& start_candidate) {
  return {{"steps", start_candidate.steps}, {"loss", real_json(start_candidate.loss)}, {"kept", start_candidate.kept}};
}

Result<StartCandidate> start_candidate_from_json(const json& in) {
  return read_record<StartCandidate>("racer", [&] {
    StartCandidate start_candidate{integer(in, "steps"), real(in, "loss"), flag(in, "kept")};
    if (start_candidate.steps < 0) throw Malformed{"'steps' of a racer must be at least 0"};
    return start_candidate;
  });
}

json select_branch_json(const SelectBranch& branch) {
  return json_object("step", branch.step,               //
                     "selects", branch.selects,         //
                     "steps", branch.steps,             //
                     "cost", real_json(branch.cost),    //
                     "metric", branch.metric,           //
                     "value", real_json(branch.value),  //
                     "kept", branch.kept);
}

Result<SelectBranch> select_branch_from_json(const json& in) {
  return read_record<SelectBranch>("selection branch", [&] {
    SelectBranch branch{integer(in, "step"), flag(in, "selects"), integer(in, "steps"), real(in, "cost"),
                        text(in, "metric"),  real(in, "value"),   flag(in, "kept")};
    if (branch.step < 0 || branch.steps < 0) throw Malformed{"'step' and 'steps' of a branch must be at least 0"};
    return branch;
  });
}

json measurement_json(const Measurement& measurement) {
  json out = json_object("trial", measurement.trial.value,  //
                         "epoch", measurement.epoch,        //
                         "step", measurement.step,          //
                         "metrics", metrics_json(measurement.metrics));
  for (const Branch& branch : measurement.branches) out["branches"].push_back(branch_json(branch));
  for (const StartCandidate& start_candidate : measurement.race)
    out["race"].push_back(start_candidate_json(start_candidate));
  for (const SelectBranch& branch : measurement.selecting) out["selecting"].push_back(select_branch_json(branch));
  return out;
}

Result<Measurement> measurement_from_json(const json& in) {
  return read_record<Measurement>("measurement", [&] {
    Measurement measurement;
    measurement.trial = fields::trial(in, "trial");
    measurement.epoch = integer(in, "epoch");
    measurement.step = integer(in, "step");
    measurement.metrics = metrics(in, "metrics");
    const auto each = [&](const char* name) { return in.contains(name) ? array(in, name) : json::array(); };
    for (const json& branch : each("branches")) measurement.branches.push_back(good(branch_from_json(branch)));
    for (const json& start_candidate : each("race"))
      measurement.race.push_back(good(start_candidate_from_json(start_candidate)));
    for (const json& each_branch : each("selecting"))
      measurement.selecting.push_back(good(select_branch_from_json(each_branch)));
    return measurement;
  });
}

json outcome_json(const Outcome& outcome) {
  json out = json_object("kind", outcome_name(outcome.kind));
  if (!outcome.reason.empty()) out["reason"] = outcome.reason;
  if (outcome.same_as) out["same_as"] = outcome.same_as->value;
  if (!outcome.weights.empty()) out["weights"] = outcome.weights;
  if (outcome.weights_hash) out["weights_hash"] = outcome.weights_hash->hex();
  if (outcome.pruned_by) out["implied_by"] = outcome.pruned_by->value;
  if (!outcome.rule.empty()) out["rule"] = outcome.rule;
  return out;
}

Result<Outcome> outcome_from_json(const json& in) {
  return read_record<Outcome>("outcome", [&] {
    Outcome outcome;
    const std::string name = text(in, "kind");
    bool known = false;
    for (const auto& [kind, kind_name] : kOutcomes) {
      if (kind_name == name) {
        outcome.kind = kind;
        known = true;
      }
    }
    if (!known) throw Malformed{"'kind' is '" + name + "', which is no kind of outcome"};
    if (in.contains("reason")) outcome.reason = text(in, "reason");
    if (in.contains("same_as")) outcome.same_as = trial(in, "same_as");
    if (in.contains("weights")) outcome.weights = text(in, "weights");
    if (in.contains("weights_hash")) outcome.weights_hash = digest(in, "weights_hash");
    if (in.contains("implied_by")) outcome.pruned_by = trial(in, "implied_by");
    if (in.contains("rule")) outcome.rule = text(in, "rule");
    if (outcome.kind == OutcomeKind::kPrunedByRule && !outcome.pruned_by) throw Malformed{"'implied_by' is missing"};
    return outcome;
  });
}

}  // namespace lanista::study
