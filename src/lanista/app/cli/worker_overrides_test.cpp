#include "lanista/app/cli/worker_overrides.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace lanista::cli {
namespace {

/// Expects that launchers_of and make_worker_config_with_hosts refuse the study with `message`.
void expect_refused(const WorkerOverrides& worker_overrides, const study::StudyConfig& config,
                    const std::string& message) {
  const auto launchers = launchers_of(worker_overrides, config);
  ASSERT_FALSE(launchers.ok()) << message;
  EXPECT_NE(launchers.error().text().find(message), std::string::npos) << launchers.error().text();
  const auto worker_config = make_worker_config_with_hosts(config, worker_overrides);
  ASSERT_FALSE(worker_config.ok()) << message;
  EXPECT_NE(worker_config.error().text().find(message), std::string::npos) << worker_config.error().text();
}

// `resume` of a received study takes its configuration from the log, which no check of a file has seen.
TEST(WorkerOverrides, ChecksStoredStudyLikeStudyFile) {
  study::StudyConfig config;
  config.cluster.ssh = {"-oProxyCommand=true"};
  expect_refused({}, config, "'-oProxyCommand=true' is not a host");
  config.cluster = {.ssh = {}, .slurm = {"task-prolog=/tmp/x"}};
  expect_refused({.workers = 1, .lanes = {}, .isolation = {}}, config, "'task-prolog' is not an option");
  config.cluster = {.ssh = {}, .slurm = {}, .places = {"-oProxyCommand=true"}};
  expect_refused({}, config, "'-oProxyCommand=true' is not a host");
  const WorkerOverrides elsewhere{.workers = {}, .lanes = {}, .isolation = {}, .ssh = {"here"}};
  expect_refused(elsewhere, config, "'-oProxyCommand=true' is not a host");
}

TEST(WorkerOverrides, CommandLineHostsReplaceHostsOfStudy) {
  study::StudyConfig config;
  config.cluster.ssh = {"-oProxyCommand=true"};
  const WorkerOverrides here{.workers = {}, .lanes = {}, .isolation = {}, .ssh = {"here", "node1"}};
  const auto launchers = launchers_of(here, config);
  ASSERT_TRUE(launchers.ok()) << launchers.error().text();
  EXPECT_EQ(launchers->size(), 2U);
}

TEST(WorkerOverrides, RefusesProgramForUnknownHost) {
  const std::vector<std::string> program{"/opt/lanista"};
  expect_refused({.workers = {}, .lanes = {}, .isolation = {}, .program = program}, {},
                 "all workers are on this machine");
  WorkerOverrides worker_overrides{
      .workers = {}, .lanes = {}, .isolation = {}, .ssh = {"node1"}, .program = {"node2=/opt/lanista"}};
  expect_refused(worker_overrides, {}, "'node2' is not a host of this study; allowed: node1");
  worker_overrides.program = {"-x"};
  expect_refused(worker_overrides, {}, "'-x' starts with '-'");
}

TEST(WorkerOverrides, GivesEachRankItsProgramPath) {
  study::StudyConfig config;
  config.cluster.places = {"node1", "here", "node2"};
  const WorkerOverrides worker_overrides{.workers = {}, .lanes = {}, .isolation = {}, .program = {"/a", "node2=/b"}};
  const auto worker_config = make_worker_config_with_hosts(config, worker_overrides);
  ASSERT_TRUE(worker_config.ok()) << worker_config.error().text();
  EXPECT_EQ(worker_config->pipeline_hosts, config.cluster.places);
  EXPECT_EQ(worker_config->pipeline_programs, (std::vector<std::string>{"/a", "/a", "/b"}));
}

// plan, export and others predict or measure on this machine: they connect to no host.
TEST(WorkerOverrides, GivesOtherVerbsNoHost) {
  study::StudyConfig config;
  config.cluster.places = {"node1"};
  const engine::WorkerConfig worker_config = make_worker_config(config, {});
  EXPECT_TRUE(worker_config.pipeline_hosts.empty());
  EXPECT_TRUE(worker_config.pipeline_programs.empty());
}

}  // namespace
}  // namespace lanista::cli
