#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/model/spaces/blueprint.h"

// Networks of stacked cells, as in NASNet, AmoebaNet, PNASNet, ENAS and DARTS.
namespace lanista::mutate::spaces {

/// The style of a network around its searched cells.
///
/// Published implementations differ in these parts, and published parameter counts depend on them.
///
/// - Later input of a cell: a 1x1 convolution to the width of the cell. With kEnas, another one precedes it if the
///   width differs.
/// - Earlier input of a cell: a 1x1 convolution, with kDarts always, otherwise if the width differs. With kNasnet and
///   kAmoebanet, the first cell of a network reads this input unchanged. If its image is larger than that of the later
///   input: relu, then a factorised reduction.
/// - A skip that halves the image. With kDarts: relu, then a factorised reduction. With kEnas: a factorised reduction.
///   With kNasnet and kAmoebanet: relu, then a 1x1 convolution of stride 2.
/// - Inputs that a cell joins (CellRules::joins_unread_nodes, or names in the `gives` fields). In a reduction cell a
///   factorised reduction halves them. In other cells of kNasnet and kAmoebanet, a 1x1 convolution adapts their width.
/// - Classifier. With kDarts: on the means of the channels. The others: after a relu. With kEnas it has no bias.
///
/// kAmoebanet is kNasnet, with the 7x1_1x7 convolutions in a bottleneck of a quarter of the channels.
enum class CellStyle { kDarts, kEnas, kNasnet, kAmoebanet };

/// The properties of the cell that contains an operator.
struct CellPlacement {
  CellStyle cell_style = CellStyle::kDarts;  ///< style of the network
  std::int64_t width = 1;                    ///< channels of the cell
  bool reduction = false;                    ///< true: the cell halves height and width

  /// True if the style is kNasnet or kAmoebanet.
  bool is_nasnet() const { return cell_style == CellStyle::kNasnet || cell_style == CellStyle::kAmoebanet; }
  /// A block that applies `chain` if the value that it reads has a number of channels other than `width`.
  Block if_width_differs(Chain chain) const;
};

/// Returns an operator of a cell by its name in NDS (Radosavovic et al., ICCV'19, Table 1). An unknown name is a bug.
///
/// The names of poolings and trivial operators are none, skip, avg3, max3, max5 and max7. Those of convolutions are
/// conv1, conv3, conv3x1_1x3, conv7x1_1x7, dil3, dil5, sep3, sep5, sep7, dilsep3 and dilsep5. A convolution is
/// activation, convolution and norm. sep3, sep5 and sep7 have them twice. In a reduction cell the operator halves the
/// image if it reads an input of the cell. `place` is the cell that contains the operator.
Option cell_op(std::string_view name, const CellPlacement& place);

/// The definition of a cell space, from which cell_network() makes networks.
struct CellRules {
  std::string space;                         ///< Name for messages.
  CellStyle cell_style = CellStyle::kDarts;  ///< Style of the network.
  std::int64_t nodes = 5;                    ///< Number of nodes of a cell.
  std::vector<std::string> ops;              ///< Operators that a cell may use, as names of cell_op().
  bool distinct = false;                     ///< True: the two inputs of a node are different values.
  bool joins_unread_nodes = false;  ///< True: a cell joins the nodes and inputs that no node reads; false: all nodes.
  std::string normal_gives = {};    ///< If set, such as "first+1+2": the values that a normal cell joins.
  std::string reduce_gives = {};    ///< If set: the values that a reduction cell joins, likewise.
  /// Channels of the stem; 0: 3 x width, or 32 in the ImageNet stem of kNasnet and kAmoebanet. The ImageNet stem of
  /// kDarts and kEnas ignores it.
  std::int64_t stem_width = 0;
  /// True: the cell after a reduction cell has the same first input as the reduction cell,
  /// except for reduction cells of an ImageNet stem.
  bool past_reduction = false;
};

/// The options of a cell space: width (default 8), cells (1), stages (2), stem ("cifar" or "imagenet") and dropout (0).
std::vector<OptionSpec> cell_options();

/// Makes the blueprint of a network of stacked cells.
///
/// Each stage has `cells` normal cells. Between two stages a reduction cell halves the image and doubles the channels.
/// Each cell reads the two cells before it, converted to its width and size ("first" is the earlier one). The choices
/// "normal/…" and "reduce/…" are shared by all cells of a kind. With one stage and no reduction cells in the stem,
/// there are no "reduce/…" choices. `options` has a value for each of cell_options(). Errors: kInvalidArgument if the
/// samples are not images or are too small, otherwise as in `Blueprint::make`.
Result<Blueprint> cell_network(const CellRules& rules, const graph::OpTable& ops, const ModelInterface& ends,
                               const Options& options);

}  // namespace lanista::mutate::spaces
