#include "path_attacks/watched_names.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <regex>

namespace lanista::path_attacks {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kEvents =
    IN_CREATE | IN_DELETE | IN_MODIFY | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_CLOSE_WRITE | IN_ONLYDIR;

}  // namespace

WatchedNames::WatchedNames(std::string folder) : folder_(std::move(folder)), queue_(::inotify_init1(IN_NONBLOCK)) {
  watch("");
}

WatchedNames::~WatchedNames() { ::close(queue_); }

void WatchedNames::watch(const std::string& relative) {
  const std::string path = folder_ + (relative.empty() ? "" : "/" + relative);
  const int watched = ::inotify_add_watch(queue_, path.c_str(), kEvents);
  if (watched < 0) return;
  folders_[watched] = relative;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (!entry.is_directory() || entry.is_symlink()) continue;
    watch((relative.empty() ? "" : relative + "/") + entry.path().filename().string());
  }
}

std::set<std::string> WatchedNames::take() {
  alignas(inotify_event) std::array<char, 65536> buffer{};
  for (ssize_t got = 0; (got = ::read(queue_, buffer.data(), buffer.size())) > 0;) {
    for (ssize_t at = 0; at < got;) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const std::string& inside = folders_[event.wd];
      if (event.len > 0) {
        const char* text = buffer.data() + at + sizeof event;
        const std::string name = (inside.empty() ? "" : inside + "/") + text;
        names_.insert(name);
        if ((event.mask & IN_ISDIR) != 0 && (event.mask & IN_CREATE) != 0) watch(name);
      }
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
  }
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    names_.insert(fs::relative(entry.path(), folder_).string());
  }
  return names_;
}

std::string pattern_of(const std::string& name) {
  static const std::array<std::pair<std::regex, const char*>, 7> kParts{{
      {std::regex("\\.tmp-[0-9a-f]{16}$"), ".tmp-RANDOM"},
      {std::regex("\\b[0-9a-f]{64}\\b"), "HASH"},
      {std::regex("\\b[0-9a-f]{32}\\b"), "ADDRESS"},
      {std::regex("[0-9]{11}-[0-9a-f]{12}(?=\\.profile)"), "NAME"},
      {std::regex("members/[0-9]+\\."), "members/N."},
      {std::regex("/tmp-[0-9]+-[0-9a-f]+$"), "/tmp-PROCESS"},
      {std::regex("stop-trial-[0-9]+"), "stop-trial-N"},
  }};
  std::string out = name;
  for (const auto& [part, word] : kParts) out = std::regex_replace(out, part, word);
  return out;
}

}  // namespace lanista::path_attacks
