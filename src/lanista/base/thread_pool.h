#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace lanista {

/// A fixed set of threads that runs index ranges; placement is deterministic (index i on thread i % size).
/// Exceptions: the one of the lowest index is rethrown to the caller after all indices have run.
class ThreadPool {
 public:
  explicit ThreadPool(std::size_t threads);  ///< 0 or 1: runs on the caller
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::size_t size() const;
  /// Calls fn(0) … fn(count-1) and returns when all are done. Not re-entrant.
  void for_each_index(std::size_t count, const std::function<void(std::size_t)>& fn);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lanista
