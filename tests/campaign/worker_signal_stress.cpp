#include "campaign/worker_signal_stress.h"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

#include "campaign/campaign_folder.h"
#include "lanista/base/rng.h"
#include "lanista/engine/remote/leases.h"

namespace lanista::campaign {
namespace {

constexpr double kStudySeconds = 300;  ///< timeout of a study
/// Signals for one study. A trial that loses its worker more often in a row fails by design, and on a busy machine all
/// signals may hit the same trial before its next checkpoint.
constexpr std::int64_t kMaxOfOne = engine::Lease::kMaxLosses - 1;

std::vector<std::string> study(const std::string& lanista, const CampaignFolder& campaign_folder,
                               const std::string& halving, const std::string& folder) {
  const std::string file = campaign_folder.path("workers.yaml");
  write_file(file, R"yaml(
model: {base: builtin:small-mlp}
space: {mutate: [widen, swap_op], params: {lr: log(0.003, 0.3), momentum: range(0, 0.95)}}
train: {epochs: 9, optimizer: sgd}
strategy: {name: random, slots: 6}
budget: {trials: 14}
run: {workers: 2, lease_seconds: 3}
keep: {top: 2, checkpoint_every: 0.02s}
stop: )yaml" + halving +
                       "\n");
  return {lanista, "run", file, "--quiet", "--out", folder};
}

/// Returns whether the process has all its threads; a kill before that loses no work.
bool is_at_work(pid_t process) {
  std::error_code gone;
  const std::filesystem::directory_iterator threads("/proc/" + std::to_string(process) + "/task", gone);
  return !gone && std::distance(begin(threads), end(threads)) >= 3;  // threads that receive, send heartbeats and train
}

/// Returns the child processes of a process.
std::vector<pid_t> children_of(pid_t process) {
  const std::string number = std::to_string(process);
  std::istringstream text(read_file("/proc/" + number + "/task/" + number + "/children"));
  std::vector<pid_t> children;
  for (pid_t child = 0; text >> child;) children.push_back(child);
  return children;
}

struct SignalCounts {
  std::int64_t kills = 0, stops = 0;
  std::int64_t all() const { return kills + stops; }
};

class WorkerSignalStress {
 public:
  WorkerSignalStress(const SignalCounts& most, Rng rng) : most_(most), rng_(rng) {}

  const SignalCounts& sent_signals() const { return sent_signals_; }
  bool is_over() const { return sent_signals_.kills >= most_.kills && sent_signals_.stops >= most_.stops; }

  /// Sends signals to the workers of a study until it ends or kMaxOfOne signals were sent.
  ProcessResult send_signals(const ProcessOptions& start) {
    ChildProcess engine(start);
    const std::int64_t before = sent_signals_.all();
    while (!is_over() && sent_signals_.all() - before < kMaxOfOne) {
      if (engine.ends_within(0.03 + 0.2 * rng_.uniform())) break;
      std::vector<pid_t> workers = children_of(engine.process());
      if (rng_.below(5) > 0) std::erase_if(workers, [](pid_t worker) { return !is_at_work(worker); });
      if (!workers.empty()) send_random_signal(workers[rng_.below(workers.size())]);
    }
    return engine.wait();
  }

 private:
  void send_random_signal(pid_t worker) {
    const bool stops =
        sent_signals_.stops * most_.kills < sent_signals_.kills * most_.stops || sent_signals_.kills >= most_.kills;
    if (::kill(worker, stops ? SIGSTOP : SIGKILL) == 0) ++(stops ? sent_signals_.stops : sent_signals_.kills);
  }

  const SignalCounts most_;
  SignalCounts sent_signals_;
  Rng rng_;
};

/// Returns the workers that `status --json` prints.
nlohmann::json workers_of(const std::string& lanista, const std::string& folder) {
  const ProcessResult ended = run({.command = {lanista, "status", folder, "--json"}});
  const auto status = nlohmann::json::parse(ended.output, nullptr, false);
  return status.is_object() ? status.value("workers", nlohmann::json::object()) : nlohmann::json::object();
}

}  // namespace

bool run_worker_signal_stress(const std::string& lanista, std::int64_t kills, std::int64_t stops,
                              const std::string& halving, std::uint64_t seed) {
  const CampaignFolder campaign_folder;
  CheckCounts verdicts;
  const std::string reference = campaign_folder.path("reference"), disturbed = campaign_folder.path("disturbed");
  const ProcessResult threads =
      run({.command = study(lanista, campaign_folder, halving, reference), .seconds = kStudySeconds});
  const std::string expected = fingerprint(lanista, reference);
  if (expected.empty()) {
    verdicts.count_failure("the undisturbed study", &threads);
    return false;
  }
  WorkerSignalStress stress({kills, stops}, Rng(seed).split("workers"));
  std::int64_t lost = 0;
  double most_lost = 0;
  for (int number = 0; !stress.is_over() && number < kills + stops; ++number) {
    remove_all(disturbed);
    std::vector<std::string> command = study(lanista, campaign_folder, halving, disturbed);
    command.insert(command.end(), {"--isolation", "process"});
    const ProcessResult ended = stress.send_signals({.command = command, .seconds = kStudySeconds});
    const nlohmann::json workers = workers_of(lanista, disturbed);
    lost += workers.value("lost", std::int64_t{0});
    most_lost = std::max(most_lost, workers.value("lost_seconds", 0.0));
    std::string wrong = find_misbehaviour(ended);
    if (wrong.empty() && ended.code != 0) wrong = "exit " + std::to_string(ended.code);
    if (wrong.empty() && fingerprint(lanista, disturbed) != expected) wrong = "ends differently";
    if (wrong.empty() && std::filesystem::exists(disturbed + "/control/workers.sock"))
      wrong = "leaves its socket behind";
    verdicts.take("study " + std::to_string(number) + " of seed " + std::to_string(seed), wrong, &ended);
  }
  // A kill may hit a process that has just ended, but most kills must lose a worker.
  if (lost < stress.sent_signals().all() / 2)
    verdicts.count_failure("only " + std::to_string(lost) + " workers were lost");
  std::printf("workers: %lld kills, %lld stops, %lld workers lost in %lld studies; one trial lost %.2f s at most\n",
              static_cast<long long>(stress.sent_signals().kills), static_cast<long long>(stress.sent_signals().stops),
              static_cast<long long>(lost), static_cast<long long>(verdicts.all()), most_lost);
  return verdicts.failures() == 0;
}

}  // namespace lanista::campaign
