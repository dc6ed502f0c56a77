#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace lanista {

/// How serious an event is, from the least to the most.
enum class Level { kDebug, kInfo, kWarning, kError };

/// One event for users and programs: a name with fields. Tests check its fields, not a text.
struct LogEvent {
  double time = 0;             ///< seconds, by the clock of the part that writes it
  Level level = Level::kInfo;  ///< how serious it is
  std::string event;           ///< snake_case name, e.g. "trial_failed"
  nlohmann::json fields;       ///< JSON object with the data of the event
};

/// A receiver of messages for users and programs, such as warnings. The log of a study is something else. It is passed
/// to its users and is never global. Implementations are thread-safe.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void write(const LogEvent& event) = 0;  ///< receives one event
};

/// A receiver that keeps events in memory, for tests. Thread-safe.
class MemorySink final : public LogSink {
 public:
  void write(const LogEvent& event) override;
  std::vector<LogEvent> events() const;  ///< a copy of the events so far

 private:
  mutable std::mutex mutex_;
  std::vector<LogEvent> events_;
};

/// A receiver that ignores every event.
class NullSink final : public LogSink {
 public:
  void write(const LogEvent&) override {}
};

std::string to_text(const LogEvent& event);  ///< one line without the time: "warning trial_failed trial=3 reason=…"

}  // namespace lanista
