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
#include "lanista/model/ops/rules.h"
#include "lanista/exec/program/aligned_bytes.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/exec/pipeline_parallel/stage_member.h"
#include "lanista/exec/pipeline_parallel/stages.h"
#include "support/exec/program/test_models.h"

namespace lanista::nn::testing {

/// The model's operators in their order, in `count` runs; stages at some places in turn. All forward passes, then all
/// backward passes, the weights' parts last of all.
inline Stages in_stages(const graph::Graph& model, std::size_t count, std::int64_t parts, std::size_t places = 2) {
  std::vector<graph::NodeId> nodes = model.topo();
  std::erase_if(nodes, [&](graph::NodeId id) { return model.node(id).op == "input" || model.node(id).op == "output"; });
  count = std::min(count, nodes.size());
  Stages stages;
  places = std::min(count, places);
  stages.places.resize(places);
  for (std::size_t s = 0; s < count; ++s) {
    Stage stage{.nodes = {}, .micro_batches = parts, .slots = parts, .after = {}};
    stage.nodes.assign(nodes.begin() + static_cast<std::ptrdiff_t>(s * nodes.size() / count),
                       nodes.begin() + static_cast<std::ptrdiff_t>((s + 1) * nodes.size() / count));
    for (std::size_t later = s + 1; later < count; ++later) stage.after.push_back(static_cast<std::uint32_t>(later));
    stages.stages.push_back(std::move(stage));
  }
  const auto add = [&](std::size_t s, StagePass::Kind kind) {
    for (std::int64_t m = 0; m < parts; ++m) {
      stages.places[s % places].push_back({kind, static_cast<std::uint32_t>(s), static_cast<std::uint32_t>(m)});
    }
  };
  for (std::size_t s = 0; s < count; ++s) add(s, StagePass::Kind::kForward);
  for (std::size_t s = count; s-- > 0;) add(s, StagePass::Kind::kInputGrad);
  for (std::size_t s = 0; s < count; ++s) add(s, StagePass::Kind::kWeightGrad);
  return stages;
}

/// For tests: an operator that throws at its so manieth call; below 0: never.
struct Thrower {
  std::shared_ptr<std::atomic<int>> left;
  template <class T>
  void forward(const OpaqueCall<T>& call) const {
    if (left->fetch_sub(1) == 0) throw std::runtime_error("no more");
    std::copy(call.inputs[0].begin(), call.inputs[0].end(), call.results[0].begin());
  }
  template <class T>
  void backward(const OpaqueCall<T>& call) const {
    if (left->fetch_sub(1) == 0) throw std::runtime_error("no more");
    std::copy(call.dy.begin(), call.dy.end(), call.results[0].begin());
  }
};

/// The shipped operators and "thrower".
inline Operators with_thrower(const std::shared_ptr<std::atomic<int>>& left) {
  Operators operators;
  graph::OpDef def;
  def.name = "thrower";
  def.help = "Throws now and then.";
  def.infer = graph::ops::infer_same;
  LANISTA_CHECK(operators.add(def, Thrower{left}).ok(), "an operator of tests");
  return operators;
}

/// For tests: a model with numbers that every lane may set for itself, and other numbers than the model's.
inline const TestModel kDropouts{"dropouts",
                                 "%0 = input(shape=[6])\n%1 = linear(%0, out=8)\n%2 = dropout(%1, p=0.1)\n"
                                 "%3 = linear(%2, out=8)\n%4 = dropout(%3, p=0.2)\n%5 = linear(%4, out=5)\n"
                                 "%6 = output(%5)\n"};
inline std::vector<double> own_numbers(const std::vector<LaneNumber>& numbers) {
  std::vector<double> all;
  for (const LaneNumber& number : numbers) all.push_back(number.node == graph::NodeId{2} ? 0.6 : 0.3);
  return all;
}

/// For tests: the places of a pipeline as processes would have them, each with a program of its own that it made anew,
/// but as threads of this process. They can be lost at any moment.
class ThreadPlaces final : public StagePlaces {
 public:
  using Make = std::function<std::unique_ptr<StageMember>()>;
  /// `count` places beyond the first. Apart: each has a memory of its own, as on other machines.
  ThreadPlaces(std::size_t count, Make make, bool apart = false)
      : count_(count), make_(std::move(make)), apart_(apart) {}
  ~ThreadPlaces() override { call_off(); }

  std::byte* enter(const StageMap& map) override {
    if (fails_at_entering > 0 && --fails_at_entering == 0) throw PlacesLost("nobody is here");
    if (members_.empty()) begin(map);
    is_entered = true;
    return memories_[0].data();
  }
  StageLine* line() override { return apart_ ? &mouths_[0] : nullptr; }
  void look() override {
    if (fails_at_look > 0 && --fails_at_look == 0) lose();
  }
  void leave() override { is_entered = false; }

  /// What is there is gone: whoever is at work is left to itself, with memory that nobody reads.
  [[noreturn]] void lose() {
    call_off();
    throw PlacesLost("a place was lost");
  }

  int fails_at_entering = 0, fails_at_look = 0;  ///< the so manieth from here on; 0: none
  bool is_idle = false;                          ///< whoever begins next has one place that does nothing
  bool is_entered = false;
  int begun = 0;
  std::int64_t said_bytes = 0;  ///< from place to place

 private:
  void begin(const StageMap& map) {
    ++begun;
    map_ = map;
    ears_.clear();
    memories_.clear();
    mouths_.clear();
    for (std::uint32_t i = 0; i <= (apart_ ? count_ : 0); ++i) {
      memories_.emplace_back(map.bytes);
      if (!apart_) break;
      mouths_.push_back(Mouth(*this, i));
      ears_.emplace_back(map_, memories_[i].data(), i);
    }
    leaves_ = false;
    for (std::size_t i = 0; i < count_; ++i) {
      members_.push_back(make_());
      if (members_.back()->map().program != map.program) throw std::logic_error("a member has made another program");
    }
    for (std::size_t i = is_idle ? 1 : 0; i < count_; ++i) {
      threads_.emplace_back([this, i] {
        members_[i]->serve(
            memories_[apart_ ? i + 1 : 0].data(), i + 1, [this] { return leaves_.load(); },
            apart_ ? &mouths_[i + 1] : nullptr);
      });
    }
  }
  void call_off() {
    leaves_ = true;
    // Who sleeps between steps looks again now: at the first word of a memory, where its board is.
    for (AlignedBytes& each : memories_) wake_all(*reinterpret_cast<SharedWord*>(each.data()));
    threads_.clear();
    members_.clear();
    const std::lock_guard lock(mutex_);
    ears_.clear();  // the first place may still speak, to nobody
  }

  // What is said is heard at once, and in one order.
  class Mouth final : public StageLine {
   public:
    Mouth(ThreadPlaces& all, std::uint32_t own) : all_(&all), own_(own) {}
    void say(const StageWord& word) override {
      const std::lock_guard lock(all_->mutex_);
      for (std::uint32_t to = 0; to < all_->ears_.size(); ++to) {
        if (to == own_ || (word.kind == StageWord::Kind::kEnd && to > 0)) continue;
        must(all_->ears_[to].hear(own_, word));
      }
    }
    void put(std::uint32_t place, std::int64_t at, std::span<const std::byte> bytes) override {
      const std::lock_guard lock(all_->mutex_);
      if (all_->ears_.empty()) return;
      must(all_->ears_[place].put(own_, at, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
      all_->said_bytes += static_cast<std::int64_t>(bytes.size());
    }

   private:
    static void must(const Result<void>& heard) {
      if (!heard) throw std::logic_error(heard.error().message);
    }
    ThreadPlaces* all_;
    std::uint32_t own_;
  };

  std::size_t count_;
  Make make_;
  bool apart_;
  StageMap map_;
  std::mutex mutex_;
  std::vector<AlignedBytes> memories_;  // of each place, or of all
  std::vector<StageInbox> ears_;
  std::vector<Mouth> mouths_;
  std::atomic<bool> leaves_ = false;
  std::vector<std::unique_ptr<StageMember>> members_;
  std::vector<std::jthread> threads_;
};

}  // namespace lanista::nn::testing
