#include "support/engine/remote/mutating_proxy.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "lanista/base/check.h"
#include "lanista/base/frame.h"
#include "lanista/engine/remote/messages.h"
#include "lanista/engine/remote/worker_protocol.h"

namespace lanista::engine::testing {
namespace {

using nlohmann::json;
using Steady = std::chrono::steady_clock;

/// Pointers to values in a JSON text. Values that an honest worker could also have sent are left out: only training
/// again can check a metric or the hash of a state.
void collect_pointers(const json& value, const json::json_pointer& at, std::vector<json::json_pointer>& pointers) {
  if (!value.is_structured()) return pointers.push_back(at);
  for (auto it = value.begin(); it != value.end(); ++it) {
    const std::string key = value.is_object() ? it.key() : "";
    if (key == "state_hash" || key == "reason" || key == "process" || key == "host") continue;
    const auto pointer = value.is_object() ? at / key : at / static_cast<std::size_t>(it - value.begin());
    if (key == "metrics") {
      if (!it->empty()) pointers.push_back(pointer);
    } else {
      collect_pointers(*it, pointer, pointers);
    }
  }
}

json changed_value(const json& value, Rng& rng) {
  static constexpr std::array<double, 3> kReals{-1, 1e308, 0.5};
  const std::vector<json> any{nullptr, json::array(), json::object(),           true,
                              "",      "../../x",     std::string(70'000, 'x'), -1};
  if (rng.below(4) == 0) return any[rng.below(any.size())];
  if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    const std::array<json, 6> numbers{number + 1,        number - 1,   0, std::int64_t{1} << 53,
                                      ~std::uint64_t{0}, -(number + 1)};
    return numbers[rng.below(numbers.size())];
  }
  if (value.is_number()) return kReals[rng.below(kReals.size())];
  if (!value.is_string()) return any[rng.below(any.size())];
  std::string text = value.get<std::string>();
  if (text.empty()) return "x";
  text[rng.below(text.size())] = "0123456789abcdef\n\x1b"[rng.below(18)];
  return text;
}

/// The changed text; empty: it has no JSON to change.
std::string change_one_value(const std::string& text, Rng& rng) {
  const auto begin = text.find('{');
  if (begin == std::string::npos) return "";
  json all = json::parse(text.substr(begin), nullptr, false);
  if (all.is_discarded()) return "";
  std::vector<json::json_pointer> pointers;
  collect_pointers(all, json::json_pointer(), pointers);
  if (pointers.empty()) return "";
  const json::json_pointer pointer = pointers[rng.below(pointers.size())];
  const bool is_metrics = pointer.back() == "metrics";
  if (is_metrics) {
    all[pointer].erase(all[pointer].begin());
  } else if (rng.below(5) == 0 && all[pointer.parent_pointer()].is_object()) {
    all[pointer.parent_pointer()].erase(pointer.back());
  } else {
    all[pointer] = changed_value(all[pointer], rng);
  }
  return text.substr(0, begin) + all.dump(-1, ' ', false, json::error_handler_t::replace);
}

class Proxy {
 public:
  Proxy(Channel engine, Channel worker, Mutation mutation)
      : engine_(std::move(engine)), worker_(std::move(worker)), mutation_(std::move(mutation)), rng_(mutation_.seed) {}

  void run() {
    while (!engine_.closed() && !worker_.closed()) {
      while (const auto message = engine_.receive(0)) worker_.send(message->kind, message->text);
      while (Steady::now() >= silent_until_) {
        const auto message = worker_.receive(0);
        if (!message) break;
        handle_message(*message);
      }
      if (delayed_ && Steady::now() >= delayed_until_) forward(*std::exchange(delayed_, std::nullopt));
      std::array<pollfd, 2> ends{pollfd{engine_.socket(), POLLIN, 0}, pollfd{worker_.socket(), POLLIN, 0}};
      ::poll(ends.data(), ends.size(), 3);
    }
    engine_.flush(1);
  }

 private:
  struct NumberedMessage {
    std::uint16_t kind = 0;
    std::uint64_t number = 0;
    std::string body;
  };

  void handle_message(const Message& message) {
    const std::int64_t index = count_++;
    auto numbered = split_token(message.text);
    const bool is_hello = index == 0;
    NumberedMessage each{message.kind, is_hello || !numbered ? 0 : numbered->token,
                         is_hello || !numbered ? message.text : numbered->text};
    if (delayed_) {
      const NumberedMessage first = *std::exchange(delayed_, std::nullopt);
      if (mutation_.fault == MessageFault::kSwapRenumbered) std::swap(each.number, held_number_);
      forward(each);
      NumberedMessage last = first;
      if (mutation_.fault == MessageFault::kSwapRenumbered) last.number = held_number_;
      return forward(last);
    }
    if (index < mutation_.at || is_done_ || !claim_mutation() || !mutate(each)) return forward(each);
    is_done_ = true;
  }

  bool claim_mutation() {
    if (mutation_.marker_file.empty() || has_mutated_) return true;
    const int file = ::open(mutation_.marker_file.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (file < 0) {
      is_done_ = true;
      return false;
    }
    ::close(file);
    return has_mutated_ = true;
  }

  void forward(const NumberedMessage& each) { engine_.send(each.kind, text_of(each)); }
  std::string text_of(const NumberedMessage& each) const {
    return each.number == 0 ? each.body : with_token(each.number + number_shift_, each.body);
  }

  /// Sends bytes that Channel would not send, after all earlier messages.
  void send_raw(const std::string& bytes) {
    engine_.flush(5);
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t put = ::send(engine_.socket(), bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      if (put <= 0) return;
      at += static_cast<std::size_t>(put);
    }
  }

  /// Changes a message. Returns false if this kind of change does not apply to it.
  bool mutate(NumberedMessage each) {
    std::string frame;
    encode_frame(each.kind, text_of(each), frame);
    switch (mutation_.fault) {
      case MessageFault::kValue: {
        each.body = change_one_value(each.body, rng_);
        if (each.body.empty()) return false;
        return forward(each), true;
      }
      case MessageFault::kBits: {
        const bool has_values = each.body.find("\"metrics\"") != std::string::npos ||
                                each.body.find("state_hash") != std::string::npos ||
                                each.body.find("\"process\"") != std::string::npos;
        if (each.body.empty() || has_values) return false;
        each.body[rng_.below(each.body.size())] ^= static_cast<char>(1 << rng_.below(7));
        return forward(each), true;
      }
      case MessageFault::kNumber: {
        if (each.number == 0) return false;
        const bool is_token = rng_.below(2) == 0 && each.body.find('\n') != std::string::npos;
        if (is_token) {
          each.body = std::to_string(rng_.below(12)) + "9" + each.body.substr(each.body.find('\n'));
        } else {
          each.number += 1 + rng_.below(5);
        }
        return forward(each), true;
      }
      case MessageFault::kKind: {
        static constexpr std::array<std::uint16_t, 15> kKinds{0, 1, 2, 3, 4, 5, 6, 7, 8, 20, 22, 24, 40, 77, 65535};
        std::uint16_t kind = each.kind;
        while (kind == each.kind) kind = kKinds[rng_.below(kKinds.size())];
        each.kind = kind;
        return forward(each), true;
      }
      case MessageFault::kDrop:
        return true;
      case MessageFault::kRepeat:
      case MessageFault::kRepeatRenumbered:
        forward(each);
        if (mutation_.fault == MessageFault::kRepeatRenumbered) ++number_shift_;
        return forward(each), true;
      case MessageFault::kSwap:
      case MessageFault::kSwapRenumbered:
        delayed_ = each;
        held_number_ = each.number;
        delayed_until_ = Steady::now() + std::chrono::milliseconds(200);
        return true;
      case MessageFault::kDelay:
        forward(each);
        silent_until_ = Steady::now() + std::chrono::milliseconds(20 + rng_.below(300));
        return true;
      case MessageFault::kExtra:
        return send_unexpected(each), true;
      case MessageFault::kTrailingBytes:
        each.body += rng_.below(2) == 0 ? "{}" : std::string(1, '\0');
        return forward(each), true;
      case MessageFault::kEmpty:
        engine_.send(each.kind, "");
        return true;
      case MessageFault::kOversized:
        each.body.resize(std::size_t{9} << 20, ' ');
        return forward(each), true;
      case MessageFault::kChecksum:
        frame.back() ^= 0x11;
        return send_raw(frame), true;
      case MessageFault::kGiantLength:
        frame.replace(0, 4, "\xff\xff\xff\xff");
        return send_raw(frame), true;
      case MessageFault::kTruncatedFrame:
        return send_raw(frame.substr(0, 1 + rng_.below(frame.size() - 1))), true;
      case MessageFault::kEndlessFrame:
        send_endless_frame(each);
        return true;
      case MessageFault::kGarbage:
        for (char& byte : frame) byte = static_cast<char>(rng_.below(256));
        return send_raw(frame), true;
    }
    return false;
  }

  void send_unexpected(const NumberedMessage& each) {
    const std::string no_error = R"({"kind":"paused"})";
    const std::array<std::pair<WireKind, std::string>, 7> extras{
        std::pair{WireKind::kReport, with_token(0, encode(Report(AllPausedReport{})))},
        std::pair{WireKind::kAnswer, encode_measured_metrics({{"test_accuracy", 1}})},
        std::pair{WireKind::kBroken, no_error},
        std::pair{WireKind::kReady, std::string()},
        std::pair{WireKind::kHello, encode(Hello{})},
        std::pair{WireKind::kActiveTrials, encode(std::vector<TrialId>{TrialId{99}})},
        std::pair{WireKind::kReport, with_token(1, encode(Report(FailureReport{TrialId{99}, 1, "extra"})))}};
    const auto& [kind, text] = extras[rng_.below(extras.size())];
    forward(each);
    ++number_shift_;
    forward({static_cast<std::uint16_t>(kind), each.number, text});
  }

  void send_endless_frame(const NumberedMessage& each) {
    std::string frame;
    encode_frame(each.kind, text_of(each) + std::string(std::size_t{1} << 10, ' '), frame);
    for (const char byte : frame) {
      if (engine_.closed()) return;
      send_raw(std::string(1, byte));
      static_cast<void>(engine_.receive(0.1));
    }
  }

  Channel engine_, worker_;
  const Mutation mutation_;
  Rng rng_;
  std::int64_t count_ = 0;
  std::uint64_t number_shift_ = 0;
  bool is_done_ = false, has_mutated_ = false;
  std::optional<NumberedMessage> delayed_;
  std::uint64_t held_number_ = 0;
  Steady::time_point delayed_until_, silent_until_;
};

}  // namespace

LaunchWorker launch_with_mutated_messages(MakeWorkerExecutor make, Mutation mutation) {
  return [make = std::move(make), mutation = std::move(mutation)](const std::string&) -> Result<LaunchedWorker> {
    std::array<int, 2> outer{}, inner{};
    LANISTA_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, outer.data()) == 0, "no socket");
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);
      ::close(outer[0]);
      LANISTA_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, inner.data()) == 0, "no socket");
      std::thread([&] { static_cast<void>(run_worker(Channel(inner[1]), make)); }).detach();
      Proxy(Channel(outer[1]), Channel(inner[0]), mutation).run();
      ::_exit(0);
    }
    ::close(outer[1]);
    return LaunchedWorker{child, Channel(outer[0])};
  };
}

}  // namespace lanista::engine::testing
