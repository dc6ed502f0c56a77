#include <algorithm>
#include <utility>

#include "lanista/app/report/page_columns.h"
#include "lanista/app/report/page_data.h"
#include "lanista/search/study/worker_timeline.h"

namespace lanista::report {
namespace {

using nlohmann::json;
using study::StudyView;
using study::TrialView;

std::span<const graph::Edit> own_edits(const StudyView& view, const TrialView& trial) {
  const auto& edits = trial.proposal.edits;
  const auto& parent = trial.proposal.parent;
  if (!parent || parent->value < 1 || parent->value > view.trials.size()) return edits;
  const auto& before = view.trials[parent->value - 1].proposal;
  const bool begins = before.base == trial.proposal.base && before.edits.size() <= edits.size() &&
                      std::equal(before.edits.begin(), before.edits.end(), edits.begin());
  return std::span(edits).subspan(begins ? before.edits.size() : 0);
}

/// Adjacent intervals of a worker with the same trials. Without trials: several intervals that are too short to show.
struct BusyBlock {
  std::int64_t worker = 0;
  std::vector<TrialId> trials;
  std::int64_t lanes = 1, width = 1;
  bool helps = false;
  double began = 0, ended = 0;
  std::size_t host = 0;  // Span::host
  std::size_t bars() const { return std::max<std::size_t>(1, trials.size()); }
  bool is_same_work(const BusyBlock& other) const {
    return trials == other.trials && lanes == other.lanes && width == other.width && helps == other.helps &&
           host == other.host;
  }
};

std::vector<BusyBlock> busy_blocks(const StudyView& view) {
  std::vector<BusyBlock> out;
  for (const study::WorkerInterval& go : study::worker_timeline(view)) {
    BusyBlock block{go.worker, {}, go.lanes, go.width, go.leader.has_value(), go.began, go.ended};
    if (!go.leader) block.host = view.spans[go.slices.front().span].host;
    for (const study::WorkerInterval::TimeSlice& slice : go.slices)
      block.trials.push_back(view.spans[slice.span].trial);
    if (std::ssize(block.trials) < block.lanes) block.lanes = 1;  // a time slice, which the trial had alone
    out.push_back(std::move(block));
  }
  return out;
}

std::size_t count_bars(const std::vector<BusyBlock>& blocks) {
  std::size_t sum = 0;
  for (const BusyBlock& block : blocks) sum += block.bars();
  return sum;
}

std::vector<BusyBlock> join_blocks(const std::vector<BusyBlock>& all, double grain, bool drops_short) {
  std::vector<BusyBlock> out;
  for (const BusyBlock& block : all) {
    BusyBlock* last = out.empty() ? nullptr : &out.back();
    const bool is_adjacent = last != nullptr && last->worker == block.worker && block.began - last->ended <= grain;
    const bool tiny = last != nullptr && drops_short && last->ended - last->began < grain;
    if (!is_adjacent || !(last->is_same_work(block) || tiny)) {
      out.push_back(block);
      continue;
    }
    const std::size_t host = last->host == block.host ? block.host : 0;
    if (!last->is_same_work(block)) *last = {last->worker, {}, 1, 1, false, last->began, last->ended, host};
    last->ended = std::max(last->ended, block.ended);
  }
  return out;
}

}  // namespace

std::vector<std::size_t> thinned_indices(std::size_t count) {
  constexpr std::size_t kMaxPoints = 200;
  std::vector<std::size_t> out;
  const std::size_t kept = std::min(count, kMaxPoints);
  for (std::size_t i = 0; i < kept; ++i) out.push_back(kept < 2 ? 0 : i * (count - 1) / (kept - 1));
  return out;
}

json curve_columns(const StudyView& view, std::span<const std::size_t> order, std::size_t byte_limit) {
  const std::vector<std::string> names = page_metrics(view);
  const std::size_t point_bytes = 6 * names.size() + 4;
  std::vector<std::int64_t> ids, counts, epochs;
  std::vector<std::vector<double>> values(names.size());
  std::size_t size = 0;
  for (const std::size_t i : order) {
    const TrialView& trial = view.trials[i];
    const auto points = thinned_indices(trial.measurements.size());
    if (points.empty()) continue;
    size += points.size() * point_bytes + 8;
    if (size > byte_limit) break;
    ids.push_back(trial.id.value);
    counts.push_back(static_cast<std::int64_t>(points.size()));
    for (const std::size_t p : points) {
      const study::Measurement& m = trial.measurements[p];
      epochs.push_back(m.epoch);
      for (std::size_t k = 0; k < names.size(); ++k) {
        const auto it = m.metrics.find(names[k]);
        values[k].push_back(it == m.metrics.end() ? absent() : it->second);
      }
    }
  }
  json out{{"trial", packed_integers(ids)}, {"points", packed_integers(counts)}, {"count", ids.size()},
           {"total", epochs.size()},        {"epoch", packed_integers(epochs)},  {"values", json::array()}};
  for (const auto& column : values) out["values"].push_back(packed_reals(column, 4));
  return out;
}

json edit_lines(const StudyView& view, std::span<const std::size_t> order, std::size_t byte_limit) {
  json out = json::object();
  std::size_t size = 0;
  for (const std::size_t i : order) {
    json lines = json::array();
    for (const graph::Edit& edit : own_edits(view, view.trials[i])) {
      lines.push_back(clip_utf8(graph::edit_text(edit), 500));
      if (lines.size() == 200) break;
    }
    if (lines.empty()) continue;
    size += lines.dump(-1, ' ', true, json::error_handler_t::replace).size() + 12;
    if (size > byte_limit) break;
    out[std::to_string(i + 1)] = std::move(lines);
  }
  return out;
}

json timeline_columns(const StudyView& view, std::size_t most) {
  const std::vector<BusyBlock> all = busy_blocks(view);
  double end = 0;
  for (const BusyBlock& block : all) end = std::max(end, block.ended);
  // Joins bars across invisible gaps; with too many bars it repeats this with larger gaps.
  std::vector<BusyBlock> blocks;
  double grain = end / 4000;
  for (int round = 0; round < 14; ++round, grain *= 2) {
    blocks = join_blocks(all, grain, count_bars(all) > most);
    if (count_bars(blocks) <= most) break;
  }
  while (count_bars(blocks) > most) blocks.pop_back();
  std::vector<std::int64_t> workers, trials, lanes, lane_indices, widths, helps, hosts;
  std::vector<double> began, ended;
  for (const BusyBlock& block : blocks) {
    for (std::size_t lane_index = 0; lane_index < block.bars(); ++lane_index) {
      workers.push_back(block.worker);
      trials.push_back(block.trials.empty() ? 0 : block.trials[lane_index].value);
      lanes.push_back(block.lanes);
      lane_indices.push_back(static_cast<std::int64_t>(lane_index));
      widths.push_back(block.width);
      helps.push_back(block.helps ? 1 : 0);
      hosts.push_back(static_cast<std::int64_t>(block.host));
      began.push_back(block.began);
      ended.push_back(block.ended);
    }
  }
  json out{
      {"count", workers.size()},         {"worker", packed_integers(workers)},     {"trial", packed_integers(trials)},
      {"lanes", packed_integers(lanes)}, {"place", packed_integers(lane_indices)}, {"width", packed_integers(widths)},
      {"helps", packed_integers(helps)}, {"began", packed_reals(began, 4)},        {"ended", packed_reals(ended, 4)}};
  if (!view.workers.hosts.empty()) out["host"] = packed_integers(hosts);
  return out;
}

}  // namespace lanista::report
