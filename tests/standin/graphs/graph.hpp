// Graphs: commands and what they depend on; and executable copies of them.
#pragma once

#include <cuda.h>

#include <memory>
#include <vector>

#include "tests/standin/streams/stream.hpp"

namespace gangway::standin {

struct Graph;
struct Event;

struct Node {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  Graph* graph = nullptr;
  std::shared_ptr<const Command> command;  // none: an empty node, or one of the next two
  std::shared_ptr<Graph> child;
  std::shared_ptr<Event> event;  // recorded or awaited
  std::vector<Node*> after;      // without repetition

  CUgraphNode handle() { return reinterpret_cast<CUgraphNode>(this); }
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;  // in order of creation

  Graph();
  Graph(const Graph&);  // a copy of its own, nodes in the same order
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  Node& add(CUgraphNodeType, std::shared_ptr<const Command>, const std::vector<Node*>& after);
  bool has(const Node*) const;
  CUgraph handle() { return reinterpret_cast<CUgraph>(this); }
};

// Each node after those that it depends on; fails with INVALID_VALUE when there is a cycle.
std::vector<Node*> in_order(const Graph&);

std::shared_ptr<Graph> graph(CUgraph);    // fails with INVALID_VALUE
Node& node(CUgraphNode);                  // likewise
CUgraph publish(std::shared_ptr<Graph>);  // makes it the program's
void withdraw(CUgraph);

struct Exec {
  std::shared_ptr<Context> context;
  std::shared_ptr<Graph> graph;    // its own copy
  std::vector<OperationPtr> last;  // launches of one executable graph follow one another
};

}  // namespace gangway::standin
