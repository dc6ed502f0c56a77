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

namespace lanista::engine {
namespace {

constexpr int kWaitingGuests = 64;

Error refused_by_system(const std::string& what, const std::string& path) {
  const Code code = errno == ENOENT ? Code::kNotFound : Code::kIo;
  return {code, what + ": " + std::strerror(errno), path};
}

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int operator*() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

/// A path of whatever length as the address of a socket: its folder by a descriptor, which stays open with this value.
class Address {
 public:
  explicit Address(const std::string& path)
      : folder_(::open(folder_of(path).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    const std::string name = path.substr(path.rfind('/') + 1);
    const std::string way = "/proc/self/fd/" + std::to_string(*folder_) + "/" + name;
    const std::string& shorter = path.size() < sizeof(address_.sun_path) ? path : way;
    address_.sun_family = AF_UNIX;
    fits_ = *folder_ >= 0 && shorter.size() < sizeof(address_.sun_path);
    if (fits_) std::memcpy(address_.sun_path, shorter.c_str(), shorter.size() + 1);
    if (*folder_ >= 0 && !fits_) errno = ENAMETOOLONG;
  }
  bool ok() const { return fits_; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  static constexpr socklen_t size() { return sizeof(sockaddr_un); }

 private:
  static std::string folder_of(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  }

  Descriptor folder_;
  sockaddr_un address_{};
  bool fits_ = false;
};

Result<int> listen_at(const std::string& path) {
  const Address address(path);
  if (!address.ok()) return refused_by_system("cannot make a socket", path);
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (*socket < 0) return refused_by_system("the system gives no socket", path);
  ::unlink(path.c_str());
  ::fchmod(*socket, 0600);  // before there is a file that others could open
  if (::bind(*socket, address.get(), Address::size()) != 0) return refused_by_system("cannot make a socket", path);
  const bool ready = ::chmod(path.c_str(), 0600) == 0 && ::listen(*socket, kWaitingGuests) == 0;
  if (ready) return socket.release();
  const Error error = refused_by_system("cannot listen at a socket", path);
  ::unlink(path.c_str());
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
  ::unlink(path_.c_str());
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
  if (*socket < 0) return refused_by_system("the system gives no socket", path);
  if (::connect(*socket, address.get(), Address::size()) != 0) return refused_by_system("no engine listens here", path);
  return Channel(socket.release());
}

}  // namespace lanista::engine
