#include "tests/conformance_driver/gpu.hpp"
#include "tests/conformance_driver/topics.hpp"

namespace gangway::conformance {
namespace {

CUresult add_mix(CUgraphNode* node, CUgraph graph, const std::vector<CUgraphNode>& after, CUdeviceptr word,
                 Word k) {
  void* parameters[] = {&word, &k};
  CUDA_KERNEL_NODE_PARAMS p{};
  p.func = kernels().mix;
  p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimX = p.blockDimY = p.blockDimZ = 1;
  p.kernelParams = parameters;
  return cuGraphAddKernelNode(node, graph, after.data(), after.size(), &p);
}

CUresult run(CUgraph graph, CUstream s, int times = 1) {
  CUgraphExec exec = nullptr;
  if (const CUresult result = cuGraphInstantiate(&exec, graph, 0); result != CUDA_SUCCESS) return result;
  for (int i = 0; i < times; ++i) need(cuGraphLaunch(exec, s), "cuGraphLaunch");
  need(cuStreamSynchronize(s), "cuStreamSynchronize");
  return cuGraphExecDestroy(exec);
}

void made_by_hand(CUstream s) {
  const CUdeviceptr word = new_words(), copy = new_words();
  CUgraph graph = nullptr;
  CUgraphNode set = nullptr, first = nullptr, second = nullptr, copied = nullptr, host = nullptr,
              empty = nullptr;
  static Word seen = 0;
  Line("create, with flags") << cuGraphCreate(&graph, 0) << cuGraphCreate(&graph, 1);
  CUDA_MEMSET_NODE_PARAMS m{};
  m.dst = word, m.value = 3, m.elementSize = 4, m.width = 1, m.height = 1;
  Line("set") << cuGraphAddMemsetNode(&set, graph, nullptr, 0, &m, primary());
  Line("kernels") << add_mix(&first, graph, {set}, word, 1) << add_mix(&second, graph, {first}, word, 2);
  CUDA_MEMCPY3D c{};
  c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  c.srcDevice = word, c.dstDevice = copy, c.WidthInBytes = 4, c.Height = c.Depth = 1;
  Line("copy") << cuGraphAddMemcpyNode(&copied, graph, &second, 1, &c, primary());
  CUDA_HOST_NODE_PARAMS h{};
  h.fn = [](void* u) { ++*static_cast<Word*>(u); };
  h.userData = &seen;
  Line("host") << cuGraphAddHostNode(&host, graph, &copied, 1, &h);
  Line("empty") << cuGraphAddEmptyNode(&empty, graph, nullptr, 0);
  const CUgraphNode twice[] = {set, set};
  CUgraphNode wrong = nullptr;
  Line("the same dependency twice") << cuGraphAddEmptyNode(&wrong, graph, twice, 2);
  std::size_t nodes = 0, edges = 0, roots = 0, before = 0, after = 0;
  Line("nodes, edges, roots") << cuGraphGetNodes(graph, nullptr, &nodes)
                              << cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges)
                              << cuGraphGetRootNodes(graph, nullptr, &roots) << static_cast<unsigned>(nodes)
                              << static_cast<unsigned>(edges) << static_cast<unsigned>(roots);
  Line("around a node") << cuGraphNodeGetDependencies(second, nullptr, nullptr, &before)
                        << cuGraphNodeGetDependentNodes(second, nullptr, nullptr, &after)
                        << static_cast<unsigned>(before) << static_cast<unsigned>(after);
  Line("run") << run(graph, s) << value_of(word) << value_of(copy) << seen;
  Line("run three times") << run(graph, s, 3) << value_of(copy) << seen;
  CUgraph clone = nullptr;
  Line("clone") << cuGraphClone(&clone, graph) << run(clone, s) << value_of(copy) << seen;
  Line("destroy a node") << cuGraphDestroyNode(first)
                         << cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges)
                         << static_cast<unsigned>(edges)
                         << cuGraphAddDependencies(graph, &set, &second, nullptr, 1) << run(graph, s);
  Line("a cycle") << cuGraphAddDependencies(graph, &second, &empty, nullptr, 1)
                  << cuGraphAddDependencies(graph, &empty, &second, nullptr, 1) << run(graph, s);
  Line("an edge again") << cuGraphAddDependencies(clone, nullptr, nullptr, nullptr, 0);
  Line("destroy") << cuGraphDestroy(graph) << cuGraphDestroy(clone);
}

void executables(CUstream s) {
  const CUstream other = new_stream();
  const CUdeviceptr word = new_words();
  CUgraph graph = nullptr, second = nullptr, parent = nullptr;
  CUgraphNode a = nullptr, b = nullptr, child = nullptr;
  need(cuGraphCreate(&graph, 0), "cuGraphCreate");
  need(cuGraphCreate(&second, 0), "cuGraphCreate");
  need(cuGraphCreate(&parent, 0), "cuGraphCreate");
  need(add_mix(&a, graph, {}, word, 1), "add_mix");
  CUgraphExec exec = nullptr;
  need(cuGraphInstantiate(&exec, graph, 0), "cuGraphInstantiate");
  need(add_mix(&b, graph, {a}, word, 2), "add_mix");
  need(cuGraphLaunch(exec, s), "cuGraphLaunch");
  Line("what is added later does not run") << value_of(word);
  need(add_mix(&a, second, {}, word, 7), "add_mix");
  CUgraphExecUpdateResultInfo info{};
  Line("update") << cuGraphExecUpdate(exec, second, &info) << static_cast<int>(info.result)
                 << cuGraphLaunch(exec, s) << value_of(word);
  Line("update to another shape") << cuGraphExecUpdate(exec, graph, &info) << static_cast<int>(info.result);
  {
    Hold hold(s);
    need(cuGraphLaunch(exec, s), "cuGraphLaunch");
    need(cuGraphLaunch(exec, other), "cuGraphLaunch");
    Line("launches of one executable wait for each other") << cuStreamQuery(other);
    hold.release();
    Line("result") << value_of(word);
  }
  {
    Hold hold(s);
    need(cuGraphLaunch(exec, s), "cuGraphLaunch");
    const CUresult destroyed = cuGraphExecDestroy(exec);
    hold.release();
    Line("destroyed under way") << destroyed << value_of(word);
  }
  need(add_mix(&a, parent, {}, word, 3), "add_mix");
  Line("child") << cuGraphAddChildGraphNode(&child, parent, &a, 1, second)
                << add_mix(&b, parent, {child}, word, 4) << run(parent, s) << value_of(word);
  std::size_t nodes = 0;
  Line("nodes of the parent") << cuGraphGetNodes(parent, nullptr, &nodes) << static_cast<unsigned>(nodes);
}

}  // namespace

void graphs() {
  kernels();
  const CUstream s = new_stream();
  made_by_hand(s);
  executables(s);
}

}  // namespace gangway::conformance
