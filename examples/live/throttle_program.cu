// Throttle: requests of one size, one after the other (NEON paper, section 5.1), and how such a program can
// behave badly (sections 1, 3.1, 3.3, 6.3). A request is an NVTX range `request`: a kernel that keeps one
// block busy for so long on each stream, and the host waits for it. Plain CUDA: nothing here knows of
// Gangway.
//   nvcc -O2 -arch=native -cudart static -o throttle throttle_program.cu -lcuda
#include <cuda.h>
#include <nvtx3/nvToolsExt.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

const char* const kUsage = R"(throttle MICROSECONDS [option value]...
  --requests N         how many (default: no end)
  --sleep SHARE        of the time, before each request (0 to 0.99): together they are an NVTX range `round`
  --copy MIB           to the GPU at the begin of each request, behind which its kernel waits (0)
  --contexts N         that each get such requests, all at once (1)
  --hoard N            opens up to N more streams for each request, uses those that it gets, and closes them
  --watched small      two kernels a request, of 10 us each while the second has to wait for the first
  --watched idle       no request for 6 ms whenever the second has to wait for the first
  --long-at N          that request takes --long SECONDS (3600)
)";

#define NEED(call)                                                \
  do {                                                            \
    if (const cudaError_t error = (call); error != cudaSuccess) { \
      std::printf("%s: %s\n", #call, cudaGetErrorString(error));  \
      std::exit(1);                                               \
    }                                                             \
  } while (false)

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;

constexpr Microseconds kSmall{10};
constexpr Microseconds kIdle{6000};
// A launch takes 2 to 4 us; one that waits for a kernel of kSmall takes longer than that.
constexpr Microseconds kWaited{9};

struct Options {
  Microseconds request{};
  long requests = 1L << 60;
  double sleep = 0, copy = 0;
  int contexts = 1, hoard = 0;
  std::string watched;
  long long_at = -1;
  double long_seconds = 3600;
};

__global__ void spin(unsigned long long ns) {
  unsigned long long now = 0, begin = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - begin < ns);
}

[[noreturn]] void usage() {
  std::fputs(kUsage, stderr);
  std::exit(2);
}

double number(const char* text, double least, double most) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (*text == 0 || *end != 0 || !(value >= least && value <= most)) usage();
  return value;
}

Options read(int argc, char** argv) {
  Options options;
  if (argc < 2 || argc % 2 != 0) usage();
  options.request = Microseconds(number(argv[1], 1, 1e9));
  for (int a = 2; a < argc; a += 2) {
    const std::string name = argv[a];
    const char* value = argv[a + 1];
    if (name == "--requests")
      options.requests = static_cast<long>(number(value, 1, 1e15));
    else if (name == "--sleep")
      options.sleep = number(value, 0, 0.99);
    else if (name == "--copy")
      options.copy = number(value, 0, 1024);
    else if (name == "--contexts")
      options.contexts = static_cast<int>(number(value, 1, 64));
    else if (name == "--hoard")
      options.hoard = static_cast<int>(number(value, 0, 4096));
    else if (name == "--watched" && (std::string(value) == "small" || std::string(value) == "idle"))
      options.watched = value;
    else if (name == "--long-at")
      options.long_at = static_cast<long>(number(value, 0, 1e15));
    else if (name == "--long")
      options.long_seconds = number(value, 0, 1e6);
    else
      usage();
  }
  return options;
}

void launch(cudaStream_t stream, Microseconds length) {
  spin<<<1, 32, 0, stream>>>(static_cast<unsigned long long>(length.count() * 1000));
  NEED(cudaGetLastError());
}

// A stream in each of so many contexts, the first of them the runtime's own.
struct Place {
  CUcontext context = nullptr;
  cudaStream_t stream = nullptr;
};

std::vector<Place> open(int contexts) {
  std::vector<Place> places(static_cast<size_t>(contexts));
  NEED(cudaFree(nullptr));
  for (Place& place : places) {
    if (&place == &places.front()) {
      cuCtxGetCurrent(&place.context);
#if CUDA_VERSION >= 13000
    } else if (const CUresult failed = cuCtxCreate(&place.context, nullptr, 0, 0); failed != CUDA_SUCCESS) {
#else
    } else if (const CUresult failed = cuCtxCreate(&place.context, 0, 0); failed != CUDA_SUCCESS) {
#endif
      std::printf("a context: error %d\n", static_cast<int>(failed));
      std::exit(1);
    }
    NEED(cudaStreamCreateWithFlags(&place.stream, cudaStreamNonBlocking));
  }
  return places;
}

void run(const std::vector<Place>& places, Microseconds length) {
  for (const Place& place : places) {
    if (places.size() > 1) cuCtxSetCurrent(place.context);
    launch(place.stream, length);
  }
  for (const Place& place : places) {
    if (places.size() > 1) cuCtxSetCurrent(place.context);
    NEED(cudaStreamSynchronize(place.stream));
  }
}

// Its input is copied in first, from pinned memory.
class Input {
 public:
  explicit Input(double mebibytes) : bytes_(static_cast<size_t>(mebibytes * 1048576)) {
    if (bytes_ == 0) return;
    NEED(cudaMallocHost(&from_, bytes_));
    NEED(cudaMalloc(&to_, bytes_));
  }
  void copy(const Place& place) const {
    if (bytes_ != 0) NEED(cudaMemcpyAsync(to_, from_, bytes_, cudaMemcpyHostToDevice, place.stream));
  }

 private:
  size_t bytes_;
  void *from_ = nullptr, *to_ = nullptr;
};

// Also on so many further streams, as far as it gets them.
void run_and_hoard(const Place& place, int most, Microseconds length) {
  std::vector<cudaStream_t> streams;
  for (cudaStream_t stream = nullptr; static_cast<int>(streams.size()) < most; streams.push_back(stream))
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) break;
  cudaGetLastError();  // which is why it got no more
  for (const cudaStream_t stream : streams) launch(stream, length);
  launch(place.stream, length);
  for (const cudaStream_t stream : streams) {
    NEED(cudaStreamSynchronize(stream));
    NEED(cudaStreamDestroy(stream));
  }
  NEED(cudaStreamSynchronize(place.stream));
}

// In two kernels. Returns whether the second one was held back.
bool run_and_watch(const Place& place, Microseconds length) {
  launch(place.stream, length / 2);
  const Clock::time_point begin = Clock::now();
  launch(place.stream, length / 2);
  const bool waited = Clock::now() - begin > kWaited;
  NEED(cudaStreamSynchronize(place.stream));
  return waited;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read(argc, argv);
  const std::vector<Place> places = open(options.contexts);
  const Input input(options.copy);
  const Microseconds pause = options.request * (options.sleep / (1 - options.sleep));
  bool watched = false;
  for (long request = 0; request < options.requests; ++request) {
    Microseconds length = options.request;
    if (watched && options.watched == "small") length = 2 * kSmall;
    if (watched && options.watched == "idle") std::this_thread::sleep_for(kIdle);
    nvtxRangePushA("round");
    if (options.sleep > 0) std::this_thread::sleep_for(pause);
    if (request == options.long_at) length = std::chrono::duration<double>(options.long_seconds);
    nvtxRangePushA("request");
    input.copy(places.front());
    if (!options.watched.empty())
      watched = run_and_watch(places.front(), length);
    else if (options.hoard > 0)
      run_and_hoard(places.front(), options.hoard, length);
    else
      run(places, length);
    nvtxRangePop();
    nvtxRangePop();
  }
  std::printf("%ld requests\n", options.requests);
  return 0;
}
