#include "lanista/engine/core/shelf.h"

namespace lanista::engine {

void Shelf::hold(const std::string& address) {
  if (address.empty()) return;
  ++held_[address];
  unwanted_.erase(address);
}

void Shelf::release(const std::string& address) {
  if (address.empty()) return;
  const auto it = held_.find(address);
  if (it != held_.end() && --it->second > 0) return;
  if (it != held_.end()) held_.erase(it);
  unwanted_.insert(address);
}

Result<void> Shelf::flush() {
  while (!unwanted_.empty()) {
    LANISTA_TRY(files_.remove(*unwanted_.begin()));
    unwanted_.erase(unwanted_.begin());
  }
  return {};
}

Result<void> Shelf::clear_others() {
  std::vector<std::string> keep;
  for (const auto& [address, count] : held_) keep.push_back(address);
  LANISTA_TRY(files_.keep_only(keep));
  unwanted_.clear();
  return {};
}

}  // namespace lanista::engine
