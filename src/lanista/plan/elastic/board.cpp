#include "lanista/plan/elastic/board.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "lanista/base/check.h"

namespace lanista::schedule {

Board::Board(const Situation& situation) : situation_(situation), loads_(situation.loads()) {
  for (const Task& task : situation.tasks) places_.push_back(task.place);
  for (std::size_t w = 0; w < loads_.size(); ++w) num_free_ += situation.alive[w] && loads_[w].count == 0 ? 1 : 0;
}

void Board::count(std::size_t task, int sign) {
  const Place& place = places_[task];
  const Prediction& trial = situation_.tasks[task].expected;
  for (const std::int32_t worker : place.workers) {
    Load& load = loads_[static_cast<std::size_t>(worker)];
    const bool was_free = load.count == 0;
    load.count += sign;
    load.busy += sign * trial.busy;
    load.memory += sign * trial.memory;
    load.parts += sign / static_cast<double>(place.parts);
    if (load.count == 0) load = {};
    load.whole = load.count > 0 && place.workers.size() > 1;
    if (was_free) --num_free_;
    if (load.count == 0) ++num_free_;
  }
}

void Board::lift(std::size_t task) {
  count(task, -1);
  places_[task] = {};
}

void Board::put_whole(std::size_t task, std::int64_t how_many, const std::vector<std::int32_t>& keep) {
  LANISTA_CHECK(places_[task].waits() && how_many <= num_free_, "no such workers are free");
  std::vector<std::int32_t> chosen;
  const auto take = [&](std::int32_t worker) {
    if (static_cast<std::int64_t>(chosen.size()) == how_many || !is_alive(worker) || load(worker).count > 0) return;
    if (std::ranges::find(chosen, worker) == chosen.end()) chosen.push_back(worker);
  };
  for (const std::int32_t worker : keep) take(worker);
  for (std::int32_t worker = 0; worker < num_workers(); ++worker) take(worker);
  std::ranges::sort(chosen);
  places_[task] = {std::move(chosen), 1};
  count(task, 1);
}

void Board::resize(std::size_t task, std::int64_t how_many) {
  std::vector<std::int32_t> had = places_[task].workers;
  lift(task);
  put_whole(task, how_many, had);
}

void Board::put_part(std::size_t task, std::int32_t worker, std::int64_t parts) {
  LANISTA_CHECK(places_[task].waits(), "it has a place");
  places_[task] = {{worker}, parts};
  count(task, 1);
}

bool Board::has_room(std::size_t task, std::int32_t worker, std::int64_t parts) const {
  const Load& there = load(worker);
  return is_alive(worker) && !there.whole && there.parts + 1 / static_cast<double>(parts) <= 1 + 1e-9 &&
         there.memory + situation_.tasks[task].expected.memory <= situation_.cluster.usable_memory();
}

bool Board::may_join(std::size_t task, std::int32_t worker) const {
  const Load& there = load(worker);
  return is_alive(worker) && !there.whole && there.count < situation_.cluster.shares &&
         there.memory + situation_.tasks[task].expected.memory <= situation_.cluster.usable_memory();
}

void Board::join(std::size_t task, std::int32_t worker) {
  LANISTA_CHECK(places_[task].waits(), "it has a place");
  places_[task] = {{worker}, 1};  // deal_parts says how much of it
  count(task, 1);
}

void Board::deal_parts() {
  for (Place& place : places_) {
    if (place.workers.size() != 1) continue;
    place.parts =
        static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(load(place.workers.front()).count)));
  }
}

Decision Board::decision(const Aim& aim) && { return {std::move(places_), aim}; }

std::vector<std::size_t> longest_first(const Situation& situation) {
  std::vector<double> seconds;
  for (const Task& task : situation.tasks) seconds.push_back(remaining(task, 1));
  std::vector<std::size_t> order(seconds.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return seconds[a] > seconds[b]; });
  return order;
}

}  // namespace lanista::schedule
