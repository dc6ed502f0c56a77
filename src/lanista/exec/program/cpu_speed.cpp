#include "lanista/exec/program/cpu_speed.h"

#include <emmintrin.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>

#include "lanista/base/check.h"
#include "lanista/exec/program/aligned_bytes.h"

namespace lanista::program {
namespace {

constexpr double kRunSeconds = 0.002;  // long enough for the clock, short enough to miss other load
constexpr int kRuns = 8;
constexpr std::int64_t kFlushedBytes = 16 << 20;
constexpr int kFlushedRuns = 4;
constexpr std::int64_t kCacheLine = 64;

template <class F>
double seconds(F body) {
  using Clock = std::chrono::steady_clock;
  const auto from = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - from).count();
}

/// Returns the most units a second of several short runs. `body(rounds)` does `rounds` times the work and returns
/// units.
template <class F>
double best_rate(F body) {
  double units = 0;
  std::int64_t rounds = 1;
  // Doubling also raises the clock of the core.
  while (seconds([&] { units = body(rounds); }) < kRunSeconds) rounds *= 2;
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    const double taken = seconds([&] { units = body(rounds); });
    best = std::max(best, units / taken);
  }
  return best;
}

class Probe {
 public:
  explicit Probe(kernels::Isa isa) : family_(kernels::kernels<float>(isa)) {}

  double peak_gflops() const {
    return 1e-9 * best_rate([&](std::int64_t rounds) {
             std::array<float, kernels::kProbeChains> out{};
             const auto operations = family_.fma_chain(64 * rounds, out.data());
             keep(out[0]);
             return static_cast<double>(operations);
           });
  }

  /// Bytes a second of a block that stays in a cache.
  double cached(std::int64_t bytes) const {
    const program::AlignedBytes memory(bytes);
    return 1e-9 * best_rate([&](std::int64_t rounds) {
             read(memory, bytes, rounds);
             return static_cast<double>(rounds * bytes);
           });
  }

  /// Bytes a second of lines that no cache holds. They are flushed first, because the last cache may be very large.
  double uncached(std::int64_t bytes) const {
    const program::AlignedBytes memory(bytes);
    double best = 0;
    for (int run = 0; run < kFlushedRuns; ++run) {
      for (std::int64_t at = 0; at < bytes; at += kCacheLine) _mm_clflush(memory.data() + at);
      _mm_mfence();
      const double taken = seconds([&] { read(memory, bytes, 1); });
      best = std::max(best, 1e-9 * static_cast<double>(bytes) / taken);
    }
    return best;
  }

 private:
  void read(const program::AlignedBytes& memory, std::int64_t bytes, std::int64_t rounds) const {
    keep(family_.read_sum(rounds, bytes / kFloat, reinterpret_cast<const float*>(memory.data())));
  }
  static void keep(float value) {
    [[maybe_unused]] volatile float sink = value;  // keeps the reads
  }

  static constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
  const kernels::Kernels<float>& family_;
};

std::int64_t cache_bytes(int name) { return std::max<std::int64_t>(0, ::sysconf(name)); }

}  // namespace

const CacheLevelSpeed& CpuSpeed::level_of(std::int64_t bytes) const {
  LANISTA_CHECK(!memory.empty(), "CpuSpeed without measured levels of memory");
  for (const auto& level : memory) {
    if (bytes <= level.bytes) return level;
  }
  return memory.back();
}

CpuSpeed measure_cpu_speed(kernels::Isa isa) {
  const Probe probe(isa);
  CpuSpeed speed{.isa = isa, .peak_gflops = probe.peak_gflops(), .memory = {}};
  // Half a cache, so that other contents do not matter. The last cache is often shared and large.
  const std::int64_t l1 = cache_bytes(_SC_LEVEL1_DCACHE_SIZE), l2 = cache_bytes(_SC_LEVEL2_CACHE_SIZE),
                     l3 = std::min(cache_bytes(_SC_LEVEL3_CACHE_SIZE), 8 * l2);
  std::int64_t nearer = 0;
  for (const auto& [level, bytes] : {std::pair("L1", l1 / 2), std::pair("L2", l2 / 2), std::pair("L3", l3 / 2)}) {
    if (bytes <= nearer) continue;
    speed.memory.push_back({level, bytes, probe.cached(bytes)});
    nearer = bytes;
  }
  speed.memory.push_back({"memory", kFlushedBytes, probe.uncached(kFlushedBytes)});
  return speed;
}

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

}  // namespace lanista::program
