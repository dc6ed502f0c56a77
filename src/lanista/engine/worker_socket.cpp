#include "lanista/engine/worker_socket.h"

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

constexpr int kWaitingGuests = 64;

Error refused_by_system(const std::string& what, const std::string& path) {
  const Code code = errno == ENOENT ? Code::kNotFound : Code::kIo;
  return {code, what + ": " + std::strerror(errno), path};
}

/// The path of a socket, of any length, as an address: the folder is opened, which must be no link, and stays open with
/// this value; the socket's name is relative to it.
class Address {
 public:
  explicit Address(const std::string& path)
      : name_(path.substr(path.rfind('/') + 1)),
        folder_(::open(folder_of(path).c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {
    const std::string way = "/proc/self/fd/" + std::to_string(folder_.get()) + "/" + name_;
    address_.sun_family = AF_UNIX;
    fits_ = folder_.valid() && way.size() < sizeof(address_.sun_path);
    if (fits_) std::memcpy(address_.sun_path, way.c_str(), way.size() + 1);
    if (folder_.valid() && !fits_) errno = ENAMETOOLONG;
  }
  bool ok() const { return fits_; }
  /// Removes a socket of this name; anything else stays.
  void remove() const {
    struct stat facts {};
    const bool known = ::fstatat(folder_.get(), name_.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0;
    if (known && S_ISSOCK(facts.st_mode)) ::unlinkat(folder_.get(), name_.c_str(), 0);
  }
  /// Makes it its owner's alone.
  bool close_to_others() const { return ::fchmodat(folder_.get(), name_.c_str(), 0600, AT_SYMLINK_NOFOLLOW) == 0; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  static constexpr socklen_t size() { return sizeof(sockaddr_un); }

 private:
  static std::string folder_of(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  }

  std::string name_;
  Descriptor folder_;
  sockaddr_un address_{};
  bool fits_ = false;
};

Result<int> listen_at(const std::string& path) {
  const Address address(path);
  if (!address.ok()) return refused_by_system("cannot make a socket", path);
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return refused_by_system("the system gives no socket", path);
  address.remove();
  ::fchmod(socket.get(), 0600);  // before there is a file that others could open
  if (::bind(socket.get(), address.get(), Address::size()) != 0) return refused_by_system("cannot make a socket", path);
  const bool ready = address.close_to_others() && ::listen(socket.get(), kWaitingGuests) == 0;
  if (ready) return socket.release();
  const Error error = refused_by_system("cannot listen at a socket", path);
  address.remove();
  return error;
}

}  // namespace

Result<WorkerSocket> WorkerSocket::listen(const std::string& path) {
  auto socket = listen_at(path);
  if (socket) return WorkerSocket(*socket, path, "");
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
  Address(path_).remove();
  if (!folder_.empty()) ::rmdir(folder_.c_str());
}

std::optional<WorkerSocket::Guest> WorkerSocket::accept() {
  while (true) {
    const int guest = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (guest < 0) return std::nullopt;
    Channel channel(guest);
    ucred who{};
    socklen_t size = sizeof(who);
    const bool known = ::getsockopt(guest, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0;
    if (known && who.uid == ::geteuid()) return Guest{std::move(channel), who.pid};
  }
}

Result<Channel> connect_to_engine(const std::string& path) {
  const Address address(path);
  if (!address.ok()) return refused_by_system("no engine listens here", path);
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return refused_by_system("the system gives no socket", path);
  if (::connect(socket.get(), address.get(), Address::size()) != 0) return refused_by_system("no engine listens here", path);
  return Channel(socket.release());
}

}  // namespace lanista::engine
