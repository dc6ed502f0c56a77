#include "lanista/runtime/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace lanista::runtime {
namespace {

Error failed(Code code, const std::string& what, int error, const std::string& where = "") {
  return {code, what + ": " + std::strerror(error), where};
}

}  // namespace

Result<SharedMemory> SharedMemory::map(int file, std::int64_t bytes) {
  void* const at = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) {
    const int error = errno;
    ::close(file);
    return failed(Code::kResourceExhausted, "shared memory of " + std::to_string(bytes) + " bytes cannot be mapped",
                  error);
  }
  return SharedMemory(file, static_cast<std::byte*>(at), bytes);
}

Result<SharedMemory> SharedMemory::make(std::int64_t bytes) {
  const int file = ::memfd_create("lanista", MFD_CLOEXEC);
  if (file < 0) return failed(Code::kResourceExhausted, "the system gives no shared memory", errno);
  // Really there: a write to a page that the system cannot give would end the process.
  if (const int error = ::posix_fallocate(file, 0, bytes); error != 0) {
    ::close(file);
    return failed(Code::kResourceExhausted, "no shared memory of " + std::to_string(bytes) + " bytes", error);
  }
  return map(file, bytes);
}

Result<SharedMemory> SharedMemory::of_one(std::int64_t bytes) {
  void* const at = bytes <= 0 ? MAP_FAILED
                              : ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    return failed(Code::kResourceExhausted, "no memory of " + std::to_string(bytes) + " bytes", errno);
  }
  return SharedMemory(-1, static_cast<std::byte*>(at), bytes);
}

Result<SharedMemory> SharedMemory::open(const std::string& path, std::int64_t bytes) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return failed(Code::kNotFound, "shared memory cannot be opened", errno, path);
  struct stat facts {};
  if (::fstat(file, &facts) != 0 || facts.st_size != bytes || bytes <= 0) {
    ::close(file);
    return Error{Code::kDataLoss, "shared memory is not of " + std::to_string(bytes) + " bytes", path};
  }
  return map(file, bytes);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, static_cast<std::size_t>(bytes_));
  if (file_ >= 0) ::close(file_);
}

std::string SharedMemory::path() const {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file_);
}

}  // namespace lanista::runtime
