// Runs chunks of several executables in one launch from one thread.
#include <iterator>

#include "lanista/base/check.h"
#include "lanista/exec/backends/cuda_blocks/block_executable.h"

namespace lanista::device {

void run_in_one_launch(std::span<const LaunchPart> parts) {
  std::vector<BlockExecutable*> executables;
  for (const LaunchPart& part : parts) {
    auto* const executable = dynamic_cast<BlockExecutable*>(part.executable);
    LANISTA_CHECK(executable != nullptr && (executables.empty() || executable->device_ == executables[0]->device_),
                  "run_in_one_launch needs executables of one block device");
    executables.push_back(executable);
    executable->begin(*part.chunk, part.ends);
  }
  const auto fail_all = [&] {
    for (BlockExecutable* executable : executables) executable->fail(std::current_exception());
  };
  std::vector<block::Lane> lanes;
  std::vector<BlockExecutable::SharedUpload> shared_uploads;
  while (true) {
    std::erase_if(executables, [](const BlockExecutable* executable) { return !executable->has_steps(); });
    if (executables.empty()) return;
    try {
      // All executables append a step in turn, so that they may share batches.
      for (BlockExecutable* executable : executables) executable->open_round(std::ssize(executables));
      while (std::ranges::all_of(
          executables, [](const BlockExecutable* each) { return each->has_steps() && each->has_staging_space(); })) {
        shared_uploads.clear();
        for (BlockExecutable* executable : executables) executable->append_step(&shared_uploads);
      }
      lanes.clear();
      for (BlockExecutable* executable : executables) executable->close_round(lanes);
      if (!lanes.empty()) {
        executables[0]->device_->launch(lanes);
        executables[0]->device_->wait();
      }
    } catch (...) {
      return fail_all();
    }
    for (BlockExecutable* executable : executables) executable->wait();
  }
}

}  // namespace lanista::device
