// Dependent processes that the policy sees as one client with one gate.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "hw/live/conductor.hpp"

namespace gangway::live {

// A group's job lasts from the first job of a member until no member has one under way, as far as polling can
// tell. An in-flight limit applies to each member separately.
class ClientGroup : public Port {
 public:
  // Gives the member the group's permit. Remove it before it is destroyed.
  void add(Port& member);
  void remove(const Port& member);
  bool empty() const { return members_.empty(); }

  void permit(std::uint32_t allowed) override;
  // Of all members together. What none of them has yet is divided among them, anew at each look.
  void limit(std::optional<std::int64_t> channels) override;
  void admit(std::uint64_t number) override;
  Standing look() override;
  void ask() override;
  void rouse() override;
  void kill() override;
  bool arrives() override;  // whether one member does
  bool stopped() override;  // whether all members are

  std::optional<ClientId> id;  // in the conductor; none: not scheduled

 private:
  void share_channels();

  struct Member {
    Port* port = nullptr;
    std::uint64_t asked = 0;                 // intercepted submissions that the group has seen
    std::optional<std::int64_t> limit = {};  // of channels, as its port was told
  };
  struct Asked {
    std::uint64_t group = 0;  // its number within the group
    Port* port = nullptr;
    std::uint64_t number = 0;
  };
  std::vector<Member> members_;
  std::deque<Asked> asked_;  // not yet admitted, in the order seen
  std::uint32_t allowed_ = 0;
  std::optional<std::int64_t> channels_;
  std::uint64_t job_ = 0, numbers_ = 0;
  std::uint64_t submissions_before_ = 0;  // of members that have left
};

}  // namespace gangway::live
