#include "lanista/search/study/trial.h"

#include <algorithm>
#include <utility>

#include "lanista/base/enum_table.h"
#include "lanista/base/printable.h"
#include "lanista/search/study/record_table.h"

namespace lanista::study {
namespace {

using nlohmann::json;
using namespace fields;

constexpr EnumTable<OutcomeKind, std::string_view, 6> kOutcomes{{{OutcomeKind::kSucceeded, "succeeded"},
                                                                 {OutcomeKind::kStopped, "stopped"},
                                                                 {OutcomeKind::kFailed, "failed"},
                                                                 {OutcomeKind::kCancelled, "cancelled"},
                                                                 {OutcomeKind::kDuplicate, "duplicate"},
                                                                 {OutcomeKind::kPrunedByRule, "implied"}}};

void check_epoch(const FieldTable& t, std::int64_t epoch) {
  if (t.reads() && epoch < 1) throw Malformed{"'epoch' is " + std::to_string(epoch) + "; epochs count from 1"};
}

void table(FieldTable& t, Start& start) {
  std::int64_t parent = start.parent.value;
  t("parent", parent);
  if (t.reads() && parent != 0) t("parent", start.parent);
  t("epoch", start.epoch)("plan", start.plan)("address", start.address).optional("chosen", start.is_chosen_by_engine);
  t.check(parent != 0 || (start.epoch == 0 && start.is_chosen_by_engine), "'parent' is 0, not a trial's number");
  if (start.is_chosen_by_engine) t("coverage", start.coverage);
  t.check(start.coverage >= 0 && start.coverage <= 1, "'coverage' must be from 0 to 1");
  if (start.is_chosen_by_engine) t.optional("lost", start.inexact_reason);
  if (t.reads() || start.is_chosen_by_engine) t.optional("zoo", start.zoo).optional("optimizer", start.optimizer);
  t.check(start.zoo.empty() || parent == 0, "'zoo' and 'parent' exclude each other");
  if (parent != 0) check_epoch(t, start.epoch);
}

void table(FieldTable& t, StartRace& race) {
  t("steps", race.steps)("time", race.time);
  if (t.reads() && race.steps < 1) {
    throw Malformed{"'steps' is " + std::to_string(race.steps) + "; it must be at least 1"};
  }
  t.check(race.time >= 0, "'time' must be at least 0");
  t.list("rivals", race.rivals, start_json, [](const json& in) {
    Start rival = good(start_from_json(in));
    return rival.is_chosen_by_engine ? rival : throw Malformed{"a rival must be chosen by the engine"};
  });
}

void table(FieldTable& t, Fork& fork) {
  t("from", fork.from)("epoch", fork.epoch);
  t.via("sample", fork.sample, space::sample_json, space::sample_from_json)("address", fork.address);
  check_epoch(t, fork.epoch);
}

void table(FieldTable& t, space::MutationStep& step) {
  t("mutator", step.mutator).via("trace", step.trace, space::trace_json, space::trace_from_json);
}

void table(FieldTable& t, Proposal& proposal) {
  t("base", proposal.base)("base_hash", proposal.base_hash);
  t.list("steps", proposal.steps, table);
  t.list("edits", proposal.edits, graph::edit_text,
         [](const json& edit) { return graph::parse_edit(edit.get<std::string>()); });
  t("graph_hash", proposal.graph_hash).via("sample", proposal.sample, space::sample_json, space::sample_from_json);
  t("budget", proposal.budget).optional("parent", proposal.parent);
  if (t.has("horizon", proposal.horizon != 0 && proposal.horizon != proposal.budget)) {
    t("horizon", proposal.horizon).check(proposal.horizon >= proposal.budget, "'horizon' is below 'budget'");
  }
  t.optional("repeat", proposal.repeat).check(proposal.repeat >= 0, "'repeat' is below 0");
  t.optional("fold", proposal.fold).check(!proposal.fold || *proposal.fold >= 0, "'fold' is below 0");
  t.via("start", proposal.start, start_json, start_from_json).optional("select_time", proposal.select_time);
  t.via("race", proposal.race, start_race_json, start_race_from_json);
  t.check(!proposal.race || (proposal.start && proposal.start->is_chosen_by_engine), "a 'race' without a start");
  t.optional("tunes", proposal.is_refinement);
  t.check(!proposal.is_refinement || proposal.parent, "'tunes' without a 'parent'");
}

void table(FieldTable& t, Branch& branch) {
  t("step", branch.step).via("setting", branch.setting, space::sample_json, space::sample_from_json);
  t("steps", branch.steps)("trend", branch.trend)("speed", branch.speed)("kept", branch.kept);
  t.check(branch.step >= 0 && branch.steps >= 0, "'step' and 'steps' of a branch must be at least 0");
}

void table(FieldTable& t, StartCandidate& candidate) {
  t("steps", candidate.steps)("loss", candidate.loss)("kept", candidate.kept);
  t.check(candidate.steps >= 0, "'steps' of a racer must be at least 0");
}

void table(FieldTable& t, SelectBranch& branch) {
  t("step", branch.step)("selects", branch.selects)("steps", branch.steps)("cost", branch.cost);
  t("metric", branch.metric)("value", branch.value)("kept", branch.kept);
  t.check(branch.step >= 0 && branch.steps >= 0, "'step' and 'steps' of a branch must be at least 0");
}

void table(FieldTable& t, Measurement& seen) {
  t("trial", seen.trial)("epoch", seen.epoch)("step", seen.step)("metrics", seen.metrics);
  if (t.has("branches", !seen.branches.empty())) t.list("branches", seen.branches, branch_json, branch_from_json);
  if (t.has("race", !seen.race.empty())) t.list("race", seen.race, table, "racer");
  if (t.has("selecting", !seen.selecting.empty())) t.list("selecting", seen.selecting, table, "selection branch");
}

void table(FieldTable& t, Outcome& outcome) {
  std::string name(outcome_name(outcome.kind));
  t("kind", name);
  const auto known = std::ranges::find(kOutcomes, name, &std::pair<OutcomeKind, std::string_view>::second);
  if (known == std::end(kOutcomes)) throw Malformed{"'kind' is '" + name + "', which is no kind of outcome"};
  if (t.reads()) outcome.kind = known->first;
  t.optional("reason", outcome.reason).optional("same_as", outcome.same_as).optional("weights", outcome.weights);
  t.optional("weights_hash", outcome.weights_hash).optional("implied_by", outcome.pruned_by);
  t.optional("rule", outcome.rule);
  t.check(outcome.kind != OutcomeKind::kPrunedByRule || outcome.pruned_by, "'implied_by' is missing");
}

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

json start_json(const Start& start) { return write_table(start, table); }
Result<Start> start_from_json(const json& in) { return read_table<Start>("start", in, table); }
json start_race_json(const StartRace& race) { return write_table(race, table); }
Result<StartRace> start_race_from_json(const json& in) { return read_table<StartRace>("race", in, table); }
json fork_json(const Fork& fork) { return write_table(fork, table); }
Result<Fork> fork_from_json(const json& in) { return read_table<Fork>("fork", in, table); }

std::string_view outcome_name(OutcomeKind kind) { return entry_of(kOutcomes, kind); }

std::string_view verdict_name(Verdict verdict) {
  return verdict == Verdict::kStop ? "stop" : verdict == Verdict::kPause ? "pause" : "continue";
}

Result<Verdict> verdict_from_name(std::string_view name) {
  for (const Verdict verdict : {Verdict::kContinue, Verdict::kPause, Verdict::kStop}) {
    if (verdict_name(verdict) == name) return verdict;
  }
  return Error{Code::kDataLoss, "'" + std::string(name) + "' is no verdict", "verdict"};
}

json proposal_json(const Proposal& proposal) { return write_table(proposal, table); }
Result<Proposal> proposal_from_json(const json& in) { return read_table<Proposal>("proposal", in, table); }
json branch_json(const Branch& branch) { return write_table(branch, table); }
Result<Branch> branch_from_json(const json& in) { return read_table<Branch>("branch", in, table); }
json measurement_json(const Measurement& measurement) { return write_table(measurement, table); }
Result<Measurement> measurement_from_json(const json& in) { return read_table<Measurement>("measurement", in, table); }
json outcome_json(const Outcome& outcome) { return write_table(outcome, table); }
Result<Outcome> outcome_from_json(const json& in) { return read_table<Outcome>("outcome", in, table); }

}  // namespace lanista::study
