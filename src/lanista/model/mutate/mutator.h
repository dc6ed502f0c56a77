#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/base/result.h"
#include "lanista/model/graph/editor.h"
#include "lanista/model/graph/op.h"
#include "lanista/model/space/chooser.h"

namespace lanista::mutate {

/// How a shape repair makes the inputs of a join (add, mul, concat) fit each other. Every repair is a recorded edit.
struct RepairPolicy {
  /// Repair if the numbers of channels or features differ.
  enum class Channels {
    kProject,  ///< a 1x1 convolution or a linear layer
    kPad,      ///< channels of zeros, up to the widest input, if its number of channels is a multiple
    kReject    ///< no repair: the mutation does not apply
  };
  /// Repair if the heights or widths of images differ.
  enum class Spatial {
    kPool,         ///< average pooling to the smallest height and width
    kInterpolate,  ///< bilinear resizing to the image of the first input
    kReject        ///< no repair: the mutation does not apply
  };
  Channels channels = Channels::kProject;  ///< repair of channels
  Spatial spatial = Spatial::kPool;        ///< repair of images
};

/// Turns a model into a neighbouring model (Retiarii, OSDI'20): a mutation.
///
/// A mutator is a pure function of its graph and of the answers of its chooser: the same graph and trace give the same
/// result on any machine. It keeps no state, so one instance may serve many threads.
class Mutator {
 public:
  virtual ~Mutator() = default;

  /// Stable snake_case name. It is stored with every trial and never reused for another mutator.
  virtual std::string_view name() const = 0;

  /// Returns `base` with this mutation applied once, and the edits that turn `base` into it. `base` is unchanged.
  ///
  /// Every decision is a question to `choose`. Joins are repaired by `repair`, and the result has passed
  /// `graph::verify`.
  /// Errors: kNotApplicable if no node of `base` fits this mutation, with nodes and reasons, or if the chosen change
  /// gives no valid model; as in `graph::infer_shapes` (kNotFound, kInvalidArgument) for an invalid `base`.
  virtual Result<graph::Edited> apply(const graph::Graph& base, const graph::OpTable& ops, const RepairPolicy& repair,
                                      space::Chooser& choose) const = 0;
};

/// A kind of mutator that study files may name, with its options.
struct MutatorPlugin {
  std::string name;                 ///< key in study files
  std::string help;                 ///< one sentence for users
  std::vector<OptionSpec> options;  ///< options with types and defaults
  /// Makes the mutator from options that resolve_options() has checked. Errors: kInvalidArgument or kNotFound for a
  /// value that the mutator rejects, with the name of the option in `where`.
  std::function<Result<std::unique_ptr<Mutator>>(const Options&)> make;
  nlohmann::json example{};  ///< options that fit common models, for help and tests; null: the defaults do
};

/// All built-in mutators, in a fixed order.
///
/// They are swap_op, widen, deepen, remove and add_skip, which apply to most models, and operator, input, insert,
/// replace and duplicate, which change what their options specify.
std::vector<MutatorPlugin> builtin_mutators();

}  // namespace lanista::mutate
