// Family "duplicate": a chain of layers a second time, with parameters of its own.
#include <algorithm>

#include "lanista/mutate/builtin.h"
#include "lanista/mutate/edits.h"
#include "lanista/mutate/fit.h"
#include "lanista/mutate/pattern_option.h"

namespace lanista::mutate {

namespace {

class Duplicate final : public Mutator {
 public:
  explicit Duplicate(PatternOption match) : match_(std::move(match)) {}

  std::string_view name() const override { return "duplicate"; }

  Result<graph::Edited> apply(const graph::Graph& base, const graph::OpTable& ops, const RepairPolicy& repair,
                              space::Chooser& choose) const override {
    LANISTA_ASSIGN(const View view, View::make(base, ops));
    std::vector<graph::Edited> offers;
    SiteLog log;
    for (const Match& match : match_.pattern.find(view)) {
      auto made = doubled(view, match, repair);
      if (made) {
        offers.push_back(*std::move(made));
      } else {
        log.reject(base.node(match.nodes.front()), made.error().message);
      }
    }
    if (offers.empty()) return log.error(name(), match_.what("chain"));
    return choose.one_of("site", offers);
  }

 private:
  static Result<graph::Edited> doubled(const View& view, const Match& match, const RepairPolicy& repair) {
    if (std::string why = why_no_chain(view, match); !why.empty()) return not_applicable(std::move(why));
    graph::Editor editor(view.graph(), view.ops());
    duplicate(editor, match.nodes);
    return settle(std::move(editor), view, repair);
  }

  PatternOption match_;
};

}  // namespace

MutatorPlugin duplicate_plugin() {
  return {
      "duplicate",
      "repeats a chain of layers behind itself, with parameters of its own",
      {{"match", OptionSpec::Kind::kText, nullptr, {}, {}, {}, "which chain, e.g. \"conv2d >> batch_norm >> relu\""}},
      [](const Options& options) -> Result<std::unique_ptr<Mutator>> {
        LANISTA_ASSIGN(auto match, PatternOption::read(options, "match", Pattern::kMaxSteps));
        return std::unique_ptr<Mutator>(std::make_unique<Duplicate>(std::move(match)));
      },
      {{"match", "linear >> relu"}}};
}

}  // namespace lanista::mutate
