#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "lanista/base/result.h"
#include "lanista/engine/core/executor.h"

namespace lanista::engine::testing {

/// An executor that receives every request and sends every report as text.
class WireExecutor final : public Executor {
 public:
  explicit WireExecutor(std::unique_ptr<Executor> inner) : inner_(std::move(inner)) {}
  Result<void> start(const Job& job) override;
  void command(const Command& command) override;
  std::optional<Report> next(double seconds) override;
  Result<std::map<std::string, double>> measure(std::span<const EvaluatedMember> members, data::Part part) override;

 private:
  std::unique_ptr<Executor> inner_;
};

}  // namespace lanista::engine::testing
