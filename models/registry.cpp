#include "models/registry.hpp"

#include <cstdlib>

#include "models/standard_error.hpp"

namespace gangway {

void stop_at_start(const std::string& name, const std::source_location& first,
                   const std::source_location& second) {
  to_stderr("error: {} is registered twice: at {}:{} and at {}:{}\n", quote(name), first.file_name(),
            first.line(), second.file_name(), second.line());
  std::_Exit(1);  // before main(): nothing has been opened that would have to be closed
}

}  // namespace gangway
