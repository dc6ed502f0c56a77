// Changes the width of a hidden layer. Shape inference gives its users their new input width.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "lanista/model/mutate/builtin.h"
#include "lanista/model/mutate/site_change.h"

namespace lanista::mutate {

namespace {

constexpr double kMaxWidth = 1 << 24;

/// Layers with a width of their own. The width of a depthwise convolution follows from its input.
bool has_width(const graph::OpTable& ops, std::string_view op) {
  if (!is_layer(ops, op)) return false;
  return std::ranges::any_of(ops.find(op)->attrs, [](const graph::AttrSpec& attr) { return attr.name == "out"; });
}

/// What the width of a layer reaches.
enum class WidthReach {
  kAbsorbed,  ///< every path ends in a layer that takes any input width
  kOutput,    ///< it is the width of the output
  kUnsure,    ///< it reaches joins, groups or reshapes, so the change must be tried
};

/// Follows the dimension `axis` of the result of a layer downstream.
class WidthTrace {
 public:
  explicit WidthTrace(const ModelView& view) : view_(view) {}

  WidthReach follow(const graph::Node& layer) {
    const std::size_t rank = view_.type(layer.id).shape.rank();
    if (has_groups(layer)) reach_ = WidthReach::kUnsure;
    visit(layer.id, view_.ops().find(layer.op)->facts.mixes == graph::MixedAxis::kLast ? rank - 1 : 1);
    return reach_;
  }

 private:
  void visit(graph::NodeId id, std::size_t axis) {
    for (const graph::Use& use : view_.graph().consumers(id)) {
      if (reach_ == WidthReach::kOutput) return;
      const graph::Node& user = view_.graph().node(use.node);
      if (user.is_output()) {
        reach_ = WidthReach::kOutput;
      } else if (const auto next = pass(user, axis, view_.type(id).shape.rank())) {
        if (*next != kEnds && seen_.insert({user.id, *next}).second) visit(user.id, *next);
      } else {
        reach_ = WidthReach::kUnsure;
      }
    }
  }

  static bool has_groups(const graph::Node& node) {
    const auto* groups = node.attrs.find("groups");
    return groups != nullptr && std::get<std::int64_t>(*groups) != 1;
  }

  static constexpr std::size_t kEnds = static_cast<std::size_t>(-1);

  /// Returns the axis after `user`, kEnds if it accepts any width, or no value if that is unknown.
  std::optional<std::size_t> pass(const graph::Node& user, std::size_t axis, std::size_t rank) const {
    const graph::OpDef& def = *view_.ops().find(user.op);
    const graph::SizeFlow flow = def.size_flow;
    if (flow == graph::SizeFlow::kAny) return axis;
    if (def.facts.mixes == graph::MixedAxis::kLast) return axis == rank - 1 ? std::optional(kEnds) : std::nullopt;
    if (user.op == "flatten") return 1;
    if (axis != 1 || rank != 4) return std::nullopt;
    if (def.facts.mixes == graph::MixedAxis::kChannels && !has_groups(user)) return kEnds;
    return flow == graph::SizeFlow::kChannels ? std::optional<std::size_t>(1) : std::nullopt;
  }

  const ModelView& view_;
  WidthReach reach_ = WidthReach::kAbsorbed;
  std::set<std::pair<graph::NodeId, std::size_t>> seen_;
};

class Widen final : public ViewMutator {
 public:
  explicit Widen(std::vector<double> by) : ViewMutator("widen"), by_(std::move(by)) {}

  Result<graph::Edited> edit(const ModelView& view, const RepairPolicy& repair, space::Chooser& choose) const override {
    const graph::Graph& base = view.graph();
    const graph::OpTable& ops = view.ops();
    std::vector<graph::NodeId> nodes;
    for (const auto& node : base.nodes()) {
      if (has_width(ops, node->op) && !is_repair(*node)) nodes.push_back(node->id);
    }

    std::vector<Site> offers;
    SiteLog log;
    for (Site& site : tied_sites(base, nodes)) {
      std::string why = "no factor of `by` gives another width";
      const WidthReach reach = reach_of(view, site);
      if (reach == WidthReach::kOutput) {
        log.reject(base.node(site.front()), "its width is the width of the output");
      } else if (any_can_apply(changes(view, site, reach, repair), why)) {
        offers.push_back(std::move(site));
      } else {
        log.reject(base.node(site.front()), why);
      }
    }
    if (offers.empty()) return log.error(name(), "linear, conv2d or separable_conv2d layer");

    const Site& site = choose.one_of("site", offers);
    return choose.one_of("by", applicable_changes(changes(view, site, reach_of(view, site), repair))).make();
  }

 private:
  static std::int64_t width(const ModelView& view, graph::NodeId id) {
    return view.args(view.graph().node(id)).integer("out");
  }

  /// Returns the new width, or 0 if it is out of range.
  static std::int64_t scaled(std::int64_t out, double by) {
    const double wanted = std::floor(static_cast<double>(out) * by + 0.5);
    return wanted > kMaxWidth ? 0 : std::max<std::int64_t>(1, static_cast<std::int64_t>(wanted));
  }

  static graph::Editor edited(const ModelView& view, const Site& site, double by) {
    graph::Editor editor(view.graph(), view.ops());
    for (const graph::NodeId id : site) editor.set(id, "out", scaled(width(view, id), by));
    return editor;
  }

  static WidthReach reach_of(const ModelView& view, const Site& site) {
    WidthReach reach = WidthReach::kAbsorbed;
    for (const graph::NodeId id : site) {
      const WidthReach one = WidthTrace(view).follow(view.graph().node(id));
      if (one == WidthReach::kOutput) return one;
      if (one == WidthReach::kUnsure) reach = one;
    }
    return reach;
  }

  /// Returns a change for each factor that changes the width of all layers of the site.
  std::vector<Result<SiteChange>> changes(const ModelView& view, const Site& site, WidthReach reach,
                                          const RepairPolicy& repair) const {
    std::vector<Result<SiteChange>> all;
    for (const double by : by_) {
      const bool changes = std::all_of(site.begin(), site.end(), [&](graph::NodeId id) {
        const std::int64_t now = width(view, id), wanted = scaled(now, by);
        return wanted != 0 && wanted != now;
      });
      if (!changes) continue;
      all.push_back(
          SiteChange{[&view, &repair, site, by] { return finish_mutation(edited(view, site, by), view, repair); },
                     reach == WidthReach::kAbsorbed});
    }
    return all;
  }

  std::vector<double> by_;
};

}  // namespace

MutatorPlugin widen_plugin() {
  return {"widen",
          "changes the width of a hidden linear or convolutional layer by a factor",
          {{"by", OptionSpec::Kind::kRealList, Options::array({0.5, 2}), 0.001, 1000, {}, "factors to choose from"}},
          [](const Options& options) -> Result<std::unique_ptr<Mutator>> {
            auto by = options.at("by").get<std::vector<double>>();
            if (by.empty()) return Error{Code::kInvalidArgument, "at least one factor is needed", "by"};
            return std::unique_ptr<Mutator>(std::make_unique<Widen>(std::move(by)));
          }};
}

}  // namespace lanista::mutate
