#include "bench/overhead.h"

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "bench/arms.h"
#include "lanista/base/memory_file_system.h"
#include "lanista/engine/core/engine.h"
#include "lanista/engine/core/noop_executor.h"
#include "lanista/engine/core/resolve_from_data.h"
#include "lanista/engine/remote/process_executor.h"
#include "lanista/engine/remote/worker_loop.h"
#include "lanista/io/studyfile/study_file.h"

namespace lanista::bench {
namespace {

constexpr std::int64_t kMaxThroughProcesses = 10'000;  ///< most trials of arm processes; more would run for minutes

constexpr const char* kOneEpoch = "train: {epochs: 1}\n";
// A thousand trials pause at the first rung before the best of them continue.
constexpr const char* kThousandPending = "train: {epochs: 9}\nstop: {rule: successive_halving, trials: 1000}\n";

/// The training of a case, and the number of its slots.
struct Case {
  std::string name, training;
  std::int64_t slots = study::StrategyConfig().slots;
};

// A random search over three numbers with one small model, like the search in peers/optuna_overhead.py.
study::StudyConfig config_of(const Case& of, std::int64_t trials) {
  const auto config = studyfile::read_study(R"yaml(
model: {base: builtin:small-mlp}
space: {params: {lr: log(1e-4, 1), momentum: range(0, 0.99), weight_decay: log(1e-6, 1e-2)}}
strategy: {name: random, mutations: [0, 0]}
budget: {trials: 1}
)yaml" + of.training,
                                            "overhead");
  LANISTA_CHECK(config.ok(),
                "the study file of the benchmark is valid: " + (config ? std::string() : config.error().text()));
  study::StudyConfig out = *config;
  out.budget.trials = trials;
  out.strategy.slots = of.slots;
  return out;
}

data::DataSpec digits_spec() {
  data::DataSpec spec;
  spec.name = "digits";
  spec.features = {{64}};
  spec.classes = 10;
  spec.rows = 1797;
  spec.split_rows = {1257, 270, 270};
  return spec;
}

/// Runs a whole study and returns the milliseconds a trial.
Result<double> run_study(FileSystem& fs, const std::string& folder, const Case& of, std::int64_t trials,
                         engine::Executor& executor) {
  auto config = config_of(of, trials);
  const auto spec = digits_spec();
  LANISTA_TRY(engine::resolve_from_data(config, spec));
  RealClock clock;
  NullSink sink;
  const engine::Services services{.fs = &fs,
                                  .clock = &clock,
                                  .sink = &sink,
                                  .executor = &executor,
                                  .data = &spec,
                                  .pause = nullptr,
                                  .observer = {}};
  const double begin = now_seconds();
  LANISTA_ASSIGN(const auto engine,
                 engine::Engine::create(folder, config, studyfile::write_study(config), {{"class", "none"}}, services));
  LANISTA_ASSIGN(const auto summary, engine->run());
  const double seconds = now_seconds() - begin;
  if (summary.end != engine::RunEnd::kDone || static_cast<std::int64_t>(engine->view().trials.size()) != trials) {
    return Error{
        Code::kInternal,
        "the study ended with " + std::to_string(engine->view().trials.size()) + " trials (" + summary.reason + ")",
        ""};
  }
  return seconds * 1e3 / static_cast<double>(trials);
}

Result<double> in_this_process(FileSystem& fs, const std::string& folder, const Case& of, std::int64_t trials) {
  engine::NoopExecutor executor;
  return run_study(fs, folder, of, trials, executor);
}

/// Runs a study with two worker processes that train nothing. Every command and every report passes a socket. The time
/// includes the start of the processes.
Result<double> through_processes(const std::string& folder, const Case& of, std::int64_t trials) {
  const RealClock clock;
  engine::WorkerConfig worker_config;
  worker_config.study_folder = folder;
  worker_config.workers = 2;
  engine::ProcessOptions how;
  how.rules.stores_no_weights = true;
  how.launch = engine::launch_function([](const std::string& socket) {
    const auto idle = [](const engine::WorkerConfig&, const engine::ReportActiveTrials&) {
      return Result<std::shared_ptr<engine::Executor>>(std::make_shared<engine::NoopExecutor>());
    };
    static_cast<void>(engine::run_worker(socket, idle));
  });
  LANISTA_ASSIGN(const auto executor, engine::ProcessExecutor::create(worker_config, real_file_system(), clock, how));
  return run_study(real_file_system(), folder, of, trials, *executor);
}

}  // namespace

Result<void> overhead(int repeats, bool json, std::ostream& out) {
  std::optional<Error> failure;
  const auto value = [&](Result<double> measured) {
    if (!measured) failure = measured.error();
    return measured ? *measured : 0.0;
  };
  const std::vector<Case> cases{
      {"trials/", kOneEpoch}, {"thousand-pending/", kThousandPending}, {"thousand-at-once/", kOneEpoch, 1000}};
  for (const Case& of : cases) {
    for (const std::int64_t trials : {1000, 10'000, 100'000}) {
      const std::string folder =
          (std::filesystem::temp_directory_path() / ("lanista-overhead-" + std::to_string(::getpid()))).string();
      std::vector<Arm> arms{{"ours",
                             [&] {
                               const double ms = value(in_this_process(real_file_system(), folder, of, trials));
                               std::filesystem::remove_all(folder);
                               return ms;
                             }},
                            {"memory", [&] {
                               MemoryFileSystem memory;
                               return value(in_this_process(memory, "study", of, trials));
                             }}};
      if (trials <= kMaxThroughProcesses) {
        arms.push_back({"processes", [&] {
                          const double ms = value(through_processes(folder, of, trials));
                          std::filesystem::remove_all(folder);
                          return ms;
                        }});
      }
      const auto rows = run_interleaved("overhead", of.name + std::to_string(trials), "ms/trial", arms, repeats);
      if (failure) return *failure;
      for (const auto& row : rows) print(row, json, out);
    }
  }
  return {};
}

}  // namespace lanista::bench
