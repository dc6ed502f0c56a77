#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/model/mutate/model_view.h"

// Words for exchangeable operators, such as "conv3x3", "sep5x5" and "relu".
namespace lanista::mutate {

/// All words for option lists: activations, convolutions, pools.
std::vector<std::string> family_words();
/// The words of convolutions, such as "conv3x3".
std::vector<std::string> conv_words();

/// The word that describes a node by operator and kernel, or empty if there is none.
///
/// Stride, groups and bias do not count. A convolution has a word only if its padding keeps the size at stride 1 and if
/// its dilation is 1.
std::string word_of(const ModelView& view, const graph::Node& node);

/// The words that may replace a node, its own included; empty if it has none. An identity on images may become an
/// activation or a convolution.
std::vector<std::string> words_of_family(const ModelView& view, const graph::Node& node);

/// An operator with attributes that replaces a node or is inserted.
struct Replacement {
  std::string op;      ///< name of the operator
  graph::Attrs attrs;  ///< its attributes
};

/// The replacement of a node for `word`, with the width, stride, groups and bias of the node. No value if the result
/// would have another type, or if the word cannot replace the node.
std::optional<Replacement> rewrite(const ModelView& view, const graph::Node& node, std::string_view word);

/// The convolution for `word` that keeps the image type `type`, with stride 1. No value if there is none.
std::optional<Replacement> same_conv(const graph::OpTable& ops, const graph::ValueType& type, std::string_view word);

}  // namespace lanista::mutate
