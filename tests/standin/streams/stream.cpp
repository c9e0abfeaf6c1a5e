#include "tests/standin/streams/stream.hpp"

#include <algorithm>

#include "tests/standin/calls/call.hpp"
#include "tests/standin/calls/registry.hpp"
#include "tests/standin/engine/connection.hpp"
#include "tests/standin/engine/environment.hpp"

namespace gangway::standin {
namespace {

std::size_t queue_depth() {
  static const auto depth = static_cast<std::size_t>(environment_number("STANDIN_QUEUE_DEPTH", 1024));
  return depth;
}

void add_unfinished(std::vector<OperationPtr>& list, const std::vector<OperationPtr>& more) {
  for (const OperationPtr& operation : more)
    if (!operation->done) list.push_back(operation);
}

// Everything that the stream's next operation has to wait for.
std::vector<OperationPtr> awaited(const Stream& stream) {
  std::vector<OperationPtr> all;
  add_unfinished(all, stream.last);
  if (stream.which == Stream::Which::legacy) {
    add_unfinished(all, stream.context->left_blocking);
    for (const auto& other : stream.context->streams)
      if (other->blocking && other.get() != &stream) add_unfinished(all, other->last);
  } else if (stream.blocking && stream.context->legacy != nullptr) {
    add_unfinished(all, stream.context->legacy->last);
  }
  return all;
}

// An idle stream gets one each time it has something to do.
Connection* connection_of(Stream& stream) {
  if (stream.connection == nullptr && (stream.connection = stream.context->connections.least_used()))
    ++stream.connection->streams;
  return stream.connection;
}

std::shared_ptr<Stream> per_thread_stream(Context& context) {
  std::weak_ptr<Stream>& own = this_thread_state().own_streams[context.handle()];
  auto found = own.lock();
  if (found == nullptr || found->gone) own = found = make_stream(context, Stream::Which::per_thread, true, 0);
  return found;
}

}  // namespace

std::shared_ptr<Stream> make_stream(Context& context, Stream::Which which, bool blocking, int priority) {
  auto made = std::make_shared<Stream>();
  made->context = &context;
  made->which = which;
  made->blocking = blocking;
  made->priority = priority;
  made->number = enter(made.get(), Kind::stream);
  context.streams.insert(made);
  return made;
}

void give_back_connection(Stream& stream) {
  if (stream.connection != nullptr) --stream.connection->streams;
  stream.connection = nullptr;
}

void forget_stream(Stream& which) {
  const auto kept = which.shared_from_this();
  which.gone = true;
  std::vector<OperationPtr>& left = which.blocking ? which.context->left_blocking : which.context->left_apart;
  std::erase_if(left, [](const OperationPtr& operation) { return operation->done; });
  add_unfinished(left, which.last);
  remove(&which);
  which.context->streams.erase(kept);
}

std::shared_ptr<Stream> stream(CUstream handle) {
  if (handle == nullptr) handle = per_thread_default_stream() ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  if (handle == CU_STREAM_LEGACY) return current()->legacy;
  if (handle == CU_STREAM_PER_THREAD) return per_thread_stream(*current());
  if (current_or_none() != nullptr) current();  // a lost context says so before all else
  require(alive(handle, Kind::stream), CUDA_ERROR_INVALID_HANDLE);
  auto found = reinterpret_cast<Stream*>(handle)->shared_from_this();
  require(found->context->lost == CUDA_SUCCESS, found->context->lost);
  return found;
}

bool all_done(std::span<const OperationPtr> operations) {
  return std::all_of(operations.begin(), operations.end(), [](const OperationPtr& o) { return o->done; });
}

std::vector<OperationPtr> outstanding(const Stream& stream) {
  return stream.which == Stream::Which::legacy ? awaited(stream) : stream.last;
}

OperationPtr enqueue(Lock& lock, Stream& stream, std::shared_ptr<const Command> command,
                     std::span<const OperationPtr> after) {
  const auto kept = stream.shared_from_this();
  const auto context = stream.context->shared_from_this();
  if (command != nullptr) {
    if (stream.queued >= queue_depth())
      Engine::get().wait(lock, [&] { return stream.queued < queue_depth(); });
    require(context->lost == CUDA_SUCCESS, context->lost);
  }
  const auto operation = std::make_shared<Operation>();
  operation->command = std::move(command);
  operation->context = context;
  operation->stream = kept;
  operation->stream_number = stream.number;
  operation->priority = stream.priority;
  if (operation->command != nullptr) {
    if (operation->command->takes_connection()) operation->connection = connection_of(stream);
    if (operation->connection != nullptr) operation->connection->waiting.push_back(operation.get());
    operation->counted = true;
    ++stream.queued;
  }
  std::vector<OperationPtr> all = awaited(stream);
  all.insert(all.end(), after.begin(), after.end());
  stream.last = {operation};
  Engine::get().submit(operation, all);
  return operation;
}

void synchronize(Lock& lock, Stream& stream) {
  const auto kept = stream.shared_from_this();
  const auto context = stream.context->shared_from_this();
  const std::vector<OperationPtr> before = outstanding(stream);
  Engine::get().wait(lock, [&] { return all_done(before); });
  require(context->lost == CUDA_SUCCESS, context->lost);
}

}  // namespace gangway::standin
