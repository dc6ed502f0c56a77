#include "bench/lane_turns.h"

#include <algorithm>

#include "lanista/model/autodiff/lanes_that_pay.h"

namespace lanista::bench {

Result<LaneTurns> LaneTurns::make(const Case& c, std::int64_t first, std::int64_t count,
                                  std::shared_ptr<const CaseBatch> batch) {
  LANISTA_ASSIGN(auto program, OurProgram::make(c, {.first = first, .lanes = count}, std::move(batch)));
  std::int64_t together = std::min(count, step::lanes_that_pay(program.state_bytes()));
  while (count % together != 0) --together;
  return LaneTurns(std::move(program), together);
}

Result<std::vector<LaneTurns>> LaneTurns::share(const Case& c, std::int64_t models, std::int64_t workers,
                                                const std::shared_ptr<const CaseBatch>& batch) {
  std::vector<LaneTurns> out;
  workers = std::min(workers, models);
  for (std::int64_t i = 0; i < workers; ++i) {
    const std::int64_t first = (models * i + workers - 1) / workers, end = (models * (i + 1) + workers - 1) / workers;
    LANISTA_ASSIGN(auto turns, make(c, first, end - first, batch));
    out.push_back(std::move(turns));
  }
  return out;
}

std::vector<Work> works_of(std::vector<LaneTurns>& workers) {
  std::vector<Work> works;
  for (LaneTurns& turns : workers) works.push_back(turns.work());
  return works;
}

Work LaneTurns::work() {
  return {.call = [this] { burst(); }, .models = static_cast<double>(kBurst * together_)};
}

void LaneTurns::burst() {
  for (int i = 0; i < kBurst; ++i) program_.step(turn_ * together_, together_);
  turn_ = (turn_ + 1) % (program_.lanes() / together_);
}

}  // namespace lanista::bench
