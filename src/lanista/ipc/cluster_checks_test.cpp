#include "lanista/ipc/cluster_checks.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "lanista/ipc/remote_launcher.h"

namespace lanista::engine::testing {
namespace {

using study::ClusterConfig;

void expect_refused(const Result<void>& checked, const std::string& message) {
  ASSERT_FALSE(checked.ok()) << message;
  EXPECT_NE(checked.error().text().find(message), std::string::npos) << checked.error().text();
}

TEST(ClusterChecks, AllowsNamesOfHosts) {
  const std::vector<std::string> hosts{
      "node1",  "me@node2.site",           "here",        "10.0.0.7", "fe80::1%eth0",
      "me@::1", "ssh://me@node.site:2222", "ssh://node1", "_gpu-07",  "me@target@bastion.site"};
  EXPECT_TRUE(check_cluster({.ssh = hosts, .slurm = {}}).ok());
  EXPECT_TRUE(check_cluster({.ssh = {}, .slurm = {}, .places = hosts}).ok());
}

TEST(ClusterChecks, RefusesHostsThatAreOptionsOrPaths) {
  const std::vector<std::string> hosts{"-oProxyCommand=true",
                                       "",
                                       "a b",
                                       "me@-oProxyCommand=true",
                                       "@node1",
                                       "me@",
                                       "-l@node1",
                                       "--",
                                       "node1;id",
                                       "$(id)",
                                       "`id`",
                                       "node1\nnode2",
                                       "ssh://-oX",
                                       "ssh://a/b",
                                       "ssh://a:22/b",
                                       "/etc/passwd",
                                       "../node",
                                       "%h",
                                       "ssh://a:x",
                                       "a:b",
                                       "ssh://a:-oX=y",
                                       std::string("node1\0", 6)};
  for (const std::string& host : hosts) {
    expect_refused(check_cluster({.ssh = {host}, .slurm = {}}), "'" + host + "' is not a host");
    expect_refused(check_cluster({.ssh = {}, .slurm = {}, .places = {"here", host}}), "'" + host + "' is not a host");
  }
}

TEST(ClusterChecks, AllowsOptionsOfSlurmThatRunNothing) {
  const std::vector<std::string> options{"partition=short",    "time=4:00:00",     "--exact",        "exclusive",
                                         "exclusive=user",     "nice=-5",          "mem=4G",         "gres=gpu:a100:2",
                                         "nodelist=n[1-3],m4", "begin=now+1hour",  "begin=01/20/27", "licenses=a@db:2",
                                         "constraint=[rack1]", "job-name=study-1", "overlap",        "cpus-per-task=4"};
  for (const std::string& option : options) {
    const auto checked = check_cluster({.ssh = {}, .slurm = {option}});
    EXPECT_TRUE(checked.ok()) << checked.error().text();
  }
}

TEST(ClusterChecks, RefusesOptionsThatRunOrWrite) {
  const std::vector<std::string> options{"prolog=/tmp/x",
                                         "--task-prolog=/tmp/x",
                                         "epilog=/tmp/x",
                                         "bcast=/tmp/x",
                                         "output=/tmp/x",
                                         "--error=/tmp/x",
                                         "input=/tmp/x",
                                         "chdir=/tmp",
                                         "export=A=b",
                                         "propagate",
                                         "multi-prog",
                                         "wrap=id",
                                         "-p",
                                         "-Jx",
                                         "--",
                                         "sh",
                                         "worker",
                                         ":",
                                         "",
                                         "job-n=x",
                                         "error",
                                         "het-group=0",
                                         "mpi=x",
                                         "container=/tmp"};
  for (const std::string& option : options) {
    expect_refused(check_cluster({.ssh = {}, .slurm = {option}}), "is not an option that a study file may set");
  }
}

// With `--time` alone, srun uses the next word as the time. Then "worker" is the program that runs.
TEST(ClusterChecks, RefusesOptionsWithoutTheirValue) {
  for (const char* option : {"time", "--time", "partition", "job-name", "nodelist"}) {
    expect_refused(check_cluster({.ssh = {}, .slurm = {option}}), "has no value");
  }
  expect_refused(check_cluster({.ssh = {}, .slurm = {"exact=1"}}), "exact has none");
}

// srun reads the nodes from a file where the value has a '/', and reports lines of it.
TEST(ClusterChecks, RefusesValuesThatAreFilesOrWords) {
  for (const char* option : {"nodelist=/etc/passwd", "exclude=./nodes", "job-name=../x", "time=1;id", "time=1 sh",
                             "partition=-x", "partition=", "time=%j", "account=a/b", "time=1\n--error=x"}) {
    expect_refused(check_cluster({.ssh = {}, .slurm = {option}}), "is not an option; allowed: ");
  }
}

TEST(ClusterChecks, RefusesHostsTogetherWithSlurm) {
  expect_refused(check_cluster({.ssh = {"a"}, .slurm = {"time=1"}}), "leave out one");
}

TEST(ProgramPaths, GivesEachHostItsPath) {
  const std::vector<std::string> hosts{"node1", "ssh://me@node2:22", "node3"};
  const auto paths = read_program_paths({"/opt/a=b/lanista", "node1=lanista", "ssh://me@node2:22=/x=y"}, hosts, "/own");
  ASSERT_TRUE(paths.ok()) << paths.error().text();
  EXPECT_EQ(paths->path_on("node1"), "lanista");
  EXPECT_EQ(paths->path_on("ssh://me@node2:22"), "/x=y");
  EXPECT_EQ(paths->path_on("node3"), "/opt/a=b/lanista");
  EXPECT_EQ(read_program_paths({}, hosts, "/own")->path_on("node1"), "/own");
}

TEST(ProgramPaths, RefusesBadPathsAndUnknownHosts) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> bad{
      {{"-oProxyCommand=id"}, "'-oProxyCommand' is not a host of this study; allowed: node1, node2"},
      {{"-x"}, "'-x' starts with '-'"},
      {{"node1=-x"}, "'-x' starts with '-'"},
      {{"node1="}, "is empty"},
      {{""}, "is empty"},
      {{"node3=/x"}, "'node3' is not a host of this study; allowed: node1, node2"},
      {{"/a", "/b"}, "'/b' is a second path for all hosts"},
      {{"node1=/a", "node1=/b"}, "second path for node1"},
      {{std::string("/a\0b", 4)}, "NUL"}};
  for (const auto& [values, message] : bad) {
    const auto paths = read_program_paths(values, {"node1", "node2"}, "/own");
    ASSERT_FALSE(paths.ok()) << message;
    EXPECT_NE(paths.error().text().find(message), std::string::npos) << paths.error().text();
  }
}

// An empty word disappears in the command line of the remote shell. Then the shell would run "worker".
TEST(ProgramPaths, RefusesAnUnknownPathOfThisProgram) { EXPECT_FALSE(read_program_paths({}, {"node1"}, "").ok()); }

TEST(ProgramPaths, ChecksStageHostsAndPaths) {
  const auto good = programs_of_hosts({"here", "node1"}, {"/a", "/b"});
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good->path_on("node1"), "/b");
  EXPECT_FALSE(programs_of_hosts({"node1"}, {}).ok());
  EXPECT_FALSE(programs_of_hosts({"node1"}, {"-x"}).ok());
  EXPECT_FALSE(programs_of_hosts({"-oProxyCommand=true"}, {"/a"}).ok());
}

// The shell of the host reads an unquoted A=b as an assignment, and would run "worker".
TEST(ProgramPaths, QuotesPathsForTheRemoteShell) {
  for (const char* path : {"A=b", "/opt/my tools/lanista", "~/lanista", "/x*", "%1", "/a;id", "[x]"}) {
    const auto places = ssh_and_slurm_launchers({.ssh = {"node1"}, .slurm = {}}, ProgramPaths{path});
    ASSERT_EQ(places.size(), 1U);
    EXPECT_EQ(places[0].arguments[6], "'" + std::string(path) + "'");
  }
}

TEST(ProgramPaths, FollowEndOfOptions) {
  const auto jobs = ssh_and_slurm_launchers({.ssh = {}, .slurm = {"partition=short"}}, ProgramPaths{"/opt/lanista"});
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].arguments,
            (std::vector<std::string>{"srun", "--unbuffered", "--nodes=1", "--ntasks=1", "--partition=short", "--",
                                      "/opt/lanista", "worker", "--stdio"}));
  const auto hosts =
      ssh_and_slurm_launchers({.ssh = {"node1", "node2"}, .slurm = {}}, ProgramPaths{"/a", {{"node2", "/b"}}});
  ASSERT_EQ(hosts.size(), 2U);
  EXPECT_EQ(hosts[1].arguments,
            (std::vector<std::string>{"ssh", "-T", "-o", "BatchMode=yes", "--", "node2", "/b", "worker", "--stdio"}));
  EXPECT_EQ(ssh_and_slurm_launchers({.ssh = {"ssh://me@node2:22"}, .slurm = {}}, ProgramPaths{"/a"})[0].host, "node2");
}

}  // namespace
}  // namespace lanista::engine::testing
