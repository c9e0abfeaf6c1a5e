// How long a kernel takes, learnt from some of its launches: kernels not worth evicting run in original form.
#pragma once

#include <cstdint>
#include <mutex>
#include <shared_mutex>

#include "hw/intercept/forms/real_calls.hpp"

namespace gangway::intercept {

class KernelTimes {
 public:
  // Whether a launch of so many blocks is expected to take longer than it costs to make it leave.
  // `evictions`: of the process so far. A measurement during which that changed is dropped.
  bool worth(std::uint64_t blocks, std::uint64_t evictions);
  double ns_a_block();  // of the grid, as it runs alone; 0: not known
  // Call these around a launch that may be measured. begins(): whether it is.
  bool begins(CUcontext context, CUstream stream, std::uint64_t evictions);
  void ends(CUstream stream, std::uint64_t blocks);
  void end();  // the kernel is gone
  // Around a call with which the driver may destroy a context. To use the context's events afterwards would
  // crash the process, and its handle may come again, so meanwhile no kernel uses any event, and if the
  // context is gone() all make new ones.
  class ContextEnd {
   public:
    ContextEnd();
    ~ContextEnd();
    ContextEnd(const ContextEnd&) = delete;
    ContextEnd& operator=(const ContextEnd&) = delete;
    void gone() { gone_ = true; }

   private:
    bool gone_ = false;
  };

 private:
  bool create();
  bool events_usable();
  void look(std::uint64_t evictions);

  inline static std::shared_mutex in_use;  // shared: an event may be
  inline static std::uint64_t contexts_ending = 0, contexts_gone = 0;
  std::mutex mutex_;
  std::uint64_t gone_ = 0;       // contexts, when the events were made
  CUcontext context_ = nullptr;  // of the events
  CUevent begin_ = nullptr, end_ = nullptr;
  bool measuring_ = false, pending_ = false;
  std::uint64_t launches_ = 0, blocks_ = 0, evictions_ = 0;
  double ns_a_block_ = 0;  // 0: not known
};

}  // namespace gangway::intercept
