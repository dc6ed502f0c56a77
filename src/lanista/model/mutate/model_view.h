#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/op.h"

// A typed view of a model and helper functions, which the built-in mutators share.
namespace lanista::mutate {

/// Label of the nodes that a shape repair adds. They belong to the join that reads them, and no mutator changes them.
inline constexpr std::string_view kRepairLabel = "repair";
/// Label of the joins that the mutator add_skip adds.
inline constexpr std::string_view kSkipLabel = "skip";

/// Makes a kNotApplicable error with this message.
Error not_applicable(std::string message);

/// A model with the types of its values. It keeps references, so graph and table must live as long as the view.
class ModelView {
 public:
  /// Infers the types of a model. Errors: as in `graph::infer_shapes` (kNotFound, kInvalidArgument); kInvalidArgument
  /// if the model has not exactly one node `output`.
  static Result<ModelView> make(const graph::Graph& model, const graph::OpTable& ops);

  /// The model.
  const graph::Graph& graph() const { return *graph_; }
  /// The operator table.
  const graph::OpTable& ops() const { return *ops_; }
  /// The type of output 0 of a node. The reference lives as long as the view.
  const graph::ValueType& type(graph::NodeId id) const { return types_.outputs(id).front(); }
  /// The types of the values that a node reads, in order of its inputs.
  std::vector<graph::ValueType> inputs(const graph::Node& node) const { return types_.inputs(node); }
  /// The type of the value that the node `output` of the model reads.
  const graph::ValueType& output_type() const { return type(output_); }
  /// True if no node reads another output than output 0.
  bool reads_first_outputs() const { return reads_first_outputs_; }
  /// The attributes of a node, for reading with their defaults. The input types of the result are empty. It refers to
  /// `node`, which must live as long.
  graph::OpArgs args(const graph::Node& node) const;

 private:
  ModelView(const graph::Graph& model, const graph::OpTable& ops, graph::Types types, graph::NodeId output);
  const graph::Graph* graph_;
  const graph::OpTable* ops_;
  graph::Types types_;
  graph::NodeId output_;
  bool reads_first_outputs_ = true;
};

/// True if an operator is of the family kLayer. False for an unknown operator.
bool is_layer(const graph::OpTable& ops, std::string_view op);
/// True if an operator is of the family kNorm. False for an unknown operator.
bool is_norm(const graph::OpTable& ops, std::string_view op);
/// True if an operator is of the family kActivation. False for an unknown operator.
bool is_activation(const graph::OpTable& ops, std::string_view op);
/// True if an operator is of the family kPool. False for an unknown operator.
bool is_pool(const graph::OpTable& ops, std::string_view op);
/// True if an operator is of the family kJoin. False for an unknown operator.
bool is_join(const graph::OpTable& ops, std::string_view op);
/// True if a shape repair added the node.
inline bool is_repair(const graph::Node& node) { return node.label == kRepairLabel; }

/// The node that computes the value of `port`, before the shape repairs that follow it.
graph::NodeId unrepaired(const graph::Graph& model, graph::Port port);

/// True if a path leads from the layer to the output without another layer. Then the width of the layer can determine
/// the shape of the output.
bool is_head(const graph::Graph& model, const graph::OpTable& ops, graph::NodeId layer);

/// The type of output 0 of operator `op` with these attributes and inputs. Errors: as in `check_node` (kNotFound,
/// kInvalidArgument), or kInvalidArgument from shape inference.
Result<graph::ValueType> result_type(const graph::OpTable& ops, const std::string& op, const graph::Attrs& attrs,
                                     std::span<const graph::ValueType> inputs);

/// Sets an attribute in `attrs`, the attributes of a node with operator `op`. If `value` is the default and the
/// attribute is not required, removes it instead. An unknown operator or attribute is a bug.
void set_attr(graph::Attrs& attrs, const graph::OpTable& ops, std::string_view op, std::string_view name,
              graph::AttrValue value);

/// A node as text for messages: id and operator, such as "%3 linear".
std::string site_name(const graph::Node& node);

/// Nodes that a mutator changes together, because they have the same label and operator. At least one.
using Site = std::vector<graph::NodeId>;
/// Groups nodes into sites, in order of their first node in `nodes`. A node without label is a site alone.
std::vector<Site> tied_sites(const graph::Graph& model, std::span<const graph::NodeId> nodes);

/// Collects the nodes that a mutator cannot change, with reasons, for its error message.
class SiteLog {
 public:
  /// Adds a node that cannot be changed, with the reason.
  void reject(const graph::Node& node, const std::string& why);
  /// Makes a kNotApplicable error with the first eight reasons and the number of nodes. If no node was added, the
  /// message is that the model has no `kind`, such as "layer".
  Error error(std::string_view mutator, std::string_view kind) const;

 private:
  int count_ = 0;
  std::string text_;
};

}  // namespace lanista::mutate
