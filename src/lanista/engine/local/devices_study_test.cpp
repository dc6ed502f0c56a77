// Studies on several devices. Two instruction levels of the lanista kernels act as devices of two numeric classes, so
// that the tests run on any machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>

#include "lanista/base/memory_file_system.h"
#include "lanista/engine/core/resolve_from_data.h"
#include "lanista/engine/local/device_pool.h"
#include "lanista/engine/local/device_speed.h"
#include "lanista/engine/local/repeat.h"
#include "lanista/io/studyfile/study_file.h"
#include "support/engine/core/custom_strategy_study.h"
#include "support/engine/local/study_runs.h"

namespace lanista::runtime {
namespace {

using engine::testing::first_difference;
using engine::testing::kFolder;
using testing::canonical;

const program::Backend& plain() { return program::cpu_backend(kernels::Isa::kPortable); }

/// One run of the process of a study on several devices.
struct ProcessRun {
  std::vector<NamedBackend> devices;
  std::vector<plan::DeviceSpeed> speeds;  ///< as they are measured
  std::int64_t workers = 1, lanes = 0;
  int events = 0;  ///< Events after which a pause is requested; 0: never.
  std::function<void()> on_event = {};
  double checkpoint_every = 0;
};

constexpr const char* kPbt = R"yaml(
model: {base: builtin:small-mlp}
space: {params: {lr: log(0.001, 0.5), momentum: "range(0.1, 0.95)", schedule: "choice(constant, cosine)"}}
train: {epochs: 5, optimizer: sgd}
data: {source: "synthetic:blobs?rows=96&classes=3&features=4&seed=1", batch: 16}
strategy: {name: pbt, population: 6, interval: 1, quantile: 0.4, slots: 4}
keep: {top: 2, checkpoint_every: 0s}
)yaml";

// Children start from their parents, on whichever device those were trained; some trials pause at rungs.
constexpr const char* kStarts = R"yaml(
model: {base: builtin:small-mlp}
space: {mutate: [widen, swap_op], params: {lr: log(0.01, 0.3)}}
train: {epochs: 3, start: parent}
data: {source: "synthetic:blobs?rows=96&classes=3&features=4&seed=1", batch: 16}
strategy: {name: evolution, population: 4, slots: 3}
stop: {rule: asha, rungs: [1]}
budget: {trials: 14}
keep: {top: 2, checkpoint_every: 0s, ensemble: 3}
)yaml";

class DevicesStudy : public ::testing::TestWithParam<const char*> {
 protected:
  DevicesStudy()
      : config(*studyfile::read_study(GetParam(), "devices")), data(*data::open(config.data, ".", real_file_system())) {
    LANISTA_CHECK(engine::resolve_from_data(config, data.spec()).ok(), "the test's own study file");
  }

  Result<engine::RunResult> run_process(MemoryFileSystem& disk, const ProcessRun& process_run) {
    engine::WorkerConfig worker_config;
    worker_config.study_folder = kFolder;
    worker_config.workers = process_run.workers;
    worker_config.lanes = process_run.lanes;
    worker_config.crash_marks = false;
    worker_config.checkpoint_every = process_run.checkpoint_every;
    LANISTA_ASSIGN(DevicePool pool, make_device_pool(worker_config, process_run.devices, config.strategy.slots, data,
                                                     program::Operators(), disk, clock));
    std::atomic<int> pause = 0;
    engine::Services services{.fs = &disk,
                              .clock = &clock,
                              .executor = pool.executor.get(),
                              .data = &data.spec(),
                              .pause = &pause,
                              .observer = {},
                              .machine = pool.machine,
                              .devices = pool.devices,
                              .measure_devices = [&](const engine::Job&) {
                                ++measured;
                                return Result(process_run.speeds);
                              }};
    services.observer.on_event = [&, seen = 0](const auto&, const auto&) mutable {
      if (++seen == process_run.events) pause = 15;
      if (process_run.on_event) process_run.on_event();
    };
    const auto numerics = runtime::numerics(kernels::best_isa());
    auto engine = disk.exists(kFolder + "/log")
                      ? engine::Engine::resume(kFolder, {}, numerics, services)
                      : engine::Engine::create(kFolder, config, studyfile::write_study(config), numerics, services);
    if (!engine) return engine.error();
    return (*engine)->run();
  }
  static engine::StudyView view_of(MemoryFileSystem& disk) { return *engine::fold(*store::read_log(disk, kFolder)); }

  /// Two classes; the second is half as fast again.
  const ProcessRun mixed{.devices = {{"cpu", nullptr}, {"plain", &plain()}}, .speeds = {{1e6, 2e6}, {1.5e6, 3e6}}};

  study::StudyConfig config;
  data::Dataset data;
  RealClock clock;
  int measured = 0;
};

TEST_P(DevicesStudy, OfTwoClassesIsTheSameAfterPausesAndKills) {
  if (program::cpu_backend().numeric_class() == plain().numeric_class()) GTEST_SKIP() << "this CPU has one class";
  MemoryFileSystem reference;
  std::vector<std::map<std::string, std::string>> moments;
  ProcessRun first = mixed;
  first.on_event = [&] { moments.push_back(reference.files()); };
  const auto end = run_process(reference, first);
  ASSERT_TRUE(end) << end.error().text();
  EXPECT_EQ(measured, 1);
  std::map<std::string, int> trained;
  for (const engine::TrialView& trial : view_of(reference).trials) ++trained[trial.device];
  ASSERT_EQ(trained.size(), 2U);
  ASSERT_GE(trained["cpu"], 2);
  ASSERT_GE(trained["plain"], 2);

  Rng rng(3);
  ProcessRun next = mixed;
  MemoryFileSystem paused;
  for (bool done = false; !done;) {
    next.workers = rng.between(1, 4);
    next.lanes = rng.between(0, 4);
    next.events = static_cast<int>(rng.between(1, 15));
    const auto summary = run_process(paused, next);
    ASSERT_TRUE(summary) << summary.error().text();
    done = summary->end != engine::RunEnd::kPaused;
  }
  ASSERT_EQ(first_difference(canonical(paused), canonical(reference)), "");

  const char* all = std::getenv("LANISTA_DEVICES_KILLS");  // every moment; one in eight every day
  const std::size_t step = all == nullptr ? 8 : 1;
  next.events = 0;
  for (std::size_t k = 0; k < moments.size(); k += step) {
    MemoryFileSystem killed;
    for (const auto& [path, bytes] : moments[k]) killed.put(path, bytes);
    next.workers = std::array{1, 2, 4}[k / step % 3];
    next.lanes = rng.between(0, 4);
    // A new measurement gives other speeds. The speeds of the log are used.
    next.speeds = {{7e6, 7e6}, {1e6, 1e6}};
    const auto summary = run_process(killed, next);
    ASSERT_TRUE(summary) << summary.error().text();
    ASSERT_EQ(first_difference(canonical(killed), canonical(reference)), "") << k;
  }
}

TEST_P(DevicesStudy, OfTwoClassesHasTrialsThatTheirDevicesRepeat) {
  if (program::cpu_backend().numeric_class() == plain().numeric_class()) GTEST_SKIP() << "this CPU has one class";
  MemoryFileSystem disk;
  ASSERT_TRUE(run_process(disk, mixed));
  const engine::StudyView view = view_of(disk);
  const store::CheckpointStore files(disk, kFolder);
  const auto models = *engine::make_model_space(config, data.spec(), "", disk);
  const FindBackend by_name = [](const std::string& device) -> Result<const program::Backend*> {
    return device == "plain" ? &plain() : &program::cpu_backend();
  };
  int repeated = 0, others = 0;
  for (const engine::TrialView& trial : view.trials) {
    const bool has_start = trial.proposal.start.has_value();  // its state is gone by now
    if (!trial.outcome->weights_hash || has_start) continue;
    const std::int64_t epochs = trial.measurements.back().epoch;
    const auto line = *engine::lineage_jobs(view, data.spec(), trial, epochs,
                                            *models->rebuild(trial.proposal.base, trial.proposal.edits));
    const auto ignore = [](const study::Measurement&) {};
    const auto again = repeat_lineage(line, {}, data, ignore, {}, &files, by_name);
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->hash, *trial.outcome->weights_hash) << trial.id.value;
    ++repeated;
    others += repeat_lineage(line, {}, data, ignore, {}, &files)->hash != again->hash;
  }
  EXPECT_GE(repeated, 3);
  EXPECT_GE(others, 1) << "the level of the lanista kernels makes no difference, so nothing is shown";
}

/// The export without the header, which names the devices of the study file.
std::string behind_the_header(const std::string& text) { return text.substr(text.find('\n')); }

TEST_P(DevicesStudy, OfOneClassMatchesTheStudyOfOneDevice) {
  MemoryFileSystem alone;
  ASSERT_TRUE(testing::run_process(alone, testing::as_configured(config), data, clock, {}));
  const std::string expected = behind_the_header(canonical(alone));
  Rng rng(9);
  for (const std::int64_t workers : {1, 2, 4}) {
    ProcessRun process_run{
        .devices = {{"cpu", nullptr}, {"a", &program::cpu_backend()}, {"b", &program::cpu_backend()}},
        .speeds = {{1e6, 1e6}, {2e6, 2e6}, {1e6, 3e6}},
        .workers = workers};
    MemoryFileSystem disk;
    std::set<std::string> used;
    for (bool done = false; !done;) {
      process_run.lanes = rng.between(0, 4);
      process_run.events = static_cast<int>(rng.between(5, 40));
      const auto summary = run_process(disk, process_run);
      ASSERT_TRUE(summary) << summary.error().text();
      done = summary->end != engine::RunEnd::kPaused;
    }
    const engine::StudyView view = view_of(disk);
    for (const study::Span& span : view.spans) used.insert(span.device);
    EXPECT_EQ(used.size(), 3U);
    for (const engine::TrialView& trial : view.trials) EXPECT_EQ(trial.device, "");
    std::string text = canonical(disk);
    // Its numerics are logged before its trials. Studies of a custom device have none.
    const auto numerics = text.find("{\"class\"");
    ASSERT_NE(numerics, std::string::npos);
    EXPECT_EQ(text.substr(numerics, text.find('\n', numerics) - numerics),
              "{\"class\":\"" + std::string(program::cpu_backend().numeric_class()) + "\",\"record\":\"numerics\"}");
    text.erase(numerics, text.find('\n', numerics) + 1 - numerics);
    ASSERT_EQ(first_difference(behind_the_header(text), expected), "") << workers;
  }
}

TEST_P(DevicesStudy, ReplaysDeviceChoicesAndMeasuresNewDevices) {
  MemoryFileSystem disk;
  ProcessRun process_run = mixed;
  process_run.events = 2;
  ASSERT_EQ(run_process(disk, process_run)->end, engine::RunEnd::kPaused);
  EXPECT_EQ(measured, 1);
  ASSERT_EQ(run_process(disk, process_run)->end, engine::RunEnd::kPaused);
  EXPECT_EQ(measured, 1);
  process_run.devices.push_back({"third", &program::cpu_backend()});
  process_run.speeds.push_back({1e9, 1e9});
  process_run.events = 0;
  ASSERT_TRUE(run_process(disk, process_run));
  EXPECT_EQ(measured, 2);
  const engine::StudyView view = view_of(disk);
  EXPECT_EQ(engine::decode_device_table(view.numerics)->rows.size(), 3U);
  EXPECT_EQ(view.trials.back().device, "third");  // it is by far the fastest
}

/// Lanista kernels that support only models without the operator `relu`.
class BackendWithoutConvolutions final : public program::Backend {
 public:
  std::string_view name() const override { return "picky"; }
  std::string_view numeric_class() const override { return program::cpu_backend().numeric_class(); }
  Result<std::unique_ptr<program::Executable>> compile(const autodiff::TrainingStep* train,
                                                       const autodiff::InferenceStep& infer,
                                                       const program::ProgramOptions& options) const override {
    if (!infer.graph.nodes_of("relu").empty()) return program::cpu_backend().compile(train, infer, options);
    ++refused;
    return Error{Code::kUnimplemented, "no relu", ""};
  }
  mutable std::atomic<int> refused = 0;
};

// If one device does not support an operator, another device trains the trial, and that is no failure.
TEST_P(DevicesStudy, AssignsUnsupportedTrialsToOtherDevices) {
  BackendWithoutConvolutions picky;
  MemoryFileSystem alone, several;
  ASSERT_TRUE(testing::run_process(alone, testing::as_configured(config), data, clock, {}));
  ProcessRun process_run{.devices = {{"picky", &picky}, {"cpu", nullptr}}, .speeds = {{2e6, 9e6}, {1e6, 1e6}}};
  ASSERT_TRUE(run_process(several, process_run));
  const engine::StudyView expected = view_of(alone), view = view_of(several);
  ASSERT_EQ(view.trials.size(), expected.trials.size());
  for (std::size_t i = 0; i < view.trials.size(); ++i) {
    EXPECT_EQ(view.trials[i].outcome->weights_hash, expected.trials[i].outcome->weights_hash) << i + 1;
  }
  EXPECT_EQ(picky.refused > 0, GetParam() == kStarts);
  EXPECT_TRUE(std::ranges::any_of(view.spans, [](const study::Span& span) { return span.device == "picky"; }));
}

INSTANTIATE_TEST_SUITE_P(All, DevicesStudy, ::testing::Values(kPbt, kStarts),
                         [](const auto& instance) { return instance.param == kPbt ? "pbt" : "starts"; });

// The measured speed matches training: a device that does all work twice is half as fast.
TEST(DeviceSpeed, OfCpuKernelsAndOfManyWorkers) {
  study::StudyConfig config = *studyfile::read_study(kStarts, "devices");
  const data::Dataset data = testing::blobs();
  ASSERT_TRUE(engine::resolve_from_data(config, data.spec()));
  MemoryFileSystem disk;
  const auto models = *engine::make_model_space(config, data.spec(), "", disk);
  study::TrialView trial;
  trial.id = TrialId{1};
  trial.proposal.budget = 3;
  const auto job = *engine::make_job(config, data.spec(), trial, *models->rebuild(0, {}));
  const RealClock clock;
  const auto one = device_speed(job, data, program::Operators(), program::cpu_backend(), {.workers = 1}, clock);
  const auto four = device_speed(job, data, program::Operators(), program::cpu_backend(), {.workers = 4}, clock);
  ASSERT_TRUE(one && four) << (one ? four : one).error().text();
  EXPECT_GT(one->alone, 0);
  EXPECT_EQ(one->together, one->alone);
  EXPECT_EQ(four->together, 4 * four->alone);
}

}  // namespace
}  // namespace lanista::runtime
