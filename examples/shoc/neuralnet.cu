// NeuralNet: a batch of inputs forward through fully connected layers of 256 neurons, a launch for each
// layer.
#include "shoc.hpp"

namespace {

constexpr int kNeurons = 256, kTile = 32, kDepth = 32, kThreads = 256;  // threads of four outputs each

}  // namespace

// out[input][neuron] = sigmoid(sum of in[input][from] * weights[from][neuron] + bias[neuron])
__global__ void feed_forward(const float* in, const float* weights, const float* bias, float* out) {
  __shared__ float inputs[kTile][kDepth + 1], of_weights[kDepth][kTile];
  const int x = threadIdx.x % kTile, y = threadIdx.x / kTile;
  const std::size_t input = static_cast<std::size_t>(blockIdx.y) * kTile;
  const int neuron = static_cast<int>(blockIdx.x) * kTile + x;
  float sums[4] = {};
  for (int from = 0; from < kNeurons; from += kDepth) {
    for (int i = 0; i < 4; ++i) {
      inputs[y + 8 * i][x] = in[(input + y + 8 * i) * kNeurons + from + x];
      of_weights[y + 8 * i][x] = weights[(from + y + 8 * i) * kNeurons + neuron];
    }
    __syncthreads();
    for (int k = 0; k < kDepth; ++k)
      for (int i = 0; i < 4; ++i) sums[i] += inputs[y + 8 * i][k] * of_weights[k][x];
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    out[(input + y + 8 * i) * kNeurons + neuron] = 1.0F / (1.0F + expf(-(sums[i] + bias[neuron])));
}

namespace {

class NeuralNet final : public shoc::Benchmark {
 public:
  // 131,072 multiplications an input and layer at 8 TFLOP/s: 14.25 ms in three layers.
  explicit NeuralNet(double scale) : batch_(shoc::scaled(290e3, scale, kTile)), in_(batch_ * kNeurons) {
    in_.repeat(values_);
    for (int layer = 0; layer < kLayers; ++layer) {
      weights_of_.push_back(centred(12 + layer, kNeurons * kNeurons, 8));
      bias_of_.push_back(centred(16 + layer, kNeurons, 1));
      NEED(cudaMemcpy(weights_[layer].data(), weights_of_[layer].data(), weights_[layer].bytes(),
                      cudaMemcpyHostToDevice));
      NEED(cudaMemcpy(bias_[layer].data(), bias_of_[layer].data(), bias_[layer].bytes(),
                      cudaMemcpyHostToDevice));
    }
  }

  void launch() override {
    const dim3 blocks(kNeurons / kTile, static_cast<unsigned>(batch_ / kTile));
    const float* in = in_.data();
    for (int layer = 0; layer < kLayers; ++layer) {
      feed_forward<<<blocks, kThreads>>>(in, weights_[layer].data(), bias_[layer].data(),
                                         outs_[layer].data());
      in = outs_[layer].data();
    }
  }

  std::vector<shoc::Region> outputs() const override {
    return {shoc::region(outs_[0]), shoc::region(outs_[1]), shoc::region(outs_[2])};
  }

  void check(shoc::Sample& sample) override {
    for (int inputs = 0; inputs < 256; ++inputs) {
      const std::size_t first = shoc::drawn(sample, batch_) * kNeurons;
      std::vector<double> values(kNeurons);
      for (int i = 0; i < kNeurons; ++i) values[i] = values_[(first + i) % shoc::kPattern];
      for (int layer = 0; layer < kLayers; ++layer) {
        std::vector<double> sums(bias_of_[layer].begin(), bias_of_[layer].end());
        for (int from = 0; from < kNeurons; ++from)
          for (int to = 0; to < kNeurons; ++to)
            sums[to] += values[from] * weights_of_[layer][from * kNeurons + to];
        const std::vector<float> found = outs_[layer].part(first, kNeurons);
        for (int to = 0; to < kNeurons; ++to) {
          values[to] = 1 / (1 + std::exp(-sums[to]));
          shoc::need_close("output", first + to, found[to], values[to], 2e-5);
        }
      }
    }
  }

 private:
  static constexpr int kLayers = 3;

  static std::vector<float> centred(std::uint64_t seed, std::size_t size, float over) {
    std::vector<float> values = shoc::pattern<float>(seed, 1 << 16, size);
    for (float& value : values) value = (value / (1 << 15) - 1) / over;
    return values;
  }

  std::size_t batch_;
  std::vector<float> values_ = centred(11, shoc::kPattern, 1);
  std::vector<std::vector<float>> weights_of_, bias_of_;
  shoc::Buffer<float> in_;
  shoc::Buffer<float> outs_[3] = {shoc::Buffer<float>(in_.size()), shoc::Buffer<float>(in_.size()),
                                  shoc::Buffer<float>(in_.size())};
  shoc::Buffer<float> weights_[3] = {shoc::Buffer<float>(kNeurons * kNeurons),
                                     shoc::Buffer<float>(kNeurons* kNeurons),
                                     shoc::Buffer<float>(kNeurons* kNeurons)};
  shoc::Buffer<float> bias_[3] = {shoc::Buffer<float>(kNeurons), shoc::Buffer<float>(kNeurons),
                                  shoc::Buffer<float>(kNeurons)};
};

}  // namespace

int main(int argc, char** argv) { return shoc::run<NeuralNet>("neuralnet", argc, argv); }
