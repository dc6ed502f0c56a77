#include "lanista/exec/pipeline_parallel/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "lanista/base/parse_number.h"

namespace lanista::runtime {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

Error failed(Code code, const std::string& what, int error, const std::string& where = "") {
  return {code, what + ": " + std::strerror(error), where};
}

std::string descriptors_of(pid_t process) { return "/proc/" + std::to_string(process) + "/fd/"; }

/// Whether a path names a descriptor of that process, and nothing else.
bool is_descriptor_of(std::string_view path, pid_t process) {
  const std::string folder = descriptors_of(process);
  if (process <= 0 || !path.starts_with(folder)) return false;
  path.remove_prefix(folder.size());
  const auto number = parse_number<int>(path);
  return number && *number >= 0 && std::to_string(*number) == path;
}

Result<void> check_file(int file, const std::string& path, std::int64_t bytes) {
  struct stat facts {};
  if (::fstat(file, &facts) != 0) return failed(Code::kNotFound, "shared memory has no attributes", errno, path);
  const auto refuse = [&](const std::string& what) -> Error { return {Code::kFailedPrecondition, what, path}; };
  if (facts.st_uid != ::geteuid()) {
    return refuse("shared memory belongs to user " + std::to_string(facts.st_uid) + "; it must belong to user " +
                  std::to_string(::geteuid()));
  }
  const int seals = S_ISREG(facts.st_mode) ? ::fcntl(file, F_GET_SEALS) : -1;
  if (seals < 0 || (seals & kSizeSeals) != kSizeSeals)
    return refuse("the memory is not sealed, so it is not that of a pipeline");
  if (bytes > 0 && facts.st_size == bytes) return {};
  return Error{Code::kDataLoss,
               "shared memory has " + std::to_string(facts.st_size) + " bytes; it must have " + std::to_string(bytes),
               path};
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

Result<SharedMemory> SharedMemory::create(std::int64_t bytes) {
  const int file = ::memfd_create("lanista", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return failed(Code::kResourceExhausted, "the system gives no shared memory", errno);
  // Allocates the pages: a write to a page that the system cannot give would end the process.
  if (const int error = ::posix_fallocate(file, 0, bytes); error != 0) {
    ::close(file);
    return failed(Code::kResourceExhausted, "no shared memory of " + std::to_string(bytes) + " bytes", error);
  }
  if (::fcntl(file, F_ADD_SEALS, kSizeSeals | F_SEAL_SEAL) != 0) {
    const int error = errno;
    ::close(file);
    return failed(Code::kResourceExhausted, "the size of shared memory cannot be sealed", error);
  }
  return map(file, bytes);
}

Result<SharedMemory> SharedMemory::create_private(std::int64_t bytes) {
  void* const at = bytes <= 0 ? MAP_FAILED
                              : ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    return failed(Code::kResourceExhausted, "no memory of " + std::to_string(bytes) + " bytes", errno);
  }
  return SharedMemory(-1, static_cast<std::byte*>(at), bytes);
}

Result<SharedMemory> SharedMemory::open(const std::string& path, std::int64_t bytes, pid_t owner_process) {
  if (!is_descriptor_of(path, owner_process)) {
    return Error{Code::kInvalidArgument,
                 "shared memory has the path '" + path + "'; it must be " + descriptors_of(owner_process) + "NUMBER",
                 ""};
  }
  const int file = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return failed(Code::kNotFound, "shared memory cannot be opened", errno, path);
  if (const auto fits = check_file(file, path, bytes); !fits) {
    ::close(file);
    return fits.error();
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

std::string SharedMemory::path() const { return descriptors_of(::getpid()) + std::to_string(file_); }

}  // namespace lanista::runtime
