#include "lanista/engine/local/frozen_parts.h"

#include <utility>

#include "lanista/engine/core/frozen_part.h"
#include "lanista/exec/kernels/flush_to_zero.h"
#include "lanista/exec/train/frozen_prefix.h"
#include "lanista/model/graph/model_cut.h"
#include "lanista/model/graph/text.h"

namespace lanista::runtime {

Result<FrozenParts::Head> FrozenParts::head_input_of(const engine::Job& job) {
  LANISTA_ASSIGN(graph::Cut cut, graph::cut_behind_frozen(job.model, job.frozen.nodes, setting_.step_ops));
  // Augmentation is equal for all trials of a study, so it is not part of the key.
  const std::string key =
      job.frozen.weights + "\n" + (job.fold ? std::to_string(*job.fold) + "\n" : "") + graph::to_text(cut.prefix);
  const std::lock_guard lock(mutex_);
  auto found = shared_.find(key);
  if (found == shared_.end()) {
    LANISTA_ASSIGN(auto made, share(job, cut.prefix));
    found = shared_.emplace(key, std::move(made)).first;
  }
  return Head{std::move(cut.head), &found->second->data, &found->second->epochs};
}

Result<std::unique_ptr<FrozenParts::Shared>> FrozenParts::share(const engine::Job& job,
                                                                const graph::Graph& prefix) const {
  const kernels::FlushToZero as_workers;  // part of the numeric class
  LANISTA_ASSIGN(const store::Checkpoint stored, setting_.checkpoints.get(job.frozen.weights));
  LANISTA_ASSIGN(const auto part, train::FrozenPrefix::create({.model = job.model,
                                                               .frozen = job.frozen.nodes,
                                                               .weights = stored.tensors,
                                                               .step_ops = &setting_.step_ops,
                                                               .operators = setting_.operators,
                                                               .budget = setting_.budget,
                                                               .backend = setting_.backend}));
  const bool augmented = !job.recipe.augment.empty();
  LANISTA_ASSIGN(const auto keeping,
                 engine::frozen_cache_plan(prefix, job.frozen, setting_.data.spec(), augmented, setting_.bytes));
  const data::StoredSamples keep = !keeping.pays ? data::StoredSamples::kNothing
                                   : augmented   ? data::StoredSamples::kValidation
                                                 : data::StoredSamples::kAll;
  const data::Dataset& data = setting_.data.training(job.fold);
  auto features = part.features(data, keep, setting_.budget);
  if (!features && features.error().code == Code::kResourceExhausted && keep != data::StoredSamples::kNothing) {
    features = part.features(data, data::StoredSamples::kNothing, setting_.budget);  // slower, with equal numbers
  }
  if (!features) return features.error();
  return std::make_unique<Shared>(*std::move(features), setting_.epoch_bytes, setting_.budget);
}

void FrozenParts::clear_epochs() {
  const std::lock_guard lock(mutex_);
  for (auto& [key, shared] : shared_) shared->epochs.clear();
}

}  // namespace lanista::runtime
