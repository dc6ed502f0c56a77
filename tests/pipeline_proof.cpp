// The proof that a pipeline changes nothing: random series-parallel models are cut into stages at random and by the
// planner, and their steps are done by threads in every schedule, with micro-batches of equal and of unlike sizes.
//
//   pipeline_proof [CASES [FIRST [processes|tcp [KILLS]]]]  200 from case 0, by threads, unless said otherwise
//   pipeline_proof stage                            what this program begins itself as, for a place of a pipeline
//
// With `processes` all places but the first are processes of their own, begun once for all cases; what each of them
// does, holds and sends is then not looked at. With `tcp` they do not see each other's memory either, and speak by
// connections over the loopback device. KILLS of them are killed at random moments; a step that loses a place is done
// again.
//
// Of each case: gradients are those of one thread that goes through the same micro-batches and adds up, to the bit;
// in float64 they are those of the whole batch to 1e-12, by formulas that share no code with the product where the
// model has no others (plain_gradients.h); 3 steps, every tenth time 50, leave the same bits in all of the state, after
// short batches too; every place does what its list says in that order; samples held at most and bytes sent are those
// of the simulation.
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

using nn::Batch;
using nn::LaneGradients;
using nn::Program;
using State = std::vector<Tensor>;

constexpr double kTolerance = 1e-12;
constexpr int kMaxLost = 100;  // places of a case

void expect(bool on_held_samples, const std::string& what) {
  if (!on_held_samples) throw std::runtime_error(what);
}

// What the places did, and what was sent and held.
class Record : public nn::StageObserver {
 public:
  void begin_step(std::size_t places, std::size_t stages) {
    done.assign(places, {});
    most.assign(stages, 0);
    sent_bytes.clear();
  }
  void on_pass_begin(std::size_t place, const nn::StagePass& pass) override { done[place].push_back(pass); }
  void on_pass_end(std::size_t, const nn::StagePass&) override {}
  void on_edge_copy(std::uint32_t from, std::uint32_t to, bool gradient, std::int64_t bytes) override {
    const std::lock_guard lock(mutex_);
    sent_bytes[{gradient ? to : from, gradient ? from : to}][gradient ? 1 : 0] += bytes;
  }
  void on_held_samples(std::uint32_t stage, std::int64_t samples) override {
    most[stage] = std::max(most[stage], samples);
  }

  std::vector<std::vector<nn::StagePass>> done;
  std::vector<std::int64_t> most;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::array<std::int64_t, 2>> sent_bytes;  // forth and back

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
  /// Of processes, if there are crews of them.
  PipelineProof(std::uint64_t number, runtime::StageProcessPool* process_pool)
      : process_pool_(process_pool),
        rng_(Rng(19).split(number)),
        extras_(std::array{Extras::kNone, Extras::kPerSample, Extras::kBatchNorm}[number % 3]),
        ops_(step::training_ops(graph::builtin_ops())),
        model_(random_branchy(rng_.split("model"), extras_)),
        batch_(std::array<std::int64_t, 3>{8, 12, 16}[rng_.below(3)]),
        train_(must(step::derive_training_step(model_, {"cross_entropy", rng_.bernoulli(0.5) ? "adam" : "sgd"}, ops_))),
        cut_(random_case(rng_.split("cut"), train_, ops_, batch_, true)),
        infer_(must(step::derive_inference_step(model_, ops_))),
        number_(number) {
    hyper_ = {.lr = 0.05, .momentum = 0.9, .weight_decay = 0.01, .clip_norm = 0.7, .label_smoothing = 0};
  }

  std::string name() const {
    return cut_.kind + ", " + std::to_string(cut_.plan.stages.size()) + " stages at " +
           std::to_string(cut_.schedule.ranks.size()) + " places, batch " + std::to_string(batch_) +
           (cut_.is_equal ? "" : ", unlike micro-batches");
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
  nn::Stages stages() const {
    return must(runtime::executable_stages(cut_.plan, cut_.schedule, cut_.problem, cut_.planned.nodes));
  }

  Program compile(Precision precision, const nn::Stages* stages) const {
    nn::ProgramOptions options{.max_batch = batch_, .precision = precision};
    nn::Stages own;
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

  runtime::StageTask task_of(const nn::Stages& stages, Precision precision) const {
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

  // One thread, one micro-batch after the other; batch norm knows no others, and renews its statistics with each.
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
    const nn::Stages plan = with_record();
    Program ours = compile(precision, &plan);
    const OwnedBatch batch(rng_.split("batch"), batch_, 6);
    LaneGradients seen = must(ours.make_gradients());
    record_.begin_step(plan.ranks.size(), plan.stages.size());
    until_done([&] { ours.gradients(0, batch.all(), batch_, hyper_, seen); });
    if (process_pool_ == nullptr) compare_simulation(plan, precision);

    // With micro-batches of unlike sizes, every stage is compared with one thread in that stage's.
    std::map<std::string, Tensor> expected;
    std::map<std::int64_t, std::map<std::string, Tensor>> by_count;
    for (const nn::Stage& stage : plan.stages) {
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
      // Values of batch norm hang on micro-batches, so stages of other sizes read others.
      if (!by_batch) expect(tensor == from.at(tensor.name), "gradient of " + tensor.name + " has other bits");
    }
    if (precision == Precision::kFloat64 && extras_ != Extras::kBatchNorm) compare_whole(batch, all);
  }

  // Nothing has changed where a place was lost.
  template <class Step>
  void until_done(const Step& step) {
    while (true) {
      try {
        return step();
      } catch (const nn::RankLost&) {
        ++lost;
        expect(lost < kMaxLost, "places are lost again and again");
      }
    }
  }

  std::size_t stage_of(const nn::Stages& plan, const std::string& tensor) const {
    const graph::NodeId node{static_cast<decltype(graph::NodeId::value)>(std::stoul(tensor.substr(1)))};
    for (std::size_t i = 0; i < plan.stages.size(); ++i) {
      if (std::ranges::count(plan.stages[i].nodes, node) > 0) return i;
    }
    throw std::runtime_error("no stage has " + tensor);
  }

  // The whole batch at once: by formulas where there are some, else by a program without micro-batches.
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

  nn::Stages with_record() {
    nn::Stages plan = stages();
    if (process_pool_ == nullptr) plan.observer = &record_;
    return plan;
  }

  void compare_simulation(const nn::Stages& plan, Precision precision) const {
    expect(record_.done == plan.ranks, "a place did not do what its list says");
    const pipeline::SimulationResult simulation =
        must(pipeline::simulate(cut_.schedule, cut_.plan, cut_.problem, false));
    expect(record_.most == simulation.live_samples, "other samples were held than in the simulation");
    if (precision != Precision::kFloat32) return;  // bytes of the problem are those of float32
    compare_bytes(simulation);
  }

  // What is merely renamed goes straight from its maker to its reader, and nothing comes back where nothing trained
  // lies upstream: such models are left out.
  void compare_bytes(const pipeline::SimulationResult& simulation) const {
    const auto edges = pipeline::edges_of(cut_.plan, cut_.problem.model);
    if (!is_plain()) return;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> forth, back = gradients_sent();
    for (const auto& [edge, bytes] : record_.sent_bytes) {
      forth[edge] = bytes[0];
      expect(bytes[1] == back[edge], "other gradients were sent than are read");
      back.erase(edge);
      counted += bytes[0] + bytes[1];
    }
    expect(std::ranges::all_of(back, [](const auto& each) { return each.second == 0; }), "a gradient was not sent");
    for (std::size_t e = 0; e < edges.size(); ++e) {
      expect(static_cast<double>(2 * forth[{edges[e].from, edges[e].to}]) == simulation.sent_bytes[e],
             "other bytes were sent than in the simulation");
    }
  }

  // A sum hands its own gradient to all of its summands, as one value, and who reads that may be stages away; a value
  // that is read twice gets two, and its stage adds them up. By (reader, maker); counted from the model alone.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> gradients_sent() const {
    struct Gradient {
      graph::NodeId node;
      std::size_t slot;  // of the node's input; SIZE_MAX: of its output, added up
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

  // Nothing is renamed, and everything has something trained upstream.
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
    const nn::Stages plan = stages();
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
  step::TrainingStep train_;
  PipelineCase cut_;
  step::InferenceStep infer_;
  std::uint64_t number_;
  nn::LaneHyper hyper_;
  Record record_;

 public:
  mutable std::int64_t counted = 0;
  int by_formula = 0, steps_done = 0, lost = 0;
  double worst = 0;
};

int prove(std::uint64_t cases, std::uint64_t first, runtime::StageProcessPool* process_pool) {
  std::map<std::string, int> kinds;
  std::int64_t counted = 0;
  int unlike = 0, shared = 0, by_formula = 0, steps = 0, failed = 0, lost = 0;
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
    unlike += one->cut().is_equal ? 0 : 1;
    shared += one->cut().is_shared ? 1 : 0;
    by_formula += one->by_formula;
    steps += one->steps_done;
    lost += one->lost;
    counted += one->counted;
    worst = std::max(worst, one->worst);
  }
  for (const auto& [kind, count] : kinds) std::printf("%4d %s\n", count, kind.c_str());
  std::printf("%llu cases, %d with unlike micro-batches, %d with places of several stages, %d steps trained\n",
              static_cast<unsigned long long>(cases), unlike, shared, steps);
  std::printf(
      "%d by formulas of their own; furthest from the whole batch: %.2g of 1e-12; %lld bytes sent as simulated\n",
      by_formula, worst / kTolerance, static_cast<long long>(counted));
  if (lost > 0) std::printf("%d steps lost a place and were done again\n", lost);
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
  runtime::StageProcessPool process_pool(std::move(hosts), [&](const runtime::LostRank& place) {
    ++lost;
    if (place.reason.find("signal 9") != std::string::npos) return;
    std::printf("a place %s\n", place.reason.c_str());
    ++others;
  });
  const int result = testing::prove(cases, first, &process_pool);
  const int killed = killer.end();
  if (killed + lost > 0) std::printf("%d places killed, %d losses told\n", killed, lost);
  return others > 0 ? 1 : result;
}
