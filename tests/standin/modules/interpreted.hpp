// Kernels without a host twin: their PTX is carried out (tests/ptx/interpreter), if STANDIN_INTERPRET says
// so.
#pragma once

#include <cuda.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/standin/modules/ptx.hpp"

namespace gangway::standin {

struct LaunchShape;

// Whether the environment's STANDIN_INTERPRET is set: a number, of which the schedules of blocks and threads
// are drawn.
bool interprets();

// A module's text. Launches run at the same time, unless it has variables.
class Interpreted {
 public:
  // Fails with INVALID_PTX.
  explicit Interpreted(std::string text);
  ~Interpreted();

  struct Variable {
    std::string name;
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
  };
  // The variables' memory; they get their first values.
  void place(std::vector<Variable> variables);
  // Fails with ILLEGAL_ADDRESS, or LAUNCH_TIMEOUT where it does not end.
  void run(const std::string& entry, const LaunchShape& shape, const std::vector<char>& parameters);

 private:
  struct Machines;
  std::unique_ptr<Machines> machines_;
};

}  // namespace gangway::standin
