// A look-alike of libcuda.so.1: functions of the same names that pass the gate and call the real driver's.
// Only what functions.def does not call PASSED is here; the rest the loader finds in the real library, which
// this one needs under another name (README.md).
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "hw/intercept/call_streams.hpp"
#include "hw/intercept/driver.hpp"
#include "hw/intercept/forms/failed_launch.hpp"
#include "hw/intercept/forms/launch_calls.hpp"
#include "hw/intercept/forms/module_calls.hpp"
#include "hw/intercept/known_driver.hpp"
#include "hw/intercept/known_functions.hpp"
#include "hw/intercept/lost_context.hpp"
#include "hw/intercept/memory/noted_writes.hpp"
#include "hw/intercept/ranges.hpp"

namespace gangway::intercept {
namespace {

static_assert(CUDA_VERSION >= kKnownCuda, "functions.def has functions that this cuda.h lacks");

using live::Gate;
using live::Pass;
using live::StreamName;

// The driver is called before and after this library's other objects live: these are there all the time.
template <typename T>
union Eternal {
  T it;
  template <typename... A>
  constexpr explicit Eternal(A&... a) : it(a...) {}
  ~Eternal() {}
};
constinit Eternal<live::Registration> eternal_registration(driver);
constinit Eternal<Gate> eternal_gate(driver, eternal_registration.it);
constexpr live::Registration& registration = eternal_registration.it;
constexpr Gate& gate = eternal_gate.it;

enum class Kind { kernel, graph, copy, waiting_copy, memset, memop, host, semaphore, map, pin };
enum class Wait { stream, all, implicit };
enum class Event {
  capture_begins,
  capture_ends,
  capture_joins,
  stream_created,
  stream_destroyed,
  context_created,
  context_destroyed,
  primary_reset,
  primary_released,
  addresses,
  loads,
  finds,
  lists,
  links,
  sets,
  asks,
  instantiates,
  event_recorded,
  event_awaited,
  addresses_taken
};

bool captured(const StreamName& stream) { return gate.captures() && driver.capturing(stream); }

template <Index I, Kind K, bool Thread, typename F>
struct Submits;
template <Index I, Kind K, bool Thread, typename... A>
struct Submits<I, K, Thread, CUresult(A...)> {
  static CUresult call(A... arguments) {
    const auto real = reinterpret_cast<Real>(intercepted[I].real);
    if (real == nullptr) [[unlikely]]
      return CUDA_ERROR_NOT_SUPPORTED;
    if (failed_launch() != CUDA_SUCCESS) [[unlikely]]
      return failed_launch();
    const StreamName name = [&] {
      if constexpr (K == Kind::pin) return StreamName{};
      return name_at_gate(stream_in(arguments...), Thread);
    }();
    if (forms == nullptr && K != Kind::pin && !kWaits) [[likely]]
      return submit(
          name, [&](const Pass&) { return real(arguments...); }, arguments...);
    return submit_beside_forms(name, real, arguments...);
  }

 private:
  using Real = CUresult (*)(A...);
  static constexpr bool kWaits = K == Kind::waiting_copy;
  static constexpr bool kTakesAddresses =
      K == Kind::copy || K == Kind::waiting_copy || K == Kind::memset || K == Kind::memop;

  static void note_writes(const A&... arguments) {
    if constexpr (K == Kind::memop)
      note_words(arguments...);
    else if constexpr (kTakesAddresses)
      note_destination(arguments...);
    else if constexpr ((std::is_same_v<A, CUmemDecompressParams*> || ...))
      memory_written(0);
  }

  template <typename Call>
  static CUresult submit(const StreamName& name, const Call& call, const A&... arguments) {
    if constexpr (kTakesAddresses)
      if (gate.captures()) [[unlikely]]
        if (const auto result = capture(name, call, arguments...)) return *result;
    const live::Submission submission{K == Kind::pin ? nullptr : &name, kWaits};
    const Pass pass = gate.enter(submission);
    if (pass.refused) [[unlikely]]
      return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    note_writes(arguments...);
    const CUresult result = call(pass);
    gate.leave(pass, submission, result == CUDA_SUCCESS);
    if (result != CUDA_SUCCESS) [[unlikely]]
      note_result(result);
    return result;
  }

  // None: it is not captured, or needs nothing for that.
  template <typename Call>
  [[gnu::noinline, gnu::cold]] static std::optional<CUresult> capture(const StreamName& name,
                                                                      const Call& call,
                                                                      const A&... arguments) {
    if (managed_memory() == nullptr || Gate::nested() || !driver.capturing(name)) return std::nullopt;
    note_writes(arguments...);
    const AddressesLookedUp addresses;
    if (!driver.capturing(name)) return std::nullopt;  // it has ended meanwhile
    const CUresult result = call(Pass{});
    note_result(result);
    return result;
  }

  // Apart from the rest, which so stays short (gate.hpp).
  [[gnu::noinline]] static CUresult submit_beside_forms(const StreamName& name, Real real, A... arguments) {
    const auto as_it_is = [&] {
      return submit(
          name, [&](const Pass&) { return real(arguments...); }, arguments...);
    };
    // What is captured does not run: nothing is asked and nothing is noted of it.
    if constexpr (K != Kind::pin)
      if (captured(name)) return as_it_is();
    if constexpr (K == Kind::kernel && names_function<A...>) {
      const CUfunction function = function_of(arguments...);
      std::shared_ptr<FormedKernel> kernel;
      if constexpr (can_take_forms<A...>) kernel = kernel_of(arguments...);
      if (kept()) keeper()->submits(name);
      // A capture in another thread can forbid to load a kernel, and to ask for one: this may be a first
      // launch.
      if (gate.captures()) {
        const live::LaunchKeeper::Alone alone(kept() ? keeper() : nullptr, true);
        return as_it_is();
      }
      const std::uint64_t context = driver.current_context();
      const bool first = forms->uses().first(function, context, FirstUses::Use::launch);
      if (first || (kept() && forms->uses().needs_much_local(function))) {
        const live::LaunchKeeper::Alone alone(keeper(), true);
        if (first) forms->first_launch(function, kernel.get());
        const CUresult result = as_it_is();
        if (first) forms->uses().used(function, context, FirstUses::Use::launch);
        return result;
      }
      if (kernel == nullptr || forms->taken() == TakeForms::none) return as_it_is();
      if constexpr (can_take_forms<A...>) {
        keeper()->let_others_be_alone();
        const auto in_a_form = [&](const Pass& pass) {
          const LaunchCall call = launch_call(arguments...);
          if (!pass.engaged) return real(arguments...);
          const live::LaunchKeeper::Launching launching(*keeper());
          if (launching.allowed() && forms->launch(*kernel, call, name)) return CUDA_SUCCESS;
          return forms->original(*kernel, call, name, [&] { return real(arguments...); });
        };
        return submit(name, in_a_form, arguments...);
      }
      return as_it_is();
    } else if constexpr (K == Kind::pin) {
      const live::LaunchKeeper::Alone alone(keeper());
      return as_it_is();
    } else if constexpr (kWaits) {
      const CUresult result = [&] {
        const live::LaunchKeeper::Alone alone(keeper());
        return as_it_is();
      }();
      if (result == CUDA_SUCCESS) gate.after();
      return result == CUDA_SUCCESS ? failed_launch() : result;
    } else {
      if (!kept()) return as_it_is();
      keeper()->submits(name);
      const live::LaunchKeeper::Alone alone(K == Kind::copy && may_wait(arguments...) ? keeper() : nullptr);
      return as_it_is();
    }
  }
};

template <Index I, Wait W, bool Thread, typename F>
struct Synchronises;
template <Index I, Wait W, bool Thread, typename... A>
struct Synchronises<I, W, Thread, CUresult(A...)> {
  // What the program waited for may have failed meanwhile.
  static CUresult call(A... arguments) {
    const CUresult result = made(arguments...);
    note_result(result);
    return result == CUDA_SUCCESS ? failed_launch() : result;
  }

 private:
  static CUresult made(A... arguments) {
    const auto real = reinterpret_cast<CUresult (*)(A...)>(intercepted[I].real);
    if (real == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
    if constexpr (W == Wait::stream) {
      const StreamName name = name_of(stream_in(arguments...), Thread);
      const std::uint64_t returned = gate.before(name);
      const CUresult result = real(arguments...);
      if (result == CUDA_SUCCESS) gate.after(name, returned);
      return result;
    } else if constexpr (W == Wait::implicit) {
      const live::LaunchKeeper::Alone alone(keeper());
      if constexpr (unloads<A...>)
        if (forms != nullptr) forms->something_unloaded();
      const CUresult result = real(arguments...);
      if constexpr (unloads<A...>)
        if (forms != nullptr && result == CUDA_SUCCESS) {
          forms->kernels().unloaded((arguments, ...));
          forms->something_unloaded();
        }
      return result;
    } else {
      const CUresult result = real(arguments...);
      if (result == CUDA_SUCCESS) gate.after();
      return result;
    }
  }
};

// A driver newer than this table answers with functions that it lacks.
void note_unknown(const char* symbol, const void* answer) {
  if (!bypasses_gate(symbol, answer) || !seen_first(answer) || !gate.found_unknown()) return;
  std::fprintf(
      stderr,
      "gangway: this driver's %s is newer than this build of Gangway, so its calls are not scheduled; "
      "gangway status --json counts such functions\n",
      symbol);
}

void answer_with_ours(const char* symbol, void** answer) {
  if (answer == nullptr || *answer == nullptr) return;
  for (const Intercepted& function : intercepted)
    if (function.real == *answer || function.ours == *answer) {
      *answer = function.ours;
      return;
    }
  note_unknown(symbol, *answer);
}

// The context that a call ends. 0: none.
std::uint64_t ended_by(CUcontext context) { return reinterpret_cast<std::uint64_t>(context); }
std::uint64_t ended_by(CUgreenCtx green) {
  static const auto of_green =
      reinterpret_cast<decltype(&::cuCtxFromGreenCtx)>(real_function("cuCtxFromGreenCtx"));
  CUcontext context = nullptr;
  return of_green != nullptr && of_green(&context, green) == CUDA_SUCCESS ? ended_by(context) : 0;
}

// Before and after the driver destroys a context.
void context_goes(std::uint64_t context) {
  if (forms == nullptr) return;
  keeper()->context_destroyed(context);
  forms->context_goes();
}

void context_went(std::uint64_t context) {
  gate.channels_closed(0, context);
  if (forms != nullptr) forms->context_goes();
}

template <Index I, Event E, bool Thread, typename F>
struct Observes;
template <Index I, Event E, bool Thread, typename... A>
struct Observes<I, E, Thread, CUresult(A...)> {
  static CUresult call(A... arguments) {
    const auto real = reinterpret_cast<CUresult (*)(A...)>(intercepted[I].real);
    if (real == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
    if constexpr (E == Event::capture_begins) {
      Gate::CaptureBegin capture(gate, name_of(stream_in(arguments...), Thread));
      const CUresult result = real(arguments...);
      if (result == CUDA_SUCCESS) capture.began();
      return result;
    } else if constexpr (E == Event::capture_joins) {
      const Gate::CaptureJoin capture(gate);
      return real(arguments...);
    } else if constexpr (E == Event::capture_ends) {
      const StreamName name = name_of(stream_in(arguments...), Thread);
      const bool captured = driver.capturing(name);
      const CUresult result = real(arguments...);
      if (captured && !driver.capturing(name)) gate.capture_ended(name);
      return result;
    } else if constexpr (E == Event::stream_created || E == Event::context_created) {
      if (!gate.channel_opens()) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
      const live::LaunchKeeper::Alone alone(keeper(), true);  // after many others it waits for the device
      const CUresult result = real(arguments...);
      const auto* made = std::get<0>(std::tie(arguments...));
      if (result != CUDA_SUCCESS || made == nullptr)
        gate.channel_failed();
      else if constexpr (E == Event::stream_created)
        gate.channel_opened(reinterpret_cast<std::uint64_t>(*made),
                            driver.context({reinterpret_cast<std::uint64_t>(*made), 0}));
      else {
        gate.channel_opened(0, reinterpret_cast<std::uint64_t>(*made));
        memory_context_made(reinterpret_cast<std::uint64_t>(*made));
      }
      return result;
    } else if constexpr (E == Event::stream_destroyed) {
      const StreamName name = name_of(stream_in(arguments...), false);
      Gate::StreamEnd end(gate, name);
      const CUresult result = real(arguments...);
      if (result == CUDA_SUCCESS) {
        end.gone();
        gate.channels_closed(name.handle, 0);
        if (forms != nullptr) keeper()->destroyed(name, end.idle());
      }
      return result;
    } else if constexpr (E == Event::loads) {
      return load(real, arguments...);
    } else if constexpr (E == Event::finds) {
      const live::LaunchKeeper::Alone alone(keeper());  // it may load it
      return find(real, arguments...);
    } else if constexpr (E == Event::addresses_taken) {
      const AddressesLookedUp addresses;
      return real(arguments...);
    } else if constexpr (E == Event::instantiates) {
      const AddressesLookedUp addresses;
      return Observes<I, Event::asks, Thread, CUresult(A...)>::call(arguments...);
    } else if constexpr (E == Event::asks) {
      const void* const function = asked_about(arguments...);
      const std::uint64_t context = forms != nullptr ? driver.current_context() : 0;
      const bool loads =
          forms != nullptr &&
          (function == nullptr || forms->uses().first(function, context, FirstUses::Use::question));
      const live::LaunchKeeper::Alone alone(loads ? keeper() : nullptr, true);
      const CUresult result = real(arguments...);
      if (loads && function != nullptr) forms->uses().used(function, context, FirstUses::Use::question);
      return result;
    } else if constexpr (E == Event::lists) {
      return list(real, arguments...);
    } else if constexpr (E == Event::links) {
      return link(real, arguments...);
    } else if constexpr (E == Event::sets) {
      return set(real, arguments...);
    } else if constexpr (E == Event::event_recorded) {
      const CUresult result = real(arguments...);
      if (kept() && result == CUDA_SUCCESS && !captured(name_of(stream_in(arguments...), Thread)))
        keeper()->records(name_of(stream_in(arguments...), Thread), event_in(arguments...));
      return result;
    } else if constexpr (E == Event::event_awaited) {
      const StreamName name = name_of(stream_in(arguments...), Thread);
      if (kept() && !captured(name)) keeper()->waits(name, event_in(arguments...));
      const Gate::CaptureJoin capture(gate);
      return real(arguments...);
    } else if constexpr (E == Event::context_destroyed) {
      const std::uint64_t context = ended_by(arguments...);
      const live::LaunchKeeper::Alone alone(keeper());
      KernelTimes::ContextEnd times;
      MemoryContextEnd memory(context, true);
      context_goes(context);
      Gate::ContextEnd end(gate, context);
      const CUresult result = real(arguments...);
      // One that is detached stays current, unless that was the last use of it.
      const bool others = I == i_cuCtxDetach && driver.current_context() == context;
      if (context == 0 || result != CUDA_SUCCESS || others) return result;
      times.gone();
      end.gone();
      memory.gone();
      context_went(context);
      return result;
    } else if constexpr (E == Event::primary_reset || E == Event::primary_released) {
      const CUdevice device = (arguments, ...);
      const std::uint64_t context = driver.primary_context(device);
      const live::LaunchKeeper::Alone alone(keeper());
      KernelTimes::ContextEnd times;
      MemoryContextEnd memory(context, E == Event::primary_reset);
      context_goes(context);
      Gate::ContextEnd end(gate, context);
      const CUresult result = real(arguments...);
      const bool others = E == Event::primary_released && driver.primary_context(device) == context;
      if (context == 0 || result != CUDA_SUCCESS || others) return result;
      times.gone();
      end.gone();
      memory.gone();
      context_went(context);
      return result;
    } else {
      return addresses(real, arguments...);
    }
  }

 private:
  template <typename Real, typename... Rest>
  static CUresult addresses(Real real, const char* symbol, void** answer, Rest... rest) {
    const CUresult result = real(symbol, answer, rest...);
    if (result == CUDA_SUCCESS) answer_with_ours(symbol, answer);
    return result;
  }
};

}  // namespace
}  // namespace gangway::intercept

// Each symbol jumps to the function above that is made of its own type.
#if defined(__x86_64__)
#define GANGWAY_JUMP(symbol) "endbr64\n\tjmp *gangway_to_" #symbol "(%rip)\n"
#elif defined(__aarch64__)
#define GANGWAY_JUMP(symbol) \
  "adrp x16, gangway_to_" #symbol "\n\tldr x16, [x16, :lo12:gangway_to_" #symbol "]\n\tbr x16\n"
#else
#error "the look-alike is for x86-64 and 64-bit Arm"
#endif
#define GANGWAY_SYMBOL(symbol, ...)                                                           \
  extern "C" {                                                                                \
  extern __attribute__((visibility("hidden"))) decltype(&::symbol) const gangway_to_##symbol; \
  decltype(&::symbol) const gangway_to_##symbol = &__VA_ARGS__::call;                         \
  }                                                                                           \
  asm(".text\n\t.p2align 4\n\t.globl " #symbol "\n\t.type " #symbol ", %function\n" #symbol   \
      ":\n\t" GANGWAY_JUMP(symbol) "\t.size " #symbol ", .-" #symbol "\n");

#define SUBMISSION(symbol, kind)                                                                             \
  GANGWAY_SYMBOL(symbol,                                                                                     \
                 gangway::intercept::Submits<gangway::intercept::i_##symbol, gangway::intercept::Kind::kind, \
                                             gangway::intercept::per_thread(#symbol), decltype(::symbol)>)
#define SYNCHRONISATION(symbol, what)                                                                  \
  GANGWAY_SYMBOL(                                                                                      \
      symbol,                                                                                          \
      gangway::intercept::Synchronises<gangway::intercept::i_##symbol, gangway::intercept::Wait::what, \
                                       gangway::intercept::per_thread(#symbol), decltype(::symbol)>)
#define OBSERVED(symbol, what)                                                                              \
  GANGWAY_SYMBOL(                                                                                           \
      symbol, gangway::intercept::Observes<gangway::intercept::i_##symbol, gangway::intercept::Event::what, \
                                           gangway::intercept::per_thread(#symbol), decltype(::symbol)>)
#define SERVED(symbol) GANGWAY_SYMBOL(symbol, gangway::intercept::Serves<gangway::intercept::i_##symbol>)
#define PASSED(symbol) static_assert(std::is_function_v<decltype(::symbol)>);
#include "hw/intercept/functions.def"
#undef SUBMISSION
#undef SYNCHRONISATION
#undef OBSERVED
#undef SERVED

#define SUBMISSION(symbol, kind) {#symbol, nullptr, reinterpret_cast<void*>(&::symbol)},
#define SYNCHRONISATION(symbol, what) {#symbol, nullptr, reinterpret_cast<void*>(&::symbol)},
#define OBSERVED(symbol, what) {#symbol, nullptr, reinterpret_cast<void*>(&::symbol)},
#define SERVED(symbol) {#symbol, nullptr, reinterpret_cast<void*>(&::symbol)},
#undef PASSED
#define PASSED(symbol)
namespace gangway::intercept {
Intercepted intercepted[kIntercepted] = {
#include "hw/intercept/functions.def"
};
#undef SUBMISSION
#undef SYNCHRONISATION
#undef OBSERVED
#undef SERVED
#undef PASSED

namespace {

void in_child() {
  gate.forked();
  registration.forked();
  forget_forms();
  memory_forked();
}

// As `gangway exec --jobs` has it.
void look_at_jobs(const char* jobs) {
  constexpr std::string_view kRanges = "nvtx:";
  if (jobs == nullptr) return;
  if (std::string_view(jobs) == "whole") return gate.jobs_are(live::JobsAre::whole);
  if (!std::string_view(jobs).starts_with(kRanges)) return;
  gate.jobs_are(live::JobsAre::ranges);
  // The environment may change.
  watch_ranges(gate, strdup(jobs + kRanges.size()));
}

__attribute__((constructor)) void begin() {
  find_driver();
  registration.watch_for(gate);
  begin_forms(gate, driver);
  look_at_jobs(std::getenv("GANGWAY_JOBS"));
  const char* const memory = std::getenv("GANGWAY_MEMORY");
  if (memory != nullptr && std::string_view(memory) == "managed") memory_is_managed(gate, driver);
  if (memory != nullptr && std::string_view(memory) == "checkpoint") memory_is_counted(gate);
  pthread_atfork(nullptr, nullptr, &in_child);
}

}  // namespace
}  // namespace gangway::intercept

// For tools that hold every record of the driver against the gate: 0, or the number of the submission that
// the calling thread is making.
extern "C" __attribute__((visibility("default"))) std::uint64_t gangway_submission() {
  return gangway::intercept::Gate::submission();
}

// For programs (examples/live/gangway_priority.h): how urgent what they launch from now on is.
extern "C" __attribute__((visibility("default"))) int gangway_priority(int priority) {
  gangway::intercept::gate.ask_for_priority(priority);
  return 1;
}
