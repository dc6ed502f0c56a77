#pragma once

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "lanista/exec/program/aligned_bytes.h"
#include "lanista/exec/program/shard_communicator.h"

namespace lanista::program::testing {

/// Peers that are threads of one test, and never fail: the plainest thing that is right.
class ThreadCommunicators {
 public:
  ThreadCommunicators(std::int64_t width, std::int64_t bytes) : barrier_(width) {
    for (std::int64_t rank = 0; rank < width; ++rank) {
      ranks_.push_back(std::make_unique<Rank>(*this, rank, width, bytes));
    }
  }
  ShardCommunicator& operator[](std::int64_t rank) { return *ranks_[static_cast<std::size_t>(rank)]; }

 private:
  class Rank final : public ShardCommunicator {
   public:
    Rank(ThreadCommunicators& all, std::int64_t rank, std::int64_t width, std::int64_t bytes)
        : ShardCommunicator(rank, width), all_(all), buffers_{AlignedBytes(bytes), AlignedBytes(bytes)} {}
    std::byte* send_buffer() override { return buffers_[round_ % 2].data(); }
    void all_gather() override {
      all_.barrier_.arrive_and_wait();
      ++round_;
    }
    const std::byte* received_from(std::int64_t rank) const override {
      return all_.ranks_[static_cast<std::size_t>(rank)]->buffers_[(round_ + 1) % 2].data();
    }

   private:
    ThreadCommunicators& all_;
    AlignedBytes buffers_[2];
    std::size_t round_ = 0;
  };

  std::barrier<> barrier_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace lanista::program::testing
