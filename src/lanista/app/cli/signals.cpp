#include "lanista/app/cli/signals.h"

#include <signal.h>
#include <unistd.h>

#include "lanista/app/cli/app.h"

namespace lanista::cli {
namespace {

// A signal handler can only use static variables.
std::atomic<int> pause_code{0};
std::atomic<bool> has_terminated{false};  // a SIGTERM has arrived

// A second SIGINT ends the process, also after another signal. A second SIGTERM does, too. A SIGTERM after a SIGUSR1
// is the first one: batch systems announce the end of a job with SIGUSR1 and request it with SIGTERM.
void on_signal(int signal) {
  const int code = signal == SIGINT ? kInterrupted : kRequeue;
  int none = 0;
  const bool is_first = pause_code.compare_exchange_strong(none, code);
  const bool ends = signal == SIGINT ? !is_first : signal == SIGTERM && has_terminated.exchange(true);
  if (ends) ::_exit(code);
}

void install_handler(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

PauseSignals::PauseSignals() {
  pause_code = 0;
  has_terminated = false;
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) install_handler(signal, on_signal);
  for (const int signal : {SIGHUP, SIGPIPE}) install_handler(signal, SIG_IGN);
}

PauseSignals::~PauseSignals() {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) install_handler(signal, SIG_DFL);
}

const std::atomic<int>& PauseSignals::requested() const { return pause_code; }

}  // namespace lanista::cli
