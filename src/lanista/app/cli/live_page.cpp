#include "lanista/app/cli/live_page.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <new>
#include <span>
#include <system_error>
#include <utility>

#include "lanista/app/cli/inspect.h"
#include "lanista/app/cli/terminal.h"
#include "lanista/base/printable.h"
#include "lanista/base/thread_cpu_time.h"

extern char** environ;

namespace lanista::cli {
namespace {

constexpr double kMinIntervalSeconds = 1;  ///< least seconds between two pages
constexpr double kMaxTimeShare = 0.1;      ///< largest share of the time for pages
constexpr double kMinReloadSeconds = 2;    ///< least seconds between two reloads
constexpr auto kPollInterval = std::chrono::milliseconds(100);

void print_page_error(const Error& error) {
  std::cerr << "lanista: the report page is not updated: " << one_line(error.text()) << "\n";
}

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

}  // namespace

LivePage::LivePage(FileSystem& fs, const Clock& clock, std::string folder, std::string path,
                   engine::StudyFollower follower)
    : fs_(fs.confined_to(folder)),
      clock_(&clock),
      folder_(std::move(folder)),
      path_(std::move(path)),
      follower_(std::move(follower)) {}

Result<LivePage> LivePage::open(FileSystem& fs, const Clock& clock, std::string folder, std::string path) {
  LANISTA_ASSIGN(engine::StudyFollower follower, engine::StudyFollower::open(fs, folder));
  LivePage out(fs, clock, std::move(folder), std::move(path), std::move(follower));
  const double before = thread_cpu_seconds();
  LANISTA_TRY(out.write(true));
  out.schedule_next_write(thread_cpu_seconds() - before);
  return out;
}

Result<bool> LivePage::refresh() {
  if (clock_->now() < next_write_seconds_) return false;
  const double before = thread_cpu_seconds();
  LANISTA_ASSIGN(const bool changed, follower_.refresh());
  if (!changed) return false;
  LANISTA_TRY(write(true));
  schedule_next_write(thread_cpu_seconds() - before);
  return true;
}

void LivePage::schedule_next_write(double cost) {
  interval_seconds_ = std::max(kMinIntervalSeconds, cost / kMaxTimeShare);
  next_write_seconds_ = clock_->now() + interval_seconds_ - cost;
}

Result<void> LivePage::finish() {
  LANISTA_TRY(follower_.refresh());
  return write(false);
}

/// Replaces the file as a whole, because the run may write its last page at the same time.
Result<void> LivePage::write(bool live) {
  return write_atomically(
      *fs_, path_, report_text(folder_, follower_.view(), live ? std::max(kMinReloadSeconds, interval_seconds_) : 0));
}

LivePageThread::LivePageThread(FileSystem& fs, const Clock& clock, std::string folder, std::string path, bool quiet) {
  auto page = LivePage::open(fs, clock, std::move(folder), std::move(path));
  if (!page) {
    print_page_error(page.error());
    return;
  }
  page_.emplace(*std::move(page));
  const bool opened = open_on_desktop(page_->path());
  if (!quiet) std::cerr << "page " << printable(page_->path()) << (opened ? " (opened)" : "") << "\n";
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) {
      try {
        while (!stop.stop_requested()) {
          std::this_thread::sleep_for(kPollInterval);
          if (const auto refreshed = page_->refresh(); !refreshed) return print_page_error(refreshed.error());
        }
      } catch (const std::bad_alloc&) {
        print_page_error({Code::kResourceExhausted, "out of memory", ""});
      } catch (const std::exception& error) {
        print_page_error({Code::kInternal, error.what(), ""});
      }
    });
  } catch (const std::system_error&) {
    print_page_error({Code::kResourceExhausted, "the system gives this process no more threads", ""});
  }
}

LivePageThread::~LivePageThread() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  if (!page_) return;
  try {
    if (const auto written = page_->finish(); !written) print_page_error(written.error());
  } catch (const std::exception& error) {
    print_page_error({Code::kInternal, error.what(), ""});
  }
}

bool open_on_desktop(const std::string& path) {
#ifdef __APPLE__
  const char* program = "open";
#else
  const char* program = "xdg-open";
  if (!is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY")) return false;  // xdg-open would start a text browser
#endif
  std::error_code failed;
  std::string whole = std::filesystem::absolute(path, failed).string();
  if (failed) return false;
  posix_spawn_file_actions_t streams;
  posix_spawnattr_t attributes;
  if (::posix_spawn_file_actions_init(&streams) != 0) return false;
  if (::posix_spawnattr_init(&attributes) != 0) {
    ::posix_spawn_file_actions_destroy(&streams);
    return false;
  }
  ::posix_spawn_file_actions_addopen(&streams, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  for (const int out : {STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&streams, out, "/dev/null", O_WRONLY, 0);
  }
#ifdef POSIX_SPAWN_SETSID
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);  // Ctrl-C does not reach the browser
#endif
  std::string name = program;
  char* arguments[] = {name.data(), whole.data(), nullptr};
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, program, &streams, &attributes, arguments, environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&streams);
  return error == 0;
}

}  // namespace lanista::cli
