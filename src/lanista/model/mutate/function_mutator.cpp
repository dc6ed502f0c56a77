#include "lanista/model/mutate/function_mutator.h"

#include <algorithm>
#include <set>

#include "lanista/model/mutate/builtin.h"
#include "lanista/model/mutate/shape_repair.h"

namespace lanista::mutate {

namespace {

class FunctionMutator final : public ViewMutator {
 public:
  FunctionMutator(std::string name, EditModel edit) : ViewMutator(std::move(name)), edit_(std::move(edit)) {}

  Result<graph::Edited> edit(const ModelView& view, const RepairPolicy& repair, space::Chooser& choose) const override {
    graph::Editor editor(view.graph(), view.ops());
    LANISTA_TRY(named(edit_(view, editor, choose)));
    auto edited = finish_mutation(std::move(editor), view, repair);
    LANISTA_TRY(named(edited));
    if (edited->edits.empty()) return not_applicable(std::string(name()) + ": nothing would change");
    return edited;
  }

 private:
  template <class T>
  Result<void> named(const Result<T>& result) const {
    if (result) return {};
    Error error = result.error();
    const std::string prefix = std::string(name()) + ": ";
    if (!error.message.starts_with(prefix)) error.message = prefix + error.message;
    return error;
  }

  EditModel edit_;
};

/// Returns the matches that share no node with an earlier one.
std::vector<Match> apart(std::vector<Match> matches) {
  std::set<graph::NodeId> taken;
  std::erase_if(matches, [&](const Match& match) {
    const bool overlaps =
        std::any_of(match.nodes.begin(), match.nodes.end(), [&](graph::NodeId id) { return taken.contains(id); });
    if (!overlaps) taken.insert(match.nodes.begin(), match.nodes.end());
    return overlaps;
  });
  return matches;
}

}  // namespace

std::shared_ptr<const Mutator> make_function_mutator(std::string name, EditModel edit) {
  return std::make_shared<FunctionMutator>(std::move(name), std::move(edit));
}

MutatorBuilder MutatorBuilder::match(Pattern pattern) && {
  pattern_ = std::move(pattern);
  return std::move(*this);
}

std::shared_ptr<const Mutator> MutatorBuilder::each(EditMatch edit) && {
  return make_function_mutator(
      name_,
      [pattern = pattern_, edit = std::move(edit)](const ModelView& view, graph::Editor& editor,
                                                   space::Chooser& choose) -> Result<void> {
        const auto matches = apart(pattern.find(view));
        if (matches.empty()) return not_applicable("the model has no nodes that match the pattern");
        for (const Match& match : matches) {
          // An edit may have removed nodes of a later match.
          const bool stands = std::all_of(match.nodes.begin(), match.nodes.end(),
                                          [&](graph::NodeId id) { return editor.graph().contains(id); });
          if (stands) LANISTA_TRY(edit(view, match, editor, choose));
        }
        return {};
      });
}

std::shared_ptr<const Mutator> MutatorBuilder::any(EditMatch edit) && {
  return make_function_mutator(
      name_,
      [pattern = pattern_, edit = std::move(edit)](const ModelView& view, graph::Editor& editor,
                                                   space::Chooser& choose) -> Result<void> {
        const auto matches = pattern.find(view);
        if (matches.empty()) return not_applicable("the model has no nodes that match the pattern");
        return edit(view, choose.one_of("site", matches), editor, choose);
      });
}

}  // namespace lanista::mutate
