#pragma once

#include <cstdint>
#include <memory>

namespace lanista::program {

/// A fixed number of threads that run numbered tasks: the caller and `threads - 1` helpers. Helpers have flush-to-zero
/// set; the caller sets it for itself.
///
/// Each thread has a fixed share of the task numbers, and then helps the others, so a task must not depend on the
/// thread that runs it. Idle helpers spin for some tens of microseconds and then sleep. A helper without a core delays
/// no task. After construction nothing is allocated. One caller at a time.
class ThreadPool {
 public:
  /// Starts `threads` - 1 helpers; `threads` is at least 1. Throws std::system_error.
  explicit ThreadPool(int threads);
  ThreadPool(ThreadPool&&) noexcept;
  ThreadPool& operator=(ThreadPool&&) noexcept;
  ~ThreadPool();

  /// Number of threads, the caller included.
  int size() const { return threads_; }

  /// Calls `work(thread, task)` once for every task in [0, num_tasks), with `thread` in [0, size()), 0 for the caller.
  /// Returns when all tasks have ended. An exception of a task is rethrown (one of them, if several throw). Tasks that
  /// had not started then may be skipped, but other threads may still run some. At most 2^24 - 1 tasks.
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
  std::unique_ptr<Helpers> helpers_;  // null for one thread
};

}  // namespace lanista::program
