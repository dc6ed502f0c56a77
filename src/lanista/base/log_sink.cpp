#include "lanista/base/log_sink.h"

#include "lanista/base/enum_table.h"

namespace lanista {
namespace {

std::string_view level_name(Level level) {
  static constexpr EnumTable<Level, std::string_view, 4> kNames{
      {{Level::kDebug, "debug"}, {Level::kInfo, "info"}, {Level::kWarning, "warning"}, {Level::kError, "error"}}};
  return entry_of(kNames, level);
}

// The JSON text of a value. A path or a message may have any bytes, and an event must be printable.
std::string dump(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool is_plain_word(const std::string& s) {
  if (s.empty()) return false;
  for (const char c : s) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '"' || c == '=' || c == '\\' || c == 127) return false;
  }
  return true;
}

}  // namespace

void MemorySink::write(const LogEvent& event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(event);
}

std::vector<LogEvent> MemorySink::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

std::string to_text(const LogEvent& event) {
  std::string text(level_name(event.level));
  text += " " + event.event;
  for (const auto& [key, value] : event.fields.items()) {
    const bool bare = value.is_string() && is_plain_word(value.get_ref<const std::string&>());
    text += " " + key + "=" + (bare ? value.get<std::string>() : dump(value));
  }
  return text;
}

}  // namespace lanista
