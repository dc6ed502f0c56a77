#pragma once

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "lanista/exec/program/aligned_bytes.h"
#include "lanista/exec/program/shard_peers.h"

namespace lanista::nn::testing {

/// Peers that are threads of one test, and never fail: the plainest thing that is right.
class ThreadPeers {
 public:
  ThreadPeers(std::int64_t width, std::int64_t bytes) : meeting_(width) {
    for (std::int64_t rank = 0; rank < width; ++rank) {
      ranks_.push_back(std::make_unique<Rank>(*this, rank, width, bytes));
    }
  }
  ShardPeers& operator[](std::int64_t rank) { return *ranks_[static_cast<std::size_t>(rank)]; }

 private:
  class Rank final : public ShardPeers {
   public:
    Rank(ThreadPeers& all, std::int64_t rank, std::int64_t width, std::int64_t bytes)
        : ShardPeers(rank, width), all_(all), desks_{AlignedBytes(bytes), AlignedBytes(bytes)} {}
    std::byte* mine() override { return desks_[round_ % 2].data(); }
    void meet() override {
      all_.meeting_.arrive_and_wait();
      ++round_;
    }
    const std::byte* told(std::int64_t rank) const override {
      return all_.ranks_[static_cast<std::size_t>(rank)]->desks_[(round_ + 1) % 2].data();
    }

   private:
    ThreadPeers& all_;
    AlignedBytes desks_[2];
    std::size_t round_ = 0;
  };

  std::barrier<> meeting_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace lanista::nn::testing
