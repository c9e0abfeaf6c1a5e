// What every case needs: a context, the kernels, words of memory, and a log line.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

namespace gangway::conformance {

using Word = std::uint32_t;

// One line of the log, "NAME: VALUE VALUE ...", printed when it goes.
class Line {
 public:
  explicit Line(const std::string& name) : text_(name + ":") {}
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line();
  Line& operator<<(const std::string& value);
  Line& operator<<(const char* value) { return *this << std::string(value); }
  Line& operator<<(std::int64_t value) { return *this << std::to_string(value); }
  Line& operator<<(std::uint64_t value) { return *this << std::to_string(value); }
  Line& operator<<(int value) { return *this << std::to_string(value); }
  Line& operator<<(unsigned value) { return *this << std::to_string(value); }
  Line& operator<<(bool value) { return *this << (value ? "yes" : "no"); }
  Line& operator<<(CUresult value) { return *this << static_cast<int>(value); }
  Line& operator<<(const std::vector<Word>& values);

 private:
  std::string text_;
};

// Ends the process with a line in the log: for calls that a case only needs and does not test.
void need(CUresult result, const char* what);

struct Kernels {
  CUmodule module = nullptr;
  CUfunction mix = nullptr, fill = nullptr, hold = nullptr, spin = nullptr, layout = nullptr, shape = nullptr,
             count = nullptr, bump = nullptr, fault = nullptr;
};

// The primary context, made current, with the kernels loaded and run once. Once a process.
const Kernels& kernels();
CUcontext primary();

CUstream new_stream(unsigned flags = CU_STREAM_NON_BLOCKING);
CUevent new_event(unsigned flags = CU_EVENT_DISABLE_TIMING);

// Device memory, zeroed.
CUdeviceptr new_words(std::size_t count = 1);
std::vector<Word> read(CUdeviceptr, std::size_t count = 1);  // after waiting for the context
Word value_of(CUdeviceptr);

CUresult launch(CUfunction, CUstream, std::initializer_list<const void*> parameters, unsigned blocks = 1,
                unsigned threads = 1);
CUresult mix(CUstream, CUdeviceptr word, Word k);

// Kernels that last until they are let go, by a flag in pinned memory.
class Hold {
 public:
  explicit Hold(CUstream);
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() { release(); }
  void release();

 private:
  Word* flag_;
};

// Whether the call comes back while the stream is held; it is let go after half a second. Gives the call's
// result too.
struct Return {
  bool at_once;
  CUresult result;
};
Return during(Hold&, const std::function<CUresult()>&);

// On a thread of its own, with the same context.
CUresult on_thread(const std::function<CUresult()>&);

}  // namespace gangway::conformance
