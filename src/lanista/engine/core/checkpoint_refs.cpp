#include "lanista/engine/core/checkpoint_refs.h"

namespace lanista::engine {

void CheckpointRefs::hold(const std::string& address) {
  if (address.empty()) return;
  ++reference_counts_[address];
  unreferenced_.erase(address);
}

void CheckpointRefs::release(const std::string& address) {
  if (address.empty()) return;
  const auto it = reference_counts_.find(address);
  if (it != reference_counts_.end() && --it->second > 0) return;
  if (it != reference_counts_.end()) reference_counts_.erase(it);
  unreferenced_.insert(address);
}

Result<void> CheckpointRefs::remove_unreferenced_files() {
  while (!unreferenced_.empty()) {
    LANISTA_TRY(files_.remove(*unreferenced_.begin()));
    unreferenced_.erase(unreferenced_.begin());
  }
  return {};
}

Result<void> CheckpointRefs::remove_unreferenced() {
  std::vector<std::string> keep;
  for (const auto& [address, count] : reference_counts_) keep.push_back(address);
  LANISTA_TRY(files_.remove_all_except(keep));
  unreferenced_.clear();
  return {};
}

}  // namespace lanista::engine
