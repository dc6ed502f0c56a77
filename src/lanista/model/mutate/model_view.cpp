#include "lanista/model/mutate/model_view.h"

#include <algorithm>
#include <set>

namespace lanista::mutate {

using graph::Graph;
using graph::Node;
using graph::NodeId;

namespace {

constexpr int kShown = 8;  // so that the message of a large model stays short

graph::OpFamily family_of(const graph::OpTable& ops, std::string_view op) {
  const graph::OpDef* def = ops.find(op);
  return def == nullptr ? graph::OpFamily::kOther : def->family;
}

}  // namespace

Error not_applicable(std::string message) { return Error{Code::kNotApplicable, std::move(message), ""}; }

Result<ModelView> ModelView::make(const Graph& model, const graph::OpTable& ops) {
  LANISTA_ASSIGN(auto types, graph::infer_shapes(model, ops));
  const auto outputs = model.nodes_of("output");
  if (outputs.size() != 1) {
    return Error{Code::kInvalidArgument, "the model has " + std::to_string(outputs.size()) + " outputs, not one", ""};
  }
  return ModelView(model, ops, std::move(types), outputs.front());
}

ModelView::ModelView(const Graph& model, const graph::OpTable& ops, graph::Types types, NodeId output)
    : graph_(&model), ops_(&ops), types_(std::move(types)), output_(output) {
  for (const auto& node : model.nodes()) {
    for (const graph::Port port : node->inputs) reads_first_outputs_ = reads_first_outputs_ && port.slot == 0;
  }
}

graph::OpArgs ModelView::args(const Node& node) const { return {{}, node.attrs, *ops_->find(node.op)}; }

bool is_layer(const graph::OpTable& ops, std::string_view op) { return family_of(ops, op) == graph::OpFamily::kLayer; }
bool is_norm(const graph::OpTable& ops, std::string_view op) { return family_of(ops, op) == graph::OpFamily::kNorm; }
bool is_activation(const graph::OpTable& ops, std::string_view op) {
  return family_of(ops, op) == graph::OpFamily::kActivation;
}
bool is_pool(const graph::OpTable& ops, std::string_view op) { return family_of(ops, op) == graph::OpFamily::kPool; }
bool is_join(const graph::OpTable& ops, std::string_view op) { return family_of(ops, op) == graph::OpFamily::kJoin; }

NodeId unrepaired(const Graph& model, graph::Port port) {
  while (is_repair(model.node(port.node))) port = model.node(port.node).inputs.front();
  return port.node;
}

bool is_head(const Graph& model, const graph::OpTable& ops, NodeId layer) {
  std::vector<NodeId> open{layer};
  std::set<NodeId> seen;
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    for (const graph::Use& use : model.consumers(id)) {
      const Node& user = model.node(use.node);
      if (user.is_output()) return true;
      if (!is_layer(ops, user.op) && seen.insert(use.node).second) open.push_back(use.node);
    }
  }
  return false;
}

Result<graph::ValueType> result_type(const graph::OpTable& ops, const std::string& op, const graph::Attrs& attrs,
                                     std::span<const graph::ValueType> inputs) {
  LANISTA_TRY(graph::check_node(Node{{}, op, attrs, std::vector<graph::Port>(inputs.size()), ""}, ops));
  const graph::OpDef& def = *ops.find(op);
  LANISTA_ASSIGN(const auto outputs, def.infer({inputs, attrs, def}));
  return outputs.front();
}

void set_attr(graph::Attrs& attrs, const graph::OpTable& ops, std::string_view op, std::string_view name,
              graph::AttrValue value) {
  const graph::OpDef* def = ops.find(op);
  LANISTA_CHECK(def != nullptr, "no operator " + std::string(op));
  const auto spec = std::find_if(def->attrs.begin(), def->attrs.end(), [&](const auto& s) { return s.name == name; });
  LANISTA_CHECK(spec != def->attrs.end(), std::string(op) + " has no attribute " + std::string(name));
  if (!spec->required && spec->default_value == value) {
    attrs.erase(name);
  } else {
    attrs.set(name, std::move(value));
  }
}

std::string site_name(const Node& node) { return "%" + std::to_string(node.id.value) + " " + node.op; }

std::vector<Site> tied_sites(const Graph& model, std::span<const NodeId> nodes) {
  std::vector<Site> sites;
  for (const NodeId id : nodes) {
    const Node& node = model.node(id);
    const auto tied = std::find_if(sites.begin(), sites.end(), [&](const Site& site) {
      const Node& first = model.node(site.front());
      return !node.label.empty() && first.label == node.label && first.op == node.op;
    });
    if (tied == sites.end()) {
      sites.push_back({id});
    } else {
      tied->push_back(id);
    }
  }
  return sites;
}

void SiteLog::reject(const Node& node, const std::string& why) {
  if (++count_ <= kShown) text_ += (text_.empty() ? "" : "; ") + site_name(node) + ": " + why;
}

Error SiteLog::error(std::string_view mutator, std::string_view kind) const {
  const std::string name(mutator);
  if (count_ == 0) return not_applicable(name + ": the model has no " + std::string(kind));
  std::string message = name + ": no site among " + std::to_string(count_) + ": " + text_;
  if (count_ > kShown) message += "; and " + std::to_string(count_ - kShown) + " more";
  return not_applicable(std::move(message));
}

}  // namespace lanista::mutate
