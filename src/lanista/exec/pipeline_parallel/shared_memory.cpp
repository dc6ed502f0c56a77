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

Result<SharedMemory> SharedMemory::map(Descriptor file, std::int64_t bytes) {
  MappedBytes data = map_bytes(file.get(), bytes);
  if (data == nullptr) {
    return failed(Code::kResourceExhausted, "shared memory of " + std::to_string(bytes) + " bytes cannot be mapped",
                  errno);
  }
  return SharedMemory(std::move(file), std::move(data));
}

Result<SharedMemory> SharedMemory::create(std::int64_t bytes) {
  Descriptor file(::memfd_create("lanista", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.valid()) return failed(Code::kResourceExhausted, "the system gives no shared memory", errno);
  // Allocates the pages: a write to a page that the system cannot give would end the process.
  if (const int error = ::posix_fallocate(file.get(), 0, bytes); error != 0)
    return failed(Code::kResourceExhausted, "no shared memory of " + std::to_string(bytes) + " bytes", error);
  if (::fcntl(file.get(), F_ADD_SEALS, kSizeSeals | F_SEAL_SEAL) != 0)
    return failed(Code::kResourceExhausted, "the size of shared memory cannot be sealed", errno);
  return map(std::move(file), bytes);
}

Result<SharedMemory> SharedMemory::create_private(std::int64_t bytes) {
  MappedBytes data = map_bytes(-1, bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  if (data == nullptr)
    return failed(Code::kResourceExhausted, "no memory of " + std::to_string(bytes) + " bytes", errno);
  return SharedMemory(Descriptor(), std::move(data));
}

Result<SharedMemory> SharedMemory::open(const std::string& path, std::int64_t bytes, pid_t owner_process) {
  if (!is_descriptor_of(path, owner_process)) {
    return Error{Code::kInvalidArgument,
                 "shared memory has the path '" + path + "'; it must be " + descriptors_of(owner_process) + "NUMBER",
                 ""};
  }
  Descriptor file(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return failed(Code::kNotFound, "shared memory cannot be opened", errno, path);
  LANISTA_TRY(check_file(file.get(), path, bytes));
  return map(std::move(file), bytes);
}

std::string SharedMemory::path() const { return descriptors_of(::getpid()) + std::to_string(file_.get()); }

}  // namespace lanista::runtime
