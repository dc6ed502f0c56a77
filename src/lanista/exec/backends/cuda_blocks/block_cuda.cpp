// CUDA devices through the driver. Its library and the run-time compiler are opened when they are needed. No CUDA
// header is included.

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <vector>

#include "lanista/exec/backends/cuda_blocks/block_device.h"
#include "lanista/exec/backends/cuda_compile.h"
#include "lanista/exec/backends/dynamic_library.h"

namespace lanista::device {
namespace {

// Threads per block, and blocks per lane.
struct LaunchShape {
  int threads = 256, team = 1;
};

// Types of the driver interface, as documented.
using CuResult = int;
using CuDevice = int;
using CuPointer = unsigned long long;
using CuHandle = void*;  // context, module, function or stream
constexpr CuResult kOutOfMemory = 2;
constexpr int kClusters = 90;  // first architecture with clusters

// Attributes of a launch with clusters of blocks.
struct CuLaunchAttribute {
  int id = 4;  // identifier of the cluster size
  int unused = 0;
  unsigned cluster[16] = {1, 1, 1};
};
struct CuLaunchConfig {
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  CuHandle stream = nullptr;
  CuLaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

struct Driver {
  DynamicLibrary library;
  CuResult (*init)(unsigned) = nullptr;
  CuResult (*error_name)(CuResult, const char**) = nullptr;
  CuResult (*error_text)(CuResult, const char**) = nullptr;
  CuResult (*device_count)(int*) = nullptr;
  CuResult (*device_get)(CuDevice*, int) = nullptr;
  CuResult (*attribute)(int*, int, CuDevice) = nullptr;
  CuResult (*retain)(CuHandle*, CuDevice) = nullptr;
  CuResult (*set_current)(CuHandle) = nullptr;
  CuResult (*module_load)(CuHandle*, const void*) = nullptr;
  CuResult (*function_get)(CuHandle*, CuHandle, const char*) = nullptr;
  CuResult (*function_set)(CuHandle, int, int) = nullptr;
  CuResult (*allocate)(CuPointer*, std::size_t) = nullptr;
  CuResult (*release)(CuPointer) = nullptr;
  CuResult (*allocate_host)(void**, std::size_t, unsigned) = nullptr;
  CuResult (*release_host)(void*) = nullptr;
  CuResult (*copy)(CuPointer, CuPointer, std::size_t, CuHandle) = nullptr;
  CuResult (*stream_create)(CuHandle*, unsigned) = nullptr;
  CuResult (*stream_wait)(CuHandle) = nullptr;
  CuResult (*event_create)(CuHandle*, unsigned) = nullptr;
  CuResult (*event_record)(CuHandle, CuHandle) = nullptr;
  CuResult (*stream_after)(CuHandle, CuHandle, unsigned) = nullptr;
  CuResult (*launch)(CuHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CuHandle, void**,
                     void**) = nullptr;
  CuResult (*launch_in_clusters)(const CuLaunchConfig*, CuHandle, void**, void**) = nullptr;  // null in older drivers

  Result<void> open() {
    LANISTA_TRY(library.open({"libcuda.so.1"}));
    library.find("cuInit", init);
    library.find("cuGetErrorName", error_name);
    library.find("cuGetErrorString", error_text);
    library.find("cuDeviceGetCount", device_count);
    library.find("cuDeviceGet", device_get);
    library.find("cuDeviceGetAttribute", attribute);
    library.find("cuDevicePrimaryCtxRetain", retain);
    library.find("cuCtxSetCurrent", set_current);
    library.find("cuModuleLoadData", module_load);
    library.find("cuModuleGetFunction", function_get);
    library.find("cuFuncSetAttribute", function_set);
    library.find("cuMemAlloc_v2", allocate);
    library.find("cuMemFree_v2", release);
    library.find("cuMemHostAlloc", allocate_host);
    library.find("cuMemFreeHost", release_host);
    library.find("cuMemcpyAsync", copy);
    library.find("cuStreamCreate", stream_create);
    library.find("cuStreamSynchronize", stream_wait);
    library.find("cuEventCreate", event_create);
    library.find("cuEventRecord", event_record);
    library.find("cuStreamWaitEvent", stream_after);
    library.find("cuLaunchKernel", launch);
    LANISTA_TRY(library.check_symbols());
    library.find("cuLaunchKernelEx", launch_in_clusters);
    return {};
  }

  std::string text(const char* call, CuResult result) const {
    const char *name = nullptr, *why = nullptr;
    if (error_name(result, &name) != 0 || name == nullptr) name = "an unknown error";
    if (error_text(result, &why) != 0 || why == nullptr) why = "";
    return std::string(call) + " failed with " + name + " (" + std::to_string(result) + "): " + why;
  }
};

// Limits of free memory for the next executable: dozens of small ones, or a few large ones.
constexpr BlockMemoryPool::Limits kIdle{.device = std::int64_t{2} << 30, .staging = std::int64_t{256} << 20};

CuPointer pointer(const void* p) { return reinterpret_cast<CuPointer>(p); }

// Copies have a stream of their own, so that downloads of states and uploads of batches do not wait for launches of
// other threads. A launch waits for the copies that were begun before it.
class CudaBlockDevice final : public BlockDevice {
 public:
  CudaBlockDevice() : BlockDevice(kIdle) {}
  // Finds the device and makes its stream. Kernels are loaded at the first launch.
  Result<void> open(int number, std::optional<LaunchShape> asked) {
    asked_ = asked;
    if (auto opened = driver_.open(); !opened) {
      return unavailable("the driver of CUDA (libcuda.so.1) cannot be opened: " + opened.error().message);
    }
    LANISTA_TRY(reported("cuInit", driver_.init(0)));
    int count = 0;
    LANISTA_TRY(reported("cuDeviceGetCount", driver_.device_count(&count)));
    if (number >= count) {
      return unavailable("there is no CUDA device " + std::to_string(number) + " (the driver reports " +
                         std::to_string(count) + ")");
    }
    CuDevice device = 0;
    LANISTA_TRY(reported("cuDeviceGet", driver_.device_get(&device, number)));
    constexpr int kProcessors = 16, kMajor = 75, kMinor = 76;
    int major = 0, minor = 0;
    LANISTA_TRY(reported("cuDeviceGetAttribute", driver_.attribute(&processors_, kProcessors, device)));
    LANISTA_TRY(reported("cuDeviceGetAttribute", driver_.attribute(&major, kMajor, device)));
    LANISTA_TRY(reported("cuDeviceGetAttribute", driver_.attribute(&minor, kMinor, device)));
    architecture_ = 10 * major + minor;
    LANISTA_TRY(reported("cuDevicePrimaryCtxRetain", driver_.retain(&context_, device)));
    LANISTA_TRY(reported("cuCtxSetCurrent", driver_.set_current(context_)));
    constexpr unsigned kNonBlocking = 1;
    constexpr unsigned kWithoutTimes = 2;
    LANISTA_TRY(reported("cuStreamCreate", driver_.stream_create(&stream_, kNonBlocking)));
    LANISTA_TRY(reported("cuStreamCreate", driver_.stream_create(&copies_, kNonBlocking)));
    return reported("cuEventCreate", driver_.event_create(&copied_, kWithoutTimes));
  }

  std::byte* allocate(MemoryKind kind, std::int64_t bytes) override {
    const std::lock_guard lock(mutex_);
    enter();
    const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
    if (kind == MemoryKind::kStaging) {
      void* memory = nullptr;
      check("cuMemHostAlloc", driver_.allocate_host(&memory, size, 0));
      return static_cast<std::byte*>(memory);
    }
    CuPointer memory = 0;
    check("cuMemAlloc", driver_.allocate(&memory, size));
    return reinterpret_cast<std::byte*>(memory);
  }

  void release(MemoryKind kind, std::byte* memory) noexcept override {
    driver_.set_current(context_);
    driver_.stream_wait(stream_);
    driver_.stream_wait(copies_);
    const std::lock_guard lock(mutex_);
    kind == MemoryKind::kStaging ? driver_.release_host(memory) : driver_.release(pointer(memory));
  }

  void copy(void* to, const void* from, std::int64_t bytes) override {
    if (bytes == 0) return;
    const std::lock_guard lock(mutex_);
    enter();
    check("cuMemcpyAsync", driver_.copy(pointer(to), pointer(from), static_cast<std::size_t>(bytes), copies_));
  }

  void launch(std::span<const block::Lane> lanes) override {
    const std::lock_guard lock(mutex_);
    enter();
    const auto count = static_cast<int>(lanes.size());
    int most_calls = 0;
    for (const block::Lane& lane : lanes) most_calls = std::max(most_calls, lane.call_count);
    const LaunchShape shape = shape_for(count);
    const auto shared = static_cast<unsigned>(static_cast<std::size_t>(most_calls) * sizeof(block::Call));
    CuHandle function = kernel(shared);
    check("cuEventRecord", driver_.event_record(copied_, copies_));
    check("cuStreamWaitEvent", driver_.stream_after(stream_, copied_, 0));
    place_lanes(lanes);
    CuPointer at = lanes_;
    std::array<void*, 1> arguments{&at};
    const auto grid = static_cast<unsigned>(count * shape.team), threads = static_cast<unsigned>(shape.threads);
    if (shape.team == 1) {
      check("cuLaunchKernel",
            driver_.launch(function, grid, 1, 1, threads, 1, 1, shared, stream_, arguments.data(), nullptr));
      return;
    }
    if (driver_.launch_in_clusters == nullptr || architecture_ < kClusters) {
      throw std::runtime_error(
          "teams of blocks (block:cuda:N/THREADSxTEAM) need compute capability 9.0 and a driver "
          "that supports clusters");
    }
    CuLaunchAttribute team;
    team.cluster[0] = static_cast<unsigned>(shape.team);
    CuLaunchConfig config;
    config.grid[0] = grid;
    config.block[0] = threads;
    config.shared_bytes = shared;
    config.stream = stream_;
    config.attributes = &team;
    config.attribute_count = 1;
    check("cuLaunchKernelEx", driver_.launch_in_clusters(&config, function, arguments.data(), nullptr));
  }

  // The wait holds no lock, so that other threads may upload batches meanwhile.
  void wait() override {
    enter();
    check("cuStreamSynchronize", driver_.stream_wait(stream_));
    check("cuStreamSynchronize", driver_.stream_wait(copies_));
  }
  void wait_for_copies() override {
    enter();
    check("cuStreamSynchronize", driver_.stream_wait(copies_));
  }

 private:
  Result<void> reported(const char* call, CuResult result) const {
    if (result == 0) return {};
    return unavailable(driver_.text(call, result));
  }
  void check(const char* call, CuResult result) const {
    if (result == kOutOfMemory) throw std::bad_alloc();
    if (result != 0) throw std::runtime_error(driver_.text(call, result));
  }
  void enter() const { check("cuCtxSetCurrent", driver_.set_current(context_)); }

  // With many lanes, blocks are small, two per multiprocessor. With few lanes, blocks are large, so that each has
  // enough warps. Teams of blocks are used only on request (block:cuda:0/512x2).
  LaunchShape shape_for(int lanes) const {
    if (asked_) return *asked_;
    return lanes > processors_ ? LaunchShape{256, 1} : LaunchShape{512, 1};
  }

  CuHandle kernel(unsigned shared) {
    if (kernel_ == nullptr) {
      const Result<std::string> cubin = compile_block(architecture_);
      if (!cubin) throw std::runtime_error(cubin.error().message);
      CuHandle module = nullptr, found = nullptr;
      check("cuModuleLoadData", driver_.module_load(&module, cubin->data()));
      check("cuModuleGetFunction", driver_.function_get(&found, module, "lanista_block"));
      // Blocks read through the first cache, so shared memory gets little of it.
      constexpr int kCarveout = 9, kFewPercent = 15;
      check("cuFuncSetAttribute", driver_.function_set(found, kCarveout, kFewPercent));
      kernel_ = found;
    }
    constexpr unsigned kUsual = 48 * 1024;
    constexpr int kDynamicShared = 8;
    if (shared > kUsual)
      check("cuFuncSetAttribute", driver_.function_set(kernel_, kDynamicShared, static_cast<int>(shared)));
    return kernel_;
  }

  void place_lanes(std::span<const block::Lane> lanes) {
    const auto bytes = lanes.size_bytes();
    if (bytes > lanes_bytes_) {
      check("cuStreamSynchronize", driver_.stream_wait(stream_));
      if (lanes_ != 0) check("cuMemFree", driver_.release(lanes_));
      lanes_ = 0;
      lanes_bytes_ = 0;
      constexpr std::size_t kUsual = 256 * sizeof(block::Lane);
      check("cuMemAlloc", driver_.allocate(&lanes_, std::max(bytes, kUsual)));
      lanes_bytes_ = std::max(bytes, kUsual);
    }
    check("cuMemcpyAsync", driver_.copy(lanes_, pointer(lanes.data()), bytes, stream_));
  }

  Driver driver_;
  std::optional<LaunchShape> asked_;
  int processors_ = 1, architecture_ = 0;
  CuHandle context_ = nullptr, stream_ = nullptr, kernel_ = nullptr;
  CuHandle copies_ = nullptr, copied_ = nullptr;  // stream, and the event that a launch waits for
  CuPointer lanes_ = 0;
  std::size_t lanes_bytes_ = 0;
  std::mutex mutex_;
};

// Parses "0" or "0/512x2".
Result<std::pair<int, std::optional<LaunchShape>>> parsed(std::string_view name) {
  int number = -1, threads = 0, team = 1, used = 0;
  const std::string text(name);
  const auto whole = [&] { return used == static_cast<int>(text.size()); };
  if (std::sscanf(text.c_str(), "%d%n", &number, &used) == 1 && whole() && number >= 0) return {{number, std::nullopt}};
  used = 0;
  const bool shaped = std::sscanf(text.c_str(), "%d/%dx%d%n", &number, &threads, &team, &used) == 3 && whole();
  const bool threads_fit = threads == 128 || threads == 256 || threads == 512;
  if (shaped && number >= 0 && threads_fit && (team == 1 || team == 2 || team == 4 || team == 8)) {
    return {{number, LaunchShape{threads, team}}};
  }
  return unavailable("device 'block:cuda:" + text +
                     "' is not valid; allowed: a number, or a number with threads and team as in block:cuda:0/512x2 "
                     "(threads 128, 256 or 512; team 1, 2, 4 or 8)");
}

}  // namespace

Result<BlockDevice*> cuda_block_device(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<CudaBlockDevice>, std::less<>> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(name); found != known.end()) return found->second.get();
  LANISTA_ASSIGN(const auto what, parsed(name));
  auto device = std::make_unique<CudaBlockDevice>();
  if (auto opened = device->open(what.first, what.second); !opened) {
    return unavailable("device 'block:cuda:" + std::string(name) + "': " + opened.error().message);
  }
  return known.emplace(name, std::move(device)).first->second.get();
}

Result<std::string> compile_block(int architecture, std::string* log) {
  const CudaSource text{"block",
                        std::string(block_text()),
                        {"--std=c++17", "-fmad=false", "-ftz=true", "-prec-div=true", "-prec-sqrt=true"}};
  return compile_cuda(text, architecture, {}, log);
}

}  // namespace lanista::device
