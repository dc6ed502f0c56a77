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

constexpr int kMinRepeats = 15;
constexpr double kSliceSeconds = 0.03;

/// A second thread that stays alive between its works, so that it continues on its own core.
class HelperThread {
 public:
  HelperThread() : thread_([this](const std::stop_token& stop) { serve(stop); }) {}

  /// Starts a work.
  void begin(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      work_ = std::move(work);
    }
    changed_.notify_all();
  }
  /// Waits for the end of the work.
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
  std::jthread thread_;  // last member, so it is joined before the others are destroyed
};

// The speedup of one repeat.
double gain(const ThreadPairWork& thread_pair, HelperThread& helper) {
  const auto slice = [](const RepeatedWork& work) { return work.models * calls_per_second(work.call, kSliceSeconds); };
  const double alone = slice(thread_pair.alone);
  double second_alone = 0, second = 0;
  helper.begin([&] { second_alone = slice(thread_pair.second_alone); });
  helper.wait();
  const bool both = thread_pair.together.size() == 2;
  if (both) helper.begin([&] { second = slice(thread_pair.together[1]); });
  const double first = slice(thread_pair.together[0]);
  if (both) helper.wait();
  return (first + second) / ((alone + second_alone) / 2);
}

}  // namespace

BenchRow speedup_row(const std::string& bench, const std::string& case_name, const ThreadPairWork& thread_pair,
                     int repeats) {
  LANISTA_CHECK(!thread_pair.together.empty() && thread_pair.together.size() <= 2,
                "the works of two threads are one or two");
  HelperThread helper;
  std::vector<double> gains;
  for (int i = 0; i < std::max(repeats, kMinRepeats); ++i) gains.push_back(gain(thread_pair, helper));
  return summary(bench, case_name, "speedup-2", "x", gains);
}

BenchRow speedup_row(const std::string& bench, const std::string& case_name, LanistaProgram& alone,
                     LanistaProgram& second_alone, const std::vector<LanistaProgram*>& together, int repeats) {
  ThreadPairWork thread_pair{.alone = alone.work(), .second_alone = second_alone.work(), .together = {}};
  for (LanistaProgram* program : together) thread_pair.together.push_back(program->work());
  return speedup_row(bench, case_name, thread_pair, repeats);
}

BenchRow machine_speedup_row(const std::string& bench, int repeats) {
  const auto& kernels = kernels::kernels<float>(kernels::best_isa());
  const RepeatedWork chain{.call = [&kernels] {
    std::array<float, kernels::kProbeChains> out;
    kernels.fma_chain(20'000, out.data());
  }};
  return speedup_row(bench, "machine", {.alone = chain, .second_alone = chain, .together = {chain, chain}}, repeats);
}

}  // namespace lanista::bench
