// CUB's collectives of a block and a warp.
#include <cub/cub.cuh>

// The limits of types come with it.
static_assert(FLT_MAX > DBL_MIN && INT_MAX > SHRT_MAX, "cfloat and climits");

// Adds the sums of the preceding blocks, one thread after the other.
struct Running {
    int total;
    __device__ int operator()(int aggregate) {
        const int before = total;
        total += aggregate;
        return before;
    }
};
struct Affine {
    int a, b;
};
// x -> a x + b, composed: not commutative.
struct Compose {
    __device__ Affine operator()(const Affine &first, const Affine &second) const { return {first.a * second.a, first.b * second.a + second.b}; }
};

// In a two-dimensional block.
extern "C" __global__ void __launch_bounds__(128) reductions(const int *in, int *out) {
    using Ordered = cub::BlockReduce<Affine, 32, cub::BLOCK_REDUCE_RAKING, 4>;
    using Pairs = cub::BlockReduce<cub::KeyValuePair<int, int>, 32, cub::BLOCK_REDUCE_WARP_REDUCTIONS, 4>;
    __shared__ union {
        Ordered::TempStorage ordered;
        Pairs::TempStorage pairs;
    } temp;
    const int t = threadIdx.y * 32 + threadIdx.x, v = in[t];
    const Affine all = Ordered(temp.ordered).Reduce(Affine{v % 2 * 2 + 1, v}, Compose());
    __syncthreads();
    const auto best = Pairs(temp.pairs).Reduce(cub::KeyValuePair<int, int>{t, v % 10}, cub::ArgMin());
    if (t == 0)
        out[0] = all.a, out[1] = all.b, out[2] = best.key, out[3] = best.value;
}
extern "C" __global__ void __launch_bounds__(128) sums(const int *in, int valid, int *out) {
    using Reduce = cub::BlockReduce<int, 128>;
    __shared__ Reduce::TempStorage temp;
    const int t = threadIdx.x;
    int items[4] = {in[t * 4], in[t * 4 + 1], in[t * 4 + 2], in[t * 4 + 3]};
    const int all = Reduce(temp).Sum(items);
    __syncthreads();
    const int some = Reduce(temp).Sum(items[0], valid);
    __syncthreads();
    const int largest = Reduce(temp).Reduce(items[1], cub::Max(), valid);
    if (t == 0)
        out[0] = all, out[1] = some, out[2] = largest;
}

extern "C" __global__ void __launch_bounds__(128) scans(const int *in, int *out, int rounds) {
    using Scan = cub::BlockScan<int, 128>;
    __shared__ Scan::TempStorage temp;
    const int t = threadIdx.x;
    Running running{100};
    for (int round = 0; round < rounds; round++) {
        int items[2] = {in[(round * 128 + t) * 2], in[(round * 128 + t) * 2 + 1]}, sums[2];
        Scan(temp).ExclusiveSum(items, sums, running);
        __syncthreads();
        out[(round * 128 + t) * 2] = sums[0], out[(round * 128 + t) * 2 + 1] = sums[1];
    }
    out += rounds * 256;
    int inclusive, aggregate, largest;
    Scan(temp).InclusiveSum(in[t], inclusive, aggregate);
    __syncthreads();
    Scan(temp).ExclusiveScan(in[t], largest, 7, cub::Max());
    out[t * 3] = inclusive, out[t * 3 + 1] = aggregate, out[t * 3 + 2] = largest;
}

// Keys of three types, with and without values, ascending and descending, and by some of the bits only.
extern "C" __global__ void __launch_bounds__(64) sorts(const unsigned *in, unsigned *up, float *down, int *values, long long *wide, unsigned *bits) {
    constexpr int items = 3;
    using Unsigned = cub::BlockRadixSort<unsigned, 64, items>;
    using Float = cub::BlockRadixSort<float, 64, items, int>;
    using Wide = cub::BlockRadixSort<long long, 64, items>;
    __shared__ union {
        Unsigned::TempStorage u;
        Float::TempStorage f;
        Wide::TempStorage w;
    } temp;
    const int first = threadIdx.x * items;
    unsigned u[items], b[items];
    float f[items];
    int v[items];
    long long w[items];
    for (int i = 0; i < items; i++) {
        u[i] = b[i] = in[first + i];
        f[i] = static_cast<float>(static_cast<int>(u[i]) >> 24), v[i] = first + i;
        w[i] = (static_cast<long long>(static_cast<int>(u[i])) << 8) ^ 5;
    }
    Unsigned(temp.u).Sort(u);
    __syncthreads();
    Float(temp.f).SortDescending(f, v);
    __syncthreads();
    Wide(temp.w).SortBlockedToStriped(w);
    __syncthreads();
    Unsigned(temp.u).Sort(b, 4, 12);
    for (int i = 0; i < items; i++) {
        up[first + i] = u[i], down[first + i] = f[i], values[first + i] = v[i], bits[first + i] = b[i];
        wide[i * 64 + threadIdx.x] = w[i];
    }
}

// A difference whose operator takes references that are not const.
struct Mutable {
    template <typename T> __device__ T operator()(T &a, T &b) { return a - b; }
};
extern "C" __global__ void __launch_bounds__(64) mutable_differences(const int *in, int *out) {
    using Adjacent = cub::BlockAdjacentDifference<int, 64>;
    __shared__ Adjacent::TempStorage temp;
    int x[2] = {in[threadIdx.x * 2], in[threadIdx.x * 2 + 1]}, left[2], right[2];
    Adjacent(temp).SubtractLeft(x, left, Mutable(), 7);
    __syncthreads();
    Adjacent(temp).SubtractRight(x, right, Mutable(), 9);
    for (int i = 0; i < 2; i++) {
        out[threadIdx.x * 2 + i] = left[i];
        out[128 + threadIdx.x * 2 + i] = right[i];
    }
}

// Items are exchanged, loaded and stored in each way, compared with their neighbours, counted and merged.
extern "C" __global__ void __launch_bounds__(64) moves(const int *in, int count, int *out) {
    constexpr int items = 4, all = 64 * items;
    using Direct = cub::BlockLoad<int, 64, items, cub::BLOCK_LOAD_DIRECT>;
    using Transpose = cub::BlockLoad<int, 64, items, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    using Striped = cub::BlockStore<int, 64, items, cub::BLOCK_STORE_TRANSPOSE>;
    using Exchange = cub::BlockExchange<int, 64, items>;
    using Heads = cub::BlockDiscontinuity<int, 64>;
    using Adjacent = cub::BlockAdjacentDifference<int, 64>;
    using Histogram = cub::BlockHistogram<unsigned char, 64, items, 16>;
    using Merge = cub::BlockMergeSort<int, 64, items>;
    __shared__ union {
        Direct::TempStorage direct;
        Transpose::TempStorage transpose;
        Striped::TempStorage striped;
        Exchange::TempStorage exchange;
        Heads::TempStorage heads;
        Adjacent::TempStorage adjacent;
        Histogram::TempStorage histogram;
        Merge::TempStorage merge;
    } temp;
    __shared__ unsigned counts[16];
    int x[items], y[items], flags[items];
    Direct(temp.direct).Load(in, x, count, -1);
    __syncthreads();
    Transpose(temp.transpose).Load(in, y);
    __syncthreads();
    Striped(temp.striped).Store(out, x);
    __syncthreads();
    Exchange(temp.exchange).BlockedToStriped(y);
    __syncthreads();
    for (int i = 0; i < items; i++)
        out[all + threadIdx.x * items + i] = y[i];
    Heads(temp.heads).FlagHeads(flags, x, cub::Inequality());
    __syncthreads();
    for (int i = 0; i < items; i++)
        out[2 * all + threadIdx.x * items + i] = flags[i];
    Adjacent(temp.adjacent).SubtractLeft(x, y, cub::Difference());
    __syncthreads();
    for (int i = 0; i < items; i++)
        out[3 * all + threadIdx.x * items + i] = y[i];
    unsigned char small[items];
    for (int i = 0; i < items; i++)
        small[i] = x[i] & 15;
    Histogram(temp.histogram).Histogram(small, counts);
    __syncthreads();
    if (threadIdx.x < 16)
        out[5 * all + threadIdx.x] = counts[threadIdx.x];
    __syncthreads();
    Merge(temp.merge).Sort(x, [](int a, int b) { return a > b; });
    for (int i = 0; i < items; i++)
        out[4 * all + threadIdx.x * items + i] = x[i];
}

// Warps of 32 lanes and logical ones of eight.
extern "C" __global__ void warps(const int *in, int *out) {
    const int t = threadIdx.x, v = in[t], warp = t / 32;
    __shared__ cub::WarpReduce<int>::TempStorage reduce[4];
    __shared__ cub::WarpReduce<int, 8>::TempStorage eight[16];
    __shared__ cub::WarpScan<int>::TempStorage scan[4];
    out += t * 6;
    out[0] = cub::WarpReduce<int>(reduce[warp]).Sum(v);
    out[1] = cub::WarpReduce<int, 8>(eight[t / 8]).Reduce(v, cub::Max());
    out[2] = cub::WarpReduce<int>(reduce[warp]).HeadSegmentedSum(v, v % 4 == 0);
    int inclusive, exclusive;
    cub::WarpScan<int>(scan[warp]).InclusiveSum(v, inclusive);
    cub::WarpScan<int>(scan[warp]).ExclusiveScan(v, exclusive, 3, cub::Max());
    out[3] = inclusive, out[4] = exclusive;
    out[5] = cub::WarpScan<int>(scan[warp]).Broadcast(v, 9);
}

// Items that move between the lanes of a warp and the threads of a block; runs that become items.
extern "C" __global__ void __launch_bounds__(64) exchanges(const int *in, int *out) {
    constexpr int items = 4, all = 64 * items;
    using Exchange = cub::WarpExchange<int, items, 16>;
    using Sort = cub::WarpMergeSort<int, items, 32, int>;
    using Shuffle = cub::BlockShuffle<int, 64>;
    using Decode = cub::BlockRunLengthDecode<int, 64, 2, items>;
    __shared__ Exchange::TempStorage exchange[4];
    __shared__ Sort::TempStorage sort[2];
    __shared__ Shuffle::TempStorage shuffle;
    __shared__ Decode::TempStorage decode;
    const int t = threadIdx.x;
    int x[items], y[items], places[items];
    cub::WarpLoad<int, items, cub::WARP_LOAD_TRANSPOSE, 16>().Load(in + t / 16 * 16 * items, x);
    Exchange(exchange[t / 16]).BlockedToStriped(x, y);
    cub::WarpStore<int, items, cub::WARP_STORE_DIRECT, 16>().Store(out + t / 16 * 16 * items, y);
    __syncwarp();
    Exchange(exchange[t / 16]).StripedToBlocked(y, y);
    for (int i = 0; i < items; i++)
        places[i] = t * items + i;
    Sort(sort[t / 32]).Sort(y, places, [](int a, int b) { return a % 50 < b % 50; });
    for (int i = 0; i < items; i++)
        out[all + t * items + i] = y[i], out[2 * all + t * items + i] = places[i];
    int other = -1, last, first;
    Shuffle(shuffle).Offset(x[0], other, 3);
    out[3 * all + t] = other;
    __syncthreads();
    Shuffle(shuffle).Rotate(x[0], other, 60);
    out[3 * all + 64 + t] = other;
    __syncthreads();
    y[0] = -2;
    Shuffle(shuffle).Up(x, y, last);
    for (int i = 0; i < items; i++)
        out[4 * all + t * items + i] = y[i];
    __syncthreads();
    y[items - 1] = -3;
    Shuffle(shuffle).Down(x, y, first);
    for (int i = 0; i < items; i++)
        out[5 * all + t * items + i] = y[i];
    // Some runs are empty.
    int values[2] = {t * 2, t * 2 + 1}, lengths[2] = {x[0] % 4, x[1] % 3}, total;
    Decode runs(decode, values, lengths, total);
    runs.RunLengthDecode(y, places);
    for (int i = 0; i < items; i++)
        out[6 * all + t * items + i] = t * items + i < total ? y[i] * 100 + places[i] : -1;
    if (t == 40)
        out[7 * all] = last, out[7 * all + 1] = first, out[7 * all + 2] = total;
}

// Differences with neighbours in a tile of which `valid` items count, to the left and to the right, in place and not.
extern "C" __global__ void __launch_bounds__(64) differences(const int *in, int valid, int *out) {
    constexpr int items = 3, all = 64 * items;
    using Adjacent = cub::BlockAdjacentDifference<int, 64>;
    __shared__ Adjacent::TempStorage temp;
    const int first = threadIdx.x * items;
    int x[items], y[items];
    cub::LoadDirectBlocked(threadIdx.x, in, x);
    const auto store = [&](int part, int (&values)[items]) {
        for (int i = 0; i < items; i++)
            out[part * all + first + i] = values[i];
        __syncthreads();
    };
    const cub::Difference op;
    Adjacent(temp).SubtractLeftPartialTile(x, y, op, valid);
    store(0, y);
    Adjacent(temp).SubtractLeftPartialTile(x, y, op, valid, 1000);
    store(1, y);
    Adjacent(temp).SubtractRightPartialTile(x, y, op, valid);
    store(2, y);
    Adjacent(temp).SubtractRight(x, y, op, 1000);
    store(3, y);
    Adjacent(temp).SubtractLeft(x, x, op, 1000);
    store(4, x);
}

struct Fraction {
    short high;
    unsigned char padding, low;
};
struct Parts {
    __device__ cuda::std::tuple<short &, unsigned char &> operator()(Fraction &key) const { return {key.high, key.low}; }
};

// Keys of several numbers, all bits of them and some; searches and sorts of one thread; iterators that are written.
extern "C" __global__ void __launch_bounds__(64) parts(const Fraction *keys, int *up, int *down, const int *sorted, int *searched) {
    constexpr int items = 4;
    using Sort = cub::BlockRadixSort<Fraction, 64, items, int>;
    using Keys = cub::BlockRadixSort<Fraction, 64, items>;
    __shared__ union {
        Sort::TempStorage sort;
        Keys::TempStorage keys;
    } temp;
    const int t = threadIdx.x, first = t * items;
    Fraction u[items], d[items], k[items];
    int places[items], others[items];
    for (int i = 0; i < items; i++)
        u[i] = d[i] = k[i] = keys[first + i], places[i] = others[i] = first + i;
    Sort(temp.sort).Sort(u, places, Parts());
    __syncthreads();
    // Without the lowest bit of the lower number and the highest four of the higher one.
    Sort(temp.sort).SortDescending(d, others, Parts(), 1, 20);
    __syncthreads();
    Keys(temp.keys).SortBlockedToStriped(k, Parts());
    cub::CacheModifiedOutputIterator<cub::STORE_CG, int> to(up);
    cub::DiscardOutputIterator<> lost;
    for (int i = 0; i < items; i++) {
        to[first + i] = places[i], down[first + i] = others[i];
        *(to + (256 + i * 64 + t)) = k[i].high * 256 + k[i].low;
        lost[i] = k[i].high, *lost++ = 1.5f;
    }
    searched += t * 7;
    searched[0] = cub::LowerBound(sorted, 100, t), searched[1] = cub::UpperBound(sorted, 100, t);
    int2 path;
    cub::MergePathSearch(t * 2, sorted, sorted + 50, 50, 50, path);
    searched[2] = path.x, searched[3] = path.y;
    int x[3] = {sorted[t] % 7, t % 5, 3}, y[3] = {0, 1, 2};
    cub::StableOddEvenSort(x, y, [](int a, int b) { return a < b; });
    for (int i = 0; i < 3; i++)
        searched[4 + i] = x[i] * 10 + y[i];
}
