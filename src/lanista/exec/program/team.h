#pragma once

#include <cstdint>
#include <memory>

namespace lanista::nn {

/// Threads that share out numbered pieces of work: the caller and `threads - 1` helpers, each with flush-to-zero set.
/// A thread has pieces of its own and helps the others when they are done; the work must not depend on who does it.
/// Helpers watch for work for some tens of microseconds, then sleep; one that gets no core holds nobody up. After
/// construction nothing is allocated. One caller at a time.
class Team {
 public:
  explicit Team(int threads);
  Team(Team&&) noexcept;
  Team& operator=(Team&&) noexcept;
  ~Team();

  int size() const { return threads_; }

  /// Calls `work(thread, piece)` once for every piece in [0, pieces), `thread` in [0, size()); returns when all have
  /// ended. What a call throws reaches the caller (one of it, if several throw); the pieces not yet begun are left.
  /// Fewer than 2^24 pieces.
  template <class Work>
  void share(std::int64_t pieces, const Work& work) {
    const Call call = [](const void* context, int thread, std::int64_t piece) {
      (*static_cast<const Work*>(context))(thread, piece);
    };
    run(pieces, call, &work);
  }

 private:
  using Call = void (*)(const void* context, int thread, std::int64_t piece);
  struct Helpers;

  void run(std::int64_t pieces, Call call, const void* context);

  int threads_;
  std::unique_ptr<Helpers> helpers_;  // none for one thread
};

}  // namespace lanista::nn
