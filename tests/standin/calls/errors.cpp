// Names and texts of errors.
#include "api.hpp"
#include "tests/standin/calls/error_texts.hpp"
#include "tests/standin/engine/failure.hpp"

namespace gangway::standin::api {
namespace {

CUresult look_up(CUresult error, const char** out, const char* ErrorText::*member) {
  require(out != nullptr);
  *out = nullptr;
  for (const ErrorText& known : error_texts)
    if (known.error == error) *out = known.*member;
  require(*out != nullptr);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuGetErrorName(CUresult error, const char** pStr) { return look_up(error, pStr, &ErrorText::name); }

CUresult cuGetErrorString(CUresult error, const char** pStr) {
  return look_up(error, pStr, &ErrorText::text);
}

}  // namespace gangway::standin::api
