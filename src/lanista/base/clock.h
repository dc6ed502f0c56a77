#pragma once

#include <cstdint>

namespace lanista {

/// Where wall-clock seconds come from; only the engine, the executor and the terminal ask.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual double now() const = 0;  ///< seconds since the Unix epoch
};

/// The machine's clock. Thread-safe.
class RealClock final : public Clock {
 public:
  double now() const override;
};

/// A clock that stands still until told; for tests and simulation.
class VirtualClock final : public Clock {
 public:
  double now() const override { return now_; }
  void advance(double seconds) { now_ += seconds; }

 private:
  double now_ = 0;
};

}  // namespace lanista
