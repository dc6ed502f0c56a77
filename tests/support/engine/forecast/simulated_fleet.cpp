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
constexpr double kStep = 0.05;                  // seconds of a worker's step, in the mean
constexpr double kWay = 0.02;                   // of a message
constexpr double kComes = 0.5, kComesLate = 5;  // of a worker, here and elsewhere
constexpr int kMostLosses = Lease::kLosses - 2;

}  // namespace

SimulatedFleet::SimulatedFleet(const FleetOptions& fleet, Options options, VirtualClock& clock, MemoryFileSystem& disk,
                               Troubles& troubles)
    : fleet_(fleet),
      options_(options),
      clock_(clock),
      disk_(disk),
      troubles_(troubles),
      rng_(Rng(options.seed).split("fleet")),
      seats_(fleet.workers) {
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    seats_[i].wakes = clock_.now() + soon(i < options_.near ? kComes : kComesLate);
  }
}

double SimulatedFleet::soon(double mean) { return -mean * portable_log(1 - rng_.uniform()); }

double SimulatedFleet::next_of(const Seat& seat) const {
  if (!seat.fake) return begins_ ? seat.wakes : kNever;
  double at = std::max(seat.wakes, seat.stopped_until);
  if (!seat.from.empty()) at = std::min(at, std::max(seat.from.front().at, seat.cut_until));
  return std::min(at, seat.heard + fleet_.lease_seconds);
}

std::optional<Fleet::News> SimulatedFleet::next(double seconds) {
  const double until = clock_.now() + seconds;
  while (news_.empty()) {
    const auto first = std::ranges::min_element(seats_, {}, [this](const Seat& seat) { return next_of(seat); });
    const double at = next_of(*first);
    if (at > until) {
      clock_.advance(until - clock_.now());
      return std::nullopt;
    }
    clock_.advance(std::max(0.0, at - clock_.now()));
    haunt();
    happen(static_cast<std::size_t>(first - seats_.begin()));
  }
  News news = std::move(news_.front());
  news_.pop_front();
  return news;
}

void SimulatedFleet::send(std::size_t worker, WireKind kind, std::string_view text) {
  Seat& seat = seats_[worker];
  if (!seat.fake) return;
  const double earliest = seat.to.empty() ? 0 : seat.to.back().at;
  seat.to.push_back(
      {std::max(earliest, clock_.now() + soon(kWay)), {static_cast<std::uint16_t>(kind), std::string(text)}});
}

void SimulatedFleet::lose(std::size_t worker, bool own_fault, const std::string& reason) {
  if (seats_[worker].fake) drop(worker, own_fault, reason);
}

/// Its workers are honest, so this is a fault of the engine.
void SimulatedFleet::expel(std::size_t, const std::string& what) {
  LANISTA_CHECK(false, "the engine dropped an honest worker: it " + what);
}

void SimulatedFleet::happen(std::size_t worker) {
  Seat& seat = seats_[worker];
  if (!seat.fake) return come(worker);
  const double now = clock_.now();
  const bool cut = now < seat.cut_until, stopped = now < seat.stopped_until;
  if (!cut && !stopped) seat.heard = now;
  if (!cut && !seat.from.empty() && seat.from.front().at <= now) return deliver(worker);
  if (now >= seat.heard + fleet_.lease_seconds && !may_lose(seat, false)) {  // it is back just in time
    seat.heard = seat.cut_until = seat.stopped_until = now;
    return;
  }
  if (now >= seat.heard + fleet_.lease_seconds) {
    ++troubles_["silence"];
    return drop(worker, false, "was silent");
  }
  if (!stopped && seat.wakes <= now) work(worker);
}

void SimulatedFleet::come(std::size_t worker) {
  Seat& seat = seats_[worker];
  if (rng_.uniform() < options_.trouble) {
    ++troubles_["ended before it could work"];
    seat.wakes = clock_.now() + soon(kComes);
    news_.push_back(Lost{worker, ++processes_, false, "ended with exit code 255"});
    return;
  }
  const double now = clock_.now();
  seat = Seat{};
  seat.fake = std::make_unique<FakeExecutor>(FakeOptions{.seed = rng_.next(), .workers = 2, .checkpoint_one_in = 2},
                                             store::CheckpointStore(disk_, fleet_.brief.study_folder));
  seat.process = ++processes_;
  seat.wakes = now + soon(kStep);
  seat.heard = now;
  news_.push_back(Ready{worker, seat.process, host_of(seat, worker)});
}

/// Whoever comes late is on any of three machines.
std::string SimulatedFleet::host_of(const Seat& seat, std::size_t worker) const {
  return worker < options_.near ? std::string() : "far" + std::to_string(seat.process % 3);
}

bool SimulatedFleet::may_lose(const Seat& seat, bool own_fault) const {
  return std::ranges::all_of(seat.in_hand, [&](TrialId trial) {
    const auto lost = losses_.find(trial);
    return (lost == losses_.end() || lost->second < kMostLosses) && !(own_fault && crashed_.contains(trial));
  });
}

/// True: it is gone.
bool SimulatedFleet::trouble(std::size_t worker) {
  Seat& seat = seats_[worker];
  if (rng_.uniform() >= options_.trouble) return false;
  switch (rng_.below(4)) {
    case 0:
      if (!may_lose(seat, false)) return false;
      ++troubles_["killed"];
      drop(worker, false, "was killed by signal 9 (Killed)");
      return true;
    case 1:
      if (!may_lose(seat, true)) return false;
      ++troubles_["crashed"];
      crashed_.insert(seat.in_hand.begin(), seat.in_hand.end());
      drop(worker, true, "was killed by signal 11 (Segmentation fault)");
      return true;
    case 2:
      if (!may_lose(seat, false)) return false;
      ++troubles_["stopped"];
      seat.stopped_until = clock_.now() + soon(fleet_.lease_seconds);
      return false;
    default:
      if (!may_lose(seat, false)) return false;
      ++troubles_["cut off"];
      seat.cut_until = clock_.now() + soon(fleet_.lease_seconds);
      return false;
  }
}

void SimulatedFleet::work(std::size_t worker) {
  if (trouble(worker)) return;
  Seat& seat = seats_[worker];
  const double now = clock_.now();
  seat.wakes = now + soon(kStep);
  const bool cut = now < seat.cut_until;
  while (!cut && !seat.to.empty() && seat.to.front().at <= now) {
    const Message message = std::move(seat.to.front().message);
    seat.to.pop_front();
    obey(seat, message);
  }
  if (const auto told = seat.fake->next(0)) report(seat, *told);
}

void SimulatedFleet::obey(Seat& seat, const Message& message) {
  const auto kind = static_cast<WireKind>(message.kind);
  if (kind == WireKind::kStart) {
    const auto said = split_token(message.text);
    LANISTA_CHECK(said.ok(), "an order without a token");
    const auto order = decode_order(said->text);
    LANISTA_CHECK(order.ok(), "an order that cannot be read");
    const Job& job = std::get<Job>(*order);
    seat.tokens[job.trial] = said->token;
    if (const auto started = seat.fake->start(job); !started) {
      tell(seat, WireKind::kRefused,
           with_token(said->token, encode(std::vector<TrialId>{job.trial}) + "\n" + encode(started.error())));
    }
  } else if (kind == WireKind::kCommand) {
    const auto order = decode_order(message.text);
    LANISTA_CHECK(order.ok(), "a command that cannot be read");
    seat.fake->command(std::get<Command>(*order));
  } else if (kind == WireKind::kQuestion) {
    const auto asked = decode_question(message.text);
    LANISTA_CHECK(asked.ok(), "a question that cannot be read");
    const auto metrics = seat.fake->measure(asked->members, asked->part);
    tell(seat, metrics ? WireKind::kAnswer : WireKind::kNoAnswer,
         metrics ? encode_metrics(*metrics) : encode(metrics.error()));
  }
}

void SimulatedFleet::report(Seat& seat, const Report& report) {
  const auto trial = trial_of(report);
  if (trial) tell(seat, WireKind::kInHand, encode(std::vector<TrialId>{*trial}));
  const auto* saved = std::get_if<CheckpointReport>(&report);
  if (saved != nullptr && rng_.uniform() < options_.trouble) {  // its disk lies
    const std::string path = store::CheckpointStore(disk_, fleet_.brief.study_folder).path(saved->address);
    if (const auto bytes = disk_.read(path, 0)) {
      std::string other = *bytes;
      other[rng_.below(other.size())] ^= 0x10;
      disk_.put(path, other);
      ++troubles_["lost on disk"];
    }
  }
  const std::uint64_t token = trial && seat.tokens.contains(*trial) ? seat.tokens.at(*trial) : 0;
  tell(seat, WireKind::kReport, with_token(token, encode(report)));
  if (const auto* epoch = std::get_if<EpochReport>(&report)) {
    const SpanReport span{epoch->measurement.trial, epoch->measurement.epoch, 0, clock_.now() - kStep, clock_.now()};
    seat.from.push_back({seat.from.back().at,
                         {static_cast<std::uint16_t>(WireKind::kReport), with_token(token, encode(Report(span)))}});
  }
}

void SimulatedFleet::tell(Seat& seat, WireKind kind, std::string text) {
  const double earliest = seat.from.empty() ? 0 : seat.from.back().at;
  seat.from.push_back(
      {std::max(earliest, clock_.now() + soon(kWay)), {static_cast<std::uint16_t>(kind), std::move(text)}});
}

void SimulatedFleet::deliver(std::size_t worker) {
  Seat& seat = seats_[worker];
  Message message = std::move(seat.from.front().message);
  seat.from.pop_front();
  const auto kind = static_cast<WireKind>(message.kind);
  if (kind == WireKind::kInHand) {
    const auto trials = decode_trials(message.text);
    LANISTA_CHECK(trials.ok(), "trials that cannot be read");
    seat.in_hand = std::set<TrialId>(trials->begin(), trials->end());
  } else if (kind == WireKind::kReport) {
    const auto told = decode_report(split_token(message.text)->text);
    LANISTA_CHECK(told.ok(), "a report that cannot be read");
    if (const auto* epoch = std::get_if<EpochReport>(&*told)) {
      std::int64_t& known = told_[epoch->measurement.trial];
      if (epoch->measurement.epoch > known) losses_.erase(epoch->measurement.trial);
      known = std::max(known, epoch->measurement.epoch);
    }
  }
  news_.push_back(Heard{worker, std::move(message)});
}

void SimulatedFleet::drop(std::size_t worker, bool own_fault, const std::string& reason) {
  Seat& seat = seats_[worker];
  for (const TrialId trial : seat.in_hand) ++losses_[trial];
  const bool lives_on = !own_fault && clock_.now() < seat.cut_until;
  if (lives_on) ghosts_.push_back({std::move(seat.fake), clock_.now() + soon(1), static_cast<int>(rng_.below(4))});
  const pid_t process = seat.process;
  const std::string host = host_of(seat, worker);
  seat = Seat{};
  seat.wakes = clock_.now() + soon(worker < options_.near ? kComes : kComesLate);
  news_.push_back(Lost{worker, process, own_fault, reason, host});
}

/// Who was cut off goes on, and writes files that nobody waits for.
void SimulatedFleet::haunt() {
  for (Ghost& ghost : ghosts_) {
    while (ghost.steps > 0 && ghost.wakes <= clock_.now()) {
      --ghost.steps;
      ghost.wakes += soon(kStep);
      static_cast<void>(ghost.fake->next(0));
    }
  }
  std::erase_if(ghosts_, [](const Ghost& ghost) { return ghost.steps == 0; });
}

}  // namespace lanista::engine::testing
