#include "lanista/exec/backends/cuda_blocks/launch_batcher.h"

#include <utility>

#include "lanista/exec/backends/cuda_blocks/block_device.h"

namespace lanista::device {

void LaunchBatcher::run(BlockDevice& device, std::span<const block::Lane> lanes, const void* client) {
  LaunchRequest own_request{.lanes = lanes, .client = client};
  {
    std::unique_lock lock(mutex_);
    waiting_.push_back(&own_request);
    if (expected_clients_.erase(client) > 0 && expected_clients_.empty()) changed_.notify_all();
    while (!own_request.done && (is_launching_ || !all_arrived())) {
      if (is_launching_) {
        changed_.wait(lock);
      } else {
        changed_.wait_until(lock, wait_deadline_);
      }
    }
    if (!own_request.done) {
      // The first thread that finds the device idle launches for all.
      is_launching_ = true;
      const std::vector<LaunchRequest*> requests = std::exchange(waiting_, {});
      lock.unlock();
      const Time::time_point began = Time::now();
      launch(device, requests);
      const Time::time_point ended = Time::now();
      lock.lock();
      is_launching_ = false;
      expected_clients_.clear();
      for (LaunchRequest* request : requests) {
        request->done = true;
        expected_clients_.insert(request->client);
      }
      wait_deadline_ = ended + (max_wait_.count() > 0 ? max_wait_ : ended - began);
      changed_.notify_all();
    }
  }
  if (own_request.failure) std::rethrow_exception(own_request.failure);
}

void LaunchBatcher::leave(const void* client) {
  const std::lock_guard lock(mutex_);
  if (expected_clients_.erase(client) > 0 && expected_clients_.empty()) changed_.notify_all();
}

void LaunchBatcher::set_max_wait(std::chrono::nanoseconds longest) {
  const std::lock_guard lock(mutex_);
  max_wait_ = longest;
}

void LaunchBatcher::launch(BlockDevice& device, std::span<LaunchRequest* const> requests) noexcept {
  const auto set_failure = [](std::span<LaunchRequest* const> all) {
    for (LaunchRequest* request : all) request->failure = std::current_exception();
  };
  bool launched = true;
  try {
    std::vector<block::Lane> lanes;
    for (const LaunchRequest* request : requests)
      lanes.insert(lanes.end(), request->lanes.begin(), request->lanes.end());
    device.launch(lanes);
  } catch (...) {
    launched = false;
    if (requests.size() == 1) set_failure(requests);
  }
  // A refused launch has not begun, so each request is launched alone.
  for (std::size_t i = 0; !launched && requests.size() > 1 && i < requests.size(); ++i) {
    try {
      device.launch(requests[i]->lanes);
    } catch (...) {
      set_failure(requests.subspan(i, 1));
    }
  }
  try {
    device.wait();
  } catch (...) {
    set_failure(requests);
  }
}

}  // namespace lanista::device
