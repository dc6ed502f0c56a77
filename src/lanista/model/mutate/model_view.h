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

/// Label of the nodes that a shape repair adds. They belong to their join, and no mutator changes them.
inline constexpr std::string_view kRepairLabel = "repair";
/// Label of the joins that add_skip adds.
inline constexpr std::string_view kSkipLabel = "skip";

/// Returns a kNotApplicable error.
Error not_applicable(std::string message);

/// A model with its types. It holds references, so the graph and the table must live as long as the view.
class ModelView {
 public:
  /// Infers the types of a model. Errors: those of `graph::infer_shapes`; kInvalidArgument if the model has not exactly
  /// one output.
  static Result<ModelView> make(const graph::Graph& model, const graph::OpTable& ops);

  /// The model.
  const graph::Graph& graph() const { return *graph_; }
  /// The operator table.
  const graph::OpTable& ops() const { return *ops_; }
  /// The type of output 0 of a node.
  const graph::ValueType& type(graph::NodeId id) const { return types_.outputs(id).front(); }
  /// The types of the inputs of a node.
  std::vector<graph::ValueType> inputs(const graph::Node& node) const { return types_.inputs(node); }
  /// The type of the output of the model.
  const graph::ValueType& output_type() const { return type(output_); }
  /// Whether all nodes read output 0 of their sources only.
  bool reads_first_outputs() const { return reads_first_outputs_; }
  /// The attributes of a node with their defaults. The input types of the result are empty.
  graph::OpArgs args(const graph::Node& node) const;

 private:
  ModelView(const graph::Graph& model, const graph::OpTable& ops, graph::Types types, graph::NodeId output);
  const graph::Graph* graph_;
  const graph::OpTable* ops_;
  graph::Types types_;
  graph::NodeId output_;
  bool reads_first_outputs_ = true;
};

/// Whether an operator is of the family kLayer. An unknown operator is of no family.
bool is_layer(const graph::OpTable& ops, std::string_view op);
/// Whether an operator is of the family kNorm.
bool is_norm(const graph::OpTable& ops, std::string_view op);
/// Whether an operator is of the family kActivation.
bool is_activation(const graph::OpTable& ops, std::string_view op);
/// Whether an operator is of the family kPool.
bool is_pool(const graph::OpTable& ops, std::string_view op);
/// Whether an operator is of the family kJoin.
bool is_join(const graph::OpTable& ops, std::string_view op);
/// Whether a shape repair added the node.
inline bool is_repair(const graph::Node& node) { return node.label == kRepairLabel; }

/// The node that computes the value of `port` before shape repairs.
graph::NodeId unrepaired(const graph::Graph& model, graph::Port port);

/// Whether the result of a layer reaches the output without another layer in between. Its width is that of the output.
bool is_head(const graph::Graph& model, const graph::OpTable& ops, graph::NodeId layer);

/// The type of output 0 of an operator for these inputs. Errors: those of `check_node` and of the inference rule.
Result<graph::ValueType> result_type(const graph::OpTable& ops, const std::string& op, const graph::Attrs& attrs,
                                     std::span<const graph::ValueType> inputs);

/// Sets an attribute of an operator `op`. A value that equals the default is left out.
void set_attr(graph::Attrs& attrs, const graph::OpTable& ops, std::string_view op, std::string_view name,
              graph::AttrValue value);

/// A node as text for messages, such as "%3 linear".
std::string site_name(const graph::Node& node);

/// Nodes that a mutator changes together, because they have the same label and operator.
using Site = std::vector<graph::NodeId>;
/// Groups nodes into sites, in order of their first node. A node without label is a site of its own.
std::vector<Site> tied_sites(const graph::Graph& model, std::span<const graph::NodeId> nodes);

/// Collects the nodes that a mutator rejected, with reasons, for its error message.
class SiteLog {
 public:
  /// Adds a rejected node.
  void reject(const graph::Node& node, const std::string& why);
  /// Returns a kNotApplicable error with the first eight reasons. `kind` names the kind of site that the model lacks,
  /// if no node was rejected.
  Error error(std::string_view mutator, std::string_view kind) const;

 private:
  int count_ = 0;
  std::string text_;
};

}  // namespace lanista::mutate
