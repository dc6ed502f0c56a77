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

/// A range of a flat buffer, in elements.
struct Range {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

/// One tensor of the state in its flat buffer (parameters or buffers).
struct StateTensorLayout {
  step::StateTensor tensor;
  Range range;
  Layout layout = Layout::kPlain;
  Reorder to_layout, from_layout;  ///< copies from and to canonical order
};

/// The layout of one lane's state in its flat buffers. Gradients and optimiser slots have the layout of the parameters.
/// New buffer values, which wait for the commit, have the layout of the buffers.
struct StateLayout {
  std::vector<StateTensorLayout> items;  ///< in the order of the step's state
  std::int64_t parameters = 0;           ///< elements
  std::int64_t buffers = 0;              ///< elements
  std::vector<Range> trained;            ///< maximal ranges of parameters that have a gradient
  std::vector<Range> renewed;            ///< buffers that a step renews
  std::vector<std::string> slots;        ///< names of the optimiser's slots
};

/// Returns the layout in which a call reads the parameter at an input.
using RequiredLayout = std::function<Layout(const KernelCall&, std::size_t input)>;

/// Plans the layout of the state of a step. The kernels that read a parameter decide its layout.
///
/// `train_calls` and `infer_calls` are the lowered sections. `train` is null for a program that only predicts. Errors:
/// kUnimplemented if two readers of a parameter require different layouts.
Result<StateLayout> plan_state_layout(const step::TrainingStep* train, const LoweredGraph& train_calls,
                                      const step::InferenceStep& infer, const LoweredGraph& infer_calls,
                                      const RequiredLayout& wanted);

}  // namespace lanista::nn
