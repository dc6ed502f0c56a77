#include "lanista/engine/worker_fleet.h"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <utility>

#include "lanista/base/real_json.h"
#include "lanista/engine/host.h"

namespace lanista::engine {
namespace {

constexpr double kToKnock = 60;    ///< seconds: from its begin to its hello
constexpr double kAtTheDoor = 5;   ///< seconds for a stranger's hello
constexpr double kToSayWhy = 0.5;  ///< seconds from the end of a connection to that of the process
constexpr double kToEnd = 5;       ///< seconds to end by itself
constexpr double kFirstDelay = 0.05, kLongestDelay = 5;  ///< seconds before a process is begun again
constexpr double kFarDelay = 30;                         ///< longest, of one elsewhere that others do without

std::string seconds_text(double seconds) { return real_json(seconds).dump() + " s"; }

double delay_after(int failures, double longest = kLongestDelay) {
  return failures < 2 ? 0 : std::min(kFirstDelay * std::pow(2.0, failures - 2), longest);
}

}  // namespace

Result<std::unique_ptr<WorkerFleet>> WorkerFleet::begin(FleetOptions options, const Clock& clock) {
  LANISTA_ASSIGN(WorkerSocket socket, WorkerSocket::listen(options.socket));
  return std::unique_ptr<WorkerFleet>(new WorkerFleet(std::move(options), clock, std::move(socket)));
}

WorkerFleet::WorkerFleet(FleetOptions options, const Clock& clock, WorkerSocket socket)
    : options_(std::move(options)),
      clock_(&clock),
      socket_(std::move(socket)),
      build_(build_fingerprint()),
      seats_(options_.workers) {
  for (Seat& seat : seats_) seat.begin_at = clock_->now();
  begin_due(clock_->now());
}

WorkerFleet::~WorkerFleet() {
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    seats_[i].channel.reset();  // which they hear, but in a queue
    if (seats_[i].process != 0 && is_elsewhere(i) && !seats_[i].has_spoken) ::kill(seats_[i].process, SIGTERM);
  }
  const double until = clock_->now() + kToEnd;
  for (Seat& seat : seats_) {
    if (seat.process == 0) continue;
    if (ended(seat.process, std::clamp(until - clock_->now(), 0.0, kToEnd))) continue;
    ::kill(seat.process, SIGKILL);
    reaper_.add(seat.process);
  }
}

const std::string& WorkerFleet::place(std::size_t worker) const {
  static const std::string kHere;
  return options_.elsewhere.empty() ? kHere : options_.elsewhere[worker % options_.elsewhere.size()].name;
}

bool WorkerFleet::tells_hosts() const {
  return std::ranges::any_of(options_.elsewhere, [](const Launcher& launcher) { return !launcher.name.empty(); });
}

bool WorkerFleet::is_hopeless() const {
  return std::ranges::none_of(seats_, [](const Seat& seat) { return seat.is_ready || seat.failures < kTries; });
}

double WorkerFleet::beat_seconds() const { return std::min(options_.lease_seconds / 4, 1.0); }

bool WorkerFleet::is_due(std::size_t worker) const {
  const Seat& seat = seats_[worker];
  if (is_elsewhere(worker)) return seat.has_spoken;
  return begins_ && (seat.process != 0 ? seat.failures < 2 : delay_after(seat.failures) == 0);
}

std::optional<WorkerFleet::News> WorkerFleet::next(double seconds) {
  const double until = clock_->now() + seconds;
  for (bool looked = false;; looked = true) {
    if (news_.empty()) tick();
    if (!news_.empty()) {
      News news = std::move(news_.front());
      news_.pop_front();
      return news;
    }
    const double left = until - clock_->now();
    if (looked && left <= 0) return std::nullopt;
    wait(std::clamp(left, 0.0, beat_seconds()));
  }
}

void WorkerFleet::send(std::size_t worker, WireKind kind, std::string_view text) {
  Seat& seat = seats_[worker];
  if (seat.is_ready) seat.channel->send(static_cast<std::uint16_t>(kind), text);
}

// One look at everything. Who was heard is heard before silence is judged: the engine may have been away itself.
void WorkerFleet::tick() {
  const double now = clock_->now();
  reaper_.collect();
  welcome_guests(now);
  for (std::size_t i = 0; i < seats_.size(); ++i) listen(i);
  watch_silence(now);
  begin_due(now);
  if (now < next_beat_) return;
  next_beat_ = now + beat_seconds();
  for (Seat& seat : seats_) {
    if (seat.channel && seat.has_spoken) seat.channel->send(static_cast<std::uint16_t>(WireKind::kBeat), "");
  }
}

void WorkerFleet::wait(double seconds) {
  std::vector<pollfd> all{{socket_.socket(), POLLIN, 0}};
  const auto add = [&](const Channel& channel) {
    const short wanted = channel.has_more_to_write() ? POLLIN | POLLOUT : POLLIN;
    all.push_back({channel.socket(), wanted, 0});
  };
  for (const Seat& seat : seats_) {
    if (seat.channel) add(*seat.channel);
    const bool comes = seat.process == 0 && begins_;
    if (comes) seconds = std::min(seconds, std::max(seat.begin_at - clock_->now(), 0.0));
  }
  for (const Stranger& stranger : strangers_) add(stranger.guest.channel);
  ::poll(all.data(), all.size(), static_cast<int>(std::ceil(seconds * 1e3)));
}

void WorkerFleet::begin_due(double now) {
  if (!begins_) return;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    Seat& seat = seats_[i];
    if (seat.process != 0 || now < seat.begin_at) continue;
    const LaunchWorker& launch =
        is_elsewhere(i) ? options_.elsewhere[i % options_.elsewhere.size()].launch : options_.launch;
    auto begun = launch(socket_.path());
    if (!begun) {
      ++seat.failures;
      seat.begin_at = now + std::max(delay_after(seat.failures), kFirstDelay);
      if (seat.failures < kTries) continue;
      begins_ = false;
      news_.push_back(Broken{begun.error()});
      return;
    }
    seat.process = begun->process;
    if (begun->channel) seat.channel = std::move(begun->channel);
    seat.begun = now;
    seat.silent = 0;
    if (tells_hosts()) seat.host = plain_host(options_.elsewhere[i % options_.elsewhere.size()].host);
  }
}

void WorkerFleet::welcome_guests(double now) {
  while (auto guest = socket_.accept()) {
    const auto seat =
        std::ranges::find_if(seats_, [&](const Seat& s) { return s.process == guest->process && !s.channel; });
    if (seat != seats_.end() && guest->process != 0) {
      seat->channel.emplace(std::move(guest->channel));
    } else {
      strangers_.push_back({*std::move(guest), now});
    }
  }
  for (Stranger& stranger : strangers_) show_out(stranger);
  std::erase_if(strangers_, [&](const Stranger& stranger) {
    return stranger.guest.channel.closed() || now - stranger.since > kAtTheDoor;
  });
}

// Whoever was not begun by this engine is told why it cannot stay.
void WorkerFleet::show_out(Stranger& stranger) {
  Channel& channel = stranger.guest.channel;
  const auto message = channel.receive(0);
  if (!message || message->kind != static_cast<std::uint16_t>(WireKind::kHello)) return;
  auto hello = decode_hello(message->text);
  Result<void> fits = hello ? check_hello(*hello, build_) : Result<void>(hello.error());
  if (fits) {
    fits =
        Error{Code::kFailedPrecondition, "this engine begins its worker processes itself (run.workers says how many)",
              "process " + std::to_string(stranger.guest.process)};
  }
  channel.send(static_cast<std::uint16_t>(WireKind::kUnwelcome), encode(fits.error()));
}

void WorkerFleet::listen(std::size_t worker) {
  Seat& seat = seats_[worker];
  if (seat.process == 0) return;
  if (!seat.channel) {
    if (const auto end = ended(seat.process, 0)) drop(worker, true, end->is_own_fault(), end->text());
    return;
  }
  while (seat.channel) {
    auto message = seat.channel->receive(0);
    if (!message) break;
    seat.silent = 0;
    seat.has_spoken = true;
    const auto kind = static_cast<WireKind>(message->kind);
    if (kind == WireKind::kBeat) continue;
    if (kind == WireKind::kHello) {
      greet(worker, message->text);
    } else if (kind == WireKind::kReady && !seat.is_ready) {
      seat.is_ready = true;
      news_.push_back(Ready{worker, seat.process, seat.host});
    } else if (kind == WireKind::kBroken &&
               !seat.is_ready) {  // the data are others, say: so it would be for the next one
      begins_ = false;
      news_.push_back(Broken{decode_error(message->text)});
    } else {
      seat.failures = 0;
      news_.push_back(Heard{worker, *std::move(message)});
    }
  }
  if (seat.channel && seat.channel->closed()) gone(worker);
}

void WorkerFleet::greet(std::size_t worker, const std::string& text) {
  Seat& seat = seats_[worker];
  const auto hello = decode_hello(text);
  const Result<void> fits = hello ? check_hello(*hello, build_) : Result<void>(hello.error());
  if (fits) {
    // What it says itself is nearer than what the launcher was asked for: on Slurm the latter is any node.
    const std::string host = tells_hosts() ? plain_host(hello->host) : std::string();
    if (!host.empty()) seat.host = host;
    seat.channel->send(static_cast<std::uint16_t>(WireKind::kWelcome),
                       encode(Welcome{options_.lease_seconds, options_.brief}));
    return;
  }
  seat.channel->send(static_cast<std::uint16_t>(WireKind::kUnwelcome), encode(fits.error()));
  begins_ = false;
  news_.push_back(Broken{fits.error()});
}

// The other end of its connection is closed.
void WorkerFleet::gone(std::size_t worker) {
  Seat& seat = seats_[worker];
  const auto fault = seat.channel->fault();
  const auto end = fault ? std::nullopt : ended(seat.process, kToSayWhy);
  if (end && is_elsewhere(worker)) {
    const ProcessEnd told = end->as_told();
    // A program that ended there is to blame; a host or a connection that went says nothing of trials.
    return drop(worker, true, !seat.is_ready || (told.signal != 0 && told.is_own_fault()), told.text());
  }
  if (end) return drop(worker, true, end->is_own_fault(), end->text());
  lose(worker, true, fault ? "said what is no message (" + fault->message + ")" : "closed its connection");
}

void WorkerFleet::watch_silence(double now) {
  // A long step between two looks is the engine's own absence (it was stopped, the machine slept).
  const double passed = std::min(now - last_tick_.value_or(now), 2 * beat_seconds());
  last_tick_ = now;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    Seat& seat = seats_[i];
    if (seat.process == 0) continue;
    if (is_elsewhere(i) && !seat.has_spoken) continue;  // it may wait for a place
    seat.silent += passed;
    // Its heart beats from the welcome on, which follows its hello.
    const double most = seat.has_spoken ? options_.lease_seconds : std::max(options_.lease_seconds, kToKnock);
    if (seat.silent <= most) continue;
    lose(i, false,
         "was silent for " + seconds_text(most) + " (stopped, or the machine is too busy: run.lease_seconds)");
  }
}

void WorkerFleet::lose(std::size_t worker, bool own_fault, const std::string& reason) {
  if (seats_[worker].process != 0) drop(worker, false, own_fault, reason);
}

void WorkerFleet::drop(std::size_t worker, bool has_ended, bool own_fault, const std::string& reason) {
  Seat& seat = seats_[worker];
  if (!has_ended) {  // stopped, it wakes up to its end
    ::kill(seat.process, SIGKILL);
    reaper_.add(seat.process);
  }
  const bool was_ready = seat.is_ready;
  const pid_t process = seat.process;
  const std::string host = std::move(seat.host);
  const int failures = seat.failures + 1;
  seat = Seat{};
  seat.failures = failures;
  seat.begin_at = clock_->now() + delay_after(failures, is_elsewhere(worker) ? kFarDelay : kLongestDelay);
  const std::string told = is_elsewhere(worker) ? "(" + place(worker) + ") " + reason : reason;
  news_.push_back(Lost{worker, process, own_fault, told, host});
  if (was_ready || failures < (own_fault ? kTries : kKilledTries) || !begins_) return;
  if (is_elsewhere(worker) && !is_hopeless()) return;
  begins_ = false;
  news_.push_back(Broken{Error{Code::kUnavailable,
                               "worker processes end before they can work: the last one " + told +
                                   (is_elsewhere(worker) ? "; with --ssh here a study goes on here"
                                                         : "; run.isolation: thread does without them"),
                               ""}});
}

}  // namespace lanista::engine
