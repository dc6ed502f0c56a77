// Tests whether the numbers of a lane depend on its position. A library promises equal bits for equal calls, but not
// for every matrix of a call. Kernels are selected by sizes, so every program runs the test.
#include <cstring>

#include "lanista/base/check.h"
#include "lanista/base/rng.h"
#include "lanista/exec/backends/aten/aten_memory.h"
#include "lanista/exec/backends/aten/aten_recorded_step.h"

namespace lanista::device {
namespace {

constexpr std::int64_t kProbedSteps = 2;

// A batch that fits any data of these types.
struct ProbeBatch {
  std::vector<float> features, targets;
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> samples;
};

std::vector<float> probe_values(Rng& rng, const graph::ValueType& type, std::int64_t size) {
  std::vector<float> values(static_cast<std::size_t>(type.shape.elements(size)));
  for (float& value : values) {
    value = type.dtype == graph::DType::kReal ? static_cast<float>(rng.uniform()) : static_cast<float>(rng.below(2));
  }
  return values;
}

}  // namespace

// All lanes start from one state and run two steps, first with a shared batch, then with one batch per lane. The steps
// are not recorded: the calls are the same, and the shapes of real steps are unknown.
bool AtenExecutable::probe_lanes() {
  const AtenScope scope(*queue_);
  const std::int64_t size = options_.max_batch;
  LANISTA_CHECK(train_.has_value(), "a program that only predicts has no steps to probe");
  auto state = program::LaneState::make(state_format_, 1, nullptr);
  if (!state) throw DeviceOutOfMemory(state.error().message);
  void* const bytes =
      state_format_->is_double() ? static_cast<void*>(state->parameters<double>()) : state->parameters<float>();
  const Tensor begin = at::from_blob(bytes, {1, state_rows_.size(1)}, real_.device(at::kCPU)).to(real_.device());
  const auto lanes = static_cast<std::size_t>(options_.lanes);
  const std::vector<program::LaneHyper> hyper(lanes, program::LaneHyper{.momentum = 0.9});
  const std::vector<std::uint8_t> active(lanes, 1);
  Tensor seen;
  bool equal = true;
  for (const bool shared : {true, false}) {
    state_rows_.copy_(begin.expand_as(state_rows_));
    for (std::int64_t number = 0; number < kProbedSteps; ++number) {
      Rng rng(static_cast<std::uint64_t>(number));
      ProbeBatch probe_batch{.features = probe_values(rng, infer_.types.at(infer_.input), size),
                             .targets = {},
                             .labels = {},
                             .samples = {}};
      if (classes_ == 0) probe_batch.targets = probe_values(rng, train_->types.at(train_->target), size);
      for (std::int64_t i = 0; i < size * positions_ && classes_ > 0; ++i) {
        probe_batch.labels.push_back(static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(classes_))));
      }
      for (std::int64_t i = 0; i < size; ++i) probe_batch.samples.push_back(i);
      const program::Batch batch{.size = size,
                                 .features = probe_batch.features,
                                 .labels = probe_batch.labels,
                                 .targets = probe_batch.targets,
                                 .sample_index = probe_batch.samples};
      const LaneBatches fed{.lanes = {0, options_.lanes},
                            .size = size,
                            .of = std::vector<const program::Batch*>(shared ? 1 : lanes, &batch),
                            .shared = shared};
      num_queued_steps_.assign(lanes, number);
      const auto step = make_recorded_step(shape_of(fed, hyper));
      step->inputs.prepare();
      fill(*step, 0, fed, hyper, active, 0);
      num_queued_steps_.assign(lanes, 0);
      step->inputs.send();
      run_step({*step});
      queue_->synchronise();
    }
    const Tensor now = state_rows_.cpu();
    if (!seen.defined()) seen = now.clone();
    const auto row_bytes = static_cast<std::size_t>(now.nbytes()) / lanes;
    const char *first = static_cast<const char*>(seen.data_ptr()), *row = static_cast<const char*>(now.data_ptr());
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      equal = equal && std::memcmp(first, row + lane * row_bytes, row_bytes) == 0;
    }
  }
  state_rows_.zero_();
  chunk_totals_.zero_();
  return equal;
}

}  // namespace lanista::device
