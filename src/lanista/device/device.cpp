// Libraries of devices are opened when a study wants one, so the program starts without them. Torch-free.
#include "lanista/device/device.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <mutex>

#include "lanista/device/block_backend.h"
#include "lanista/device/library.h"

namespace lanista::device {
namespace {

constexpr std::string_view kKind = "torch:", kBlock = "block:";

Error unavailable(std::string message) {
  return {.code = Code::kUnavailable, .message = std::move(message), .where = {}};
}

std::string reason_of_loader() {
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
  if (handle == nullptr) return unavailable(reason_of_loader());
  const auto stamp = reinterpret_cast<const char* (*)()>(::dlsym(handle, kStampSymbol));
  const auto library = reinterpret_cast<const Library* (*)()>(::dlsym(handle, kLibrarySymbol));
  if (stamp == nullptr || library == nullptr) return unavailable(file + " is no device library");
  if (library_stamp() != stamp()) {
    return unavailable(file + " is of another build: " + stamp() + " there, " + library_stamp() + " here");
  }
  return library();
}

std::string file_or(const std::string& file) { return file.empty() ? library_file() : file; }

// A driver is here if its library can be opened; nothing of it is called.
bool has_driver(const char* name) {
  void* const handle = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  if (handle != nullptr) ::dlclose(handle);
  return handle != nullptr;
}

Finding gpu() {
  const bool there = ::access("/dev/nvidia0", F_OK) == 0, driven = has_driver("libcuda.so.1");
  const std::string value = !there   ? "none"
                            : driven ? "present, with a driver"
                                     : "present, but libcuda.so.1 is missing";
  return {"gpu", value, there ? "this version trains on the CPU alone; docs/gpu.md tells what is still missing" : ""};
}

}  // namespace

std::string library_stamp() {
  // Sizes of what crosses: a library of another version would read them wrongly.
  std::string stamp = __VERSION__;
  for (const std::size_t size : {sizeof(nn::ProgramOptions), sizeof(nn::MachineFacts), sizeof(nn::LaneState),
                                 sizeof(nn::Batch), sizeof(nn::LaneHyper), sizeof(nn::LaneEnd), sizeof(Library)}) {
    stamp += "/" + std::to_string(size);
  }
  return stamp;
}

std::string library_file() {
  if (const char* const asked = std::getenv("LANISTA_DEVICE_LIBRARY"); asked != nullptr && *asked != '\0') return asked;
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  return ((failed ? std::filesystem::path(".") : self.parent_path()) / "liblanista_torch.so").string();
}

Result<const nn::Backend*> open(std::string_view name, const std::string& file) {
  const std::string way_out = "; or run on the CPU (run.devices: [cpu])";
  if (name.starts_with(kBlock)) {
    auto backend = block_backend(name.substr(kBlock.size()));
    if (!backend) return unavailable(backend.error().message + way_out);
    return backend;
  }
  if (!name.starts_with(kKind)) {
    return unavailable("device '" + std::string(name) + "' is not known: there are torch:cpu, block:host and block:cuda:N" +
                       way_out);
  }
  const auto library = load(file_or(file));
  if (!library) {
    return unavailable("device '" + std::string(name) + "' wants the library of LibTorch, which cannot be opened: " +
                       library.error().message + " (a build with -DLANISTA_TORCH=ON makes it)" + way_out);
  }
  auto backend = (*library)->open(name.substr(kKind.size()));
  if (!backend) return unavailable(backend.error().message + way_out);
  return backend;
}

std::vector<Finding> findings() {
  const std::string file = library_file();
  Finding torch{"torch", "none", ""};
  // It is looked at, not opened: LibTorch is large, and who asks what is here may have little.
  if (::access(file.c_str(), R_OK) == 0) torch.value = "LibTorch's library is here (run.devices: torch:cpu)";
  return {gpu(), std::move(torch)};
}

}  // namespace lanista::device
