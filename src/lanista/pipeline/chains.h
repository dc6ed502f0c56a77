#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "lanista/pipeline/baselines.h"
#include "lanista/pipeline/simulate.h"

namespace lanista::pipeline {

template <class Make>
Result<Baseline> best_chain(const Problem& problem, std::int64_t micro_batch, std::string_view name, Make make) {
  LANISTA_TRY(check(problem));
  if (problem.devices.classes.size() != 1) {
    return Error{Code::kUnimplemented, std::string(name) + " knows one class of devices", ""};
  }
  Baseline best;
  best.seconds = 1e300;
  for (std::int64_t b = 1; b <= problem.model.batch && problem.model.batch % b == 0; b *= 2) {
    if (micro_batch > 0 && b != micro_batch) continue;
    const std::vector<ChainPart> parts = make(b);
    if (parts.empty()) continue;
    LANISTA_ASSIGN(Plan plan, chain_plan(parts, b, problem));
    if (!check(plan, problem)) continue;
    const double seconds = kfkb_seconds(plan, Timing(plan, problem));
    if (seconds < best.seconds) best.seconds = seconds, best.plan = std::move(plan);
  }
  if (best.seconds >= 1e300) {
    return Error{Code::kResourceExhausted, std::string(name) + " finds no stages that fit", ""};
  }
  return best;
}

}  // namespace lanista::pipeline
