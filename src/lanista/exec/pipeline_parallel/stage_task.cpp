#include "lanista/exec/pipeline_parallel/stage_task.h"

#include <limits>

#include <nlohmann/json.hpp>

#include "lanista/exec/program/program.h"
#include "lanista/search/study/record_fields.h"

namespace lanista::runtime {
namespace {

using nlohmann::json;
using study::fields::array;
using study::fields::flag;
using study::fields::integer;
using study::fields::Malformed;
using study::fields::member;
using study::fields::text;

json numbers_of(const std::vector<std::uint32_t>& numbers) { return json(numbers); }

std::uint32_t number(const json& in) {
  if (!in.is_number_unsigned() || in.get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max()) {
    throw Malformed{"a number does not fit in 32 bits"};
  }
  return in.get<std::uint32_t>();
}

constexpr std::int64_t kMostBatch = std::int64_t{1} << 20;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 48;

std::int64_t within(const json& in, const char* key, std::int64_t least, std::int64_t most) {
  const std::int64_t value = integer(in, key);
  if (value >= least && value <= most) return value;
  throw Malformed{"'" + std::string(key) + "' is " + std::to_string(value) + "; allowed: " + std::to_string(least) +
                  " to " + std::to_string(most)};
}

json to_json(const program::Stages& stages) {
  json out{{"stages", json::array()},
           {"places", json::array()},
           {"place_bytes", stages.rank_bytes},
           {"apart", stages.has_separate_memory}};
  for (const program::Stage& stage : stages.stages) {
    json nodes = json::array();
    for (const graph::NodeId node : stage.nodes) nodes.push_back(node.value);
    out["stages"].push_back({{"nodes", std::move(nodes)},
                             {"micro_batches", stage.micro_batches},
                             {"slots", stage.slots},
                             {"after", numbers_of(stage.successors)}});
  }
  for (const auto& rank : stages.ranks) {
    json passes = json::array();
    for (const program::StagePass& pass : rank) {
      passes.push_back(json::array({static_cast<std::uint32_t>(pass.kind), pass.stage, pass.micro}));
    }
    out["places"].push_back(std::move(passes));
  }
  return out;
}

program::Stages read_stages(const json& in) {
  program::Stages stages;
  stages.rank_bytes = within(in, "place_bytes", 0, kMostBytes);
  stages.has_separate_memory = flag(in, "apart");
  for (const json& each : array(in, "stages")) {
    program::Stage stage{.nodes = {},
                         .micro_batches = within(each, "micro_batches", 1, program::kMaxBatchParts),
                         .slots = within(each, "slots", 1, program::kMaxBatchParts),
                         .successors = {}};
    for (const json& node : array(each, "nodes")) stage.nodes.push_back(graph::NodeId{number(node)});
    for (const json& next : array(each, "after")) stage.successors.push_back(number(next));
    stages.stages.push_back(std::move(stage));
  }
  for (const json& rank : array(in, "places")) {
    stages.ranks.emplace_back();
    for (const json& pass : rank) {
      if (!pass.is_array() || pass.size() != 3 || number(pass[0]) > 3) throw Malformed{"a pass is malformed"};
      stages.ranks.back().push_back(
          {static_cast<program::StagePass::Kind>(number(pass[0])), number(pass[1]), number(pass[2])});
    }
  }
  return stages;
}

StageTask read_task(const json& in) {
  StageTask task;
  task.model = text(in, "model");
  task.step = {text(in, "loss"), text(in, "optimizer")};
  task.build = text(in, "build");
  task.isa = text(in, "isa");
  task.precision = text(in, "precision") == "float64" ? Precision::kFloat64 : Precision::kFloat32;
  task.max_batch = within(in, "max_batch", 1, kMostBatch);
  task.shards = within(in, "shards", 1, program::kMaxBatchParts);
  task.accumulate = within(in, "accumulate", 1, program::kMaxBatchParts);
  task.stages = read_stages(member(in, "stages"));
  task.number = static_cast<std::uint64_t>(within(in, "number", 0, std::numeric_limits<std::int64_t>::max()));
  task.rank = static_cast<std::uint64_t>(integer(in, "place"));
  if (task.rank >= task.stages.ranks.size()) throw Malformed{"'place' is not one of the ranks"};
  task.memory = text(in, "memory");
  task.bytes = within(in, "bytes", 0, kMostBytes);
  task.digest = study::fields::digest(in, "digest");
  return task;
}

}  // namespace

std::string encode(const StageTask& task) {
  return json{{"model", task.model},
              {"loss", task.step.loss},
              {"optimizer", task.step.optimizer},
              {"build", task.build},
              {"isa", task.isa},
              {"precision", task.precision == Precision::kFloat64 ? "float64" : "float32"},
              {"max_batch", task.max_batch},
              {"shards", task.shards},
              {"accumulate", task.accumulate},
              {"stages", to_json(task.stages)},
              {"number", task.number},
              {"place", task.rank},
              {"memory", task.memory},
              {"bytes", task.bytes},
              {"digest", task.digest.hex()}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<StageTask> decode_stage_task(std::string_view text) {
  const json in = json::parse(text, nullptr, false);
  if (in.is_discarded()) return Error{Code::kDataLoss, "broken stage task: not JSON", ""};
  return study::fields::read_record<StageTask>("stage task", [&] { return read_task(in); });
}

}  // namespace lanista::runtime
