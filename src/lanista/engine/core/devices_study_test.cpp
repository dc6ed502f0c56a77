// Studies that several devices train, as their logs have them: which of them trains a trial is a fold over the log.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "lanista/engine/core/record_bodies.h"
#include "lanista/engine/core/study_state.h"
#include "support/engine/core/test_support.h"

namespace lanista::engine {
namespace {

using testing::Bench;
using testing::kFolder;
using testing::small_study;

constexpr FakeOptions kUsualFaults{.workers = 2, .checkpoint_one_in = 3, .fail_one_in = 6, .nan_one_in = 6};

struct DevicesBench : Bench {
  explicit DevicesBench(bool is_mixed = true) {
    devices = {{"cpu", "own", {.workers = 2}}, {"gpu", is_mixed ? "other" : "own", {.workers = 1, .lanes = 4}}};
    speeds = {{1e3, 2e3}, {1e3, 5e3}};
  }
};

std::string log_of(Bench& bench) { return *bench.disk.read(kFolder + "/log/000001.log"); }

// A kill after every record, complete and torn. The resumed process would measure other speeds.
TEST(MultiDeviceStudy, ResumesIdenticallyAfterKillAtAnyRecord) {
  DevicesBench reference;
  const auto snapshots =
      testing::snapshots_of(reference, [&](FileSystem& fs) { return reference.run(small_study(), kUsualFaults, fs); });
  EXPECT_EQ(reference.num_device_measurements, 1);
  std::map<std::string, int> trained;
  for (const TrialView& trial : reference.view().trials) ++trained[trial.device];
  ASSERT_EQ(trained.size(), 2U);
  ASSERT_TRUE(trained["cpu"] >= 2 && trained["gpu"] >= 2);

  std::size_t kills = 0;
  for (const testing::Files& moment : testing::with_torn_records(snapshots)) {
    DevicesBench bench;
    testing::put_all(bench.disk, moment);
    const auto view = fold(*store::read_log(bench.disk, kFolder));
    const bool is_measured = view && !view->numerics.is_null();
    if (is_measured) bench.speeds = {{9e9, 9e9}, {1, 1}};
    FakeOptions options = kUsualFaults;
    options.seed = ++kills;
    options.workers = static_cast<std::int64_t>(kills % 3) + 1;
    const auto summary = bench.resume(options);
    ASSERT_TRUE(summary.ok()) << "cut " << kills << ": " << summary.error().text();
    ASSERT_EQ(bench.num_device_measurements, is_measured ? 0 : 1);
    ASSERT_EQ(bench.canonical(), reference.canonical()) << "cut " << kills;
  }
  EXPECT_GT(kills, 200U);
}

// With one numeric class no record names a device, so the export equals that of the study with one device.
TEST(MultiDeviceStudy, OneClassHasRecordsOfOneDevice) {
  DevicesBench several(false);
  Bench one;
  one.numerics["class"] = "own";
  ASSERT_TRUE(several.run(small_study(), kUsualFaults));
  ASSERT_TRUE(one.run(small_study(), kUsualFaults));
  EXPECT_EQ(several.canonical(), one.canonical());
  EXPECT_EQ(log_of(one).find("device"), std::string::npos) << "logs of one device are what they were";
}

// The choice computed again from the log up to each proposal.
TEST(MultiDeviceStudy, AssignsTrialToFastestDevice) {
  DevicesBench bench;
  bench.speeds = {{2e3, 2e3}, {4e3, 5e3}};
  study::StudyConfig config = small_study(60);
  config.strategy.slots = 6;
  ASSERT_TRUE(bench.run(config, kUsualFaults));
  StudyState state;
  std::map<TrialId, double> epoch;
  int gpus = 0;
  const auto records = *store::read_log(bench.disk, kFolder);
  for (const store::Record& record : records) {
    if (record.type == store::RecordType::kProposed) {
      const ProposedRecord proposed = *read_proposed(record.body);
      epoch[proposed.trial] = proposed.logical_epoch;
      std::map<std::string, double> open;
      for (const TrialView& other : state.view.trials) {
        const auto left = other.budget - std::ssize(other.measurements);
        const bool trains = !other.outcome && !other.paused && left > 0;
        if (trains) open[other.device] += static_cast<double>(left) * epoch.at(other.id);
      }
      const double own = static_cast<double>(proposed.proposal.budget) * proposed.logical_epoch;
      const double cpu = (open["cpu"] + own) / 2e3;
      const double gpu = std::max((open["gpu"] + own) / 5e3, own / 4e3);
      ASSERT_EQ(proposed.device, gpu < cpu ? "gpu" : "cpu") << proposed.trial.value;
      gpus += proposed.device == "gpu" ? 1 : 0;
    }
    ASSERT_TRUE(state.apply(record, [](const study::Event&) {}));
  }
  EXPECT_EQ(epoch.size(), 60U);
  EXPECT_TRUE(gpus >= 15 && gpus <= 55) << gpus;
}

TEST(MultiDeviceStudy, ContinuesAndWarnsWhenDeviceIsGone) {
  DevicesBench bench;
  bench.pause = 15;
  ASSERT_TRUE(bench.run(small_study(), kUsualFaults));
  bench.pause = 0;
  bench.devices.clear();
  ASSERT_TRUE(bench.resume(kUsualFaults));
  const auto events = bench.sink.events();
  EXPECT_TRUE(std::ranges::any_of(events, [](const LogEvent& event) { return event.event == "numerics_changed"; }));
  const StudyView view = bench.view();
  EXPECT_EQ(view.end_reason, "budget");
  EXPECT_EQ(view.trials.back().device, "");
}

}  // namespace
}  // namespace lanista::engine
