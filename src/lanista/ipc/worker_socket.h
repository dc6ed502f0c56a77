#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "lanista/base/result.h"
#include "lanista/ipc/channel.h"

namespace lanista::engine {

/// Where worker processes of one engine knock: a Unix socket that only its user may open. Paths may be as long as the
/// file system allows, though an address of a socket holds 107 bytes. Move-only; the file goes with this value.
class WorkerSocket {
 public:
  /// Makes `path`, in the place of what a killed engine left there. Where its folder cannot hold a socket (a network
  /// disk), it lies in a fresh folder for temporary files, and path() says where. Errors: kIo (why),
  /// kFailedPrecondition (its folder is a link, or its place holds anything but a socket of this user: that stays).
  static Result<WorkerSocket> listen(const std::string& path);
  WorkerSocket(WorkerSocket&& other) noexcept;
  WorkerSocket& operator=(WorkerSocket&&) = delete;
  ~WorkerSocket();

  struct Connection {
    Channel channel;
    pid_t process = 0;  ///< as the system says
  };
  /// Who knocks, if anybody does; processes of other users are shown the door.
  std::optional<Connection> accept();

  const std::string& path() const { return path_; }
  int socket() const { return socket_; }

 private:
  WorkerSocket(int socket, std::string path, std::string folder)
      : socket_(socket), path_(std::move(path)), folder_(std::move(folder)) {}

  int socket_;
  std::string path_;
  std::string folder_;  // of its own; empty: none
};

/// The worker's end. Errors: kNotFound, kFailedPrecondition (another user listens there), kIo (why).
Result<Channel> connect_to_engine(const std::string& path);

}  // namespace lanista::engine
