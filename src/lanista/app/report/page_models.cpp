#include <algorithm>
#include <cmath>
#include <map>

#include "lanista/app/report/layout.h"
#include "lanista/app/report/model_diff.h"
#include "lanista/app/report/page_columns.h"
#include "lanista/app/report/page_data.h"
#include "lanista/base/enum_table.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/text.h"

namespace lanista::report {
namespace {

using graph::Graph;
using nlohmann::json;
using study::StudyView;
using Kind = NodeChange::Kind;

constexpr std::size_t kDrawings = 10, kMaxNodes = 400, kText = 120;
constexpr double kBoxHeight = 44;

/// The model of a trial. Errors: kDataLoss (the records lack its parent or base).
Result<Graph> base_of(const StudyView& view, std::int64_t base) {
  const bool known = view.models.is_array() && base >= 0 && static_cast<std::size_t>(base) < view.models.size();
  const json model = known ? view.models[static_cast<std::size_t>(base)] : json();
  if (!model.is_object() || !model.contains("graph") || !model["graph"].is_string()) {
    return Error{Code::kDataLoss, "base model " + std::to_string(base) + " is not recorded", ""};
  }
  return graph::parse(model["graph"].get_ref<const std::string&>());
}

Result<Graph> model_of(const StudyView& view, const study::Proposal& proposal, const graph::OpTable& ops) {
  LANISTA_ASSIGN(const Graph base, base_of(view, proposal.base));
  return graph::apply_edits(base, proposal.edits, ops);
}

/// The model that a trial's model is compared with: that of its parent, or its base.
Result<Graph> origin_of(const StudyView& view, const study::Proposal& proposal, const graph::OpTable& ops) {
  const auto& parent = proposal.parent;
  if (!parent || parent->value < 1 || parent->value > view.trials.size()) return base_of(view, proposal.base);
  return model_of(view, view.trials[parent->value - 1].proposal, ops);
}

std::string attrs_text(const graph::Node& node) {
  std::string out;
  for (const auto& [name, value] : node.attrs) out += (out.empty() ? "" : " ") + name + "=" + graph::attr_text(value);
  return clip_utf8(out, kText);
}

/// The width of a box: that of its longest line in characters, within limits.
double box_width(std::initializer_list<std::string> lines) {
  std::size_t longest = 0;
  for (const std::string& line : lines) {
    const auto continued = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) == 0x80; });
    longest = std::max(longest, line.size() - static_cast<std::size_t>(continued));
  }
  return std::clamp(20 + 6.8 * static_cast<double>(longest), 84.0, 260.0);
}

std::string_view kind_name(Kind kind) {
  static constexpr EnumTable<Kind, std::string_view, 4> kNames{
      {{Kind::kSame, "same"}, {Kind::kAdded, "added"}, {Kind::kChanged, "changed"}, {Kind::kRemoved, "removed"}}};
  return entry_of(kNames, kind);
}

json placed(const Point& point) { return {std::round(point.x * 10) / 10, std::round(point.y * 10) / 10}; }

Result<json> drawing(const Graph& model, const Graph& origin, const graph::OpTable& ops) {
  if (model.size() > kMaxNodes) {
    return Error{
        Code::kResourceExhausted,
        "the model has " + std::to_string(model.size()) + " nodes; a drawing has at most " + std::to_string(kMaxNodes),
        ""};
  }
  LANISTA_ASSIGN(const graph::Types types, graph::infer_shapes(model, ops));
  std::map<graph::NodeId, NodeChange> change;
  json removed = json::array();
  for (NodeChange& c : model_diff(origin, model)) {
    if (c.kind == Kind::kRemoved) removed.push_back(clip_utf8(c.note, kText));
    change.emplace(c.node, std::move(c));
  }
  json nodes = json::array();
  std::vector<Box> boxes;
  std::vector<Arrow> arrows;
  std::map<graph::NodeId, std::size_t> index;
  for (const auto& node : model.nodes()) {
    index[node->id] = boxes.size();
    const std::string attrs = attrs_text(*node), shape = types.outputs(node->id).front().shape.text();
    boxes.push_back({box_width({node->op + "  " + graph::port_text({node->id, 0}), attrs, shape}), kBoxHeight});
    nodes.push_back({{"id", node->id.value},
                     {"op", clip_utf8(node->op, kText)},
                     {"label", clip_utf8(node->label, kText)},
                     {"attrs", attrs},
                     {"shape", shape},
                     {"change", kind_name(change.at(node->id).kind)},
                     {"note", clip_utf8(change.at(node->id).note, 2 * kText)},
                     {"w", boxes.back().width},
                     {"h", boxes.back().height}});
  }
  for (const auto& node : model.nodes()) {
    for (const graph::Port& port : node->inputs) arrows.push_back({index.at(port.node), index.at(node->id)});
  }
  LANISTA_ASSIGN(const Placement placement, layered_layout(boxes, arrows));
  for (std::size_t i = 0; i < boxes.size(); ++i) nodes[i]["at"] = placed(placement.centres[i]);
  json paths = json::array();
  for (const auto& path : placement.paths) {
    json points = json::array();
    for (const Point& point : path) points.push_back(placed(point));
    paths.push_back(std::move(points));
  }
  return json{{"nodes", std::move(nodes)},
              {"paths", std::move(paths)},
              {"removed", std::move(removed)},
              {"width", std::ceil(placement.width)},
              {"height", std::ceil(placement.height)}};
}

Result<json> drawing_of(const StudyView& view, const study::Proposal& proposal, const graph::OpTable& ops) {
  LANISTA_ASSIGN(const Graph model, model_of(view, proposal, ops));
  LANISTA_ASSIGN(const Graph origin, origin_of(view, proposal, ops));
  return drawing(model, origin, ops);
}

}  // namespace

json model_drawings(const StudyView& view, std::size_t byte_limit) {
  const graph::OpTable ops = graph::builtin_ops();
  json out = json::array();
  std::size_t size = 0;
  for (const TrialId id : study::ranking(view)) {
    if (out.size() == kDrawings) break;
    const auto made = drawing_of(view, view.trials[id.value - 1].proposal, ops);
    json entry = made ? *made : json{{"error", clip_utf8(made.error().text(), 500)}};
    entry["trial"] = id.value;
    size += entry.dump(-1, ' ', true, json::error_handler_t::replace).size();
    if (size > byte_limit && !out.empty()) break;
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace lanista::report
