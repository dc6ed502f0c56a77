// Lane kernels on a GPU, by the driver that is found at run time.
#include "lanista/exec/backends/aten/cuda_kernels.h"

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "lanista/exec/backends/cuda_compile.h"
#include "lanista/exec/backends/dynamic_library.h"

namespace lanista::device {
namespace {

// Attributes of cuDeviceGetAttribute.
constexpr int kMajor = 75, kMinor = 76;

struct Driver {
  DynamicLibrary library;
  int (*init)(unsigned) = nullptr;
  int (*device)(int*, int) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*current)(void**) = nullptr;
  int (*set_current)(void*) = nullptr;
  int (*load)(void**, const void*) = nullptr;
  int (*function)(void**, void*, const char*) = nullptr;
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                void**) = nullptr;
  int (*text)(int, const char**) = nullptr;

  Result<void> open() {
    LANISTA_TRY(library.open({"libcuda.so.1"}));
    library.find("cuInit", init);
    library.find("cuDeviceGet", device);
    library.find("cuDeviceGetAttribute", attribute);
    library.find("cuDevicePrimaryCtxRetain", retain);
    library.find("cuCtxGetCurrent", current);
    library.find("cuCtxSetCurrent", set_current);
    library.find("cuModuleLoadData", load);
    library.find("cuModuleGetFunction", function);
    library.find("cuLaunchKernel", launch);
    library.find("cuGetErrorString", text);
    return library.check_symbols();
  }
  std::string reason(int status) const {
    const char* found = nullptr;
    return text(status, &found) == 0 && found != nullptr ? found : "error " + std::to_string(status);
  }
};

class Kernels final : public CudaKernels {
 public:
  Kernels(Driver driver, void* context, int architecture, std::string torch_folder, void* (*current_stream)())
      : driver_(driver),
        context_(context),
        architecture_(architecture),
        torch_folder_(std::move(torch_folder)),
        current_stream_(current_stream) {}

  int architecture() const override { return architecture_; }

 protected:
  void start(const char* kernel, at::ScalarType type, std::int64_t count, Launch launch, const void* args,
             std::size_t) const override {
    check(be_current(), "the device's context");
    void* const function = this->function(kernel, type);
    long long threads = count;
    std::array<void*, 2> parameters{&threads, const_cast<void*>(args)};
    check(driver_.launch(function, static_cast<unsigned>(launch.blocks), 1, 1, static_cast<unsigned>(launch.threads), 1,
                         1, 0, current_stream_(), parameters.data(), nullptr),
          kernel);
  }

 private:
  void check(int status, const char* what) const { TORCH_CHECK(status == 0, what, ": ", driver_.reason(status)); }

  // The driver has one current context per thread. LibTorch uses the primary context of the device.
  int be_current() const {
    void* current = nullptr;
    if (const int status = driver_.current(&current); status != 0) return status;
    return current == context_ ? 0 : driver_.set_current(context_);
  }

  void* function(const char* kernel, at::ScalarType type) const {
    const std::lock_guard lock(mutex_);
    void*& found = functions_[{type, kernel}];
    if (found != nullptr) return found;
    void*& module = modules_[type];
    if (module == nullptr) {
      // LibTorch's own stub finds NVRTC wherever its package installed it.
      const auto binary = compile_lane_kernels(type, architecture_, {torch_folder_ + "/libcaffe2_nvrtc.so"});
      TORCH_CHECK(binary.ok(), binary.ok() ? "" : binary.error().message);
      check(driver_.load(&module, binary->data()), "kernels of lanes");
    }
    check(driver_.function(&found, module, kernel), kernel);
    return found;
  }

  Driver driver_;
  void* context_;
  int architecture_;
  std::string torch_folder_;
  void* (*current_stream_)();
  mutable std::mutex mutex_;
  mutable std::map<at::ScalarType, void*> modules_;
  mutable std::map<std::pair<at::ScalarType, std::string>, void*> functions_;
};

}  // namespace

Result<std::string> compile_lane_kernels(at::ScalarType type, int architecture,
                                         const std::vector<std::string>& libraries) {
  return compile_cuda({"lanes", lane_kernel_source(type), {"--std=c++17"}}, architecture, libraries);
}

Result<std::unique_ptr<const CudaKernels>> cuda_kernels(int device, void* (*current_stream)(),
                                                        const std::string& torch_folder) {
  Driver driver;
  if (auto opened = driver.open(); !opened) {
    return unavailable("the driver of CUDA (libcuda.so.1) cannot be opened: " + opened.error().message);
  }
  int handle = 0, major = 0, minor = 0;
  void* context = nullptr;
  int status = driver.init(0);
  if (status == 0) status = driver.device(&handle, device);
  if (status == 0) status = driver.attribute(&major, kMajor, handle);
  if (status == 0) status = driver.attribute(&minor, kMinor, handle);
  if (status == 0) status = driver.retain(&context, handle);
  if (status != 0) return unavailable("GPU " + std::to_string(device) + ": " + driver.reason(status));
  return std::unique_ptr<const CudaKernels>(
      new Kernels(driver, context, 10 * major + minor, torch_folder, current_stream));
}

}  // namespace lanista::device
