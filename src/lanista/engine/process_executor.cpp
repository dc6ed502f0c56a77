#include "lanista/engine/process_executor.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <set>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "lanista/engine/helping.h"
#include "lanista/engine/leases.h"
#include "lanista/engine/messages.h"
#include "lanista/engine/worker_fleet.h"
#include "lanista/engine/worker_protocol.h"
#include "lanista/schedule/planner.h"
#include "lanista/store/checkpoints.h"

namespace lanista::engine {
namespace {

constexpr int kMeasureTries = 3;
constexpr double kLook = 0.25;  ///< seconds

/// Of what a job goes on from, or begins with, that it is there and whole.
Result<void> check_files(const store::CheckpointStore& files, const Job& job) {
  LANISTA_TRY(check_fork(job));
  const std::string& wanted = !job.checkpoint.empty() ? job.checkpoint : job.start ? job.start->address : "";
  if (wanted.empty()) return {};
  const auto found = files.get(wanted);
  return found ? Result<void>() : Result<void>(found.error());
}

/// One that says that there is no memory, of nothing in particular, speaks of its process.
bool is_of_the_process(const Error& error) { return error.code == Code::kResourceExhausted && error.where.empty(); }

}  // namespace

struct ProcessExecutor::Impl {
  const Clock& clock;
  FileSystem& fs;
  store::CheckpointStore files;
  const FleetOptions how;
  std::unique_ptr<Fleet> fleet;  // from the first job on: a refused study leaves nothing behind
  Leases leases;
  schedule::Grouping plan;
  std::deque<Report> reports;
  std::optional<Error> broken;
  bool is_pausing = false, has_paused = false;
  std::set<std::size_t> saving;  // workers that were told to pause and have not said that they did
  std::map<std::size_t, Result<std::map<std::string, double>>> answers;
  std::map<std::size_t, std::string> last_losses;
  std::map<std::size_t, WorkerReport> came;  // of each worker the last time
  const MakeFleet make_fleet;
  Helping helping;

  Impl(FileSystem& f, const Clock& c, FleetOptions options, MakeFleet make, std::shared_ptr<const KnownTimes> known)
      : clock(c),
        fs(f),
        files(f, options.brief.study_folder),
        how(std::move(options)),
        leases(how.workers),
        make_fleet(std::move(make)),
        helping(how.brief.width, how.workers, how.socket, std::move(known)) {}

  /// Workers end before `helping` clears their sessions away, so none makes a file after that.
  ~Impl() { fleet.reset(); }

  /// False: it cannot be, and the executor is broken.
  bool begin_workers() {
    if (fleet || broken) return fleet != nullptr;
    const auto folder = fs.make_folder(how.socket.substr(0, how.socket.rfind('/')));
    auto begun = folder ? make_fleet(how, clock) : Result<std::unique_ptr<Fleet>>(folder.error());
    if (!begun) break_down(begun.error());
    if (begun) fleet = *std::move(begun);
    return fleet != nullptr;
  }

  bool is_ready(std::size_t worker) const { return fleet && fleet->is_ready(worker); }
  std::vector<bool> ready() const {
    std::vector<bool> out;
    for (std::size_t worker = 0; worker < how.workers; ++worker) out.push_back(is_ready(worker));
    return out;
  }

  // To workers.

  void tell(std::size_t worker, const Command& command) {
    if (is_ready(worker)) fleet->send(worker, WireKind::kCommand, encode(Order(command)));
  }

  /// Lends trials to their workers, those that are there to hear of it. All are there before any of them may train, so
  /// that the lanes of a group begin together.
  void send(const std::vector<TrialId>& trials) {
    if (is_pausing) return;
    std::map<std::size_t, std::vector<Allow>> allowed;
    std::map<std::size_t, std::vector<TrialId>> moved;
    std::vector<const Lease*> sent;
    for (const TrialId trial : trials) {
      Lease* lease = leases.find(trial);
      if (lease == nullptr || lease->is_sent || !is_ready(lease->worker)) continue;
      const std::uint64_t token = leases.send(*lease, clock.now());
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
  void pass_on(TrialId trial, const Command& command) {
    const Lease* lease = leases.find(trial);
    if (lease != nullptr && lease->is_sent) tell(lease->worker, command);
  }

  void allow(const Allow& allowed) {
    Lease* lease = leases.find(allowed.trial);
    if (lease == nullptr || allowed.epoch <= lease->allowed) return;
    lease->allowed = allowed.epoch;
    pass_on(allowed.trial, allowed);
  }

  // Those of a group must be allowed at once, in whatever workers they are.
  void arrange(const Arrange& arranged) {
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

  void finish(const Finish& asked) {
    Lease* lease = leases.find(asked.trial);
    if (lease == nullptr) return;
    pass_on(asked.trial, asked);
    if (asked.abandon) return leases.end(asked.trial);
    lease->finish = asked;
  }

  void park(const Park& asked) {
    if (Lease* lease = leases.find(asked.trial)) lease->parks = true;
    pass_on(asked.trial, asked);
  }

  void pause() {
    if (std::exchange(is_pausing, true)) return;
    if (fleet) fleet->stop_beginning();
    for (std::size_t worker = 0; worker < how.workers; ++worker) {
      if (!is_ready(worker)) continue;
      saving.insert(worker);
      tell(worker, PauseAll{});
    }
    has_saved(how.workers);
  }

  void has_saved(std::size_t worker) {
    saving.erase(worker);
    if (!is_pausing || !saving.empty() || std::exchange(has_paused, true)) return;
    reports.emplace_back(PausedReport{});
  }

  /// Sends workers that have nothing to do to help others, and calls back those that have.
  void send_helpers() {
    if (is_pausing || !fleet) return;
    helping.send(leases, ready(), clock.now(),
                 [this](std::size_t worker, const Command& command) { tell(worker, command); });
  }

  // From workers.

  void take(const Fleet::News& news) {
    if (const auto* ready = std::get_if<Fleet::Ready>(&news)) begin(*ready);
    if (const auto* heard = std::get_if<Fleet::Heard>(&news)) hear(heard->worker, heard->message);
    if (const auto* lost = std::get_if<Fleet::Lost>(&news)) lose(*lost);
    if (const auto* all = std::get_if<Fleet::Broken>(&news)) break_down(all->error);
    send_helpers();
  }

  void break_down(const Error& error) {
    if (!broken) broken = error;
  }

  void begin(const Fleet::Ready& ready) {
    came[ready.worker] = {static_cast<std::int64_t>(ready.worker), ready.process, true, "", {}, 0, ready.host};
    reports.emplace_back(came[ready.worker]);
    for (const Leases::Move& moved : leases.share_out_to(ready.worker, away())) {
      if (moved.from) tell(*moved.from, Finish{moved.trial, false, true});
    }
    std::vector<TrialId> waiting;
    for (const auto& [trial, lease] : leases.all()) {
      if (!lease.is_sent) waiting.push_back(trial);
    }
    send(waiting);
  }

  /// Workers that are not there, and of whom nobody knows when they will be.
  std::vector<bool> away() const {
    std::vector<bool> away(how.workers, false);
    for (std::size_t worker = 0; fleet && worker < away.size(); ++worker) {
      away[worker] = !fleet->is_ready(worker) && !fleet->is_due(worker);
    }
    return away;
  }

  void hear(std::size_t worker, const Message& message) {
    switch (static_cast<WireKind>(message.kind)) {
      case WireKind::kReport:
        return is_understood(worker, report(worker, message.text));
      case WireKind::kRefused:
        return is_understood(worker, refused(worker, message.text));
      case WireKind::kInHand: {
        auto trials = decode_trials(message.text);
        if (trials) leases.in_hand(worker, *std::move(trials));
        return is_understood(worker, trials ? Result<void>() : Result<void>(trials.error()));
      }
      case WireKind::kAnswer:
        answers.insert_or_assign(worker, decode_metrics(message.text));
        return;
      case WireKind::kNoAnswer:
        answers.insert_or_assign(worker, decode_error(message.text));
        return;
      case WireKind::kBroken: {
        const Error error = decode_error(message.text);
        if (!is_of_the_process(error)) return break_down(error);
        return fleet->lose(worker, true, "ran out of memory (" + error.message + ")");
      }
      default:
        return is_understood(worker, Error{Code::kDataLoss, "kind " + std::to_string(message.kind), ""});
    }
  }

  /// A worker that says what it must not is not asked any further.
  void is_understood(std::size_t worker, const Result<void>& heard) {
    if (!heard) fleet->lose(worker, true, "said what is no message (" + heard.error().message + ")");
  }

  Result<void> report(std::size_t worker, const std::string& text) {
    LANISTA_ASSIGN(const Tokened said, split_token(text));
    LANISTA_ASSIGN(Report told, decode_report(said.text));
    if (std::holds_alternative<PausedReport>(told)) {
      has_saved(worker);
      return {};
    }
    if (auto* lost = std::get_if<WorkerReport>(&told)) {
      tell_of_a_place(worker, std::move(*lost));
      return {};
    }
    LANISTA_ASSIGN(auto heard, leases.hear(worker, said.token, std::move(told), clock.now()));
    if (!heard) return {};
    if (const auto* span = std::get_if<SpanReport>(&*heard)) helping.note(*span);
    reports.push_back(*std::move(heard));
    return {};
  }

  /// A worker lost one of its own processes, and is here as before.
  void tell_of_a_place(std::size_t worker, WorkerReport lost) {
    const WorkerReport& back = came[worker];
    lost.worker = back.worker;
    lost.host = back.host;
    reports.emplace_back(std::move(lost));
    reports.emplace_back(back);
  }

  Result<void> refused(std::size_t worker, const std::string& text) {
    LANISTA_ASSIGN(const Tokened said, split_token(text));
    const auto line = said.text.find('\n');
    if (line == std::string::npos) return Error{Code::kDataLoss, "a refusal without a reason", ""};
    LANISTA_ASSIGN(const auto trials, decode_trials(std::string_view(said.text).substr(0, line)));
    if (trials.size() != 1) return Error{Code::kDataLoss, "a refusal of no trial", ""};
    const Error error = decode_error(std::string_view(said.text).substr(line + 1));
    if (leases.try_older(trials.front(), said.token, error)) {
      send(trials);
      return {};
    }
    LANISTA_ASSIGN(auto heard,
                   leases.hear(worker, said.token, FailureReport{trials.front(), 1, error.text()}, clock.now()));
    if (heard) reports.push_back(*std::move(heard));
    return {};
  }

  void lose(const Fleet::Lost& lost) {
    helping.lose(lost.worker, leases);
    Leases::Loss loss = leases.lose(lost.worker, lost.own_fault, lost.reason, clock.now());
    last_losses[lost.worker] = lost.reason;
    reports.emplace_back(WorkerReport{static_cast<std::int64_t>(lost.worker), lost.process, false, lost.reason,
                                      loss.again, loss.seconds, lost.host, std::move(loss.costs)});
    for (FailureReport& failure : loss.failed) reports.emplace_back(std::move(failure));
    has_saved(lost.worker);
    if (fleet->is_due(lost.worker)) return;  // who comes in its place takes its trials
    std::vector<bool> away = ready();
    away.flip();
    leases.move_from(lost.worker, away);
    send(loss.again);
  }

  // Questions.

  /// One that is ready, with the fewest trials.
  std::optional<std::size_t> free_worker() const {
    const std::vector<std::int64_t> loads = leases.loads();
    std::optional<std::size_t> best;
    for (std::size_t worker = 0; worker < loads.size(); ++worker) {
      if (is_ready(worker) && (!best || loads[worker] < loads[*best])) best = worker;
    }
    return best;
  }

  std::optional<std::size_t> wait_for_worker() {
    while (begin_workers() && !broken && !is_pausing) {
      if (const auto worker = free_worker()) return worker;
      if (const auto news = fleet->next(kLook)) take(*news);
    }
    return std::nullopt;
  }

  Result<std::map<std::string, double>> measure(const std::string& question) {
    for (int tried = 0; tried < kMeasureTries; ++tried) {
      const auto worker = wait_for_worker();
      if (!worker) break;
      answers.erase(*worker);
      last_losses.erase(*worker);
      fleet->send(*worker, WireKind::kQuestion, question);
      while (!broken && !last_losses.contains(*worker)) {
        if (const auto answer = answers.find(*worker); answer != answers.end()) return answer->second;
        if (const auto news = fleet->next(kLook)) take(*news);
      }
      if (!broken && tried + 1 == kMeasureTries) {
        return Error{Code::kUnavailable,
                     "a worker process " + last_losses.at(*worker) + " while it measured, " +
                         std::to_string(kMeasureTries) + " times in a row",
                     ""};
      }
    }
    return broken ? *broken : Error{Code::kUnavailable, "there are no worker processes any more", ""};
  }
};

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
      new ProcessExecutor(std::make_unique<Impl>(fs, clock, std::move(how), std::move(make), options.known)));
}

ProcessExecutor::ProcessExecutor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ProcessExecutor::~ProcessExecutor() = default;

pid_t ProcessExecutor::process(std::size_t worker) const { return impl_->fleet ? impl_->fleet->process(worker) : 0; }

Result<void> ProcessExecutor::start(const Job& job) {
  LANISTA_TRY(check_files(impl_->files, job));
  impl_->finish({job.trial, false, true});
  std::erase_if(impl_->reports, [&](const Report& report) {
    const bool is_file =
        std::holds_alternative<CheckpointReport>(report) || std::holds_alternative<ParkedReport>(report);
    return !is_file && trial_of(report) == job.trial;
  });
  impl_->helping.note(job);
  impl_->leases.grant(job, impl_->away());
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
  while (impl_->reports.empty()) {
    if (impl_->broken) return BrokenReport{*impl_->broken};
    const double left = std::max(until - impl_->clock.now(), 0.0);
    if (!impl_->fleet) {  // nobody has been asked to do anything
      std::this_thread::sleep_for(std::chrono::duration<double>(left));
      return std::nullopt;
    }
    if (const auto news = impl_->fleet->next(left)) {
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
  return impl_->measure(encode(Question{{members.begin(), members.end()}, part}));
}

}  // namespace lanista::engine
