#include "bench/processes.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>

#include "bench/arms.h"
#include "bench/model_time_slices.h"
#include "lanista/base/check.h"
#include "lanista/exec/kernels/kernels.h"

namespace lanista::bench {
namespace {

constexpr int kProcesses = 2;

// A request to a process. Both sides are one program, so structures are sent in memory layout.
struct Order {
  enum class Kind : std::int64_t { kLoad, kLosses, kRate } kind = Kind::kLoad;
  std::int64_t first = 0, models = 0;  // kLoad
  std::array<char, 32> case_name{};    // kLoad
  std::int64_t steps = 0;              // kLosses
  double seconds = 0;                  // kRate
};

struct Answer {
  std::string error;  // empty: no error
  std::vector<double> values;
};

bool send_bytes(int socket, const void* data, std::size_t size) {
  for (const char* at = static_cast<const char*>(data); size > 0;) {
    const ssize_t sent = ::send(socket, at, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_bytes(int socket, void* data, std::size_t size) {
  for (char* at = static_cast<char*>(data); size > 0;) {
    const ssize_t got = ::recv(socket, at, size, 0);
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

template <class List>
bool send_list(int socket, const List& list) {
  const std::uint64_t size = list.size();
  return send_bytes(socket, &size, sizeof size) && send_bytes(socket, list.data(), size * sizeof(list[0]));
}

template <class List>
bool receive_list(int socket, List& list) {
  std::uint64_t size = 0;
  if (!receive_bytes(socket, &size, sizeof size)) return false;
  list.resize(size);
  return receive_bytes(socket, list.data(), size * sizeof(list[0]));
}

/// The work of a process.
class Worker {
 public:
  Answer execute_order(const Order& order) {
    try {
      const Result<std::vector<double>> values = values_for(order);
      return values ? Answer{"", *values} : Answer{values.error().text(), {}};
    } catch (const std::exception& e) {
      return {e.what(), {}};
    }
  }

 private:
  Result<std::vector<double>> values_for(const Order& order) {
    if (order.kind == Order::Kind::kLoad) {
      models_.reset();
      const std::vector<std::string> names{order.case_name.data()};
      LANISTA_ASSIGN(const auto cases, training_cases(names));
      const auto batch = std::make_shared<CaseBatch>(cases.front());
      LANISTA_ASSIGN(models_, ModelTimeSlices::make(cases.front(), order.first, order.models, batch));
      return std::vector<double>();
    }
    LANISTA_CHECK(models_.has_value(), "a process has no models yet");
    if (order.kind == Order::Kind::kLosses) return models_->losses(static_cast<int>(order.steps));
    return std::vector<double>{calls_per_second([this] { models_->run_slice(); }, order.seconds)};
  }

  std::optional<ModelTimeSlices> models_;
};

[[noreturn]] void serve(int socket) {
  kernels::set_flush_to_zero();
  Worker worker;
  for (Order order; receive_bytes(socket, &order, sizeof order);) {
    const Answer answer = worker.execute_order(order);
    if (!send_list(socket, answer.error) || !send_list(socket, answer.values)) break;
  }
  ::_exit(0);  // leaves the buffers and exit handlers to the parent
}

bool send_order(int socket, const Order& order) { return send_bytes(socket, &order, sizeof order); }

Result<std::vector<double>> receive_answer(int socket) {
  Answer answer;
  if (!receive_list(socket, answer.error) || !receive_list(socket, answer.values)) {
    return Error{Code::kInternal, "a process of the benchmark has ended", ""};
  }
  if (!answer.error.empty()) return Error{Code::kInternal, "in a process of the benchmark: " + answer.error, ""};
  return std::move(answer.values);
}

}  // namespace

Result<ProcessPair> ProcessPair::start() {
  ProcessPair pair;
  for (int i = 0; i < kProcesses; ++i) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      return Error{Code::kIo, std::string("no socket for a process of the benchmark: ") + std::strerror(errno), ""};
    }
    const pid_t id = ::fork();
    if (id == 0) {
      for (const Process& other : pair.processes_) ::close(other.socket);
      ::close(ends[0]);
      serve(ends[1]);
    }
    ::close(ends[1]);
    if (id < 0) {
      ::close(ends[0]);
      return Error{Code::kIo, std::string("no process for the benchmark: ") + std::strerror(errno), ""};
    }
    pair.processes_.push_back({.id = id, .socket = ends[0]});
  }
  return pair;
}

ProcessPair::~ProcessPair() {
  for (const Process& process : processes_) ::close(process.socket);
  for (const Process& process : processes_) ::waitpid(process.id, nullptr, 0);
}

Result<std::vector<std::vector<double>>> ProcessPair::receive_answers() {
  std::vector<std::vector<double>> out;
  std::optional<Error> failure;
  for (const Process& process : processes_) {  // an unread answer would be read as that of the next request
    auto answer = receive_answer(process.socket);
    if (answer) {
      out.push_back(std::move(*answer));
    } else if (!failure) {
      failure = answer.error();
    }
  }
  if (failure) return *failure;
  return out;
}

Result<void> ProcessPair::load(const std::string& case_name, std::int64_t models) {
  Order order{.kind = Order::Kind::kLoad};
  LANISTA_CHECK(case_name.size() < order.case_name.size(),
                "the name of a case has at most 31 characters: " + case_name);
  std::copy(case_name.begin(), case_name.end(), order.case_name.begin());
  for (Process& process : processes_) {
    order.models = process.models = order.first == 0 ? models - models / 2 : models / 2;
    send_order(process.socket, order);
    order.first = process.models;
  }
  LANISTA_TRY(receive_answers());
  return {};
}

Result<std::vector<double>> ProcessPair::losses(int steps) {
  std::vector<double> out;
  for (const Process& process : processes_) send_order(process.socket, {.kind = Order::Kind::kLosses, .steps = steps});
  LANISTA_ASSIGN(const auto halves, receive_answers());
  for (std::int64_t step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < halves.size(); ++i) {
      const auto begin = halves[i].begin() + step * processes_[i].models;
      out.insert(out.end(), begin, begin + processes_[i].models);
    }
  }
  return out;
}

Result<double> ProcessPair::rate(double seconds) {
  double sum = 0;
  for (const Process& process : processes_)
    send_order(process.socket, {.kind = Order::Kind::kRate, .seconds = seconds});
  LANISTA_ASSIGN(const auto rates, receive_answers());
  for (const auto& values : rates) sum += values.at(0);
  return sum;
}

}  // namespace lanista::bench
