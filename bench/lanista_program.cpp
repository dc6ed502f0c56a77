#include "bench/lanista_program.h"

#include <algorithm>
#include <utility>

#include "lanista/base/check.h"

namespace lanista::bench {

std::uint64_t model_seed(std::int64_t model) { return static_cast<std::uint64_t>(model) + 1; }

program::LaneHyper model_hyper(const Case& c, std::int64_t model) {
  return {.lr = c.rate / static_cast<double>(1 + model % 4), .momentum = kMomentum};
}

LanistaProgram::LanistaProgram(const Case& c, const ModelRange& of, program::Program program,
                               std::shared_ptr<const CaseBatch> batch)
    : program_(std::move(program)),
      first_(of.first),
      batch_(std::move(batch)),
      batches_(of.own_batches ? static_cast<std::size_t>(of.lanes) : 1, batch_->view()),
      hyper_(static_cast<std::size_t>(program_.lanes())),
      active_(hyper_.size(), 1),
      losses_(hyper_.size()),
      results_(hyper_.size()) {
  for (std::size_t lane = 0; lane < hyper_.size(); ++lane) {
    hyper_[lane] = model_hyper(c, first_ + static_cast<std::int64_t>(lane));
  }
  restart();
}

Result<LanistaProgram> LanistaProgram::make(const Case& c, const ModelRange& of,
                                            std::shared_ptr<const CaseBatch> batch) {
  const auto ops = autodiff::training_ops(graph::builtin_ops());
  LANISTA_ASSIGN(const auto train, autodiff::derive_training_step(c.model, {}, ops));
  LANISTA_ASSIGN(const auto infer, autodiff::derive_inference_step(c.model, ops));
  const double begin = now_seconds();
  LANISTA_ASSIGN(
      auto program,
      program::Program::compile(
          train, infer, {.lanes = of.lanes, .max_batch = c.batch, .threads = of.threads, .backend = of.backend}));
  for (std::int64_t lane = 0; lane < of.lanes; ++lane) LANISTA_TRY(program.begin(lane, 0));
  const double seconds = now_seconds() - begin;
  LanistaProgram ours(c, of, std::move(program), std::move(batch));
  ours.compile_seconds_ = seconds;
  ours.step_work_ = bench::step_work(train, ops, c.batch);
  ours.state_ = train.state;
  return ours;
}

Result<LanistaProgram> LanistaProgram::make(const Case& c, std::int64_t lanes, int threads) {
  return make(c, {.first = 0, .lanes = lanes, .threads = threads}, std::make_shared<CaseBatch>(c));
}

RepeatedWork LanistaProgram::work() {
  return {.call = [this] { step(); }, .models = static_cast<double>(lanes())};
}

void LanistaProgram::restart() {
  for (std::int64_t lane = 0; lane < lanes(); ++lane) {
    program_.initialise(lane, model_seed(first_ + lane));
  }
}

StartWeights LanistaProgram::weights(std::int64_t lane) const {
  const std::vector<Tensor> all = program_.extract(lane);
  StartWeights out;
  for (const auto& tensor : state_) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Tensor& t) { return t.name == tensor.name; });
    LANISTA_CHECK(found != all.end(), "the state of a lane lacks " + tensor.name);
    (tensor.trained ? out.trained : out.buffers).push_back(*found);
  }
  return out;
}

std::span<const program::LaneResult> LanistaProgram::run(std::int64_t steps) {
  std::ranges::fill(active_, std::uint8_t{1});
  const auto work = [&](std::int64_t) { return program::StepInput{batches_, hyper_}; };
  std::ranges::fill(results_, program::LaneResult{.failure = {}});
  program_.run({.steps = steps, .active = active_, .step_input = work}, results_);
  for (const program::LaneResult& end : results_) {
    if (end.failure) std::rethrow_exception(end.failure);
  }
  return results_;
}

std::span<const double> LanistaProgram::step() { return step(0, lanes()); }

std::span<const double> LanistaProgram::step(std::int64_t first, std::int64_t count) {
  for (std::int64_t lane = 0; lane < lanes(); ++lane) {
    active_[static_cast<std::size_t>(lane)] = lane >= first && lane < first + count ? 1 : 0;
  }
  program_.train_step(batches_, hyper_, active_, losses_);
  return losses_;
}

}  // namespace lanista::bench
