#include "lanista/bench/our_program.h"

#include <algorithm>
#include <utility>

#include "lanista/base/check.h"

namespace lanista::bench {

OurProgram::OurProgram(const Case& c, nn::Program program)
    : program_(std::move(program)),
      batch_(c),
      hyper_(static_cast<std::size_t>(program_.lanes())),
      active_(hyper_.size(), 1),
      losses_(hyper_.size()) {
  for (std::size_t lane = 0; lane < hyper_.size(); ++lane) {
    hyper_[lane] = {.lr = c.rate / static_cast<double>(1 + lane % 4), .momentum = kMomentum};
    program_.initialise(static_cast<std::int64_t>(lane), lane + 1);
  }
}

Result<OurProgram> OurProgram::make(const Case& c, std::int64_t lanes, int threads) {
  const auto ops = step::training_ops(graph::builtin_ops());
  LANISTA_ASSIGN(const auto train, step::derive_training_step(c.model, {}, ops));
  LANISTA_ASSIGN(const auto infer, step::derive_inference_step(c.model, ops));
  LANISTA_ASSIGN(auto program,
                 nn::Program::compile(train, infer, {.lanes = lanes, .max_batch = c.batch, .threads = threads}));
  OurProgram ours(c, std::move(program));
  ours.work_ = step_work(train, ops, c.batch);
  ours.state_ = train.state;
  return ours;
}

StartWeights OurProgram::weights(std::int64_t lane) const {
  const std::vector<Tensor> all = program_.extract(lane);
  StartWeights out;
  for (const auto& tensor : state_) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Tensor& t) { return t.name == tensor.name; });
    LANISTA_CHECK(found != all.end(), "the state of a lane lacks " + tensor.name);
    (tensor.trained ? out.trained : out.buffers).push_back(*found);
  }
  return out;
}

std::span<const double> OurProgram::step() {
  const nn::Batch batch = batch_.view();
  program_.train_step(std::span(&batch, 1), hyper_, active_, losses_);
  return losses_;
}

}  // namespace lanista::bench
