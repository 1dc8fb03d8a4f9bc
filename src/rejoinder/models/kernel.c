/* The inner loops of Cosinet, recurrent heads, attention over bits (HAS), matrix products and
 * nearest neighbours (loops.h), and BERT's encoder in int8 (transformer.h).
 *
 * Optional: without it numpy computes the same (ranker/, has/compositions.py, index/vectors/), and
 * onnxruntime runs encoders.  Plain C without Python, loaded with ctypes, which releases the GIL during a call.  Matrix
 * products are here because numpy's BLAS spreads even small ones over all cores, and waits for
 * busy ones.
 */

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#define VERSION 6
#define KERNEL 5
#define HALF 2
#define MAX_WIDTH 1024
#define CHUNK 32 /* positions whose rows fit into the L2 cache together */
#define AHEAD 4  /* words between prefetching a vector and reading it */
#define TILE 12  /* rows whose sums, a line each, fit into 16 registers */
#define GROUP 4  /* tiles that read the same panel of columns in turn */
#define STRIP 10 /* lines of sums that fit into 16 registers */
#define NIBBLES 16 /* groups of four bits in 64 */
#define VALUES 16  /* of four bits */
#define ROWS 128   /* rows of bits that read a table while it is in the L1 cache */
#define PLANES 3   /* bits of a weight of the question */
#define PART 64    /* int8 numbers that are converted together; rows are whole parts */
#define FAR 65535  /* the distance of a row that must not be chosen */

#define BLOCK 48      /* rows whose feed-forward states stay in the L2 cache; whole tiles */
#define MAX_LINES 4   /* lines of columns in one product of attention */
#define MAX_DEPTH 128 /* of a head */
#define ZERO_POINT 128
#define PAIR_LIMIT 4095.0f   /* of 16-bit queries and keys: MAX_DEPTH products fit into 32 bits */
#define SHARE_LIMIT 32767.0f /* of 16-bit values and weights, which add up to at most 1 */
#define SMALLEST 1e-12f      /* the smallest divisor */
#define LOWEST_GELU -0.17f   /* the activation's minimum */
#define ROUNDING 12582912.0f /* 1.5 * 2^23: adding it rounds to whole numbers */
#define ROUNDING_BITS 0x4b400000
#define POWER_1 6.93146098e-01f
#define POWER_2 2.40221058e-01f
#define POWER_3 5.55162301e-02f
#define POWER_4 9.67815054e-03f
#define POWER_5 1.30555924e-03f
#define LOG2_E 1.44269504f
#define GELU_0 3.98712586e-01f
#define GELU_1 -6.59845459e-02f
#define GELU_2 9.58513110e-03f
#define GELU_3 -1.03757166e-03f
#define GELU_4 8.14223245e-05f
#define GELU_5 -4.45149351e-06f
#define GELU_6 1.59088401e-07f
#define GELU_7 -3.31436957e-09f
#define GELU_8 3.03610744e-11f

/* A linear layer; transformer.h describes the layout. */
struct product {
    const int8_t *weights;
    const int32_t *start;
    const float *scales, *bias;
};

struct layer {
    struct product projections, joined, inner, outer;
    const float *joined_norm, *outer_norm;
};

/* An encoder of `depth` layers; kernel.py declares the same structures. */
struct encoder {
    int64_t width, inner, heads, depth;
    const int8_t *pieces;                                   /* (pieces, E) */
    const float *piece_scales, *types, *positions, *norm;   /* (pieces); (…, E) */
    const struct layer *layers;
    float epsilon;
};

/* The parts of a workspace: the rows of all texts, and those of one block. */
struct room {
    uint8_t *bytes, *inner_bytes;
    float *steps, *inner_steps, *projected, *attended, *inner;
};

#define LOAD(place) (*(const NAME(anywhere) *)(place))
#define STORE(place, value) (*(NAME(anywhere) *)(place) = (value))
#define FETCH(place) __builtin_prefetch((place), 0, 2)
#define ALWAYS_INLINE static inline __attribute__((always_inline))

int64_t kernel_version(void) { return VERSION; }
int64_t kernel_max_width(void) { return MAX_WIDTH; }

/* One library for every x86-64 processor: each loop is compiled for four levels of the instruction
 * set, and the caller binds the functions of `kernel_level`. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
int64_t kernel_level(void) {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4")) return __builtin_cpu_supports("avx512vnni") ? 5 : 4;
    return __builtin_cpu_supports("x86-64-v3") ? 3 : 1;
}
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4,avx512vnni")
#define NAME(function) function##_5
#define LINE 16
#define VNNI 1
#include "level.h"
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
#define NAME(function) function##_4
#define LINE 16
#define VNNI 0
#include "level.h"
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
#define NAME(function) function##_3
#define LINE 8
#define VNNI 0
#include "level.h"
#pragma GCC pop_options
#else
int64_t kernel_level(void) { return 1; }
#endif
#define NAME(function) function##_1
#define LINE 4
#define VNNI 0
#include "level.h"
