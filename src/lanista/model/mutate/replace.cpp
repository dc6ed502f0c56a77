// Mutator "replace": replaces a chain of layers by another.
#include <algorithm>

#include "lanista/base/option_specs.h"
#include "lanista/model/mutate/builtin.h"
#include "lanista/model/mutate/compound_edits.h"
#include "lanista/model/mutate/pattern_option.h"
#include "lanista/model/mutate/site_change.h"

namespace lanista::mutate {

namespace {

class Replace final : public ViewMutator {
 public:
  Replace(PatternOption match, Chains by) : ViewMutator("replace"), match_(std::move(match)), by_(std::move(by)) {}

  Result<graph::Edited> edit(const ModelView& view, const RepairPolicy& repair, space::Chooser& choose) const override {
    std::vector<Match> offers;
    SiteLog log;
    for (Match& match : match_.pattern.find(view)) {
      const std::string why = chain_conflict(view, match);
      std::string ignored;
      if (why.empty() && any_can_apply(changes(view, match, repair), ignored)) {
        offers.push_back(std::move(match));
      } else {
        log.reject(view.graph().node(match.nodes.front()),
                   why.empty() ? "no chain of `by` fits that is not there already" : why);
      }
    }
    if (offers.empty()) return log.error(name(), match_.what("chain"));
    return choose.one_of("by", applicable_changes(changes(view, choose.one_of("site", offers), repair))).make();
  }

 private:
  std::vector<Result<SiteChange>> changes(const ModelView& view, const Match& match, const RepairPolicy& repair) const {
    std::vector<Result<SiteChange>> all;
    for (const auto& chain : by_) all.push_back(replacement(view, match, chain, repair));
    return all;
  }

  static Result<SiteChange> replacement(const ModelView& view, const Match& match, const std::vector<LayerText>& chain,
                                        const RepairPolicy& repair) {
    const graph::Graph& base = view.graph();
    const auto input = view.inputs(base.node(match.nodes.front())).front();
    LANISTA_ASSIGN(const auto layers, layers_on(view, input, chain, &match));
    const bool is_same = std::equal(layers.begin(), layers.end(), match.nodes.begin(), match.nodes.end(),
                                    [&](const Replacement& layer, graph::NodeId id) {
                                      return layer.op == base.node(id).op && layer.attrs == base.node(id).attrs;
                                    });
    if (is_same) return not_applicable("is there already");
    const bool keeps_types = leads_to(view, input, layers, view.type(match.nodes.back()));
    return SiteChange{[&view, &repair, match, layers] {
                        graph::Editor editor(view.graph(), view.ops());
                        replace_chain(editor, match.nodes, layers);
                        return finish_mutation(std::move(editor), view, repair);
                      },
                      keeps_types};
  }

  PatternOption match_;
  Chains by_;
};

}  // namespace

MutatorPlugin replace_plugin() {
  using Kind = OptionSpec::Kind;
  return {
      "replace",
      "puts another chain of layers in the place of one",
      {option("match", Kind::kText, nullptr, "which chain, e.g. \"conv2d as c >> batch_norm >> relu\""),
       option("by", Kind::kTextList, nullptr,
              "chains to choose from, e.g. [\"conv2d(out=$c.out, padding=[1]) >> gelu\", identity]")},
      [](const Options& options) -> Result<std::unique_ptr<Mutator>> {
        LANISTA_ASSIGN(auto match, PatternOption::read(options, "match", Pattern::kMaxSteps));
        LANISTA_ASSIGN(auto by, read_chains(options, "by", match.names()));
        return std::unique_ptr<Mutator>(std::make_unique<Replace>(std::move(match), std::move(by)));
      },
      {{"match", "linear as a >> relu"}, {"by", {"linear(out=$a.out) >> silu", "linear(out=32) >> gelu >> dropout"}}}};
}

}  // namespace lanista::mutate
