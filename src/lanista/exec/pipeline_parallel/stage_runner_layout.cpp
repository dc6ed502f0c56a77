// The layout of a StageRunner: a section of prepared calls for each stage, its edges, and all offsets in memory.
#include <algorithm>
#include <cstring>

#include "lanista/base/check.h"
#include "lanista/exec/pipeline_parallel/stage_runner.h"
#include "lanista/exec/program/layout.h"
#include "lanista/exec/program/plan_lines.h"
#include "lanista/exec/program/sections.h"

namespace lanista::program {

using graph::Port;

template <class T>
class StageRunner<T>::Planner {
 public:
  Planner(const Inputs& inputs, StageProgram pieces, StageRunner& run)
      : in_(inputs), pieces_(std::move(pieces)), run_(run), edges_(pieces_.stages.size()) {
    for (const KernelCall& call : in_.lowered.calls) {
      read_.insert(call.inputs.begin(), call.inputs.end());
    }
    results_ = commit_inputs<T>(in_.train, in_.lowered, in_.layout);
    loss_ = in_.lowered.source(in_.train.loss);
  }

  Result<void> run() {
    run_.batch_split_ = {1, in_.stages.pieces()};
    run_.ranks_ = in_.stages.ranks;
    run_.observer_ = in_.stages.observer;
    run_.remote_ranks_ = in_.stages.remote_ranks;
    run_.samples_ = in_.section.max_batch;
    run_.timer_ = StepTimer(in_.stages, run_.samples_);
    run_.kernels_ = &in_.section.kernels;
    run_.buffers_ = in_.layout.buffers;
    run_.input_stride_ = in_.input_stride;
    run_.target_stride_ = in_.target_stride;
    run_.loss_stage_ = in_.cut.stage.at(loss_.node);
    run_.stages_.resize(pieces_.stages.size());
    for (std::uint32_t i = 0; i < run_.stages_.size(); ++i) {
      for (const std::uint32_t next : in_.stages.stages[i].successors) run_.stages_[next].predecessors.push_back(i);
    }
    for (std::size_t p = 0; p < in_.stages.ranks.size(); ++p) {
      for (const std::uint32_t i : remote_stage_hosts(p)) run_.stages_[i].rank = static_cast<std::uint32_t>(p);
    }
    run_.rank_reads_.resize(in_.stages.ranks.size());
    for (std::uint32_t i = 0; i < run_.stages_.size(); ++i) LANISTA_TRY(build(i));
    link();
    order_lines();
    LANISTA_TRY(plan_memory_layout());
    build_memory_map();
    return {};
  }

 private:
  // Builds the section of a stage. Values of other stages are in its edge memory; values for them stay until the end.
  Result<void> build(std::uint32_t i) {
    StageState& work = run_.stages_[i];
    const program::Stage& stage = in_.stages.stages[i];
    work.successors = stage.successors;
    work.pieces = run_.batch_split_.pieces / stage.micro_batches;
    work.slots = stage.slots;

    SectionInputs<T> inputs = in_.section;
    inputs.max_batch = samples_of(i);
    inputs.is_split = false;
    assign_state_addresses(inputs, in_.layout, in_.train.state);
    inputs.fixed_addresses[in_.train.input] = {MemorySpace::kInput, 0};
    inputs.fixed_addresses[in_.train.target] = {MemorySpace::kTarget, 0};
    if (i == run_.loss_stage_) inputs.live_out.insert(loss_);
    std::int64_t edge = 0;
    for (const StageEdge& each : pieces_.edges) {
      if (each.from == i) inputs.live_out.insert(each.value);
      if (each.to != i) continue;
      inputs.fixed_addresses[each.value] = edges_[i][each.value] = {MemorySpace::kEdge, edge};
      edge += align_up(inputs.max_batch * sample_bytes(each));
    }
    const std::vector<CommitInput> copies = place_commit_input(i, inputs);
    const StageCalls& own = pieces_.stages[i];
    const Section<T> section = build_section(LoweredGraph{own.calls, in_.lowered.aliases}, inputs);
    LANISTA_TRY(take_calls(i, section));
    for (const CommitInput& copy : copies) take_copy(i, section, copy);
    if (i == run_.loss_stage_) run_.loss_ = section.addresses.at(loss_);
    for (const auto& [port, address] : section.addresses) addresses_[{i, port}] = address;

    work.edge_offset = align_up(section.arena_bytes);
    work.slot_bytes = work.edge_offset + edge;
    work.first_lane_attr = run_.properties_.lane_attrs.size();
    work.lane_attrs = section.lane_attrs.size();
    run_.properties_.lane_attrs.insert(run_.properties_.lane_attrs.end(), section.lane_attrs.begin(),
                                       section.lane_attrs.end());
    run_.properties_.has_random_masks = run_.properties_.has_random_masks || section.has_random_masks;
    scratch_.push_back(section.scratch);
    return {};
  }

  // Gradients and new buffers that no other call of the stage reads are computed at their destination, which belongs to
  // the micro-batch of the pass. Others are copied there.
  std::vector<CommitInput> place_commit_input(std::uint32_t i, SectionInputs<T>& inputs) {
    std::vector<CommitInput> copies;
    for (const CommitInput& each : results_) {
      if (in_.cut.stage.at(each.value.node) != i) continue;
      const bool direct = !read_.contains(each.value) && !inputs.live_out.contains(each.value) &&
                          inputs.fixed_addresses.try_emplace(each.value, each.address).second;
      StageState& work = run_.stages_[i];
      (each.address.space == MemorySpace::kGradient ? work.gradients[pass_of(i, each.value)] : work.renewed)
          .push_back(each.range);
      if (direct) {
        inputs.layouts[each.value] = each.layout;
      } else {
        if (!inputs.fixed_addresses.contains(each.value)) inputs.live_out.insert(each.value);
        copies.push_back(each);
      }
    }
    return copies;
  }

  std::size_t pass_of(std::uint32_t i, Port value) const {
    const StageCalls& own = pieces_.stages[i];
    const auto found = std::ranges::find(own.calls, value.node, &KernelCall::id);
    LANISTA_CHECK(found != own.calls.end(), "a gradient without a call");
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
          note_read(i, section.addresses.at(port));
          if (pass == 0 || section.addresses.at(port).space != MemorySpace::kBuffer) continue;
          return Error{.code = Code::kUnimplemented,
                       .message = "the gradient of '" + own.calls[c].op +
                                  "' reads a buffer, which other micro-batches of a pipeline have already renewed",
                       .where = {}};
        }
      }
    }
    return {};
  }

  // Notes that a rank reads an input of the step.
  void note_read(std::uint32_t i, Address address) {
    auto& read = run_.rank_reads_[run_.stages_[i].rank];
    read.input = read.input || address.space == MemorySpace::kInput;
    read.target = read.target || address.space == MemorySpace::kTarget;
    if (address.space != MemorySpace::kParameter) return;
    for (const StateTensorLayout& item : in_.layout.items) {
      if (!item.tensor.trained || bytes_of<T>(item.range.begin) != address.offset) continue;
      const auto is_it = [&](const Range& range) { return range.begin == item.range.begin; };
      if (std::ranges::none_of(read.parameters, is_it)) read.parameters.push_back(item.range);
    }
  }

  void take_copy(std::uint32_t i, const Section<T>& section, const CommitInput& copy) {
    const std::size_t pass = pass_of(i, copy.value);
    const Address from = section.addresses.at(copy.value);
    const auto size = static_cast<std::size_t>(bytes_of<T>(copy.range.count));
    run_.stages_[i].passes[pass].push_back(
        [from, to = copy.address, size](const RunContext<T>& run) { std::memcpy(run.at(to), run.at(from), size); });
    lines_[i][pass].push_back(copy_line<T>(in_.section.line, copy.value.node, copy.range.count, from, copy.address));
  }

  void link() {
    for (const StageEdge& each : pieces_.edges) {
      const Address from = addresses_.at({each.from, each.value}), to = edges_[each.to].at(each.value);
      LANISTA_CHECK(from.space == MemorySpace::kArena, "a value for other stages is in no slot");
      if (each.gradient) {
        run_.stages_[each.from].outgoing.push_back({each.to, from, to, sample_bytes(each)});
        continue;
      }
      run_.stages_[each.to].incoming.push_back({each.from, from, to, sample_bytes(each)});
      add_remote_value(each, from);
    }
    for (const StageState& work : run_.stages_) {
      auto& read = run_.rank_reads_[work.rank];
      for (const auto& ranges : work.gradients)
        read.gradients.insert(read.gradients.end(), ranges.begin(), ranges.end());
    }
  }

  // Adds a value for other ranks; edges of one value are neighbours.
  void add_remote_value(const StageEdge& each, Address from) {
    StageState& maker = run_.stages_[each.from];
    const std::uint32_t rank = run_.stages_[each.to].rank;
    if (rank == maker.rank) return;
    if (maker.remote_values.empty() || maker.remote_values.back().from.offset != from.offset) {
      maker.remote_values.push_back({from, sample_bytes(each), {}});
    }
    auto& ranks = maker.remote_values.back().ranks;
    if (std::ranges::count(ranks, rank) == 0) ranks.push_back(rank);
  }

  void order_lines() {
    const auto add = [&](std::size_t stage, std::size_t pass) {
      auto& all = run_.properties_.plan;
      all.insert(all.end(), lines_[stage][pass].begin(), lines_[stage][pass].end());
    };
    for (std::size_t i = 0; i < lines_.size(); ++i) add(i, 0);
    for (std::size_t i = lines_.size(); i-- > 0;) {
      add(i, 1);
      add(i, 2);
    }
  }

  // Plans the memory: progress, times, inputs of a step, slots and scratch rank by rank, then the buffers that passes
  // renew.
  Result<void> plan_memory_layout() {
    run_.shared_step_ =
        SharedStepMemory<T>({.layout = in_.layout,
                             .lane_attrs = static_cast<std::int64_t>(run_.properties_.lane_attrs.size()),
                             .samples = run_.samples_,
                             .input_stride = in_.input_stride,
                             .target_stride = in_.target_stride});
    run_.loss_offset_ = StageProgress::bytes(run_.stages_.size());
    run_.timer_offset_ = run_.loss_offset_ + bytes_of<double>(1);
    run_.shared_step_offset_ = align_up(run_.timer_offset_ + run_.timer_.bytes());
    const std::int64_t input_bytes = in_.stages.remote_ranks ? run_.shared_step_.step_input_bytes() : 0;
    std::int64_t end = run_.shared_step_offset_ + (in_.stages.remote_ranks ? run_.shared_step_.bytes() : 0);
    run_.local_bytes_ = end;
    for (std::size_t p = 0; p < in_.stages.ranks.size(); ++p) {
      std::int64_t scratch = 0, bytes = input_bytes;
      const std::int64_t begin = end;
      for (const std::uint32_t i : remote_stage_hosts(p)) {
        StageState& work = run_.stages_[i];
        work.offset = end;
        end += work.slots * work.slot_bytes;
        bytes += work.slots * work.slot_bytes + state_bytes(i);
        scratch = std::max(scratch, align_up(bytes_of<T>(scratch_[i])));
      }
      for (const std::uint32_t i : remote_stage_hosts(p)) run_.stages_[i].scratch_offset = end;
      end += scratch;
      bytes += scratch;
      const std::int64_t seen = in_.stages.has_separate_memory ? received_bytes(p) : 0;
      bytes += seen;
      if (p == 0 || !in_.stages.remote_ranks) run_.local_bytes_ += end - begin + seen;
      if (in_.stages.rank_bytes == 0 || bytes <= in_.stages.rank_bytes) continue;
      return Error{.code = Code::kResourceExhausted,
                   .message = "rank " + std::to_string(p) + " of a pipeline needs " + std::to_string(bytes) +
                              " bytes; allowed are " + std::to_string(in_.stages.rank_bytes),
                   .where = {}};
    }
    run_.buffer_offset_ = end;
    run_.memory_map_.bytes = end + align_up(bytes_of<T>(run_.buffers_));
    run_.local_bytes_ += run_.memory_map_.bytes - end;
    return {};
  }

  // Returns the bytes of other ranks' slots that this rank receives, and of messages.
  std::int64_t received_bytes(std::size_t rank) const {
    std::int64_t bytes = kMessages;
    for (std::uint32_t i = 0; i < run_.stages_.size(); ++i) {
      const StageState& work = run_.stages_[i];
      for (const RemoteValue& each : work.remote_values) {
        if (std::ranges::count(each.ranks, static_cast<std::uint32_t>(rank)) == 0) continue;
        bytes += work.slots * (samples_of(i) * each.sample_bytes + kPage);
      }
    }
    return bytes;
  }

  void build_memory_map() {
    StageMemoryMap& map = run_.memory_map_;
    map.ranks = static_cast<std::uint32_t>(in_.stages.ranks.size());
    map.pieces = run_.batch_split_.pieces;
    for (const StageState& work : run_.stages_) map.rank_of.push_back(work.rank);
    if (in_.stages.has_separate_memory) build_routes();
    map.program = digest();
  }

  void build_routes() {
    const auto add = [&](std::uint32_t from, std::uint32_t to, std::int64_t begin, std::int64_t bytes) {
      if (bytes > 0) run_.memory_map_.routes.push_back({from, to, begin, begin + bytes});
    };
    const std::int64_t share = run_.shared_step_offset_;
    for (std::uint32_t p = 1; p < run_.memory_map_.ranks; ++p) {
      add(0, p, share, run_.shared_step_.bytes());
      add(0, p, run_.buffer_offset_, bytes_of<T>(run_.buffers_));
    }
    for (std::uint32_t i = 0; i < run_.stages_.size(); ++i) {
      const StageState& work = run_.stages_[i];
      const auto in_slots = [&](std::uint32_t from, std::uint32_t to, std::int64_t offset, std::int64_t sample_bytes) {
        for (std::int64_t s = 0; s < work.slots; ++s) {
          add(from, to, work.offset + s * work.slot_bytes + offset, samples_of(i) * sample_bytes);
        }
      };
      for (const RemoteValue& each : work.remote_values) {
        for (const std::uint32_t to : each.ranks) in_slots(work.rank, to, each.from.offset, each.sample_bytes);
      }
      for (const StageEdge& each : pieces_.edges) {
        const std::uint32_t from = run_.stages_[each.from].rank;
        if (!each.gradient || each.to != i || from == work.rank) continue;
        in_slots(from, work.rank, work.edge_offset + edges_[i].at(each.value).offset, sample_bytes(each));
      }
      if (work.rank == 0) continue;
      for (const auto& ranges : work.gradients) {
        for (const Range& range : ranges) {
          add(work.rank, 0, share + run_.shared_step_.gradient(range).begin, bytes_of<T>(range.count));
        }
      }
      for (const Range& range : work.renewed) {
        add(work.rank, 0, share + run_.shared_step_.renewed(range).begin, bytes_of<T>(range.count));
      }
      if (i != run_.loss_stage_) continue;
      add(work.rank, 0, run_.loss_offset_, bytes_of<double>(1));
      in_slots(work.rank, 0, run_.loss_.offset, bytes_of<T>(1));
    }
  }

  // Returns the digest of all that ranks must agree on.
  Digest digest() const {
    Hasher hasher;
    const auto number = [&](auto value) { hasher.number(static_cast<std::int64_t>(value)); };
    for (const PlanLine& line : run_.properties_.plan) hasher.text(line.text()).text(line.cost_key());
    for (const auto& rank : run_.ranks_) {
      number(rank.size());
      for (const StagePass& pass : rank) {
        number(pass.kind);
        number(pass.stage);
        number(pass.micro);
      }
    }
    for (const StageState& work : run_.stages_) {
      for (const std::int64_t value :
           {work.pieces, work.slots, work.slot_bytes, work.edge_offset, work.offset, work.scratch_offset}) {
        number(value);
      }
      for (const auto* transfers : {&work.incoming, &work.outgoing}) {
        number(transfers->size());
        for (const EdgeCopy& each : *transfers) {
          number(each.other);
          number(each.from.offset);
          number(each.to.offset);
          number(each.sample_bytes);
        }
      }
    }
    number(run_.samples_);
    number(run_.buffer_offset_);
    number(run_.memory_map_.bytes);
    for (const MemoryRoute& route : run_.memory_map_.routes) {
      for (const std::int64_t value : {std::int64_t{route.from}, std::int64_t{route.to}, route.begin, route.end}) {
        number(value);
      }
    }
    return hasher.finish();
  }

  std::set<std::uint32_t> remote_stage_hosts(std::size_t rank) const {
    std::set<std::uint32_t> stages;
    for (const StagePass& pass : in_.stages.ranks[rank]) stages.insert(pass.stage);
    return stages;
  }

  // Returns the bytes of a stage's state: parameters, each with gradient, micro-batch gradient and slots, and buffers.
  std::int64_t state_bytes(std::uint32_t i) const {
    std::int64_t elements = 0;
    const auto copies = 3 + static_cast<std::int64_t>(in_.layout.slots.size());
    const auto& nodes = in_.stages.stages[i].nodes;
    for (const StateTensorLayout& item : in_.layout.items) {
      if (std::ranges::count(nodes, in_.train.origin.at(item.tensor.node)) == 0) continue;
      elements += item.range.count * (item.tensor.trained ? copies : 3);
    }
    return bytes_of<T>(elements);
  }

  std::int64_t samples_of(std::uint32_t i) const {
    const std::int64_t piece = BatchSplit{1, run_.batch_split_.pieces}.largest_part(in_.section.max_batch);
    return std::min(in_.section.max_batch, run_.stages_[i].pieces * piece);
  }
  std::int64_t sample_bytes(const StageEdge& each) const {
    return ElementCount(each.type.shape).per_sample * element_bytes(each.type.dtype, sizeof(T));
  }

  static constexpr std::int64_t kPage = 4096;
  static constexpr std::int64_t kMessages = std::int64_t{8} << 20;  // bytes of a rank's messages in flight

  const Inputs& in_;
  StageProgram pieces_;
  StageRunner& run_;
  Port loss_;
  std::set<Port> read_;
  std::vector<CommitInput> results_;
  std::vector<std::map<Port, Address>> edges_;  // of each stage: values from others
  std::map<std::pair<std::uint32_t, Port>, Address> addresses_;
  std::vector<std::int64_t> scratch_;
  std::vector<std::array<std::vector<PlanLine>, 3>> lines_;
};

template <class T>
Result<std::unique_ptr<StageRunner<T>>> StageRunner<T>::plan(const Inputs& inputs) {
  LANISTA_ASSIGN(StageProgram pieces,
                 assign_calls(inputs.lowered, inputs.cut, inputs.train, inputs.stages.stages.size()));
  std::unique_ptr<StageRunner> run(new StageRunner());
  LANISTA_TRY(Planner(inputs, std::move(pieces), *run).run());
  return run;
}

template Result<std::unique_ptr<StageRunner<float>>> StageRunner<float>::plan(const Inputs&);
template Result<std::unique_ptr<StageRunner<double>>> StageRunner<double>::plan(const Inputs&);

}  // namespace lanista::program
