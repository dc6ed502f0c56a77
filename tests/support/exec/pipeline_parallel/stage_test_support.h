#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lanista/base/check.h"
#include "lanista/base/futex.h"
#include "lanista/exec/pipeline_parallel/stage_worker.h"
#include "lanista/exec/pipeline_parallel/stages.h"
#include "lanista/exec/program/aligned_bytes.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/model/ops/op_rules.h"
#include "support/exec/program/test_models.h"

namespace lanista::program::testing {

/// The model's operators in their order, in `count` runs; stages at some places in turn. All forward passes, then all
/// backward passes, the weights' parts last of all.
inline Stages split_into_stages(const graph::Graph& model, std::size_t count, std::int64_t parts,
                                std::size_t ranks = 2) {
  std::vector<graph::NodeId> nodes = model.topo();
  std::erase_if(nodes, [&](graph::NodeId id) { return model.node(id).op == "input" || model.node(id).op == "output"; });
  count = std::min(count, nodes.size());
  Stages stages;
  ranks = std::min(count, ranks);
  stages.ranks.resize(ranks);
  for (std::size_t s = 0; s < count; ++s) {
    Stage stage{.nodes = {}, .micro_batches = parts, .slots = parts, .successors = {}};
    stage.nodes.assign(nodes.begin() + static_cast<std::ptrdiff_t>(s * nodes.size() / count),
                       nodes.begin() + static_cast<std::ptrdiff_t>((s + 1) * nodes.size() / count));
    for (std::size_t later = s + 1; later < count; ++later)
      stage.successors.push_back(static_cast<std::uint32_t>(later));
    stages.stages.push_back(std::move(stage));
  }
  const auto add = [&](std::size_t s, StagePass::Kind kind) {
    for (std::int64_t m = 0; m < parts; ++m) {
      stages.ranks[s % ranks].push_back({kind, static_cast<std::uint32_t>(s), static_cast<std::uint32_t>(m)});
    }
  };
  for (std::size_t s = 0; s < count; ++s) add(s, StagePass::Kind::kForward);
  for (std::size_t s = count; s-- > 0;) add(s, StagePass::Kind::kInputGrad);
  for (std::size_t s = 0; s < count; ++s) add(s, StagePass::Kind::kWeightGrad);
  return stages;
}

/// For tests: an operator that throws at its so manieth call; below 0: never.
struct ThrowingKernel {
  std::shared_ptr<std::atomic<int>> calls_left;
  template <class T>
  void forward(const OpaqueCall<T>& call) const {
    if (calls_left->fetch_sub(1) == 0) throw std::runtime_error("no more");
    std::copy(call.inputs[0].begin(), call.inputs[0].end(), call.results[0].begin());
  }
  template <class T>
  void backward(const OpaqueCall<T>& call) const {
    if (calls_left->fetch_sub(1) == 0) throw std::runtime_error("no more");
    std::copy(call.dy.begin(), call.dy.end(), call.results[0].begin());
  }
};

/// The shipped operators and "thrower".
inline Operators with_throwing_operator(const std::shared_ptr<std::atomic<int>>& calls_left) {
  Operators operators;
  graph::OpDef def;
  def.name = "thrower";
  def.help = "Throws now and then.";
  def.infer = graph::ops::infer_same;
  LANISTA_CHECK(operators.add(def, ThrowingKernel{calls_left}).ok(), "an operator of tests");
  return operators;
}

/// For tests: a model with numbers that every lane may set for itself, and other numbers than the model's.
inline const TestModel kDropoutModel{"dropouts",
                                     "%0 = input(shape=[6])\n%1 = linear(%0, out=8)\n%2 = dropout(%1, p=0.1)\n"
                                     "%3 = linear(%2, out=8)\n%4 = dropout(%3, p=0.2)\n%5 = linear(%4, out=5)\n"
                                     "%6 = output(%5)\n"};
inline std::vector<double> lane_attr_values(const std::vector<LaneAttr>& lane_attrs) {
  std::vector<double> all;
  for (const LaneAttr& number : lane_attrs) all.push_back(number.node == graph::NodeId{2} ? 0.6 : 0.3);
  return all;
}

/// For tests: the places of a pipeline as processes would have them, each with a program of its own that it made anew,
/// but as threads of this process. They can be lost at any moment.
class ThreadRanks final : public RemoteRanks {
 public:
  using Make = std::function<std::unique_ptr<StageWorker>()>;
  /// `count` places beyond the first. Apart: each has a memory of its own, as on other machines.
  ThreadRanks(std::size_t count, Make make, bool has_separate_memory = false)
      : count_(count), make_(std::move(make)), has_separate_memory_(has_separate_memory) {}
  ~ThreadRanks() override { stop_workers(); }

  std::byte* begin_step(const StageMemoryMap& map) override {
    if (begin_step_fails_at > 0 && --begin_step_fails_at == 0) throw RankLost("no rank is here");
    if (workers_.empty()) begin(map);
    is_entered = true;
    return rank_memories_[0].data();
  }
  StageTransport* transport() override { return has_separate_memory_ ? &transports_[0] : nullptr; }
  void check_alive() override {
    if (check_alive_fails_at > 0 && --check_alive_fails_at == 0) lose_rank();
  }
  void end_step() override { is_entered = false; }

  /// Ends the ranks: running ones continue alone, with memory that no other rank reads.
  [[noreturn]] void lose_rank() {
    stop_workers();
    throw RankLost("a place was lost");
  }

  int begin_step_fails_at = 0, check_alive_fails_at = 0;  ///< the so manieth from here on; 0: none
  bool is_idle = false;                                   ///< in the next step one rank does nothing
  bool is_entered = false;
  int num_starts = 0;
  std::int64_t num_sent_bytes = 0;  ///< from place to place

 private:
  void begin(const StageMemoryMap& map) {
    ++num_starts;
    map_ = map;
    inboxes_.clear();
    rank_memories_.clear();
    transports_.clear();
    for (std::uint32_t i = 0; i <= (has_separate_memory_ ? count_ : 0); ++i) {
      rank_memories_.emplace_back(map.bytes);
      if (!has_separate_memory_) break;
      transports_.push_back(ThreadTransport(*this, i));
      inboxes_.emplace_back(map_, rank_memories_[i].data(), i);
    }
    should_stop_ = false;
    for (std::size_t i = 0; i < count_; ++i) {
      workers_.push_back(make_());
      if (workers_.back()->map().program != map.program) throw std::logic_error("a member has made another program");
    }
    for (std::size_t i = is_idle ? 1 : 0; i < count_; ++i) {
      threads_.emplace_back([this, i] {
        workers_[i]->serve(
            rank_memories_[has_separate_memory_ ? i + 1 : 0].data(), i + 1, [this] { return should_stop_.load(); },
            has_separate_memory_ ? &transports_[i + 1] : nullptr);
      });
    }
  }
  void stop_workers() {
    should_stop_ = true;
    // Wakes ranks that wait between steps at the first word of their memory.
    for (AlignedBytes& each : rank_memories_) futex_wake_all(*reinterpret_cast<SharedWord*>(each.data()));
    threads_.clear();
    workers_.clear();
    const std::lock_guard lock(mutex_);
    inboxes_.clear();  // rank 0 may still send, to no rank
  }

  // A sent message arrives at once, and all arrive in one order.
  class ThreadTransport final : public StageTransport {
   public:
    ThreadTransport(ThreadRanks& all, std::uint32_t own) : all_(&all), own_(own) {}
    void send(const StageSignal& signal) override {
      const std::lock_guard lock(all_->mutex_);
      for (std::uint32_t to = 0; to < all_->inboxes_.size(); ++to) {
        if (to == own_ || (signal.kind == StageSignal::Kind::kEnd && to > 0)) continue;
        require_ok(all_->inboxes_[to].receive(own_, signal));
      }
    }
    void write(std::uint32_t rank, std::int64_t at, std::span<const std::byte> bytes) override {
      const std::lock_guard lock(all_->mutex_);
      if (all_->inboxes_.empty()) return;
      require_ok(all_->inboxes_[rank].write(own_, at, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
      all_->num_sent_bytes += static_cast<std::int64_t>(bytes.size());
    }

   private:
    static void require_ok(const Result<void>& status) {
      if (!status) throw std::logic_error(status.error().message);
    }
    ThreadRanks* all_;
    std::uint32_t own_;
  };

  std::size_t count_;
  Make make_;
  bool has_separate_memory_;
  StageMemoryMap map_;
  std::mutex mutex_;
  std::vector<AlignedBytes> rank_memories_;  // of each place, or of all
  std::vector<StageInbox> inboxes_;
  std::vector<ThreadTransport> transports_;
  std::atomic<bool> should_stop_ = false;
  std::vector<std::unique_ptr<StageWorker>> workers_;
  std::vector<std::jthread> threads_;
};

}  // namespace lanista::program::testing
