#include "lanista/engine/remote/process_executor.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "lanista/base/real_json.h"
#include "lanista/engine/remote/messages.h"
#include "lanista/engine/remote/process_executor_impl.h"

namespace lanista::engine {
namespace {

constexpr double kPauseLeases = 2;       ///< Leases in which a worker must answer a pause.
constexpr double kRebalanceSeconds = 1;  ///< Seconds between checks for trials that wait for a late worker.

/// Hashes of the measurements in the job's checkpoint, which its worker repeats. The checkpoint, or the state of the
/// start, must be complete. Errors: those of the store and of check_fork_state.
Result<std::vector<Digest>> carried_epochs_of(const store::CheckpointStore& files, const Job& job) {
  LANISTA_TRY(check_fork_state(job));
  const std::string& wanted = !job.checkpoint.empty() ? job.checkpoint : job.start ? job.start->address : "";
  if (wanted.empty()) return std::vector<Digest>();
  LANISTA_ASSIGN(const store::Checkpoint found, files.get(wanted));
  return job.checkpoint.empty() ? std::vector<Digest>() : stored_measurement_hashes(found, job);
}

}  // namespace

ProcessExecutor::Impl::Impl(FileSystem& f, const Clock& c, FleetOptions options, MakeFleet make,
                            const ProcessOptions& process)
    : clock(c),
      fs(f),
      files(f, options.worker_config.study_folder),
      fleet_options(std::move(options)),
      leases(fleet_options.workers),
      check(process.rules, fleet_options.workers, fs, files),
      make_fleet(std::move(make)),
      pause_signal(process.pause),
      helping(fleet_options.worker_config.width, fleet_options.workers, fleet_options.socket, process.known) {}

// Workers end before `helping` removes their sessions, so none makes a file afterwards.
ProcessExecutor::Impl::~Impl() { fleet.reset(); }

bool ProcessExecutor::Impl::start_workers() {
  if (fleet || broken) return fleet != nullptr;
  const auto folder = fs.make_folder(fleet_options.socket.substr(0, fleet_options.socket.rfind('/')));
  auto begun = folder ? make_fleet(fleet_options, clock) : Result<std::unique_ptr<Fleet>>(folder.error());
  if (!begun) fail_all(begun.error());
  if (begun) fleet = *std::move(begun);
  return fleet != nullptr;
}

std::vector<bool> ProcessExecutor::Impl::ready() const {
  std::vector<bool> out;
  for (std::size_t worker = 0; worker < fleet_options.workers; ++worker) out.push_back(is_ready(worker));
  return out;
}

std::vector<bool> ProcessExecutor::Impl::excluded_workers() const {
  std::vector<bool> excluded_workers(fleet_options.workers, false);
  for (std::size_t worker = 0; fleet && worker < excluded_workers.size(); ++worker) {
    excluded_workers[worker] = !fleet->is_ready(worker) && !fleet->is_expected(worker);
  }
  return excluded_workers;
}

double ProcessExecutor::Impl::pause_seconds() const { return kPauseLeases * fleet_options.lease_seconds; }

// Messages to workers.

void ProcessExecutor::Impl::send_command(std::size_t worker, const Command& command) {
  if (is_ready(worker)) fleet->send(worker, WireKind::kCommand, encode(ExecutorRequest(command)));
}

// All trials are sent before any of them may train, so that the lanes of a group begin together.
void ProcessExecutor::Impl::send(const std::vector<TrialId>& trials) {
  if (is_pausing) return;
  std::map<std::size_t, std::vector<Allow>> allowed;
  std::map<std::size_t, std::vector<TrialId>> moved;
  std::vector<const Lease*> sent;
  for (const TrialId trial : trials) {
    Lease* lease = leases.find(trial);
    if (lease == nullptr || lease->is_sent || !is_ready(lease->worker)) continue;
    const std::uint64_t token = leases.send(*lease, clock.now());
    check.on_lease_sent(*lease);
    fleet->send(lease->worker, WireKind::kStart,
                with_token(token, encode(ExecutorRequest(Leases::job_to_send(*lease)))));
    if (lease->allowed > 0) allowed[lease->worker].push_back({trial, lease->allowed});
    moved[lease->worker].push_back(trial);
    sent.push_back(lease);
  }
  for (const auto& [worker, its] : moved) {
    UpdateGroups arranged{plan.regrouping_for(its), std::move(allowed[worker])};
    if (!arranged.changes.parts.empty() || !arranged.allow.empty()) send_command(worker, arranged);
  }
  for (const Lease* lease : sent) {
    if (lease->is_pausing_trial) send_command(lease->worker, PauseTrial{lease->job.trial});
    if (lease->finish) send_command(lease->worker, *lease->finish);
  }
}

void ProcessExecutor::Impl::forward_command(TrialId trial, const Command& command) {
  const Lease* lease = leases.find(trial);
  if (lease != nullptr && lease->is_sent) send_command(lease->worker, command);
}

void ProcessExecutor::Impl::allow(const Allow& allowed) {
  Lease* lease = leases.find(allowed.trial);
  if (lease == nullptr || allowed.epoch <= lease->allowed) return;
  lease->allowed = allowed.epoch;
  forward_command(allowed.trial, allowed);
}

// All members of a group are allowed at once, on all workers.
void ProcessExecutor::Impl::arrange(const UpdateGroups& arranged) {
  plan.apply(arranged.changes);
  std::vector<UpdateGroups> parts(fleet_options.workers, {arranged.changes, {}});
  for (const Allow& allowed : arranged.allow) {
    Lease* lease = leases.find(allowed.trial);
    if (lease == nullptr) continue;
    lease->allowed = std::max(lease->allowed, allowed.epoch);
    parts[lease->worker].allow.push_back(allowed);
  }
  for (std::size_t worker = 0; worker < parts.size(); ++worker) send_command(worker, parts[worker]);
}

void ProcessExecutor::Impl::finish(const Finish& request) {
  Lease* lease = leases.find(request.trial);
  if (lease == nullptr) return;
  forward_command(request.trial, request);
  if (request.abandon) return leases.end(request.trial);
  lease->finish = request;
}

void ProcessExecutor::Impl::pause_trial(const PauseTrial& request) {
  if (Lease* lease = leases.find(request.trial)) lease->is_pausing_trial = true;
  forward_command(request.trial, request);
}

void ProcessExecutor::Impl::pause() {
  if (std::exchange(is_pausing, true)) return;
  pause_deadline_seconds = clock.now() + pause_seconds();
  if (fleet) fleet->stop_launching();
  for (std::size_t worker = 0; worker < fleet_options.workers; ++worker) {
    if (!is_ready(worker)) continue;
    pausing_workers.insert(worker);
    send_command(worker, PauseAll{});
  }
  mark_worker_paused(fleet_options.workers);
}

void ProcessExecutor::Impl::mark_worker_paused(std::size_t worker) {
  pausing_workers.erase(worker);
  if (!is_pausing || !pausing_workers.empty() || std::exchange(has_paused, true)) return;
  reports.emplace_back(AllPausedReport{});
}

void ProcessExecutor::Impl::reassign_waiting() {
  if (is_pausing || !fleet || clock.now() < next_reassign_seconds) return;
  next_reassign_seconds = clock.now() + kRebalanceSeconds;
  std::vector<bool> others = ready();
  if (std::ranges::find(others, true) == others.end()) return;
  others.flip();
  for (std::size_t worker = 0; worker < fleet_options.workers; ++worker) {
    if (fleet->is_ready(worker) || fleet->is_expected(worker)) continue;
    const std::vector<TrialId> waiting = leases.of(worker);
    // A worker that has received trials is lost, and that event will follow.
    const bool is_lost = std::ranges::any_of(waiting, [this](TrialId trial) { return leases.find(trial)->is_sent; });
    if (waiting.empty() || is_lost) continue;
    leases.move_from(worker, others);
    send(waiting);
  }
}

void ProcessExecutor::Impl::check_pause_deadline() {
  if (!is_pausing || has_paused || clock.now() < pause_deadline_seconds) return;
  for (const std::size_t worker : std::set<std::size_t>(pausing_workers)) {
    fleet->mark_lost(worker, false,
                     "did not answer a pause within " + real_json(pause_seconds()).dump() + " s (run.lease_seconds)");
  }
}

void ProcessExecutor::Impl::send_helpers() {
  if (is_pausing || !fleet) return;
  helping.send(leases, ready(), clock.now(),
               [this](std::size_t worker, const Command& command) { send_command(worker, command); });
}

Result<std::unique_ptr<ProcessExecutor>> ProcessExecutor::create(const WorkerConfig& worker_config, FileSystem& fs,
                                                                 const Clock& clock, const ProcessOptions& options) {
  if (worker_config.workers < 1) {
    return Error{Code::kInvalidArgument,
                 std::to_string(worker_config.workers) + " worker processes; allowed: 1 or more", "run.workers"};
  }
  FleetOptions fleet_options;
  fleet_options.worker_config = worker_config;
  fleet_options.worker_config.workers = 1;
  fleet_options.worker_config.memory_bytes = worker_config.memory_bytes / worker_config.workers;
  fleet_options.worker_config.crash_marks = false;  // the system reports how a process ended
  fleet_options.worker_config.pipeline_processes = true;
  fleet_options.workers = static_cast<std::size_t>(worker_config.workers);
  fleet_options.lease_seconds = options.lease_seconds;
  fleet_options.launch = options.launch;
  fleet_options.remote_launchers = options.remote_launchers;
  fleet_options.socket = options.socket.empty() ? worker_config.study_folder + "/control/workers.sock" : options.socket;
  MakeFleet make = options.fleet ? options.fleet : [](const FleetOptions& with, const Clock& by) {
    auto begun = WorkerFleet::begin(with, by);
    return begun ? Result<std::unique_ptr<Fleet>>(*std::move(begun)) : Result<std::unique_ptr<Fleet>>(begun.error());
  };
  return std::unique_ptr<ProcessExecutor>(
      new ProcessExecutor(std::make_unique<Impl>(fs, clock, std::move(fleet_options), std::move(make), options)));
}

ProcessExecutor::ProcessExecutor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ProcessExecutor::~ProcessExecutor() = default;

pid_t ProcessExecutor::process(std::size_t worker) const { return impl_->fleet ? impl_->fleet->process(worker) : 0; }

Result<void> ProcessExecutor::start(const Job& job) {
  LANISTA_ASSIGN(std::vector<Digest> carried_epochs, carried_epochs_of(impl_->files, job));
  impl_->finish({job.trial, false, true});
  std::erase_if(impl_->reports, [&](const Report& report) {
    const bool is_file =
        std::holds_alternative<CheckpointReport>(report) || std::holds_alternative<TrialPausedReport>(report);
    return !is_file && trial_of(report) == job.trial;
  });
  impl_->check.add_known_file(job.checkpoint);
  impl_->helping.note(job);
  impl_->leases.grant(job, impl_->excluded_workers()).carried_epochs = std::move(carried_epochs);
  if (impl_->start_workers()) impl_->send({job.trial});
  return {};
}

void ProcessExecutor::command(const Command& command) {
  if (const auto* allowed = std::get_if<Allow>(&command)) impl_->allow(*allowed);
  if (const auto* request = std::get_if<Finish>(&command)) impl_->finish(*request);
  if (const auto* request = std::get_if<PauseTrial>(&command)) impl_->pause_trial(*request);
  if (const auto* arranged = std::get_if<UpdateGroups>(&command)) impl_->arrange(*arranged);
  if (std::holds_alternative<PauseAll>(command)) impl_->pause();
  impl_->send_helpers();
}

std::optional<Report> ProcessExecutor::next(double seconds) {
  const double until = impl_->clock.now() + seconds;
  impl_->check_pause_deadline();
  impl_->reassign_waiting();
  while (impl_->reports.empty()) {
    if (impl_->broken) return ExecutorErrorReport{*impl_->broken};
    const double left = std::max(until - impl_->clock.now(), 0.0);
    if (!impl_->fleet) {  // no job was started yet
      std::this_thread::sleep_for(std::chrono::duration<double>(left));
      return std::nullopt;
    }
    const bool awaits_pause = impl_->is_pausing && !impl_->has_paused;
    const double until_lost = awaits_pause ? std::max(impl_->pause_deadline_seconds - impl_->clock.now(), 0.0) : left;
    const auto event = impl_->fleet->next(std::min({left, until_lost, kRebalanceSeconds}));
    impl_->check_pause_deadline();
    impl_->reassign_waiting();
    if (event) {
      impl_->handle_event(*event);
    } else if (impl_->clock.now() >= until) {
      return std::nullopt;
    }
  }
  Report report = std::move(impl_->reports.front());
  impl_->reports.pop_front();
  return report;
}

Result<std::map<std::string, double>> ProcessExecutor::measure(std::span<const EvaluatedMember> members,
                                                               data::Part part) {
  return impl_->measure(encode(MeasureRequest{{members.begin(), members.end()}, part}), part);
}

}  // namespace lanista::engine
