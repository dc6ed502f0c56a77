#include "lanista/exec/program/plan_lines.h"

#include "lanista/exec/program/batch_split.h"

namespace lanista::program {
namespace {

std::string address_text(Address address) {
  static constexpr std::array<std::string_view, kNumMemorySpaces> kNames{
      "arena", "parameter", "gradient", "buffer", "new_buffer", "input", "target", "slot", "edge"};
  return std::string(kNames[static_cast<std::size_t>(address.space)]) + "+" + std::to_string(address.offset);
}

std::string attrs_text(const graph::Attrs& attrs) {
  std::string text;
  for (const auto& [name, value] : attrs) text += (text.empty() ? "" : ", ") + name + "=" + graph::attr_text(value);
  return text;
}

// The number of elements that a call copies without change.
template <class T>
void add_flat(PlanLine& line, std::int64_t elements, Address from, Address to, std::size_t passes) {
  const graph::Shape shape{{elements}};
  line.inputs.push_back({shape, "plain", address_text(from)});
  line.outputs.push_back({shape, "plain", address_text(to)});
  line.bytes += static_cast<double>(passes) * static_cast<double>(bytes_of<T>(elements));
}

}  // namespace

std::int64_t element_bytes(graph::DType type, std::size_t real) {
  switch (type) {
    case graph::DType::kReal:
      return static_cast<std::int64_t>(real);
    case graph::DType::kIndex:
      return 4;
    case graph::DType::kByte:
      return 1;
  }
  return 0;
}

template <class T>
PlanLine common_line(kernels::Isa isa, const ProgramOptions& options) {
  PlanLine line;
  line.section = "train";
  line.family = std::string(kernels::isa_name(isa)) + (sizeof(T) == 4 ? " float32" : " float64");
  line.batch = BatchSplit{options.shards, options.accumulate}.largest_part(options.max_batch);
  return line;
}

template <class T>
PlanLine call_line(const PlanLine& common, const Binding<T>& binding, const std::map<graph::Port, Layout>& layouts) {
  const KernelCall& call = binding.call;
  PlanLine line = common;
  line.node = call.id;
  line.op = call.op;
  line.kernel = call.kernel;
  line.attrs = attrs_text(call.attrs);
  bool batched = false;
  const auto add = [&](std::vector<PlanValue>& values, const graph::ValueType& type, graph::Port port,
                       Address address) {
    const auto special = layouts.find(port);
    const Layout layout = special != layouts.end() ? special->second : value_layout(type.shape);
    values.push_back({type.shape, std::string(layout_name(layout)), address_text(address)});
    line.bytes += static_cast<double>(ElementCount(type.shape).at(line.batch) * element_bytes(type.dtype, sizeof(T)));
    batched = batched || type.shape.has_batch();
  };
  for (std::size_t i = 0; i < binding.in.size(); ++i) {
    add(line.inputs, call.in_types[i], call.inputs[i], binding.in[i]);
  }
  for (std::size_t i = 0; i < binding.out.size(); ++i) {
    add(line.outputs, call.out_types[i], {call.id, static_cast<std::uint32_t>(i)}, binding.out[i]);
  }
  if (binding.def.cost) {
    line.flops = binding.def.cost(binding.args()).flops * static_cast<double>(batched ? line.batch : 1);
  }
  return line;
}

template <class T>
PlanLine copy_line(const PlanLine& common, graph::NodeId node, std::int64_t elements, Address from, Address to) {
  PlanLine line = common;
  line.node = node;
  line.op = line.kernel = "copy";
  add_flat<T>(line, elements, from, to, 2);
  return line;
}

template <class T>
PlanLine commit_line(const PlanLine& common, const StateLayout& layout, const std::string& optimizer) {
  PlanLine line = common;
  line.section = "commit";
  line.op = line.kernel = optimizer;
  // Gradients are read; parameters and slots are read and written.
  const std::size_t passes = 1 + 2 * (1 + layout.slots.size());
  for (const Range& run : layout.trained) {
    const std::int64_t begin = bytes_of<T>(run.begin);
    add_flat<T>(line, run.count, {MemorySpace::kGradient, begin}, {MemorySpace::kParameter, begin}, passes);
  }
  for (const Range& run : layout.renewed) {
    const std::int64_t begin = bytes_of<T>(run.begin);
    add_flat<T>(line, run.count, {MemorySpace::kNewBuffer, begin}, {MemorySpace::kBuffer, begin}, 2);
  }
  return line;
}

template PlanLine common_line<float>(kernels::Isa, const ProgramOptions&);
template PlanLine common_line<double>(kernels::Isa, const ProgramOptions&);
template PlanLine call_line(const PlanLine&, const Binding<float>&, const std::map<graph::Port, Layout>&);
template PlanLine call_line(const PlanLine&, const Binding<double>&, const std::map<graph::Port, Layout>&);
template PlanLine copy_line<float>(const PlanLine&, graph::NodeId, std::int64_t, Address, Address);
template PlanLine copy_line<double>(const PlanLine&, graph::NodeId, std::int64_t, Address, Address);
template PlanLine commit_line<float>(const PlanLine&, const StateLayout&, const std::string&);
template PlanLine commit_line<double>(const PlanLine&, const StateLayout&, const std::string&);

}  // namespace lanista::program
