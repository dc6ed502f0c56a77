#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/program/layout.h"
#include "lanista/exec/program/lower.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::program {

/// A range of a flat buffer, in elements.
struct Range {
  std::int64_t begin = 0;  ///< First element.
  std::int64_t count = 0;  ///< Number of elements.
};

/// One tensor of the state and its place in the flat parameters (if trained) or the flat buffers.
struct StateTensorLayout {
  autodiff::StateTensor tensor;    ///< Name, shape, initial values, and whether it is trained.
  Range range;                     ///< Elements in the flat parameters or buffers.
  Layout layout = Layout::kPlain;  ///< Order of the axes there.
  Reorder to_layout, from_layout;  ///< Copies from canonical order to `layout`, and back.
};

/// The layout of one lane's state in its flat buffers. Gradients and optimiser slots have the layout of the parameters.
/// New buffer values, which wait for the commit, have the layout of the buffers.
struct StateLayout {
  std::vector<StateTensorLayout> items;  ///< In the order of the step's state.
  std::int64_t parameters = 0;           ///< Elements of the flat parameters.
  std::int64_t buffers = 0;              ///< Elements of the flat buffers.
  std::vector<Range> trained;            ///< Maximal ranges of parameters that have a gradient.
  std::vector<Range> renewed;            ///< Ranges of buffers that a step renews, in ascending order.
  /// Names of the optimiser's slots, in their order in a state; empty for programs that only predict.
  std::vector<std::string> slots;
};

/// Returns the layout in which a call reads the parameter at the input with this index.
using RequiredLayout = std::function<Layout(const KernelCall&, std::size_t input)>;

/// Plans the layout of the state of a step: the kernels that read a parameter decide its layout, kPlain if none does.
///
/// `train_calls` and `infer_calls` are the lowered sections. `train` is null for a program that only predicts. Errors:
/// kUnimplemented if two readers of a parameter or buffer require different layouts.
Result<StateLayout> plan_state_layout(const autodiff::TrainingStep* train, const LoweredGraph& train_calls,
                                      const autodiff::InferenceStep& infer, const LoweredGraph& infer_calls,
                                      const RequiredLayout& wanted);

}  // namespace lanista::program
