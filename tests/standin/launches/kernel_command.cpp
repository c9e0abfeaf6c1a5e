#include "tests/standin/launches/kernel_command.hpp"

#include <algorithm>
#include <cstring>

#include "tests/standin/engine/clock.hpp"
#include "tests/standin/standin.h"

namespace gangway::standin {
namespace {

constexpr std::size_t multiprocessors = 132, threads_on_one = 2048;

void check(const Function& function, const LaunchShape& shape, bool cooperative) {
  const auto volume = [](const unsigned(&v)[3]) { return std::size_t{v[0]} * v[1] * v[2]; };
  require(volume(shape.grid) > 0 && volume(shape.block) > 0);
  require(shape.grid[0] <= 2147483647 && shape.grid[1] <= 65535 && shape.grid[2] <= 65535);
  require(volume(shape.block) <= 1024 && shape.block[0] <= 1024 && shape.block[1] <= 1024 &&
          shape.block[2] <= 64);
  const Entry& entry = function.entry;
  require(volume(shape.block) <= entry.most_threads);
  require(entry.required[0] == 0 || std::equal(shape.block, shape.block + 3, entry.required));
  const auto allowed = function.attributes.find(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  require(shape.shared_bytes <=
          (allowed == function.attributes.end() ? 49152U : static_cast<unsigned>(allowed->second)));
  constexpr CUfunction_attribute kCluster[] = {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
                                               CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
                                               CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH};
  for (int dimension = 0; dimension < 3; ++dimension) {
    const auto size = function.attributes.find(kCluster[dimension]);
    require(size == function.attributes.end() || size->second == 0 ||
                shape.grid[dimension] % static_cast<unsigned>(size->second) == 0,
            CUDA_ERROR_INVALID_CLUSTER_SIZE);
  }
  const std::size_t resident =
      multiprocessors * std::min<std::size_t>(32, threads_on_one / ((volume(shape.block) + 31) / 32 * 32));
  require(!cooperative || volume(shape.grid) <= resident, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

// The list that `extra` is: pairs of a tag and its value, up to CU_LAUNCH_PARAM_END.
void copy_buffer(const Entry& entry, void** extra, std::vector<char>& bytes) {
  const void* buffer = nullptr;
  std::size_t size = 0;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
      buffer = extra[1];
    else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
      size = *static_cast<const std::size_t*>(extra[1]);
    else
      fail(CUDA_ERROR_INVALID_VALUE);
  }
  require(buffer != nullptr && size >= entry.parameter_bytes);
  std::memcpy(bytes.data(), buffer, entry.parameter_bytes);
}

void report_fault(CUresult result) { fail(result); }

void* find_global(const StandinLaunch* launch, const char* name) {
  const auto& variables = static_cast<const Module*>(launch->module)->variables;
  const auto found = variables.find(name);
  return found == variables.end() ? nullptr : reinterpret_cast<void*>(found->second.first);
}

}  // namespace

void KernelCommand::run() const {
  if (function->twin == nullptr)
    return function->module->interpreted->run(function->entry.name, shape, bytes);
  std::vector<char> copy = bytes;  // a kernel may write to its parameters
  std::vector<void*> parameters;
  for (const Parameter& p : function->entry.parameters) parameters.push_back(copy.data() + p.offset);
  StandinLaunch launch{};
  launch.entry = function->entry.name.c_str();
  std::copy_n(shape.grid, 3, launch.grid);
  std::copy_n(shape.block, 3, launch.block);
  launch.shared_bytes = shape.shared_bytes;
  launch.params = parameters.data();
  launch.now_ns = now_ns;
  launch.sleep_ns = sleep_ns;
  launch.fault = report_fault;
  launch.global = find_global;
  launch.module = function->module;
  function->twin(&launch);
}

std::shared_ptr<KernelCommand> make_kernel(CUfunction handle, const LaunchShape& shape, void** parameters,
                                           void** extra, bool cooperative) {
  auto made = std::make_shared<KernelCommand>();
  made->function = standin::function(handle);
  made->shape = shape;
  const Entry& entry = made->function->entry;
  require(parameters == nullptr || extra == nullptr);
  check(*made->function, shape, cooperative);
  made->bytes.resize(entry.parameter_bytes);
  if (extra != nullptr) copy_buffer(entry, extra, made->bytes);
  require(extra != nullptr || parameters != nullptr || entry.parameters.empty());
  for (std::size_t i = 0; extra == nullptr && i < entry.parameters.size(); ++i) {
    const Parameter& p = entry.parameters[i];
    std::memcpy(made->bytes.data() + p.offset, parameters[i], p.size);
  }
  for (const Parameter& p : entry.parameters) made->pointers.push_back(made->bytes.data() + p.offset);
  return made;
}

}  // namespace gangway::standin
