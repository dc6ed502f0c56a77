#include "lanista/runtime/trial_slot.h"

#include <algorithm>
#include <tuple>

#include "lanista/train/trainer.h"

namespace lanista::runtime {
namespace {

bool comes_before(const TrialSlot* a, const TrialSlot* b) {
  return std::tuple(a->next_time(), a->job.trial) < std::tuple(b->next_time(), b->job.trial);
}

constexpr std::int64_t kCacheBytes = std::int64_t{1} << 20;

std::size_t fair_share(std::size_t ready, const Crew& crew) {
  const auto free_workers = static_cast<std::size_t>(std::max<std::int64_t>(crew.workers - crew.busy, 1));
  return (ready + free_workers - 1) / free_workers;
}

}  // namespace

std::int64_t lanes_that_pay(std::int64_t state_bytes) {
  return std::clamp<std::int64_t>(kCacheBytes / std::max<std::int64_t>(state_bytes, 1), 1, kDefaultLanes);
}

Work next_work(const TrialSlots& slots, const Crew& crew) {
  std::vector<TrialSlot*> ready;
  for (const auto& [id, slot] : slots) {
    if (slot->running && slot->wants_to_be_alone) return {};
    const bool must_wait = slot->running || (slot->wants_to_be_alone && crew.busy > 0);
    if (!must_wait && slot->has_work(crew.pausing)) ready.push_back(slot.get());
  }
  if (ready.empty()) return {};
  std::ranges::sort(ready, comes_before);
  const TrialSlot& first = *ready.front();
  if (crew.pausing) return {WorkKind::kSave, {ready.front()}};
  if (first.finish_wanted()) return {WorkKind::kFinish, {ready.front()}};
  if (!first.takes_company()) return {WorkKind::kTrain, {ready.front()}};
  Work work{WorkKind::kTrain, {}};
  const std::size_t most = std::min(fair_share(ready.size(), crew), static_cast<std::size_t>(first.most_lanes));
  for (TrialSlot* slot : ready) {
    if (slot->key == first.key && slot->takes_company() && work.slots.size() < most) work.slots.push_back(slot);
  }
  return work;
}

Digest state_hash(const train::TrainerState& state) {
  Hasher hasher;
  for (const auto& tensor : state.tensors) {
    hasher.text(tensor.name);
    for (const std::int64_t dim : tensor.shape) hasher.number(dim);
    hasher.bytes(tensor.bytes);
  }
  return hasher.finish();
}

Result<std::map<std::string, double>> test_weights(const train::TrainerInput& input, const train::TrainerState& state) {
  LANISTA_ASSIGN(auto trainer, train::Trainer::create(input));
  LANISTA_TRY(trainer.restore(state));
  return trainer.evaluate(data::Part::kTest, "test_");
}

}  // namespace lanista::runtime
