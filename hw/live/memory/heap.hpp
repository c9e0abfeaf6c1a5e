// Assigns addresses to allocations and tracks which addresses are backed by memory. Makes no driver calls:
// its owner creates and maps the memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace gangway::live {

class Heap {
 public:
  // Bytes. Sizes are rounded up to `grain`. Memory is created in multiples of `page` and in pieces of at most
  // `piece`; each piece costs several driver calls. Memory created at once for more than one allocation is at
  // most `spare`.
  struct Shape {
    std::uint64_t grain = 512, page = 2 << 20, spare = 64 << 20, piece = 64 << 20;
  };
  explicit Heap(const Shape& shape) : shape_(shape) {}

  struct Span {
    std::uint64_t begin = 0, end = 0;
    std::uint64_t size() const { return end - begin; }
    bool empty() const { return begin == end; }
  };
  struct Plan {
    Span taken;
    Span to_back;  // to be backed first; empty: all of it is backed
  };

  std::uint64_t rounded(std::uint64_t size) const { return up(size, shape_.grain); }
  // Adds addresses, whole pages, that allocations can have.
  void add(Span addresses);
  // Chooses addresses for `size` bytes, and takes nothing yet. `spare`: also plans some memory for later
  // allocations. None: no free addresses are left.
  std::optional<Plan> plan(std::uint64_t size, bool spare) const;
  // The pieces, of at most `most` bytes, in which memory for a span is to be created.
  std::vector<Span> pieces(Span to_back, std::uint64_t most = UINT64_MAX) const;
  void back(Span span);  // notes that all of it is backed now
  void take(Span span);  // what a plan takes, once it is backed
  void free(Span span);
  // Whether nothing in the piece is taken.
  bool is_free(Span piece) const;
  void unback(Span piece);  // notes that a free piece has lost its memory

  std::uint64_t backed() const { return backed_; }
  std::uint64_t idle() const { return idle_; }  // backed bytes that are not allocated

 private:
  struct Extent {  // free addresses
    std::uint64_t end = 0;
    bool backed = false;
  };
  using Extents = std::map<std::uint64_t, Extent>;

  static std::uint64_t up(std::uint64_t size, std::uint64_t to) { return (size + to - 1) / to * to; }
  std::uint64_t step() const;
  void insert(Span span, bool backed);
  void erase(Extents::iterator at);
  // Removes the span from the free extent that contains it.
  void cut(Span span);

  Shape shape_;
  Extents extents_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  // backed extents: size, begin
  std::set<std::uint64_t> bare_;                               // begins of unbacked extents
  std::uint64_t backed_ = 0, idle_ = 0;
};

}  // namespace gangway::live
