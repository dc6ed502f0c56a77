#pragma once

#include <cstdint>

namespace lanista {

/// A source of time in seconds. Only the engine, the executors and the terminal output read it.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Seconds since a fixed moment, for durations. It is monotonic: a change of the machine's date does not affect it.
  /// It does not count the time while the machine sleeps.
  virtual double now() const = 0;
  virtual double unix_time() const = 0;  ///< seconds since the Unix epoch, for labels: may jump
};

/// The machine's clock. Thread-safe.
class RealClock final : public Clock {
 public:
  double now() const override;
  double unix_time() const override;
};

/// A clock that moves only by calls; for tests and simulation. Both times begin at 0. Not thread-safe.
class VirtualClock final : public Clock {
 public:
  double now() const override { return now_; }
  double unix_time() const override { return now_ + date_shift_; }
  void advance(double seconds) { now_ += seconds; }            ///< adds to both times
  void shift_date(double seconds) { date_shift_ += seconds; }  ///< adds to unix_time() alone

 private:
  double now_ = 0, date_shift_ = 0;
};

}  // namespace lanista
