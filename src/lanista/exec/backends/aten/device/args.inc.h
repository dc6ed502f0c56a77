// What kernels of lanes are told. `vector_width` is 4 where numbers are read and written four at a time, else 1: a
// kernel's threads are so many fewer. Read by the host's compiler and by the GPU's alike, so there is nothing in here
// but numbers and pointers. Pointers to values are void: the same kernel is there for float and for double. NOLINTBEGIN

/// y = f(x), or of x and dy, element by element; all lie alike.
struct Elementwise {
  const void* x;
  const void* dy;
  void* y;
  double a, b;  // attributes of the operator
  long long vector_width;
};

/// Up to four values, added in their order.
struct Sum {
  const void* x[4];
  void* y;
  long long terms, vector_width;
};

/// Rows of the lanes' tables [lanes, vocab, dim], lanes `stride` apart; or marks [lanes, tokens, vocab] that are one at
/// their token. What a position has of its own is added.
struct Embedding {
  const long long* tokens;  // [lanes, each], lanes `token_stride` apart
  const void* table;
  const void* position;  // [lanes, positions, dim], lanes `position_stride` apart; may be null
  void* y;
  long long each, vocab, dim, stride, token_stride, positions, position_stride, vector_width;
};

/// [lanes, rows, columns] and values of a column in a lane.
struct Columns {
  const void* x;
  const void* by;  // [lanes, columns], lanes `stride` apart
  void* y;
  long long per_lane, columns, stride, vector_width;
  long long can_load_fours;  // `by`, too, may be read four at a time
};

/// What is done to a number of a product before it is stored.
enum ActivationFn { kNoActivation, kRelu, kGelu, kSilu, kHardSwish, kClip };

/// Parameters and slots of lanes where they lie, rows of a state `lane` elements apart, and what changes them.
struct UpdateTarget {
  const long long* active;
  const double* hyper;  // [lanes, columns]
  void* parameters;
  void* slots[2];
  long long lane, columns;
};

/// An optimiser's rule.
enum UpdateRule { kNoUpdate, kSgd, kAdam, kAdamw, kLion, kRmsprop };

/// Where the matrices [outer, inner, rows, columns] of a product lie.
struct Matrices {
  long long outer, inner, row, column;
};

/// y = scale left right + bias + other, [outer, inner, m, n]; and f(y) beside it, or f'(before) y in its place, which
/// lie as y does.
struct Product {
  const void* left;            // [m, k] of each
  const void* right;           // [k, n]
  const void* bias;            // [outer, n], `bias_outer` apart; may be null
  const void* other;           // as y, added to it; may be null
  const void* pre_activation;  // as y; null: f itself is wanted, if any
  void* y;
  void* activated;                   // f(y); may be null
  void* column_sums;                 // [outer inner, n], of `right`; may be null
  Matrices left_at, right_at, y_at;  // y has neighbours along a row
  long long inner, m, n, k, bias_outer;
  long long y_can_load_fours, bias_can_load_fours;  // what is made, or lies like it, and the bias, come four at a time
  double scale;                                     // of the product, before the bias
  double a, b;                                      // of f
  long long activation;                             // f, a ActivationFn
  UpdateTarget to;         // parameters [m, n] of each lane, in the order of y, whose gradient this is,
  long long fused_update;  // and by which UpdateRule they are changed at once, in place of storing it; or kNoUpdate
};

/// Sums over rows of [lanes, rows, columns], `each` rows a part: [lanes, parts, columns] in double. Of what a
/// normalisation sums (Moments), there are two columns for each.
struct ColumnSum {
  const void* x;
  const void* dy;       // of a gradient
  const void* mean;     // [lanes, columns]
  const void* inverse;  // of rows that are normalised each for itself, as their mean: [lanes, rows]
  void* out;
  long long rows, columns, each, parts;
};

/// The end of a batch norm's statistics: from sums [lanes, 2 columns].
struct NormFinalize {
  const double* sums;  // [lanes, parts, 2 columns]
  const void* x;       // whose first row the distances are taken from
  const void* old_mean;
  const void* old_var;  // [lanes, columns], lanes `stride` apart
  const double* momentum;
  void* mean;
  void* inverse;
  void* new_mean;
  void* new_var;
  double eps;
  long long rows, columns, stride, momentum_stride, parts;
};

/// Batch norm's values, or its gradient: [lanes, rows, columns].
struct NormApply {
  const void* x;
  const void* dy;
  const void* mean;
  const void* inverse;
  const void* slope;  // [lanes, columns], lanes `stride` apart; may be null
  const void* shift;
  const void* dot;
  const void* sum;
  void* y;
  void* activated;  // f(y); may be null
  long long rows, columns, stride, vector_width;
  double a, b;           // of f
  long long activation;  // f, a ActivationFn
};

/// Rows of `len` numbers: softmax, layer norm and their gradients.
struct Rows {
  const void* x;
  const void* dy;
  const void* weight;  // [lanes, len], lanes `stride` apart; may be null
  const void* bias;
  const void* other;  // as y, added to it, of a layer norm's gradient; may be null
  void* y;
  void* mean;  // a number a row
  void* inverse;
  double eps;
  double scale;  // of a softmax's gradient
  long long len, rows_per_lane, stride;
};

/// The gradient of rows [lanes, rows, len] that were normalised each for itself, and sums over some rows: of dy times
/// what was normalised, and of dy. Of rows that threads of a block can keep.
struct RowGrad {
  static constexpr int kThreads = 256, kEach = 8;  // of a block; rows that one of them takes part in
  const void* x;
  const void* dy;    // a row of it for each `rows_per_dy` rows
  const void* mean;  // [lanes, rows]
  const void* inverse;
  const void* weight;  // [lanes, len], lanes `stride` apart; may be null
  const void* other;   // as y, added to it; may be null
  void* y;
  double* sums;  // [lanes, parts, 2 len], a part being a block's rows
  long long len, rows, parts, stride, rows_per_dy;
  long long fours, weight_can_load_fours;  // rows, and weights, may be read four at a time
};

/// The mean over rows [lanes, samples, rows, len] of a sample that are normalised each for itself: [lanes, samples,
/// len].
struct RowMean {
  static constexpr int kThreads = RowGrad::kThreads;
  const void* x;
  const void* weight;  // [lanes, len], lanes `stride` apart; may be null
  const void* bias;
  void* y;
  void* mean;  // [lanes, samples, rows]
  void* inverse;
  double eps;
  long long len, rows, samples, stride, fours;
};

/// Where a value [lanes, samples, channels, rows, columns] lies.
struct Image {
  long long lane, sample, channel, row, column;
};

/// Windows of images, spread first by `spread` where it is above one: [lanes groups, n oh ow, kh kw c/groups].
struct Windows {
  const void* x;
  void* y;
  Image at;
  long long samples, h, w, oh, ow, kh, kw, stride_h, stride_w, dilation_h, dilation_w, top, left, spread_h, spread_w,
      groups, each;
};

/// A convolution whose outputs come eight channels at a time: [lanes, samples, oh, ow, co]. Of a gradient by x, x is
/// dy, spread by the stride, and weights are turned.
struct Convolution {
  const void* x;
  const void* weight;  // [kh, kw, ci, co] of a lane, lanes `weight_stride` apart
  const void* bias;    // [co], lanes `bias_stride` apart; may be null
  void* y;
  Image at;
  long long samples, h, w, ci, oh, ow, co, kh, kw, stride_h, stride_w, dilation_h, dilation_w, top, left, spread_h,
      spread_w, weight_stride, bias_stride, fours;  // fours: input channels may be read four at a time
};

/// Its gradient by weights, four input channels and eight outputs at a time: [lanes, parts, kh, kw, ci, co], a part
/// being `each` rows of the output.
struct ConvolutionGrad {
  const void* x;
  const void* dy;
  void* y;
  Image at, dy_at;
  long long samples, h, w, ci, oh, ow, co, kh, kw, stride_h, stride_w, dilation_h, dilation_w, top, left, each, parts,
      fours;
};

/// Weights of a convolution for the way back: windows turned, channels changed places.
struct WeightTranspose {
  const void* x;  // [kh, kw, ci, co], lanes `lane` apart
  void* y;        // [kh, kw, co, ci], dense
  long long windows, ci, co, lane;
};

/// A convolution in which every channel is a group of its own; channels lie last in all that is written.
struct Depthwise {
  const void* x;
  const void* dy;
  const void* weight;  // [kh, kw, c] of a lane, lanes `weight_stride` apart
  void* y;
  Image at, dy_at;
  long long samples, channels, h, w, oh, ow, kh, kw, stride_h, stride_w, dilation_h, dilation_w, top, left,
      weight_stride, each, parts, vector_width;
};

/// Pools; what is written has its channels last.
struct Pool {
  const void* x;
  unsigned char* winning_cell;  // the cell of a window that won
  void* y;
  Image at;               // of x
  Image winning_cell_at;  // of `winning_cell`, where it is read
  long long samples, channels, h, w, oh, ow, kh, kw, stride_h, stride_w, top, left, bottom, right, padding,
      vector_width;
};

/// Cross-entropy of samples with some positions each.
struct CrossEntropy {
  const void* x;            // [lanes, samples positions, classes]: logits, or probabilities where a gradient is wanted
  const long long* labels;  // [lanes, samples positions], lanes `label_stride` apart
  const double* smoothing;  // of each lane, `smoothing_stride` apart
  const void* weights;      // [lanes, samples], may be null
  void* loss;               // [lanes, samples]
  void* y;                  // probabilities, or the gradient
  void* gradient;           // beside probabilities; may be null
  long long samples, positions, classes, label_stride, smoothing_stride;
  double share;  // of one row in the mean
};

/// Some stretches of all lanes' states, which become others or are updated: element k of those of a lane belongs to the
/// stretch whose `first` is the last at or before it, if it is that long.
struct StateRanges {
  static constexpr int kMaxRanges = 24;
  long long count;  // elements of all of them in a lane, each stretch rounded up to fours
  int items;
  int fours[kMaxRanges];        // read and written four at a time
  long long first[kMaxRanges];  // of each, among these
  long long length[kMaxRanges];
  long long begin[kMaxRanges];        // where it begins in parameters, or buffers
  const void* from[kMaxRanges];       // gradients, or new values
  long long from_stride[kMaxRanges];  // elements between two lanes of these
};

/// What a step says of its chunk: rows of totals, `lanes` apart.
struct LossRecord {
  const long long* active;
  const void* losses;  // [lanes, samples]
  const long long* step;
  double* totals;
  long long samples, lanes;
};

/// Updates of parameters.
struct Update {
  StateRanges of;
  UpdateTarget to;
  const void* scale;  // of each lane's gradients; may be null
  long long updates;  // fours of all lanes
  LossRecord note;    // of lanes that come behind them
};

/// New buffers of active lanes.
struct Renew {
  StateRanges of;
  const long long* active;
  void* to;
  long long lane;
};

/// The factor of clipped gradients.
struct Clip {
  const void* gradients;
  double* partial;
  const double* hyper;
  void* scale;
  long long count, lane, parts, columns, clip;
};

/// [lanes, samples, each].
struct Dropout {
  const void* x;
  void* y;
  const long long* active;
  const long long* keys;     // [lanes, 2]
  const long long* samples;  // lanes `sample_stride` apart
  const double* lane_attrs;  // lanes `lane_attr_stride` apart
  long long batch, each, sample_stride, lane_attr_stride, origin;
};
// NOLINTEND
