#include "hw/live/client_group.hpp"

#include <algorithm>
#include <utility>

namespace gangway::live {

void ClientGroup::add(Port& member) {
  if (!channels_) member.limit(channels_);
  members_.push_back({&member, member.look().asked});
  share_channels();
  member.permit(allowed_);
}

void ClientGroup::remove(const Port& member) {
  const auto it =
      std::find_if(members_.begin(), members_.end(), [&](const Member& m) { return m.port == &member; });
  if (it == members_.end()) return;
  submissions_before_ += it->port->look().submissions;
  members_.erase(it);
  std::erase_if(asked_, [&](const Asked& asked) { return asked.port == &member; });
  share_channels();
}

void ClientGroup::permit(std::uint32_t allowed) {
  allowed_ = allowed;
  asked_.clear();  // numbers of an earlier permit are void
  for (Member& member : members_) {
    member.asked = member.port->look().asked;
    member.port->permit(allowed);
  }
}

void ClientGroup::limit(std::optional<std::int64_t> channels) {
  channels_ = channels;
  share_channels();
}

// The limits add up to no more than the group's, but for what a member makes while it still has a larger one.
void ClientGroup::share_channels() {
  std::int64_t free = channels_.value_or(0);
  std::vector<std::int64_t> own;
  if (channels_)
    for (const Member& member : members_) free -= own.emplace_back(member.port->look().channels);
  free = std::max<std::int64_t>(free, 0);
  const auto all = static_cast<std::int64_t>(members_.size());
  for (std::size_t m = 0; m < members_.size(); ++m) {
    std::optional<std::int64_t> limit;
    if (channels_) limit = own[m] + free / all + (static_cast<std::int64_t>(m) < free % all ? 1 : 0);
    if (limit == 0 && channels_ != 0) limit = kFirstContextOnly;  // the group as a whole may submit
    if (std::exchange(members_[m].limit, limit) != limit) members_[m].port->limit(limit);
  }
}

void ClientGroup::admit(std::uint64_t number) {
  for (; !asked_.empty() && asked_.front().group <= number; asked_.pop_front())
    asked_.front().port->admit(asked_.front().number);
}

Standing ClientGroup::look() {
  Standing all;
  bool works = false;
  for (Member& member : members_) {
    const Standing seen = member.port->look();
    if (&member == &members_.front())
      all = seen;
    else
      all.merge(seen);
    works = works || (seen.job & 1) != 0;
    if (seen.asked - member.asked > kMostAsked) {  // its page is not to be believed
      member.asked = seen.asked;
      member.port->kill();
    }
    while (member.asked < seen.asked) asked_.push_back({++numbers_, member.port, ++member.asked});
  }
  if (works != ((job_ & 1) != 0)) ++job_;
  if (channels_) share_channels();
  all.job = job_;
  all.asked = numbers_;
  all.submissions += submissions_before_;
  return all;
}

void ClientGroup::ask() {
  for (const Member& member : members_) member.port->ask();
}

void ClientGroup::rouse() {
  for (const Member& member : members_) member.port->rouse();
}

void ClientGroup::kill() {
  for (const Member& member : members_) member.port->kill();
}

bool ClientGroup::arrives() {
  return std::any_of(members_.begin(), members_.end(),
                     [](const Member& member) { return member.port->arrives(); });
}

bool ClientGroup::stopped() {
  return !members_.empty() && std::all_of(members_.begin(), members_.end(),
                                          [](const Member& member) { return member.port->stopped(); });
}

}  // namespace gangway::live
