// Twins in all lanes: whether the numbers of a lane hang on where it lies. A library promises the same bits for the
// same call, not for every matrix of a call; kernels are chosen by sizes, so every program looks for itself.
#include <cstring>

#include "lanista/base/check.h"
#include "lanista/base/rng.h"
#include "lanista/exec/backends/aten/aten_memory.h"
#include "lanista/exec/backends/aten/aten_pending.h"

namespace lanista::device {
namespace {

constexpr std::int64_t kProbedSteps = 2;

// A batch that suits any data of these types.
struct DrawnBatch {
  std::vector<float> features, targets;
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> samples;
};

std::vector<float> drawn_values(Rng& rng, const graph::ValueType& type, std::int64_t size) {
  std::vector<float> values(static_cast<std::size_t>(type.shape.elements(size)));
  for (float& value : values) {
    value = type.dtype == graph::DType::kReal ? static_cast<float>(rng.uniform()) : static_cast<float>(rng.below(2));
  }
  return values;
}

}  // namespace

// One state in all lanes, two steps with one batch for all of them, and again with a batch a lane. Steps are not
// recorded: the calls are the same, and the shapes of real steps are not known yet.
bool AtenMachine::lanes_are_twins() {
  const AtenScope scope(*queue_);
  const std::int64_t size = options_.max_batch;
  LANISTA_CHECK(train_.has_value(), "a program that only predicts has no steps to look at");
  auto state = nn::LaneState::make(kind_, 1, nullptr);
  if (!state) throw NoMemory(state.error().message);
  void* const bytes = kind_->is_double() ? static_cast<void*>(state->parameters<double>()) : state->parameters<float>();
  const Tensor begin = at::from_blob(bytes, {1, rows_.size(1)}, real_.device(at::kCPU)).to(real_.device());
  const auto lanes = static_cast<std::size_t>(options_.lanes);
  const std::vector<nn::LaneHyper> hyper(lanes, nn::LaneHyper{.momentum = 0.9});
  const std::vector<std::uint8_t> active(lanes, 1);
  Tensor seen;
  bool equal = true;
  for (const bool shared : {true, false}) {
    rows_.copy_(begin.expand_as(rows_));
    for (std::int64_t number = 0; number < kProbedSteps; ++number) {
      Rng rng(static_cast<std::uint64_t>(number));
      DrawnBatch drawn{.features = drawn_values(rng, infer_.types.at(infer_.input), size),
                       .targets = {},
                       .labels = {},
                       .samples = {}};
      if (classes_ == 0) drawn.targets = drawn_values(rng, train_->types.at(train_->target), size);
      for (std::int64_t i = 0; i < size * positions_ && classes_ > 0; ++i) {
        drawn.labels.push_back(static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(classes_))));
      }
      for (std::int64_t i = 0; i < size; ++i) drawn.samples.push_back(i);
      const nn::Batch batch{.size = size,
                            .features = drawn.features,
                            .labels = drawn.labels,
                            .targets = drawn.targets,
                            .sample_index = drawn.samples};
      const Fed fed{.lanes = {0, options_.lanes},
                    .size = size,
                    .of = std::vector<const nn::Batch*>(shared ? 1 : lanes, &batch),
                    .shared = shared};
      ahead_.assign(lanes, number);
      const auto step = make_recorded(shape_of(fed, hyper));
      step->inputs.prepare();
      fill(*step, 0, fed, hyper, active, 0);
      ahead_.assign(lanes, 0);
      step->inputs.send();
      do_step({*step});
      queue_->synchronise();
    }
    const Tensor now = rows_.cpu();
    if (!seen.defined()) seen = now.clone();
    const auto row_bytes = static_cast<std::size_t>(now.nbytes()) / lanes;
    const char *first = static_cast<const char*>(seen.data_ptr()), *row = static_cast<const char*>(now.data_ptr());
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      equal = equal && std::memcmp(first, row + lane * row_bytes, row_bytes) == 0;
    }
  }
  rows_.zero_();
  totals_.zero_();
  return equal;
}

}  // namespace lanista::device
