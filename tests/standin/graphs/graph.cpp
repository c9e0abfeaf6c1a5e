#include "tests/standin/graphs/graph.hpp"

#include <algorithm>
#include <map>

#include "tests/standin/calls/registry.hpp"

namespace gangway::standin {
namespace {

std::map<CUgraph, std::shared_ptr<Graph>>& graphs() {
  static auto* const all = new std::map<CUgraph, std::shared_ptr<Graph>>;
  return *all;
}

}  // namespace

Graph::Graph() { enter(this, Kind::graph); }

Graph::Graph(const Graph& other) : Graph() {
  std::map<const Node*, Node*> copies;
  for (const auto& original : other.nodes) {
    Node& copy = add(original->type, original->command, {});
    copy.event = original->event;
    if (original->child != nullptr) {
      copy.child = std::make_shared<Graph>(*original->child);
    }
    copies[original.get()] = &copy;
  }
  for (const auto& original : other.nodes)
    for (const Node* before : original->after) copies.at(original.get())->after.push_back(copies.at(before));
}

Graph::~Graph() {
  for (const auto& node : nodes) remove(node.get());
  remove(this);
}

Node& Graph::add(CUgraphNodeType type, std::shared_ptr<const Command> command,
                 const std::vector<Node*>& after) {
  Node& node = *nodes.emplace_back(std::make_unique<Node>());
  node.type = type;
  node.graph = this;
  node.command = std::move(command);
  node.after = after;
  enter(&node, Kind::node);
  return node;
}

bool Graph::has(const Node* wanted) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](const auto& node) { return node.get() == wanted; });
}

std::vector<Node*> in_order(const Graph& graph) {
  std::vector<Node*> order;
  std::set<const Node*> placed;
  std::vector<Node*> left;
  for (const auto& node : graph.nodes) left.push_back(node.get());
  while (!left.empty()) {
    const std::size_t before = left.size();
    std::erase_if(left, [&](Node* node) {
      if (!std::all_of(node->after.begin(), node->after.end(),
                       [&](const Node* n) { return placed.contains(n); }))
        return false;
      placed.insert(node);
      order.push_back(node);
      return true;
    });
    require(left.size() < before);
  }
  return order;
}

std::shared_ptr<Graph> graph(CUgraph handle) {
  const auto found = graphs().find(handle);
  require(found != graphs().end());
  return found->second;
}

Node& node(CUgraphNode handle) {
  require(alive(handle, Kind::node));
  return *reinterpret_cast<Node*>(handle);
}

CUgraph publish(std::shared_ptr<Graph> made) {
  const CUgraph handle = made->handle();
  graphs()[handle] = std::move(made);
  return handle;
}

void withdraw(CUgraph handle) { require(graphs().erase(handle) == 1); }

}  // namespace gangway::standin
