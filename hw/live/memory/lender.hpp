// The daemon's end of passing memory on (passed_memory.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "hw/live/memory/passed_memory.hpp"

namespace gangway::live {

// Of one client.
class Lender {
 public:
  Lender();  // RunError: no descriptors are left
  int client_end() const { return client_end_.get(); }
  void welcomed() { client_end_.reset(); }  // the client has its end

  // The pieces that the client has passed on since the last call.
  std::vector<PassedMemory> passed();
  bool lend(const PassedMemory& memory);  // false: the client does not listen

 private:
  Descriptor end_, client_end_;
  std::map<std::uint64_t, PassedMemory> lent_;  // that the client has
};

}  // namespace gangway::live
