#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include "lanista/exec/program/backend.h"

namespace lanista::program::testing {

/// Calls that the executables of a counting backend received.
struct Counts {
  std::map<std::uint64_t, std::int64_t> attached, detached;  ///< number of calls, by the seed of the state
  std::int64_t clones = 0;
  std::int64_t concurrent_calls = 0;  ///< calls that began during another call of the same executable
};

/// The CPU backend as a device that moves states only on request, and counts the moves. Thread-safe.
class CountingBackend final : public Backend {
 public:
  explicit CountingBackend(const Backend& inner = cpu_backend());
  ~CountingBackend() override;

  std::string_view name() const override { return "counting"; }
  std::string_view numeric_class() const override { return inner_.numeric_class(); }
  Result<std::unique_ptr<Executable>> compile(const autodiff::TrainingStep* train, const autodiff::InferenceStep& infer,
                                              const ProgramOptions& options) const override;

  Counts counts() const;
  /// The next attach of any executable throws std::bad_alloc.
  void fail_next_attach();

 private:
  friend class CountingExecutable;
  struct CallLog;

  const Backend& inner_;
  std::shared_ptr<CallLog> call_log_;  // executables may outlive the backend
};

}  // namespace lanista::program::testing
