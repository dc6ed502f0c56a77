#include "lanista/plan/grouping/device_planners.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lanista/base/rng.h"

namespace lanista::plan {
namespace {

/// Returns a running trial of this program.
PlannedTrial running(std::uint32_t id, const std::string& program) {
  return {.id = TrialId{id}, .program = hash_text(program), .state_bytes = 100};
}

// The logs of studies with one device depend on it.
TEST(DevicePlanners, OfOneDeviceEqualItsPlanner) {
  Rng rng(3);
  const Machine machine{.workers = 2, .lanes = 3};
  Planner alone(machine);
  DevicePlanners all({machine});
  std::set<std::uint32_t> there;
  for (std::uint32_t id = 1; id <= 200; ++id) {
    const PlannedTrial joiner = running(id, rng.between(0, 1) == 0 ? "a" : "b");
    alone.join(joiner);
    all.join(joiner, 0);
    there.insert(id);
    if (rng.between(0, 2) > 0) {
      const std::uint32_t leaver = *std::next(there.begin(), rng.between(0, std::ssize(there) - 1));
      there.erase(leaver);
      alone.leave(TrialId{leaver});
      all.leave(TrialId{leaver});
    }
    ASSERT_EQ(all.changes(), alone.changes()) << id;
  }
}

TEST(DevicePlanners, SeparateTrialsOfTwoDevicesWhenTheyMove) {
  Rng rng(5);
  const std::vector<Machine> machines{
      {.workers = 1, .lanes = 4}, {.workers = 1, .lanes = 2}, {.workers = 2, .lanes = 3}};
  DevicePlanners all(machines);
  std::vector<Planner> each(machines.begin(), machines.end());
  Grouping seen;
  std::map<TrialId, std::size_t> where;
  std::size_t largest = 0;
  for (int round = 0; round < 500; ++round) {
    const TrialId id{static_cast<std::uint32_t>(rng.between(1, 30))};
    const auto device = static_cast<std::size_t>(rng.between(0, 2));
    all.leave(id);  // A trial that is planned may move to another device.
    for (Planner& planner : each) planner.leave(id);
    where.erase(id);
    if (rng.between(0, 4) > 0) {
      all.join(running(id.value, "a"), device);
      each[device].join(running(id.value, "a"));
      where[id] = device;
    }
    seen.apply(all.changes());
    std::set<std::vector<TrialId>> reported, wanted;
    for (Planner& planner : each) {
      static_cast<void>(planner.changes());
      for (const Group& group : planner.plan().groups) {
        if (group.trials.size() > 1) wanted.insert(group.trials);
      }
    }
    for (const Group& group : seen.plan().groups) reported.insert(group.trials);
    ASSERT_EQ(reported, wanted) << round;
    for (const Group& group : seen.plan().groups) {
      largest = std::max(largest, group.trials.size());
      for (const TrialId member : group.trials) {
        ASSERT_TRUE(where.contains(member)) << round;
        ASSERT_EQ(where.at(member), where.at(group.trials.front())) << round;
      }
    }
  }
  EXPECT_EQ(largest, 4U);  // Each device has its own lanes.
}

}  // namespace
}  // namespace lanista::plan
