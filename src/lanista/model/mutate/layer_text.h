#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/mutate/op_words.h"
#include "lanista/model/mutate/pattern.h"

namespace lanista::mutate {

/// The text of a layer in an option of a mutator.
///
/// It is a word, such as "relu" or "conv3x3", or an operator with attributes, such as "conv2d(out=16, bias=false)".
/// The form $NAME.ATTRIBUTE is replaced by an attribute of a node that the pattern names, as in "linear(out=$a.out)".
class LayerText {
 public:
  /// Reads one layer. `captures` are the names that may follow $.
  /// Errors: kInvalidArgument, kNotFound. The message has the text, the mistake and the nearest name.
  static Result<LayerText> parse(std::string_view text, const std::vector<std::string>& captures = {});

  /// Reads a chain of layers, such as "conv2d(out=16) >> relu". Errors as in parse(); an empty text is an error.
  static Result<std::vector<LayerText>> parse_chain(std::string_view text,
                                                    const std::vector<std::string>& captures = {});

  /// The text that was read.
  const std::string& text() const { return text_; }

  /// The layer for an input of type `input`. A convolution word keeps the number of channels, and `linear` without
  /// attributes the number of features. `match` gives the nodes for $NAME. Errors: kNotApplicable.
  Result<Replacement> on(const ModelView& view, const graph::ValueType& input, const Match* match = nullptr) const;
  /// The layer that replaces `node`. A word keeps the width, stride, groups and bias of the node. An operator without
  /// attributes keeps the attributes of the node that it has too; with attributes it is used as written.
  /// Errors: kNotApplicable.
  Result<Replacement> in_place_of(const ModelView& view, const graph::Node& node) const;

 private:
  Result<Replacement> written(const ModelView& view, const Match* match) const;

  std::string text_;
  bool is_word_ = false;  ///< a bare name
};

}  // namespace lanista::mutate
