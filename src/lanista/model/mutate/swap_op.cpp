// Swaps an operator for another of its family. Every value keeps its shape, so no other node changes.
#include <algorithm>

#include "lanista/base/option_specs.h"
#include "lanista/model/mutate/builtin.h"
#include "lanista/model/mutate/op_words.h"
#include "lanista/model/mutate/pattern.h"
#include "lanista/model/mutate/shape_repair.h"

namespace lanista::mutate {

namespace {

class SwapOp final : public ViewMutator {
 public:
  SwapOp(Pattern where, std::vector<std::string> to)
      : ViewMutator("swap_op"), where_(std::move(where)), to_(std::move(to)) {}

  Result<graph::Edited> edit(const ModelView& view, const RepairPolicy& repair, space::Chooser& choose) const override {
    const graph::Graph& base = view.graph();
    std::vector<graph::NodeId> nodes;
    for (const auto& node : base.nodes()) {
      if (!is_repair(*node) && !words_of_family(view, *node).empty() && where_.matches(view, *node))
        nodes.push_back(node->id);
    }

    struct SwapSite {
      Site site;
      std::vector<std::string> words;
    };
    std::vector<SwapSite> offers;
    SiteLog log;
    for (Site& site : tied_sites(base, nodes)) {
      auto words = fitting_words(view, site);
      if (words.empty()) {
        log.reject(base.node(site.front()), "no other operator of `to` keeps its shape");
      } else {
        offers.push_back({std::move(site), std::move(words)});
      }
    }
    if (offers.empty()) return log.error(name(), "node that matches `where` and has an operator to swap");

    const SwapSite& offer = choose.one_of("site", offers);
    const std::string& word = choose.one_of("to", offer.words);
    graph::Editor editor(view.graph(), view.ops());
    for (const graph::NodeId id : offer.site) {
      auto made = *rewrite(view, base.node(id), word);
      editor.replace(id, std::move(made.op), std::move(made.attrs));
    }
    return finish_mutation(std::move(editor), view, repair);
  }

 private:
  /// Returns the words that every node of the site can become, and that none is.
  std::vector<std::string> fitting_words(const ModelView& view, const Site& site) const {
    std::vector<std::string> words = words_of_family(view, view.graph().node(site.front()));
    std::erase_if(words, [&](const std::string& word) {
      if (!to_.empty() && std::find(to_.begin(), to_.end(), word) == to_.end()) return true;
      return std::any_of(site.begin(), site.end(), [&](graph::NodeId id) {
        const graph::Node& node = view.graph().node(id);
        return word_of(view, node) == word || !rewrite(view, node, word);
      });
    });
    return words;
  }

  Pattern where_;
  std::vector<std::string> to_;
};

}  // namespace

MutatorPlugin swap_op_plugin() {
  const auto words = family_words();
  return {"swap_op",
          "puts another operator of the same family (activations, convolutions, pools) in the place of one",
          {text_option("where", "", "which nodes, e.g. \"conv2d & label(stage*)\"; empty: all"),
           {"to", OptionSpec::Kind::kTextList, Options::array(), {}, {}, words, "what may be put in; empty: all"}},
          [](const Options& options) -> Result<std::unique_ptr<Mutator>> {
            auto where = Pattern::parse(options.at("where").get<std::string>(), graph::builtin_ops());
            if (!where) return Error{where.error().code, where.error().message, "where"};
            auto to = options.at("to").get<std::vector<std::string>>();
            return std::unique_ptr<Mutator>(std::make_unique<SwapOp>(*std::move(where), std::move(to)));
          }};
}

}  // namespace lanista::mutate
