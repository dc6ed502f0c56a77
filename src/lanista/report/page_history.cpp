#include <algorithm>
#include <tuple>

#include "lanista/report/page_columns.h"
#include "lanista/report/page_data.h"

namespace lanista::report {
namespace {

using nlohmann::json;
using study::StudyView;
using study::TrialView;

constexpr std::size_t kMostPoints = 200;

/// Indices of at most kMostPoints of `count` points, evenly spread, with the first and the last.
std::vector<std::size_t> thinned(std::size_t count) {
  std::vector<std::size_t> out;
  const std::size_t kept = std::min(count, kMostPoints);
  for (std::size_t i = 0; i < kept; ++i) out.push_back(kept < 2 ? 0 : i * (count - 1) / (kept - 1));
  return out;
}

std::span<const graph::Edit> own_edits(const StudyView& view, const TrialView& trial) {
  const auto& edits = trial.proposal.edits;
  const auto& parent = trial.proposal.parent;
  if (!parent || parent->value < 1 || parent->value > view.trials.size()) return edits;
  const auto& before = view.trials[parent->value - 1].proposal;
  const bool begins = before.base == trial.proposal.base && before.edits.size() <= edits.size() &&
                      std::equal(before.edits.begin(), before.edits.end(), edits.begin());
  return std::span(edits).subspan(begins ? before.edits.size() : 0);
}

}  // namespace

json curve_columns(const StudyView& view, std::span<const std::size_t> order, std::size_t room) {
  const std::vector<std::string> names = page_metrics(view);
  const std::size_t point_bytes = 6 * names.size() + 4;
  std::vector<std::int64_t> ids, counts, epochs;
  std::vector<std::vector<double>> values(names.size());
  std::size_t size = 0;
  for (const std::size_t i : order) {
    const TrialView& trial = view.trials[i];
    const auto points = thinned(trial.measurements.size());
    if (points.empty()) continue;
    size += points.size() * point_bytes + 8;
    if (size > room) break;
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

json edit_lines(const StudyView& view, std::span<const std::size_t> order, std::size_t room) {
  json out = json::object();
  std::size_t size = 0;
  for (const std::size_t i : order) {
    json lines = json::array();
    for (const graph::Edit& edit : own_edits(view, view.trials[i])) {
      lines.push_back(clipped(graph::edit_text(edit), 500));
      if (lines.size() == 200) break;
    }
    if (lines.empty()) continue;
    size += lines.dump(-1, ' ', true, json::error_handler_t::replace).size() + 12;
    if (size > room) break;
    out[std::to_string(i + 1)] = std::move(lines);
  }
  return out;
}

json timeline_columns(const StudyView& view, std::size_t most) {
  std::vector<study::Span> spans = view.spans;
  std::stable_sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) {
    return std::tie(a.worker, a.began, a.trial) < std::tie(b.worker, b.began, b.trial);
  });
  double end = 0;
  for (const study::Span& span : spans) end = std::max(end, span.ended);
  // A gap that cannot be seen is none; if there are still too many blocks, look from farther away.
  std::vector<study::Span> blocks;
  double grain = end / 4000;
  for (int round = 0; round < 14; ++round, grain *= 2) {
    blocks.clear();
    for (const study::Span& span : spans) {
      study::Span* last = blocks.empty() ? nullptr : &blocks.back();
      const bool near = last != nullptr && last->worker == span.worker && span.began - last->ended <= grain;
      const bool tiny = last != nullptr && spans.size() > most && last->ended - last->began < grain;
      if (near && (last->trial == span.trial || tiny)) {
        if (last->trial != span.trial) last->trial = TrialId{0};
        last->ended = std::max(last->ended, span.ended);
      } else {
        blocks.push_back(span);
      }
    }
    if (blocks.size() <= most) break;
  }
  if (blocks.size() > most) blocks.resize(most);
  std::vector<std::int64_t> workers, trials;
  std::vector<double> began, ended;
  for (const study::Span& block : blocks) {
    workers.push_back(block.worker);
    trials.push_back(block.trial.value);
    began.push_back(block.began);
    ended.push_back(block.ended);
  }
  return {{"count", blocks.size()},
          {"worker", packed_integers(workers)},
          {"trial", packed_integers(trials)},
          {"began", packed_reals(began, 4)},
          {"ended", packed_reals(ended, 4)}};
}

}  // namespace lanista::report
