#include "lanista/base/thread_pool.h"

#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "lanista/base/check.h"

namespace lanista {
namespace {

/// The exception of the lowest index that threw one.
struct FirstError {
  std::size_t index = std::numeric_limits<std::size_t>::max();
  std::exception_ptr error;

  void keep(std::size_t at, std::exception_ptr e) {
    if (e && at < index) {
      index = at;
      error = std::move(e);
    }
  }
};

FirstError run_strided(std::size_t first, std::size_t stride, std::size_t count,
                       const std::function<void(std::size_t)>& fn) {
  FirstError found;
  for (std::size_t i = first; i < count; i += stride) {
    try {
      fn(i);
    } catch (...) {
      found.keep(i, std::current_exception());
    }
  }
  return found;
}

}  // namespace

struct ThreadPool::State {
  std::mutex mutex;
  std::condition_variable work;
  std::condition_variable done;
  const std::function<void(std::size_t)>* fn = nullptr;  ///< not null while a call runs
  std::size_t count = 0;
  std::size_t round = 0;  ///< number of the current call, so that no thread runs one twice
  std::size_t busy = 0;
  bool stop = false;
  FirstError error;
  std::vector<std::thread> threads;

  void serve(std::size_t self, std::size_t size) {
    std::size_t seen = 0;
    std::unique_lock lock(mutex);
    while (true) {
      work.wait(lock, [&] { return stop || round != seen; });
      if (stop) return;
      seen = round;
      const auto* job = fn;
      const std::size_t n = count;
      lock.unlock();
      FirstError found = run_strided(self, size, n, *job);
      lock.lock();
      error.keep(found.index, std::move(found.error));
      if (--busy == 0) done.notify_one();
    }
  }

  void join() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    work.notify_all();
    for (auto& t : threads) t.join();
  }
};

ThreadPool::ThreadPool(std::size_t threads) : state_(std::make_unique<State>()) {
  if (threads < 2) return;
  state_->threads.reserve(threads);
  try {
    for (std::size_t i = 0; i < threads; ++i) {
      state_->threads.emplace_back([state = state_.get(), i, threads] { state->serve(i, threads); });
    }
  } catch (...) {  // the system refuses a thread: those that run already must not outlive their state
    state_->join();
    throw;
  }
}

ThreadPool::~ThreadPool() { state_->join(); }

std::size_t ThreadPool::size() const { return state_->threads.empty() ? 1 : state_->threads.size(); }

void ThreadPool::for_each_index(std::size_t count, const std::function<void(std::size_t)>& fn) {
  FirstError found;
  if (state_->threads.empty()) {
    found = run_strided(0, 1, count, fn);
  } else {
    std::unique_lock lock(state_->mutex);
    LANISTA_CHECK(state_->fn == nullptr, "for_each_index is not re-entrant");
    state_->fn = &fn;
    state_->count = count;
    state_->busy = state_->threads.size();
    state_->round += 1;
    state_->work.notify_all();
    state_->done.wait(lock, [&] { return state_->busy == 0; });
    state_->fn = nullptr;
    found = std::exchange(state_->error, FirstError{});
  }
  if (found.error) std::rethrow_exception(found.error);
}

}  // namespace lanista
