// The driver's functions that make graphs and look at them.
#include <algorithm>

#include "api.hpp"
#include "tests/standin/calls/registry.hpp"
#include "tests/standin/events/event.hpp"
#include "tests/standin/launches/kernel_command.hpp"
#include "tests/standin/memory/transfer.hpp"
#include "tests/standin/streams/host_command.hpp"

namespace gangway::standin::api {
namespace {

std::vector<Node*> nodes_of(const Graph& graph, const CUgraphNode* handles, std::size_t count) {
  require(count == 0 || handles != nullptr);
  std::vector<Node*> found;
  for (std::size_t i = 0; i < count; ++i) {
    Node& one = node(handles[i]);
    require(graph.has(&one) && std::find(found.begin(), found.end(), &one) == found.end());
    found.push_back(&one);
  }
  return found;
}

Node& add(CUgraphNode* out, CUgraph handle, CUgraphNodeType type, std::shared_ptr<const Command> command,
          const CUgraphNode* dependencies, std::size_t count) {
  require(out != nullptr);
  const auto into = graph(handle);
  Node& made = into->add(type, std::move(command), nodes_of(*into, dependencies, count));
  *out = made.handle();
  return made;
}

// Fills the caller's array as such functions do: null asks for the count alone; what is left over is null.
CUresult list(const std::vector<Node*>& found, CUgraphNode* out, std::size_t* count) {
  require(count != nullptr);
  if (out != nullptr)
    for (std::size_t i = 0; i < *count; ++i) out[i] = i < found.size() ? found[i]->handle() : nullptr;
  *count = out != nullptr ? std::min(*count, found.size()) : found.size();
  return CUDA_SUCCESS;
}

std::vector<Node*> dependents(const Node& of) {
  std::vector<Node*> found;
  for (const auto& other : of.graph->nodes)
    if (std::find(other->after.begin(), other->after.end(), &of) != other->after.end())
      found.push_back(other.get());
  return found;
}

// What edges carry that have no ports.
void plain_edges(CUgraphEdgeData* data, std::size_t count) {
  for (std::size_t i = 0; data != nullptr && i < count; ++i) data[i] = {};
}

}  // namespace

CUresult cuGraphCreate(CUgraph* phGraph, unsigned flags) {
  const Lock lock = lock_driver();
  require(phGraph != nullptr && flags == 0);
  *phGraph = publish(std::make_shared<Graph>());
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph hGraph) {
  const Lock lock = lock_driver();
  withdraw(hGraph);
  return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph* phGraphClone, CUgraph originalGraph) {
  const Lock lock = lock_driver();
  require(phGraphClone != nullptr);
  *phGraphClone = publish(std::make_shared<Graph>(*graph(originalGraph)));
  return CUDA_SUCCESS;
}

CUresult cuGraphAddEmptyNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                             size_t numDependencies) {
  const Lock lock = lock_driver();
  add(phGraphNode, hGraph, CU_GRAPH_NODE_TYPE_EMPTY, nullptr, dependencies, numDependencies);
  return CUDA_SUCCESS;
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                 size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS* p) {
  const Lock lock = lock_driver();
  require(p != nullptr);
  const LaunchShape shape{
      {p->gridDimX, p->gridDimY, p->gridDimZ}, {p->blockDimX, p->blockDimY, p->blockDimZ}, p->sharedMemBytes};
  const CUfunction which = p->func != nullptr ? p->func : reinterpret_cast<CUfunction>(p->kern);
  add(phGraphNode, hGraph, CU_GRAPH_NODE_TYPE_KERNEL,
      make_kernel(which, shape, p->kernelParams, p->extra, false), dependencies, numDependencies);
  return CUDA_SUCCESS;
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                              size_t numDependencies, const CUDA_MEMCPY3D* copyParams, CUcontext ctx) {
  const Lock lock = lock_driver();
  require(copyParams != nullptr);
  context(ctx);
  const auto command = std::make_shared<CopyCommand>(copy_of(*copyParams));
  check_transfer(*command);
  add(phGraphNode, hGraph, CU_GRAPH_NODE_TYPE_MEMCPY, command, dependencies, numDependencies);
  return CUDA_SUCCESS;
}

CUresult cuGraphAddMemsetNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                              size_t numDependencies, const CUDA_MEMSET_NODE_PARAMS* memsetParams,
                              CUcontext ctx) {
  const Lock lock = lock_driver();
  require(memsetParams != nullptr);
  context(ctx);
  const auto command = std::make_shared<SetCommand>(set_of(*memsetParams));
  check_transfer(*command);
  add(phGraphNode, hGraph, CU_GRAPH_NODE_TYPE_MEMSET, command, dependencies, numDependencies);
  return CUDA_SUCCESS;
}

CUresult cuGraphAddHostNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                            size_t numDependencies, const CUDA_HOST_NODE_PARAMS* nodeParams) {
  const Lock lock = lock_driver();
  require(nodeParams != nullptr && nodeParams->fn != nullptr);
  add(phGraphNode, hGraph, CU_GRAPH_NODE_TYPE_HOST,
      std::make_shared<HostCommand>(nodeParams->fn, nodeParams->userData), dependencies, numDependencies);
  return CUDA_SUCCESS;
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                  size_t numDependencies, CUgraph childGraph) {
  const Lock lock = lock_driver();
  auto copy = std::make_shared<Graph>(*graph(childGraph));
  add(phGraphNode, hGraph, CU_GRAPH_NODE_TYPE_GRAPH, nullptr, dependencies, numDependencies).child =
      std::move(copy);
  return CUDA_SUCCESS;
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                   size_t numDependencies, CUevent which) {
  const Lock lock = lock_driver();
  const auto recorded = event(which);
  add(phGraphNode, hGraph, CU_GRAPH_NODE_TYPE_EVENT_RECORD, nullptr, dependencies, numDependencies).event =
      recorded;
  return CUDA_SUCCESS;
}

CUresult cuGraphAddEventWaitNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                 size_t numDependencies, CUevent which) {
  const Lock lock = lock_driver();
  const auto awaited = event(which);
  add(phGraphNode, hGraph, CU_GRAPH_NODE_TYPE_WAIT_EVENT, nullptr, dependencies, numDependencies).event =
      awaited;
  return CUDA_SUCCESS;
}

CUresult cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                size_t numDependencies) {
  const Lock lock = lock_driver();
  const auto which = graph(hGraph);
  require(numDependencies == 0 || (from != nullptr && to != nullptr));
  for (std::size_t i = 0; i < numDependencies; ++i) {
    Node& before = node(from[i]);
    Node& later = node(to[i]);
    require(which->has(&before) && which->has(&later) && &before != &later);
    require(std::find(later.after.begin(), later.after.end(), &before) == later.after.end());
    later.after.push_back(&before);
  }
  return CUDA_SUCCESS;
}

CUresult cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData*, size_t numDependencies) {
  return api::cuGraphAddDependencies(hGraph, from, to, numDependencies);
}

CUresult cuGraphGetNodes(CUgraph hGraph, CUgraphNode* nodes, size_t* numNodes) {
  const Lock lock = lock_driver();
  std::vector<Node*> all;
  for (const auto& one : graph(hGraph)->nodes) all.push_back(one.get());
  return list(all, nodes, numNodes);
}

CUresult cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode* rootNodes, size_t* numRootNodes) {
  const Lock lock = lock_driver();
  std::vector<Node*> roots;
  for (const auto& one : graph(hGraph)->nodes)
    if (one->after.empty()) roots.push_back(one.get());
  return list(roots, rootNodes, numRootNodes);
}

CUresult cuGraphGetEdges(CUgraph hGraph, CUgraphNode* from, CUgraphNode* to, size_t* numEdges) {
  const Lock lock = lock_driver();
  require(numEdges != nullptr);
  std::vector<Node*> starts, ends;
  for (const auto& one : graph(hGraph)->nodes)
    for (Node* before : one->after) starts.push_back(before), ends.push_back(one.get());
  std::size_t room = *numEdges;
  list(starts, from, &room);
  return list(ends, to, numEdges);
}

CUresult cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* edgeData,
                            size_t* numEdges) {
  const CUresult result = api::cuGraphGetEdges(hGraph, from, to, numEdges);
  plain_edges(edgeData, *numEdges);
  return result;
}

CUresult cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode* dependencies, size_t* numDependencies) {
  const Lock lock = lock_driver();
  return list(node(hNode).after, dependencies, numDependencies);
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode* dependentNodes,
                                      size_t* numDependentNodes) {
  const Lock lock = lock_driver();
  return list(dependents(node(hNode)), dependentNodes, numDependentNodes);
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode* dependencies,
                                       CUgraphEdgeData* edgeData, size_t* numDependencies) {
  const CUresult result = api::cuGraphNodeGetDependencies(hNode, dependencies, numDependencies);
  plain_edges(edgeData, *numDependencies);
  return result;
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode* dependentNodes,
                                         CUgraphEdgeData* edgeData, size_t* numDependentNodes) {
  const CUresult result = api::cuGraphNodeGetDependentNodes(hNode, dependentNodes, numDependentNodes);
  plain_edges(edgeData, *numDependentNodes);
  return result;
}

CUresult cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                   size_t numDependencies) {
  const Lock lock = lock_driver();
  const auto which = graph(hGraph);
  require(numDependencies == 0 || (from != nullptr && to != nullptr));
  for (std::size_t i = 0; i < numDependencies; ++i) {
    Node& later = node(to[i]);
    require(which->has(&node(from[i])) && which->has(&later) && std::erase(later.after, &node(from[i])) == 1);
  }
  return CUDA_SUCCESS;
}

CUresult cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                      const CUgraphEdgeData*, size_t numDependencies) {
  return api::cuGraphRemoveDependencies(hGraph, from, to, numDependencies);
}

CUresult cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType* type) {
  const Lock lock = lock_driver();
  require(type != nullptr);
  *type = node(hNode).type;
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroyNode(CUgraphNode hNode) {
  const Lock lock = lock_driver();
  Node& gone = node(hNode);
  for (Node* later : dependents(gone)) std::erase(later->after, &gone);
  remove(hNode);
  std::erase_if(gone.graph->nodes, [&](const auto& one) { return one.get() == &gone; });
  return CUDA_SUCCESS;
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph* phGraph) {
  const Lock lock = lock_driver();
  require(phGraph != nullptr && node(hNode).child != nullptr);
  *phGraph = node(hNode).child->handle();
  return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS* p) {
  const Lock lock = lock_driver();
  const auto* kernel = dynamic_cast<const KernelCommand*>(node(hNode).command.get());
  require(p != nullptr && kernel != nullptr);
  *p = {};
  p->func = reinterpret_cast<CUfunction>(kernel->function.get());
  p->gridDimX = kernel->shape.grid[0], p->gridDimY = kernel->shape.grid[1],
  p->gridDimZ = kernel->shape.grid[2];
  p->blockDimX = kernel->shape.block[0], p->blockDimY = kernel->shape.block[1],
  p->blockDimZ = kernel->shape.block[2];
  p->sharedMemBytes = kernel->shape.shared_bytes;
  p->kernelParams = kernel->pointers.data();
  return CUDA_SUCCESS;
}

}  // namespace gangway::standin::api
