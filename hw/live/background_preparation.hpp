// A process beside the daemon that prepares modules that programs loaded unprepared (`gangway prepare
// --wanted`), one module after the other, at the lowest priority.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "models/quantity.hpp"

namespace gangway::live {

class BackgroundPreparation {
 public:
  // `folder`: where programs note them. `say`: is told of failures.
  BackgroundPreparation(std::string folder, std::function<void(const std::string&)> say);
  ~BackgroundPreparation();  // ends the process
  BackgroundPreparation(const BackgroundPreparation&) = delete;
  BackgroundPreparation& operator=(const BackgroundPreparation&) = delete;

  // Starts it if there is something to do. Call it often; it looks once a second, and less often after a
  // failure.
  void look(Time now);

 private:
  bool start();
  bool something_is_wanted() const;

  std::string folder_;
  std::function<void(const std::string&)> say_;
  pid_t process_ = 0;  // 0: none
  Time next_;
  Duration pause_;  // after a failure
};

}  // namespace gangway::live
