#include "lanista/bench/stage_watch.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace lanista::bench {

void Witness::begins(std::size_t place, const nn::StagePass& pass) {
  using Kind = nn::StagePass::Kind;
  const pipeline::Kind kind = pass.kind == Kind::kForward     ? pipeline::Kind::kForward
                              : pass.kind == Kind::kBackward  ? pipeline::Kind::kBackward
                              : pass.kind == Kind::kInputGrad ? pipeline::Kind::kInputGrad
                                                              : pipeline::Kind::kWeightGrad;
  const pipeline::Action action{.kind = kind, .stage = pass.stage, .micro = pass.micro};
  spans_[place].push_back({action, static_cast<std::uint32_t>(place), now_seconds(), 0});
}

void Witness::ends(std::size_t place, const nn::StagePass&) { spans_[place].back().end = now_seconds(); }

pipeline::Course Witness::take() {
  pipeline::Course course;
  double first = std::numeric_limits<double>::infinity();
  for (const auto& spans : spans_) {
    if (!spans.empty()) first = std::min(first, spans.front().begin);
  }
  for (auto& spans : spans_) {
    course.busy_seconds.push_back(0);
    for (pipeline::Span& span : spans) {
      span.begin -= first, span.end -= first;
      course.busy_seconds.back() += span.end - span.begin;
      course.seconds = std::max(course.seconds, span.end);
    }
    course.spans.insert(course.spans.end(), spans.begin(), spans.end());
    spans.clear();
  }
  return course;
}

double Replay::seconds() {
  using Kind = nn::StagePass::Kind;
  std::map<std::tuple<bool, std::uint32_t, std::uint32_t>, double> ended;  // forward, stage, micro-batch
  std::vector<std::size_t> at(stages_.places.size());
  std::vector<double> clock(at.size());
  for (bool moved = true; std::exchange(moved, false);) {
    for (std::size_t p = 0; p < at.size(); ++p) {
      for (; at[p] < stages_.places[p].size(); ++at[p], moved = true) {
        const nn::StagePass& pass = stages_.places[p][at[p]];
        const bool forth = pass.kind == Kind::kForward;
        double ready = clock[p];
        bool waits = false;
        for (std::uint32_t s = 0; s < stages_.stages.size() && pass.kind != Kind::kWeightGrad; ++s) {
          const auto& after = stages_.stages[forth ? s : pass.stage].after;
          if (std::ranges::count(after, forth ? pass.stage : s) == 0) continue;
          const auto found = ended.find({forth, s, pass.micro});
          waits = waits || found == ended.end();
          if (!waits) ready = std::max(ready, found->second);
        }
        if (waits) break;
        clock[p] = ready + took_[p][at[p]];
        if (pass.kind != Kind::kWeightGrad) ended[{forth, pass.stage, pass.micro}] = clock[p];
      }
    }
  }
  for (auto& times : took_) times.clear();
  return *std::ranges::max_element(clock);
}

}  // namespace lanista::bench
