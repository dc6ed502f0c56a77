#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "lanista/base/result.h"
#include "lanista/ipc/channel.h"

namespace lanista::engine {

/// The Unix socket at which the worker processes of one engine connect. Only its user may open it. The path may be as
/// long as the file system allows, although the address of a socket has at most 107 bytes. Move-only; the destructor
/// removes the file.
class WorkerSocket {
 public:
  /// Creates the socket `path`, and replaces a socket of this user that is there; no engine may use that one. If the
  /// folder is absent or cannot contain a socket (a network disk), it makes a new folder below that for temporary
  /// files; path() returns the path then. Errors, if that fails too: kNotFound (no folder), kIo with the system's
  /// reason; kFailedPrecondition if the folder is a link or no folder, or if `path` is anything but a socket of this
  /// user, which stays.
  static Result<WorkerSocket> listen(const std::string& path);
  WorkerSocket(WorkerSocket&& other) noexcept;
  WorkerSocket& operator=(WorkerSocket&&) = delete;
  ~WorkerSocket();

  /// A connected worker process.
  struct Connection {
    Channel channel;    ///< channel for messages to and from the worker
    pid_t process = 0;  ///< process id, as the system reports it
  };
  /// Returns the next connection, if one is waiting; otherwise no value. It does not block. Connections of other users
  /// are closed.
  std::optional<Connection> accept();

  /// Path at which workers connect; it may differ from the argument of listen().
  const std::string& path() const { return path_; }
  int socket() const { return socket_; }  ///< listening descriptor, still owned by this object

 private:
  WorkerSocket(int socket, std::string path, std::string folder)
      : socket_(socket), path_(std::move(path)), folder_(std::move(folder)) {}

  int socket_;
  std::string path_;
  std::string folder_;  // the temporary folder that was made for the socket, or empty
};

/// Connects a worker to the engine at the socket `path`. Errors: kNotFound if there is no file at `path`;
/// kFailedPrecondition if another user listens there; kIo with the system's reason.
Result<Channel> connect_to_engine(const std::string& path);

}  // namespace lanista::engine
