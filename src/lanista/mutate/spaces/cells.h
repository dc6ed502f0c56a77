#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/mutate/blueprint.h"

// Networks of stacked cells, the form that NASNet introduced and AmoebaNet, PNASNet, ENAS and DARTS share.
namespace lanista::mutate::spaces {

/// The operators that cells are made of, by the names of NDS (Radosavovic et al., ICCV'19, Table 1): none skip avg3
/// max3 max5 max7 conv1 conv3 conv3x1_1x3 conv7x1_1x7 dil3 dil5 sep3 sep5 sep7 dilsep3, and dilsep5.
std::vector<std::string> cell_op_names();
/// One of them with `width` channels in the manner of NASNet: activation, convolution, norm; separable ones twice. In a
/// reduction cell it halves the image where it reads what the cell was given.
Option cell_op(std::string_view name, std::int64_t width, bool reduction);

struct CellRules {
  std::string space;
  std::int64_t nodes = 5;
  std::vector<std::string> ops;
  bool distinct = false;    ///< a node's two inputs are different values
  bool loose_ends = false;  ///< the cell gives the nodes that no other reads; else all
};

/// width, cells, stages.
std::vector<OptionSpec> cell_options();

/// stages x cells normal cells; between the stages a reduction cell halves the image and doubles the channels. Each
/// cell reads the two before it, brought to its width and size. Choices: "normal/…" and "reduce/…", shared by all cells
/// of the kind. With one stage there is no reduction cell.
Result<Blueprint> cell_network(const CellRules& rules, const graph::OpTable& ops, const Ends& ends,
                               const Options& options);

}  // namespace lanista::mutate::spaces
