// What the forms need of the arguments of submissions, by their types.
#pragma once

#include <memory>
#include <type_traits>

#include "hw/intercept/forms/forms.hpp"

namespace gangway::intercept {

// --- Launches: cuLaunchKernel and cuLaunchKernelEx
// -----------------------------------------------------------

inline std::shared_ptr<FormedKernel> kernel_of(CUfunction function, unsigned, unsigned, unsigned, unsigned,
                                               unsigned, unsigned, unsigned, CUstream, void**, void**) {
  return forms == nullptr ? nullptr : forms->kernels().kernel(function);
}
inline std::shared_ptr<FormedKernel> kernel_of(const CUlaunchConfig*, CUfunction function, void**, void**) {
  return forms == nullptr ? nullptr : forms->kernels().kernel(function);
}

inline LaunchCall launch_call(CUfunction, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                              unsigned bz, unsigned shared, CUstream stream, void** parameters,
                              void** extra) {
  return {{gx, gy, gz}, {bx, by, bz}, shared, stream, nullptr, 0, parameters, extra};
}
inline LaunchCall launch_call(const CUlaunchConfig* config, CUfunction, void** parameters, void** extra) {
  return {{config->gridDimX, config->gridDimY, config->gridDimZ},
          {config->blockDimX, config->blockDimY, config->blockDimZ},
          config->sharedMemBytes,
          config->hStream,
          config->attrs,
          config->numAttrs,
          parameters,
          extra};
}

inline CUfunction function_of(CUfunction function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                              unsigned, CUstream, void**, void**) {
  return function;
}
inline CUfunction function_of(const CUlaunchConfig*, CUfunction function, void**, void**) { return function; }
inline CUfunction function_of(CUfunction function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                              unsigned, CUstream, void**) {  // cooperative
  return function;
}

template <typename... A>
inline constexpr bool names_function = requires(A... arguments) {
  function_of(arguments...);
};

// The kernel that a question is about; null: none.
template <typename... A>
void* asked_about(A... arguments) {
  void* function = nullptr;
  const auto take = [&](auto argument) {
    if constexpr (std::is_same_v<decltype(argument), CUfunction> ||
                  std::is_same_v<decltype(argument), CUkernel>)
      function = argument;
  };
  (take(arguments), ...);
  return function;
}

template <typename... A>
inline constexpr bool can_take_forms = requires(A... arguments) {
  kernel_of(arguments...);
};

// --- Copies: whether the call may wait for what is in the stream before
// --------------------------------------

inline bool pinned(const void* at) {
  const RelaxedCapture relaxed;
  CUmemorytype type{};
  return cuda.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                    reinterpret_cast<CUdeviceptr>(at)) == CUDA_SUCCESS;
}

template <typename... A>
bool may_wait(A...) {
  return true;
}
// Within the device, or between memories that cuMemcpyAsync tells apart itself.
inline bool may_wait(CUdeviceptr to, CUdeviceptr from, std::size_t, CUstream) {
  return !pinned(reinterpret_cast<const void*>(to)) || !pinned(reinterpret_cast<const void*>(from));
}
// Up to 64 KiB from the host are read before the call returns.
inline bool may_wait(CUdeviceptr, const void* host, std::size_t bytes, CUstream) {
  return bytes > 65536 && !pinned(host);
}
inline bool may_wait(void* host, CUdeviceptr, std::size_t, CUstream) { return !pinned(host); }

// --- Others
// -----------------------------------------------------------------------------------------------

template <typename... A>
inline constexpr bool unloads = (std::is_same_v<A, CUmodule> || ...) || (std::is_same_v<A, CUlibrary> || ...);

template <typename... A>
std::uint64_t event_in(A... arguments) {
  std::uint64_t event = 0;
  const auto take = [&](auto argument) {
    if constexpr (std::is_same_v<decltype(argument), CUevent>)
      event = reinterpret_cast<std::uint64_t>(argument);
  };
  (take(arguments), ...);
  return event;
}

}  // namespace gangway::intercept
