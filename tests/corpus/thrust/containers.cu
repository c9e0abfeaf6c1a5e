#include <thrust/device_vector.h>
#include <thrust/fill.h>
#include <thrust/random.h>
#include <thrust/shuffle.h>
#include <thrust/transform_reduce.h>

struct Estimate {
  __host__ __device__ float operator()(unsigned i) const {
    thrust::default_random_engine engine(i * 2654435761u);
    thrust::uniform_real_distribution<float> uniform(0, 1);
    float inside = 0;
    for (int k = 0; k < 1000; ++k) {
      const float x = uniform(engine);
      const float y = uniform(engine);
      inside += x * x + y * y <= 1;
    }
    return 4 * inside / 1000;
  }
};

float pi(int n) {
  thrust::device_vector<float> many(n, 1.0f);
  thrust::device_vector<double> wide(many.begin(), many.end());
  thrust::fill(many.begin(), many.end(), 2.0f);
  thrust::default_random_engine engine;
  thrust::shuffle(many.begin(), many.end(), engine);
  return thrust::transform_reduce(thrust::counting_iterator<unsigned>(0),
                                  thrust::counting_iterator<unsigned>(n), Estimate{}, 0.0f,
                                  thrust::plus<float>{}) +
         many[0] + float(wide[0]);
}
