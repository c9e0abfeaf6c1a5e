#include "hw/intercept/forms/formed_launch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace gangway::intercept {
namespace {

constexpr std::uint64_t kMostBlocks = 0x7fffffff;

// Whether a launch with it is like one without as far as blocks go.
bool harmless(const CUlaunchAttribute& attribute) {
  const CUlaunchAttributeValue& value = attribute.value;
  switch (attribute.id) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return true;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      return value.cooperative == 0;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      return value.programmaticStreamSerializationAllowed == 0;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      return value.clusterDim.x <= 1 && value.clusterDim.y <= 1 && value.clusterDim.z <= 1;
    default:
      return false;
  }
}

// The buffer of a list of tags and values.
bool copy_buffer(void** extra, std::vector<std::byte>& parameters, std::uint32_t bytes) {
  const void* buffer = nullptr;
  std::size_t size = 0;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
      buffer = extra[1];
    else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1] != nullptr)
      std::memcpy(&size, extra[1], sizeof size);
    else
      return false;
  }
  if (buffer == nullptr || size < bytes) return false;
  std::memcpy(parameters.data(), buffer, bytes);
  return true;
}

}  // namespace

std::unique_ptr<FormedLaunch> FormedLaunch::of(const LaunchCall& call, CUstream stream, FormedKernel& formed,
                                               const ReadyForm& ready, std::uint32_t resident) {
  const transform::KernelForms& kernel = formed.kernel;
  const transform::Form& form = ready.form;
  const std::uint64_t blocks = std::uint64_t{call.grid[0]} * call.grid[1] * call.grid[2];
  if (blocks == 0 || blocks > kMostBlocks || call.grid[1] > 65535 || call.grid[2] > 65535) return nullptr;
  if (form.one_dimension && (call.grid[1] != 1 || call.grid[2] != 1)) return nullptr;
  if (call.parameters != nullptr && call.extra != nullptr) return nullptr;
  auto made = std::make_unique<FormedLaunch>();
  for (unsigned a = 0; a < call.attribute_count; ++a) {
    if (!harmless(call.attributes[a])) return nullptr;
    if (call.attributes[a].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      made->attributes_.push_back(call.attributes[a]);
  }
  std::uint32_t bytes = 0;
  for (const transform::Parameter& each : kernel.parameters)
    bytes = std::max(bytes, each.offset + each.bytes);
  if (bytes > form.hidden.offset) return nullptr;
  made->parameters_.resize(form.hidden.offset + transform::HiddenParameters::kBytes);
  if (call.extra != nullptr) {
    if (!copy_buffer(call.extra, made->parameters_, bytes)) return nullptr;
  } else {
    if (call.parameters == nullptr && !kernel.parameters.empty()) return nullptr;
    for (std::size_t p = 0; p < kernel.parameters.size(); ++p) {
      const transform::Parameter& each = kernel.parameters[p];
      if (call.parameters[p] == nullptr) return nullptr;
      std::memcpy(made->parameters_.data() + each.offset, call.parameters[p], each.bytes);
    }
  }
  made->kernel_ = &formed;
  made->function_ = ready.function;
  made->stream_ = stream;
  std::copy_n(call.grid, 3, made->grid_);
  std::copy_n(call.block, 3, made->block_);
  made->shared_bytes_ = call.shared_bytes + form.shared_bytes;
  made->blocks_ = static_cast<std::uint32_t>(blocks);
  made->sliced_ = &ready == &formed.slice;
  made->loops_ = &ready == &formed.loop;
  made->resident_ = resident;
  made->looks_ = looks(formed.times.ns_a_block(), made->blocks_, resident);
  made->hidden_ = form.hidden.offset;
  return made;
}

std::optional<FormedLaunch::Asked> FormedLaunch::asked() const {
  if (!attributes_.empty()) return std::nullopt;
  return Asked{function_, block_[0], block_[1], block_[2], shared_bytes_};
}

CUresult FormedLaunch::submit(CUstream where, const Words& words, std::uint32_t first,
                              std::uint32_t end) const {
  return submit(where, words, first, end, loops_ ? std::min(resident_, end - first) : end - first);
}

CUresult FormedLaunch::submit(CUstream where, const Words& words, std::uint32_t first, std::uint32_t end,
                              unsigned blocks) const {
  struct {
    std::uint64_t control;
    std::uint32_t grid[3], first, end, looks;
    std::uint64_t host;
  } const hidden{
      words.control, {grid_[0], grid_[1], grid_[2]}, sliced_ ? first : look_before(end), end, looks_,
      words.host};
  static_assert(sizeof hidden == transform::HiddenParameters::kBytes);
  std::vector<std::byte> parameters = parameters_;  // the keeper's thread may be making it again
  std::memcpy(parameters.data() + hidden_, &hidden, transform::HiddenParameters::kBytes);
  std::size_t bytes = parameters.size();
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, parameters.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  if (attributes_.empty())
    return cuda.cuLaunchKernel(function_, blocks, 1, 1, block_[0], block_[1], block_[2], shared_bytes_, where,
                               nullptr, extra);
  std::vector<CUlaunchAttribute> attributes = attributes_;
  CUlaunchConfig config{};
  config.gridDimX = blocks;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = block_[0];
  config.blockDimY = block_[1];
  config.blockDimZ = block_[2];
  config.sharedMemBytes = shared_bytes_;
  config.hStream = where;
  config.attrs = attributes.data();
  config.numAttrs = static_cast<unsigned>(attributes.size());
  return cuda.cuLaunchKernelEx(&config, function_, nullptr, extra);
}

CUresult FormedLaunch::report(CUfunction kernel, CUstream where, CUdeviceptr control, CUdeviceptr to) {
  void* parameters[] = {&control, &to};
  return cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, where, parameters, nullptr);
}

}  // namespace gangway::intercept
