// Memory that the processes of a pipeline share: which files are refused instead of it.
#include "lanista/exec/pipeline_parallel/shared_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace lanista::runtime {
namespace {

constexpr std::int64_t kBytes = 8192;

std::string path_of(int file) { return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file); }

Code opened(const std::string& path, std::int64_t bytes = kBytes, pid_t maker = ::getpid()) {
  const auto memory = SharedMemory::open(path, bytes, maker);
  return memory ? Code::kInternal : memory.error().code;
}

TEST(SharedMemory, IsSharedByOwnerAndReader) {
  auto made = *SharedMemory::create(kBytes);
  const auto read = SharedMemory::open(made.path(), kBytes, ::getpid());
  ASSERT_TRUE(read.ok()) << read.error().text();
  made.data()[kBytes - 1] = std::byte{42};
  EXPECT_EQ(read->data()[kBytes - 1], std::byte{42});
}

TEST(SharedMemory, HasASealedSize) {
  const auto made = *SharedMemory::create(kBytes);
  const int file = ::open(made.path().c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(file, 0);
  EXPECT_NE(::ftruncate(file, 100), 0);
  EXPECT_NE(::ftruncate(file, 2 * kBytes), 0);
  ::close(file);
  EXPECT_EQ(opened(made.path(), kBytes - 1), Code::kDataLoss);
  EXPECT_EQ(opened(made.path(), 2 * kBytes), Code::kDataLoss);
  EXPECT_EQ(opened(made.path(), 0), Code::kDataLoss);
  EXPECT_EQ(opened(made.path(), -1), Code::kDataLoss);
}

TEST(SharedMemory, RefusesPathsOfAnotherForm) {
  const auto made = *SharedMemory::create(kBytes);
  ASSERT_EQ(opened(made.path()), Code::kInternal);
  const std::string own = "/proc/" + std::to_string(::getpid()) + "/fd/";
  const std::vector<std::string> fault{
      "",          own,         own + "-1",      own + "+3",          own + "03",
      own + "3/",  own + "3 ",  own + "../fd/3", own + "99999999999", "/proc/self/fd/3",
      "/dev/zero", "/dev/shm/x"};
  for (const std::string& path : fault) {
    EXPECT_EQ(opened(path), Code::kInvalidArgument) << path;
  }
  EXPECT_EQ(opened(made.path(), kBytes, ::getppid()), Code::kInvalidArgument);
  EXPECT_EQ(opened(made.path(), kBytes, 0), Code::kInvalidArgument);
  EXPECT_EQ(opened(path_of(9999)), Code::kNotFound);
}

TEST(SharedMemory, RefusesFilesThatAreNotSealedMemory) {
  std::string pattern = "/tmp/lanista_memory_XXXXXX";
  const int file = ::mkstemp(pattern.data());
  ASSERT_EQ(::ftruncate(file, kBytes), 0);
  EXPECT_EQ(opened(path_of(file)), Code::kFailedPrecondition);
  ::close(file);
  ::unlink(pattern.c_str());

  const int zero = ::open("/dev/zero", O_RDWR | O_CLOEXEC);
  EXPECT_EQ(opened(path_of(zero)), Code::kFailedPrecondition);
  ::close(zero);

  const int open_size = ::memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(open_size, kBytes), 0);
  EXPECT_EQ(opened(path_of(open_size)), Code::kFailedPrecondition);
  ASSERT_EQ(::fcntl(open_size, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
  EXPECT_EQ(opened(path_of(open_size)), Code::kInternal);
  if (::geteuid() == 0) {
    ASSERT_EQ(::fchown(open_size, 54321, 54321), 0);
    EXPECT_EQ(opened(path_of(open_size)), Code::kFailedPrecondition);
  }
  ::close(open_size);

  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_NE(opened(path_of(ends[0])), Code::kInternal);  // and it does not wait
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace lanista::runtime
