#include "lanista/exec/pipeline_parallel/stage_task.h"

#include <limits>

#include <nlohmann/json.hpp>

#include "lanista/exec/program/program.h"
#include "lanista/search/study/record_table.h"

namespace lanista::runtime {
namespace {

using nlohmann::json;
using study::fields::FieldTable;
using study::fields::Malformed;

std::uint32_t number(const json& in) {
  if (!in.is_number_unsigned() || in.get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max()) {
    throw Malformed{"a number does not fit in 32 bits"};
  }
  return in.get<std::uint32_t>();
}

constexpr std::int64_t kMostBatch = std::int64_t{1} << 20;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 48;

void within(FieldTable& t, const char* key, std::int64_t& value, std::int64_t least, std::int64_t most) {
  t(key, value);
  if (!t.reads() || (value >= least && value <= most)) return;
  throw Malformed{"'" + std::string(key) + "' is " + std::to_string(value) + "; allowed: " + std::to_string(least) +
                  " to " + std::to_string(most)};
}

void table(FieldTable& t, program::Stage& stage) {
  within(t, "micro_batches", stage.micro_batches, 1, program::kMaxBatchParts);
  within(t, "slots", stage.slots, 1, program::kMaxBatchParts);
  t.list(
      "nodes", stage.nodes, [](graph::NodeId node) { return json(node.value); },
      [](const json& node) { return graph::NodeId{number(node)}; });
  t.list(
      "after", stage.successors, [](std::uint32_t next) { return json(next); }, number);
}

json passes_json(const std::vector<program::StagePass>& passes) {
  json out = json::array();
  for (const program::StagePass& pass : passes) {
    out.push_back(json::array({static_cast<std::uint32_t>(pass.kind), pass.stage, pass.micro}));
  }
  return out;
}

std::vector<program::StagePass> read_passes(const json& in) {
  std::vector<program::StagePass> passes;
  for (const json& pass : in) {
    if (!pass.is_array() || pass.size() != 3 || number(pass[0]) > 3) throw Malformed{"a pass is malformed"};
    passes.push_back({static_cast<program::StagePass::Kind>(number(pass[0])), number(pass[1]), number(pass[2])});
  }
  return passes;
}

void table(FieldTable& t, program::Stages& stages) {
  within(t, "place_bytes", stages.rank_bytes, 0, kMostBytes);
  t("apart", stages.has_separate_memory).list("stages", stages.stages, table);
  t.list("places", stages.ranks, passes_json, read_passes);
}

void table(FieldTable& t, StageTask& task) {
  std::string precision = task.precision == Precision::kFloat64 ? "float64" : "float32";
  auto task_number = static_cast<std::int64_t>(task.number), rank = static_cast<std::int64_t>(task.rank);
  t("model", task.model)("loss", task.step.loss)("optimizer", task.step.optimizer)("build", task.build);
  t("isa", task.isa)("precision", precision);
  if (t.reads()) task.precision = precision == "float64" ? Precision::kFloat64 : Precision::kFloat32;
  within(t, "max_batch", task.max_batch, 1, kMostBatch);
  within(t, "shards", task.shards, 1, program::kMaxBatchParts);
  within(t, "accumulate", task.accumulate, 1, program::kMaxBatchParts);
  t.via("stages", task.stages, table);
  within(t, "number", task_number, 0, std::numeric_limits<std::int64_t>::max());
  t("place", rank)("memory", task.memory);
  within(t, "bytes", task.bytes, 0, kMostBytes);
  t("digest", task.digest);
  if (!t.reads()) return;
  task.number = static_cast<std::uint64_t>(task_number);
  task.rank = static_cast<std::uint64_t>(rank);
  t.check(task.rank < task.stages.ranks.size(), "'place' is not one of the ranks");
}

}  // namespace

std::string encode(const StageTask& task) {
  return study::fields::write_table(task, table).dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<StageTask> decode_stage_task(std::string_view text) {
  const json in = json::parse(text, nullptr, false);
  if (in.is_discarded()) return Error{Code::kDataLoss, "broken stage task: not JSON", ""};
  return study::fields::read_table<StageTask>("stage task", in, table);
}

}  // namespace lanista::runtime
