#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lanista/model/mutate/compound_edits.h"
#include "lanista/model/mutate/mutator.h"
#include "lanista/model/mutate/pattern.h"
#include "lanista/model/mutate/model_view.h"

// Mutators of one's own, in a few lines:
//
//   auto kernel = mutator("kernel")
//                     .match(op("conv2d") && attr("kernel") > 1 && label("features.*"))
//                     .each([](const ModelView&, const Match& m, graph::Editor& e, space::Chooser& pick) -> Result<void> {
//                       const auto k = pick.one_of("k", std::vector<std::int64_t>{3, 5, 7});
//                       e.set(m.nodes[0], "kernel", std::vector{k});
//                       e.set(m.nodes[0], "padding", std::vector{k / 2});
//                       return {};
//                     });
//   auto deeper = mutator("deeper").match(op("conv2d") >> op("batch_norm") >> op("relu"))
//                     .any([](const ModelView&, const Match& m, graph::Editor& e, space::Chooser&) -> Result<void> {
//                       duplicate(e, m.nodes);
//                       return {};
//                     });
//
// A function may keep no state and draws every decision from its Chooser; joins are repaired, the result is verified.
namespace lanista::mutate {

/// Edits a model. Errors: kNotApplicable with the reason, if there is nothing to do.
using EditModel = std::function<Result<void>(const ModelView&, graph::Editor&, space::Chooser&)>;
/// Edits a place that a pattern has found.
using EditMatch = std::function<Result<void>(const ModelView&, const Match&, graph::Editor&, space::Chooser&)>;

/// A mutator that is one function.
std::shared_ptr<const Mutator> make_function_mutator(std::string name, EditModel edit);

class MutatorBuilder {
 public:
  explicit MutatorBuilder(std::string name) : name_(std::move(name)) {}
  MutatorBuilder match(Pattern pattern) &&;
  /// At all places, in order of id; of places that overlap the first.
  std::shared_ptr<const Mutator> each(EditMatch edit) &&;
  /// At one place, which is drawn ("site").
  std::shared_ptr<const Mutator> any(EditMatch edit) &&;

 private:
  std::string name_;
  Pattern pattern_;
};
inline MutatorBuilder mutator(std::string name) { return MutatorBuilder(std::move(name)); }

}  // namespace lanista::mutate
