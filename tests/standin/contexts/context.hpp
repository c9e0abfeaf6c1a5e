// Devices, contexts and what belongs to a thread. All of it is guarded by the driver's lock but the thread's
// own.
#pragma once

#include <cuda.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "tests/standin/engine/connection.hpp"
#include "tests/standin/engine/engine.hpp"
#include "tests/standin/engine/failure.hpp"

namespace gangway::standin {

struct Capture;

struct Device {
  int ordinal = 0;                   // among those that the process sees
  unsigned physical = 0;             // the machine's; another one once the process was restored there
  std::shared_ptr<Context> primary;  // while it is active
  unsigned retained = 0;
  unsigned primary_flags = 0;
  std::vector<CUmemoryPool> pools;  // the default pool, once somebody asked for it
};

struct Context : std::enable_shared_from_this<Context> {
  Device* device = nullptr;
  bool is_primary = false;
  bool destroyed = false;
  unsigned flags = 0;
  std::uint64_t number = 0;
  CUresult lost = CUDA_SUCCESS;  // a fault's error, which every later call returns
  std::shared_ptr<Stream> legacy;
  std::set<std::shared_ptr<Stream>> streams;  // all, the default ones too
  // What destroyed streams left behind, those that the legacy stream waits for and the others.
  std::vector<OperationPtr> left_blocking, left_apart;
  Connections connections;
  std::map<CUlimit, std::size_t> limits;
  std::vector<std::function<void()>> at_end;  // what else goes when it is destroyed

  // A device's primary contexts have one handle, each after the other, as on an H100.
  CUcontext handle() { return reinterpret_cast<CUcontext>(is_primary ? static_cast<void*>(device) : this); }
};

using Lock = std::unique_lock<std::mutex>;
inline Lock lock_driver() { return Lock(Engine::get().mutex); }

int device_count();                           // that CUDA_VISIBLE_DEVICES leaves visible
Device& device(CUdevice);                     // fails with INVALID_DEVICE
unsigned physical_of(CUdevice);               // that there is
std::shared_ptr<Context> context(CUcontext);  // fails with INVALID_CONTEXT
std::vector<std::shared_ptr<Context>> all_contexts();
std::shared_ptr<Context> make_context(Device&, unsigned flags, bool primary);
void destroy_context(Lock&, Context&);

// The thread's current context: any, or fails when there is none (INVALID_CONTEXT) or it is lost (its error).
std::shared_ptr<Context> current_or_none();
std::shared_ptr<Context> current();

// Waits for all that was submitted to the context so far.
void synchronize(Lock&, Context&);

struct ThreadState {
  std::vector<CUcontext> stack;
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::map<CUcontext, std::weak_ptr<Stream>> own_streams;  // the per-thread default stream in each context
};
ThreadState& this_thread_state();

}  // namespace gangway::standin
