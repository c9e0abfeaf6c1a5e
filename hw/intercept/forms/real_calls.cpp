#include "hw/intercept/forms/real_calls.hpp"

#include <dlfcn.h>

namespace gangway::intercept {

constinit RealCalls cuda;

void find_real_calls(void* library) {
#define GANGWAY_REAL_CALL(name) cuda.name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name));
  GANGWAY_REAL_CALLS(GANGWAY_REAL_CALL)
#undef GANGWAY_REAL_CALL
}

bool RealCalls::all() const {
  bool found = true;
#define GANGWAY_REAL_CALL(name) found = found && name != nullptr;
  GANGWAY_REAL_CALLS(GANGWAY_REAL_CALL)
#undef GANGWAY_REAL_CALL
  return found;
}

}  // namespace gangway::intercept
