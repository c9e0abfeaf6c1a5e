#include "tests/standin/contexts/context.hpp"

#include <chrono>
#include <thread>

#include "tests/standin/calls/registry.hpp"
#include "tests/standin/contexts/host_function.hpp"
#include "tests/standin/contexts/visible_devices.hpp"
#include "tests/standin/memory/arena.hpp"
#include "tests/standin/memory/host_memory.hpp"
#include "tests/standin/streams/stream.hpp"

namespace gangway::standin {
namespace {

std::vector<Device>& devices() {
  static auto* const all = [] {
    auto* made = new std::vector<Device>(visible_devices().size());
    for (std::size_t i = 0; i < made->size(); ++i) {
      (*made)[i].ordinal = static_cast<int>(i);
      (*made)[i].physical = visible_devices()[i];
    }
    return made;
  }();
  return *all;
}

std::map<CUcontext, std::shared_ptr<Context>>& contexts() {
  static auto* const all = new std::map<CUcontext, std::shared_ptr<Context>>;
  return *all;
}

}  // namespace

int device_count() { return static_cast<int>(visible_devices().size()); }

Device& device(CUdevice ordinal) {
  InHostFunction::refuse();
  require(ordinal >= 0 && ordinal < device_count(), CUDA_ERROR_INVALID_DEVICE);
  return devices()[static_cast<std::size_t>(ordinal)];
}

unsigned physical_of(CUdevice ordinal) { return devices()[static_cast<std::size_t>(ordinal)].physical; }

std::shared_ptr<Context> context(CUcontext handle) {
  const auto found = contexts().find(handle);
  require(found != contexts().end(), CUDA_ERROR_INVALID_CONTEXT);
  return found->second;
}

std::vector<std::shared_ptr<Context>> all_contexts() {
  std::vector<std::shared_ptr<Context>> all;
  for (const auto& [handle, one] : contexts()) all.push_back(one);
  return all;
}

std::shared_ptr<Context> make_context(Device& device, unsigned flags, bool primary) {
  auto made = std::make_shared<Context>();
  made->device = &device;
  made->flags = flags;
  made->is_primary = primary;
  made->number = enter(made->handle(), Kind::context);
  contexts()[made->handle()] = made;
  made->legacy = make_stream(*made, Stream::Which::legacy, true, 0);
  return made;
}

void destroy_context(Lock& lock, Context& which) {
  const auto kept = which.shared_from_this();
  synchronize(lock, which);
  while (!which.streams.empty()) forget_stream(*std::shared_ptr<Stream>(*which.streams.begin()));
  which.legacy.reset();
  for (const auto& ends : which.at_end) ends();
  Arena::get().release_of(which);  // what a stream's order allocated, or cuMemCreate, outlives it on an H100
  free_managed_of(which);
  remove(which.handle());
  which.destroyed = true;
  contexts().erase(which.handle());
  static const std::chrono::duration<double, std::micro> takes(environment_number("STANDIN_END_US", 0));
  if (takes.count() <= 0) return;
  lock.unlock();
  std::this_thread::sleep_for(takes);
  lock.lock();
}

std::shared_ptr<Context> current_or_none() {
  const auto& stack = this_thread_state().stack;
  if (stack.empty() || stack.back() == nullptr) return nullptr;
  const auto found = contexts().find(stack.back());
  return found == contexts().end() ? nullptr : found->second;
}

std::shared_ptr<Context> current() {
  InHostFunction::refuse();
  const auto& stack = this_thread_state().stack;
  auto found = current_or_none();
  if (found == nullptr)
    fail(stack.empty() || stack.back() == nullptr ? CUDA_ERROR_INVALID_CONTEXT
                                                  : CUDA_ERROR_CONTEXT_IS_DESTROYED);
  require(found->lost == CUDA_SUCCESS, found->lost);
  return found;
}

void synchronize(Lock& lock, Context& which) {
  std::vector<OperationPtr> last = which.left_apart;
  last.insert(last.end(), which.left_blocking.begin(), which.left_blocking.end());
  for (const auto& stream : which.streams)
    for (const OperationPtr& operation : stream->last) last.push_back(operation);
  Engine::get().wait(lock, [&] { return all_done(last); });
}

ThreadState& this_thread_state() {
  thread_local ThreadState state;
  return state;
}

}  // namespace gangway::standin
