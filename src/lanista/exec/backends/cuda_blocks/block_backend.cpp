#include "lanista/exec/backends/cuda_blocks/block_backend.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "lanista/exec/backends/cuda_blocks/block_executable.h"

namespace lanista::device {
namespace {

// The order of every sum is that of the CPU kernels with fused multiply-add, and so is the numeric class.
class BlockBackend final : public program::Backend {
 public:
  BlockBackend(std::string name, BlockDevice& device) : name_(std::move(name)), device_(device) {}
  std::string_view name() const override { return name_; }
  std::string_view numeric_class() const override { return program::cpu_backend(kernels::Isa::kAvx2).numeric_class(); }
  program::Capability capability() const override {
    // One thread per structure that is training, because their lanes share a launch (LaunchBatcher) and threads mostly
    // wait for it. A second executable of a structure serves trials that came too late for the first.
    return &device_ == &host_block_device()
               ? program::Capability{}
               : program::Capability{.workers = 64, .prefers_many_lanes = true, .max_executables = 2};
  }
  Result<std::unique_ptr<program::Executable>> compile(const autodiff::TrainingStep* train,
                                                       const autodiff::InferenceStep& infer,
                                                       const program::ProgramOptions& options) const override {
    return BlockExecutable::compile(device_, train, infer, options);
  }

 private:
  std::string name_;
  BlockDevice& device_;
};

Error unavailable(std::string message) {
  return {.code = Code::kUnavailable, .message = std::move(message), .where = {}};
}

}  // namespace

Result<const program::Backend*> block_backend(std::string_view device) {
  constexpr std::string_view kCuda = "cuda:";
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<BlockBackend>, std::less<>> known;
  if (kernels::best_isa() == kernels::Isa::kPortable) {
    return unavailable("device 'block:" + std::string(device) +
                       "' needs a CPU with fused multiply-add for predictions; this CPU has none, or LANISTA_ISA "
                       "turns it off");
  }
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(device); found != known.end()) return found->second.get();
  BlockDevice* blocks = nullptr;
  if (device == "host") {
    blocks = &host_block_device();
  } else if (device.starts_with(kCuda)) {
    LANISTA_ASSIGN(blocks, cuda_block_device(device.substr(kCuda.size())));
  } else {
    return unavailable("device 'block:" + std::string(device) + "' is not known; known: block:host, block:cuda:N");
  }
  std::string name = "block:" + std::string(device);
  return known.emplace(device, std::make_unique<BlockBackend>(std::move(name), *blocks)).first->second.get();
}

}  // namespace lanista::device
