#include "lanista/ipc/worker_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "lanista/base/descriptor.h"

namespace lanista::engine {
namespace {

constexpr int kListenBacklog = 64;

Error refused_by_system(const std::string& what, const std::string& path) {
  const Code code = errno == ENOENT ? Code::kNotFound : Code::kIo;
  return {code, what + ": " + std::strerror(errno), path};
}

struct Split {
  std::string folder, name;
};
Split split(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

/// The address of a socket with a path of any length. The folder is opened, which must be no link, and stays open with
/// this object. The address is the socket's name relative to it.
class Address {
 public:
  explicit Address(const std::string& path)
      : name_(split(path).name),
        folder_(::open(split(path).folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {
    const std::string shorter = "/proc/self/fd/" + std::to_string(folder_.get()) + "/" + name_;
    address_.sun_family = AF_UNIX;
    fits_ = folder_.valid() && shorter.size() < sizeof(address_.sun_path);
    if (fits_) std::memcpy(address_.sun_path, shorter.c_str(), shorter.size() + 1);
    if (folder_.valid() && !fits_) errno = ENAMETOOLONG;
  }
  bool ok() const { return fits_; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  static constexpr socklen_t size() { return sizeof(sockaddr_un); }

  /// Removes a socket of this user. Error: kFailedPrecondition (the file is something else, or of another user).
  Result<void> clear(const std::string& path) const {
    struct stat facts {};
    if (::fstatat(folder_.get(), name_.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) return {};
    if (S_ISSOCK(facts.st_mode) && facts.st_uid == ::geteuid()) {
      ::unlinkat(folder_.get(), name_.c_str(), 0);
      return {};
    }
    return Error{Code::kFailedPrecondition,
                 "the path of the workers' socket has " +
                     std::string(S_ISSOCK(facts.st_mode) ? "a socket of user " + std::to_string(facts.st_uid)
                                                         : "a file that is not a socket") +
                     "; remove it",
                 path};
  }
  /// Only the user may open the socket, whatever the umask is. The file is reached without following a link.
  bool close_to_others() const {
    const Descriptor file(::openat(folder_.get(), name_.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat facts {};
    if (!file.valid() || ::fstat(file.get(), &facts) != 0) return false;
    if (!S_ISSOCK(facts.st_mode) || facts.st_uid != ::geteuid()) return false;
    return ::chmod(("/proc/self/fd/" + std::to_string(file.get())).c_str(), 0600) == 0;
  }

 private:
  std::string name_;
  Descriptor folder_;
  sockaddr_un address_{};
  bool fits_ = false;
};

Result<int> listen_at(const std::string& path) {
  const Address address(path);
  if (!address.ok()) {
    if (errno != ENOTDIR && errno != ELOOP) return refused_by_system("cannot make a socket", path);
    return Error{Code::kFailedPrecondition, "the folder of the workers' socket is a link or not a folder; remove it",
                 split(path).folder};
  }
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return refused_by_system("the system gives no socket", path);
  LANISTA_TRY(address.clear(path));
  ::fchmod(socket.get(), 0600);  // before other users can open the file
  if (::bind(socket.get(), address.get(), Address::size()) != 0) {
    return refused_by_system("cannot make a socket", path);
  }
  const bool ready = address.close_to_others() && ::listen(socket.get(), kListenBacklog) == 0;
  if (ready) return socket.release();
  const Error error = refused_by_system("cannot listen at a socket", path);
  static_cast<void>(address.clear(path));
  return error;
}

bool is_of_this_user(int socket, ucred& peer) {
  socklen_t size = sizeof(peer);
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

}  // namespace

Result<WorkerSocket> WorkerSocket::listen(const std::string& path) {
  auto socket = listen_at(path);
  if (socket) return WorkerSocket(*socket, path, "");
  if (socket.error().code == Code::kFailedPrecondition) return std::move(socket).error();
  const auto temporary = std::filesystem::temp_directory_path() / "lanista-XXXXXX";
  std::string folder = temporary.string();
  if (::mkdtemp(folder.data()) == nullptr) return std::move(socket).error();
  const std::string other = folder + "/workers.sock";
  const auto elsewhere = listen_at(other);
  if (elsewhere) return WorkerSocket(*elsewhere, other, folder);
  ::rmdir(folder.c_str());
  return std::move(socket).error();
}

WorkerSocket::WorkerSocket(WorkerSocket&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), path_(std::move(other.path_)), folder_(std::move(other.folder_)) {}

WorkerSocket::~WorkerSocket() {
  if (socket_ < 0) return;
  ::close(socket_);
  const Address address(path_);
  if (address.ok()) static_cast<void>(address.clear(path_));
  if (!folder_.empty()) ::rmdir(folder_.c_str());
}

std::optional<WorkerSocket::Connection> WorkerSocket::accept() {
  while (true) {
    const int client = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return std::nullopt;
    Channel channel(client);
    ucred peer{};
    if (is_of_this_user(client, peer)) return Connection{std::move(channel), peer.pid};
  }
}

Result<Channel> connect_to_engine(const std::string& path) {
  const Address address(path);
  if (!address.ok()) return refused_by_system("no engine listens here", path);
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return refused_by_system("the system gives no socket", path);
  if (::connect(socket.get(), address.get(), Address::size()) != 0) {
    return refused_by_system("no engine listens here", path);
  }
  ucred peer{};
  if (!is_of_this_user(socket.get(), peer)) {
    return Error{Code::kFailedPrecondition,
                 "user " + std::to_string(peer.uid) + " listens here; it must be user " + std::to_string(::geteuid()),
                 path};
  }
  return Channel(socket.release());
}

}  // namespace lanista::engine
