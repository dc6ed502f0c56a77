// Opens device libraries when a study needs one, so that the program starts without them. This file does not use
// LibTorch.
#include "lanista/exec/backends/device.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <mutex>

#include "lanista/exec/backends/cuda_blocks/block_backend.h"
#include "lanista/exec/backends/library.h"

namespace lanista::device {
namespace {

constexpr std::string_view kKind = "torch:", kCuda = "cuda:", kBlock = "block:";

Error unavailable(std::string message) {
  return {.code = Code::kUnavailable, .message = std::move(message), .where = {}};
}

std::string loader_error() {
  const char* const text = ::dlerror();
  return text == nullptr ? "no reason given" : text;
}

// Opens a device library. It is never closed, because live objects use its code.
Result<const Library*> load(const std::string& file) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  // One BLAS thread: when it is opened, the BLAS would start more threads and end the program if that fails.
  ::setenv("OPENBLAS_NUM_THREADS", "1", 0);
  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return unavailable(loader_error());
  const auto stamp = reinterpret_cast<const char* (*)()>(::dlsym(handle, kStampSymbol));
  const auto library = reinterpret_cast<const Library* (*)()>(::dlsym(handle, kLibrarySymbol));
  if (stamp == nullptr || library == nullptr) return unavailable(file + " is not a device library");
  if (const std::string_view there = stamp(); there != kStamp) {
    return unavailable(file + " belongs to another build: its stamp is " + std::string(there) +
                       ", that of this program is " + kStamp);
  }
  return library();
}

std::string library_file_or(const std::string& file) { return file.empty() ? library_file() : file; }

template <class F>
bool find(void* library, const char* name, F& to) {
  to = reinterpret_cast<F>(::dlsym(library, name));
  return to != nullptr;
}

// Description of the first device by the driver: "NVIDIA H200, sm_90, driver for CUDA 13.0, 1 of it". Empty if there is
// none.
std::string describe_driver() {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {};
  int (*init)(unsigned) = nullptr;
  int (*count)(int*) = nullptr;
  int (*version)(int*) = nullptr;
  int (*name)(char*, int, int) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
  if (!find(library, "cuInit", init) || !find(library, "cuDeviceGetCount", count) ||
      !find(library, "cuDriverGetVersion", version) || !find(library, "cuDeviceGetName", name) ||
      !find(library, "cuDeviceGetAttribute", attribute)) {
    return {};
  }
  constexpr int kMajor = 75, kMinor = 76;  // attributes of cuDeviceGetAttribute
  int devices = 0, driver = 0, major = 0, minor = 0;
  std::array<char, 128> text{};
  if (init(0) != 0 || count(&devices) != 0 || devices == 0 || version(&driver) != 0 ||
      name(text.data(), static_cast<int>(text.size()) - 1, 0) != 0 || attribute(&major, kMajor, 0) != 0 ||
      attribute(&minor, kMinor, 0) != 0) {
    return {};
  }
  return std::string(text.data()) + ", sm_" + std::to_string(10 * major + minor) + ", driver for CUDA " +
         std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10) + ", " + std::to_string(devices) +
         (devices == 1 ? " of it" : " of them");
}

DeviceCheck gpu() {
  if (::access("/dev/nvidia0", F_OK) != 0) return {"gpu", "none", ""};
  const std::string description = describe_driver();
  if (description.empty()) {
    return {"gpu", "present", "its driver's library, libcuda.so.1, is missing or reports no device"};
  }
  return {"gpu", description + " (run.devices: block:cuda:0, or cuda:0)", ""};
}

}  // namespace

std::string library_file() {
  if (const char* const asked = std::getenv("LANISTA_DEVICE_LIBRARY"); asked != nullptr && *asked != '\0') return asked;
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  constexpr const char* kName = "liblanista_torch.so";
  if (failed) return kName;  // searched by the system's loader, which ignores the current folder
  return (self.parent_path() / kName).string();
}

Result<const program::Backend*> open(std::string_view name, const std::string& file) {
  const std::string advice = "; or run on the CPU (run.devices: [cpu])";
  if (name.starts_with(kBlock)) {
    auto backend = block_backend(name.substr(kBlock.size()));
    if (!backend) return unavailable(backend.error().message + advice);
    return backend;
  }
  // "cuda:N" is short for "torch:cuda:N".
  if (name.starts_with(kCuda)) return open(std::string(kKind) + std::string(name), file);
  if (!name.starts_with(kKind)) {
    return unavailable("device '" + std::string(name) +
                       "' is not known; known: torch:cpu, cuda:N, block:cuda:N, block:host" + advice);
  }
  const auto library = load(library_file_or(file));
  if (!library) {
    return unavailable("device '" + std::string(name) + "' needs the LibTorch library, which cannot be opened: " +
                       library.error().message + " (a build with -DLANISTA_TORCH=ON makes it)" + advice);
  }
  auto backend = (*library)->open(name.substr(kKind.size()));
  if (!backend) return unavailable(backend.error().message + advice);
  return backend;
}

std::vector<DeviceCheck> check_devices() {
  const std::string file = library_file();
  DeviceCheck torch{"torch", "none", ""};
  // The library is not opened, because LibTorch needs much memory.
  if (::access(file.c_str(), R_OK) == 0)
    torch.value = "the LibTorch library is present (run.devices: torch:cpu, or cuda:0 if it has CUDA)";
  return {gpu(), std::move(torch)};
}

}  // namespace lanista::device
