#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/program/layout.h"
#include "lanista/exec/program/lower.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::nn {

/// A piece of a flat buffer, in elements.
struct Range {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

/// One tensor of the state inside its flat buffer (parameters, or buffers).
struct StateTensorLayout {
  step::StateTensor tensor;
  Range range;
  Layout layout = Layout::kPlain;
  Reorder to_layout, from_layout;  ///< from and to canonical order
};

/// How one lane's state lies in its flat buffers. Gradients and optimiser slots follow the parameters; new buffer
/// values, kept until the commit, follow the buffers.
struct StateLayout {
  std::vector<StateTensorLayout> items;  ///< in the order of the step's state
  std::int64_t parameters = 0;   ///< elements
  std::int64_t buffers = 0;
  std::vector<Range> trained;      ///< maximal runs of parameters that a gradient reaches
  std::vector<Range> renewed;      ///< buffers that a step renews
  std::vector<std::string> slots;  ///< of the optimiser
};

/// The layout that a call wants of a parameter at an input.
using RequiredLayout = std::function<Layout(const KernelCall&, std::size_t input)>;

/// Lays out the state of a step. The kernels that read a parameter decide its layout; `train` and `infer` are the
/// lowered sections; a program that only predicts has no `train`. Errors: kUnimplemented if two readers of a
/// parameter want different layouts.
Result<StateLayout> plan_state_layout(const step::TrainingStep* train, const LoweredGraph& train_calls,
                                  const step::InferenceStep& infer, const LoweredGraph& infer_calls,
                                  const RequiredLayout& wanted);

}  // namespace lanista::nn
