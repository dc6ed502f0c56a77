#pragma once

#include <cstdint>
#include <memory>

namespace lanista::nn {

/// Threads that share out numbered pieces of work: the caller and `threads - 1` helpers, each with flush-to-zero set.
/// A thread has pieces of its own and helps the others when they are done; the work must not depend on who does it.
/// Helpers watch for work for some tens of microseconds, then sleep; one that gets no core holds nobody up. After
/// construction nothing is allocated. One caller at a time.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ThreadPool(ThreadPool&&) noexcept;
  ThreadPool& operator=(ThreadPool&&) noexcept;
  ~ThreadPool();

  int size() const { return threads_; }

  /// Calls `work(thread, task)` once for every piece in [0, pieces), `thread` in [0, size()); returns when all have
  /// ended. What a call throws reaches the caller (one of it, if several throw); the pieces not yet begun are left.
  /// Fewer than 2^24 pieces.
  template <class Work>
  void parallel_for(std::int64_t num_tasks, const Work& work) {
    const TaskFunction call = [](const void* context, int thread, std::int64_t task) {
      (*static_cast<const Work*>(context))(thread, task);
    };
    run(num_tasks, call, &work);
  }

 private:
  using TaskFunction = void (*)(const void* context, int thread, std::int64_t task);
  struct Helpers;

  void run(std::int64_t num_tasks, TaskFunction call, const void* context);

  int threads_;
  std::unique_ptr<Helpers> helpers_;  // none for one thread
};

}  // namespace lanista::nn
