#include "lanista/base/clock.h"

#include <chrono>

namespace lanista {

double RealClock::now() const {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace lanista
