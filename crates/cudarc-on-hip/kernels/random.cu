// Random numbers by Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
//
// A sequence consists of 32-bit words: block b of four words is Philox's output for the counter b and the seed as key. Output i of a
// kernel is computed from the words at its place, so n numbers at once are the same as n numbers in several calls. Poisson numbers need a
// varying number of words, and draw them from separate sequences.

struct Block {
    unsigned word[4];
};

static __device__ Block philox(unsigned long long seed, unsigned long long low, unsigned long long high) {
    unsigned key0 = static_cast<unsigned>(seed), key1 = static_cast<unsigned>(seed >> 32);
    Block block = {{static_cast<unsigned>(low), static_cast<unsigned>(low >> 32), static_cast<unsigned>(high),
                    static_cast<unsigned>(high >> 32)}};
    for (int round = 0; round < 10; ++round) {
        const unsigned long long product0 = 0xD2511F53ull * block.word[0];
        const unsigned long long product1 = 0xCD9E8D57ull * block.word[2];
        block = {{static_cast<unsigned>(product1 >> 32) ^ block.word[1] ^ key0, static_cast<unsigned>(product1),
                  static_cast<unsigned>(product0 >> 32) ^ block.word[3] ^ key1, static_cast<unsigned>(product0)}};
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return block;
}

static __device__ unsigned long long pair(const Block &block, int index) {
    return static_cast<unsigned long long>(block.word[2 * index + 1]) << 32 | block.word[2 * index];
}

// Numbers above 0, up to 1.
static __device__ float unit(unsigned word) { return static_cast<float>(word) * 0x1p-32f + 0x1p-33f; }

static __device__ double unit(unsigned long long words) { return static_cast<double>(words >> 11) * 0x1p-53 + 0x1p-54; }

// A block of words as COUNT numbers of Type.
struct Word {
    using Type = unsigned;
    static constexpr int COUNT = 4;
    static __device__ void make(const Block &block, Type *numbers, double, double) {
        for (int i = 0; i < 4; ++i) numbers[i] = block.word[i];
    }
};

struct Words {
    using Type = unsigned long long;
    static constexpr int COUNT = 2;
    static __device__ void make(const Block &block, Type *numbers, double, double) {
        for (int i = 0; i < 2; ++i) numbers[i] = pair(block, i);
    }
};

struct UniformF32 {
    using Type = float;
    static constexpr int COUNT = 4;
    static __device__ void make(const Block &block, Type *numbers, double, double) {
        for (int i = 0; i < 4; ++i) numbers[i] = unit(block.word[i]);
    }
};

struct UniformF64 {
    using Type = double;
    static constexpr int COUNT = 2;
    static __device__ void make(const Block &block, Type *numbers, double, double) {
        for (int i = 0; i < 2; ++i) numbers[i] = unit(pair(block, i));
    }
};

// The Box-Muller transform: two words give two numbers.
struct NormalF32 {
    using Type = float;
    static constexpr int COUNT = 4;
    static __device__ void make(const Block &block, Type *numbers, double mean, double deviation) {
        for (int i = 0; i < 4; i += 2) {
            const float radius = sqrtf(-2.0f * logf(unit(block.word[i])));
            float sine, cosine;
            sincospif(2.0f * unit(block.word[i + 1]), &sine, &cosine);
            numbers[i] = static_cast<float>(mean) + static_cast<float>(deviation) * radius * cosine;
            numbers[i + 1] = static_cast<float>(mean) + static_cast<float>(deviation) * radius * sine;
        }
    }
};

struct NormalF64 {
    using Type = double;
    static constexpr int COUNT = 2;
    static __device__ void make(const Block &block, Type *numbers, double mean, double deviation) {
        const double radius = sqrt(-2.0 * log(unit(pair(block, 0))));
        double sine, cosine;
        sincospi(2.0 * unit(pair(block, 1)), &sine, &cosine);
        numbers[0] = mean + deviation * radius * cosine;
        numbers[1] = mean + deviation * radius * sine;
    }
};

struct LogNormalF32 {
    using Type = float;
    static constexpr int COUNT = 4;
    static __device__ void make(const Block &block, Type *numbers, double mean, double deviation) {
        NormalF32::make(block, numbers, mean, deviation);
        for (int i = 0; i < 4; ++i) numbers[i] = expf(numbers[i]);
    }
};

struct LogNormalF64 {
    using Type = double;
    static constexpr int COUNT = 2;
    static __device__ void make(const Block &block, Type *numbers, double mean, double deviation) {
        NormalF64::make(block, numbers, mean, deviation);
        for (int i = 0; i < 2; ++i) numbers[i] = exp(numbers[i]);
    }
};

// Numbers start, start + 1, … of the sequence.
template <typename Kind>
static __device__ void fill(typename Kind::Type *out, unsigned long long count, unsigned long long seed,
                            unsigned long long start, double mean, double deviation) {
    const unsigned long long threads = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
    const unsigned long long end = start + count;
    unsigned long long block = start / Kind::COUNT + static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; block * Kind::COUNT < end; block += threads) {
        typename Kind::Type numbers[Kind::COUNT];
        Kind::make(philox(seed, block, 0), numbers, mean, deviation);
        for (int i = 0; i < Kind::COUNT; ++i) {
            const unsigned long long place = block * Kind::COUNT + i;
            if (place >= start && place < end) out[place - start] = numbers[i];
        }
    }
}

#define FILL(NAME, KIND)                                                                                                      \
    extern "C" __global__ void NAME(KIND::Type *out, unsigned long long count, unsigned long long seed,                      \
                                    unsigned long long start, double mean, double deviation) {                               \
        fill<KIND>(out, count, seed, start, mean, deviation);                                                                \
    }

FILL(random_u32, Word)
FILL(random_u64, Words)
FILL(uniform_f32, UniformF32)
FILL(uniform_f64, UniformF64)
FILL(normal_f32, NormalF32)
FILL(normal_f64, NormalF64)
FILL(log_normal_f32, LogNormalF32)
FILL(log_normal_f64, LogNormalF64)

// Below 10, the number of factors that keep a product of uniform numbers above e^-lambda; otherwise Hörmann's transformed rejection
// ("The transformed rejection method for generating Poisson random variables", 1993).
extern "C" __global__ void poisson_u32(unsigned *out, unsigned long long count, unsigned long long seed,
                                       unsigned long long start, double lambda, double) {
    const unsigned long long threads = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
    unsigned long long index = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; index < count; index += threads) {
        unsigned long long draw = 0;
        Block block;
        // Two numbers of a block.
        const auto next = [&](int half) {
            if (half == 0) block = philox(seed, start + index, ++draw);
            return unit(pair(block, half));
        };
        double number = 0.0;
        if (lambda < 10.0) {
            const double least = exp(-lambda);
            double product = next(0);
            for (int half = 1; product > least; half ^= 1) {
                product *= next(half);
                number += 1.0;
            }
        } else {
            const double b = 0.931 + 2.53 * sqrt(lambda), a = -0.059 + 0.02483 * b;
            const double inverse = 1.1239 + 1.1328 / (b - 3.4), limit = 0.9277 - 3.6224 / (b - 2.0);
            for (;;) {
                const double u = next(0) - 0.5, v = next(1);
                const double distance = 0.5 - fabs(u);
                number = floor((2.0 * a / distance + b) * u + lambda + 0.43);
                if (distance >= 0.07 && v <= limit) break;
                if (number < 0.0 || (distance < 0.013 && v > distance)) continue;
                const double accepted = log(v) + log(inverse) - log(a / (distance * distance) + b);
                if (accepted <= -lambda + number * log(lambda) - lgamma(number + 1.0)) break;
            }
        }
        out[index] = number < 4294967295.0 ? static_cast<unsigned>(number) : 4294967295u;
    }
}
