// Pointers that report every access, for the block text. base.inc.h includes this text inside of its namespace, instead
// of plain pointers.
template <class T>
struct TracedPointer;

/// Target of a pointer. It reports each read and write.
template <class T>
struct TracedReference {
  T* p;
  operator T() const {
    record_read(p);
    return *p;
  }
  const TracedReference& operator=(T value) const {
    record_write(p);
    *p = value;
    return *this;
  }
  TracedReference(T* at) : p(at) {}
  TracedReference(const TracedReference&) = default;
  const TracedReference& operator=(const TracedReference& other) const { return *this = static_cast<T>(other); }
  TracedReference& operator=(const TracedReference& other) {
    static_cast<const TracedReference&>(*this) = static_cast<T>(other);
    return *this;
  }
};

template <class T>
struct TracedPointer {
  T* p = nullptr;
  TracedReference<T> operator[](int i) const { return {p + i}; }
  TracedPointer operator+(int i) const { return {p + i}; }
};

using Reals = TracedPointer<float>;
using Doubles = TracedPointer<double>;
using Ints = TracedPointer<int>;
using Bytes = TracedPointer<unsigned char>;

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
