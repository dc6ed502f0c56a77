#include "bench/warm_stream.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/base/file_system.h"
#include "lanista/model/spaces/published.h"

namespace lanista::bench {
namespace {

using Cell = mutate::Nasbench201Cell;

constexpr std::size_t kPopulation = 10, kTournament = 3;
constexpr std::int64_t kStroke = 6, kGlyphRows = 1600;

/// The settings of a task with glyphs.
struct Glyphs {
  std::string name;
  std::uint64_t seed = 0;              ///< seed of glyphs and images
  std::int64_t side = 0, classes = 0;  ///< pixels of a side of an image, and number of glyphs
  double noise = 0, target = 0;        ///< deviation of the noise of a pixel, and target accuracy
};

using Stroke = std::array<float, kStroke * kStroke>;

/// A glyph: the pixels of a random walk of 14 steps in a square.
Stroke stroke(Rng rng) {
  Stroke out{};
  std::int64_t x = rng.between(1, kStroke - 2), y = rng.between(1, kStroke - 2);
  for (int step = 0; step < 14; ++step) {
    out[static_cast<std::size_t>(y * kStroke + x)] = 1;
    std::int64_t& along = rng.bernoulli(0.5) ? x : y;
    along = std::clamp<std::int64_t>(along + (rng.bernoulli(0.5) ? 1 : -1), 0, kStroke - 1);
  }
  return out;
}

/// Adds the first `rows` rows of a glyph to the image at the given position.
void add_glyph(std::span<float> image, std::int64_t side, const Stroke& one, std::int64_t top, std::int64_t left,
               std::int64_t rows, double ink) {
  for (std::int64_t y = 0; y < rows; ++y) {
    for (std::int64_t x = 0; x < kStroke; ++x) {
      image[static_cast<std::size_t>((top + y) * side + left + x)] +=
          static_cast<float>(ink * static_cast<double>(one[static_cast<std::size_t>(y * kStroke + x)]));
    }
  }
}

Result<WarmTask> task_of(const Glyphs& form) {
  const Rng study_rng = Rng(form.seed).split("glyphs");
  std::vector<Stroke> strokes;
  for (std::int64_t i = 0; i < form.classes; ++i)
    strokes.push_back(stroke(study_rng.split(static_cast<std::uint64_t>(i))));
  data::RawData raw;
  raw.spec.name = raw.spec.source = form.name;
  raw.spec.features = {{1, form.side, form.side}};
  raw.spec.classes = form.classes;
  data::Split split;
  for (std::int64_t row = 0; row < kGlyphRows; ++row) {
    Rng rng = study_rng.split("row").split(static_cast<std::uint64_t>(row));
    std::vector<float> image(static_cast<std::size_t>(form.side * form.side));
    const auto label = static_cast<std::int32_t>(row % form.classes);
    const auto offset = [&] { return rng.between(0, form.side - kStroke); };
    const std::int64_t top = offset(), left = offset();
    add_glyph(image, form.side, strokes[static_cast<std::size_t>(label)], top, left, kStroke, rng.uniform(0.6, 1.2));
    // Half of another glyph at a random position, so that parts of glyphs mislead.
    const std::int64_t other_top = offset(), other_left = offset();
    add_glyph(image, form.side, strokes[rng.below(static_cast<std::uint64_t>(form.classes))], other_top, other_left,
              kStroke / 2, rng.uniform(0.3, 0.8));
    for (float& pixel : image) pixel += static_cast<float>(form.noise * rng.normal());
    raw.features.insert(raw.features.end(), image.begin(), image.end());
    raw.labels.push_back(label);
    split[row % 20 < 14 ? 0U : row % 20 < 17 ? 1U : 2U].push_back(row);
  }
  raw.spec.rows = kGlyphRows;
  LANISTA_ASSIGN(auto data, data::Dataset::make(std::move(raw), std::move(split), "auto", "auto"));
  return WarmTask{form.name, std::move(data), 60, form.target};
}

}  // namespace

Result<WarmTask> digits_task() {
  study::DataConfig config;
  LANISTA_ASSIGN(auto data, data::open(config, ".", real_file_system()));
  return WarmTask{"digits", std::move(data), 200, 0.95};
}

Result<WarmTask> glyphs_task() { return task_of({"glyphs", 11, 12, 8, 0.25, 0.8}); }

Result<WarmTask> dev_glyphs_task() { return task_of({"dev-glyphs", 12, 11, 7, 0.25, 0.8}); }

CellArrival CellEvolution::next(const std::vector<CellArrival>& before, const std::vector<double>& accuracy) const {
  std::set<std::string> earlier;
  const auto key = [](const Cell& cell) { return mutate::nasbench201_key(cell, mutate::Nasbench201Same::kFunction); };
  for (const CellArrival& one : before) earlier.insert(key(one.cell));
  Rng rng = rng_.split(before.size());
  const auto random_cell = [&] { return Cell::at(static_cast<std::int64_t>(rng.below(Cell::kCount))); };
  const auto fresh = [&](const Cell& cell) { return mutate::nasbench201_live(cell) && !earlier.contains(key(cell)); };
  for (int tries = 0; tries < 200 && before.size() >= kPopulation; ++tries) {
    std::size_t best = before.size();
    for (const std::uint32_t entered : rng.sample_without_replacement(kPopulation, kTournament)) {
      const std::size_t member = before.size() - kPopulation + entered;
      if (best == before.size() || accuracy[member] > accuracy[best]) best = member;
    }
    Cell child = before[best].cell;
    auto& op = child.ops[rng.below(child.ops.size())];
    op = static_cast<Cell::Op>((op + 1 + static_cast<int>(rng.below(Cell::kOpNames.size() - 1))) %
                               static_cast<int>(Cell::kOpNames.size()));
    if (fresh(child)) return {child, best};
  }
  Cell cell = random_cell();
  while (!fresh(cell)) cell = random_cell();
  return {cell, {}};
}

Result<CellModels> CellModels::make(const data::DataSpec& data, const graph::OpTable& ops) {
  const mutate::ModelInterface ends = mutate::model_interface(data.features, data.classes);
  LANISTA_ASSIGN(auto blueprint,
                 mutate::published_space("nasbench201", {{"width", 4}, {"cells", 1}, {"stages", 2}}, ops, ends));
  return CellModels(std::move(blueprint), ends);
}

Result<graph::Graph> CellModels::model(const Cell& cell, const graph::OpTable& ops) const {
  space::Sample sample;
  const auto& choices = blueprint_.parameters();
  LANISTA_CHECK(choices.size() == cell.ops.size(), "the space has one choice for each edge of a cell");
  for (std::size_t i = 0; i < cell.ops.size(); ++i) {
    const auto& edge = Cell::kEdges[i];
    const std::string ends = "edge_" + std::to_string(edge.from) + "_" + std::to_string(edge.to);
    const auto choice = std::ranges::find_if(choices, [&](const auto& each) { return each.name.ends_with(ends); });
    LANISTA_CHECK(choice != choices.end(), "the space has the choice " + ends);
    sample[choice->name] = space::Value(std::string(Cell::kOpNames[cell.ops[i]]));
  }
  return blueprint_.expand(sample, ops, ends_);
}

}  // namespace lanista::bench
