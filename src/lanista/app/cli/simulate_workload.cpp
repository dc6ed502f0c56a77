#include "lanista/app/cli/simulate_workload.h"

#include <cstdint>
#include <cstdio>
#include <iostream>
#include <utility>

#include <nlohmann/json.hpp>

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/session.h"
#include "lanista/app/cli/terminal.h"
#include "lanista/app/cli/text_table.h"
#include "lanista/base/file_system.h"
#include "lanista/plan/goodput/bounds.h"
#include "lanista/plan/goodput/policies.h"

namespace lanista::cli {
namespace {

using goodput::ClusterResult;
using goodput::NamedPolicy;

struct PolicyResult {
  std::string policy;
  ClusterResult simulation;
};

Error unknown_policy_error(const std::string& name) {
  std::string known;
  for (const NamedPolicy& policy : goodput::policies()) known += (known.empty() ? "" : ", ") + policy.name;
  return {Code::kInvalidArgument, "'" + name + "' is not a policy; allowed: " + known, "--policy"};
}

Result<std::vector<const NamedPolicy*>> selected_policies(const std::vector<std::string>& names) {
  std::vector<const NamedPolicy*> out;
  for (const std::string& name : names) {
    const NamedPolicy* policy = goodput::find_policy(name);
    if (policy == nullptr) return unknown_policy_error(name);
    out.push_back(policy);
  }
  if (names.empty()) {
    for (const NamedPolicy& policy : goodput::policies()) out.push_back(&policy);
  }
  return out;
}

std::string rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.0f", value);
  return text;
}

std::string hundredths(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f", value);
  return text;
}

void print_text(const std::vector<PolicyResult>& results, const goodput::CompletionBounds& bounds, std::size_t jobs,
                const goodput::Nodes& nodes) {
  std::cout << jobs << " jobs on " << nodes.count << " nodes of " << nodes.devices
            << " devices; lower bound of the mean: " << rounded(bounds.best()) << " s\n";
  std::vector<TableRow> rows{{"policy", "mean s", "of bound", "99 % s", "all s", "device h", "moves"}};
  for (const PolicyResult& one : results) {
    const ClusterResult& simulation = one.simulation;
    rows.push_back({one.policy, rounded(simulation.mean_completion()),
                    hundredths(simulation.mean_completion() / bounds.best()),
                    rounded(simulation.completion_quantile(0.99)), rounded(simulation.makespan),
                    hundredths(simulation.device_seconds() / 3600), std::to_string(simulation.restarts())});
  }
  std::cout << text_table(rows, {false, true, true, true, true, true, true});
}

void print_json(const std::vector<PolicyResult>& results, const goodput::CompletionBounds& bounds) {
  nlohmann::json policies = nlohmann::json::array();
  for (const PolicyResult& one : results) {
    nlohmann::json jobs = nlohmann::json::array();
    for (const goodput::JobOutcome& job : one.simulation.jobs) {
      jobs.push_back({{"submitted", job.submitted},
                      {"began", job.began},
                      {"ended", job.ended},
                      {"moves", job.restarts},
                      {"device_seconds", job.device_seconds}});
    }
    policies.push_back({{"policy", one.policy},
                        {"mean_completion", one.simulation.mean_completion()},
                        {"makespan", one.simulation.makespan},
                        {"jobs", std::move(jobs)}});
  }
  std::cout << json_line({{"bound", bounds.best()}, {"policies", std::move(policies)}});
}

}  // namespace

int simulate_workload(const WorkloadRequest& request) {
  const auto policies = selected_policies(request.policies);
  if (!policies) return print_error(policies.error());
  const auto workload = goodput::read_workload(real_file_system(), request.workload, request.data);
  if (!workload) return print_error(workload.error());
  const goodput::Nodes nodes{request.nodes, request.devices};
  const auto bounds = goodput::bounds_of(*workload, nodes);
  std::vector<PolicyResult> results;
  for (const NamedPolicy* policy : *policies) {
    goodput::SimulationOptions options = policy->options;
    options.nodes = nodes;
    const auto allocator = policy->make(0);
    auto simulation = goodput::simulate(*workload, *allocator, options);
    if (!simulation) return print_error(simulation.error());
    results.push_back({policy->name, *std::move(simulation)});
  }
  request.json ? print_json(results, bounds) : print_text(results, bounds, workload->jobs.size(), nodes);
  return kDone;
}

}  // namespace lanista::cli
