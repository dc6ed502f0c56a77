// Studies on a simulated cluster. Workers, network, disk and engine fail by a seed, and every study ends like an
// undisturbed one. A failing seed can be repeated.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <string>

#include "lanista/base/rng.h"
#include "lanista/engine/core/study_state.h"
#include "lanista/engine/remote/process_executor.h"
#include "lanista/search/study/host_usage.h"
#include "support/engine/core/custom_strategy_study.h"
#include "support/engine/core/test_support.h"
#include "support/engine/forecast/simulated_fleet.h"

namespace lanista::engine::testing {
namespace {

constexpr int kMaxEngineRuns = 200;

struct EngineKilled {};

/// Runs a study to its end with as many engine processes as necessary. Returns nothing on success, else the reason.
class RandomFaultStudy {
 public:
  RandomFaultStudy(const study::StudyConfig& config, std::uint64_t seed, FaultCounts& fault_counts)
      : config_(config), rng_(Rng(seed).split("study")), fault_counts_(fault_counts), workers_(1 + rng_.below(6)) {
    fault_probability_ = rng_.below(8) == 0 ? 0.4 : rng_.uniform() * 0.3;
  }

  std::string run() {
    for (int attempt = 0; attempt < kMaxEngineRuns; ++attempt) {
      try {
        const auto summary = run_engine();
        if (summary && summary->end != RunEnd::kPaused) return "";
        if (!summary && summary.error().code != Code::kUnavailable) return summary.error().text();
      } catch (const EngineKilled&) {
        ++fault_counts_["engine killed"];
        if (rng_.below(3) == 0) {
          ++fault_counts_["power lost"];
          bench_.disk.simulate_power_loss(PowerLoss::kSampled, rng_.split(static_cast<std::uint64_t>(attempt)));
        }
      }
    }
    return "it did not end in " + std::to_string(kMaxEngineRuns) + " lives";
  }
  std::int64_t moved() const { return num_moves_; }  ///< Trials that continued on another host.
  Fingerprint fingerprint_of_disk() {
    const auto left = fingerprint(bench_.disk);
    return left ? *left : Fingerprint{left.error().text(), ""};
  }

 private:
  Result<RunResult> run_engine() {
    WatchedFileSystem fs(bench_.disk);
    // Faults end at some time, so that the study ends.
    std::uint64_t changes = 10 + rng_.below(60) * (1 + rng_.below(4));
    const bool is_killed = rng_.below(3) > 0;
    fs.on_change = [&] {
      if (is_killed && --changes == 0) throw EngineKilled();
    };
    WorkerConfig worker_config;
    worker_config.study_folder = kFolder;
    worker_config.workers = static_cast<std::int64_t>(workers_);
    ProcessOptions how;
    how.lease_seconds = 2;
    how.fleet = [this](const FleetOptions& fleet, const Clock&) {
      const SimulatedFleet::Options options{
          .seed = rng_.next(), .fault_probability = fault_probability_, .num_local_workers = rng_.below(workers_ + 1)};
      return Result<std::unique_ptr<Fleet>>(
          std::make_unique<SimulatedFleet>(fleet, options, bench_.clock, bench_.disk, fault_counts_));
    };
    LANISTA_ASSIGN(const auto executor, ProcessExecutor::create(worker_config, fs, bench_.clock, how));
    const auto services = bench_.services(fs, *executor);
    auto engine = Engine::create(kFolder, config_, studyfile::write_study(config_), bench_.numerics, services);
    if (!engine && engine.error().code == Code::kAlreadyExists) {
      engine = Engine::resume(kFolder, {}, bench_.numerics, services);
    }
    if (!engine) return std::move(engine).error();
    auto summary = (*engine)->run();
    if (summary) expect_as_read((*engine)->view());
    return summary;
  }

  /// A reader of the log sees the engine's view of its workers.
  void expect_as_read(const StudyView& seen) {
    const auto records = store::read_log(bench_.disk, kFolder);
    ASSERT_TRUE(records);
    const auto read = fold(*records);
    ASSERT_TRUE(read);
    EXPECT_EQ(worker_history_text(*read), worker_history_text(seen));
    num_moves_ = std::ssize(seen.workers.moves);
  }
  static std::string worker_history_text(const StudyView& view) {
    std::string out;
    for (const auto& each : view.workers.present) out += study::worker_text(each.worker, each.host) + "\n";
    for (const auto& host : view.workers.hosts) out += host.name + " " + std::to_string(host.lost) + "\n";
    for (const auto& move : view.workers.moves) {
      out += std::to_string(move.trial.value) + " " + study::move_text(move) + "\n";
    }
    for (const study::Span& span : view.spans) out += std::to_string(span.host) + " ";
    return out;
  }

  const study::StudyConfig& config_;
  Rng rng_;
  FaultCounts& fault_counts_;
  std::uint64_t workers_;
  double fault_probability_ = 0;
  std::int64_t num_moves_ = 0;
  Bench bench_;
};

/// LANISTA_SIMULATED_SEEDS is the number of seeds, LANISTA_SIMULATED_FROM the first one.
std::uint64_t number(const char* name, std::uint64_t fallback) {
  const char* value = std::getenv(name);
  return value == nullptr ? fallback : std::strtoull(value, nullptr, 10);
}

TEST(ClusterSimulation, GivesSameResultUnderAnyFault) {
  const study::StudyConfig config = small_study(10);
  Bench undisturbed;
  ASSERT_TRUE(undisturbed.run(config, {}));
  const auto expected = fingerprint(undisturbed.disk);
  ASSERT_TRUE(expected);
  FaultCounts fault_counts;
  std::int64_t moved = 0;
  const std::uint64_t first = number("LANISTA_SIMULATED_FROM", 1), seeds = number("LANISTA_SIMULATED_SEEDS", 30);
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    RandomFaultStudy study(config, seed, fault_counts);
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_EQ(study.run(), "");
    const Fingerprint left = study.fingerprint_of_disk();
    ASSERT_EQ(first_difference(left.canonical, expected->canonical), "");
    ASSERT_EQ(left.weights, expected->weights);
    moved += study.moved();
  }
  EXPECT_GT(moved, static_cast<std::int64_t>(seeds));
  std::int64_t all = 0;
  for (const auto& [kind, count] : fault_counts) {
    all += count;
    if (seeds > 30) std::cout << kind << ": " << count << "\n";
  }
  EXPECT_EQ(fault_counts.size(), 9U) << "some kind of trouble never came";
  EXPECT_GT(all, static_cast<std::int64_t>(seeds) * 10);
}

}  // namespace
}  // namespace lanista::engine::testing
