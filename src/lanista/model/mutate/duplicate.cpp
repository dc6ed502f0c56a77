// Mutator "duplicate": copies a chain of layers, with parameters of its own.
#include <algorithm>

#include "lanista/base/option_specs.h"
#include "lanista/model/mutate/builtin.h"
#include "lanista/model/mutate/compound_edits.h"
#include "lanista/model/mutate/pattern_option.h"
#include "lanista/model/mutate/site_change.h"

namespace lanista::mutate {

namespace {

class Duplicate final : public ViewMutator {
 public:
  explicit Duplicate(PatternOption match) : ViewMutator("duplicate"), match_(std::move(match)) {}

  Result<graph::Edited> edit(const ModelView& view, const RepairPolicy& repair, space::Chooser& choose) const override {
    std::vector<SiteChange> offers;
    SiteLog log;
    for (const Match& match : match_.pattern.find(view)) {
      Result<SiteChange> change = doubling(view, match, repair);
      std::string why;
      if (any_can_apply({&change, 1}, why)) {
        offers.push_back(*std::move(change));
      } else {
        log.reject(view.graph().node(match.nodes.front()), why);
      }
    }
    if (offers.empty()) return log.error(name(), match_.what("chain"));
    return choose.one_of("site", offers).make();
  }

 private:
  static Result<SiteChange> doubling(const ModelView& view, const Match& match, const RepairPolicy& repair) {
    if (std::string why = chain_conflict(view, match); !why.empty()) return not_applicable(std::move(why));
    std::vector<Replacement> layers;
    for (const graph::NodeId id : match.nodes) {
      layers.push_back({view.graph().node(id).op, view.graph().node(id).attrs});
    }
    const graph::ValueType& end = view.type(match.nodes.back());
    return SiteChange{[&view, &repair, match] {
                        graph::Editor editor(view.graph(), view.ops());
                        duplicate(editor, match.nodes);
                        return finish_mutation(std::move(editor), view, repair);
                      },
                      leads_to(view, end, layers, end)};
  }

  PatternOption match_;
};

}  // namespace

MutatorPlugin duplicate_plugin() {
  return {"duplicate",
          "repeats a chain of layers behind itself, with parameters of its own",
          {option("match", OptionSpec::Kind::kText, nullptr, "which chain, e.g. \"conv2d >> batch_norm >> relu\"")},
          [](const Options& options) -> Result<std::unique_ptr<Mutator>> {
            LANISTA_ASSIGN(auto match, PatternOption::read(options, "match", Pattern::kMaxSteps));
            return std::unique_ptr<Mutator>(std::make_unique<Duplicate>(std::move(match)));
          },
          {{"match", "linear >> relu"}}};
}

}  // namespace lanista::mutate
