#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/mutate/op_words.h"
#include "lanista/model/mutate/pattern.h"

namespace lanista::mutate {

/// A layer as options write it: a word ("relu", "conv3x3") or an operator with attributes ("conv2d(out=16,
/// bias=false)"). $NAME.ATTRIBUTE stands for an attribute of a node that the pattern has named ("linear(out=$a.out)").
class LayerText {
 public:
  /// Errors: kInvalidArgument, kNotFound: the text, what is wrong, and the nearest name. `captures` are the names that
  /// may stand behind $.
  static Result<LayerText> parse(std::string_view text, const std::vector<std::string>& captures = {});

  /// "conv2d(out=16) >> relu" as layers. Errors: as parse; an empty text is a mistake.
  static Result<std::vector<LayerText>> parse_chain(std::string_view text,
                                                    const std::vector<std::string>& captures = {});

  const std::string& text() const { return text_; }

  /// The layer in front of which a value of type `input` stands: a word is a convolution onto the same width, `linear`
  /// without attributes one onto the same features. Errors: kNotApplicable.
  Result<Replacement> on(const ModelView& view, const graph::ValueType& input, const Match* match = nullptr) const;
  /// The layer in the place of `node`: a word keeps its width, stride, groups and bias; an operator with attributes
  /// stands as it is written, one without keeps those attributes that it understands. Errors: kNotApplicable.
  Result<Replacement> in_place_of(const ModelView& view, const graph::Node& node) const;

 private:
  Result<Replacement> written(const ModelView& view, const Match* match) const;

  std::string text_;
  bool is_word_ = false;  ///< a bare name
};

}  // namespace lanista::mutate
