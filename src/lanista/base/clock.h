#pragma once

#include <cstdint>

namespace lanista {

/// Where seconds come from; only the engine, the executor and the terminal ask.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Seconds since some moment, for durations: goes on evenly, whatever is done to the machine's date, and stands still
  /// while the machine sleeps.
  virtual double now() const = 0;
  virtual double unix_time() const = 0;  ///< seconds since the Unix epoch, for labels: may jump
};

/// The machine's clock. Thread-safe.
class RealClock final : public Clock {
 public:
  double now() const override;
  double unix_time() const override;
};

/// A clock that stands still until told; for tests and simulation.
class VirtualClock final : public Clock {
 public:
  double now() const override { return now_; }
  double unix_time() const override { return now_ + date_shift_; }
  void advance(double seconds) { now_ += seconds; }
  void shift_date(double seconds) { date_shift_ += seconds; }  ///< somebody sets the date

 private:
  double now_ = 0, date_shift_ = 0;
};

}  // namespace lanista
