#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace lanista {

enum class Level { kDebug, kInfo, kWarning, kError };

/// One structured event for people and machines; tests assert on these, not on prose.
struct LogEvent {
  double time = 0;
  Level level = Level::kInfo;
  std::string event;      ///< snake_case name, e.g. "trial_failed"
  nlohmann::json fields;  ///< an object
};

/// Where events go. Passed in, never global. Implementations are thread-safe.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void write(const LogEvent& event) = 0;
};

/// Keeps events in memory, for tests.
class MemorySink final : public LogSink {
 public:
  void write(const LogEvent& event) override;
  std::vector<LogEvent> events() const;

 private:
  mutable std::mutex mutex_;
  std::vector<LogEvent> events_;
};

/// Drops everything.
class NullSink final : public LogSink {
 public:
  void write(const LogEvent&) override {}
};

std::string to_text(const LogEvent& event);  ///< "warning trial_failed trial=3 reason=…"

}  // namespace lanista
