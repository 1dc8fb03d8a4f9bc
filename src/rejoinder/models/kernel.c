/* The inner loops of Cosinet, recurrent heads, attention over bits (HAS), matrix products and
 * nearest neighbours.
 *
 * Optional: without it numpy computes the same (ranker/, has/compositions.py, index/vectors/).
 * Plain C without Python, loaded with ctypes, which releases the GIL during a call.  Matrix
 * products are here because numpy's BLAS spreads even small ones over all cores, and waits for
 * busy ones.
 */

#include <math.h>
#include <stdint.h>
#include <string.h>

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

#define LOAD(place) (*(const NAME(anywhere) *)(place))
#define STORE(place, value) (*(NAME(anywhere) *)(place) = (value))
#define FETCH(place) __builtin_prefetch((place), 0, 2)
#define ALWAYS_INLINE static inline __attribute__((always_inline))

int64_t kernel_version(void) { return VERSION; }
int64_t kernel_max_width(void) { return MAX_WIDTH; }

/* One library for every x86-64 processor: each loop is compiled for three levels of the
 * instruction set, and the caller binds the functions of `kernel_level`. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
int64_t kernel_level(void) {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4")) return 4;
    return __builtin_cpu_supports("x86-64-v3") ? 3 : 1;
}
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
#define NAME(function) function##_4
#define LINE 16
#include "loops.h"
#undef NAME
#undef LINE
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
#define NAME(function) function##_3
#define LINE 8
#include "loops.h"
#undef NAME
#undef LINE
#pragma GCC pop_options
#else
int64_t kernel_level(void) { return 1; }
#endif
#define NAME(function) function##_1
#define LINE 4
#include "loops.h"
