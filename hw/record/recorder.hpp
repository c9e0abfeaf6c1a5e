// State shared by the parts of the injected library.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "hw/record/cupti_functions.hpp"
#include "hw/record/spool_writer.hpp"

namespace gangway::spool {

struct Recorder {
  std::mutex mutex;
  Spool spool;  // under `mutex`, once recording has begun
  Cupti cupti;
  CUpti_SubscriberHandle subscriber{};
  std::unordered_set<std::uint32_t> queries;  // functions; constant while calls are logged
  std::mutex buffers_mutex;
  std::vector<std::uint8_t*> buffers;
  std::uint64_t unfinished = 0;  // work without times; under `mutex`
  std::atomic<bool> recording{false};
};
extern Recorder* recorder;

}  // namespace gangway::spool
