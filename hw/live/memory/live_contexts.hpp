// The contexts of a client in which the driver can be called, as far as they are known.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace gangway::live {

class LiveContexts {
 public:
  void add(std::uint64_t context);   // it is there
  void used(std::uint64_t context);  // it is current in the calling thread, which gets memory
  std::uint64_t latest() const { return latest_.load(); }  // used; 0: none is known
  std::vector<std::uint64_t> all();

  // Before the context is destroyed: nobody begins to use it any more, until it is added again. False: it was
  // not known.
  bool ends(std::uint64_t context);
  void wait_until_unused(std::uint64_t context);

  // Held around calls in a context that another thread may be about to destroy.
  class Use {
   public:
    Use(LiveContexts& contexts, std::uint64_t context);
    explicit Use(LiveContexts& contexts);  // of the latest
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    std::uint64_t context() const { return context_; }  // 0: it is gone

   private:
    void begin(std::uint64_t context);

    LiveContexts& contexts_;
    std::uint64_t context_ = 0;
  };

 private:
  std::mutex mutex_;
  std::condition_variable unused_;
  std::vector<std::uint64_t> known_;  // the latest last
  std::map<std::uint64_t, int> uses_;
  std::atomic<std::uint64_t> latest_{0};  // the last one known
};

}  // namespace gangway::live
