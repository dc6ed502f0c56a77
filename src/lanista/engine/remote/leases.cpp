#include "lanista/engine/remote/leases.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace lanista::engine {
namespace {

/// The file that a report names, or empty.
std::string file_of(const Report& report) {
  if (const auto* saved = std::get_if<CheckpointReport>(&report)) return saved->address;
  if (const auto* finished = std::get_if<FinishedReport>(&report)) return finished->weights;
  if (const auto* paused = std::get_if<TrialPausedReport>(&report)) return paused->address;
  return {};
}

}  // namespace

Lease& Leases::grant(const Job& job, const std::vector<bool>& excluded_workers) {
  leases_.erase(job.trial);
  Lease lease;
  lease.job = job;
  lease.checkpoint = job.checkpoint;
  lease.worker = least_loaded(excluded_workers);
  return leases_.emplace(job.trial, std::move(lease)).first->second;
}

Lease* Leases::find(TrialId trial) {
  const auto it = leases_.find(trial);
  return it == leases_.end() ? nullptr : &it->second;
}

std::uint64_t Leases::send(Lease& lease, double now) {
  lease.token = ++tokens_;
  lease.is_sent = true;
  lease.saved_at_seconds = now;
  return lease.token;
}

Job Leases::job_to_send(const Lease& lease) {
  Job job = lease.job;
  job.checkpoint = lease.checkpoint;
  job.alone = job.alone || lease.trains_alone();
  return job;
}

Result<std::optional<Report>> Leases::accept_report(std::size_t worker, std::uint64_t token, Report report,
                                                    double now) {
  const auto trial = trial_of(report);
  if (!trial) return std::optional<Report>();
  const auto it = leases_.find(*trial);
  if (it == leases_.end()) {
    const std::string file = file_of(report);
    if (file.empty()) return std::optional<Report>();
    return std::optional<Report>(CheckpointReport{*trial, 0, 0, file});
  }
  Lease& lease = it->second;
  if (!lease.is_sent || lease.token != token || lease.worker != worker) return std::optional<Report>();
  if (const auto* epoch = std::get_if<EpochReport>(&report)) {
    const std::int64_t number = epoch->measurement.epoch;
    if (number <= lease.num_reported_epochs) return std::optional<Report>();
    if (number > lease.num_reported_epochs + 1) {
      return Error{Code::kInternal,
                   "a worker reported epoch " + std::to_string(number) + " of trial " + std::to_string(trial->value) +
                       " when epoch " + std::to_string(lease.num_reported_epochs + 1) + " was due",
                   ""};
    }
    lease.num_reported_epochs = number;
    lease.crashes = lease.losses = lease.helper_losses = 0;
  } else if (const auto* saved = std::get_if<CheckpointReport>(&report)) {
    if (saved->step > lease.saved_step) lease.losses = 0;
    lease.checkpoint = saved->address;
    lease.saved_step = saved->step;
    lease.saved_at_seconds = now;
  } else if (auto* span = std::get_if<SpanReport>(&report)) {
    span->worker = static_cast<std::int64_t>(worker);
  } else {
    leases_.erase(it);  // it failed, ended or paused
  }
  return std::optional<Report>(std::move(report));
}

bool Leases::retry_from_older(TrialId trial, std::uint64_t token, const Error& error) {
  Lease* lease = find(trial);
  if (lease == nullptr || lease->token != token || lease->checkpoint.empty()) return false;
  if (error.code != Code::kDataLoss && error.code != Code::kNotFound) return false;
  lease->checkpoint = lease->checkpoint == lease->job.checkpoint ? "" : lease->job.checkpoint;
  lease->saved_step = 0;
  lease->session.clear();  // its next worker has no session
  lease->is_sent = false;
  return true;
}

Leases::Loss Leases::mark_lost(std::size_t worker, bool own_fault, const std::string& reason, double now) {
  const std::vector<TrialId> active_trials = std::exchange(active_trials_[worker], {});
  Loss loss;
  for (auto& [id, lease] : leases_) {
    if (lease.worker != worker) continue;
    const bool was_sent = std::exchange(lease.is_sent, false);
    lease.token = 0;
    lease.session.clear();
    loss.restarted_trials.push_back(id);
    if (!was_sent) continue;
    loss.seconds = std::max(loss.seconds, now - lease.saved_at_seconds);
    loss.costs[id] = now - lease.saved_at_seconds;
    if (std::ranges::find(active_trials, id) == active_trials.end()) continue;
    int& count = own_fault ? lease.crashes : lease.losses;
    ++count;
    const bool is_known = active_trials.size() == 1 && (own_fault ? count > 1 : count >= Lease::kMaxLosses);
    if (!is_known) continue;
    loss.restarted_trials.pop_back();
    loss.costs.erase(id);
    loss.failed.push_back({id, lease.num_reported_epochs + 1,
                           "the worker process " + reason + " while it trained this trial alone, " +
                               std::to_string(count) + " times in a row"});
  }
  for (const FailureReport& failure : loss.failed) leases_.erase(failure.trial);
  return loss;
}

void Leases::move_from(std::size_t worker, const std::vector<bool>& excluded_workers) {
  std::vector<bool> others = excluded_workers;
  others[worker] = true;
  if (std::ranges::find(others, false) == others.end()) return;
  for (const TrialId id : of(worker)) leases_.at(id).worker = least_loaded(others);
}

std::vector<Leases::Reassignment> Leases::rebalance_to(std::size_t worker, const std::vector<bool>& excluded_workers) {
  std::vector<Reassignment> moves;
  for (auto& [id, lease] : leases_) {
    if (lease.is_sent || lease.worker == worker || !excluded_workers[lease.worker]) continue;
    lease.worker = least_loaded(excluded_workers);
    if (lease.worker == worker) moves.push_back({id, std::nullopt});
  }
  for (auto& [id, lease] : leases_) {
    const std::vector<std::int64_t> trials = trials_per_worker();
    if (lease.worker == worker || trials[lease.worker] < trials[worker] + 2) continue;
    if (lease.num_reported_epochs > 0 || lease.saved_step > 0 || is_active(lease.worker, id)) continue;
    moves.push_back({id, lease.is_sent ? std::optional(lease.worker) : std::nullopt});
    lease.worker = worker;
    lease.is_sent = false;
    lease.token = 0;
    lease.session.clear();
  }
  return moves;
}

bool Leases::is_active(std::size_t worker, TrialId trial) const {
  return std::ranges::find(active_trials_[worker], trial) != active_trials_[worker].end();
}

std::vector<TrialId> Leases::of(std::size_t worker) const {
  std::vector<TrialId> trials;
  for (const auto& [id, lease] : leases_) {
    if (lease.worker == worker) trials.push_back(id);
  }
  return trials;
}

std::vector<std::int64_t> Leases::trials_per_worker() const {
  std::vector<std::int64_t> trials_per_worker(active_trials_.size(), 0);
  for (const auto& [id, lease] : leases_) ++trials_per_worker[lease.worker];
  return trials_per_worker;
}

std::size_t Leases::least_loaded(const std::vector<bool>& excluded_workers) const {
  const std::vector<std::int64_t> trials = trials_per_worker();
  std::size_t best = trials.size();
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if ((excluded_workers.empty() || !excluded_workers[i]) && (best == trials.size() || trials[i] < trials[best]))
      best = i;
  }
  if (best < trials.size()) return best;
  return static_cast<std::size_t>(std::ranges::min_element(trials) - trials.begin());
}

}  // namespace lanista::engine
