// What a StageRun is made of: a section of prepared calls for each stage, what it is sent, and where all of it lies.
#include <algorithm>
#include <cstring>

#include "lanista/base/check.h"
#include "lanista/exec/program/layout.h"
#include "lanista/exec/program/plan_lines.h"
#include "lanista/exec/program/sections.h"
#include "lanista/exec/pipeline_parallel/stage_run.h"

namespace lanista::nn {

using graph::Port;

template <class T>
class StageRun<T>::Planner {
 public:
  Planner(const Inputs& inputs, StagePieces pieces, StageRun& run)
      : in_(inputs), pieces_(std::move(pieces)), run_(run), edges_(pieces_.stages.size()) {
    for (const Call& call : in_.lowered.calls) {
      read_.insert(call.inputs.begin(), call.inputs.end());
    }
    results_ = deliveries<T>(in_.train, in_.lowered, in_.layout);
    loss_ = in_.lowered.source(in_.train.loss);
  }

  Result<void> run() {
    run_.cut_ = {1, in_.stages.pieces()};
    run_.places_ = in_.stages.places;
    run_.observer_ = in_.stages.observer;
    run_.elsewhere_ = in_.stages.elsewhere;
    run_.samples_ = in_.section.max_batch;
    run_.clock_ = StageClock(in_.stages, run_.samples_);
    run_.kernels_ = &in_.section.kernels;
    run_.buffers_ = in_.layout.buffers;
    run_.input_stride_ = in_.input_stride;
    run_.target_stride_ = in_.target_stride;
    run_.last_ = in_.cut.stage.at(loss_.node);
    run_.stages_.resize(pieces_.stages.size());
    for (std::uint32_t i = 0; i < run_.stages_.size(); ++i) {
      for (const std::uint32_t next : in_.stages.stages[i].after) run_.stages_[next].before.push_back(i);
    }
    for (std::size_t p = 0; p < in_.stages.places.size(); ++p) {
      for (const std::uint32_t i : stages_at(p)) run_.stages_[i].place = static_cast<std::uint32_t>(p);
    }
    run_.reads_.resize(in_.stages.places.size());
    for (std::uint32_t i = 0; i < run_.stages_.size(); ++i) LANISTA_TRY(build(i));
    link();
    order_lines();
    LANISTA_TRY(place_memory());
    draw_map();
    return {};
  }

 private:
  // The section of a stage: what others make comes from its edge, what others read stays until they have.
  Result<void> build(std::uint32_t i) {
    Work& work = run_.stages_[i];
    const nn::Stage& stage = in_.stages.stages[i];
    work.after = stage.after;
    work.pieces = run_.cut_.pieces / stage.micro_batches;
    work.slots = stage.slots;

    SectionInputs<T> inputs = in_.section;
    inputs.max_batch = samples_of(i);
    inputs.in_parts = false;
    place_state(inputs, in_.layout, in_.train.state);
    inputs.fixed[in_.train.input] = {Space::kInput, 0};
    inputs.fixed[in_.train.target] = {Space::kTarget, 0};
    if (i == run_.last_) inputs.keep.insert(loss_);
    std::int64_t edge = 0;
    for (const Crossing& each : pieces_.crossings) {
      if (each.from == i) inputs.keep.insert(each.value);
      if (each.to != i) continue;
      inputs.fixed[each.value] = edges_[i][each.value] = {Space::kEdge, edge};
      edge += align_up(inputs.max_batch * sample_bytes(each));
    }
    const std::vector<Delivery> copies = deliver(i, inputs);
    const StageCalls& own = pieces_.stages[i];
    const Section<T> section = build_section(Lowered{own.calls, in_.lowered.aliases}, inputs);
    LANISTA_TRY(take_calls(i, section));
    for (const Delivery& copy : copies) take_copy(i, section, copy);
    if (i == run_.last_) run_.loss_ = section.places.at(loss_);
    for (const auto& [port, place] : section.places) places_[{i, port}] = place;

    work.edge_offset = align_up(section.arena_bytes);
    work.slot_bytes = work.edge_offset + edge;
    work.first_number = run_.facts_.numbers.size();
    work.numbers = section.numbers.size();
    run_.facts_.numbers.insert(run_.facts_.numbers.end(), section.numbers.begin(), section.numbers.end());
    run_.facts_.draws_masks = run_.facts_.draws_masks || section.draws_masks;
    scratch_.push_back(section.scratch);
    return {};
  }

  // Gradients and new buffers of the stage that no call reads are made where the commit wants them: that place is the
  // micro-batch's of the pass alone. Others are copied there.
  std::vector<Delivery> deliver(std::uint32_t i, SectionInputs<T>& inputs) {
    std::vector<Delivery> copies;
    for (const Delivery& each : results_) {
      if (in_.cut.stage.at(each.value.node) != i) continue;
      const bool direct = !read_.contains(each.value) && !inputs.keep.contains(each.value) &&
                          inputs.fixed.try_emplace(each.value, each.place).second;
      Work& work = run_.stages_[i];
      (each.place.space == Space::kGradient ? work.gradients[pass_of(i, each.value)] : work.renewed)
          .push_back(each.range);
      if (direct) {
        inputs.layouts[each.value] = each.layout;
      } else {
        if (!inputs.fixed.contains(each.value)) inputs.keep.insert(each.value);
        copies.push_back(each);
      }
    }
    return copies;
  }

  std::size_t pass_of(std::uint32_t i, Port value) const {
    const StageCalls& own = pieces_.stages[i];
    const auto found = std::ranges::find(own.calls, value.node, &Call::id);
    LANISTA_CHECK(found != own.calls.end(), "a gradient that no call makes");
    const auto at = static_cast<std::size_t>(found - own.calls.begin());
    return at < own.begin[1] ? 0 : at < own.begin[2] ? 1 : 2;
  }

  Result<void> take_calls(std::uint32_t i, const Section<T>& section) {
    const StageCalls& own = pieces_.stages[i];
    lines_.emplace_back();
    for (std::size_t pass = 0; pass < 3; ++pass) {
      for (std::size_t c = own.begin[pass]; c < own.begin[pass + 1]; ++c) {
        run_.stages_[i].passes[pass].push_back(section.calls[c]);
        lines_[i][pass].push_back(section.plan[c]);
        for (const Port& port : own.calls[c].inputs) {
          take_source(i, section.places.at(port));
          if (pass == 0 || section.places.at(port).space != Space::kBuffer) continue;
          return Error{.code = Code::kUnimplemented,
                       .message = "the gradient of '" + own.calls[c].op +
                                  "' reads a buffer, which other micro-batches of a pipeline have renewed by then",
                       .where = {}};
        }
      }
    }
    return {};
  }

  // What a place reads that is told with every step.
  void take_source(std::uint32_t i, Place place) {
    auto& read = run_.reads_[run_.stages_[i].place];
    read.input = read.input || place.space == Space::kInput;
    read.target = read.target || place.space == Space::kTarget;
    if (place.space != Space::kParameter) return;
    for (const StateItem& item : in_.layout.items) {
      if (!item.tensor.trained || bytes_of<T>(item.range.begin) != place.offset) continue;
      const auto is_it = [&](const Range& range) { return range.begin == item.range.begin; };
      if (std::ranges::none_of(read.parameters, is_it)) read.parameters.push_back(item.range);
    }
  }

  void take_copy(std::uint32_t i, const Section<T>& section, const Delivery& copy) {
    const std::size_t pass = pass_of(i, copy.value);
    const Place from = section.places.at(copy.value);
    const auto size = static_cast<std::size_t>(bytes_of<T>(copy.range.count));
    run_.stages_[i].passes[pass].push_back(
        [from, to = copy.place, size](const RunContext<T>& run) { std::memcpy(run.at(to), run.at(from), size); });
    lines_[i][pass].push_back(copy_line<T>(in_.section.line, copy.value.node, copy.range.count, from, copy.place));
  }

  void link() {
    for (const Crossing& each : pieces_.crossings) {
      const Place from = places_.at({each.from, each.value}), to = edges_[each.to].at(each.value);
      LANISTA_CHECK(from.space == Space::kArena, "a value for other stages lies in nobody's slot");
      if (each.gradient) {
        run_.stages_[each.from].departures.push_back({each.to, from, to, sample_bytes(each)});
        continue;
      }
      run_.stages_[each.to].arrivals.push_back({each.from, from, to, sample_bytes(each)});
      tell_value(each, from);
    }
    for (const Work& work : run_.stages_) {
      auto& read = run_.reads_[work.place];
      for (const auto& ranges : work.gradients)
        read.gradients.insert(read.gradients.end(), ranges.begin(), ranges.end());
    }
  }

  // Crossings of one value stand side by side.
  void tell_value(const Crossing& each, Place from) {
    Work& maker = run_.stages_[each.from];
    const std::uint32_t place = run_.stages_[each.to].place;
    if (place == maker.place) return;
    if (maker.sent.empty() || maker.sent.back().from.offset != from.offset) {
      maker.sent.push_back({from, sample_bytes(each), {}});
    }
    auto& places = maker.sent.back().places;
    if (std::ranges::count(places, place) == 0) places.push_back(place);
  }

  void order_lines() {
    const auto add = [&](std::size_t stage, std::size_t pass) {
      auto& all = run_.facts_.plan;
      all.insert(all.end(), lines_[stage][pass].begin(), lines_[stage][pass].end());
    };
    for (std::size_t i = 0; i < lines_.size(); ++i) add(i, 0);
    for (std::size_t i = lines_.size(); i-- > 0;) {
      add(i, 1);
      add(i, 2);
    }
  }

  // How far everybody is, when passes were, what others are told of a step, slots and scratch place by place, then the
  // buffers that passes renew.
  Result<void> place_memory() {
    run_.share_ = StageShare<T>({.layout = in_.layout,
                                 .numbers = static_cast<std::int64_t>(run_.facts_.numbers.size()),
                                 .samples = run_.samples_,
                                 .input_stride = in_.input_stride,
                                 .target_stride = in_.target_stride});
    run_.loss_offset_ = StageBoard::bytes(run_.stages_.size());
    run_.clock_offset_ = run_.loss_offset_ + bytes_of<double>(1);
    run_.share_offset_ = align_up(run_.clock_offset_ + run_.clock_.bytes());
    const std::int64_t told = in_.stages.elsewhere ? run_.share_.batch_bytes() : 0;
    std::int64_t end = run_.share_offset_ + (in_.stages.elsewhere ? run_.share_.bytes() : 0);
    run_.own_bytes_ = end;
    for (std::size_t p = 0; p < in_.stages.places.size(); ++p) {
      std::int64_t scratch = 0, bytes = told;
      const std::int64_t begin = end;
      for (const std::uint32_t i : stages_at(p)) {
        Work& work = run_.stages_[i];
        work.offset = end;
        end += work.slots * work.slot_bytes;
        bytes += work.slots * work.slot_bytes + state_bytes(i);
        scratch = std::max(scratch, align_up(bytes_of<T>(scratch_[i])));
      }
      for (const std::uint32_t i : stages_at(p)) run_.stages_[i].scratch_offset = end;
      end += scratch;
      bytes += scratch;
      const std::int64_t seen = in_.stages.apart ? heard_bytes(p) : 0;
      bytes += seen;
      if (p == 0 || !in_.stages.elsewhere) run_.own_bytes_ += end - begin + seen;
      if (in_.stages.place_bytes == 0 || bytes <= in_.stages.place_bytes) continue;
      return Error{.code = Code::kResourceExhausted,
                   .message = "place " + std::to_string(p) + " of a pipeline wants " + std::to_string(bytes) +
                              " bytes; allowed are " + std::to_string(in_.stages.place_bytes),
                   .where = {}};
    }
    run_.buffer_offset_ = end;
    run_.map_.bytes = end + align_up(bytes_of<T>(run_.buffers_));
    run_.own_bytes_ += run_.map_.bytes - end;
    return {};
  }

  // Of others' slots, what they say of them to this place; and messages.
  std::int64_t heard_bytes(std::size_t place) const {
    std::int64_t bytes = kMessages;
    for (std::uint32_t i = 0; i < run_.stages_.size(); ++i) {
      const Work& work = run_.stages_[i];
      for (const Sent& each : work.sent) {
        if (std::ranges::count(each.places, static_cast<std::uint32_t>(place)) == 0) continue;
        bytes += work.slots * (samples_of(i) * each.sample_bytes + kPage);
      }
    }
    return bytes;
  }

  void draw_map() {
    StageMap& map = run_.map_;
    map.places = static_cast<std::uint32_t>(in_.stages.places.size());
    map.pieces = run_.cut_.pieces;
    for (const Work& work : run_.stages_) map.place_of.push_back(work.place);
    if (in_.stages.apart) draw_routes();
    map.program = digest();
  }

  void draw_routes() {
    const auto add = [&](std::uint32_t from, std::uint32_t to, std::int64_t begin, std::int64_t bytes) {
      if (bytes > 0) run_.map_.routes.push_back({from, to, begin, begin + bytes});
    };
    const std::int64_t share = run_.share_offset_;
    for (std::uint32_t p = 1; p < run_.map_.places; ++p) {
      add(0, p, share, run_.share_.bytes());
      add(0, p, run_.buffer_offset_, bytes_of<T>(run_.buffers_));
    }
    for (std::uint32_t i = 0; i < run_.stages_.size(); ++i) {
      const Work& work = run_.stages_[i];
      const auto in_slots = [&](std::uint32_t from, std::uint32_t to, std::int64_t offset, std::int64_t sample_bytes) {
        for (std::int64_t s = 0; s < work.slots; ++s) {
          add(from, to, work.offset + s * work.slot_bytes + offset, samples_of(i) * sample_bytes);
        }
      };
      for (const Sent& each : work.sent) {
        for (const std::uint32_t to : each.places) in_slots(work.place, to, each.from.offset, each.sample_bytes);
      }
      for (const Crossing& each : pieces_.crossings) {
        const std::uint32_t from = run_.stages_[each.from].place;
        if (!each.gradient || each.to != i || from == work.place) continue;
        in_slots(from, work.place, work.edge_offset + edges_[i].at(each.value).offset, sample_bytes(each));
      }
      if (work.place == 0) continue;
      for (const auto& ranges : work.gradients) {
        for (const Range& range : ranges) {
          add(work.place, 0, share + run_.share_.gradient(range).begin, bytes_of<T>(range.count));
        }
      }
      for (const Range& range : work.renewed) {
        add(work.place, 0, share + run_.share_.renewed(range).begin, bytes_of<T>(range.count));
      }
      if (i != run_.last_) continue;
      add(work.place, 0, run_.loss_offset_, bytes_of<double>(1));
      in_slots(work.place, 0, run_.loss_.offset, bytes_of<T>(1));
    }
  }

  // Of all that places must agree on.
  Digest digest() const {
    Hasher hasher;
    const auto number = [&](auto value) { hasher.number(static_cast<std::int64_t>(value)); };
    for (const PlanLine& line : run_.facts_.plan) hasher.text(line.text()).text(line.work());
    for (const auto& place : run_.places_) {
      number(place.size());
      for (const StagePass& pass : place) {
        number(pass.kind);
        number(pass.stage);
        number(pass.micro);
      }
    }
    for (const Work& work : run_.stages_) {
      for (const std::int64_t value :
           {work.pieces, work.slots, work.slot_bytes, work.edge_offset, work.offset, work.scratch_offset}) {
        number(value);
      }
      for (const auto* transfers : {&work.arrivals, &work.departures}) {
        number(transfers->size());
        for (const Transfer& each : *transfers) {
          number(each.other);
          number(each.from.offset);
          number(each.to.offset);
          number(each.sample_bytes);
        }
      }
    }
    number(run_.samples_);
    number(run_.buffer_offset_);
    number(run_.map_.bytes);
    for (const StageRoute& route : run_.map_.routes) {
      for (const std::int64_t value : {std::int64_t{route.from}, std::int64_t{route.to}, route.begin, route.end}) {
        number(value);
      }
    }
    return hasher.finish();
  }

  std::set<std::uint32_t> stages_at(std::size_t place) const {
    std::set<std::uint32_t> stages;
    for (const StagePass& pass : in_.stages.places[place]) stages.insert(pass.stage);
    return stages;
  }

  // Parameters of the stage's operators, each with its gradient, the one of a micro-batch and the optimiser's slots;
  // and buffers.
  std::int64_t state_bytes(std::uint32_t i) const {
    std::int64_t elements = 0;
    const auto copies = 3 + static_cast<std::int64_t>(in_.layout.slots.size());
    const auto& nodes = in_.stages.stages[i].nodes;
    for (const StateItem& item : in_.layout.items) {
      if (std::ranges::count(nodes, in_.train.origin.at(item.tensor.node)) == 0) continue;
      elements += item.range.count * (item.tensor.trained ? copies : 3);
    }
    return bytes_of<T>(elements);
  }

  std::int64_t samples_of(std::uint32_t i) const {
    const std::int64_t piece = Cut{1, run_.cut_.pieces}.largest(in_.section.max_batch);
    return std::min(in_.section.max_batch, run_.stages_[i].pieces * piece);
  }
  std::int64_t sample_bytes(const Crossing& each) const {
    return Count(each.type.shape).per_sample * element_bytes(each.type.dtype, sizeof(T));
  }

  static constexpr std::int64_t kPage = 4096;
  static constexpr std::int64_t kMessages = std::int64_t{8} << 20;  // of a place: on their way, and being read

  const Inputs& in_;
  StagePieces pieces_;
  StageRun& run_;
  Port loss_;
  std::set<Port> read_;
  std::vector<Delivery> results_;
  std::vector<std::map<Port, Place>> edges_;  // of each stage, what comes from others
  std::map<std::pair<std::uint32_t, Port>, Place> places_;
  std::vector<std::int64_t> scratch_;
  std::vector<std::array<std::vector<PlanLine>, 3>> lines_;
};

template <class T>
Result<std::unique_ptr<StageRun<T>>> StageRun<T>::plan(const Inputs& inputs) {
  LANISTA_ASSIGN(StagePieces pieces, deal(inputs.lowered, inputs.cut, inputs.train, inputs.stages.stages.size()));
  std::unique_ptr<StageRun> run(new StageRun());
  LANISTA_TRY(Planner(inputs, std::move(pieces), *run).run());
  return run;
}

template Result<std::unique_ptr<StageRun<float>>> StageRun<float>::plan(const Inputs&);
template Result<std::unique_ptr<StageRun<double>>> StageRun<double>::plan(const Inputs&);

}  // namespace lanista::nn
