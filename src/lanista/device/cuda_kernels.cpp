// The driver and NVRTC as they are found on the machine. No header of CUDA: of each function its type is here.
#include "lanista/device/cuda_kernels.h"

#include <dlfcn.h>

#include <array>
#include <map>
#include <mutex>
#include <vector>

namespace lanista::device {
namespace {

constexpr unsigned kThreads = 256;  // of a block
// Of cuDeviceGetAttribute.
constexpr int kMajor = 75, kMinor = 76;

Error unavailable(std::string message) {
  return {.code = Code::kUnavailable, .message = std::move(message), .where = {}};
}

template <class F>
bool find(void* library, const char* name, F& to) {
  to = reinterpret_cast<F>(::dlsym(library, name));
  return to != nullptr;
}

struct Driver {
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

  static Result<Driver> open() {
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return unavailable("the driver's library libcuda.so.1 is not here");
    Driver d;
    const bool all = find(library, "cuInit", d.init) && find(library, "cuDeviceGet", d.device) &&
                     find(library, "cuDeviceGetAttribute", d.attribute) &&
                     find(library, "cuDevicePrimaryCtxRetain", d.retain) &&
                     find(library, "cuCtxGetCurrent", d.current) && find(library, "cuCtxSetCurrent", d.set_current) &&
                     find(library, "cuModuleLoadData", d.load) &&
                     find(library, "cuModuleGetFunction", d.function) &&
                     find(library, "cuLaunchKernel", d.launch) && find(library, "cuGetErrorString", d.text);
    if (!all) return unavailable("libcuda.so.1 lacks a function; the driver is too old");
    return d;
  }
  std::string reason(int status) const {
    const char* found = nullptr;
    return text(status, &found) == 0 && found != nullptr ? found : "error " + std::to_string(status);
  }
};

struct Compiler {
  int (*create)(void**, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(void*, int, const char* const*) = nullptr;
  int (*log_size)(void*, std::size_t*) = nullptr;
  int (*log)(void*, char*) = nullptr;
  int (*size)(void*, std::size_t*) = nullptr;
  int (*binary)(void*, char*) = nullptr;
  int (*destroy)(void**) = nullptr;

  static Result<Compiler> open(const std::string& torch_folder) {
    // LibTorch's own stub finds NVRTC wherever its package has put it.
    const std::array<std::string, 4> names{torch_folder + "/libcaffe2_nvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12",
                                           "libnvrtc.so.11.2"};
    for (const std::string& name : names) {
      void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) continue;
      Compiler c;
      if (find(library, "nvrtcCreateProgram", c.create) && find(library, "nvrtcCompileProgram", c.compile) &&
          find(library, "nvrtcGetProgramLogSize", c.log_size) && find(library, "nvrtcGetProgramLog", c.log) &&
          find(library, "nvrtcGetCUBINSize", c.size) && find(library, "nvrtcGetCUBIN", c.binary) &&
          find(library, "nvrtcDestroyProgram", c.destroy)) {
        return c;
      }
      ::dlclose(library);
    }
    return unavailable("CUDA's compiler for programs at work, libnvrtc.so.13 or .12, is not here");
  }

  Result<std::vector<char>> operator()(const std::string& text, const std::string& architecture) const {
    void* program = nullptr;
    if (create(&program, text.c_str(), "lanes.cu", 0, nullptr, nullptr) != 0) return unavailable("NVRTC fails");
    const std::string target = "--gpu-architecture=" + architecture;
    const std::array<const char*, 2> options{target.c_str(), "--std=c++17"};
    const int status = compile(program, static_cast<int>(options.size()), options.data());
    std::size_t bytes = 0;
    std::vector<char> out;
    if (status != 0) {
      log_size(program, &bytes);
      out.resize(bytes + 1);
      log(program, out.data());
    } else if (size(program, &bytes) == 0) {
      out.resize(bytes);
      binary(program, out.data());
    }
    destroy(&program);
    if (status != 0) return unavailable("NVRTC does not compile the kernels of lanes: " + std::string(out.data()));
    return out;
  }
};

class Kernels final : public CudaKernels {
 public:
  Kernels(Driver driver, Compiler compiler, void* context, std::string architecture, void* (*current_stream)())
      : driver_(driver),
        compiler_(compiler),
        context_(context),
        architecture_(std::move(architecture)),
        current_stream_(current_stream) {}

  const std::string& architecture() const override { return architecture_; }

 protected:
  void start(const char* kernel, at::ScalarType type, std::int64_t count, int threads_each,
             const void* args, std::size_t) const override {
    check(be_current(), "the device's context");
    void* const function = this->function(kernel, type);
    long long threads = count;
    std::array<void*, 2> parameters{&threads, const_cast<void*>(args)};
    const auto blocks = static_cast<unsigned>((count * threads_each + kThreads - 1) / kThreads);
    check(driver_.launch(function, blocks, 1, 1, kThreads, 1, 1, 0, current_stream_(), parameters.data(), nullptr),
          kernel);
  }

 private:
  void check(int status, const char* what) const {
    TORCH_CHECK(status == 0, what, ": ", driver_.reason(status));
  }

  // The driver has one context a thread; that of LibTorch is the device's first.
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
      const auto binary = compiler_(lane_kernel_source(type), architecture_);
      TORCH_CHECK(binary.ok(), binary.ok() ? "" : binary.error().message);
      check(driver_.load(&module, binary->data()), "kernels of lanes");
    }
    check(driver_.function(&found, module, kernel), kernel);
    return found;
  }

  Driver driver_;
  Compiler compiler_;
  void* context_;
  std::string architecture_;
  void* (*current_stream_)();
  mutable std::mutex mutex_;
  mutable std::map<at::ScalarType, void*> modules_;
  mutable std::map<std::pair<at::ScalarType, std::string>, void*> functions_;
};

}  // namespace

Result<std::unique_ptr<const CudaKernels>> cuda_kernels(int device, void* (*current_stream)(),
                                                        const std::string& torch_folder) {
  LANISTA_ASSIGN(const Driver driver, Driver::open());
  LANISTA_ASSIGN(const Compiler compiler, Compiler::open(torch_folder));
  int handle = 0, major = 0, minor = 0;
  void* context = nullptr;
  int status = driver.init(0);
  if (status == 0) status = driver.device(&handle, device);
  if (status == 0) status = driver.attribute(&major, kMajor, handle);
  if (status == 0) status = driver.attribute(&minor, kMinor, handle);
  if (status == 0) status = driver.retain(&context, handle);
  if (status != 0) return unavailable("GPU " + std::to_string(device) + ": " + driver.reason(status));
  return std::unique_ptr<const CudaKernels>(
      new Kernels(driver, compiler, context, "sm_" + std::to_string(10 * major + minor), current_stream));
}

}  // namespace lanista::device
