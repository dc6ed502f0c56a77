#include "pipeline_models.h"

#include <algorithm>
#include <array>

#include "bench/random_plans.h"
#include "lanista/plan/pipeline/planner.h"

namespace lanista::testing {
namespace {

using graph::NodeId;
using graph::Port;
using pipeline::PipelinePlan;

constexpr std::int64_t kWidth = 6;

class Builder {
 public:
  Builder(Rng rng, Extras extras) : rng_(rng), extras_(extras) {}

  graph::Graph build() {
    Port x{model_.add("input", {}, {{"shape", std::vector<std::int64_t>{kWidth}}}), 0};
    if (!rng_.bernoulli(0.2)) x = linear(x, kWidth);
    x = series(x, 2);
    x = parallel(x, 1);
    x = series(x, 1);
    model_.add("output", {linear(x, 5)});
    return std::move(model_).take();
  }

 private:
  Port op(const std::string& name, std::vector<Port> inputs, graph::Attrs attrs = {}) {
    return {model_.add(name, std::move(inputs), std::move(attrs)), 0};
  }
  Port linear(Port x, std::int64_t out) { return op("linear", {x}, {{"out", out}}); }

  Port one(Port x) {
    const std::uint64_t choice = rng_.below(extras_ == Extras::kNone ? 7 : 10);
    if (choice < 3) return linear(x, kWidth);
    if (choice == 3) return op("relu", {x});
    if (choice == 4) return op("tanh", {x});
    if (choice == 5) return op("sigmoid", {x});
    if (choice == 6) return rng_.bernoulli(0.5) ? op("identity", {x}) : op("add", {x, x});
    if (extras_ == Extras::kBatchNorm) return op("batch_norm", {x});
    return choice < 9 ? op("layer_norm", {x}) : op("dropout", {x}, {{"p", 0.3}});
  }

  Port series(Port x, int depth) {
    for (std::uint64_t steps = 1 + rng_.below(3); steps > 0; --steps) {
      x = depth > 0 && rng_.bernoulli(0.4) ? parallel(x, depth - 1) : one(x);
    }
    return x;
  }

  Port parallel(Port x, int depth) {
    std::vector<Port> ends;
    const std::uint64_t branches = 2 + rng_.below(3);
    for (std::uint64_t i = 0; i < branches; ++i) {
      ends.push_back(i == 1 && rng_.bernoulli(0.3) ? x : series(x, depth));
    }
    switch (rng_.below(3)) {
      case 0:
        return op("add", ends);
      case 1:
        return joined(op("mul", {ends[0], ends[1]}), ends);
      default:
        return linear(op("concat", ends), kWidth);
    }
  }

  // Returns the sum of the product of the first two branches and the other branches.
  Port joined(Port product, const std::vector<Port>& ends) {
    std::vector<Port> summands{product};
    summands.insert(summands.end(), ends.begin() + 2, ends.end());
    return summands.size() == 1 ? summands.front() : op("add", summands);
  }

  Rng rng_;
  Extras extras_;
  graph::GraphBuilder model_;
};

// Returns two to six stages with micro-batches of one size or of a size for each stage, smaller than the batch.
PipelinePlan random_stage_plan(Rng& rng, const pipeline::Problem& problem, std::int64_t ranks, bool may_be_unequal) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t b = 1; b < problem.model.batch; ++b) {
    if (problem.model.batch % b == 0) sizes.push_back(b);
  }
  if (!may_be_unequal || rng.bernoulli(0.5)) sizes = {sizes[rng.below(sizes.size())]};
  const auto most = std::min<std::int64_t>(6, static_cast<std::int64_t>(problem.model.operators.size()));
  return bench::random_stage_plan(rng, problem, static_cast<std::size_t>(rng.between(2, most)), sizes, ranks);
}

}  // namespace

graph::Graph random_branchy(Rng rng, Extras extras) { return Builder(rng, extras).build(); }

PipelineCase random_case(Rng rng, const autodiff::TrainingStep& train, const graph::OpTable& ops, std::int64_t batch,
                         bool may_be_unequal) {
  PipelineCase made;
  made.planned = must(runtime::planned_step(train, ops, batch, 4));
  for (pipeline::Operator& op : made.planned.model.operators) {
    for (pipeline::Curve* curve : {&op.forward, &op.input_grad, &op.weight_grad}) {
      const double factor = rng.uniform(0.2, 5);
      for (double& seconds : *curve) seconds *= factor;
    }
  }
  const std::int64_t ranks = rng.between(1, 4);
  made.problem = {made.planned.model, runtime::single_devices(ranks, 1e-6)};
  const bool is_planned = rng.bernoulli(0.3);
  if (is_planned) {
    made.plan = must(pipeline::make_plan(made.problem, {.micro_batch = batch / (batch % 4 == 0 ? 4 : 2)})).plan;
  } else {
    made.plan = random_stage_plan(rng, made.problem, ranks, may_be_unequal);
  }
  auto& stages = made.plan.stages;
  made.is_equal = std::ranges::all_of(stages, [&](const auto& s) { return s.micro_batch == stages[0].micro_batch; });
  made.is_shared = stages.size() > static_cast<std::size_t>(ranks);
  // A greedy order of co-located stages may deadlock if their micro-batches have different sizes.
  const std::uint64_t kind = made.is_shared && !made.is_equal ? 2 : rng.below(4);
  made.kind = std::array{"1F1B", "2F2B", "gpipe", "split"}[kind];
  if (kind == 1 && made.is_equal && batch / stages[0].micro_batch % 2 == 0) {
    for (pipeline::Stage& stage : stages) stage.k = 2;
  }
  if (kind == 1 && !made.is_equal) pipeline::set_turns(made.plan);
  pipeline::set_in_flight(made.plan);
  if (kind == 2) {
    made.plan = pipeline::with_whole_batch_in_flight(made.plan);
    made.schedule = pipeline::gpipe(made.plan);
  } else {
    made.schedule =
        kind == 3 ? pipeline::split_backward(made.plan, made.problem) : pipeline::kfkb(made.plan, made.problem);
  }
  // A schedule that may deadlock is replaced by gpipe, which cannot.
  if (!pipeline::prove(made.schedule, made.plan) || !pipeline::check(made.plan, made.problem)) {
    made.kind = "gpipe instead";
    for (pipeline::Stage& stage : stages) stage.k = 1;
    made.plan = pipeline::with_whole_batch_in_flight(made.plan);
    made.schedule = pipeline::gpipe(made.plan);
  }
  if (is_planned) made.kind = "planned " + made.kind;
  return made;
}

}  // namespace lanista::testing
