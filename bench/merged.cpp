#include "bench/merged.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/case_net.h"
#include "bench/lane_time_slices.h"
#include "bench/model_time_slices.h"

namespace lanista::bench {
namespace {

// `heads` linear heads of `classes` classes on `features` numbers, as one layer.
Case linear_heads(std::int64_t features, std::int64_t classes, std::int64_t heads) {
  graph::GraphBuilder builder;
  const std::vector<std::int64_t> sample{features};
  const graph::Port input{builder.add("input", {}, {{"shape", sample}, {"dtype", std::string("real")}}), 0};
  const std::int64_t out = heads * classes;
  const graph::Port logits{builder.add("linear", {input}, {{"out", out}}), 0};
  builder.add("output", {logits});
  return {.name = "heads-" + std::to_string(features) + "x" + std::to_string(classes),
          .model = std::move(builder).take(),
          .sample = sample,
          .classes = out};
}

void print_rows(const BenchRequest& request, const std::string& name, const std::vector<Arm>& arms, std::ostream& out) {
  const auto values = run_rounds(arms, request.repeats);
  for (std::size_t arm = 0; arm < arms.size(); ++arm) {
    print(summary("merged", name, arms[arm].name, "us", values[arm]), request.json, out);
  }
  for (std::size_t other = 0; other + 1 < arms.size(); ++other) {
    const auto is_other = [&](const std::string& arm) { return arm == arms[other].name; };
    for (const BenchRow& row :
         compare_to_best("merged", name, arms[other].name, arms.back().name, arms, values, is_other)) {
      print(row, request.json, out);
    }
  }
}

// The heads as lanes with a batch each, as lanes with one batch, and as one layer with one loss.
Result<void> run_heads(const BenchRequest& request, std::int64_t features, std::int64_t classes, std::int64_t heads,
                       std::ostream& out) {
  const Case one = linear_heads(features, classes, 1), all = linear_heads(features, classes, heads);
  const auto batch = std::make_shared<const CaseBatch>(one);
  LANISTA_ASSIGN(LanistaProgram apart, LanistaProgram::make(one, {.lanes = heads, .own_batches = true}, batch));
  LANISTA_ASSIGN(LanistaProgram joint, LanistaProgram::make(one, {.lanes = heads}, batch));
  LANISTA_ASSIGN(LanistaProgram layer, LanistaProgram::make(all, 1, 1));
  RepeatedWork layer_work = layer.work();
  layer_work.models = static_cast<double>(heads);
  print_rows(request, one.name + "/" + std::to_string(heads),
             {timed("lanes", {apart.work()}), timed("one-layer", {layer_work}), timed("joint", {joint.work()})}, out);
  return {};
}

Result<void> run_models(const BenchRequest& request, const Case& c, std::int64_t models, std::ostream& out) {
  const auto batch = std::make_shared<const CaseBatch>(c);
  LANISTA_ASSIGN(ModelTimeSlices programs, ModelTimeSlices::make(c, 0, models, batch));
  LANISTA_ASSIGN(LaneTimeSlices lanes, LaneTimeSlices::make(c, 0, models, batch));
  print_rows(
      request, c.name + "/" + std::to_string(models),
      {timed("programs", {{[&programs] { programs.run_slice(); }, kSliceSteps}}), timed("lanes", {lanes.work()})}, out);
  return {};
}

}  // namespace

Result<void> merged(const BenchRequest& request, std::ostream& out) {
  const std::vector<std::int64_t> counts =
      request.lanes.empty() ? std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 64} : request.lanes;
  if (request.cases.empty()) {
    for (const std::int64_t features : {32, 128, 512}) {
      for (const std::int64_t classes : {2, 4, 8, 10}) {
        for (const std::int64_t heads : counts) LANISTA_TRY(run_heads(request, features, classes, heads, out));
      }
    }
  }
  LANISTA_ASSIGN(const std::vector<Case> cases, training_cases(request.cases));
  for (const Case& c : cases) {
    for (const std::int64_t models : counts) LANISTA_TRY(run_models(request, c, models, out));
  }
  return {};
}

}  // namespace lanista::bench
