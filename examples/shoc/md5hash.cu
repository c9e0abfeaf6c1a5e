// MD5Hash: looks for the key of a digest among all keys of eight letters. Each block says which of its keys
// comes nearest, by the first word of the digest.
#include "shoc.hpp"

namespace {

constexpr int kThreads = 256, kEach = 8, kLetters = 26;
constexpr unsigned kKeysOfBlock = kThreads * kEach;

}  // namespace

struct Digest {
  std::uint32_t word[4];
};
struct Nearest {
  std::uint32_t distance, key;
};

// Of eight letters, whose places in the alphabet are the digits of the key's number.
__host__ __device__ inline Digest md5(std::uint32_t key) {
  // floor(2^32 |sin(i + 1)|), as RFC 1321 defines it.
  constexpr std::uint32_t kTable[64] = {
      0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
      0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
      0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
      0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
      0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
      0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
      0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
      0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
  constexpr int kTurns[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};
  std::uint32_t text[16] = {0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0};
#pragma unroll
  for (int letter = 0; letter < 8; ++letter, key /= kLetters)
    text[letter / 4] |= ('a' + key % kLetters) << letter % 4 * 8;
  std::uint32_t a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    const std::uint32_t mix = i < 16   ? (b & c) | (~b & d)
                              : i < 32 ? (d & b) | (~d & c)
                              : i < 48 ? b ^ c ^ d
                                       : c ^ (b | ~d);
    const int word = i < 16 ? i : i < 32 ? (5 * i + 1) % 16 : i < 48 ? (3 * i + 5) % 16 : 7 * i % 16;
    const std::uint32_t sum = a + mix + kTable[i] + text[word];
    const int turn = kTurns[i / 16 * 4 + i % 4];
    a = d, d = c, c = b;
    b += sum << turn | sum >> (32 - turn);
  }
  return {{a + 0x67452301, b + 0xefcdab89, c + 0x98badcfe, d + 0x10325476}};
}

__global__ void search(Digest wanted, Nearest* nearest, std::uint32_t* found) {
  __shared__ Nearest shared[kThreads];
  Nearest best = {0xFFFFFFFF, 0xFFFFFFFF};
  for (int each = 0; each < kEach; ++each) {
    const std::uint32_t key = blockIdx.x * kKeysOfBlock + each * kThreads + threadIdx.x;
    const Digest digest = md5(key);
    const std::uint32_t distance = digest.word[0] ^ wanted.word[0];
    if (distance < best.distance) best = {distance, key};
    if (distance == 0 && digest.word[1] == wanted.word[1] && digest.word[2] == wanted.word[2] &&
        digest.word[3] == wanted.word[3])
      *found = key;
  }
  shared[threadIdx.x] = best;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      const Nearest other = shared[threadIdx.x + half];
      if (other.distance < shared[threadIdx.x].distance ||
          (other.distance == shared[threadIdx.x].distance && other.key < shared[threadIdx.x].key))
        shared[threadIdx.x] = other;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) nearest[blockIdx.x] = shared[0];
}

namespace {

class Md5Hash final : public shoc::Benchmark {
 public:
  // 45 keys a nanosecond, of some 330 integer operations each: 3.29 ms.
  explicit Md5Hash(double scale)
      : nearest_(shoc::scaled(148e6 / kKeysOfBlock, scale)),
        key_(static_cast<std::uint32_t>(shoc::mixed(10) % (nearest_.size() * kKeysOfBlock))),
        wanted_(md5(key_)) {}

  void launch() override {
    search<<<static_cast<unsigned>(nearest_.size()), kThreads>>>(wanted_, nearest_.data(), found_.data());
  }

  std::vector<shoc::Region> outputs() const override {
    return {shoc::region(nearest_), shoc::region(found_)};
  }

  void check(shoc::Sample& sample) override {
    shoc::need_equal("found key", 0, found_.all()[0], key_);
    const std::vector<Nearest> nearest = nearest_.all();
    for (int blocks = 0; blocks < 512; ++blocks) {
      const std::size_t block = shoc::drawn(sample, nearest.size());
      Nearest best = {0xFFFFFFFF, 0xFFFFFFFF};
      for (std::uint32_t key = static_cast<std::uint32_t>(block) * kKeysOfBlock, each = 0;
           each < kKeysOfBlock; ++each, ++key)
        if (const std::uint32_t distance = md5(key).word[0] ^ wanted_.word[0]; distance < best.distance)
          best = {distance, key};
      shoc::need_equal("distance in block", block, nearest[block].distance, best.distance);
      shoc::need_equal("nearest key of block", block, nearest[block].key, best.key);
    }
  }

 private:
  shoc::Buffer<Nearest> nearest_;
  std::uint32_t key_;
  Digest wanted_;
  shoc::Buffer<std::uint32_t> found_{1};
};

}  // namespace

int main(int argc, char** argv) { return shoc::run<Md5Hash>("md5hash", argc, argv); }
