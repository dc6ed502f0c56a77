#include "lanista/plan/elastic/first_come.h"

#include <string_view>
#include <utility>

#include "lanista/plan/elastic/decision_builder.h"

namespace lanista::plan {
namespace {

class FirstCome : public Policy {
 public:
  std::string_view name() const override { return "fifo"; }

  Decision decide(const SchedulerState& state) const override {
    DecisionBuilder builder(state);
    for (std::size_t i = 0; i < state.tasks.size(); ++i) {
      if (builder.num_free() > 0 && builder.placement(i).waits()) builder.assign_workers(i, 1);
    }
    return std::move(builder).decision();
  }
};

}  // namespace

std::unique_ptr<Policy> first_come() { return std::make_unique<FirstCome>(); }

}  // namespace lanista::plan
