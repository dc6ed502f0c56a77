#include "lanista/exec/backends/cuda_blocks/block_company.h"

#include <utility>

#include "lanista/exec/backends/cuda_blocks/block_device.h"

namespace lanista::device {

void BlockCompany::run(BlockDevice& device, std::span<const block::Lane> lanes, const void* who) {
  Part mine{.lanes = lanes, .who = who};
  {
    std::unique_lock lock(mutex_);
    waiting_.push_back(&mine);
    if (expected_.erase(who) > 0 && expected_.empty()) changed_.notify_all();
    while (!mine.done && (busy_ || !all_are_here())) {
      if (busy_) {
        changed_.wait(lock);
      } else {
        changed_.wait_until(lock, until_);
      }
    }
    if (!mine.done) {
      // The first who finds the device free launches for all.
      busy_ = true;
      const std::vector<Part*> parts = std::exchange(waiting_, {});
      lock.unlock();
      const Time::time_point began = Time::now();
      launch(device, parts);
      const Time::time_point ended = Time::now();
      lock.lock();
      busy_ = false;
      expected_.clear();
      for (Part* part : parts) {
        part->done = true;
        expected_.insert(part->who);
      }
      until_ = ended + (longest_.count() > 0 ? longest_ : ended - began);
      changed_.notify_all();
    }
  }
  if (mine.failure) std::rethrow_exception(mine.failure);
}

void BlockCompany::leave(const void* who) {
  const std::lock_guard lock(mutex_);
  if (expected_.erase(who) > 0 && expected_.empty()) changed_.notify_all();
}

void BlockCompany::wait_at_most(std::chrono::nanoseconds longest) {
  const std::lock_guard lock(mutex_);
  longest_ = longest;
}

void BlockCompany::launch(BlockDevice& device, std::span<Part* const> parts) noexcept {
  const auto blame = [](std::span<Part* const> all) {
    for (Part* part : all) part->failure = std::current_exception();
  };
  bool launched = true;
  try {
    std::vector<block::Lane> lanes;
    for (const Part* part : parts) lanes.insert(lanes.end(), part->lanes.begin(), part->lanes.end());
    device.launch(lanes);
  } catch (...) {
    launched = false;
    if (parts.size() == 1) blame(parts);
  }
  // What was refused has not begun: each for itself, then.
  for (std::size_t i = 0; !launched && parts.size() > 1 && i < parts.size(); ++i) {
    try {
      device.launch(parts[i]->lanes);
    } catch (...) {
      blame(parts.subspan(i, 1));
    }
  }
  try {
    device.wait();
  } catch (...) {
    blame(parts);
  }
}

}  // namespace lanista::device
