/* Measures how fast one thread can be: single instructions, products, and memory.
 *
 * limits.py compiles this file and calls it.  Every function returns the best rate of several
 * rounds, or 0 where the processor does not have the instruction. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__) && defined(__GNUC__) && (defined(__clang__) || __GNUC__ >= 10)
#define HAS_BF16 1 /* the compiler knows the instructions */
#include <immintrin.h>
#else
#define HAS_BF16 0
#endif

#define LAYERS 6           /* copies of a weight that are read in turn, as those of layers are */
#define REPEATS 5000000    /* of twelve instructions */
#define ROUND_SECONDS 0.02 /* the least that a round of products takes */

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#define HAS_LEVELS 1 /* kernel.c is compiled for several levels, and transformer.c for one */
#else
#define HAS_LEVELS 0
#endif

/* As kernel.c and transformer.c define them. */
struct product {
    const int8_t *weights;
    const int32_t *start;
    const float *scales, *bias;
};
typedef void Project(const uint8_t *, int64_t, int64_t, const float *, const struct product *,
                     int64_t, float *);
typedef void Multiply(const float *, int64_t, int64_t, const float *, int64_t, const float *,
                      float *);
int64_t kernel_level(void), has_transformer(void), kernel_line_1(void);
Multiply multiply_1;
#if HAS_LEVELS
int64_t kernel_line_3(void), kernel_line_4(void);
Multiply multiply_3, multiply_4;
Project project, project_and_add;
#endif

static double read_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#if defined(__x86_64__)
/* Twelve accumulators hide the latency of an instruction.  They are named, because compilers keep
 * an array of vectors in memory, and the loop is one block, so that nothing is moved into it. */
#define EACH(DO, r) \
    DO(r, "0") \
    DO(r, "1") DO(r, "2") DO(r, "3") DO(r, "4") DO(r, "5") DO(r, "6") DO(r, "7") DO(r, "8") \
        DO(r, "9") DO(r, "10") DO(r, "11")
#define CLEAR(r, n) "vpxor %%xmm" n ", %%xmm" n ", %%xmm" n "\n"
#define VPDPBUSD(r, n) "vpdpbusd %%" r "13, %%" r "12, %%" r n "\n"
#define VPDPWSSD(r, n) "vpdpwssd %%" r "13, %%" r "12, %%" r n "\n"
#define VDPBF16PS(r, n) "vdpbf16ps %%" r "13, %%" r "12, %%" r n "\n"
#define VFMADD(r, n) "vfmadd231ps %%" r "13, %%" r "12, %%" r n "\n"
#define VPMADDWD(r, n) \
    "vpmaddwd %%" r "13, %%" r "12, %%" r "14\nvpaddd %%" r "14, %%" r n ", %%" r n "\n"
#define ONES 0x3f803f80 /* about 1 as a float and 1 as two bfloat16: denormals would be slow */

#define DEFINE_RUN(name, DO, r) \
    static void name(void) { \
        int64_t left = REPEATS; \
        const int32_t ones = ONES; \
        __asm__ volatile( \
            "vmovd %1, %%xmm12\n" \
            "vpbroadcastd %%xmm12, %%" r \
            "12\n" \
            "vpbroadcastd %%xmm12, %%" r \
            "13\n" EACH(CLEAR, r) "1:\n" EACH(DO, r) "dec %0\njnz 1b\nvzeroupper\n" \
            : "+r"(left) \
            : "r"(ones) \
            : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", \
              "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14"); \
    }

DEFINE_RUN(run_bytes_512, VPDPBUSD, "zmm")
DEFINE_RUN(run_shorts_512, VPDPWSSD, "zmm")
DEFINE_RUN(run_bfloats_512, VDPBF16PS, "zmm")
DEFINE_RUN(run_floats_512, VFMADD, "zmm")
DEFINE_RUN(run_pairs_512, VPMADDWD, "zmm")
DEFINE_RUN(run_floats_256, VFMADD, "ymm")
DEFINE_RUN(run_pairs_256, VPMADDWD, "ymm")

/* Return operations per second: a product and a sum are two. */
static double time_run(void (*run)(void), double operations, int64_t rounds) {
    double best = 0;
    for (int64_t round = 0; round < rounds; round++) {
        const double start = read_clock();
        run();
        const double rate = 12.0 * REPEATS * operations / (read_clock() - start);
        best = rate > best ? rate : best;
    }
    return best;
}

/* Without VNNI, 16-bit products are the widest exact ones: vpmaddubsw saturates. */
static double measure_pairs(int64_t rounds) {
    if (__builtin_cpu_supports("avx512bw")) return time_run(run_pairs_512, 64, rounds);
    return __builtin_cpu_supports("avx2") ? time_run(run_pairs_256, 32, rounds) : 0;
}

double measure_int8(int64_t rounds) {
    if (__builtin_cpu_supports("avx512vnni")) return time_run(run_bytes_512, 128, rounds);
    return measure_pairs(rounds);
}

double measure_int16(int64_t rounds) {
    if (__builtin_cpu_supports("avx512vnni")) return time_run(run_shorts_512, 64, rounds);
    return measure_pairs(rounds);
}

double measure_bf16(int64_t rounds) {
    return __builtin_cpu_supports("avx512bf16") ? time_run(run_bfloats_512, 64, rounds) : 0;
}

double measure_fp32(int64_t rounds) {
    if (__builtin_cpu_supports("avx512f")) return time_run(run_floats_512, 32, rounds);
    const int is_there = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return is_there ? time_run(run_floats_256, 16, rounds) : 0;
}

int64_t has_vnni(void) { return __builtin_cpu_supports("avx512vnni") != 0; }
#else
double measure_int8(int64_t rounds) { return 0 * (double)rounds; }
double measure_int16(int64_t rounds) { return 0 * (double)rounds; }
double measure_bf16(int64_t rounds) { return 0 * (double)rounds; }
double measure_fp32(int64_t rounds) { return 0 * (double)rounds; }
int64_t has_vnni(void) { return 0; }
#endif

/* out = left . right + bias in bf16, or that added to out: what the kernel could do without
 * rounding weights to int8.
 *
 * left (rows, depth); right in panels of WIDE lines of columns, (panels, depth / 2, WIDE, LINE, 2);
 * rows are whole tiles of TALL, and columns whole panels. */
#define TALL 6 /* rows of a tile, whose sums fill 24 of 32 registers, as in transformer.c */
#define WIDE 4
#define LINE 16
#if HAS_BF16
#define UNROLL _Pragma("GCC unroll 8")

__attribute__((target("avx512f,avx512bf16"))) static void multiply_bfloats(
    const uint16_t *restrict left, int64_t rows, int64_t depth, const uint16_t *restrict right,
    int64_t columns, const float *restrict bias, int64_t is_residual, float *restrict out) {
    for (int64_t first = 0; first < columns; first += WIDE * LINE, right += depth * WIDE * LINE)
        for (int64_t row = 0; row < rows; row += TALL) {
            __m512 sums[TALL][WIDE];
            float *const place = out + row * columns + first;
            UNROLL for (int r = 0; r < TALL; r++)
                UNROLL for (int w = 0; w < WIDE; w++) {
                sums[r][w] = _mm512_loadu_ps(bias + first + w * LINE);
                if (is_residual)
                    sums[r][w] += _mm512_loadu_ps(place + r * columns + w * LINE);
            }
            for (int64_t k = 0; k < depth; k += 2) {
                __m512i column[WIDE];
                UNROLL for (int w = 0; w < WIDE; w++)
                    column[w] = _mm512_loadu_si512(right + (k * WIDE + 2 * w) * LINE);
                UNROLL for (int r = 0; r < TALL; r++) {
                    int32_t pair;
                    memcpy(&pair, left + (row + r) * depth + k, sizeof pair);
                    const __m512i both = _mm512_set1_epi32(pair);
                    UNROLL for (int w = 0; w < WIDE; w++)
                        sums[r][w] = _mm512_dpbf16_ps(sums[r][w], (__m512bh)both,
                                                      (__m512bh)column[w]);
                }
            }
            UNROLL for (int r = 0; r < TALL; r++)
                UNROLL for (int w = 0; w < WIDE; w++)
                    _mm512_storeu_ps(place + r * columns + w * LINE, sums[r][w]);
        }
}

int64_t has_bf16(void) { return __builtin_cpu_supports("avx512bf16") != 0; }
#else
int64_t has_bf16(void) { return 0; }
#endif

/* Return the product of one bf16 matrix in panels, for a test; 0 where there is none. */
int64_t multiply_in_bf16(const uint16_t *left, int64_t rows, int64_t depth, const uint16_t *right,
                         int64_t columns, const float *bias, int64_t is_residual, float *out) {
    if (!has_bf16() || rows % TALL || depth % 2 || columns % (WIDE * LINE)) return 0;
#if HAS_BF16
    multiply_bfloats(left, rows, depth, right, columns, bias, is_residual, out);
#endif
    return 1;
}

/* One product with everything that it reads and writes. */
struct task {
    int64_t rows, depth, columns, is_residual;
    uint8_t *bytes;
    int8_t *weights;
    uint16_t *halves, *half_panels;
    float *left, *panels, *steps, *scales, *out;
    int32_t *start;
};

static void run_bytes(const struct task *task, int64_t layer) {
    const struct product product = {task->weights + layer * task->depth * task->columns,
                                    task->start, task->scales, task->scales};
#if HAS_LEVELS
    (task->is_residual ? project_and_add : project)(
        task->bytes, task->rows, task->depth, task->steps, &product, task->columns, task->out);
#else
    (void)product;
#endif
}

static void run_floats(const struct task *task, int64_t layer) {
    const float *const panels = task->panels + layer * task->depth * task->columns;
#define RUN(level) \
    multiply_##level(task->left, task->rows, task->depth, panels, \
                     task->columns / kernel_line_##level(), task->scales, task->out)
#if HAS_LEVELS
    if (kernel_level() == 4) RUN(4);
    if (kernel_level() == 3) RUN(3);
#endif
    if (kernel_level() == 1) RUN(1);
#undef RUN
}

static void run_bfloats(const struct task *task, int64_t layer) {
    multiply_in_bf16(task->halves, task->rows, task->depth,
                     task->half_panels + layer * task->depth * task->columns, task->columns,
                     task->scales, task->is_residual, task->out);
}

static double time_product(const struct task *task, void (*run)(const struct task *, int64_t),
                           int64_t rounds) {
    double best = 0;
    for (int64_t round = 0; round < rounds; round++) {
        const double start = read_clock();
        double seconds = 0;
        int64_t count = 0;
        for (; seconds < ROUND_SECONDS; seconds = read_clock() - start)
            for (int64_t layer = 0; layer < LAYERS; layer++, count++) run(task, layer);
        const double operations = 2.0 * (double)(task->rows * task->depth * task->columns * count);
        best = operations / seconds > best ? operations / seconds : best;
    }
    return best;
}

/* Room for numbers, from the start of a line of the cache and with one more line behind. */
static void *make_room(int64_t count, int64_t size) {
    return aligned_alloc(64, (size_t)((count * size + 127) / 64 * 64));
}

static uint32_t draw(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

/* Return a number from 2^-7 to 2^-5 as bf16: sums of many stay finite. */
static uint16_t draw_half(uint32_t *state) { return (uint16_t)(0x3c00 + draw(state) % 256); }

enum kind { FP32, INT8, BF16 };

/* Return the operations per second of a product with random numbers, or 0 where there is none for
 * this processor.  Those in int8 and fp32 are the kernel's. */
double measure_product(int64_t kind, int64_t rows, int64_t depth, int64_t columns,
                       int64_t is_residual, int64_t rounds) {
    if ((kind == INT8 && !has_transformer()) || (kind == BF16 && !has_bf16())) return 0;
    const int64_t weights = LAYERS * depth * columns;
    struct task task = {.rows = rows,
                        .depth = depth,
                        .columns = columns,
                        .is_residual = is_residual,
                        .steps = make_room(rows, 4),
                        .scales = make_room(columns, 4),
                        .out = make_room(rows * columns, 4),
                        .start = make_room(columns, 4)};
    uint32_t state = 1;
    for (int64_t i = 0; i < rows; i++) task.steps[i] = 0.01f;
    for (int64_t i = 0; i < columns; i++) task.start[i] = 0, task.scales[i] = 0.003f;
    for (int64_t i = 0; i < rows * columns; i++) task.out[i] = 0;
    void (*run)(const struct task *, int64_t) = run_floats;
    if (kind == INT8) {
        run = run_bytes;
        task.bytes = make_room(rows * depth, 1);
        task.weights = make_room(weights + depth * 64, 1); /* the next panel is fetched */
        for (int64_t i = 0; i < rows * depth; i++) task.bytes[i] = (uint8_t)draw(&state);
        for (int64_t i = 0; i < weights; i++) task.weights[i] = (int8_t)draw(&state);
    } else if (kind == BF16) {
        run = run_bfloats;
        task.halves = make_room(rows * depth, 2);
        task.half_panels = make_room(weights, 2);
        for (int64_t i = 0; i < rows * depth; i++) task.halves[i] = draw_half(&state);
        for (int64_t i = 0; i < weights; i++) task.half_panels[i] = draw_half(&state);
    } else {
        task.left = make_room(rows * depth, 4);
        task.panels = make_room(weights, 4);
        for (int64_t i = 0; i < rows * depth; i++)
            task.left[i] = 1e-3f * (float)(draw(&state) % 64);
        for (int64_t i = 0; i < weights; i++) task.panels[i] = 1e-3f * (float)(draw(&state) % 64);
    }
    const double rate = time_product(&task, run, rounds);
    free(task.bytes), free(task.weights), free(task.left), free(task.panels);
    free(task.halves), free(task.half_panels);
    free(task.steps), free(task.scales), free(task.out), free(task.start);
    return rate;
}

/* Return the bytes per second that are read from memory, from a part that no cache holds. */
double measure_bandwidth(int64_t bytes, int64_t rounds) {
    const int64_t count = bytes / 64 * 8;
    uint64_t *const numbers = make_room(count, 8);
    double best = 0;
    for (int64_t i = 0; i < count; i++) numbers[i] = (uint64_t)i;
    for (int64_t round = 0; round < rounds; round++) {
        const double start = read_clock();
        uint64_t sums[8] = {0};
        for (int64_t i = 0; i < count; i += 8)
            for (int lane = 0; lane < 8; lane++) sums[lane] += numbers[i + lane];
        volatile uint64_t total = 0; /* so that the loop is not left out */
        for (int lane = 0; lane < 8; lane++) total = total + sums[lane];
        const double rate = 8.0 * (double)count / (read_clock() - start);
        best = rate > best ? rate : best;
    }
    free(numbers);
    return best;
}
