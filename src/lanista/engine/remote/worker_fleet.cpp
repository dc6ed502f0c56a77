#include "lanista/engine/remote/worker_fleet.h"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <utility>

#include "lanista/base/real_json.h"
#include "lanista/ipc/host.h"
#include "lanista/engine/remote/report_check.h"

namespace lanista::engine {
namespace {

constexpr double kToKnock = 60;    ///< seconds: from its begin to its hello
constexpr double kAtTheDoor = 5;   ///< seconds for a stranger's hello
constexpr double kToSayWhy = 0.5;  ///< seconds from the end of a connection to that of the process
constexpr double kToEnd = 5;       ///< seconds to end by itself
constexpr double kFirstDelay = 0.05, kLongestDelay = 5;  ///< seconds before a process is begun again
constexpr double kFarDelay = 30;                         ///< longest, of one elsewhere that others do without

constexpr int kRefusalTries = 2;              ///< processes in a row that cannot work here, where no other can
constexpr std::size_t kMostStrangers = 64;    ///< connections that no worker of the engine made
constexpr std::size_t kMessagesATick = 1000;  ///< of one worker
constexpr std::size_t kBytesATick = std::size_t{16} << 20;
constexpr std::int64_t kMostUnproductive = 100'000;      ///< messages in a row without progress
constexpr double kBeatsBurst = 1000, kBeatsFactor = 20;  ///< heartbeats that may be more than are due
constexpr std::size_t kMostDropReason = 400;             ///< bytes of what a worker did

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

bool WorkerFleet::is_hopeless(int tries) const {
  return std::ranges::none_of(
      seats_, [&](const Seat& seat) { return (seat.is_ready && seat.offences == 0) || seat.failures < tries; });
}

double WorkerFleet::beat_seconds() const { return std::min(options_.lease_seconds / 4, 1.0); }

bool WorkerFleet::is_due(std::size_t worker) const {
  const Seat& seat = seats_[worker];
  const double waited = seat.has_spoken ? seat.preparing : seat.silent;
  const bool is_late = seat.process != 0 && !seat.is_ready && waited > options_.lease_seconds;
  if (is_elsewhere(worker)) return seat.has_spoken && !is_late;
  return begins_ && (seat.process != 0 ? seat.failures < 2 && !is_late : delay_after(seat.failures) == 0);
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
  if (seats_[worker].is_ready) post(worker, kind, text);
}

void WorkerFleet::post(std::size_t worker, WireKind kind, std::string_view text) {
  Seat& seat = seats_[worker];
  seat.channel->send(static_cast<std::uint16_t>(kind), text);
  const std::size_t unread = seat.channel->to_write();
  if (unread > options_.most_unread) {
    expel(worker, "does not read: " + std::to_string(unread) + " bytes wait for it; allowed: up to " +
                      std::to_string(options_.most_unread));
  }
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
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    if (seats_[i].channel && seats_[i].has_spoken) post(i, WireKind::kBeat, "");
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
    if (begun->channel) {
      seat.channel = std::move(begun->channel);
      seat.channel->set_limit(most_bytes_before_hello);
    }
    seat.begun = now;
    seat.silent = 0;
    if (tells_hosts()) seat.host = plain_host(options_.elsewhere[i % options_.elsewhere.size()].host);
  }
}

void WorkerFleet::welcome_guests(double now) {
  for (std::size_t accepted = 0; accepted < kMostStrangers; ++accepted) {
    auto guest = socket_.accept();
    if (!guest) break;
    guest->channel.set_limit(most_bytes_before_hello);
    const auto seat =
        std::ranges::find_if(seats_, [&](const Seat& s) { return s.process == guest->process && !s.channel; });
    if (seat != seats_.end() && guest->process != 0) {
      seat->channel.emplace(std::move(guest->channel));
    } else if (strangers_.size() < kMostStrangers) {
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
  std::size_t bytes = 0;
  // A worker that never stops sending must not keep the engine from the others.
  for (std::size_t taken = 0; seat.channel && taken < kMessagesATick && bytes < kBytesATick; ++taken) {
    auto message = seat.channel->receive(0);
    if (!message) break;
    bytes += message->text.size();
    if (const auto heard = hear(worker, *std::move(message)); !heard) return expel(worker, heard.error().message);
  }
  if (seat.channel && seat.channel->closed()) gone(worker);
}

Result<void> WorkerFleet::hear(std::size_t worker, Message message) {
  Seat& seat = seats_[worker];
  if (seat.refusal) return {};  // it is to end
  const auto kind = static_cast<WireKind>(message.kind);
  const auto not_now = [&](const char* when) {
    return Error{Code::kDataLoss, "sent a message of kind " + std::to_string(message.kind) + " " + when, ""};
  };
  seat.silent = 0;
  if (!seat.has_spoken) return kind == WireKind::kHello ? greet(worker, message.text) : not_now("before its hello");
  auto numbered = split_token(message.text);
  if (!numbered) return unreadable(Error{Code::kDataLoss, "it has no number", ""});
  if (numbered->token != seat.received + 1) {
    return Error{
        Code::kDataLoss,
        "sent message " + std::to_string(numbered->token) + "; due is message " + std::to_string(seat.received + 1),
        ""};
  }
  ++seat.received;
  ++(kind == WireKind::kBeat ? seat.beats : seat.unproductive);
  LANISTA_TRY(check_amount(seat));
  message.text = std::move(numbered->text);
  const bool is_bare = kind == WireKind::kBeat || kind == WireKind::kReady;
  if (is_bare && !message.text.empty()) return not_now("with a text");
  if (kind == WireKind::kBeat) return {};
  if (seat.is_ready) {
    if (kind == WireKind::kHello || kind == WireKind::kReady) return not_now("twice");
    if (seat.offences == 0) seat.failures = 0;
    news_.push_back(Heard{worker, std::move(message)});
  } else if (kind == WireKind::kReady) {
    seat.is_ready = true;
    news_.push_back(Ready{worker, seat.process, seat.host});
  } else if (kind == WireKind::kBroken) {  // its data are others, say
    auto broken = read_error(message.text);
    if (!broken) return unreadable(broken.error());
    seat.refusal = std::move(broken->error);
  } else {
    return not_now("before it was ready");
  }
  return {};
}

Result<void> WorkerFleet::check_amount(const Seat& seat) const {
  if (seat.unproductive > kMostUnproductive) {
    return Error{Code::kDataLoss, "sent " + std::to_string(kMostUnproductive) + " messages without any progress", ""};
  }
  const double due = (clock_->now() - seat.begun) / beat_seconds();
  if (static_cast<double>(seat.beats) <= kBeatsBurst + kBeatsFactor * due) return {};
  return Error{
      Code::kDataLoss,
      "sent " + std::to_string(seat.beats) + " heartbeats where " + std::to_string(std::llround(due)) + " were due",
      ""};
}

Result<void> WorkerFleet::greet(std::size_t worker, const std::string& text) {
  Seat& seat = seats_[worker];
  const auto hello = decode_hello(text);
  if (!hello) return unreadable(hello.error());
  seat.has_spoken = true;
  if (const auto fits = check_hello(*hello, build_); !fits) {
    seat.channel->send(static_cast<std::uint16_t>(WireKind::kUnwelcome), encode(fits.error()));
    seat.refusal = fits.error();
    return {};
  }
  seat.channel->set_limit(most_bytes_of);
  // What it says itself is nearer than what the launcher was asked for: on Slurm the latter is any node.
  const std::string host = tells_hosts() ? plain_host(hello->host) : std::string();
  if (!host.empty()) seat.host = host;
  post(worker, WireKind::kWelcome, encode(Welcome{options_.lease_seconds, options_.brief}));
  return {};
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
  if (fault) return expel(worker, unreadable(*fault).message);
  lose(worker, true, "closed its connection");
}

void WorkerFleet::watch_silence(double now) {
  // A long step between two looks is the engine's own absence (it was stopped, the machine slept).
  const double passed = std::min(now - last_tick_.value_or(now), 2 * beat_seconds());
  last_tick_ = now;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    Seat& seat = seats_[i];
    if (seat.process == 0) continue;
    const bool is_sending = seat.channel && seat.channel->has_heard();
    if (is_elsewhere(i) && !seat.has_spoken && !is_sending) continue;  // it may wait for a place
    seat.silent += passed;
    if (seat.has_spoken && !seat.is_ready) seat.preparing += passed;
    const double to_be_ready = options_.ready_leases * options_.lease_seconds;
    if (seat.preparing > to_be_ready) {
      lose(i, true, "was not ready to work within " + seconds_text(to_be_ready));
      continue;
    }
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

void WorkerFleet::expel(std::size_t worker, const std::string& what) {
  if (seats_[worker].process == 0) return;
  ++seats_[worker].offences;
  drop(worker, false, true, "was dropped: it " + visible_text(what, kMostDropReason), true);
}

void WorkerFleet::note_progress(std::size_t worker) {
  Seat& seat = seats_[worker];
  seat.failures = seat.offences = 0;
  seat.unproductive = 0;
}

void WorkerFleet::drop(std::size_t worker, bool has_ended, bool own_fault, const std::string& reason, bool is_offence) {
  Seat& seat = seats_[worker];
  if (!has_ended) {  // stopped, it wakes up to its end
    ::kill(seat.process, SIGKILL);
    reaper_.add(seat.process);
  }
  const Seat before = std::exchange(seat, Seat{});
  seat.failures = before.failures + 1;
  seat.offences = before.offences;
  seat.begin_at = clock_->now() + delay_after(seat.failures, is_elsewhere(worker) ? kFarDelay : kLongestDelay);
  const std::string told = is_elsewhere(worker) ? "(" + place(worker) + ") " + reason : reason;
  news_.push_back(Lost{worker, before.process, own_fault && !is_offence, told, before.host, is_offence});
  check_hope(worker, before.is_ready, own_fault, before.refusal, told);
}

void WorkerFleet::check_hope(std::size_t worker, bool was_ready, bool own_fault, const std::optional<Error>& refusal,
                             const std::string& reason) {
  const bool offends = seats_[worker].offences >= kTries;
  if (!begins_ || (was_ready && !offends)) return;
  if (!is_hopeless(refusal ? kRefusalTries : own_fault ? kTries : kKilledTries)) return;
  begins_ = false;
  if (refusal) return news_.push_back(Broken{*refusal});
  const std::string what =
      offends ? "worker processes send wrong messages" : "worker processes end before they can work";
  const std::string help =
      is_elsewhere(worker) ? "; with --ssh here a study goes on here" : "; run.isolation: thread does without them";
  news_.push_back(Broken{Error{Code::kUnavailable, what + ": the last one " + reason + help, ""}});
}

}  // namespace lanista::engine
