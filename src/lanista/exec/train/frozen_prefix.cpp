#include "lanista/exec/train/frozen_prefix.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "lanista/exec/program/program.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/model_cut.h"
#include "lanista/model/graph/text.h"

namespace lanista::train {
namespace {

constexpr std::int64_t kBatch = 64;

/// Returns the prefix's tensors among the given ones, in dependency order. Errors: kInvalidArgument, naming the
/// missing.
Result<std::vector<Tensor>> weights_of(const graph::Graph& prefix, const FrozenModel& input) {
  LANISTA_ASSIGN(const auto wanted, graph::parameters(prefix, *input.step_ops));
  std::vector<Tensor> found;
  for (const graph::NamedParam& param : wanted) {
    const auto given = std::ranges::find(input.weights, param.name, &Tensor::name);
    if (given == input.weights.end()) {
      return Error{Code::kInvalidArgument, "the weights of the frozen part lack '" + param.name + "'", ""};
    }
    found.push_back(*given);
  }
  return found;
}

/// Compiles a program that predicts.
Result<program::Program> compile(const graph::Graph& prefix, std::span<const Tensor> weights,
                                 const FrozenModel& input) {
  LANISTA_ASSIGN(const auto infer, autodiff::derive_inference_step(prefix, *input.step_ops));
  program::ProgramOptions options;
  options.max_batch = kBatch;
  options.backend = input.backend;
  options.budget = input.budget;
  options.operators = input.operators;
  LANISTA_ASSIGN(auto program, program::Program::compile(infer, options));
  LANISTA_TRY(program.begin(0, 0));
  std::vector<Tensor> state = program.extract(0);
  for (const Tensor& tensor : weights) *std::ranges::find(state, tensor.name, &Tensor::name) = tensor;
  LANISTA_TRY(program.insert(0, state));
  return program;
}

Digest digest_of(const graph::Graph& prefix, std::span<const Tensor> weights) {
  Hasher hasher;
  hasher.text("lanista frozen prefix 1").text(graph::to_text(prefix));
  for (const Tensor& tensor : weights) hasher.text(tensor.name).digest(hash_bytes(tensor.bytes));
  return hasher.finish();
}

}  // namespace

struct FrozenPrefix::Impl {
  graph::Graph head;
  graph::Shape input_shape, output_shape;  // of one sample
  std::vector<Tensor> weights;
  Digest digest;
  program::Program program;
  std::mutex mutex = {};  // protects the program

  void apply(std::span<const float> samples, std::span<float> out) {
    const auto from = static_cast<std::size_t>(input_shape.elements_per_sample());
    const auto to = static_cast<std::size_t>(output_shape.elements_per_sample());
    const std::size_t rows = out.size() / to;
    const std::lock_guard lock(mutex);
    for (std::size_t at = 0; at < rows; at += kBatch) {
      const std::size_t count = std::min<std::size_t>(kBatch, rows - at);
      program::Batch batch;
      batch.size = static_cast<std::int64_t>(count);
      batch.features = samples.subspan(at * from, count * from);
      program.predict(0, batch, out.subspan(at * to, count * to));
    }
  }
};

FrozenPrefix::FrozenPrefix(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
const graph::Graph& FrozenPrefix::head() const { return impl_->head; }
const std::vector<Tensor>& FrozenPrefix::weights() const { return impl_->weights; }
Digest FrozenPrefix::digest() const { return impl_->digest; }

Result<FrozenPrefix> FrozenPrefix::create(const FrozenModel& input) {
  LANISTA_ASSIGN(graph::Cut cut, graph::cut_behind_frozen(input.model, input.frozen, *input.step_ops));
  LANISTA_ASSIGN(auto weights, weights_of(cut.prefix, input));
  LANISTA_ASSIGN(auto program, compile(cut.prefix, weights, input));
  const graph::Graph& prefix = cut.prefix;
  LANISTA_ASSIGN(const graph::Types types, graph::infer_shapes(prefix, *input.step_ops));
  const auto sample = [](graph::Shape shape) {
    shape.dims.erase(shape.dims.begin());
    return shape;
  };
  const graph::Shape input_shape = sample(types.at({prefix.nodes_of("input").front(), 0}).shape);
  const Digest digest = digest_of(prefix, weights);
  return FrozenPrefix(std::make_shared<Impl>(std::move(cut.head), input_shape, sample(cut.value.shape),
                                             std::move(weights), digest, std::move(program)));
}

Result<data::Dataset> FrozenPrefix::features(const data::Dataset& samples, data::StoredSamples keep,
                                             MemoryBudget* budget) const {
  const data::DataSpec& spec = samples.spec();
  if (spec.features.elements_per_sample() != impl_->input_shape.elements_per_sample()) {
    return Error{Code::kInvalidArgument,
                 "the frozen part needs samples of shape " + impl_->input_shape.text() + ", those of data '" +
                     spec.name + "' have " + spec.features.text(),
                 ""};
  }
  data::Transform transform{impl_->output_shape, impl_->digest,
                            [impl = impl_](auto in, auto out) { impl->apply(in, out); }};
  return data::Dataset::transformed(samples, std::move(transform), keep, budget);
}

}  // namespace lanista::train
