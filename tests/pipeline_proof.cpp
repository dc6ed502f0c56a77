// Pipeline parallelism changes no bit. Random series-parallel models are cut into stages, at random or by the planner.
// Threads run their steps with each schedule, with micro-batches of equal and of different sizes.
//
//   pipeline_proof [CASES [FIRST [processes|tcp [KILLS]]]]  200 cases from number 0, with threads, by default
//   pipeline_proof stage                                    the form in which this program starts itself as a rank
//
// With `processes`, each rank except rank 0 is a process, which serves all cases. Passes, in-flight samples and sent
// bytes are then not checked. With `tcp`, ranks have separate memory and use connections over the loopback device.
// KILLS processes are killed at random moments; a step that loses a rank is repeated.
//
// Checks of each case:
//
// - Gradients have the bits of one thread that adds the gradients of the same micro-batches.
// - In float64, gradients are those of the whole batch within 1e-12, by the formulas of reference_gradients.h if they
//   support the model.
// - After 3 steps (50 in each tenth case), also with short batches, the lane state has the bits of one thread.
// - Each rank runs the passes of its list in order.
// - Peak in-flight samples and sent bytes are those of the simulation.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/check.h"
#include "lanista/exec/pipeline_parallel/stage_process.h"
#include "lanista/exec/pipeline_parallel/stage_process_pool.h"
#include "lanista/exec/program/program.h"
#include "lanista/ipc/remote_launcher.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/text.h"
#include "lanista/plan/pipeline/simulate.h"
#include "pipeline_models.h"
#include "reference_gradients.h"
#include "tcp_stages.h"

namespace lanista::testing {
namespace {

using program::Batch;
using program::LaneGradients;
using program::Program;
using State = std::vector<Tensor>;

constexpr double kTolerance = 1e-12;
constexpr int kMaxLost = 100;  // lost ranks of a case

void expect(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

// Records the passes of the ranks, sent bytes and in-flight samples.
class Record : public program::StageObserver {
 public:
  void begin_step(std::size_t ranks, std::size_t stages) {
    done.assign(ranks, {});
    most.assign(stages, 0);
    sent_bytes.clear();
  }
  void on_pass_begin(std::size_t rank, const program::StagePass& pass) override { done[rank].push_back(pass); }
  void on_pass_end(std::size_t, const program::StagePass&) override {}
  void on_edge_copy(std::uint32_t from, std::uint32_t to, bool gradient, std::int64_t bytes) override {
    const std::lock_guard lock(mutex_);
    sent_bytes[{gradient ? to : from, gradient ? from : to}][gradient ? 1 : 0] += bytes;
  }
  void on_held_samples(std::uint32_t stage, std::int64_t samples) override {
    most[stage] = std::max(most[stage], samples);
  }

  std::vector<std::vector<program::StagePass>> done;
  std::vector<std::int64_t> most;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::array<std::int64_t, 2>> sent_bytes;  // activations, gradients

 private:
  std::mutex mutex_;
};

struct OwnedBatch {
  std::vector<float> features;
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> index;

  OwnedBatch(Rng rng, std::int64_t size, std::int64_t width) {
    for (std::int64_t i = 0; i < size * width; ++i) features.push_back(static_cast<float>(rng.normal()));
    for (std::int64_t i = 0; i < size; ++i) {
      labels.push_back(static_cast<std::int32_t>(rng.below(5)));
      index.push_back(static_cast<std::int64_t>(rng.below(1000)));
    }
  }
  std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }
  Batch part(std::int64_t begin, std::int64_t count) const {
    const auto at = [&](const auto& values) {
      const std::size_t width = values.size() / labels.size();
      return std::span(values).subspan(width * static_cast<std::size_t>(begin),
                                       width * static_cast<std::size_t>(count));
    };
    return {.size = count, .features = at(features), .labels = at(labels), .targets = {}, .sample_index = at(index)};
  }
  Batch all() const { return part(0, size()); }
};

class PipelineProof {
 public:
  /// Case `number`; with a pool, its ranks are processes.
  PipelineProof(std::uint64_t number, runtime::StageProcessPool* process_pool)
      : process_pool_(process_pool),
        rng_(Rng(19).split(number)),
        extras_(std::array{Extras::kNone, Extras::kPerSample, Extras::kBatchNorm}[number % 3]),
        ops_(autodiff::training_ops(graph::builtin_ops())),
        model_(random_branchy(rng_.split("model"), extras_)),
        batch_(std::array<std::int64_t, 3>{8, 12, 16}[rng_.below(3)]),
        train_(must(
            autodiff::derive_training_step(model_, {"cross_entropy", rng_.bernoulli(0.5) ? "adam" : "sgd"}, ops_))),
        cut_(random_case(rng_.split("cut"), train_, ops_, batch_, true)),
        infer_(must(autodiff::derive_inference_step(model_, ops_))),
        number_(number) {
    hyper_ = {.lr = 0.05, .momentum = 0.9, .weight_decay = 0.01, .clip_norm = 0.7, .label_smoothing = 0};
  }

  std::string name() const {
    return cut_.kind + ", " + std::to_string(cut_.plan.stages.size()) + " stages at " +
           std::to_string(cut_.schedule.ranks.size()) + " ranks, batch " + std::to_string(batch_) +
           (cut_.is_equal ? "" : ", unequal micro-batches");
  }
  const PipelineCase& cut() const { return cut_; }

  void run() {
    for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
      compare_gradients(precision);
      if (cut_.is_equal) compare_training(precision);
    }
  }

 private:
  std::int64_t pieces() const { return stages().pieces(); }
  program::Stages stages() const {
    return must(runtime::executable_stages(cut_.plan, cut_.schedule, cut_.problem, cut_.planned.nodes));
  }

  Program compile(Precision precision, const program::Stages* stages) const {
    program::ProgramOptions options{.max_batch = batch_, .precision = precision};
    program::Stages own;
    if (stages != nullptr) {
      options.accumulate = stages->pieces();
      own = *stages;
      if (process_pool_ != nullptr && own.ranks.size() > 1) {
        own.has_separate_memory = process_pool_->have_separate_memory();
        own.remote_ranks = process_pool_->ranks(task_of(own, precision));
      }
      options.stages = &own;
    }
    Program program = must(Program::compile(train_, infer_, options));
    LANISTA_CHECK(program.begin(0, 3).ok(), "no memory for a lane");
    return program;
  }

  runtime::StageTask task_of(const program::Stages& stages, Precision precision) const {
    return {.model = graph::to_text(model_),
            .step = train_.options,
            .build = {},
            .isa = std::string(kernels::isa_name(kernels::best_isa())),
            .precision = precision,
            .max_batch = batch_,
            .accumulate = stages.pieces(),
            .stages = stages,
            .memory = {},
            .digest = {}};
  }

  // Adds the gradients of micro-batches in one thread. Batch norm uses the statistics of each micro-batch and updates
  // its running statistics with it.
  double accumulate(Program& plain, const OwnedBatch& batch, const std::vector<std::int64_t>& sizes,
                    LaneGradients& out) const {
    double loss = 0;
    std::int64_t at = 0;
    for (const std::int64_t size : sizes) {
      const double sum = plain.gradients(0, batch.part(at, size), batch.size(), hyper_, out, at > 0);
      loss = at > 0 ? loss + sum : sum;
      plain.renew_buffers(0, out);
      at += size;
    }
    return loss;
  }

  void compare_gradients(Precision precision) {
    const program::Stages plan = with_record();
    Program ours = compile(precision, &plan);
    const OwnedBatch batch(rng_.split("batch"), batch_, 6);
    LaneGradients seen = must(ours.make_gradients());
    record_.begin_step(plan.ranks.size(), plan.stages.size());
    until_done([&] { ours.gradients(0, batch.all(), batch_, hyper_, seen); });
    if (process_pool_ == nullptr) compare_simulation(plan, precision);

    // With unequal micro-batches, each stage is compared with one thread with the micro-batches of that stage.
    std::map<std::string, Tensor> expected;
    std::map<std::int64_t, std::map<std::string, Tensor>> by_count;
    for (const program::Stage& stage : plan.stages) {
      auto& gradients = by_count[stage.micro_batches];
      if (!gradients.empty()) continue;
      Program plain = compile(precision, nullptr);
      LaneGradients out = must(plain.make_gradients());
      accumulate(plain, batch,
                 std::vector<std::int64_t>(static_cast<std::size_t>(stage.micro_batches), batch_ / stage.micro_batches),
                 out);
      for (Tensor& tensor : out.extract()) gradients[tensor.name] = tensor;
    }
    const State all = seen.extract();
    expect(!all.empty(), "no gradients");
    const bool by_batch = extras_ == Extras::kBatchNorm && !cut_.is_equal;
    for (const Tensor& tensor : all) {
      const auto& from = by_count.at(plan.stages.at(stage_of(plan, tensor.name)).micro_batches);
      // Results of batch norm depend on micro-batches, so stages with other sizes read other values.
      if (!by_batch) expect(tensor == from.at(tensor.name), "gradient of " + tensor.name + " has other bits");
    }
    if (precision == Precision::kFloat64 && extras_ != Extras::kBatchNorm) compare_whole(batch, all);
  }

  // Repeats a step until no rank is lost; a lost rank leaves the state unchanged.
  template <class Step>
  void until_done(const Step& step) {
    while (true) {
      try {
        return step();
      } catch (const program::RankLost&) {
        ++lost;
        expect(lost < kMaxLost, "too many ranks are lost");
      }
    }
  }

  std::size_t stage_of(const program::Stages& plan, const std::string& tensor) const {
    const graph::NodeId node{static_cast<decltype(graph::NodeId::value)>(std::stoul(tensor.substr(1)))};
    for (std::size_t i = 0; i < plan.stages.size(); ++i) {
      if (std::ranges::count(plan.stages[i].nodes, node) > 0) return i;
    }
    throw std::runtime_error("no stage has " + tensor);
  }

  // Compares with the gradients of the whole batch, by formulas if they support the model, else by a program.
  void compare_whole(const OwnedBatch& batch, const State& seen) {
    std::map<std::string, std::vector<double>> expected;
    Program whole = compile(Precision::kFloat64, nullptr);
    if (extras_ == Extras::kNone) {
      std::map<std::string, std::vector<double>> parameters;
      for (const Tensor& tensor : whole.extract(0)) {
        if (tensor.type != ElementType::kF64) continue;
        const auto values = elements_of<double>(tensor);
        parameters[tensor.name].assign(values.begin(), values.end());
      }
      expected = reference_step(model_, parameters, batch.features, batch.labels).gradients;
      ++by_formula;
    } else {
      LaneGradients out = must(whole.make_gradients());
      whole.gradients(0, batch.all(), batch_, hyper_, out);
      for (const Tensor& tensor : out.extract()) {
        const auto values = elements_of<double>(tensor);
        expected[tensor.name].assign(values.begin(), values.end());
      }
    }
    double scale = 0;
    const auto largest = [](const std::vector<double>& values) {
      double most = 0;
      for (const double value : values) most = std::max(most, std::abs(value));
      return most;
    };
    for (const auto& [name, values] : expected) scale = std::max(scale, largest(values));
    for (const Tensor& tensor : seen) {
      const auto values = elements_of<double>(tensor);
      const std::vector<double>& of = expected.at(tensor.name);
      expect(values.size() == of.size(), tensor.name + " is of another size");
      const double unit = std::max(largest(of), 1e-2 * scale);
      for (std::size_t i = 0; i < of.size(); ++i) {
        const double distance = of[i] == values[i] ? 0 : std::abs(of[i] - values[i]) / unit;
        worst = std::max(worst, distance);
        expect(distance <= kTolerance,
               "gradient of " + tensor.name + " is off by " + std::to_string(distance / 1e-12) + "e-12 of its size");
      }
    }
  }

  program::Stages with_record() {
    program::Stages plan = stages();
    if (process_pool_ == nullptr) plan.observer = &record_;
    return plan;
  }

  void compare_simulation(const program::Stages& plan, Precision precision) const {
    expect(record_.done == plan.ranks, "a rank did not run the passes of its list");
    const pipeline::SimulationResult simulation =
        must(pipeline::simulate(cut_.schedule, cut_.plan, cut_.problem, false));
    expect(record_.most == simulation.live_samples, "in-flight samples differ from the simulation");
    if (precision != Precision::kFloat32) return;  // bytes of the problem are those of float32
    compare_bytes(simulation);
  }

  // Compares sent bytes with the simulation. Models with views and models with untrained first nodes are left out: the
  // program sends a view from its first producer, and sends no gradients to untrained nodes.
  void compare_bytes(const pipeline::SimulationResult& simulation) const {
    const auto edges = pipeline::edges_of(cut_.plan, cut_.problem.model);
    if (!is_plain()) return;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> forward, backward = gradients_sent();
    for (const auto& [edge, bytes] : record_.sent_bytes) {
      forward[edge] = bytes[0];
      expect(bytes[1] == backward[edge], "sent gradients differ from those that are read");
      backward.erase(edge);
      counted += bytes[0] + bytes[1];
    }
    expect(std::ranges::all_of(backward, [](const auto& each) { return each.second == 0; }), "a gradient was not sent");
    for (std::size_t e = 0; e < edges.size(); ++e) {
      expect(static_cast<double>(2 * forward[{edges[e].from, edges[e].to}]) == simulation.sent_bytes[e],
             "sent bytes differ from the simulation");
    }
  }

  // Returns the bytes of gradients by edge, computed from the model only. A sum passes its gradient to all summands as
  // one value, which may be several stages away. A value that is read twice gets two gradients, which its stage adds.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> gradients_sent() const {
    struct Gradient {
      graph::NodeId node;
      std::size_t slot;  // index of the node's input; SIZE_MAX: the sum for its output
      auto operator<=>(const Gradient&) const = default;
    };
    std::map<graph::NodeId, std::uint32_t> stage;
    std::map<graph::NodeId, std::vector<Gradient>> uses;
    std::uint32_t last = 0;
    for (std::uint32_t s = 0; s < cut_.plan.stages.size(); ++s) {
      for (const std::uint32_t op : cut_.plan.stages[s].operators) stage[cut_.planned.nodes[op]] = s;
    }
    for (const graph::NodeId id : model_.topo()) {
      const graph::Node& node = model_.node(id);
      if (node.op == "output") last = stage.at(node.inputs[0].node);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) uses[node.inputs[i].node].push_back({id, i});
    }
    const std::function<Gradient(graph::NodeId)> total = [&](graph::NodeId id) -> Gradient {
      if (uses.at(id).size() > 1) return {id, SIZE_MAX};
      const Gradient use = uses.at(id).front();
      return model_.node(use.node).op == "add" ? total(use.node) : use;
    };
    const auto maker = [&](const Gradient& g) { return model_.node(g.node).op == "output" ? last : stage.at(g.node); };
    std::map<std::pair<Gradient, std::uint32_t>, std::int64_t> read;
    for (const auto& [id, at] : stage) {
      const auto width = model_types().at({id, 0}).shape.elements_per_sample();
      if (model_.node(id).op != "add") read[{total(id), at}] = width;
      if (uses.at(id).size() < 2) continue;
      for (const Gradient& use : uses.at(id)) {
        read[{model_.node(use.node).op == "add" ? total(use.node) : use, at}] = width;
      }
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> sent;
    for (const auto& [what, width] : read) {
      if (maker(what.first) != what.second) sent[{what.second, maker(what.first)}] += 4 * batch_ * width;
    }
    return sent;
  }
  graph::Types model_types() const { return must(graph::infer_shapes(model_, graph::builtin_ops())); }

  // Returns whether the model has no view, and each node depends on a trained node.
  bool is_plain() const {
    for (const graph::NodeId id : cut_.planned.nodes) {
      const graph::Node& node = model_.node(id);
      if (node.op == "identity") return false;
      const auto reads_input = [&](const graph::Port& port) { return model_.node(port.node).op == "input"; };
      if (node.op != "linear" && std::ranges::any_of(node.inputs, reads_input)) return false;
    }
    return true;
  }

  void compare_training(Precision precision) {
    const program::Stages plan = stages();
    Program ours = compile(precision, &plan), plain = compile(precision, nullptr);
    LaneGradients sum = must(plain.make_gradients());
    const std::int64_t parts = plan.pieces();
    const int steps = number_ % 10 == 0 ? 50 : 3;
    for (int i = 0; i < steps; ++i) {
      const std::int64_t size = i % 3 == 2 ? rng_.between(1, batch_) : batch_;
      const OwnedBatch batch(rng_.split(static_cast<std::uint64_t>(1000 + i)), size, 6);
      std::vector<std::int64_t> sizes;
      for (std::int64_t p = 0; p < std::min(parts, size); ++p)
        sizes.push_back(size / parts + (p < size % parts ? 1 : 0));
      double loss = accumulate(plain, batch, sizes, sum) / static_cast<double>(size);
      plain.commit(0, sum, hyper_);
      const Batch all = batch.all();
      const std::uint8_t active = 1;
      double seen = 0;
      until_done([&] { ours.train_step({&all, 1}, {&hyper_, 1}, {&active, 1}, {&seen, 1}); });
      expect(seen == loss || (std::isnan(seen) && std::isnan(loss)), "step " + std::to_string(i) + " has another loss");
      expect(ours.extract(0) == plain.extract(0), "step " + std::to_string(i) + " leaves another state");
      ++steps_done;
    }
  }

  runtime::StageProcessPool* process_pool_;
  Rng rng_;
  Extras extras_;
  graph::OpTable ops_;
  graph::Graph model_;
  std::int64_t batch_;
  autodiff::TrainingStep train_;
  PipelineCase cut_;
  autodiff::InferenceStep infer_;
  std::uint64_t number_;
  program::LaneHyper hyper_;
  Record record_;

 public:
  mutable std::int64_t counted = 0;
  int by_formula = 0, steps_done = 0, lost = 0;
  double worst = 0;
};

int prove(std::uint64_t cases, std::uint64_t first, runtime::StageProcessPool* process_pool) {
  std::map<std::string, int> kinds;
  std::int64_t counted = 0;
  int unequal = 0, shared = 0, by_formula = 0, steps = 0, failed = 0, lost = 0;
  double worst = 0;
  for (std::uint64_t i = first; i < first + cases; ++i) {
    std::optional<PipelineProof> one;
    try {
      one.emplace(i, process_pool);
      one->run();
    } catch (const std::exception& error) {
      std::printf("case %llu (%s): %s\n", static_cast<unsigned long long>(i), one ? one->name().c_str() : "not made",
                  error.what());
      ++failed;
      continue;
    }
    ++kinds[one->cut().kind];
    unequal += one->cut().is_equal ? 0 : 1;
    shared += one->cut().is_shared ? 1 : 0;
    by_formula += one->by_formula;
    steps += one->steps_done;
    lost += one->lost;
    counted += one->counted;
    worst = std::max(worst, one->worst);
  }
  for (const auto& [kind, count] : kinds) std::printf("%4d %s\n", count, kind.c_str());
  std::printf("%llu cases, %d with unequal micro-batches, %d with co-located stages, %d steps trained\n",
              static_cast<unsigned long long>(cases), unequal, shared, steps);
  std::printf(
      "%d compared with formulas; largest distance to the whole batch: %.2g of 1e-12; %lld bytes sent as simulated\n",
      by_formula, worst / kTolerance, static_cast<long long>(counted));
  if (lost > 0) std::printf("%d steps lost a rank and were repeated\n", lost);
  if (failed > 0) std::printf("%d FAILED\n", failed);
  return failed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace lanista::testing

int main(int argc, char** argv) {
  using namespace lanista;
  if (argc > 1 && std::string(argv[1]) == "stage") {
    return runtime::serve_stages(engine::claim_standard_streams()) ? 0 : 1;
  }
  const std::uint64_t cases = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  if (argc <= 3) return testing::prove(cases, first, nullptr);
  testing::Killer killer(argc > 4 ? std::atoi(argv[4]) : 0);
  runtime::StageHosts hosts = runtime::local_stage_hosts();
  if (std::string(argv[3]) == "tcp") hosts = {.hosts = {{testing::launch_by_tcp()}}, .has_separate_memory = true};
  for (runtime::StageHost& host : hosts.hosts) host.launch = killer.watched(std::move(host.launch));
  int lost = 0, others = 0;
  runtime::StageProcessPool process_pool(std::move(hosts), [&](const runtime::LostRank& rank) {
    ++lost;
    if (rank.reason.find("signal 9") != std::string::npos) return;
    std::printf("a rank %s\n", rank.reason.c_str());
    ++others;
  });
  const int result = testing::prove(cases, first, &process_pool);
  const int killed = killer.end();
  if (killed + lost > 0) std::printf("%d ranks killed, %d losses reported\n", killed, lost);
  return others > 0 ? 1 : result;
}
