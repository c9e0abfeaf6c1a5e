// The driver's linker, of PTX alone. What it makes is PTX again, with other bytes than its inputs.
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "api.hpp"
#include "tests/standin/contexts/context.hpp"
#include "tests/standin/engine/failure.hpp"

namespace gangway::standin::api {
namespace {

struct Link {
  std::string text, made;
};

std::map<CUlinkState, std::unique_ptr<Link>>& links() {
  static auto* const all = new std::map<CUlinkState, std::unique_ptr<Link>>;
  return *all;
}

Link& link_of(CUlinkState state) {
  const auto found = links().find(state);
  require(found != links().end(), CUDA_ERROR_INVALID_HANDLE);
  return *found->second;
}

// One head serves all.
void add(Link& link, CUjitInputType type, const std::string& text) {
  require(type == CU_JIT_INPUT_PTX, CUDA_ERROR_NOT_SUPPORTED);
  std::istringstream lines(text.substr(0, text.find('\0')));
  const bool first = link.text.empty();
  for (std::string line; std::getline(lines, line);)
    if (first ||
        !(line.starts_with(".version") || line.starts_with(".target") || line.starts_with(".address_size")))
      link.text += line + "\n";
}

}  // namespace

CUresult cuLinkCreate_v2(unsigned, CUjit_option*, void**, CUlinkState* stateOut) {
  const Lock lock = lock_driver();
  current();
  require(stateOut != nullptr);
  auto made = std::make_unique<Link>();
  *stateOut = reinterpret_cast<CUlinkState>(made.get());
  links()[*stateOut] = std::move(made);
  return CUDA_SUCCESS;
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void* data, size_t size, const char*,
                          unsigned, CUjit_option*, void**) {
  const Lock lock = lock_driver();
  require(data != nullptr);
  add(link_of(state), type, {static_cast<const char*>(data), size});
  return CUDA_SUCCESS;
}

CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char* path, unsigned, CUjit_option*,
                          void**) {
  const Lock lock = lock_driver();
  require(path != nullptr);
  std::ifstream file(path, std::ios::binary);
  require(file.good(), CUDA_ERROR_FILE_NOT_FOUND);
  std::ostringstream text;
  text << file.rdbuf();
  add(link_of(state), type, text.str());
  return CUDA_SUCCESS;
}

CUresult cuLinkComplete(CUlinkState state, void** cubinOut, size_t* sizeOut) {
  const Lock lock = lock_driver();
  require(cubinOut != nullptr);
  Link& link = link_of(state);
  link.made = "// linked\n" + link.text;
  *cubinOut = link.made.data();
  if (sizeOut != nullptr) *sizeOut = link.made.size() + 1;
  return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state) {
  const Lock lock = lock_driver();
  link_of(state);
  links().erase(state);
  return CUDA_SUCCESS;
}

}  // namespace gangway::standin::api
