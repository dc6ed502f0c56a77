// The workers' socket among existing files, and sockets of other users.
#include "lanista/ipc/worker_socket.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace lanista::engine {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kOtherUserOfSockets = 54321;

class WorkerSocketTest : public ::testing::Test {
 protected:
  WorkerSocketTest() {
    std::string pattern = (fs::temp_directory_path() / "lanista_socket_XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    path = folder + "/workers.sock";
  }
  ~WorkerSocketTest() override { fs::remove_all(folder); }

  std::string refusal() const {
    const auto socket = WorkerSocket::listen(path);
    if (socket) return "it listens at " + socket->path();
    EXPECT_EQ(socket.error().code, Code::kFailedPrecondition) << socket.error().text();
    return socket.error().message;
  }

  std::string folder, path;
};

int socket_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(::bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(::listen(made, 4), 0);
  return made;
}

TEST_F(WorkerSocketTest, ReplacesStaleSocket) {
  ::close(socket_at(path));
  const auto socket = WorkerSocket::listen(path);
  ASSERT_TRUE(socket.ok()) << socket.error().text();
  EXPECT_EQ(socket->path(), path);
  EXPECT_TRUE(connect_to_engine(path).ok());
}

TEST_F(WorkerSocketTest, IsPrivateUnderEveryUmask) {
  for (const mode_t mask : {0000U, 0022U, 0777U}) {
    const mode_t before = ::umask(mask);
    const auto socket = WorkerSocket::listen(path);
    ::umask(before);
    struct stat facts {};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, 0600U);
  }
}

TEST_F(WorkerSocketTest, KeepsOtherFilesAtItsPath) {
  const std::string outside = folder + "/outside";
  std::ofstream(outside) << "mine";
  const std::string wanted = "the path of the workers' socket has a file that is not a socket; remove it";
  std::ofstream(path) << "mine";
  EXPECT_EQ(refusal(), wanted);
  EXPECT_EQ(fs::file_size(path), 4U);
  fs::remove(path);
  fs::create_symlink("outside", path);
  EXPECT_EQ(refusal(), wanted);
  EXPECT_TRUE(fs::is_symlink(path));
  fs::remove(path);
  fs::create_symlink("nothing", path);
  EXPECT_EQ(refusal(), wanted);
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(refusal(), wanted);
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_EQ(refusal(), wanted);
  fs::remove(path);

  fs::create_directory(folder + "/real");
  fs::create_directory_symlink("real", folder + "/control");
  path = folder + "/control/workers.sock";
  EXPECT_EQ(refusal(), "the folder of the workers' socket is a link or not a folder; remove it");
  EXPECT_TRUE(fs::is_empty(folder + "/real"));
  EXPECT_FALSE(fs::exists(folder + "/nothing"));
}

TEST_F(WorkerSocketTest, RefusesSocketOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  std::array<int, 2> ready{}, end{};
  ASSERT_TRUE(::pipe(ready.data()) == 0 && ::pipe(end.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(end[1]);
    if (::setgroups(0, nullptr) != 0 || ::setgid(kOtherUserOfSockets) != 0 || ::setuid(kOtherUserOfSockets) != 0) {
      ::_exit(1);
    }
    socket_at(path);
    char byte = 0;
    static_cast<void>(!::write(ready[1], &byte, 1));
    static_cast<void>(!::read(end[0], &byte, 1));  // until the test ends
    ::_exit(0);
  }
  ::close(end[0]);
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ASSERT_EQ(::chmod(path.c_str(), 0777), 0);
  const auto channel = connect_to_engine(path);
  ASSERT_FALSE(channel.ok());
  EXPECT_EQ(channel.error().message, "user 54321 listens here; it must be user 0");
  EXPECT_EQ(refusal(), "the path of the workers' socket has a socket of user 54321; remove it");
  for (const int each : {ready[0], ready[1], end[1]}) ::close(each);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace lanista::engine
