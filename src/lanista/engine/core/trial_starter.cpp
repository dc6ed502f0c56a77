#include "lanista/engine/core/trial_starter.h"

#include <string>
#include <utility>

#include "lanista/engine/core/study_setup.h"
#include "lanista/engine/core/trial_cost.h"

namespace lanista::engine {

using store::RecordType;

Result<void> TrialStarter::propose(study::Proposal proposal, std::size_t waiting_index) {
  StudyState& state = study_.state;
  TrialView view;
  view.id = TrialId{static_cast<std::uint32_t>(state.view.trials.size() + 1)};
  view.logical_start = state.now;
  LANISTA_ASSIGN(BuiltModel built, study_.models.build(proposal));
  view.parameters = built.cost.parameters;
  const double logical_epoch =
      logical_epoch_of(state.view.config, *study_.services.data, proposal, built.cost.forward.flops);
  if (proposal.start) {
    LANISTA_ASSIGN(proposal.start->address, kept_.address_of(*proposal.start));
  }
  LANISTA_ASSIGN(const auto of_zoo, starts_.choose_start(view.id, proposal, built.model));
  const bool first_use = of_zoo && !state.view.zoo_models.contains(of_zoo->id);
  const Digest key = study::run_key(proposal);
  view.proposal = std::move(proposal);
  LANISTA_ASSIGN(view.device, launcher_.devices().device_to_record(view, logical_epoch, built.model));
  const study::Proposal* parent = state.parent_to_share(view.proposal);
  LANISTA_TRY(study_.log.append(RecordType::kProposed, proposed_body(view, logical_epoch, key, parent,
                                                                     first_use ? &*of_zoo : nullptr, waiting_index)));
  const TrialId id = view.id;
  if (first_use) state.view.zoo_models.emplace(of_zoo->id, *of_zoo);
  state.propose(std::move(view), logical_epoch, waiting_index);
  kept_.hold_start_states(id);
  search_.announce(study::Proposed{id, state.trial(id).proposal});

  const TrialId first = search_.first_like(id);
  if (first != id) return ender_.record_outcome(id, {study::OutcomeKind::kDuplicate, "", first, "", {}});
  ActiveTrial& trial = active_.enter(id, 1);
  if (const auto by = search_.rules().reason_to_prune(id, state.trial(id).budget)) return ender_.end_pruned(id, *by);
  return launcher_.start(trial, "", std::move(built));
}

Result<void> TrialStarter::resume(const search::ResumeTrial& member) {
  StudyState& state = study_.state;
  const TrialId id = member.trial;
  const auto done = static_cast<std::int64_t>(state.trial(id).measurements.size());
  ResumedRecord record{{id, done, member.budget}, state.now};
  if (member.fork) {
    LANISTA_ASSIGN(record.event.fork, resolve_fork(id, *member.fork));
  }
  LANISTA_TRY(study_.log.append(RecordType::kResumed, resumed_body(record)));
  if (record.event.fork) {
    study_.checkpoints.hold(record.event.fork->address);
    study_.checkpoints.release(state.open.at(id).checkpoint);
  }
  state.resume(record);
  search_.announce(record.event);
  return launcher_.start(active_.enter(id, done + 1), state.open.at(id).checkpoint);
}

Result<std::optional<study::Fork>> TrialStarter::resolve_fork(TrialId id, study::Fork fork) const {
  const StudyState& state = study_.state;
  const auto refuse = [&](const std::string& why) {
    return Error{Code::kInvalidArgument,
                 "the strategy forks trial " + std::to_string(id.value) + " from trial " +
                     std::to_string(fork.from.value) + ", " + why,
                 "strategy"};
  };
  if (fork.from.value < 1 || fork.from.value > state.view.trials.size()) return refuse("which is not there");
  if (fork.from == id) return refuse("which is itself");
  const auto done = static_cast<std::int64_t>(state.trial(id).measurements.size());
  if (fork.epoch != done) {
    return refuse("as of epoch " + std::to_string(fork.epoch) + "; it has trained " + std::to_string(done));
  }
  const bool is_paused = state.paused(fork.from) && std::ssize(state.trial(fork.from).measurements) == fork.epoch;
  if (is_paused) fork.address = state.open.at(fork.from).paused_state;
  if (!fork.address.empty()) return std::optional(std::move(fork));
  study_.event(Level::kWarning, "fork_lost", {{"trial", id.value}, {"from", fork.from.value}, {"epoch", fork.epoch}});
  return std::optional<study::Fork>();  // it may have been stopped after the group was suggested
}

}  // namespace lanista::engine
