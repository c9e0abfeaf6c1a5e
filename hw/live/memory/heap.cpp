#include "hw/live/memory/heap.hpp"

#include <algorithm>
#include <iterator>

namespace gangway::live {

void Heap::add(Span addresses) { insert(addresses, false); }

// An eighth of what there is, so that there are few pieces and little is idle.
std::uint64_t Heap::step() const {
  return std::clamp(up(backed_ / 8, shape_.page), shape_.page, shape_.spare);
}

std::optional<Heap::Plan> Heap::plan(std::uint64_t size, bool spare) const {
  if (size > UINT64_MAX - shape_.grain) return std::nullopt;  // rounded up, it would be little
  size = rounded(size);
  if (const auto fits = by_size_.lower_bound({size, 0}); fits != by_size_.end())
    return Plan{{fits->second, fits->second + size}, {}};
  for (const std::uint64_t bare : bare_) {
    const auto at = extents_.find(bare);
    const auto before = at == extents_.begin() ? extents_.end() : std::prev(at);
    const auto after = std::next(at);
    const bool from_before = before != extents_.end() && before->second.end == bare && before->second.backed;
    const std::uint64_t begin = from_before ? before->first : bare;
    const bool into_after = after != extents_.end() && after->first == at->second.end && after->second.backed;
    const std::uint64_t most = into_after ? after->second.end : at->second.end;
    if (most - begin < size) continue;
    std::uint64_t end = up(begin + size - bare, shape_.page) + bare;
    if (spare) end = std::max(end, bare + step());
    return Plan{{begin, begin + size}, {bare, std::min(end, at->second.end)}};
  }
  return std::nullopt;
}

std::vector<Heap::Span> Heap::pieces(Span to_back, std::uint64_t most) const {
  most = std::min(most, shape_.piece);
  std::vector<Span> all;
  for (std::uint64_t at = to_back.begin; at < to_back.end; at += most)
    all.push_back({at, std::min(at + most, to_back.end)});
  return all;
}

void Heap::back(Span span) {
  cut(span);
  insert(span, true);
  backed_ += span.size();
}

void Heap::take(Span span) { cut(span); }
void Heap::free(Span span) { insert({span.begin, span.begin + rounded(span.size())}, true); }

bool Heap::is_free(Span piece) const {
  auto at = extents_.upper_bound(piece.begin);
  if (at == extents_.begin()) return false;
  at = std::prev(at);
  return at->second.backed && at->second.end >= piece.end;
}

void Heap::unback(Span piece) {
  cut(piece);
  insert(piece, false);
  backed_ -= piece.size();
}

void Heap::erase(Extents::iterator at) {
  const std::uint64_t size = at->second.end - at->first;
  if (at->second.backed) {
    by_size_.erase({size, at->first});
    idle_ -= size;
  } else {
    bare_.erase(at->first);
  }
  extents_.erase(at);
}

// Joins neighbours of its kind.
void Heap::insert(Span span, bool backed) {
  if (span.empty()) return;
  auto after = extents_.lower_bound(span.begin);
  if (after != extents_.end() && after->first == span.end && after->second.backed == backed) {
    span.end = after->second.end;
    const auto gone = after++;
    erase(gone);
  }
  if (after != extents_.begin()) {
    const auto before = std::prev(after);
    if (before->second.end == span.begin && before->second.backed == backed) {
      span.begin = before->first;
      erase(before);
    }
  }
  extents_[span.begin] = {span.end, backed};
  if (backed) {
    by_size_.insert({span.size(), span.begin});
    idle_ += span.size();
  } else {
    bare_.insert(span.begin);
  }
}

void Heap::cut(Span span) {
  const auto at = std::prev(extents_.upper_bound(span.begin));
  const Span whole{at->first, at->second.end};
  const bool backed = at->second.backed;
  erase(at);
  insert({whole.begin, span.begin}, backed);
  insert({span.end, whole.end}, backed);
}

}  // namespace gangway::live
