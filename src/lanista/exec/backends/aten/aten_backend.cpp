#include "lanista/exec/backends/aten/aten_backend.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "lanista/base/parse_number.h"
#include "lanista/exec/backends/aten/aten_devices.h"
#include "lanista/exec/backends/aten/aten_executable.h"
#include "lanista/exec/backends/aten/lane_kernels.h"

namespace lanista::device {
namespace {

// Worker threads run in parallel and no sum may be split, so ATen and its BLAS use one thread each.
void be_single_threaded() {
  at::set_num_threads(1);
  void* const blas = ::dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_NOLOAD);
  if (blas == nullptr) return;
  if (const auto set = reinterpret_cast<void (*)(int)>(::dlsym(blas, "openblas_set_num_threads"))) set(1);
  ::dlclose(blas);
}

class HostQueue final : public AtenQueue {
 public:
  HostQueue() : AtenQueue(std::nullopt) {}
  std::function<void()> record(const std::function<void()>& step) override { return step; }
  void synchronise() override {}
};

class AtenCpuDevice : public AtenDevice {
 public:
  at::Device device() const override { return at::Device(at::kCPU); }
  std::string_view name() const override { return "torch:cpu"; }
  // The numbers of a lane do not depend on the number of lanes. The equivalence tests prove it for this library's CPU.
  std::string_view numeric_class() const override { return "aten/" TORCH_VERSION "/cpu"; }
  std::unique_ptr<AtenQueue> queue() const override { return std::make_unique<HostQueue>(); }
  bool lanes_may_differ() const override { return TORCH_VERSION_MAJOR >= 2; }
};

class AtenHostDevice final : public AtenCpuDevice {
 public:
  std::string_view name() const override { return "torch:host"; }
  std::string_view numeric_class() const override { return "aten/" TORCH_VERSION "/host"; }
  const LaneKernels* kernels() const override { return &host_lane_kernels(); }
  std::size_t steps_per_launch() const override { return 3; }
  bool runs_masked_lanes() const override { return true; }
  bool lanes_may_differ() const override { return true; }  // programs probe it, as on a GPU
  std::int64_t max_dataset_bytes() const override { return std::int64_t{1} << 30; }
};

class AtenBackend final : public program::Backend {
 public:
  explicit AtenBackend(const AtenDevice& device) : device_(device) {}
  std::string_view name() const override { return device_.name(); }
  std::string_view numeric_class() const override { return device_.numeric_class(); }
  std::vector<std::string> drain_warnings() const override { return device_.warnings().drain(); }
  program::Capability capability() const override {
    return device_.device().is_cpu() ? program::Capability{}
                                     : program::Capability{.workers = 1, .prefers_many_lanes = true};
  }
  Result<std::unique_ptr<program::Executable>> compile(const autodiff::TrainingStep* train,
                                                       const autodiff::InferenceStep& infer,
                                                       const program::ProgramOptions& options) const override {
    be_single_threaded();
    try {
      return AtenExecutable::compile(train, infer, options, device_);
    } catch (const c10::Error& error) {
      return Error{.code = Code::kUnavailable,
                   .message = std::string(name()) + ": " + error.what_without_backtrace(),
                   .where = {}};
    }
  }

 private:
  const AtenDevice& device_;
};

// Backends live until the process ends, because programs may outlive their caller.
Result<const program::Backend*> cuda_backend(int index) {
  static std::mutex mutex;
  static std::map<int, std::unique_ptr<const AtenBackend>> known;
  const std::lock_guard lock(mutex);
  auto& backend = known[index];
  if (backend == nullptr) {
    LANISTA_ASSIGN(const AtenDevice* const device, aten_cuda(index));
    backend = std::make_unique<const AtenBackend>(*device);
  }
  return backend.get();
}

}  // namespace

const AtenDevice& aten_cpu() {
  static const AtenCpuDevice cpu;
  return cpu;
}

const AtenDevice& aten_host() {
  static const AtenHostDevice host;
  return host;
}

std::vector<std::string> aten_operators() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : aten_table()) names.push_back(name);
  for (const auto& [name, update] : aten_updates()) names.push_back(name + "_update");
  std::ranges::sort(names);
  return names;
}

Result<const program::Backend*> aten_backend(std::string_view device) {
  static const AtenBackend cpu(aten_cpu()), host(aten_host());
  if (device == "cpu") return &cpu;
  if (device == "host") return &host;
  constexpr std::string_view kCuda = "cuda";
  if (device == kCuda) return cuda_backend(0);
  if (device.starts_with("cuda:")) {
    const auto index = parse_number<int>(device.substr(kCuda.size() + 1));
    if (index && *index >= 0) return cuda_backend(*index);
  }
  return Error{.code = Code::kUnavailable,
               .message = "device 'torch:" + std::string(device) + "' is not known; known: torch:cpu, torch:cuda:N",
               .where = {}};
}

}  // namespace lanista::device
