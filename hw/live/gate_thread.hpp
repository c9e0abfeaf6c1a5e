// What a thread remembers of the gate and of the client page that it last used.
#pragma once

#include <cstdint>

#include "hw/live/gate_driver.hpp"
#include "hw/live/page.hpp"

namespace gangway::live {

struct GateThread {
  std::uint64_t opening = 0;  // the gate and page that the rest is about
  ClientPage* page = nullptr;
  ThreadSlot* thread = nullptr;
  std::uint32_t depth = 0;
  bool engaged = false;      // a submission is under way
  std::uint64_t number = 0;  // of its last submission: the thread's above, its own below; 0: it has none yet
  std::uint64_t job = 0;     // the latest that it knows to have begun
  std::uint64_t generation = 0;

  // Its slot of the stream; null: it remembers none of this generation.
  StreamSlot* slot(const StreamName& name, std::uint64_t now) const {
    const Remembered& r = streams_[place(name)];
    return generation == now && r.handle == name.handle && r.context == name.context ? r.slot : nullptr;
  }
  void remember(const StreamName& name, StreamSlot* slot) {
    streams_[place(name)] = {name.handle, name.context, slot};
  }
  void forget_streams() {
    for (Remembered& r : streams_) r = {};
  }

 private:
  struct Remembered {
    std::uint64_t handle = 0, context = 0;
    StreamSlot* slot = nullptr;
  };
  static std::size_t place(const StreamName& name) {
    return (name.handle >> 4 ^ name.handle >> 8 ^ name.handle >> 12) & 7;
  }
  Remembered streams_[8];
};

inline constinit thread_local GateThread gate_thread;

}  // namespace gangway::live
