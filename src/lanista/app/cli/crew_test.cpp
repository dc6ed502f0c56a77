#include "lanista/app/cli/crew.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace lanista::cli {
namespace {

/// launchers_of and launching_brief refuse the study, with `message`.
void expect_refused(const Crew& crew, const study::StudyConfig& config, const std::string& message) {
  const auto launchers = launchers_of(crew, config);
  ASSERT_FALSE(launchers.ok()) << message;
  EXPECT_NE(launchers.error().text().find(message), std::string::npos) << launchers.error().text();
  const auto brief = launching_brief(config, crew);
  ASSERT_FALSE(brief.ok()) << message;
  EXPECT_NE(brief.error().text().find(message), std::string::npos) << brief.error().text();
}

// `resume` of a received study takes its configuration from the log, which no check of a file has seen.
TEST(Crew, ChecksAStoredStudyLikeAFile) {
  study::StudyConfig config;
  config.cluster.ssh = {"-oProxyCommand=true"};
  expect_refused({}, config, "'-oProxyCommand=true' is no host");
  config.cluster = {.ssh = {}, .slurm = {"task-prolog=/tmp/x"}};
  expect_refused({.workers = 1, .lanes = {}, .isolation = {}}, config, "'task-prolog' is no option");
  config.cluster = {.ssh = {}, .slurm = {}, .places = {"-oProxyCommand=true"}};
  expect_refused({}, config, "'-oProxyCommand=true' is no host");
  const Crew elsewhere{.workers = {}, .lanes = {}, .isolation = {}, .ssh = {"here"}};
  expect_refused(elsewhere, config, "'-oProxyCommand=true' is no host");
}

TEST(Crew, ReplacesHostsOfTheStudyByThoseOfTheCommandLine) {
  study::StudyConfig config;
  config.cluster.ssh = {"-oProxyCommand=true"};
  const Crew here{.workers = {}, .lanes = {}, .isolation = {}, .ssh = {"here", "node1"}};
  const auto launchers = launchers_of(here, config);
  ASSERT_TRUE(launchers.ok()) << launchers.error().text();
  EXPECT_EQ(launchers->size(), 2U);
}

TEST(Crew, RefusesAProgramForWhichThereIsNoHost) {
  const std::vector<std::string> program{"/opt/lanista"};
  expect_refused({.workers = {}, .lanes = {}, .isolation = {}, .program = program}, {},
                 "all workers are on this machine");
  Crew crew{.workers = {}, .lanes = {}, .isolation = {}, .ssh = {"node1"}, .program = {"node2=/opt/lanista"}};
  expect_refused(crew, {}, "'node2' is no host of this study; allowed: node1");
  crew.program = {"-x"};
  expect_refused(crew, {}, "'-x' starts with '-'");
}

TEST(Crew, GivesEachPlaceThePathOfItsProgram) {
  study::StudyConfig config;
  config.cluster.places = {"node1", "here", "node2"};
  const Crew crew{.workers = {}, .lanes = {}, .isolation = {}, .program = {"/a", "node2=/b"}};
  const auto brief = launching_brief(config, crew);
  ASSERT_TRUE(brief.ok()) << brief.error().text();
  EXPECT_EQ(brief->pipeline_hosts, config.cluster.places);
  EXPECT_EQ(brief->pipeline_programs, (std::vector<std::string>{"/a", "/a", "/b"}));
}

// plan, export and others predict or measure on this machine: they connect to no host.
TEST(Crew, GivesOtherVerbsNoHost) {
  study::StudyConfig config;
  config.cluster.places = {"node1"};
  const engine::WorkerBrief brief = worker_brief(config, {});
  EXPECT_TRUE(brief.pipeline_hosts.empty());
  EXPECT_TRUE(brief.pipeline_programs.empty());
}

}  // namespace
}  // namespace lanista::cli
