#include "lanista/plan/elastic/baselines.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "lanista/plan/elastic/board.h"
#include "lanista/plan/elastic/fluid.h"

namespace lanista::schedule {
namespace {

class OnePerWorker : public Policy {
 public:
  explicit OnePerWorker(bool by_length) : by_length_(by_length) {}
  std::string_view name() const override { return by_length_ ? "longest-first" : "fifo"; }

  Decision decide(const Situation& situation) const override {
    Board board(situation);
    std::vector<std::size_t> order(situation.tasks.size());
    std::iota(order.begin(), order.end(), 0);
    if (by_length_) order = longest_first(situation);
    for (const std::size_t i : order) {
      if (board.num_free() > 0 && board.place(i).waits()) board.put_whole(i, 1);
    }
    return std::move(board).decision();
  }

 private:
  bool by_length_;
};

/// The fullest worker with room for a part, so that whole ones stay free; -1: there is none.
std::int32_t tightest(const Board& board, std::size_t task, std::int64_t parts) {
  std::int32_t best = -1;
  for (std::int32_t worker = 0; worker < board.num_workers(); ++worker) {
    if (!board.has_room(task, worker, parts)) continue;
    if (best < 0 || board.load(worker).parts > board.load(best).parts) best = worker;
  }
  return best;
}

/// Starts a task at a width, if that fits. Where several workers are wanted and some are free, it takes these.
void start(Board& board, std::size_t task, const Width& width) {
  if (width.parts == 1) {
    const std::int64_t count = std::min(width.workers, board.num_free());
    if (count > 0) board.put_whole(task, count);
    return;
  }
  const std::int32_t worker = tightest(board, task, width.parts);
  if (worker >= 0) board.put_part(task, worker, width.parts);
}

class PrintedStatic : public Policy {
 public:
  std::string_view name() const override { return "printed-static"; }

  Decision decide(const Situation& situation) const override {
    Board board(situation);
    double idle = 0;
    for (std::int32_t w = 0; w < board.num_workers(); ++w) {
      if (board.is_alive(w) && !board.load(w).whole) idle += 1 - board.load(w).parts;
    }
    std::vector<std::size_t> waiting;
    std::vector<double> seconds;
    for (const std::size_t i : longest_first(situation)) {
      if (!board.place(i).waits()) continue;
      waiting.push_back(i);
      seconds.push_back(remaining(situation.tasks[i], 1));
    }
    const auto widths = static_widths(seconds, static_cast<std::int64_t>(std::floor(idle + 1e-9)), situation.cluster);
    for (std::size_t k = 0; k < waiting.size(); ++k) {
      const std::int64_t most = widest_of(situation.tasks[waiting[k]], situation.cluster);
      start(board, waiting[k], {std::min(widths[k].workers, most), widths[k].parts});
    }
    return std::move(board).decision();
  }
};

class PrintedDynamic : public Policy {
 public:
  std::string_view name() const override { return "printed-dynamic"; }

  Decision decide(const Situation& situation) const override {
    Board board(situation);
    const std::vector<std::size_t> order = longest_first(situation);
    std::vector<Running> trials;
    for (const std::size_t i : order) {
      const Task& task = situation.tasks[i];
      trials.push_back(
          {task.expected, task.left, task.place.waits() ? std::nullopt : std::optional(task.place.width())});
    }
    Cluster there = situation.cluster;
    there.workers = std::max<std::int64_t>(1, situation.num_alive());
    std::vector<Width> widths = dynamic_widths(trials, there);
    for (std::size_t k = 0; k < order.size(); ++k) {
      widths[k].workers = std::min(widths[k].workers, widest_of(situation.tasks[order[k]], there));
    }
    // What gets narrower makes room for what gets wider, and both for what starts.
    for (std::size_t k = 0; k < order.size(); ++k) {
      if (trials[k].width && widths[k].value() < trials[k].width->value()) narrow(board, order[k], widths[k]);
    }
    for (std::size_t k = 0; k < order.size(); ++k) {
      if (trials[k].width && widths[k].value() > trials[k].width->value()) widen(board, order[k], widths[k]);
    }
    for (std::size_t k = 0; k < order.size(); ++k) {
      if (board.place(order[k]).waits()) start(board, order[k], widths[k]);
    }
    return std::move(board).decision();
  }

 private:
  static void narrow(Board& board, std::size_t task, const Width& width) {
    const std::int32_t worker = board.place(task).workers.front();
    if (width.parts == 1) return board.resize(task, width.workers);
    board.lift(task);
    board.put_part(task, worker, width.parts);
  }

  static void widen(Board& board, std::size_t task, const Width& width) {
    const Place had = board.place(task);
    board.lift(task);
    if (width.parts == 1 && board.num_free() >= width.workers) return board.put_whole(task, width.workers, had.workers);
    if (had.parts > 1) return board.put_part(task, had.workers.front(), had.parts);  // it stays as it was
    board.put_whole(task, static_cast<std::int64_t>(had.workers.size()), had.workers);
  }
};

class Uniform : public Policy {
 public:
  std::string_view name() const override { return "uniform"; }

  Decision decide(const Situation& situation) const override {
    Board board(situation);
    for (std::size_t i = 0; i < situation.tasks.size(); ++i) {
      if (board.num_free() > 0 && board.place(i).waits()) board.put_whole(i, 1);
    }
    std::int64_t running = 0;
    for (std::size_t i = 0; i < situation.tasks.size(); ++i) running += board.place(i).waits() ? 0 : 1;
    if (running == 0) return std::move(board).decision();
    const std::int64_t each = std::clamp<std::int64_t>(situation.num_alive() / running, 1, situation.cluster.widest);
    // Those that have too many give first.
    for (const bool gives : {true, false}) {
      for (std::size_t i = 0; i < situation.tasks.size(); ++i) {
        const auto has = static_cast<std::int64_t>(board.place(i).workers.size());
        const std::int64_t its = std::min(each, widest_of(situation.tasks[i], situation.cluster));
        if (has == 0 || has == its || (has > its) != gives) continue;
        board.resize(i, std::min(its, has + board.num_free()));
      }
    }
    return std::move(board).decision();
  }
};

}  // namespace

std::unique_ptr<Policy> first_come() { return std::make_unique<OnePerWorker>(false); }
std::unique_ptr<Policy> longest_trial_first() { return std::make_unique<OnePerWorker>(true); }
std::unique_ptr<Policy> printed_static() { return std::make_unique<PrintedStatic>(); }
std::unique_ptr<Policy> printed_dynamic() { return std::make_unique<PrintedDynamic>(); }
std::unique_ptr<Policy> uniform_redistribution() { return std::make_unique<Uniform>(); }

}  // namespace lanista::schedule
