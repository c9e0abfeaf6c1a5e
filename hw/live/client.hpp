// The daemon's side of one client: its connection, process and pages.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "hw/live/conductor.hpp"
#include "hw/live/socket.hpp"

namespace gangway::live {

// Memory shared with a client as a file whose size is sealed, so that nobody can truncate it under the other.
template <typename Page>
class SharedPage {
 public:
  enum class Writer { daemon, client };
  // A writable mapping here; where the daemon writes, all later mappings can only read. Throws RunError.
  explicit SharedPage(Writer writer);
  ~SharedPage();
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;
  Page& operator*() const { return *page_; }
  Page* operator->() const { return page_; }
  int file() const { return file_.get(); }

 private:
  Descriptor file_;
  Page* page_ = nullptr;
};

class LiveClient : public Port {
 public:
  // Shakes hands: false when the other side is gone.
  LiveClient(Descriptor socket, pid_t process, Descriptor pidfd, std::string name, int bell);
  bool welcome();

  void permit(std::uint32_t allowed) override;
  Standing look() override;
  void ask() override;
  void kill() override;
  void polled(bool polled) { permit_->polled.store(polled ? 1 : 0); }

  int socket() const { return socket_.get(); }
  pid_t process() const { return process_; }
  const std::string& name() const { return name_; }
  const ClientPage& page() const { return *page_; }

  ClientId id;
  std::uint64_t program = 0;
  Introduction introduction;

 private:
  Descriptor socket_, pidfd_, own_bell_;
  pid_t process_;
  std::string name_;
  int daemon_bell_;
  SharedPage<PermitPage> permit_{SharedPage<PermitPage>::Writer::daemon};
  SharedPage<ClientPage> page_{SharedPage<ClientPage>::Writer::client};
};

}  // namespace gangway::live
