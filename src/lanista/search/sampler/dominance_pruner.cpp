#include "lanista/search/sampler/dominance_pruner.h"

#include <algorithm>
#include <utility>

namespace lanista::search {
namespace {

/// Returns the key of a line. It is equal for proposals that differ only in the parameters `along`, in their seed, and
/// in their budget if they have equal horizons. A model is compared by its graph. If one of the parameters is a choice
/// inside the model, it is compared by its base and its mutations.
Digest line_digest(const study::Proposal& proposal, const std::vector<std::string>& along) {
  const bool is_of_model = std::ranges::any_of(along, [](const auto& name) { return space::is_model_choice(name); });
  space::Sample rest = proposal.sample;
  for (const std::string& name : along) rest.erase(name);
  Hasher hasher;
  if (is_of_model) {
    hasher.number(proposal.base).digest(proposal.base_hash);
    for (const space::MutationStep& step : proposal.steps) {
      hasher.text(step.mutator).text(space::trace_json(step.trace).dump());
    }
  } else {
    hasher.digest(proposal.graph_hash);
    std::erase_if(rest, [](const auto& entry) { return space::is_model_choice(entry.first); });
  }
  hasher.digest(space::hash_sample(rest)).number(study::full_epochs(proposal)).number(proposal.fold.value_or(-1));
  for (const std::string& name : along) hasher.text(name);
  if (const auto& start = proposal.start) {
    hasher.text("start").number(std::int64_t{start->parent.value}).number(start->epoch).text(start->plan);
    hasher.text(start->zoo);
  }
  return hasher.finish();
}

}  // namespace

DominancePruner::DominancePruner(const std::vector<study::PruningRule>& rules) {
  for (const study::PruningRule& rule : rules) {
    if (study::closes_rungs(rule)) continue;
    auto event = std::ranges::find(events_, rule.when, &Event::when);
    if (event == events_.end()) event = events_.insert(event, Event{rule.when, {}});
    event->rules.push_back(rule);
  }
  lines_.resize(events_.size());
}

DominancePruner::LinePositions DominancePruner::positions_of(const study::Proposal& proposal) const {
  LinePositions out(events_.size());
  for (std::size_t e = 0; e < events_.size(); ++e) {
    std::vector<std::string> along;
    LinePosition place;
    for (const study::PruningRule& rule : events_[e].rules) {
      const auto value = proposal.sample.find(rule.along);
      const auto at = value == proposal.sample.end() ? std::nullopt : study::place_of(value->second);
      if (at) along.push_back(rule.along);
      place.at.push_back(!at ? 0 : rule.up ? *at : -*at);
    }
    if (along.empty()) continue;
    place.line = line_digest(proposal, along);
    out[e] = std::move(place);
  }
  return out;
}

DominancePruner::LinePositions DominancePruner::positions_of(TrialId trial) const {
  const auto known = trials_.find(trial);
  return known == trials_.end() || known->second.forked ? LinePositions(events_.size()) : known->second.positions;
}

bool DominancePruner::is_dominated(std::size_t event, const std::vector<double>& than, const std::vector<double>& at,
                                   bool or_equal) const {
  bool any = or_equal;
  for (std::size_t r = 0; r < at.size(); ++r) {
    if (at[r] < than[r]) return false;
    if (at[r] == than[r]) continue;
    if (contradicted_.contains({event, r})) return false;
    any = true;
  }
  return any;
}

std::string DominancePruner::rules_between(std::size_t event, const std::vector<double>& than,
                                           const std::vector<double>& at) const {
  std::string out;
  for (std::size_t r = 0; r < at.size(); ++r) {
    if (at[r] > than[r]) out += (out.empty() ? "" : " and ") + study::rule_text(events_[event].rules[r]);
  }
  return out;
}

void DominancePruner::each_point(TrialId trial, const std::function<void(std::size_t, Line&, Point&)>& visit) {
  const auto known = trials_.find(trial);
  if (known == trials_.end() || known->second.forked) return;
  for (std::size_t e = 0; e < events_.size(); ++e) {
    if (const auto& place = known->second.positions[e]) {
      Line& line = lines_[e].at(place->line);
      visit(e, line, line.points.at(trial));
    }
  }
}

void DominancePruner::observe(const study::Event& event) {
  if (events_.empty()) return;
  if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
    Trial trial{positions_of(proposed->proposal)};
    for (std::size_t e = 0; e < events_.size(); ++e) {
      if (!trial.positions[e]) continue;
      Point point;
      point.at = trial.positions[e]->at;
      point.budget = proposed->proposal.budget;
      lines_[e][trial.positions[e]->line].points.emplace(proposed->trial, std::move(point));
    }
    trials_.emplace(proposed->trial, std::move(trial));
  } else if (const auto* measured = std::get_if<study::Measured>(&event)) {
    const std::int64_t epoch = measured->measurement.epoch;
    record_survival(measured->measurement.trial, epoch - 1);  // Whether it survives this epoch is known later.
    each_point(measured->measurement.trial, [&](std::size_t, Line&, Point& point) { point.measured = epoch; });
    if (const auto known = trials_.find(measured->measurement.trial); known != trials_.end()) {
      known->second.measured = epoch;
    }
  } else if (const auto* paused = std::get_if<study::Paused>(&event)) {
    record_survival(paused->trial, paused->epoch);
    each_point(paused->trial, [](std::size_t, Line&, Point& point) { point.open = false; });
  } else if (const auto* resumed = std::get_if<study::Resumed>(&event)) {
    if (resumed->fork) {
      // After a fork the trial differs from its proposal.
      each_point(resumed->trial, [&](std::size_t, Line& line, Point&) { line.points.erase(resumed->trial); });
      if (const auto known = trials_.find(resumed->trial); known != trials_.end()) known->second.forked = true;
    }
    each_point(resumed->trial, [&](std::size_t, Line&, Point& point) {
      point.budget = resumed->budget;
      point.open = true;
    });
  } else if (const auto* ended = std::get_if<study::Ended>(&event)) {
    end(*ended);
  }
}

void DominancePruner::end(const study::Ended& ended) {
  const auto known = trials_.find(ended.trial);
  if (known == trials_.end()) return;
  using Kind = study::OutcomeKind;
  const Kind kind = ended.outcome.kind;
  const std::int64_t measured = known->second.measured;
  if (kind == Kind::kSucceeded || kind == Kind::kStopped) record_survival(ended.trial, measured);
  const std::string_view by = study::failure_event(ended.outcome);
  Rules wrong;
  each_point(ended.trial, [&](std::size_t e, Line& line, Point& point) {
    point.open = false;
    if (by != events_[e].when) return;
    // An epoch with a NaN loss was measured. An epoch that ran out of memory was not.
    point.failed_at = std::max<std::int64_t>(1, by == study::kWhenDiverged ? measured : measured + 1);
    line.failed.insert(ended.trial);
    for (const auto& [trial, other] : line.points) add_contradictions(e, point, other, wrong);
  });
  contradicted_.merge(wrong);
}

void DominancePruner::record_survival(TrialId trial, std::int64_t epoch) {
  Rules wrong;
  each_point(trial, [&](std::size_t e, Line& line, Point& point) {
    if (epoch <= point.survived) return;
    point.survived = epoch;
    for (const TrialId id : line.failed) add_contradictions(e, line.points.at(id), point, wrong);
  });
  contradicted_.merge(wrong);
}

void DominancePruner::add_contradictions(std::size_t event, const Point& failed, const Point& through,
                                         Rules& wrong) const {
  if (through.survived < failed.failed_at) return;
  if (!is_dominated(event, failed.at, through.at, true)) return;
  const bool are_equal = failed.at == through.at;  // Two trainings of one proposal: the seed decided.
  for (std::size_t r = 0; r < failed.at.size(); ++r) {
    if (are_equal || through.at[r] > failed.at[r]) wrong.insert({event, r});
  }
}

std::vector<std::string> DominancePruner::contradicted_rules() const {
  std::vector<std::string> out;
  for (const auto& [event, rule] : contradicted_) out.push_back(study::rule_text(events_[event].rules[rule]));
  return out;
}

std::optional<DominancePruner::PruningReason> DominancePruner::of(TrialId trial, std::int64_t budget) const {
  const auto known = trials_.find(trial);
  if (known == trials_.end() || known->second.forked) return std::nullopt;
  return pruning_reason_at(known->second.positions, known->second.measured, budget);
}

std::optional<DominancePruner::PruningReason> DominancePruner::pruning_reason_at(const LinePositions& positions,
                                                                                 std::int64_t measured,
                                                                                 std::int64_t budget) const {
  std::optional<PruningReason> first;
  for (std::size_t e = 0; e < events_.size(); ++e) {
    const auto& place = positions[e];
    const auto line = place ? lines_[e].find(place->line) : lines_[e].end();
    if (line == lines_[e].end()) continue;
    for (const TrialId id : line->second.failed) {
      const Point& other = line->second.points.at(id);
      const bool reaches = other.failed_at > measured && other.failed_at <= budget;
      if (!reaches || !is_dominated(e, other.at, place->at, false)) continue;
      if (!first || id < first->by) first = {id, rules_between(e, other.at, place->at)};
      break;
    }
  }
  return first;
}

/// Estimates for the waiting members of a line.
struct DominancePruner::FailureProbabilities {
  std::vector<double> cancelled;  ///< Probability that a nearer pending trial fails, one per member.
  std::vector<double> saved;      ///< Expected cost of the further members that it cancels, one per member.
};

DominancePruner::FailureProbabilities DominancePruner::failure_probabilities_on(
    std::size_t event, const Digest& line, std::span<const QueueEntry> waiting,
    std::span<const std::size_t> members) const {
  struct Pending {
    const std::vector<double>* at;
    double fails = 0;
  };
  std::vector<Pending> pending;
  std::vector<const Point*> through;
  std::set<TrialId> resumed;
  for (const std::size_t i : members) {
    pending.push_back({&(*waiting[i].positions)[event]->at});
    if (waiting[i].of) resumed.insert(*waiting[i].of);
  }
  if (const auto known = lines_[event].find(line); known != lines_[event].end()) {
    for (const auto& [id, point] : known->second.points) {
      if (resumed.contains(id)) continue;
      if (point.open) pending.push_back({&point.at});
      if (point.failed_at == 0 && point.survived >= point.budget) through.push_back(&point);
    }
  }
  for (Pending& one : pending) {
    const bool survives =
        std::ranges::any_of(through, [&](const Point* p) { return is_dominated(event, *one.at, p->at, true); });
    if (survives) continue;
    std::int64_t nearer = 0, beyond = 0;
    for (const Pending& other : pending) {
      nearer += is_dominated(event, *other.at, *one.at, false) ? 1 : 0;
      beyond += is_dominated(event, *one.at, *other.at, false) ? 1 : 0;
    }
    one.fails = static_cast<double>(1 + nearer) / static_cast<double>(2 + nearer + beyond);
  }
  FailureProbabilities out;
  for (std::size_t m = 0; m < members.size(); ++m) {
    double cancelled = 0, saved = 0;
    for (std::size_t other = 0; other < pending.size(); ++other) {
      if (is_dominated(event, *pending[other].at, *pending[m].at, false)) {
        cancelled = std::max(cancelled, pending[other].fails);
      } else if (other < members.size() && is_dominated(event, *pending[m].at, *pending[other].at, false)) {
        saved += waiting[members[other]].cost * pending[m].fails;
      }
    }
    out.cancelled.push_back(cancelled);
    out.saved.push_back(saved);
  }
  return out;
}

std::size_t DominancePruner::next_index(std::span<const QueueEntry> waiting, std::string_view order) const {
  if (order == study::kAsGiven || waiting.size() < 2) return 0;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    const QueueEntry& one = waiting[i];
    const auto known = one.of ? trials_.find(*one.of) : trials_.end();
    const std::int64_t measured = known == trials_.end() ? 0 : known->second.measured;
    if (pruning_reason_at(*one.positions, measured, one.budget)) return i;
  }
  std::vector<double> cancelled(waiting.size(), 0), value(waiting.size(), 0);
  for (std::size_t e = 0; e < events_.size(); ++e) {
    std::map<Digest, std::vector<std::size_t>> lines;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (const auto& place = (*waiting[i].positions)[e]) lines[place->line].push_back(i);
    }
    for (const auto& [line, members] : lines) {
      const FailureProbabilities chances = failure_probabilities_on(e, line, waiting, members);
      for (std::size_t m = 0; m < members.size(); ++m) {
        cancelled[members[m]] = std::max(cancelled[members[m]], chances.cancelled[m]);
        value[members[m]] += chances.saved[m] / std::max(waiting[members[m]].cost, 1e-300);
      }
    }
  }
  std::size_t best = 0;
  for (std::size_t i = 1; i < waiting.size(); ++i) {
    const bool by_probability = order == study::kNeededFirst && cancelled[i] != cancelled[best];
    if (by_probability ? cancelled[i] < cancelled[best] : value[i] > value[best]) best = i;
  }
  return best;
}

}  // namespace lanista::search
