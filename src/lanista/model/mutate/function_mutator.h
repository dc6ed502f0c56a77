#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lanista/model/mutate/compound_edits.h"
#include "lanista/model/mutate/model_view.h"
#include "lanista/model/mutate/mutator.h"
#include "lanista/model/mutate/pattern.h"

// Mutators from functions, for C++ programs that use lanista. The first one edits a site:
//
//     Result<void> set_kernel(const ModelView&, const Match& m, graph::Editor& e, space::Chooser& pick) {
//       const auto k = pick.one_of("k", std::vector<std::int64_t>{3, 5, 7});
//
//       e.set(m.nodes[0], "kernel", std::vector{k});
//       e.set(m.nodes[0], "padding", std::vector{k / 2});
//       return {};
//     }
//
//     auto kernel = mutator("kernel")
//                       .match(op("conv2d") && attr("kernel") > 1 && label("features.*"))
//                       .each(set_kernel);
//
// The second one has its function in place:
//
//     auto deeper = mutator("deeper").match(op("conv2d") >> op("batch_norm") >> op("relu"))
//                       .any([](const ModelView&, const Match& m, graph::Editor& e, space::Chooser&) -> Result<void> {
//                         duplicate(e, m.nodes);
//                         return {};
//                       });
//
// A function keeps no state and asks its Chooser for every decision. The ModelView shows the model before any edit.
// Afterwards joins are repaired and the result is verified.
namespace lanista::mutate {

/// A function that edits a model through the editor. Errors: kNotApplicable with the reason if it finds nothing to
/// change.
using EditModel = std::function<Result<void>(const ModelView&, graph::Editor&, space::Chooser&)>;
/// A function that edits a model where a pattern matches. Errors: kNotApplicable with the reason if it changes nothing.
using EditMatch = std::function<Result<void>(const ModelView&, const Match&, graph::Editor&, space::Chooser&)>;

/// Makes a mutator that calls `edit` once, repairs joins and verifies the result. `name` is stored with every trial
/// (Mutator::name). Its `apply` returns kNotApplicable if `edit` records no edit.
std::shared_ptr<const Mutator> make_function_mutator(std::string name, EditModel edit);

/// Builds a mutator from a pattern and a function, in the order mutator(), match(), each() or any().
class MutatorBuilder {
 public:
  explicit MutatorBuilder(std::string name) : name_(std::move(name)) {}
  /// Sets the pattern that selects nodes. Without it, every node matches that no shape repair added.
  MutatorBuilder match(Pattern pattern) &&;
  /// Makes a mutator that edits every match, in order of ids. Of overlapping matches it edits the first only. It skips
  /// a match with a node that an earlier edit removed. The first error of `edit` ends the mutation.
  std::shared_ptr<const Mutator> each(EditMatch edit) &&;
  /// Makes a mutator that edits one match. The chooser selects it (question "site").
  std::shared_ptr<const Mutator> any(EditMatch edit) &&;

 private:
  std::string name_;
  Pattern pattern_;
};
/// Starts to build a mutator with this name.
inline MutatorBuilder mutator(std::string name) { return MutatorBuilder(std::move(name)); }

}  // namespace lanista::mutate
