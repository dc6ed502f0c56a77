#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/op.h"

// What the shipped mutators share: looking at a typed graph, and saying why a place is no site.
namespace lanista::mutate {

/// Label of nodes that a repair put in; they belong to their join and are nobody's site.
inline constexpr std::string_view kRepairLabel = "repair";
/// Label of the joins that add_skip makes.
inline constexpr std::string_view kSkipLabel = "skip";

Error not_applicable(std::string message);

/// A model and its types. Holds references: graph and table must outlive it.
class ModelView {
 public:
  /// Errors: those of graph::infer_shapes; kInvalidArgument if there is not exactly one output.
  static Result<ModelView> make(const graph::Graph& model, const graph::OpTable& ops);

  const graph::Graph& graph() const { return *graph_; }
  const graph::OpTable& ops() const { return *ops_; }
  const graph::ValueType& type(graph::NodeId id) const { return types_.outputs(id).front(); }
  std::vector<graph::ValueType> inputs(const graph::Node& node) const { return types_.inputs(node); }
  const graph::ValueType& output_type() const { return type(output_); }
  /// Whether nothing reads another output of an operator than its first.
  bool reads_first_outputs() const { return reads_first_outputs_; }
  /// Attributes with their defaults (the input types are left out).
  graph::OpArgs args(const graph::Node& node) const;

 private:
  ModelView(const graph::Graph& model, const graph::OpTable& ops, graph::Types types, graph::NodeId output);
  const graph::Graph* graph_;
  const graph::OpTable* ops_;
  graph::Types types_;
  graph::NodeId output_;
  bool reads_first_outputs_ = true;
};

// The family that an operator's definition names; an unknown one has none.
bool is_layer(const graph::OpTable& ops, std::string_view op);
bool is_norm(const graph::OpTable& ops, std::string_view op);
bool is_activation(const graph::OpTable& ops, std::string_view op);
bool is_pool(const graph::OpTable& ops, std::string_view op);
bool is_join(const graph::OpTable& ops, std::string_view op);
inline bool is_repair(const graph::Node& node) { return node.label == kRepairLabel; }

/// The value that repairs were put behind, if any were; else the one that is read.
graph::NodeId unrepaired(const graph::Graph& model, graph::Port port);

/// Whether the layer's result reaches the output without another layer in between: its width is the model's.
bool is_head(const graph::Graph& model, const graph::OpTable& ops, graph::NodeId layer);

/// Type of output 0 of an operator on these inputs. Errors: as check_node and the operator's inference.
Result<graph::ValueType> result_type(const graph::OpTable& ops, const std::string& op, const graph::Attrs& attrs,
                                     std::span<const graph::ValueType> inputs);

/// Sets an attribute; one that equals its default is left out, as everywhere in stored models.
void set_attr(graph::Attrs& attrs, const graph::OpTable& ops, std::string_view op, std::string_view name,
              graph::AttrValue value);

/// "%3 linear"
std::string site_name(const graph::Node& node);

/// Nodes that must change together, because they have the same label and operator; in order of their first member.
using Site = std::vector<graph::NodeId>;
std::vector<Site> tied_sites(const graph::Graph& model, std::span<const graph::NodeId> nodes);

/// Collects why places are no sites, for the error message.
class SiteLog {
 public:
  void reject(const graph::Node& node, const std::string& why);
  /// kNotApplicable; `kind` says what was looked for where nothing was even looked at.
  Error error(std::string_view mutator, std::string_view kind) const;

 private:
  int count_ = 0;
  std::string text_;
};

}  // namespace lanista::mutate
