// Pointers that tell of every access, for the text of blocks: base.inc.h includes this inside of its namespace, in the
// place of plain pointers.
template <class T>
struct Watched;

/// What a pointer shows: reading it and writing it are told.
template <class T>
struct Shown {
  T* p;
  operator T() const {
    note_read(p);
    return *p;
  }
  const Shown& operator=(T value) const {
    note_written(p);
    *p = value;
    return *this;
  }
  Shown(T* at) : p(at) {}
  Shown(const Shown&) = default;
  const Shown& operator=(const Shown& other) const { return *this = static_cast<T>(other); }
  Shown& operator=(const Shown& other) {
    static_cast<const Shown&>(*this) = static_cast<T>(other);
    return *this;
  }
};

template <class T>
struct Watched {
  T* p = nullptr;
  Shown<T> operator[](int i) const { return {p + i}; }
  Watched operator+(int i) const { return {p + i}; }
};

using Reals = Watched<float>;
using Doubles = Watched<double>;
using Ints = Watched<int>;
using Bytes = Watched<unsigned char>;

BLOCK_FN Four load4(const Reals& p, int i) { return {{p[i], p[i + 1], p[i + 2], p[i + 3]}}; }
BLOCK_FN Two load2(const Reals& p, int i) { return {{p[i], p[i + 1]}}; }
BLOCK_FN void store4(const Reals& p, int i, const Four& four) {
  for (int j = 0; j < 4; ++j) p[i + j] = four.v[j];
}
BLOCK_FN bool whole(const Reals& p) { return (reinterpret_cast<u64>(p.p) & 15) == 0; }
BLOCK_FN Ints ints_at(const Reals& p) { return {reinterpret_cast<int*>(p.p)}; }
BLOCK_FN Bytes bytes_at(const Reals& p) { return {reinterpret_cast<unsigned char*>(p.p)}; }
BLOCK_FN Doubles doubles_at(const Reals& p) { return {reinterpret_cast<double*>(p.p)}; }
BLOCK_FN Reals reals_at(const void* p) { return {static_cast<float*>(const_cast<void*>(p))}; }
