#pragma once

namespace lanista::kernels {

/// While it lives, the calling thread works with flush-to-zero and denormals-are-zero, as every worker does; then again
/// as before. For a thread that is not a worker's: one of its own might be refused by the system.
class FlushToZero {
 public:
  FlushToZero();
  FlushToZero(const FlushToZero&) = delete;
  FlushToZero& operator=(const FlushToZero&) = delete;
  ~FlushToZero();

 private:
  unsigned before_;
};

}  // namespace lanista::kernels
