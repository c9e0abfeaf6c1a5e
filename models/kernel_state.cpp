#include "models/kernel_state.hpp"

namespace gangway {

const char* name_of(KernelState state) {
  switch (state) {
    case KernelState::prep:
      return "PREP";
    case KernelState::ready:
      return "READY";
    case KernelState::torun:
      return "TORUN";
    case KernelState::running:
      return "RUNNING";
    case KernelState::toevict:
      return "TOEVICT";
    case KernelState::done:
      return "DONE";
  }
  return "";
}

std::optional<KernelState> state_after(const Record& record, KernelState before) {
  switch (record.mark) {
    case Mark::released:
      // The next job of a client may come while the one before is at work.
      if (before != KernelState::done) return std::nullopt;
      return KernelState::prep;
    case Mark::eligible:
      return KernelState::ready;
    case Mark::launch_ordered:
      return KernelState::torun;
    case Mark::started:
      if (before == KernelState::toevict) return std::nullopt;
      return KernelState::running;
    case Mark::evict_ordered:
      return KernelState::toevict;
    case Mark::told_to_leave:
      return KernelState::toevict;
    case Mark::kernels_left:
      return KernelState::ready;
    case Mark::kernels_go_on:
      return KernelState::running;
    case Mark::left:
      return record.why == Why::completed ? KernelState::done : KernelState::ready;
    default:
      return std::nullopt;
  }
}

}  // namespace gangway
