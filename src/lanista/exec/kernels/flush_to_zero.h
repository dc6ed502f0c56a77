#pragma once

namespace lanista::kernels {

/// Scope in which the calling thread uses flush-to-zero and denormals-are-zero.
///
/// Worker threads set this mode for their lifetime with `set_flush_to_zero`. This class is for a thread that runs
/// kernels but is no worker thread. One object belongs to one thread.
class FlushToZero {
 public:
  /// Sets the mode of the calling thread.
  FlushToZero();
  FlushToZero(const FlushToZero&) = delete;
  FlushToZero& operator=(const FlushToZero&) = delete;
  /// Restores the mode that the thread had before.
  ~FlushToZero();

 private:
  unsigned before_;  // control register of the thread before
};

}  // namespace lanista::kernels
