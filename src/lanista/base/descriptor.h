#pragma once

#include <unistd.h>

#include <utility>

namespace lanista {

/// Owns a file descriptor, or none (-1). The destructor closes it. Move-only.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  /// Returns the descriptor without closing it; this object owns none then.
  int release() { return std::exchange(fd_, -1); }
  /// Closes the descriptor and returns the result of the system call (-1: see errno). Some file systems report a failed
  /// write only here. It does not repeat after EINTR: on Linux the descriptor is closed even then.
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_ = -1;
};

}  // namespace lanista
