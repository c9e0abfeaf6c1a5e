// What the device does: operations that depend on one another, and nothing else. Streams, events and graphs
// are ways to make such dependencies.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace gangway::standin {

struct Connection;
struct Context;
struct Stream;

// What an operation does when its turn comes. Runs without the driver's lock; throws Failure on a fault.
struct Command {
  virtual ~Command() = default;
  virtual const char* name() const = 0;
  virtual void run() const = 0;
  virtual bool occupies_device() const { return true; }  // not: host functions, waits for values
  virtual bool runs_after_fault() const { return false; }
  virtual bool takes_connection() const { return true; }   // not: copies, and what the host does
  virtual bool keeps_connection() const { return false; }  // until it is over, not until it has started
};

struct Operation {
  std::uint64_t id = 0;                    // in order of submission; 0: a marker, which observers do not see
  std::shared_ptr<const Command> command;  // none: a marker, over as soon as what it depends on is
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  std::uint64_t stream_number = 0;
  Connection* connection = nullptr;
  int priority = 0;
  bool counted = false;     // towards its stream's queue
  std::size_t missing = 0;  // unfinished operations that it depends on
  bool done = false;
  std::uint64_t finished_ns = 0;  // device time
  std::vector<std::shared_ptr<Operation>> successors;
};

using OperationPtr = std::shared_ptr<Operation>;

}  // namespace gangway::standin
