// Libraries of devices are opened when a study wants one, so the program starts without them. Torch-free.
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

// Opened once; a library that carries code of live objects is never closed.
Result<const Library*> load(const std::string& file) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  // One thread in the BLAS: it would ask for others as it is opened, and end the program where it gets none.
  ::setenv("OPENBLAS_NUM_THREADS", "1", 0);
  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return unavailable(loader_error());
  const auto stamp = reinterpret_cast<const char* (*)()>(::dlsym(handle, kStampSymbol));
  const auto library = reinterpret_cast<const Library* (*)()>(::dlsym(handle, kLibrarySymbol));
  if (stamp == nullptr || library == nullptr) return unavailable(file + " is no device library");
  if (const std::string_view there = stamp(); there != kStamp) {
    return unavailable(file + " is of another build: " + std::string(there) + " there, " + kStamp + " here");
  }
  return library();
}

std::string library_file_or(const std::string& file) { return file.empty() ? library_file() : file; }

template <class F>
bool find(void* library, const char* name, F& to) {
  to = reinterpret_cast<F>(::dlsym(library, name));
  return to != nullptr;
}

// What the driver tells of the first device: "NVIDIA H200, sm_90, driver 13.0, 1 of them"; empty: it tells nothing.
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
  constexpr int kMajor = 75, kMinor = 76;  // of cuDeviceGetAttribute
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
  const std::string told = describe_driver();
  if (told.empty()) return {"gpu", "present", "its driver's library, libcuda.so.1, is missing or tells of no device"};
  return {"gpu", told + " (run.devices: block:cuda:0, or cuda:0)", ""};
}

}  // namespace

std::string library_file() {
  if (const char* const asked = std::getenv("LANISTA_DEVICE_LIBRARY"); asked != nullptr && *asked != '\0') return asked;
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  constexpr const char* kName = "liblanista_torch.so";
  if (failed) return kName;  // as the system's loader finds it: never the file of the current folder
  return (self.parent_path() / kName).string();
}

Result<const nn::Backend*> open(std::string_view name, const std::string& file) {
  const std::string way_out = "; or run on the CPU (run.devices: [cpu])";
  if (name.starts_with(kBlock)) {
    auto backend = block_backend(name.substr(kBlock.size()));
    if (!backend) return unavailable(backend.error().message + way_out);
    return backend;
  }
  // What a study calls a GPU; other kinds say what they are.
  if (name.starts_with(kCuda)) return open(std::string(kKind) + std::string(name), file);
  if (!name.starts_with(kKind)) {
    return unavailable("device '" + std::string(name) +
                       "' is not known: there are torch:cpu, cuda:N, block:cuda:N and block:host" + way_out);
  }
  const auto library = load(library_file_or(file));
  if (!library) {
    return unavailable("device '" + std::string(name) + "' wants the library of LibTorch, which cannot be opened: " +
                       library.error().message + " (a build with -DLANISTA_TORCH=ON makes it)" + way_out);
  }
  auto backend = (*library)->open(name.substr(kKind.size()));
  if (!backend) return unavailable(backend.error().message + way_out);
  return backend;
}

std::vector<DeviceCheck> check_devices() {
  const std::string file = library_file();
  DeviceCheck torch{"torch", "none", ""};
  // It is looked at, not opened: LibTorch is large, and who asks what is here may have little.
  if (::access(file.c_str(), R_OK) == 0)
    torch.value = "LibTorch's library is here (run.devices: torch:cpu, or cuda:0 where it has CUDA)";
  return {gpu(), std::move(torch)};
}

}  // namespace lanista::device
