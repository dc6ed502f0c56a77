#include "bench/staged_model.h"

#include <algorithm>
#include <utility>

#include "lanista/base/rng.h"
#include "lanista/engine/local/pass_timing.h"
#include "lanista/model/graph/text.h"
#include "lanista/plan/pipeline/simulate.h"

namespace lanista::bench {

std::string branchy(std::int64_t inputs, int branches, int layers, std::int64_t width, bool is_sum) {
  std::string text = "%0 = input(shape=[" + std::to_string(inputs) + "])\n", ends;
  int id = 0;
  const auto add = [&](const std::string& operation) {
    text += "%" + std::to_string(++id) + " = " + operation + "\n";
    return "%" + std::to_string(id);
  };
  for (int b = 0; b < branches; ++b) {
    std::string x = "%0";
    for (int l = 0; l < layers; ++l) {
      x = add("linear(" + x + ", out=" + std::to_string(width) + ")");
      x = add("relu(" + x + ")");
    }
    if (is_sum) x = add("linear(" + x + ", out=" + std::to_string(kClasses) + ")");
    ends += (b > 0 ? ", " : "") + x;
  }
  std::string end = ends;
  if (branches > 1) end = add((is_sum ? "add(" : "concat(") + ends + ")");
  if (!is_sum) end = add("linear(" + end + ", out=" + std::to_string(kClasses) + ")");
  add("output(" + end + ")");
  return text;
}

Samples::Samples(std::int64_t count, std::int64_t width) {
  Rng rng(3);
  for (std::int64_t i = 0; i < count * width; ++i) features.push_back(static_cast<float>(rng.normal()));
  for (std::int64_t i = 0; i < count; ++i) {
    labels.push_back(static_cast<std::int32_t>(rng.below(kClasses)));
    index.push_back(i);
  }
}

program::Batch Samples::view() const {
  return {.size = static_cast<std::int64_t>(labels.size()),
          .features = features,
          .labels = labels,
          .targets = {},
          .sample_index = index};
}

Result<DerivedModel> DerivedModel::make(const std::string& text, std::int64_t batch) {
  DerivedModel derived;
  derived.batch = batch;
  LANISTA_ASSIGN(const graph::Graph model, graph::parse(text));
  LANISTA_ASSIGN(derived.train, autodiff::derive_training_step(model, {}, derived.ops));
  LANISTA_ASSIGN(derived.infer, autodiff::derive_inference_step(model, derived.ops));
  return derived;
}

Result<program::Program> DerivedModel::compile(std::int64_t parts, const program::Stages* stages, std::int64_t lanes,
                                               int threads) const {
  program::ProgramOptions options{.lanes = lanes, .max_batch = batch, .accumulate = parts, .stages = stages};
  options.threads = threads;
  LANISTA_ASSIGN(program::Program program, program::Program::compile(train, infer, options));
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    LANISTA_TRY(program.begin(lane, static_cast<std::uint64_t>(lane) + 1));
  }
  return program;
}

void step_of(program::Program& program, const program::Batch& batch) {
  const auto lanes = static_cast<std::size_t>(program.lanes());
  const std::vector<program::LaneHyper> hyper(lanes, {.lr = 0.001, .momentum = 0.9});
  const std::vector<std::uint8_t> active(lanes, 1);
  std::vector<double> loss(lanes);
  program.train_step({&batch, 1}, hyper, active, loss);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

namespace {

// The seconds of all passes of a step, one after the other.
double serial_seconds(const pipeline::Model& model) {
  double seconds = 0;
  for (const pipeline::Operator& op : model.operators) {
    for (const pipeline::Curve* each : {&op.forward, &op.input_grad, &op.weight_grad}) {
      seconds += pipeline::seconds_at(*each, kMicroBatch);
    }
  }
  return seconds * static_cast<double>(kBatch / kMicroBatch);
}

}  // namespace

Result<StagedModel> StagedModel::make(const std::string& text, std::int64_t inputs, int repeats) {
  LANISTA_ASSIGN(DerivedModel derived, DerivedModel::make(text, kBatch));
  Samples samples(kBatch, inputs);
  LANISTA_ASSIGN(auto planned, runtime::planned_step(derived.train, derived.ops, kBatch, 4));
  LANISTA_ASSIGN(program::Program single_thread, derived.compile(kBatch / kMicroBatch, nullptr));
  pipeline::Problem problem{planned.model, runtime::single_devices(kRanks, kTransferSeconds)};
  StagedModel model{std::move(derived),      std::move(samples), std::move(planned), std::move(problem), 0,
                    std::move(single_thread)};
  LANISTA_ASSIGN(const auto passes, model.timed_passes(repeats));
  model.set_pass_costs(passes, 1e-6 * median(run_rounds({model.arm("alone", model.single_thread)}, repeats)[0]));
  return model;
}

Result<std::vector<runtime::OperatorTimes>> StagedModel::timed_passes(int repeats) const {
  const auto compile = [&](const program::Stages& stages) {
    return derived.compile(derived.batch / kMicroBatch, &stages);
  };
  return runtime::time_passes(planned, kMicroBatch, compile, samples.view(), repeats);
}

// The times are proportional to the samples, because all micro-batches have one size.
void StagedModel::set_pass_costs(const std::vector<runtime::OperatorTimes>& passes, double step) {
  for (std::size_t i = 0; i < passes.size(); ++i) {
    pipeline::Operator& op = problem.model.operators[i];
    const auto put = [](pipeline::Curve& curve, double each) {
      for (std::size_t k = 0; k < curve.size(); ++k)
        curve[k] = each / kMicroBatch * static_cast<double>(std::int64_t{1} << k);
    };
    put(op.forward, passes[i].forward);
    put(op.input_grad, passes[i].input_grad);
    put(op.weight_grad, passes[i].weight_grad);
    op.warm_cache_factor = passes[i].warm_cache_factor;
  }
  non_pass_seconds = std::max(0.0, step - serial_seconds(problem.model));
}

Result<double> StagedModel::predicted(const runtime::ChosenPlan& of) const {
  LANISTA_ASSIGN(const auto simulation, pipeline::simulate(of.schedule, of.plan, problem, false));
  return simulation.seconds + non_pass_seconds;
}

Result<program::Program> StagedModel::program(const pipeline::PipelinePlan& plan,
                                              const pipeline::Schedule& schedule) const {
  LANISTA_ASSIGN(const program::Stages stages, runtime::executable_stages(plan, schedule, problem, planned.nodes));
  return derived.compile(kBatch / kMicroBatch, &stages);
}

Arm StagedModel::arm(std::string name, program::Program& of) const {
  return timed(std::move(name), {{[&of, this] { step_of(of, samples.view()); }, 1}});
}

}  // namespace lanista::bench
