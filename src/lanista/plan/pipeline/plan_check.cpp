#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>

#include "lanista/base/json_object.h"
#include "lanista/plan/pipeline/plan.h"

namespace lanista::pipeline {
namespace {

using nlohmann::json;

Error wrong(std::string message, Code code = Code::kInvalidArgument) { return {code, std::move(message), ""}; }

Result<void> check_stage(const PipelinePlan& plan, std::size_t s, const Problem& problem) {
  const Stage& stage = plan.stages[s];
  const std::string name = "stage " + std::to_string(s);
  if (stage.operators.empty()) return wrong(name + " has no operator; it needs at least one");
  if (stage.micro_batch < 1 || plan.batch % stage.micro_batch != 0) {
    return wrong(name + ": a micro-batch of " + std::to_string(stage.micro_batch) + " does not divide the batch of " +
                 std::to_string(plan.batch));
  }
  if (stage.k < 1 || stage.k > plan.batch)
    return wrong(name + ": k is " + std::to_string(stage.k) + "; it must be at least 1");
  if (stage.in_flight < stage.micro_batch || stage.in_flight > plan.batch || stage.in_flight % stage.micro_batch != 0) {
    return wrong(name + ": " + std::to_string(stage.in_flight) + " samples in flight; allowed are multiples of " +
                 std::to_string(stage.micro_batch) + " up to " + std::to_string(plan.batch));
  }
  if (stage.devices.empty()) return wrong(name + " has no device; it needs at least one");
  for (std::size_t i = 0; i < stage.devices.size(); ++i) {
    const std::int64_t device = stage.devices[i];
    if (device < 0 || device >= problem.devices.count() || (i > 0 && device <= stage.devices[i - 1])) {
      return wrong(name + ": device " + std::to_string(device) + "; allowed are 0 to " +
                   std::to_string(problem.devices.count() - 1) + ", ascending");
    }
    if (problem.devices.class_of(device) != problem.devices.class_of(stage.devices[0])) {
      return wrong(name + ": devices of two classes; allowed is one class a stage");
    }
  }
  for (std::size_t i = 0; i < stage.successors.size(); ++i) {
    if (stage.successors[i] <= s || stage.successors[i] >= plan.stages.size() ||
        (i > 0 && stage.successors[i] <= stage.successors[i - 1])) {
      return wrong(name + ": successor " + std::to_string(stage.successors[i]) +
                   "; allowed are later stages, ascending");
    }
  }
  return {};
}

Result<void> check_devices(const PipelinePlan& plan) {
  std::map<std::int64_t, std::size_t> owner;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    for (const std::int64_t device : plan.stages[s].devices) {
      const auto [at, fresh] = owner.emplace(device, s);
      if (!fresh && plan.stages[at->second].devices != plan.stages[s].devices) {
        return wrong("device " + std::to_string(device) + " is in stages " + std::to_string(at->second) + " and " +
                     std::to_string(s) + "; allowed are stages with the same devices, or with none in common");
      }
    }
  }
  return {};
}

template <class T>
std::vector<T> numbers(const json& value, std::int64_t most) {
  std::vector<T> out;
  for (const json& each : value) {
    if (!each.is_number_integer()) throw std::out_of_range("a list of whole numbers");
    const auto number = each.get<std::int64_t>();
    if (number < 0 || number > most) throw std::out_of_range("numbers from 0 to " + std::to_string(most));
    out.push_back(static_cast<T>(number));
  }
  return out;
}

std::int64_t count_at(const json& object, const char* key) {
  const json& value = object.at(key);
  if (!value.is_number_integer() || value.get<std::int64_t>() < 1 ||
      value.get<std::int64_t>() > (std::int64_t{1} << 40)) {
    throw std::out_of_range(std::string(key) + ": a whole number from 1 to 2^40");
  }
  return value.get<std::int64_t>();
}

}  // namespace

Result<void> check(const PipelinePlan& plan, const Problem& problem) {
  if (plan.model != problem.model.hash) {
    return wrong("the plan is of model " + plan.model.hex() + "; this model is " + problem.model.hash.hex(),
                 Code::kFailedPrecondition);
  }
  if (plan.batch != problem.model.batch) {
    return wrong("the plan is for a batch of " + std::to_string(plan.batch) + "; this model's is " +
                 std::to_string(problem.model.batch));
  }
  std::vector<int> seen(problem.model.operators.size(), 0);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    LANISTA_TRY(check_stage(plan, s, problem));
    for (const std::uint32_t op : plan.stages[s].operators) {
      if (op >= seen.size() || seen[op]++ > 0) {
        return wrong("stage " + std::to_string(s) + ": operator " + std::to_string(op) +
                     " does not exist or is listed twice");
      }
    }
  }
  if (const auto missing = std::ranges::find(seen, 0); missing != seen.end()) {
    return wrong("operator " + std::to_string(missing - seen.begin()) + " is in no stage");
  }
  for (const StageEdge& edge : edges_of(plan, problem.model)) {
    const auto& successors = plan.stages[edge.from].successors;
    if (edge.to <= edge.from || !std::ranges::binary_search(successors, edge.to)) {
      return wrong("stage " + std::to_string(edge.to) + " reads stage " + std::to_string(edge.from) +
                   ", which must precede it and have it as a successor");
    }
  }
  LANISTA_TRY(check_devices(plan));
  return fits(plan, problem);
}

Result<void> fits(const PipelinePlan& plan, const Problem& problem) {
  const auto bytes = bytes_of(plan, problem.model);
  std::map<std::int64_t, double> held;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const std::int64_t device = plan.stages[s].devices[0];
    const DeviceClass& its = problem.devices.classes[problem.devices.class_of(device)];
    if ((held[device] += bytes[s]) > its.memory_bytes) {
      return wrong("stage " + std::to_string(s) + " needs " +
                       std::to_string(static_cast<std::int64_t>(held[device] / 1e6)) +
                       " MB with the other stages of its device; a device of class " + its.name + " has " +
                       std::to_string(static_cast<std::int64_t>(its.memory_bytes / 1e6)) + " MB",
                   Code::kResourceExhausted);
    }
  }
  return {};
}

json plan_json(const PipelinePlan& plan) {
  json stages = json::array();
  for (const Stage& stage : plan.stages) {
    stages.push_back(json_object("operators", stage.operators, "micro_batch", stage.micro_batch, "k", stage.k,
                                 "devices", stage.devices, "in_flight", stage.in_flight, "successors",
                                 stage.successors));
  }
  return json_object("pipeline", 1, "model", plan.model.hex(), "batch", plan.batch, "stages", std::move(stages));
}

Result<PipelinePlan> read_plan(const json& in) {
  PipelinePlan plan;
  std::string rank = "plan";
  try {
    const json& version = in.at("pipeline");
    if (!version.is_number_integer() || version.get<std::int64_t>() != 1) {
      return wrong("plan: pipeline is " + version.dump().substr(0, 40) + "; allowed is 1", Code::kDataLoss);
    }
    const auto hash = Digest::from_hex(in.at("model").get<std::string>());
    if (!hash) return wrong("plan: model must be a hash of 32 hexadecimal digits", Code::kDataLoss);
    plan.model = *hash;
    plan.batch = count_at(in, "batch");
    const json& stages = in.at("stages");
    if (!stages.is_array() || stages.empty())
      return wrong("plan: stages must be a list of at least one stage", Code::kDataLoss);
    for (const json& each : stages) {
      rank = "plan: stage " + std::to_string(plan.stages.size());
      Stage stage;
      stage.operators = numbers<std::uint32_t>(each.at("operators"), kMaxOperators);
      stage.micro_batch = count_at(each, "micro_batch");
      stage.k = count_at(each, "k");
      stage.devices = numbers<std::int64_t>(each.at("devices"), kMaxDevices);
      stage.in_flight = count_at(each, "in_flight");
      stage.successors = numbers<std::uint32_t>(each.at("successors"), kMaxOperators);
      plan.stages.push_back(std::move(stage));
    }
  } catch (const json::exception& e) {
    return wrong(rank + ": " + e.what(), Code::kDataLoss);
  } catch (const std::out_of_range& e) {
    return wrong(rank + ": allowed is " + e.what(), Code::kDataLoss);
  }
  return plan;
}

}  // namespace lanista::pipeline
