// Steps of a decoder as llama.cpp runs them: a chain of kernels, copies and fills that is captured for each step, and whose
// executable graph is updated; or whose nodes get new parameters. Both have the bits of plain launches.
#include "check.h"
#include <cmath>
#include <cstring>
#include <vector>

enum { WIDTH = 64, POSITIONS = 40, VOCABULARY = 96, LAYERS = 3 };

__global__ void embed(float* out, const float* table, const int* tokens) {
    out[blockIdx.x * WIDTH + threadIdx.x] = table[tokens[blockIdx.x] * WIDTH + threadIdx.x];
}

__global__ void norm(float* out, const float* x) {
    __shared__ float squares[WIDTH];
    unsigned at = blockIdx.x * WIDTH + threadIdx.x;
    squares[threadIdx.x] = x[at] * x[at];
    for (unsigned half = WIDTH / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) squares[threadIdx.x] += squares[threadIdx.x + half];
    }
    __syncthreads();
    out[at] = x[at] * rsqrtf(squares[0] / WIDTH + 1e-5f);
}

__global__ void product(float* out, const float* x, const float* matrix, unsigned rows, bool adds) {
    unsigned row = blockIdx.y * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = adds ? out[blockIdx.x * rows + row] : 0.0f;
    for (unsigned i = 0; i < WIDTH; i++) sum = fmaf(matrix[row * WIDTH + i], x[blockIdx.x * WIDTH + i], sum);
    out[blockIdx.x * rows + row] = sum;
}

// Only the length changes from step to step.
__global__ void attend(float* out, const float* query, const float* cache, unsigned sequences, unsigned length) {
    float total = 0.0f, sum = 0.0f;
    for (unsigned position = 0; position < length; position++) {
        const float* key = cache + (position * sequences + blockIdx.x) * WIDTH;
        float score = 0.0f;
        for (unsigned i = 0; i < WIDTH; i++) score = fmaf(query[blockIdx.x * WIDTH + i], key[i], score);
        float weight = __expf(score / WIDTH);
        total += weight;
        sum = fmaf(weight, key[threadIdx.x], sum);
    }
    out[blockIdx.x * WIDTH + threadIdx.x] = sum / total;
}

struct Decoder {
    unsigned sequences;
    hipStream_t stream;
    float *table, *matrices, *x, *normed, *query, *cache, *attended, *logits, *host;
    int* tokens;

    explicit Decoder(unsigned sequences) : sequences(sequences) {
        OK(hipStreamCreate(&stream));
        auto floats = [](float** to, size_t count) { OK(hipMalloc(to, count * sizeof(float))); };
        floats(&table, VOCABULARY * WIDTH);
        floats(&matrices, (2 * LAYERS * WIDTH + VOCABULARY) * WIDTH);
        for (float** each : {&x, &normed, &query, &attended}) floats(each, sequences * WIDTH);
        floats(&cache, LAYERS * cached());
        floats(&logits, sequences * VOCABULARY);
        OK(hipHostMalloc(&host, sequences * VOCABULARY * sizeof(float)));
        OK(hipMalloc(&tokens, sequences * sizeof(int)));
        std::vector<float> numbers((2 * LAYERS * WIDTH + VOCABULARY) * WIDTH);
        unsigned state = 1;
        for (float& number : numbers) number = int((state = state * 1664525 + 1013904223) >> 16) / 65536.0f - 0.5f;
        OK(hipMemcpy(table, numbers.data(), VOCABULARY * WIDTH * sizeof(float), hipMemcpyHostToDevice));
        OK(hipMemcpy(matrices, numbers.data(), numbers.size() * sizeof(float), hipMemcpyHostToDevice));
    }

    ~Decoder() {
        OK(hipStreamSynchronize(stream));
        for (float* each : {table, matrices, x, normed, query, cache, attended, logits}) OK(hipFree(each));
        OK(hipHostFree(host));
        OK(hipFree(tokens));
        OK(hipStreamDestroy(stream));
    }

    size_t cached() const { return size_t(POSITIONS) * sequences * WIDTH; }
    float* keys(unsigned layer, unsigned position) {
        return cache + layer * cached() + size_t(position) * sequences * WIDTH;
    }
    size_t row_bytes() const { return sequences * WIDTH * sizeof(float); }

    // Everything that a step at a position enqueues.
    void enqueue(unsigned position) {
        embed<<<sequences, WIDTH, 0, stream>>>(x, table, tokens);
        for (unsigned layer = 0; layer < LAYERS; layer++) {
            const float* matrix = matrices + 2 * layer * WIDTH * WIDTH;
            norm<<<sequences, WIDTH, 0, stream>>>(normed, x);
            product<<<dim3(sequences, 1), WIDTH, 0, stream>>>(query, normed, matrix, WIDTH, false);
            OK(hipMemcpyAsync(keys(layer, position), query, row_bytes(), hipMemcpyDeviceToDevice, stream));
            OK(hipMemsetAsync(attended, 0xff, row_bytes(), stream));
            attend<<<sequences, WIDTH, 0, stream>>>(attended, query, keys(layer, 0), sequences, position + 1);
            product<<<dim3(sequences, 1), WIDTH, 0, stream>>>(x, attended, matrix + WIDTH * WIDTH, WIDTH, true);
        }
        norm<<<sequences, WIDTH, 0, stream>>>(normed, x);
        product<<<dim3(sequences, 2), 48, 0, stream>>>(logits, normed, matrices + 2 * LAYERS * WIDTH * WIDTH, VOCABULARY,
                                                       false);
        OK(hipMemcpyAsync(host, logits, sequences * VOCABULARY * sizeof(float), hipMemcpyDeviceToHost, stream));
    }

    hipGraph_t capture(unsigned position) {
        hipGraph_t graph;
        OK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
        enqueue(position);
        OK(hipStreamEndCapture(stream, &graph));
        return graph;
    }

    void feed(const std::vector<int>& next) {
        OK(hipMemcpyAsync(tokens, next.data(), next.size() * sizeof(int), hipMemcpyHostToDevice, stream));
    }

    std::vector<float> result() {
        OK(hipStreamSynchronize(stream));
        return std::vector<float>(host, host + sequences * VOCABULARY);
    }
};

// New parameters for the nodes that depend on the position, as older releases of llama.cpp set them.
static void move(Decoder& decoder, hipGraph_t graph, hipGraphExec_t exec, unsigned position) {
    size_t count = 0;
    OK(hipGraphGetNodes(graph, nullptr, &count));
    std::vector<hipGraphNode_t> nodes(count);
    OK(hipGraphGetNodes(graph, nodes.data(), &count));
    unsigned layer = 0, moved = 0;
    for (hipGraphNode_t node : nodes) {
        hipGraphNodeType type;
        OK(hipGraphNodeGetType(node, &type));
        if (type == hipGraphNodeTypeMemcpy && layer < LAYERS) {
            OK(hipGraphExecMemcpyNodeSetParams1D(exec, node, decoder.keys(layer, position), decoder.query, decoder.row_bytes(),
                                                 hipMemcpyDeviceToDevice));
            layer++;
        } else if (type == hipGraphNodeTypeKernel) {
            hipKernelNodeParams parameters = {};
            OK(hipGraphKernelNodeGetParams(node, &parameters));
            if (parameters.func != (void*)attend) continue;
            unsigned length = position + 1;
            void* arguments[5];
            memcpy(arguments, parameters.kernelParams, sizeof arguments);
            arguments[4] = &length;
            parameters.kernelParams = arguments;
            OK(hipGraphExecKernelNodeSetParams(exec, node, &parameters));
            moved++;
        }
    }
    EXPECT(layer == LAYERS && moved == LAYERS);
}

int main() {
    for (unsigned sequences : {1u, 3u, 8u}) {
        Decoder plain(sequences), updated(sequences), set(sequences);
        hipGraph_t first = nullptr;
        hipGraphExec_t updated_exec = nullptr, set_exec = nullptr;
        std::vector<int> tokens(sequences, 1);
        unsigned distinct = 0;
        for (unsigned position = 0; position < POSITIONS; position++) {
            for (Decoder* each : {&plain, &updated, &set}) each->feed(tokens);
            plain.enqueue(position);
            std::vector<float> expected = plain.result();

            hipGraph_t graph = updated.capture(position);
            if (!updated_exec) {
                OK(hipGraphInstantiate(&updated_exec, graph, nullptr, nullptr, 0));
            } else {
                hipGraphNode_t wrong;
                hipGraphExecUpdateResult result;
                OK(hipGraphExecUpdate(updated_exec, graph, &wrong, &result));
            }
            OK(hipGraphLaunch(updated_exec, updated.stream));
            OK(hipGraphDestroy(graph));
            std::vector<float> of_update = updated.result();

            if (!set_exec) {
                first = set.capture(position);
                OK(hipGraphInstantiate(&set_exec, first, nullptr, nullptr, 0));
            } else {
                move(set, first, set_exec, position);
            }
            OK(hipGraphLaunch(set_exec, set.stream));
            std::vector<float> of_set = set.result();

            size_t bytes = expected.size() * sizeof(float);
            EXPECT(memcmp(expected.data(), of_update.data(), bytes) == 0);
            EXPECT(memcmp(expected.data(), of_set.data(), bytes) == 0);
            // The likeliest tokens come next.
            for (unsigned sequence = 0; sequence < sequences; sequence++) {
                const float* row = expected.data() + sequence * VOCABULARY;
                int best = 0;
                for (int token = 0; token < VOCABULARY; token++) {
                    EXPECT(std::isfinite(row[token]));
                    if (row[token] > row[best]) best = token;
                }
                distinct += best != tokens[sequence];
                tokens[sequence] = (best + sequence) % VOCABULARY;
            }
        }
        EXPECT(distinct > 0);
        OK(hipGraphExecDestroy(updated_exec));
        OK(hipGraphExecDestroy(set_exec));
        OK(hipGraphDestroy(first));
    }
    return 0;
}
