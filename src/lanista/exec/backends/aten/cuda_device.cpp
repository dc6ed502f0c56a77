// The parts that need CUDA headers: streams and graph capture.
#include <ATen/Context.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "lanista/exec/backends/aten/aten_devices.h"
#include "lanista/exec/backends/aten/cuda_kernels.h"

namespace lanista::device {
namespace {

constexpr int kWarmups = 2;

// Starts a capture during which other threads may allocate. Versions of LibTorch differ in the arguments.
template <class Graph>
void begin_capture(Graph& graph, const at::cuda::MempoolId_t& pool) {
  if constexpr (requires { graph.capture_begin(pool, cudaStreamCaptureModeThreadLocal); }) {
    graph.capture_begin(pool, cudaStreamCaptureModeThreadLocal);
  } else {
    graph.capture_begin(pool);
  }
}

// Selects deterministic algorithms and full float32 precision. Allocated memory need not be filled.
template <class Context>
void be_exact(Context& context) {
  context.setAllowTF32CuBLAS(false);
  context.setAllowTF32CuDNN(false);
  context.setBenchmarkCuDNN(false);
  context.setDeterministicCuDNN(true);
  if constexpr (requires { context.setDeterministicFillUninitializedMemory(false); }) {
    context.setDeterministicFillUninitializedMemory(false);
  }
  context.setDeterministicAlgorithms(true, false);
}

class CudaQueue final : public AtenQueue {
 public:
  explicit CudaQueue(c10::cuda::CUDAStream stream)
      : AtenQueue(stream.unwrap()), stream_(stream), pool_(at::cuda::graph_pool_handle()) {}

  // Graphs of one queue never run at the same time, so they share their memory pool.
  std::function<void()> record(const std::function<void()>& step) override {
    for (int i = 0; i < kWarmups; ++i) step();
    stream_.synchronize();
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    auto graph = std::make_shared<at::cuda::CUDAGraph>();
    begin_capture(*graph, pool_);
    try {
      step();
    } catch (...) {
      try {
        graph->capture_end();
      } catch (const c10::Error&) {  // the first exception has the cause
      }
      throw;
    }
    graph->capture_end();
    return [graph] { graph->replay(); };
  }

  void synchronise() override { stream_.synchronize(); }
  void free_unused() override {
    pool_ = at::cuda::graph_pool_handle();  // a pool ends with its last graph
    c10::cuda::CUDACachingAllocator::emptyCache();
  }
  bool is_device_alive() override {
    try {
      const at::Tensor one = at::zeros({1}, at::TensorOptions(stream_.device()));
      stream_.synchronize();
      return true;
    } catch (const c10::Error&) {
      return false;
    }
  }

 private:
  c10::cuda::CUDAStream stream_;
  at::cuda::MempoolId_t pool_;
};

class AtenCudaDevice final : public AtenDevice {
 public:
  AtenCudaDevice(int index, std::unique_ptr<const CudaKernels> kernels)
      : index_(static_cast<c10::DeviceIndex>(index)),
        kernels_(std::move(kernels)),
        name_("torch:cuda:" + std::to_string(index)),
        class_("aten/" TORCH_VERSION "/cuda/sm_" + std::to_string(kernels_->architecture())) {}

  at::Device device() const override { return at::Device(at::kCUDA, index_); }
  std::string_view name() const override { return name_; }
  std::string_view numeric_class() const override { return class_; }
  std::unique_ptr<AtenQueue> queue() const override {
    return std::make_unique<CudaQueue>(c10::cuda::getStreamFromPool(false, index_));
  }
  const LaneKernels* kernels() const override { return kernels_.get(); }
  std::size_t steps_per_launch() const override { return 8; }
  bool runs_masked_lanes() const override { return true; }
  std::int64_t max_dataset_bytes() const override { return std::int64_t{8} << 30; }
  // The float32 precision of cuBLAS is a setting of the process that a product reads when it is called. So products
  // with narrow operands are called one at a time, and never together with others.
  MatmulPrecisionScope products() const override {
    return [](bool narrow) -> std::shared_ptr<void> {
      static std::shared_mutex calls;
      if (!narrow) {
        calls.lock_shared();
        return {nullptr, [](void*) { calls.unlock_shared(); }};
      }
      calls.lock();
      at::globalContext().setAllowTF32CuBLAS(true);
      return {nullptr, [](void*) {
                at::globalContext().setAllowTF32CuBLAS(false);
                calls.unlock();
              }};
    };
  }

 private:
  c10::DeviceIndex index_;
  std::unique_ptr<const CudaKernels> kernels_;
  std::string name_, class_;
};

void* current_stream() { return c10::cuda::getCurrentCUDAStream().stream(); }

std::string torch_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&at::cuda::graph_pool_handle), &info) == 0 || info.dli_fname == nullptr)
    return ".";
  const std::string file = info.dli_fname;
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

}  // namespace

Result<const AtenDevice*> aten_cuda(int index) {
  static std::mutex mutex;
  static std::map<int, std::unique_ptr<const AtenCudaDevice>> known;
  const std::lock_guard lock(mutex);
  std::unique_ptr<const AtenCudaDevice>& device = known[index];
  if (device != nullptr) return device.get();
  const std::string name = "device 'torch:cuda:" + std::to_string(index) + "'";
  const auto unavailable = [&](const std::string& why) {
    return Error{.code = Code::kUnavailable, .message = name + " cannot be used: " + why, .where = {}};
  };
  // cuBLAS reads this when it makes its first handle. Without it, sums may differ between runs.
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
  const int there = c10::cuda::device_count();
  if (there == 0) return unavailable("LibTorch finds no GPU (nvidia-smi shows driver and devices)");
  if (index >= there) return unavailable("LibTorch finds " + std::to_string(there) + " GPUs, numbered from 0");
  auto kernels = cuda_kernels(index, current_stream, torch_folder());
  if (!kernels) return unavailable(kernels.error().message);
  try {
    be_exact(at::globalContext());
    at::zeros({1}, at::TensorOptions(at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index))));
    device = std::make_unique<const AtenCudaDevice>(index, *std::move(kernels));
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    return unavailable(text.substr(0, text.find('\n')));
  }
  return device.get();
}

}  // namespace lanista::device
