// Addresses for allocations, and which of them have memory behind them. Pure: whoever owns it creates and
// maps the memory.
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
  // Sizes are rounded up to `grain`; memory comes in multiples of `page`, and in pieces of at most `piece`,
  // as each piece costs the driver some calls. At most `spare` at once comes for more than one allocation.
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
    Span to_back;  // empty: there is memory behind all of it
  };

  std::uint64_t rounded(std::uint64_t size) const { return up(size, shape_.grain); }
  // Addresses, whole pages, that allocations can have.
  void add(Span addresses);
  // Where so many bytes go. `spare`: with some more memory than these need, so that the next ones find it.
  // None: there are no addresses left.
  std::optional<Plan> plan(std::uint64_t size, bool spare) const;
  // The pieces that memory for it is created in.
  std::vector<Span> pieces(Span to_back) const;
  void back(Span span);  // there is memory behind all of it now
  void take(Span span);  // of a plan that is backed
  void free(Span span);
  // Of the span of a piece: whether nothing in it is taken.
  bool is_free(Span piece) const;
  void unback(Span piece);  // of free pieces: their memory is gone

  std::uint64_t backed() const { return backed_; }
  std::uint64_t idle() const { return idle_; }  // bytes of memory that nothing was allocated from

 private:
  struct Extent {  // of free addresses
    std::uint64_t end = 0;
    bool backed = false;
  };
  using Extents = std::map<std::uint64_t, Extent>;

  static std::uint64_t up(std::uint64_t size, std::uint64_t to) { return (size + to - 1) / to * to; }
  std::uint64_t step() const;
  void insert(Span span, bool backed);
  void erase(Extents::iterator at);
  // The part of a free extent that holds the span changes what is behind it, or is no longer free.
  void cut(Span span);

  Shape shape_;
  Extents extents_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  // of backed ones: size, begin
  std::set<std::uint64_t> bare_;                               // begins of the others
  std::uint64_t backed_ = 0, idle_ = 0;
};

}  // namespace gangway::live
