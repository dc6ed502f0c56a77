#include "support/engine/forecast/simulated_fleet.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/base/portable_math.h"
#include "lanista/engine/remote/leases.h"
#include "lanista/engine/remote/messages.h"

namespace lanista::engine::testing {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kStepSeconds = 0.05;          // mean seconds of a worker's step
constexpr double kMessageDelaySeconds = 0.02;  // seconds of a message
constexpr double kStartDelaySeconds = 0.5,
                 kRemoteStartDelaySeconds = 5;  // seconds until a local or remote worker starts
constexpr int kMaxTestLosses = Lease::kMaxLosses - 2;

}  // namespace

SimulatedFleet::SimulatedFleet(const FleetOptions& fleet, Options options, VirtualClock& clock, MemoryFileSystem& disk,
                               FaultCounts& fault_counts)
    : fleet_(fleet),
      options_(options),
      clock_(clock),
      disk_(disk),
      fault_counts_(fault_counts),
      rng_(Rng(options.seed).split("fleet")),
      workers_(fleet.workers) {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    workers_[i].wakes_at_seconds =
        clock_.now() + random_delay(i < options_.num_local_workers ? kStartDelaySeconds : kRemoteStartDelaySeconds);
  }
}

double SimulatedFleet::random_delay(double mean) { return -mean * portable_log(1 - rng_.uniform()); }

double SimulatedFleet::next_event_seconds(const SimulatedWorker& entry) const {
  if (!entry.fake) return may_launch_ ? entry.wakes_at_seconds : kNever;
  double at = std::max(entry.wakes_at_seconds, entry.stopped_until);
  if (!entry.outbox.empty()) at = std::min(at, std::max(entry.outbox.front().at, entry.disconnected_until));
  return std::min(at, entry.last_seen_seconds + fleet_.lease_seconds);
}

std::optional<Fleet::FleetEvent> SimulatedFleet::next(double seconds) {
  const double until = clock_.now() + seconds;
  while (events_.empty()) {
    const auto first = std::ranges::min_element(
        workers_, {}, [this](const SimulatedWorker& entry) { return next_event_seconds(entry); });
    const double at = next_event_seconds(*first);
    if (at > until) {
      clock_.advance(until - clock_.now());
      return std::nullopt;
    }
    clock_.advance(std::max(0.0, at - clock_.now()));
    step_zombies();
    advance_worker(static_cast<std::size_t>(first - workers_.begin()));
  }
  FleetEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

void SimulatedFleet::send(std::size_t worker, WireKind kind, std::string_view text) {
  SimulatedWorker& entry = workers_[worker];
  if (!entry.fake) return;
  const double earliest = entry.inbox.empty() ? 0 : entry.inbox.back().at;
  entry.inbox.push_back({std::max(earliest, clock_.now() + random_delay(kMessageDelaySeconds)),
                         {static_cast<std::uint16_t>(kind), std::string(text)}});
}

void SimulatedFleet::mark_lost(std::size_t worker, bool own_fault, const std::string& reason) {
  if (workers_[worker].fake) drop(worker, own_fault, reason);
}

/// Its workers are honest, so this is a fault of the engine.
void SimulatedFleet::end_misbehaving(std::size_t, const std::string& what) {
  LANISTA_CHECK(false, "the engine dropped an honest worker: it " + what);
}

void SimulatedFleet::advance_worker(std::size_t worker) {
  SimulatedWorker& entry = workers_[worker];
  if (!entry.fake) return start_worker(worker);
  const double now = clock_.now();
  const bool cut = now < entry.disconnected_until, stopped = now < entry.stopped_until;
  if (!cut && !stopped) entry.last_seen_seconds = now;
  if (!cut && !entry.outbox.empty() && entry.outbox.front().at <= now) return deliver(worker);
  if (now >= entry.last_seen_seconds + fleet_.lease_seconds && !can_lose(entry, false)) {  // it returns just in time
    entry.last_seen_seconds = entry.disconnected_until = entry.stopped_until = now;
    return;
  }
  if (now >= entry.last_seen_seconds + fleet_.lease_seconds) {
    ++fault_counts_["silence"];
    return drop(worker, false, "was silent");
  }
  if (!stopped && entry.wakes_at_seconds <= now) step_worker(worker);
}

void SimulatedFleet::start_worker(std::size_t worker) {
  SimulatedWorker& entry = workers_[worker];
  if (rng_.uniform() < options_.fault_probability) {
    ++fault_counts_["ended before it could work"];
    entry.wakes_at_seconds = clock_.now() + random_delay(kStartDelaySeconds);
    events_.push_back(Lost{worker, ++processes_, false, "ended with exit code 255"});
    return;
  }
  const double now = clock_.now();
  entry = SimulatedWorker{};
  entry.fake = std::make_unique<FakeExecutor>(FakeOptions{.seed = rng_.next(), .workers = 2, .checkpoint_one_in = 2},
                                              store::CheckpointStore(disk_, fleet_.worker_config.study_folder));
  entry.process = ++processes_;
  entry.wakes_at_seconds = now + random_delay(kStepSeconds);
  entry.last_seen_seconds = now;
  events_.push_back(Ready{worker, entry.process, host_of(entry, worker)});
}

/// A late worker runs on any of three hosts.
std::string SimulatedFleet::host_of(const SimulatedWorker& entry, std::size_t worker) const {
  return worker < options_.num_local_workers ? std::string() : "far" + std::to_string(entry.process % 3);
}

bool SimulatedFleet::can_lose(const SimulatedWorker& entry, bool own_fault) const {
  return std::ranges::all_of(entry.active_trials, [&](TrialId trial) {
    const auto lost = losses_.find(trial);
    return (lost == losses_.end() || lost->second < kMaxTestLosses) && !(own_fault && crashed_.contains(trial));
  });
}

/// Returns true if the worker is lost.
bool SimulatedFleet::inject_fault(std::size_t worker) {
  SimulatedWorker& entry = workers_[worker];
  if (rng_.uniform() >= options_.fault_probability) return false;
  switch (rng_.below(4)) {
    case 0:
      if (!can_lose(entry, false)) return false;
      ++fault_counts_["killed"];
      drop(worker, false, "was killed by signal 9 (Killed)");
      return true;
    case 1:
      if (!can_lose(entry, true)) return false;
      ++fault_counts_["crashed"];
      crashed_.insert(entry.active_trials.begin(), entry.active_trials.end());
      drop(worker, true, "was killed by signal 11 (Segmentation fault)");
      return true;
    case 2:
      if (!can_lose(entry, false)) return false;
      ++fault_counts_["stopped"];
      entry.stopped_until = clock_.now() + random_delay(fleet_.lease_seconds);
      return false;
    default:
      if (!can_lose(entry, false)) return false;
      ++fault_counts_["cut off"];
      entry.disconnected_until = clock_.now() + random_delay(fleet_.lease_seconds);
      return false;
  }
}

void SimulatedFleet::step_worker(std::size_t worker) {
  if (inject_fault(worker)) return;
  SimulatedWorker& entry = workers_[worker];
  const double now = clock_.now();
  entry.wakes_at_seconds = now + random_delay(kStepSeconds);
  const bool cut = now < entry.disconnected_until;
  while (!cut && !entry.inbox.empty() && entry.inbox.front().at <= now) {
    const Message message = std::move(entry.inbox.front().message);
    entry.inbox.pop_front();
    execute(entry, message);
  }
  if (const auto worker_history_text = entry.fake->next(0)) send_report(entry, *worker_history_text);
}

void SimulatedFleet::execute(SimulatedWorker& entry, const Message& message) {
  const auto kind = static_cast<WireKind>(message.kind);
  if (kind == WireKind::kStart) {
    const auto value = split_token(message.text);
    LANISTA_CHECK(value.ok(), "an order without a token");
    const auto order = decode_executor_request(value->text);
    LANISTA_CHECK(order.ok(), "an order that cannot be read");
    const Job& job = std::get<Job>(*order);
    entry.tokens[job.trial] = value->token;
    if (const auto started = entry.fake->start(job); !started) {
      send_to_engine(
          entry, WireKind::kRefused,
          with_token(value->token, encode(std::vector<TrialId>{job.trial}) + "\n" + encode(started.error())));
    }
  } else if (kind == WireKind::kCommand) {
    const auto order = decode_executor_request(message.text);
    LANISTA_CHECK(order.ok(), "a command that cannot be read");
    entry.fake->command(std::get<Command>(*order));
  } else if (kind == WireKind::kQuestion) {
    const auto request = decode_measure_request(message.text);
    LANISTA_CHECK(request.ok(), "a measurement that cannot be read");
    const auto metrics = entry.fake->measure(request->members, request->part);
    send_to_engine(entry, metrics ? WireKind::kAnswer : WireKind::kNoAnswer,
                   metrics ? encode_measured_metrics(*metrics) : encode(metrics.error()));
  }
}

void SimulatedFleet::send_report(SimulatedWorker& entry, const Report& report) {
  const auto trial = trial_of(report);
  if (trial) send_to_engine(entry, WireKind::kActiveTrials, encode(std::vector<TrialId>{*trial}));
  const auto* saved = std::get_if<CheckpointReport>(&report);
  if (saved != nullptr && rng_.uniform() < options_.fault_probability) {  // its disk loses the file
    const std::string path = store::CheckpointStore(disk_, fleet_.worker_config.study_folder).path(saved->address);
    if (const auto bytes = disk_.read(path, 0)) {
      std::string other = *bytes;
      other[rng_.below(other.size())] ^= 0x10;
      disk_.put(path, other);
      ++fault_counts_["lost on disk"];
    }
  }
  const std::uint64_t token = trial && entry.tokens.contains(*trial) ? entry.tokens.at(*trial) : 0;
  send_to_engine(entry, WireKind::kReport, with_token(token, encode(report)));
  if (const auto* epoch = std::get_if<EpochReport>(&report)) {
    const SpanReport span{epoch->measurement.trial, epoch->measurement.epoch, 0, clock_.now() - kStepSeconds,
                          clock_.now()};
    entry.outbox.push_back({entry.outbox.back().at,
                            {static_cast<std::uint16_t>(WireKind::kReport), with_token(token, encode(Report(span)))}});
  }
}

void SimulatedFleet::send_to_engine(SimulatedWorker& entry, WireKind kind, std::string text) {
  const double earliest = entry.outbox.empty() ? 0 : entry.outbox.back().at;
  entry.outbox.push_back({std::max(earliest, clock_.now() + random_delay(kMessageDelaySeconds)),
                          {static_cast<std::uint16_t>(kind), std::move(text)}});
}

void SimulatedFleet::deliver(std::size_t worker) {
  SimulatedWorker& entry = workers_[worker];
  Message message = std::move(entry.outbox.front().message);
  entry.outbox.pop_front();
  const auto kind = static_cast<WireKind>(message.kind);
  if (kind == WireKind::kActiveTrials) {
    const auto trials = decode_trials(message.text);
    LANISTA_CHECK(trials.ok(), "trials that cannot be read");
    entry.active_trials = std::set<TrialId>(trials->begin(), trials->end());
  } else if (kind == WireKind::kReport) {
    const auto worker_history_text = decode_report(split_token(message.text)->text);
    LANISTA_CHECK(worker_history_text.ok(), "a report that cannot be read");
    if (const auto* epoch = std::get_if<EpochReport>(&*worker_history_text)) {
      std::int64_t& last_epoch = last_reported_epochs_[epoch->measurement.trial];
      if (epoch->measurement.epoch > last_epoch) losses_.erase(epoch->measurement.trial);
      last_epoch = std::max(last_epoch, epoch->measurement.epoch);
    }
  }
  events_.push_back(WorkerMessage{worker, std::move(message)});
}

void SimulatedFleet::drop(std::size_t worker, bool own_fault, const std::string& reason) {
  SimulatedWorker& entry = workers_[worker];
  for (const TrialId trial : entry.active_trials) ++losses_[trial];
  const bool keeps_running = !own_fault && clock_.now() < entry.disconnected_until;
  if (keeps_running)
    zombies_.push_back({std::move(entry.fake), clock_.now() + random_delay(1), static_cast<int>(rng_.below(4))});
  const pid_t process = entry.process;
  const std::string host = host_of(entry, worker);
  entry = SimulatedWorker{};
  entry.wakes_at_seconds =
      clock_.now() + random_delay(worker < options_.num_local_workers ? kStartDelaySeconds : kRemoteStartDelaySeconds);
  events_.push_back(Lost{worker, process, own_fault, reason, host});
}

/// A disconnected worker continues, and writes files that the engine does not use.
void SimulatedFleet::step_zombies() {
  for (ZombieWorker& zombie : zombies_) {
    while (zombie.steps > 0 && zombie.wakes_at_seconds <= clock_.now()) {
      --zombie.steps;
      zombie.wakes_at_seconds += random_delay(kStepSeconds);
      static_cast<void>(zombie.fake->next(0));
    }
  }
  std::erase_if(zombies_, [](const ZombieWorker& zombie) { return zombie.steps == 0; });
}

}  // namespace lanista::engine::testing
