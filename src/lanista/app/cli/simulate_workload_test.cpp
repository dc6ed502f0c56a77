#include "lanista/app/cli/simulate_workload.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "lanista/app/cli/app.h"
#include "lanista/base/file_system.h"
#include "lanista/plan/goodput/policies.h"
#include "support/plan/goodput/test_support.h"

namespace lanista::cli {
namespace {

struct CapturedOutput {
  int code = 0;
  std::string out, error;
};

CapturedOutput run_captured(const WorkloadRequest& request) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  CapturedOutput captured{simulate_workload(request), {}, {}};
  captured.out = ::testing::internal::GetCapturedStdout();
  captured.error = ::testing::internal::GetCapturedStderr();
  return captured;
}

/// Two jobs of one application, on two nodes of four devices.
class SimulateWorkload : public ::testing::Test {
 protected:
  SimulateWorkload() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lanista_workload_XXXXXX").string();
    LANISTA_CHECK(::mkdtemp(pattern.data()) != nullptr, "no temporary folder");
    folder_ = pattern;
    std::filesystem::create_directories(folder_ + "/data/traces/net");
    goodput::write_net(real_file_system(), folder_ + "/data/traces/net");
    write("name,time,application,num_replicas,batch_size\nfirst,0,net,2,256\nsecond,60,net,1,32\n");
    request_.workload = folder_ + "/jobs.csv";
    request_.data = folder_ + "/data";
    request_.nodes = 2;
  }
  ~SimulateWorkload() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& jobs) { goodput::write_text(real_file_system(), folder_ + "/jobs.csv", jobs); }

  std::string folder_;
  WorkloadRequest request_;
};

TEST_F(SimulateWorkload, PrintsRowForEachPolicyAndBound) {
  const CapturedOutput captured = run_captured(request_);

  ASSERT_EQ(captured.code, kDone) << captured.error;
  std::istringstream lines(captured.out);
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_TRUE(line.starts_with("2 jobs on 2 nodes of 4 devices; lower bound of the mean: ")) << line;
  ASSERT_TRUE(std::getline(lines, line));
  for (const char* head : {"policy", "mean s", "of bound", "99 % s", "all s", "device h", "moves"}) {
    EXPECT_NE(line.find(head), std::string::npos) << line;
  }
  for (const goodput::NamedPolicy& policy : goodput::policies()) {
    ASSERT_TRUE(std::getline(lines, line)) << policy.name;
    std::istringstream words(line);
    std::string name;
    double mean = 0, of_bound = 0;
    words >> name >> mean >> of_bound;
    EXPECT_EQ(name, policy.name);
    EXPECT_GT(mean, 0) << line;
    EXPECT_GE(of_bound, 1) << line;
  }
  EXPECT_FALSE(std::getline(lines, line)) << line;
}

// The figures of a job are consistent with each other, with those of its policy, and with the table.
TEST_F(SimulateWorkload, ReportsResultOfEachJob) {
  request_.policies = {goodput::policies().back().name, goodput::policies().front().name};
  request_.json = true;
  const CapturedOutput captured = run_captured(request_);
  ASSERT_EQ(captured.code, kDone) << captured.error;
  const auto output = nlohmann::json::parse(captured.out);
  request_.json = false;
  const CapturedOutput table = run_captured(request_);

  ASSERT_EQ(output.at("policies").size(), 2U);
  for (std::size_t k = 0; k < 2; ++k) {
    const auto& policy = output.at("policies")[k];
    EXPECT_EQ(policy.at("policy"), request_.policies[k]) << "in the order in which they were asked for";
    ASSERT_EQ(policy.at("jobs").size(), 2U);
    double sum = 0, last = 0;
    for (const auto& job : policy.at("jobs")) {
      EXPECT_LE(job.at("submitted").get<double>(), job.at("began").get<double>());
      EXPECT_LT(job.at("began").get<double>(), job.at("ended").get<double>());
      EXPECT_GT(job.at("device_seconds").get<double>(), 0);
      EXPECT_GE(job.at("moves").get<int>(), 0);
      sum += job.at("ended").get<double>() - job.at("submitted").get<double>();
      last = std::max(last, job.at("ended").get<double>());
    }
    EXPECT_EQ(policy.at("jobs")[1].at("submitted"), 60);
    EXPECT_NEAR(policy.at("mean_completion").get<double>(), sum / 2, 1e-9 * sum);
    EXPECT_NEAR(policy.at("makespan").get<double>(), last, 1e-9 * last);
    EXPECT_GE(sum / 2, output.at("bound").get<double>() * (1 - 1e-12));
    char mean[32];
    std::snprintf(mean, sizeof mean, "%.0f", sum / 2);
    const auto row = table.out.find("\n " + request_.policies[k] + " ");
    ASSERT_NE(row, std::string::npos) << table.out;
    EXPECT_NE(table.out.substr(row, table.out.find('\n', row + 1) - row).find(std::string(" ") + mean + " "),
              std::string::npos)
        << mean << table.out;
  }
}

TEST_F(SimulateWorkload, RefusesUnknownPolicyAndListsPolicies) {
  request_.policies = {goodput::policies().front().name, "luck"};
  const CapturedOutput captured = run_captured(request_);

  EXPECT_EQ(captured.code, kUsage);
  EXPECT_EQ(captured.out, "");
  EXPECT_NE(captured.error.find("'luck' is not a policy; allowed: "), std::string::npos) << captured.error;
  EXPECT_NE(captured.error.find("--policy"), std::string::npos) << captured.error;
  for (const goodput::NamedPolicy& policy : goodput::policies()) {
    EXPECT_NE(captured.error.find(policy.name), std::string::npos) << policy.name << " " << captured.error;
  }
}

TEST_F(SimulateWorkload, NamesFileAndError) {
  const std::string head = "name,time,application,num_replicas,batch_size\n";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"name,time,application,num_replicas\na,0,net,1\n", "column batch_size is missing"},
      {"time,application,num_replicas,batch_size\n0,net,1,32\n", "column name is missing"},
      {head, "the file has no jobs"},
      {head + "a,0,net,0,32\n", "row 1: num_replicas is '0'"},
      {head + "a,soon,net,1,32\n", "row 1: time is 'soon'"},
      {head + "a,0,../net,1,32\n", "row 1: application is '../net'"},
      {head + "a,0,net,1,32\nb,0,net,1,100000\n", "row 2: batch_size is '100000'"}};
  for (const auto& [jobs, message] : cases) {
    write(jobs);
    const CapturedOutput captured = run_captured(request_);
    EXPECT_EQ(captured.code, kRefused) << message;
    EXPECT_EQ(captured.out, "");
    EXPECT_NE(captured.error.find(message), std::string::npos) << captured.error;
    EXPECT_NE(captured.error.find("jobs.csv"), std::string::npos) << captured.error;
  }
  std::filesystem::remove(request_.workload);
  EXPECT_EQ(run_captured(request_).code, kUsage);
}

}  // namespace
}  // namespace lanista::cli
