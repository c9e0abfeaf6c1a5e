// Processes that depend on each other, as one client of the policy: one gate for all.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "hw/live/conductor.hpp"

namespace gangway::live {

// A job of a group lasts from the first of its members' jobs to a moment in which none has one under way, as
// far as looks tell. A limit in flight is each member's own.
class ClientGroup : public Port {
 public:
  // The member gets the group's permit. It must be removed before it is gone.
  void add(Port& member);
  void remove(const Port& member);
  bool empty() const { return members_.empty(); }

  void permit(std::uint32_t allowed) override;
  void limit(std::optional<std::int64_t> channels) override;  // each member's
  void admit(std::uint64_t number) override;
  Standing look() override;
  void ask() override;
  void kill() override;
  bool arrives() override;  // one of them
  bool stopped() override;  // all of it

  std::optional<ClientId> id;  // of the conductor's; none: it is not scheduled

 private:
  struct Member {
    Port* port = nullptr;
    std::uint64_t asked = 0;  // numbers of intercepted submissions that the group has seen
  };
  struct Asked {
    std::uint64_t group = 0;  // the group's number for it
    Port* port = nullptr;
    std::uint64_t number = 0;
  };
  std::vector<Member> members_;
  std::deque<Asked> asked_;  // not admitted yet, in the order of looks
  std::uint32_t allowed_ = 0;
  std::optional<std::int64_t> channels_;
  std::uint64_t job_ = 0, numbers_ = 0;
  std::uint64_t submissions_before_ = 0;  // of members that have left
};

}  // namespace gangway::live
