// Mutator "insert": inserts layers after a node, or between two connected nodes.
#include <algorithm>

#include "lanista/base/option_specs.h"
#include "lanista/model/mutate/builtin.h"
#include "lanista/model/mutate/compound_edits.h"
#include "lanista/model/mutate/pattern_option.h"
#include "lanista/model/mutate/site_change.h"

namespace lanista::mutate {

namespace {

class Insert final : public ViewMutator {
 public:
  Insert(PatternOption match, Chains of) : ViewMutator("insert"), match_(std::move(match)), of_(std::move(of)) {}

  Result<graph::Edited> edit(const ModelView& view, const RepairPolicy& repair, space::Chooser& choose) const override {
    std::vector<Match> offers;
    SiteLog log;
    for (Match& match : match_.pattern.find(view)) {
      const graph::Node& node = view.graph().node(match.nodes.front());
      if (node.is_output()) continue;
      std::string why;
      if (any_can_apply(changes(view, match, repair), why)) {
        offers.push_back(std::move(match));
      } else {
        log.reject(node, why);
      }
    }
    if (offers.empty()) return log.error(name(), match_.what("place"));
    return choose.one_of("of", applicable_changes(changes(view, choose.one_of("site", offers), repair))).make();
  }

 private:
  std::vector<Result<SiteChange>> changes(const ModelView& view, const Match& match, const RepairPolicy& repair) const {
    std::vector<Result<SiteChange>> all;
    for (const auto& chain : of_) all.push_back(insertion(view, match, chain, repair));
    return all;
  }

  static Result<SiteChange> insertion(const ModelView& view, const Match& match, const std::vector<LayerText>& chain,
                                      const RepairPolicy& repair) {
    const graph::ValueType& type = view.type(match.nodes.front());
    LANISTA_ASSIGN(const auto layers, layers_on(view, type, chain));
    return SiteChange{[&view, &repair, match, layers] { return inserted(view, match, layers, repair); },
                      leads_to(view, type, layers, type)};
  }

  static Result<graph::Edited> inserted(const ModelView& view, const Match& match,
                                        const std::vector<Replacement>& layers, const RepairPolicy& repair) {
    const graph::Port source{match.nodes.front(), 0};
    const auto uses = view.graph().consumers(source.node);
    graph::Editor editor(view.graph(), view.ops());
    const graph::Port end = append(editor, source, layers);
    for (const graph::Use& use : uses) {
      // Between two nodes, only the edges of that pair change.
      const bool is_meant = match.nodes.size() == 1 || use.node == match.nodes.back();
      if (is_meant && view.graph().node(use.node).inputs[use.slot] == source) {
        editor.set_input(use.node, use.slot, end);
      }
    }
    return finish_mutation(std::move(editor), view, repair);
  }

  PatternOption match_;
  Chains of_;
};

}  // namespace

MutatorPlugin insert_plugin() {
  using Kind = OptionSpec::Kind;
  return {
      "insert",
      "puts new layers behind a node, or between two nodes",
      {option("match", Kind::kText, nullptr,
              "behind which node (\"conv2d\": all its readers then read the new layer), or between which (\"conv2d -> "
              "relu\")"),
       option("of", Kind::kTextList, nullptr,
              "layers or chains of layers to choose from, e.g. [batch_norm, \"conv3x3 >> relu\"]")},
      [](const Options& options) -> Result<std::unique_ptr<Mutator>> {
        LANISTA_ASSIGN(auto match, PatternOption::read(options, "match", 2));
        LANISTA_ASSIGN(auto of, read_chains(options, "of"));
        return std::unique_ptr<Mutator>(std::make_unique<Insert>(std::move(match), std::move(of)));
      },
      {{"match", "relu"}, {"of", {"gelu", "linear >> silu", "batch_norm", "conv3x3"}}}};
}

}  // namespace lanista::mutate
