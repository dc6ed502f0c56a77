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

// `heads` linear heads on `features` numbers, as one product.
Case linear_heads(std::int64_t features, std::int64_t heads) {
  graph::GraphBuilder builder;
  const std::vector<std::int64_t> sample{features};
  const graph::Port input{builder.add("input", {}, {{"shape", sample}, {"dtype", std::string("real")}}), 0};
  const std::int64_t out = heads * kCaseClasses;
  const graph::Port logits{builder.add("linear", {input}, {{"out", out}}), 0};
  builder.add("output", {logits});
  return {.name = "heads-" + std::to_string(features),
          .model = std::move(builder).take(),
          .sample = sample,
          .classes = out};
}

void print_rows(const BenchRequest& request, const std::string& name, const std::vector<Arm>& arms, std::ostream& out) {
  const auto values = run_rounds(arms, request.repeats);
  for (std::size_t arm = 0; arm < arms.size(); ++arm) {
    print(summary("merged", name, arms[arm].name, "us", values[arm]), request.json, out);
  }
  const std::string& last = arms.back().name;
  for (const BenchRow& row : compare_to_best("merged", name, arms.front().name, last, arms, values,
                                             [&](const std::string& arm) { return arm != last; })) {
    print(row, request.json, out);
  }
}

Result<void> run_heads(const BenchRequest& request, std::int64_t features, std::int64_t heads, std::ostream& out) {
  const Case one = linear_heads(features, 1), all = linear_heads(features, heads);
  LANISTA_ASSIGN(LaneTimeSlices lanes, LaneTimeSlices::make(one, 0, heads, std::make_shared<CaseBatch>(one)));
  LANISTA_ASSIGN(LanistaProgram wide, LanistaProgram::make(all, 1, 1));
  RepeatedWork merged_work = wide.work();
  merged_work.models = static_cast<double>(heads);
  print_rows(request, one.name + "/" + std::to_string(heads),
             {timed("lanes", {lanes.work()}), timed("merged", {merged_work})}, out);
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
      for (const std::int64_t heads : counts) LANISTA_TRY(run_heads(request, features, heads, out));
    }
  }
  LANISTA_ASSIGN(const std::vector<Case> cases, training_cases(request.cases));
  for (const Case& c : cases) {
    for (const std::int64_t models : counts) LANISTA_TRY(run_models(request, c, models, out));
  }
  return {};
}

}  // namespace lanista::bench
