// Executable graphs: the driver's functions that instantiate and launch them.
#include <algorithm>

#include "api.hpp"
#include "tests/standin/calls/registry.hpp"
#include "tests/standin/events/event.hpp"
#include "tests/standin/streams/submission.hpp"

namespace gangway::standin {
namespace {

std::map<CUgraphExec, std::shared_ptr<Exec>>& executables() {
  static auto* const all = new std::map<CUgraphExec, std::shared_ptr<Exec>>;
  return *all;
}

std::shared_ptr<Exec> executable(CUgraphExec handle) {
  const auto found = executables().find(handle);
  require(found != executables().end());
  return found->second;
}

// The operation in front of a graph's, which the stream's queue counts; observers see it.
struct LaunchCommand : Command {
  const char* name() const override { return "graph"; }
  bool occupies_device() const override { return false; }
  void run() const override {}
};

OperationPtr make(const Exec& exec, const Stream& stream, std::shared_ptr<const Command> command) {
  auto operation = std::make_shared<Operation>();
  operation->command = std::move(command);
  operation->context = exec.context;
  operation->stream_number = stream.number;
  operation->priority = stream.priority;
  return operation;
}

// Submits the graph's nodes behind `start`; what comes back depends on all of them.
OperationPtr submit_nodes(const Exec& exec, const Graph& graph, const Stream& stream,
                          const OperationPtr& start) {
  std::map<const Node*, OperationPtr> made;
  std::vector<OperationPtr> all{start};
  for (Node* node : in_order(graph)) {
    std::vector<OperationPtr> after;
    for (const Node* before : node->after) after.push_back(made.at(before));
    if (after.empty()) after.push_back(start);
    if (node->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT && node->event->recorded != nullptr)
      after.push_back(node->event->recorded);
    OperationPtr operation = make(exec, stream, node->command);
    Engine::get().submit(operation, after);
    if (node->child != nullptr) operation = submit_nodes(exec, *node->child, stream, operation);
    if (node->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) node->event->recorded = operation;
    all.push_back(made[node] = operation);
  }
  const OperationPtr end = make(exec, stream, nullptr);
  Engine::get().submit(end, all);
  return end;
}

void launch(Lock& lock, Exec& exec, Stream& stream) {
  const OperationPtr start = enqueue(lock, stream, std::make_shared<LaunchCommand>(), exec.last);
  const OperationPtr end = submit_nodes(exec, *exec.graph, stream, start);
  exec.last = stream.last = {end};
}

void check_instance(const Graph& graph) {
  for (const auto& node : graph.nodes)
    if (node->child != nullptr) check_instance(*node->child);
  in_order(graph);
}

CUresult instantiate(CUgraphExec* out, CUgraph handle) {
  const Lock lock = lock_driver();
  const auto context = current();
  require(out != nullptr);
  refuse_unsafe();
  const auto original = graph(handle);
  check_instance(*original);
  auto made = std::make_shared<Exec>();
  made->context = context;
  made->graph = std::make_shared<Graph>(*original);
  *out = reinterpret_cast<CUgraphExec>(made.get());
  enter(made.get(), Kind::exec);
  executables()[*out] = std::move(made);
  return CUDA_SUCCESS;
}

bool same_shape(const Graph& a, const Graph& b) {
  if (a.nodes.size() != b.nodes.size()) return false;
  const auto edges = [](const Graph& g) {
    std::map<const Node*, std::size_t> numbers;
    std::vector<std::vector<std::size_t>> found;
    for (const auto& node : g.nodes) numbers.emplace(node.get(), numbers.size());
    for (const auto& node : g.nodes) {
      auto& row = found.emplace_back();
      for (const Node* before : node->after) row.push_back(numbers.at(before));
      std::sort(row.begin(), row.end());
    }
    return found;
  };
  return edges(a) == edges(b) && std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(),
                                            [](const auto& x, const auto& y) { return x->type == y->type; });
}

}  // namespace

namespace api {

CUresult cuGraphInstantiateWithFlags(CUgraphExec* phGraphExec, CUgraph hGraph, unsigned long long) {
  return instantiate(phGraphExec, hGraph);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* phGraphExec, CUgraph hGraph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* instantiateParams) {
  require(instantiateParams != nullptr);
  const CUresult result = instantiate(phGraphExec, hGraph);
  instantiateParams->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  return result;
}

CUresult cuGraphInstantiate(CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode*, char*, size_t) {
  return instantiate(phGraphExec, hGraph);
}

CUresult cuGraphInstantiate_v2(CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode*, char*, size_t) {
  return instantiate(phGraphExec, hGraph);
}

CUresult cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream) {
  Lock lock = lock_driver();
  const auto into = stream(hStream);
  const auto exec = executable(hGraphExec);
  if (captures(*into)) invalidate(*into->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  launch(lock, *exec, *into);
  return CUDA_SUCCESS;
}

CUresult cuGraphUpload(CUgraphExec hGraphExec, CUstream hStream) {
  const Lock lock = lock_driver();
  executable(hGraphExec);
  stream(hStream);
  return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec hGraphExec) {
  const Lock lock = lock_driver();
  executable(hGraphExec);
  refuse_unsafe();
  remove(hGraphExec);
  executables().erase(hGraphExec);
  return CUDA_SUCCESS;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
                              CUgraphExecUpdateResultInfo* resultInfo) {
  const Lock lock = lock_driver();
  const auto exec = executable(hGraphExec);
  const auto with = graph(hGraph);
  require(resultInfo != nullptr);
  *resultInfo = {};
  if (!same_shape(*exec->graph, *with)) {
    resultInfo->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  exec->graph = std::make_shared<Graph>(*with);
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace gangway::standin
