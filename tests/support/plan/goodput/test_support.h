#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "lanista/base/check.h"
#include "lanista/base/memory_file_system.h"
#include "lanista/plan/goodput/application.h"

namespace lanista::goodput {

/// Writes a text file.
inline void write_text(FileSystem& fs, const std::string& path, const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  LANISTA_CHECK(write_atomically(fs, path, bytes).ok(), "a file in memory can be written");
}

/// Writes the traces of an application "net" to `folder`.
///
/// A step needs 0.1 s, and 0.01 s for each sample. Synchronisation needs 0.05 s within a node and 0.2 s across nodes.
/// Batches are 32 and 256. After each of three epochs the progress is 100, 200 and 300 steps of batch 32.
inline void write_net(FileSystem& fs, const std::string& folder = "data/traces/net") {
  std::string placements = "placement,local_bsz,step_time,sync_time\n",
              scaled = "num_nodes,num_replicas,local_bsz,step_time,sync_time\n";
  for (const char* placement : {"1", "2", "3", "4", "11", "22", "44", "444", "4444"}) {
    const std::string text = placement;
    for (const int m : {8, 16, 32, 64}) {
      const double sync = text == "1" ? 0.001 : text.size() == 1 ? 0.05 : 0.2;
      placements += text + "," + std::to_string(m) + "," + std::to_string(0.1 + 0.01 * m + sync) + "," +
                    std::to_string(sync) + "\n";
    }
  }
  for (const int nodes : {6, 8, 16}) {
    for (const int m : {8, 16, 32, 64}) {
      scaled += std::to_string(nodes) + "," + std::to_string(nodes * 4) + "," + std::to_string(m) + "," +
                std::to_string(0.4 + 0.01 * m) + ",0.3\n";
    }
  }
  write_text(fs, folder + "/placements.csv", placements);
  write_text(fs, folder + "/scalability.csv", scaled);
  const std::string header = "progress,iteration,metric,grad_sqr,grad_var\n";
  write_text(fs, folder + "/validation-32.csv", header + "100,100,0.5,1,1\n200,200,0.6,1,4\n300,300,0.7,1,9\n");
  write_text(fs, folder + "/validation-256.csv", header + "101,40,0.5,1,3\n202,70,0.6,1,6\n303,90,0.7,1,11\n");
}

}  // namespace lanista::goodput
