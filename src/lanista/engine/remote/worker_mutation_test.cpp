// Studies with a worker behind a proxy that changes messages. Each study ends like an undisturbed one, and the faulty
// worker is named. LANISTA_WHOLE_MUTATIONS=1: 2,000 studies; LANISTA_MUTATIONS_FROM: the first seed.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "lanista/engine/remote/process_executor.h"
#include "lanista/io/store/log.h"
#include "support/base/sanitizer.h"
#include "support/base/temporary_folder.h"
#include "support/engine/core/test_support.h"
#include "support/engine/remote/mutating_proxy.h"

namespace lanista::engine::testing {
namespace {

constexpr double kLongest = 30;  ///< seconds of one study, on a machine that does nothing else

/// Runs one study with an honest worker and one behind a proxy.
class MutatedStudy {
 public:
  Result<RunResult> run(const study::StudyConfig& config, Mutation mutation, bool every_process) {
    if (!every_process) mutation.marker_file = root_ + "/claimed";
    const MakeWorkerExecutor make = [](const WorkerConfig& worker_config, const ReportActiveTrials&) {
      const FakeOptions options{.workers = 2, .rows = small_data().split_rows[0], .checkpoint_one_in = 2};
      return Result<std::shared_ptr<Executor>>(std::make_shared<FakeExecutor>(
          options, store::CheckpointStore(real_file_system(), worker_config.study_folder)));
    };
    WorkerConfig worker_config;
    worker_config.study_folder = study_;
    worker_config.workers = 2;
    ProcessOptions how;
    how.lease_seconds =
        std::getenv("LANISTA_WHOLE_MUTATIONS") != nullptr ? 2 : 8;  // a busy machine must not look like a bad worker
    how.rules = report_rules({}, data_);
    Mutation honest = mutation;
    honest.at = std::int64_t{1} << 40;
    how.remote_launchers = {{"good", launch_with_mutated_messages(make, honest)},
                            {"bad", launch_with_mutated_messages(make, mutation)}};
    LANISTA_ASSIGN(const auto executor, ProcessExecutor::create(worker_config, real_file_system(), clock_, how));
    Services services;
    services.fs = &real_file_system();
    services.clock = &clock_;
    services.sink = &sink_;
    services.executor = executor.get();
    services.data = &data_;
    services.pause = &pause_;
    const double began = clock_.now();
    services.observer.on_idle = [&](const StudyView&) {
      if (clock_.now() - began > (LANISTA_SANITIZED != 0 ? 8 : 4) * kLongest)
        pause_ = 75;  // a hang; the test reports it
    };
    LANISTA_ASSIGN(auto engine, Engine::create(study_, config, studyfile::write_study(config),
                                               {{"class", "test"}, {"threads", 1}}, services));
    auto summary = engine->run();
    seconds = clock_.now() - began;
    dropped = engine->view().workers.lost;
    last = engine->view().workers.last ? engine->view().workers.last->reason : "";
    return summary;
  }
  Fingerprint fingerprint_of_disk() const {
    const auto records = store::read_log(real_file_system(), study_);
    const auto weights = real_file_system().read(study_ + "/best/weights.safetensors");
    return {records ? store::canonical_export(*records) : records.error().text(), weights ? *weights : ""};
  }

  double seconds = 0;
  std::int64_t dropped = 0;
  std::string last;  ///< why the last worker was lost

 private:
  TemporaryFolder folder_{"mutated"};
  std::string root_ = folder_.path(), study_ = root_ + "/study";
  RealClock clock_;
  MemorySink sink_;
  data::DataSpec data_ = small_data();
  std::atomic<int> pause_ = 0;
};

Fingerprint expected_hashes(const study::StudyConfig& config) {
  Bench bench;
  LANISTA_CHECK(bench.run(config, {.rows = small_data().split_rows[0]}).ok(), "an undisturbed study ends");
  return *fingerprint(bench.disk);
}

std::uint64_t count_of(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

TEST(WorkerMutation, EndsUnchangedOrNamesWorker) {
  const study::StudyConfig config = small_study(4);
  const Fingerprint expected = expected_hashes(config);
  const std::uint64_t studies = std::getenv("LANISTA_WHOLE_MUTATIONS") != nullptr ? 2000 : 2 * kNumMessageFaults;
  const std::uint64_t first = count_of("LANISTA_MUTATIONS_FROM", 1);
  std::map<std::string, int> reasons;
  std::map<int, int> unnoticed;
  std::uint64_t named = 0;  // studies
  double longest = 0;
  for (std::uint64_t seed = first; seed < first + studies; ++seed) {
    Rng rng = Rng(seed).split("mutation");
    const auto fault = static_cast<MessageFault>(seed % kNumMessageFaults);
    const auto at = static_cast<std::int64_t>(rng.below(3) == 0 ? rng.below(3) : rng.below(16));
    const bool every_process = rng.below(8) == 0;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", mutation " + std::to_string(seed % kNumMessageFaults) +
                 " at message " + std::to_string(at) + (every_process ? " of every process" : ""));
    MutatedStudy study;
    const auto summary = study.run(config, {.seed = rng.next(), .fault = fault, .at = at}, every_process);
    ASSERT_TRUE(summary) << summary.error().text();
    ASSERT_EQ(summary->end, RunEnd::kDone) << "it hung; the last loss: " << study.last;
    const Fingerprint fingerprint_of_disk = study.fingerprint_of_disk();
    ASSERT_EQ(fingerprint_of_disk.canonical, expected.canonical) << study.last;
    ASSERT_EQ(fingerprint_of_disk.weights, expected.weights) << study.last;
    longest = std::max(longest, study.seconds);
    if (study.dropped == 0) {
      ++unnoticed[static_cast<int>(fault)];
    } else {
      EXPECT_TRUE(study.last.starts_with("(bad) ")) << study.last;
      ++reasons[study.last.substr(0, 60)];
      ++named;
    }
  }
  std::string text;
  for (const auto& [reason, count] : reasons) text += std::to_string(count) + "  " + reason + "\n";
  for (const auto& [fault, count] : unnoticed) {
    text += std::to_string(count) + "  without effect, mutation " + std::to_string(fault) + "\n";
  }
  EXPECT_GE(named, studies / 2) << text;
  RecordProperty("longest_seconds", std::to_string(longest));
  if (std::getenv("LANISTA_WHOLE_MUTATIONS") != nullptr) {
    EXPECT_LT(longest, kLongest);
    std::cout << text << "longest study " << longest << " s\n";
  }
}

}  // namespace
}  // namespace lanista::engine::testing
