#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/model/mutate/model_view.h"

// Words for exchangeable operators, such as "conv3x3", "sep5x5" and "relu".
namespace lanista::mutate {

/// All words that options may list, in a fixed order: "relu", "gelu", "silu", "tanh", "sigmoid", "identity", then
/// conv_words(), then "max_pool2d" and "avg_pool2d".
std::vector<std::string> family_words();
/// The words of convolutions in a fixed order: "conv1x1", "conv3x3", "conv5x5", "sep3x3", "sep5x5" (separable) and
/// "dw3x3" (depthwise). Mutators and texts of layers offer them.
std::vector<std::string> conv_words();

/// The word for the operator and kernel of a node, or an empty text if there is none.
///
/// An activation or a pool with a window has the name of its operator, which family_words() may lack. Stride, groups
/// and bias do not count. A convolution has a word only if its padding keeps the size at stride 1 and its dilation
/// is 1.
std::string word_of(const ModelView& view, const graph::Node& node);

/// The words of operators that may replace a node; empty if there are none. The word of the node can be among them. For
/// a convolution these are conv_words() and "identity", for an identity on images all activations and convolutions.
std::vector<std::string> words_of_family(const ModelView& view, const graph::Node& node);

/// An operator with attributes, for a node that is replaced or inserted.
struct Replacement {
  std::string op;      ///< name of the operator
  graph::Attrs attrs;  ///< its attributes
};

/// The operator for `word`, which replaces a node. A convolution has the width of the node, and its stride, groups and
/// bias if it is a convolution too. A pool has its kernel, stride, padding and ceil_mode. No value if the type of the
/// node would change, or if the word is not in words_of_family().
std::optional<Replacement> rewrite(const ModelView& view, const graph::Node& node, std::string_view word);

/// The convolution for `word` with stride 1 that keeps the image type `type`. No value if `word` is no convolution, or
/// if `type` is no image.
std::optional<Replacement> same_conv(const graph::OpTable& ops, const graph::ValueType& type, std::string_view word);

}  // namespace lanista::mutate
