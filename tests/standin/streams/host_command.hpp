// A function of the program, called in a stream's order or a graph's.
#pragma once

#include "tests/standin/contexts/host_function.hpp"
#include "tests/standin/engine/operation.hpp"

namespace gangway::standin {

struct HostCommand : Command {
  HostCommand(CUhostFn f, void* u) : function(f), user(u) {}
  const char* name() const override { return "host"; }
  bool occupies_device() const override { return false; }
  bool takes_connection() const override { return false; }
  void run() const override {
    const InHostFunction inside;
    function(user);
  }

  CUhostFn function;
  void* user;
};

}  // namespace gangway::standin
