#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/engine/core/executor.h"
#include "lanista/io/data/spec.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/model/transfer/transfer.h"
#include "lanista/search/study/study_view.h"

// Warm starts that the engine chooses (`train.start`). A record holds the pairing method and a hash of the transfer
// plan. The plan is a function of both models, the method and the trial's seed; it is computed again where needed.
namespace lanista::engine {

/// Pairing method: nodes with equal ids (zoo::lineage_mapping).
inline constexpr std::string_view kByLineage = "lineage";
/// Pairing method: the graph matching of zoo::match.
inline constexpr std::string_view kByMatch = "match";

/// Least coverage of a useful start that does not keep the parent's function.
inline constexpr double kMinCoverage = 0.1;

/// What a child model inherits from a parent.
struct Inheritance {
  std::string plan_text;   ///< Text of study::Start::plan: "lineage 1 0123456789abcdef".
  zoo::TransferPlan plan;  ///< The transfer plan.
  double coverage = 0;     ///< zoo::inherited_share.
  /// Sort key of starts; a greater key is a more useful start.
  std::pair<bool, double> usefulness() const { return {plan.exact, coverage}; }
  /// Whether the start is worth using.
  bool is_useful() const { return plan.exact || coverage >= kMinCoverage; }
};
/// A start, and the weights that the child inherits from it.
struct StartOption {
  study::Start start;       ///< Where the weights come from.
  Inheritance inheritance;  ///< What the child inherits.
};
/// Importance of each unit of a parent, by node (zoo::TransferOptions::scores).
using UnitScores = std::map<graph::NodeId, std::vector<double>>;
/// The inheritance with the pairing method `how`. The plan leaves out the nodes in `frozen`. Errors: kInvalidArgument
/// (no such method), those of zoo::plan_transfer.
Result<Inheritance> plan_inheritance(std::string_view how, const graph::Graph& parent, const graph::Graph& child,
                                     std::uint64_t seed, const std::set<graph::NodeId>& frozen,
                                     const graph::OpTable& ops, const UnitScores& scores = {});
/// The transfer plan of a job for this start, with `scores` to choose the units of `parent` that stay (Job::parent).
Result<zoo::TransferPlan> plan_by_scores(const Job& job, const study::Start& start, const graph::Graph& parent,
                                         const UnitScores& scores, const graph::OpTable& ops);
/// The more useful of both pairing methods; lineage if both are equal.
Result<Inheritance> best_inheritance(const graph::Graph& parent, const graph::Graph& child, std::uint64_t seed,
                                     const std::set<graph::NodeId>& frozen, const graph::OpTable& ops);

/// The value of study::Start::optimizer for a start with this plan and a child with this sample. It is
/// kOptimizerCarried if the child computes the parent's function, each of its elements is one of the parent's, and both
/// have the same optimiser. Otherwise the optimiser state would not match the weights.
std::string optimizer_transfer(const study::StudyView& view, const study::Start& start, const zoo::TransferPlan& plan,
                               const space::Sample& child);

/// Names of the classes of parent and child.
struct ClassLabels {
  std::vector<std::string> parent, child;  ///< In class order; empty: unknown.
};
/// Pairs the rows of the last linear layer by class labels if both sides have them. Without labels and with another
/// number of classes the last layer starts fresh. A model without a last linear layer keeps its plan.
Result<Inheritance> match_classes(Inheritance inheritance, const ClassLabels& labels, const graph::Graph& parent,
                                  const graph::Graph& child, const graph::OpTable& ops);

/// Computes the plan of a recorded start again. Errors: kDataLoss (its hash is not the recorded one).
Result<zoo::TransferPlan> recorded_plan(const study::Start& start, const graph::Graph& parent,
                                        const graph::Graph& child, std::uint64_t seed,
                                        const std::set<graph::NodeId>& frozen, const ClassLabels& labels,
                                        const graph::OpTable& ops);

/// The start file that train.start names.
struct ReadStart {
  study::StartFile file;        ///< As in a header, without the address.
  std::vector<Tensor> weights;  ///< Its tensors.
};
/// Reads the file that train.start names. Errors: kInvalidArgument and kNotFound with the key in `where`, those of
/// files.
Result<ReadStart> read_start_file(const study::StudyConfig& config, const std::string& folder, FileSystem& fs,
                                  const graph::OpTable& ops);
/// One sentence for users about what a base model inherits: "base net.onnx: 87 % of its weights, the same function".
Result<std::string> describe_start(const ReadStart& start, const mutate::BaseModel& base, const data::DataSpec& data,
                                   const graph::OpTable& ops);
/// Class labels of a start and of the study; empty unless the start is a file.
ClassLabels labels_of(const study::StudyView& view, const study::Start& start);

/// A base model for other data: its input shape is changed if the rank is equal, and the outputs of its last linear
/// layer to the number of classes. Errors: those of graph::verify (the result is not a valid model).
Result<graph::Graph> adapt_base(const graph::Graph& base, const data::DataSpec& data, const graph::OpTable& ops);

/// The model that a start takes its weights from. Errors: those of study::trial_model, kDataLoss.
Result<graph::Graph> start_model(const study::StudyView& view, const study::Start& start, const graph::OpTable& ops);
/// Sets the transfer plans of a job with a known frozen part, and the parent models if the loss chooses their units
/// (train.start_shrink). A start without a plan stays unchanged. Errors: those of start_model and recorded_plan.
Result<void> plan_start(Job& job, const study::StudyView& view, const graph::OpTable& ops);

}  // namespace lanista::engine
