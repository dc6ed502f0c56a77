#include "bench/speedup.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "lanista/base/check.h"
#include "lanista/exec/kernels/kernels.h"

namespace lanista::bench {
namespace {

constexpr int kLeastRepeats = 15;
constexpr double kSliceSeconds = 0.03;

/// A second thread that lives on between its pieces of work: it wakes where it was, away from the first one's core.
class Companion {
 public:
  Companion() : thread_([this](const std::stop_token& stop) { serve(stop); }) {}

  void begin(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      work_ = std::move(work);
    }
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !work_; });
  }

 private:
  void serve(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return bool(work_); })) {
      lock.unlock();
      work_();
      lock.lock();
      work_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::function<void()> work_;
  std::jthread thread_;  // last: joined before the rest goes
};

double gain(const Doubling& doubling, Companion& companion) {
  const auto slice = [](const Work& work) { return work.models * warm_rate(work.call, kSliceSeconds); };
  const double alone = slice(doubling.alone);
  double twin = 0, second = 0;
  companion.begin([&] { twin = slice(doubling.twin); });
  companion.wait();
  const bool both = doubling.together.size() == 2;
  if (both) companion.begin([&] { second = slice(doubling.together[1]); });
  const double first = slice(doubling.together[0]);
  if (both) companion.wait();
  return (first + second) / ((alone + twin) / 2);
}

}  // namespace

Row speedup_row(const std::string& bench, const std::string& case_name, const Doubling& doubling, int repeats) {
  LANISTA_CHECK(!doubling.together.empty() && doubling.together.size() <= 2, "a doubling is the work of two threads");
  Companion companion;
  std::vector<double> gains;
  for (int i = 0; i < std::max(repeats, kLeastRepeats); ++i) gains.push_back(gain(doubling, companion));
  return summary(bench, case_name, "speedup-2", "x", gains);
}

Row speedup_row(const std::string& bench, const std::string& case_name, OurProgram& alone, OurProgram& twin,
                const std::vector<OurProgram*>& together, int repeats) {
  Doubling doubling{.alone = alone.work(), .twin = twin.work(), .together = {}};
  for (OurProgram* program : together) doubling.together.push_back(program->work());
  return speedup_row(bench, case_name, doubling, repeats);
}

Row machine_speedup_row(const std::string& bench, int repeats) {
  const auto& kernels = kernels::kernels<float>(kernels::best_isa());
  const Work chain{.call = [&kernels] {
    std::array<float, kernels::kProbeChains> out;
    kernels.fma_chain(20'000, out.data());
  }};
  return speedup_row(bench, "machine", {.alone = chain, .twin = chain, .together = {chain, chain}}, repeats);
}

}  // namespace lanista::bench
