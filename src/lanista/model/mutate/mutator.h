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

/// How a shape repair makes the inputs of a join (add, mul, concat) fit. Every repair is a recorded edit.
struct RepairPolicy {
  /// Repair of the number of channels or features.
  enum class Channels {
    kProject,  ///< a 1x1 convolution or a linear layer
    kPad,      ///< zero channels, up to the widest input
    kReject    ///< no repair: the mutation does not apply
  };
  /// Repair of the height and width of images.
  enum class Spatial {
    kPool,         ///< average pooling to the smallest image
    kInterpolate,  ///< bilinear resizing to the image of the first input
    kReject        ///< no repair: the mutation does not apply
  };
  Channels channels = Channels::kProject;  ///< repair of channels
  Spatial spatial = Spatial::kPool;        ///< repair of images
};

/// Turns a model into a neighbouring model (Retiarii, OSDI'20).
///
/// A mutator is a pure function of its graph and of the answers of its chooser: the same graph and trace give the same
/// result on any machine. It keeps no state, so one instance may serve many threads.
class Mutator {
 public:
  virtual ~Mutator() = default;

  /// Stable snake_case name. It is stored with every trial and never reused.
  virtual std::string_view name() const = 0;

  /// Returns `base` with this mutation applied, and the edits that do it. `base` is unchanged.
  ///
  /// `choose` makes every decision. `repair` repairs the joins, and the result has passed `graph::verify`.
  /// Errors: kNotApplicable if no node of `base` fits this mutation; the message lists the nodes with reasons.
  virtual Result<graph::Edited> apply(const graph::Graph& base, const graph::OpTable& ops, const RepairPolicy& repair,
                                      space::Chooser& choose) const = 0;
};

/// A kind of mutator for study files.
struct MutatorPlugin {
  std::string name;                                                      ///< key in study files
  std::string help;                                                      ///< one sentence for users
  std::vector<OptionSpec> options;                                       ///< options with types and defaults
  std::function<Result<std::unique_ptr<Mutator>>(const Options&)> make;  ///< makes the mutator from its options
  nlohmann::json example{};  ///< options for common models, if the defaults do not apply; for help and tests
};

/// All built-in mutators.
///
/// They are swap_op, widen, deepen, remove and add_skip, and those that options define: operator, input, insert,
/// replace and duplicate.
std::vector<MutatorPlugin> builtin_mutators();

/// Repairs the joins of a graph after an edit, in dependency order.
///
/// It inserts nodes before every join of which the inputs do not fit, as `policy` specifies.
/// Errors: kNotApplicable with the two shapes, if the policy rejects the repair or none exists.
Result<void> repair_joins(graph::Editor& editor, const graph::OpTable& ops, const RepairPolicy& policy);

}  // namespace lanista::mutate
