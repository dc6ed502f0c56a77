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

/// How shapes that no longer fit at a join (add, mul, concat) are made to fit; every repair is a recorded edit.
struct RepairPolicy {
  enum class Channels { kProject, kPad, kReject };
  enum class Spatial { kPool, kInterpolate, kReject };
  Channels channels = Channels::kProject;
  Spatial spatial = Spatial::kPool;
};

/// One way to turn a model into a neighbouring model (Retiarii, OSDI'20).
///
/// A pure function of its graph and of the choices it draws: the same graph and the same trace give the same result on
/// any machine. Keeps no state, so one instance may serve many threads.
class Mutator {
 public:
  virtual ~Mutator() = default;

  /// Stable snake_case name; stored with every trial and never reused.
  virtual std::string_view name() const = 0;

  /// Returns `base` with this mutation applied and the edits that did it; `base` itself is untouched.
  ///
  /// Every decision is drawn from `choose`. Joins are repaired by `repair`; the result has passed graph::verify.
  /// Errors: kNotApplicable if `base` has no site for this mutation (which sites were looked at, why none fits).
  virtual Result<graph::Edited> apply(const graph::Graph& base, const graph::OpTable& ops, const RepairPolicy& repair,
                                      space::Chooser& choose) const = 0;
};

/// A kind of mutator that study files can name.
struct MutatorPlugin {
  std::string name;
  std::string help;
  std::vector<OptionSpec> options;
  std::function<Result<std::unique_ptr<Mutator>>(const Options&)> make;
  nlohmann::json example{};  ///< options that apply to common models, where the defaults do not; for help and tests
};

/// swap_op, widen, deepen, remove, add_skip, and the families that users fill in: operator, input, insert, replace,
/// duplicate.
std::vector<MutatorPlugin> builtin_mutators();

/// Makes joins fit again after an edit: walks the graph in dependency order and inserts what `policy` says in front of
/// joins whose inputs differ. Errors: kNotApplicable with the two shapes, if the policy rejects or no repair exists.
Result<void> repair_joins(graph::Editor& editor, const graph::OpTable& ops, const RepairPolicy& policy);

}  // namespace lanista::mutate
