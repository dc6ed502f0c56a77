#include "lanista/base/clock.h"

#include <chrono>

namespace lanista {

double RealClock::now() const {
  // On Linux the steady clock does not count the time while the machine sleeps.
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double RealClock::unix_time() const {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace lanista
