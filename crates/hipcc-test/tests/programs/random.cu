// cuRAND: known numbers, and the moments of distributions. Prints PASSED, or what is wrong.
#include <curand.h>
#include <curand_kernel.h>

#include <cmath>
#include <cstdio>
#include <vector>

static int failures;
#define CHECK(condition)                                                                                                                   \
    do {                                                                                                                                   \
        if (!(condition)) std::printf("line %d: %s\n", __LINE__, #condition), failures++;                                                   \
    } while (0)
#define OK(call) CHECK((call) == CURAND_STATUS_SUCCESS)

// The numbers of threads of one generator, and whether an offset is as many steps.
__global__ void first(unsigned *xorwow, double *mrg, int *is_same) {
    const int i = threadIdx.x;
    curandState state, later;
    curand_init(1234, i, 0, &state);
    curand_init(1234, i, 1000, &later);
    xorwow[i] = curand(&state);
    for (int step = 1; step < 1000; step++) (void)curand(&state);
    is_same[i] = curand(&state) == curand(&later);
    curandStateMRG32k3a_t other, far;
    curand_init(0, 0, i, &other);
    mrg[i] = curand_MRG32k3a(&other);
    curand_init(5, i, 40, &other);
    curand_init(5, i, 0, &far);
    for (int step = 0; step < 40; step++) (void)curand(&far);
    is_same[i] &= curand_MRG32k3a(&other) == curand_MRG32k3a(&far);
}
__global__ void counts(unsigned *few, unsigned *many, curandDirectionVectors32_t *vectors, unsigned *sobol) {
    const int i = threadIdx.x;
    curandStatePhilox4_32_10_t state;
    curand_init(7, i, 0, &state);
    few[i] = curand_poisson(&state, 5.0);
    many[i] = curand_poisson(&state, 200.0);
    curandStateSobol32_t quasi;
    curand_init(vectors[2], i, &quasi);
    sobol[i] = curand(&quasi);
}

struct Moments {
    double mean, variance;
};
template <typename T> static Moments moments(const std::vector<T> &of) {
    double sum = 0, squares = 0;
    for (const T x : of) sum += double(x);
    for (const T x : of) squares += (x - sum / of.size()) * (x - sum / of.size());
    return {sum / of.size(), squares / of.size()};
}
template <typename T> static std::vector<T> host(const T *from, size_t count) {
    std::vector<T> to(count);
    cudaMemcpy(to.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost);
    return to;
}

int main() {
    // What NVIDIA's manual prints for the seed 1234: each number is the first of a sequence.
    const double printed[] = {0.1455, 0.8202, 0.5504, 0.2948, 0.9147, 0.8690, 0.3219, 0.7829, 0.0113, 0.2855};
    const size_t count = 20000;
    curandGenerator_t generator;
    float *floats;
    double *doubles;
    unsigned *words;
    cudaMalloc(&floats, count * sizeof(float)), cudaMalloc(&doubles, count * sizeof(double)), cudaMalloc(&words, count * sizeof(unsigned));
    OK(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT));
    OK(curandSetPseudoRandomGeneratorSeed(generator, 1234));
    OK(curandGenerateUniform(generator, floats, count));
    const auto uniform = host(floats, count);
    for (int i = 0; i < 10; i++) CHECK(std::fabs(uniform[i] - printed[i]) < 5.1e-5);
    // An offset skips as many.
    OK(curandSetGeneratorOffset(generator, 5000));
    OK(curandGenerateUniform(generator, floats, count - 5000));
    const auto later = host(floats, count - 5000);
    for (size_t i = 0; i < later.size(); i++) CHECK(later[i] == uniform[i + 5000]);
    OK(curandDestroyGenerator(generator));

    unsigned *xorwow;
    double *mrg;
    int *is_same;
    cudaMalloc(&xorwow, 64 * sizeof(unsigned)), cudaMalloc(&mrg, 64 * sizeof(double)), cudaMalloc(&is_same, 64 * sizeof(int));
    first<<<1, 64>>>(xorwow, mrg, is_same);
    const auto threads = host(xorwow, 64);
    const auto steps = host(mrg, 64);
    for (const int same : host(is_same, 64)) CHECK(same);
    for (int i = 0; i < 64; i++) CHECK(std::fabs(threads[i] / 4294967296.0 - uniform[i]) < 1e-7);
    // L'Ecuyer's own first numbers.
    const double published[] = {0.127011122046577, 0.3185275653967945, 0.3091860155832701};
    for (int i = 0; i < 3; i++) CHECK(std::fabs(steps[i] / 4294967088.0 - published[i]) < 1e-14);

    // Every generator's numbers have the moments of their distributions, within five standard errors.
    for (const auto type : {CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A, CURAND_RNG_PSEUDO_MT19937, CURAND_RNG_PSEUDO_PHILOX4_32_10,
                            CURAND_RNG_QUASI_SOBOL32}) {
        OK(curandCreateGenerator(&generator, type));
        OK(curandGenerateUniformDouble(generator, doubles, count));
        const auto flat = moments(host(doubles, count));
        CHECK(std::fabs(flat.mean - 0.5) < 0.0103 && std::fabs(flat.variance - 1.0 / 12) < 0.0027);
        OK(curandGenerateNormal(generator, floats, count, 3, 2));
        const auto normal = moments(host(floats, count));
        CHECK(std::fabs(normal.mean - 3) < 0.071 && std::fabs(normal.variance - 4) < 0.2);
        OK(curandGenerateLogNormalDouble(generator, doubles, count, 0, 0.5));
        const auto logarithmic = moments(host(doubles, count));
        CHECK(std::fabs(logarithmic.mean - std::exp(0.125)) < 0.022);
        OK(curandGeneratePoisson(generator, words, count, 100));
        const auto events = moments(host(words, count));
        CHECK(std::fabs(events.mean - 100) < 0.36 && std::fabs(events.variance - 100) < 5.1);
        OK(curandDestroyGenerator(generator));
    }
    // MT19937's first number for the seed 5489, as its inventors publish it.
    OK(curandCreateGeneratorHost(&generator, CURAND_RNG_PSEUDO_MT19937));
    OK(curandSetPseudoRandomGeneratorSeed(generator, 5489));
    unsigned word = 0;
    OK(curandGenerate(generator, &word, 1));
    CHECK(word == 3499211612u);
    CHECK(curandGenerateNormal(generator, floats, 3, 0, 1) == CURAND_STATUS_LENGTH_NOT_MULTIPLE);
    OK(curandDestroyGenerator(generator));

    // Each dimension of Sobol's sequence has a point in each of 64 parts.
    OK(curandCreateGenerator(&generator, CURAND_RNG_QUASI_DEFAULT));
    OK(curandSetQuasiRandomGeneratorDimensions(generator, 21));
    OK(curandGenerate(generator, words, 21 * 64));
    const auto points = host(words, 21 * 64);
    for (int dimension = 0; dimension < 21; dimension++) {
        unsigned long long parts = 0;
        for (int i = 0; i < 64; i++) parts |= 1ull << (points[dimension * 64 + i] >> 26);
        CHECK(parts == ~0ull);
    }
    CHECK(curandSetQuasiRandomGeneratorDimensions(generator, 22) == CURAND_STATUS_OUT_OF_RANGE);
    OK(curandDestroyGenerator(generator));
    CHECK(curandCreateGenerator(&generator, CURAND_RNG_QUASI_SCRAMBLED_SOBOL32) == CURAND_STATUS_TYPE_ERROR);

    curandDirectionVectors32_t *vectors, *on_device;
    unsigned *few, *many, *sobol;
    OK(curandGetDirectionVectors32(&vectors, CURAND_DIRECTION_VECTORS_32_JOEKUO6));
    cudaMalloc(&on_device, 3 * sizeof(*vectors)), cudaMalloc(&few, 4096), cudaMalloc(&many, 4096), cudaMalloc(&sobol, 4096);
    cudaMemcpy(on_device, vectors, 3 * sizeof(*vectors), cudaMemcpyHostToDevice);
    counts<<<1, 1024>>>(few, many, on_device, sobol);
    const auto five = moments(host(few, 1024)), hundreds = moments(host(many, 1024));
    CHECK(std::fabs(five.mean - 5) < 0.35 && std::fabs(five.variance - 5) < 1.2);
    CHECK(std::fabs(hundreds.mean - 200) < 2.3 && std::fabs(hundreds.variance - 200) < 45);
    const auto quasi = host(sobol, 64);
    for (int i = 0; i < 64; i++) CHECK(quasi[i] == points[2 * 64 + i]);
    if (!failures) std::puts("PASSED");
    return failures != 0;
}
