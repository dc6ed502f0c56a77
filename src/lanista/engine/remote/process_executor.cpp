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

constexpr double kPauseLeases = 2;   ///< in which a worker answers a pause
constexpr double kBetweenMoves = 1;  ///< seconds between looks for trials that wait for a late worker

/// The measurements that the job's checkpoint carries, which its worker repeats. What the job resumes from, or begins
/// with, must be there and whole. Errors: those of the store, of check_fork.
Result<std::vector<Digest>> check_files(const store::CheckpointStore& files, const Job& job) {
  LANISTA_TRY(check_fork(job));
  const std::string& wanted = !job.checkpoint.empty() ? job.checkpoint : job.start ? job.start->address : "";
  if (wanted.empty()) return std::vector<Digest>();
  LANISTA_ASSIGN(const store::Checkpoint found, files.get(wanted));
  return job.checkpoint.empty() ? std::vector<Digest>() : carried_measurements(found, job);
}

}  // namespace

ProcessExecutor::Impl::Impl(FileSystem& f, const Clock& c, FleetOptions options, MakeFleet make,
                            const ProcessOptions& process)
    : clock(c),
      fs(f),
      files(f, options.brief.study_folder),
      how(std::move(options)),
      leases(how.workers),
      check(process.rules, how.workers, fs, files),
      make_fleet(std::move(make)),
      pause_asked(process.pause),
      helping(how.brief.width, how.workers, how.socket, process.known) {}

// Workers end before `helping` clears their sessions away, so none makes a file after that.
ProcessExecutor::Impl::~Impl() { fleet.reset(); }

/// False: it cannot be, and the executor is broken.
bool ProcessExecutor::Impl::begin_workers() {
  if (fleet || broken) return fleet != nullptr;
  const auto folder = fs.make_folder(how.socket.substr(0, how.socket.rfind('/')));
  auto begun = folder ? make_fleet(how, clock) : Result<std::unique_ptr<Fleet>>(folder.error());
  if (!begun) break_down(begun.error());
  if (begun) fleet = *std::move(begun);
  return fleet != nullptr;
}

std::vector<bool> ProcessExecutor::Impl::ready() const {
  std::vector<bool> out;
  for (std::size_t worker = 0; worker < how.workers; ++worker) out.push_back(is_ready(worker));
  return out;
}

/// Workers that are not there, and of whom nobody knows when they will be.
std::vector<bool> ProcessExecutor::Impl::away() const {
  std::vector<bool> away(how.workers, false);
  for (std::size_t worker = 0; fleet && worker < away.size(); ++worker) {
    away[worker] = !fleet->is_ready(worker) && !fleet->is_due(worker);
  }
  return away;
}

double ProcessExecutor::Impl::pause_seconds() const { return kPauseLeases * how.lease_seconds; }

// To workers.

void ProcessExecutor::Impl::tell(std::size_t worker, const Command& command) {
  if (is_ready(worker)) fleet->send(worker, WireKind::kCommand, encode(Order(command)));
}

/// Lends trials to their workers, those that are there to hear of it. All are there before any of them may train, so
/// that the lanes of a group begin together.
void ProcessExecutor::Impl::send(const std::vector<TrialId>& trials) {
  if (is_pausing) return;
  std::map<std::size_t, std::vector<Allow>> allowed;
  std::map<std::size_t, std::vector<TrialId>> moved;
  std::vector<const Lease*> sent;
  for (const TrialId trial : trials) {
    Lease* lease = leases.find(trial);
    if (lease == nullptr || lease->is_sent || !is_ready(lease->worker)) continue;
    const std::uint64_t token = leases.send(*lease, clock.now());
    check.sent(*lease);
    fleet->send(lease->worker, WireKind::kStart, with_token(token, encode(Order(Leases::job_of(*lease)))));
    if (lease->allowed > 0) allowed[lease->worker].push_back({trial, lease->allowed});
    moved[lease->worker].push_back(trial);
    sent.push_back(lease);
  }
  for (const auto& [worker, its] : moved) {
    Arrange arranged{plan.of(its), std::move(allowed[worker])};
    if (!arranged.changes.parts.empty() || !arranged.allow.empty()) tell(worker, arranged);
  }
  for (const Lease* lease : sent) {
    if (lease->parks) tell(lease->worker, Park{lease->job.trial});
    if (lease->finish) tell(lease->worker, *lease->finish);
  }
}

/// Of one trial, to whoever has it.
void ProcessExecutor::Impl::pass_on(TrialId trial, const Command& command) {
  const Lease* lease = leases.find(trial);
  if (lease != nullptr && lease->is_sent) tell(lease->worker, command);
}

void ProcessExecutor::Impl::allow(const Allow& allowed) {
  Lease* lease = leases.find(allowed.trial);
  if (lease == nullptr || allowed.epoch <= lease->allowed) return;
  lease->allowed = allowed.epoch;
  pass_on(allowed.trial, allowed);
}

// Those of a group must be allowed at once, in whatever workers they are.
void ProcessExecutor::Impl::arrange(const Arrange& arranged) {
  plan.apply(arranged.changes);
  std::vector<Arrange> parts(how.workers, {arranged.changes, {}});
  for (const Allow& allowed : arranged.allow) {
    Lease* lease = leases.find(allowed.trial);
    if (lease == nullptr) continue;
    lease->allowed = std::max(lease->allowed, allowed.epoch);
    parts[lease->worker].allow.push_back(allowed);
  }
  for (std::size_t worker = 0; worker < parts.size(); ++worker) tell(worker, parts[worker]);
}

void ProcessExecutor::Impl::finish(const Finish& asked) {
  Lease* lease = leases.find(asked.trial);
  if (lease == nullptr) return;
  pass_on(asked.trial, asked);
  if (asked.abandon) return leases.end(asked.trial);
  lease->finish = asked;
}

void ProcessExecutor::Impl::park(const Park& asked) {
  if (Lease* lease = leases.find(asked.trial)) lease->parks = true;
  pass_on(asked.trial, asked);
}

void ProcessExecutor::Impl::pause() {
  if (std::exchange(is_pausing, true)) return;
  pause_until = clock.now() + pause_seconds();
  if (fleet) fleet->stop_beginning();
  for (std::size_t worker = 0; worker < how.workers; ++worker) {
    if (!is_ready(worker)) continue;
    saving.insert(worker);
    tell(worker, PauseAll{});
  }
  has_saved(how.workers);
}

void ProcessExecutor::Impl::has_saved(std::size_t worker) {
  saving.erase(worker);
  if (!is_pausing || !saving.empty() || std::exchange(has_paused, true)) return;
  reports.emplace_back(PausedReport{});
}

void ProcessExecutor::Impl::move_waiting() {
  if (is_pausing || !fleet || clock.now() < move_at) return;
  move_at = clock.now() + kBetweenMoves;
  std::vector<bool> others = ready();
  if (std::ranges::find(others, true) == others.end()) return;
  others.flip();
  for (std::size_t worker = 0; worker < how.workers; ++worker) {
    if (fleet->is_ready(worker) || fleet->is_due(worker)) continue;
    const std::vector<TrialId> waiting = leases.of(worker);
    // A worker that has been sent trials is lost: the news of that are on their way.
    const bool is_lost = std::ranges::any_of(waiting, [this](TrialId trial) { return leases.find(trial)->is_sent; });
    if (waiting.empty() || is_lost) continue;
    leases.move_from(worker, others);
    send(waiting);
  }
}

void ProcessExecutor::Impl::watch_pause() {
  if (!is_pausing || has_paused || clock.now() < pause_until) return;
  for (const std::size_t worker : std::set<std::size_t>(saving)) {
    fleet->lose(worker, false,
                "did not answer a pause within " + real_json(pause_seconds()).dump() + " s (run.lease_seconds)");
  }
}

/// Sends workers that have nothing to do to help others, and calls back those that have.
void ProcessExecutor::Impl::send_helpers() {
  if (is_pausing || !fleet) return;
  helping.send(leases, ready(), clock.now(),
               [this](std::size_t worker, const Command& command) { tell(worker, command); });
}

Result<std::unique_ptr<ProcessExecutor>> ProcessExecutor::create(const WorkerBrief& brief, FileSystem& fs,
                                                                 const Clock& clock, const ProcessOptions& options) {
  if (brief.workers < 1) {
    return Error{Code::kInvalidArgument, std::to_string(brief.workers) + " worker processes; allowed: 1 or more",
                 "run.workers"};
  }
  FleetOptions how;
  how.brief = brief;
  how.brief.workers = 1;
  how.brief.memory_bytes = brief.memory_bytes / brief.workers;
  how.brief.crash_marks = false;  // how a process ends is told by the system
  how.brief.pipeline_processes = true;
  how.workers = static_cast<std::size_t>(brief.workers);
  how.lease_seconds = options.lease_seconds;
  how.launch = options.launch;
  how.elsewhere = options.elsewhere;
  how.socket = options.socket.empty() ? brief.study_folder + "/control/workers.sock" : options.socket;
  MakeFleet make = options.fleet ? options.fleet : [](const FleetOptions& with, const Clock& by) {
    auto begun = WorkerFleet::begin(with, by);
    return begun ? Result<std::unique_ptr<Fleet>>(*std::move(begun)) : Result<std::unique_ptr<Fleet>>(begun.error());
  };
  return std::unique_ptr<ProcessExecutor>(
      new ProcessExecutor(std::make_unique<Impl>(fs, clock, std::move(how), std::move(make), options)));
}

ProcessExecutor::ProcessExecutor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ProcessExecutor::~ProcessExecutor() = default;

pid_t ProcessExecutor::process(std::size_t worker) const { return impl_->fleet ? impl_->fleet->process(worker) : 0; }

Result<void> ProcessExecutor::start(const Job& job) {
  LANISTA_ASSIGN(std::vector<Digest> carried, check_files(impl_->files, job));
  impl_->finish({job.trial, false, true});
  std::erase_if(impl_->reports, [&](const Report& report) {
    const bool is_file =
        std::holds_alternative<CheckpointReport>(report) || std::holds_alternative<ParkedReport>(report);
    return !is_file && trial_of(report) == job.trial;
  });
  impl_->check.know(job.checkpoint);
  impl_->helping.note(job);
  impl_->leases.grant(job, impl_->away()).carried = std::move(carried);
  if (impl_->begin_workers()) impl_->send({job.trial});
  return {};
}

void ProcessExecutor::command(const Command& command) {
  if (const auto* allowed = std::get_if<Allow>(&command)) impl_->allow(*allowed);
  if (const auto* asked = std::get_if<Finish>(&command)) impl_->finish(*asked);
  if (const auto* asked = std::get_if<Park>(&command)) impl_->park(*asked);
  if (const auto* arranged = std::get_if<Arrange>(&command)) impl_->arrange(*arranged);
  if (std::holds_alternative<PauseAll>(command)) impl_->pause();
  impl_->send_helpers();
}

std::optional<Report> ProcessExecutor::next(double seconds) {
  const double until = impl_->clock.now() + seconds;
  impl_->watch_pause();
  impl_->move_waiting();
  while (impl_->reports.empty()) {
    if (impl_->broken) return BrokenReport{*impl_->broken};
    const double left = std::max(until - impl_->clock.now(), 0.0);
    if (!impl_->fleet) {  // nobody has been asked to do anything
      std::this_thread::sleep_for(std::chrono::duration<double>(left));
      return std::nullopt;
    }
    const bool awaits_pause = impl_->is_pausing && !impl_->has_paused;
    const double until_lost = awaits_pause ? std::max(impl_->pause_until - impl_->clock.now(), 0.0) : left;
    const auto news = impl_->fleet->next(std::min({left, until_lost, kBetweenMoves}));
    impl_->watch_pause();
    impl_->move_waiting();
    if (news) {
      impl_->take(*news);
    } else if (impl_->clock.now() >= until) {
      return std::nullopt;
    }
  }
  Report report = std::move(impl_->reports.front());
  impl_->reports.pop_front();
  return report;
}

Result<std::map<std::string, double>> ProcessExecutor::measure(std::span<const Tested> members, data::Part part) {
  return impl_->measure(encode(Question{{members.begin(), members.end()}, part}), part);
}

}  // namespace lanista::engine
