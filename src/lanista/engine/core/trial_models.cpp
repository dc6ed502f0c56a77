#include "lanista/engine/core/trial_models.h"

#include <utility>

#include "lanista/search/study/program_key.h"

namespace lanista::engine {

Result<const BuiltModel*> TrialModels::base_model(std::int64_t base) {
  auto it = base_models_.find(base);
  if (it == base_models_.end()) {
    LANISTA_ASSIGN(graph::Graph model, space_->rebuild(base, {}));
    LANISTA_ASSIGN(const graph::ModelCost cost, graph::model_cost(model, ops()));
    const Digest structure = study::structure_key(model, ops());
    it = base_models_.emplace(base, BuiltModel{std::move(model), cost, structure}).first;
  }
  return &it->second;
}

Result<BuiltModel> TrialModels::build(const study::Proposal& proposal) {
  if (proposal.edits.empty()) {
    LANISTA_ASSIGN(const BuiltModel* base, base_model(proposal.base));
    return *base;
  }
  LANISTA_ASSIGN(graph::Graph model, space_->rebuild(proposal.base, proposal.edits));
  if (graph::canonical_hash(model, ops()) != proposal.graph_hash) {
    return Error{Code::kDataLoss, "the edits of a trial give a model with another hash than recorded", ""};
  }
  LANISTA_ASSIGN(const graph::ModelCost cost, graph::model_cost(model, ops()));
  const Digest structure = study::structure_key(model, ops());
  return BuiltModel{std::move(model), cost, structure};
}

}  // namespace lanista::engine
