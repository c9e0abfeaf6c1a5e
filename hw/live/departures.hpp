// The client's notes of when its kernels left before their end and when they continued. For one thread.
#pragma once

#include <cstdint>

#include "hw/live/page.hpp"

namespace gangway::live {

// Times in ns of CLOCK_MONOTONIC.
class Departures {
 public:
  void told(std::int64_t now) {
    told_ = now;
    slot_ = nullptr;
  }
  // More kernels have left since told().
  void left(ClientPage& page, std::uint64_t kernels, std::int64_t now) {
    if (slot_ == nullptr) {
      const std::uint64_t number = page.departures.load();
      slot_ = &page.departure[number % kDepartures];
      slot_->number.store(0);
      slot_->told.store(told_);
      slot_->left.store(now);
      slot_->again.store(0);
      slot_->kernels.store(kernels);
      slot_->number.store(number + 1);
      page.departures.store(number + 1);
    } else {
      slot_->left.store(now);
      slot_->kernels.fetch_add(kernels);
    }
  }
  // The gate is open. Kernels that still leave count as a new departure.
  void go_on(std::int64_t now) {
    if (slot_ == nullptr) return;
    slot_->again.store(now);
    slot_ = nullptr;
    told_ = now + 1;  // later than that, in a trace
  }

 private:
  std::int64_t told_ = 0;
  DepartureSlot* slot_ = nullptr;  // of kernels that have left and not continued
};

}  // namespace gangway::live
