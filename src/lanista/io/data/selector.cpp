#include "lanista/io/data/selector.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "lanista/base/edit_distance.h"
#include "lanista/base/option_specs.h"
#include "lanista/base/portable_math.h"
#include "lanista/io/data/loss_ranks.h"
#include "lanista/io/data/random_selector.h"

namespace lanista::data {
namespace {

using Positions = std::vector<std::size_t>;

Positions all_positions(std::size_t count) {
  Positions out(count);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

/// Losses as one tensor of doubles.
Tensor to_tensor(const char* name, std::span<const double> values) {
  Tensor out{name, ElementType::kF64, {std::ssize(values)}, std::vector<std::byte>(values.size_bytes())};
  std::ranges::copy(values, elements_of<double>(out).begin());
  return out;
}

Result<std::span<const double>> read_doubles(std::span<const Tensor> saved_state, const char* name) {
  const auto found = std::ranges::find(saved_state, name, &Tensor::name);
  if (found == saved_state.end() || found->type != ElementType::kF64) {
    return Error{Code::kDataLoss, std::string("what the selector remembered has no '") + name + "'", ""};
  }
  return elements_of<double>(*found);
}

/// Selects with probability rank^beta, where the rank is that of the loss among the last ones of all examples. A loss
/// is valid for `stale` passes; then it is measured again.
class HistoryPercentileSelector final : public Selector {
 public:
  HistoryPercentileSelector(const Options& options, const SelectorContext& context)
      : beta_(options.at("beta").get<double>()),
        min_probability_(options.at("floor").get<double>()),
        valid_passes_(options.at("stale").get<std::int64_t>()),
        loss_ranks_(options.at("history").get<std::size_t>()),
        sampler_(context.seed) {
    if (valid_passes_ > 1) recorded_losses_.resize(static_cast<std::size_t>(2 * context.rows), -1.0);
  }

  Positions requested_positions(const CandidateBatch& candidates) const override {
    if (beta_ == 0) return {};
    if (valid_passes_ == 1) return all_positions(candidates.rows.size());
    Positions out;
    for (std::size_t i = 0; i < candidates.rows.size(); ++i) {
      const double measured = recorded_losses_[at(candidates.rows[i]) + 1];
      if (measured < 0 || static_cast<double>(candidates.pass) - measured >= static_cast<double>(valid_passes_)) {
        out.push_back(i);
      }
    }
    return out;
  }

  Positions choose(const CandidateBatch& candidates, std::span<const double> losses) override {
    if (beta_ == 0) return all_positions(candidates.rows.size());
    const std::vector<double> all = losses_of(candidates, losses);
    for (const double loss : all) loss_ranks_.add(loss);
    Positions out;
    const auto sampled = sampler_.for_pass(candidates.pass);
    for (std::size_t i = 0; i < all.size(); ++i) {
      // The window may have only larger losses if it is shorter than the batch.
      const double rank = loss_ranks_.rank(all[i]);
      const double chance = std::max(min_probability_, rank > 0 ? portable_pow(rank, beta_) : 0);
      if (sampled(candidates.rows[i]) < chance) out.push_back(i);
    }
    return out;
  }

  std::vector<Tensor> saved_state() const override {
    std::vector<Tensor> out{to_tensor("history", loss_ranks_.losses())};
    if (valid_passes_ > 1) out.push_back(to_tensor("known", recorded_losses_));
    return out;
  }
  Result<void> restore_state(std::span<const Tensor> saved_state) override {
    LANISTA_ASSIGN(const std::span<const double> history, read_doubles(saved_state, "history"));
    if (valid_passes_ > 1) {
      LANISTA_ASSIGN(const std::span<const double> known, read_doubles(saved_state, "known"));
      if (known.size() != recorded_losses_.size()) {
        return Error{Code::kDataLoss,
                     "the selector remembered losses of " + std::to_string(known.size() / 2) + " rows, there are " +
                         std::to_string(recorded_losses_.size() / 2),
                     ""};
      }
      std::ranges::copy(known, recorded_losses_.begin());
    }
    loss_ranks_.assign(history);
    return {};
  }

 private:
  static std::size_t at(std::int64_t row) { return static_cast<std::size_t>(2 * row); }

  // The losses of the whole batch: those that were measured now, and those that are still valid.
  std::vector<double> losses_of(const CandidateBatch& candidates, std::span<const double> measured) {
    if (valid_passes_ == 1) return {measured.begin(), measured.end()};
    const Positions requested = requested_positions(candidates);
    for (std::size_t i = 0; i < requested.size(); ++i) {
      const std::size_t position = at(candidates.rows[requested[i]]);
      recorded_losses_[position] = measured[i];
      recorded_losses_[position + 1] = static_cast<double>(candidates.pass);
    }
    std::vector<double> out;
    out.reserve(candidates.rows.size());
    for (const std::int64_t row : candidates.rows) out.push_back(recorded_losses_[at(row)]);
    return out;
  }

  double beta_, min_probability_;
  std::int64_t valid_passes_;
  LossRanks loss_ranks_;
  std::vector<double> recorded_losses_;  // for each row: its loss, and the pass of its measurement; -1: never
  RowSampler sampler_;
};

using OptionKind = OptionSpec::Kind;
constexpr double kMaxCount = 1e6;

std::vector<OptionSpec> percentile_options() {
  return {number_option("beta", OptionKind::kReal, 1.0, 0, 100, "0: all; a share of 1 / (1 + beta) is trained on"),
          number_option("history", OptionKind::kInt, 1024, 1, 1e6, "losses that a loss is ranked among"),
          number_option("floor", OptionKind::kReal, 0.01, 0, 1, "least probability"),
          number_option("stale", OptionKind::kInt, 1, 1, kMaxCount,
                        "passes that a loss counts for before it is measured again")};
}

Result<const SelectorPlugin*> find_selector_plugin(const study::PluginConfig& select,
                                                   std::span<const SelectorPlugin> selectors) {
  std::vector<std::string> names;
  std::string list;
  for (const SelectorPlugin& plugin : selectors) {
    if (plugin.name == select.name) return &plugin;
    list += (names.empty() ? "" : ", ") + plugin.name;
    names.push_back(plugin.name);
  }
  const std::string nearest = nearest_name(select.name, names);
  return Error{Code::kInvalidArgument,
               "unknown; allowed: " + list + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"), select.name};
}

}  // namespace

Result<void> Selector::restore_state(std::span<const Tensor> saved_state) {
  if (saved_state.empty()) return {};
  return Error{Code::kDataLoss, "the selector has no state, but '" + saved_state[0].name + "' is restored", ""};
}

const std::vector<OptionSpec>& selection_options() {
  static const std::vector<OptionSpec> options = [] {
    OptionSpec clock;
    clock.name = "clock";
    clock.kind = OptionKind::kText;
    clock.default_value = "read";
    clock.allowed = {"read", "trained"};
    clock.help = "what the learning rate's schedule counts: batches read, or batches trained on";
    return std::vector<OptionSpec>{
        number_option("warmup_epochs", OptionKind::kInt, 1, 0, kMaxCount, "first epochs that train on all examples"),
        number_option("from", OptionKind::kReal, 0, 0, 1,
                      "share of the epochs before which all examples are trained on"),
        number_option("until", OptionKind::kReal, 1, 0, 1,
                      "share of the epochs after which all examples are trained on"),
        number_option("interrupt", OptionKind::kInt, 0, 0, kMaxCount,
                      "every so-manieth batch is trained on whole; 0: none"),
        number_option("max_wait", OptionKind::kInt, 4, 1, kMaxCount,
                      "batches read after which a batch is trained on, filled up from the last one read"),
        number_option(
            "recalibrate", OptionKind::kInt, 0, 0, kMaxCount,
            "batches of all rows that batch norm's running statistics are renewed by before an epoch is measured"),
        clock};
  }();
  return options;
}

std::vector<OptionSpec> with_selection_options(std::vector<OptionSpec> own) {
  own.insert(own.end(), selection_options().begin(), selection_options().end());
  return own;
}

const std::vector<SelectorPlugin>& builtin_selectors() {
  static const std::vector<SelectorPlugin> selectors{
      {"selective",
       "examples with probability rank^beta, by how their loss ranks among the last ones (Selective-Backprop)",
       with_selection_options(percentile_options()),
       [](const Options& options, const SelectorContext& context) -> std::unique_ptr<Selector> {
         return std::make_unique<HistoryPercentileSelector>(options, context);
       }}};
  return selectors;
}

Result<void> check_selection_options(const Options& options) {
  if (options.at("from") <= options.at("until")) return {};
  return Error{Code::kInvalidArgument, options.at("from").dump() + " lies behind until, " + options.at("until").dump(),
               "from"};
}

Result<Options> resolve_selection_options(const study::PluginConfig& select,
                                          std::span<const SelectorPlugin> selectors) {
  LANISTA_ASSIGN(const SelectorPlugin* plugin, find_selector_plugin(select, selectors));
  return resolve_options(select.options, plugin->options);
}

Result<std::unique_ptr<Selector>> make_selector(const study::PluginConfig& select, const SelectorContext& context,
                                                std::span<const SelectorPlugin> selectors) {
  LANISTA_ASSIGN(const SelectorPlugin* plugin, find_selector_plugin(select, selectors));
  LANISTA_ASSIGN(const Options options, resolve_options(select.options, plugin->options));
  return plugin->make(options, context);
}

}  // namespace lanista::data
