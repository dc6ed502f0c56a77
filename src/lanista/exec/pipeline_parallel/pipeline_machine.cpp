#include "lanista/exec/pipeline_parallel/pipeline_machine.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/exec/pipeline_parallel/stages.h"

namespace lanista::runtime {
namespace {

constexpr int kMostLost = 8;  // without a step in between

bool is_loss(const std::exception_ptr& failure) {
  if (!failure) return false;
  try {
    std::rethrow_exception(failure);
  } catch (const nn::PlacesLost&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

PipelineMachine::PipelineMachine(std::unique_ptr<nn::Machine> machine, std::int64_t places, Make make)
    : Machine(machine->facts()),
      machine_(std::move(machine)),
      wanted_(places),
      places_(places),
      make_(std::move(make)) {
  const auto lanes = static_cast<std::size_t>(facts().lanes);
  active_.resize(lanes);
  ends_.resize(lanes);
  hyper_.resize(lanes);
  numbers_.resize(lanes);
  learn_order();
}

void PipelineMachine::attach(std::int64_t lane, nn::LaneState&& state) {
  bool is_empty = places_ < wanted_;
  for (std::int64_t other = 0; is_empty && other < facts().lanes; ++other) is_empty = machine_->step_count(other) < 0;
  if (is_empty) {
    if (auto made = make_(wanted_)) take(*std::move(made), wanted_);
  }
  machine_->attach(lane, std::move(state));
}

void PipelineMachine::run(const nn::Chunk& chunk, std::span<nn::LaneEnd> ends) {
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (chunk.active[i] != 0) ends[i] = {.loss_sum = ends[i].loss_sum, .failure = {}};
  }
  for (std::int64_t number = 0; number < chunk.steps; ++number) step(chunk, number, ends);
}

// One step of all lanes; lanes that lost a place in it do it again.
void PipelineMachine::step(const nn::Chunk& chunk, std::int64_t number, std::span<nn::LaneEnd> ends) {
  const nn::StepWork work = chunk.work(number);
  for (std::size_t i = 0; i < ends.size(); ++i) active_[i] = chunk.active[i] != 0 && ends[i].steps == number ? 1 : 0;
  while (std::ranges::count(active_, 1) > 0) {
    for (std::size_t i = 0; i < ends.size(); ++i) {
      ends_[i] = {.loss_sum = ends[i].loss_sum, .failure = {}};
      hyper_[i] = own(work.hyper[i], numbers_[i]);
    }
    machine_->run({.steps = 1,
                   .active = active_,
                   .work =
                       [&](std::int64_t) {
                         return nn::StepWork{work.batches, hyper_};
                       },
                   .peers = chunk.peers,
                   .watched = chunk.watched},
                  ends_);
    machine_->wait();
    bool is_lost = false;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (active_[i] == 0) continue;
      active_[i] = is_loss(ends_[i].failure) ? 1 : 0;
      is_lost = is_lost || active_[i] != 0;
      nn::LaneEnd& end = ends[i];
      end.loss_sum = ends_[i].loss_sum;
      end.failure = ends_[i].failure;
      if (ends_[i].steps == 0) continue;
      lost_ = 0;
      end.loss = ends_[i].loss;
      end.gradient_square = ends_[i].gradient_square;
      ++end.steps;
      if (ends_[i].bad_step >= 0 && end.bad_step < 0) end.bad_step = number;
    }
    if (is_lost && !replan()) return;
  }
}

double PipelineMachine::gradients(std::int64_t lane, const nn::Batch& batch, std::int64_t total,
                                  const nn::LaneHyper& hyper, nn::LaneGradients& out, bool add) {
  while (true) {
    try {
      const double loss = machine_->gradients(lane, batch, total, own(hyper, numbers_[0]), out, add);
      lost_ = 0;
      return loss;
    } catch (const nn::PlacesLost&) {
      if (!replan()) throw;
    }
  }
}

// False: it has been lost too often.
bool PipelineMachine::replan() {
  if (++lost_ > kMostLost) return false;
  for (std::int64_t places = places_ - 1; places >= 1; --places) {
    auto made = make_(places);
    if (!made) continue;
    take(*std::move(made), places);
    return true;
  }
  return true;
}

void PipelineMachine::take(std::unique_ptr<nn::Machine> machine, std::int64_t places) {
  for (std::int64_t lane = 0; lane < facts().lanes; ++lane) {
    if (machine_->step_count(lane) >= 0) machine->attach(lane, machine_->detach(lane));
  }
  machine_ = std::move(machine);
  places_ = places;
  learn_order();
}

// Stages number what they take from a lane in their own order.
void PipelineMachine::learn_order() {
  order_.clear();
  const auto& known = facts().lane_numbers;
  for (const nn::LaneNumber& each : machine_->facts().lane_numbers) {
    const auto found = std::ranges::find_if(
        known, [&](const nn::LaneNumber& other) { return other.node == each.node && other.attr == each.attr; });
    LANISTA_CHECK(found != known.end(), "another plan of a model takes other numbers of a lane");
    order_.push_back(static_cast<std::size_t>(found - known.begin()));
  }
}

nn::LaneHyper PipelineMachine::own(const nn::LaneHyper& hyper, std::vector<double>& numbers) const {
  if (hyper.numbers.empty()) return hyper;
  numbers.clear();
  for (const std::size_t at : order_) numbers.push_back(hyper.numbers[at]);
  nn::LaneHyper out = hyper;
  out.numbers = numbers;
  return out;
}

}  // namespace lanista::runtime
