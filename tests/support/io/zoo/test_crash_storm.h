#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "lanista/base/check.h"
#include "lanista/io/zoo/packed_bytes.h"
#include "lanista/io/zoo/warm_start_query.h"
#include "support/io/zoo/load_start.h"
#include "support/io/zoo/test_store.h"

namespace lanista::zoo::testing {

struct CrashStormOptions {
  int processes = 8;
  std::int64_t milliseconds = 1500;
  std::int64_t kill_every = 60;  ///< milliseconds
};
struct CrashStormResult {
  std::int64_t acknowledged = 0, killed = 0;
  std::string failures;  ///< empty: index whole, nothing lost
};

/// Adds models to the zoo in `folder` + "/zoo" and searches for starts until it is killed. It writes the id of every
/// model that add() acknowledged to a file in `folder`.
[[noreturn]] inline void crash_storm_worker(const std::string& folder, std::uint64_t life) {
  const graph::OpTable ops = graph::builtin_ops();
  const int out =
      ::open((folder + "/acknowledged-" + std::to_string(life)).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  const auto complain = [&](const std::string& what) {
    const std::string line = "! " + what + "\n";
    [[maybe_unused]] const ssize_t put = ::write(out, line.data(), line.size());
    ::_exit(1);
  };
  auto store = Store::open(folder + "/zoo", Store::Mode::kWrite, {.replicas = 1'000'000});
  if (!store) complain("open: " + store.error().text());
  for (std::uint64_t k = 0;; ++k) {
    const auto one = store->add(random_model(life * 1000 + k, 0.9), ops);
    if (!one) complain("add: " + one.error().text());
    const std::string line = one->id + "\n";
    if (::write(out, line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(1);
    const auto start = load_start(*store, random_model(life * 1000 + k + 500, 0).graph, kDigits, ops);
    if (!start) complain("start: " + start.error().text());
    if (*start && !(*start)->skipped.empty()) complain("start: " + (*start)->skipped.front());
    if (k % 16 == 15) {
      if (const auto done = store->gc(0); !done) complain("gc: " + done.error().text());
    }
  }
}

/// Processes that add, match and sweep at a time, killed at any place and begun anew; then what is left is read by
/// another one, and everything that was acknowledged must be there.
inline CrashStormResult run_crash_storm(const std::string& folder, const CrashStormOptions& options) {
  using std::chrono::milliseconds;
  CrashStormResult tally;
  std::filesystem::create_directories(folder);
  std::vector<pid_t> workers;
  std::uint64_t life = 0;
  const auto begin = [&] {
    const pid_t child = ::fork();
    LANISTA_CHECK(child >= 0, "no process");  // kill(-1) would end every process
    if (child == 0) crash_storm_worker(folder, life);
    ++life;
    return child;
  };
  for (int k = 0; k < options.processes; ++k) workers.push_back(begin());
  const auto kill = [](pid_t worker) {
    ::kill(worker, SIGKILL);
    int status = 0;
    ::waitpid(worker, &status, 0);
    return WIFSIGNALED(status);
  };
  Rng rng(31);
  for (std::int64_t spent = 0; spent < options.milliseconds;) {
    const std::int64_t wait = rng.between(1, 2 * options.kill_every);
    std::this_thread::sleep_for(milliseconds(wait));
    spent += wait;
    pid_t& one = workers[rng.below(workers.size())];
    tally.killed += kill(one);
    one = begin();
  }
  for (const pid_t one : workers) kill(one);

  const graph::OpTable ops = graph::builtin_ops();
  auto store = Store::open(folder + "/zoo", Store::Mode::kWrite);
  if (!store) return tally.failures = store.error().text(), tally;
  const auto found = store->verify(ops);
  if (!found) tally.failures += found.error().text() + "\n";
  if (found) {
    for (const Finding& one : *found) tally.failures += one.id + ": " + one.what + "\n";
  }
  for (std::uint64_t k = 0; k < life; ++k) {
    const auto text = real_file_system().read(folder + "/acknowledged-" + std::to_string(k));
    if (!text) continue;
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("!")) {
        tally.failures += line + "\n";
        continue;
      }
      ++tally.acknowledged;
      if (const auto weights = store->weights(line); !weights)
        tally.failures += "lost " + weights.error().text() + "\n";
    }
  }
  return tally;
}

}  // namespace lanista::zoo::testing
