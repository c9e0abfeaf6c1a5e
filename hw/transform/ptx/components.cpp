#include "hw/transform/ptx/components.hpp"

#include <algorithm>

namespace gangway::transform {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;
using Next = std::function<const std::vector<std::uint32_t>&(std::uint32_t)>;

// Tarjan's strongly connected components of a part of the nodes, without recursion.
class Components {
 public:
  Components(const std::vector<bool>& among, const Next& next)
      : among_(among), next_(next), index_(among.size(), kNone), low_(among.size()), waiting_(among.size()) {}

  std::vector<std::vector<std::uint32_t>> all() {
    for (std::uint32_t node = 0; node < among_.size(); ++node)
      if (among_[node] && index_[node] == kNone) from(node);
    return std::move(found_);
  }

 private:
  void from(std::uint32_t root) {
    std::vector<std::pair<std::uint32_t, std::size_t>> stack;
    open(root);
    stack.emplace_back(root, 0);
    while (!stack.empty()) {
      const std::uint32_t node = stack.back().first;
      if (stack.back().second < next_(node).size()) {
        const std::uint32_t to = next_(node)[stack.back().second++];
        if (!among_[to]) continue;
        if (index_[to] == kNone) {
          open(to);
          stack.emplace_back(to, 0);
        } else if (waiting_[to]) {
          low_[node] = std::min(low_[node], index_[to]);
        }
      } else {
        close(node);
        stack.pop_back();
        if (!stack.empty()) low_[stack.back().first] = std::min(low_[stack.back().first], low_[node]);
      }
    }
  }

  void open(std::uint32_t node) {
    index_[node] = low_[node] = count_++;
    path_.push_back(node);
    waiting_[node] = true;
  }

  void close(std::uint32_t node) {
    if (low_[node] != index_[node]) return;
    std::vector<std::uint32_t> component;
    std::uint32_t last = kNone;
    do {
      last = path_.back();
      path_.pop_back();
      waiting_[last] = false;
      component.push_back(last);
    } while (last != node);
    const auto& next = next_(node);
    if (component.size() > 1 || std::find(next.begin(), next.end(), node) != next.end()) {
      std::sort(component.begin(), component.end());
      found_.push_back(std::move(component));
    }
  }

  const std::vector<bool>& among_;
  const Next& next_;
  std::vector<std::uint32_t> index_, low_, path_;
  std::vector<bool> waiting_;
  std::uint32_t count_ = 0;
  std::vector<std::vector<std::uint32_t>> found_;
};

}  // namespace

std::vector<std::vector<std::uint32_t>> components(const std::vector<bool>& among, const Next& next) {
  return Components(among, next).all();
}

}  // namespace gangway::transform
