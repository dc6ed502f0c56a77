// Family "insert": layers behind a node, or between two of which one reads the other.
#include <algorithm>

#include "lanista/mutate/builtin.h"
#include "lanista/mutate/edits.h"
#include "lanista/mutate/fit.h"
#include "lanista/mutate/pattern_option.h"

namespace lanista::mutate {

namespace {

using Chains = std::vector<std::vector<LayerText>>;

class Insert final : public Mutator {
 public:
  Insert(PatternOption match, Chains of) : match_(std::move(match)), of_(std::move(of)) {}

  std::string_view name() const override { return "insert"; }

  Result<graph::Edited> apply(const graph::Graph& base, const graph::OpTable& ops, const RepairPolicy& repair,
                              space::Chooser& choose) const override {
    LANISTA_ASSIGN(const View view, View::make(base, ops));
    std::vector<std::vector<graph::Edited>> offers;
    SiteLog log;
    for (const Match& match : match_.pattern.find(view)) {
      const graph::Node& node = base.node(match.nodes.front());
      if (node.op == "output") continue;
      std::vector<graph::Edited> results;
      std::string why;
      for (const auto& chain : of_) {
        auto made = inserted(view, match, chain, repair);
        if (made) {
          results.push_back(*std::move(made));
        } else {
          why = made.error().message;
        }
      }
      if (results.empty()) {
        log.reject(node, why);
      } else {
        offers.push_back(std::move(results));
      }
    }
    if (offers.empty()) return log.error(name(), match_.what("place"));
    const auto& results = choose.one_of("site", offers);
    return choose.one_of("of", results);
  }

 private:
  static Result<graph::Edited> inserted(const View& view, const Match& match, const std::vector<LayerText>& chain,
                                        const RepairPolicy& repair) {
    const graph::Port source{match.nodes.front(), 0};
    LANISTA_ASSIGN(const auto layers, layers_on(view, view.type(source.node), chain));
    const auto uses = view.graph().consumers(source.node);
    graph::Editor editor(view.graph(), view.ops());
    const graph::Port end = append(editor, source, layers);
    for (const graph::Use& use : uses) {
      // Between two nodes only their own edges change.
      const bool is_meant = match.nodes.size() == 1 || use.node == match.nodes.back();
      if (is_meant && view.graph().node(use.node).inputs[use.slot] == source) {
        editor.set_input(use.node, use.slot, end);
      }
    }
    return settle(std::move(editor), view, repair);
  }

  PatternOption match_;
  Chains of_;
};

}  // namespace

MutatorPlugin insert_plugin() {
  using Kind = OptionSpec::Kind;
  return {"insert",
          "puts new layers behind a node, or between two nodes",
          {{"match",
            Kind::kText,
            nullptr,
            {},
            {},
            {},
            "behind which node (\"conv2d\": all its readers then read the new layer), or between which (\"conv2d -> "
            "relu\")"},
           {"of",
            Kind::kTextList,
            nullptr,
            {},
            {},
            {},
            "layers or chains of layers to choose from, e.g. [batch_norm, \"conv3x3 >> relu\"]"}},
          [](const Options& options) -> Result<std::unique_ptr<Mutator>> {
            LANISTA_ASSIGN(auto match, PatternOption::read(options, "match", 2));
            LANISTA_ASSIGN(auto of, read_chains(options, "of"));
            return std::unique_ptr<Mutator>(std::make_unique<Insert>(std::move(match), std::move(of)));
          },
          {{"match", "relu"}, {"of", {"gelu", "linear >> silu", "batch_norm", "conv3x3"}}}};
}

}  // namespace lanista::mutate
