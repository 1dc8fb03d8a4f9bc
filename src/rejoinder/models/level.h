/* All loops for one level of the instruction set: kernel.c includes this for each level, with its
 * NAME, LINE and VNNI.
 *
 * A line is the 32-bit numbers of one SIMD register. */

typedef float NAME(vec) __attribute__((vector_size(LINE * sizeof(float))));
typedef int32_t NAME(choice) __attribute__((vector_size(LINE * sizeof(float))));
typedef int16_t NAME(pairs) __attribute__((vector_size(LINE * sizeof(float))));
typedef NAME(vec) NAME(anywhere) __attribute__((aligned(4), may_alias));

/* The larger of two numbers, lane by lane; b if one is not a number. */
ALWAYS_INLINE NAME(vec) NAME(larger)(NAME(vec) a, NAME(vec) b) {
#if defined(__x86_64__) && LINE == 16
    return (NAME(vec))_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__x86_64__) && LINE == 8
    return (NAME(vec))_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__x86_64__)
    return (NAME(vec))_mm_max_ps((__m128)a, (__m128)b);
#else
    const NAME(choice) first = a > b;
    return (NAME(vec))((first & (NAME(choice))a) | (~first & (NAME(choice))b));
#endif
}

#if VNNI
/* A tile of TALL rows and WIDE lines of columns fits into 32 registers with what it reads. */
#define TALL 6
#define WIDE 4

/* Add to each lane of `sums` four products of unsigned bytes with signed ones. */
ALWAYS_INLINE NAME(choice) NAME(add_bytes)(NAME(choice) sums, NAME(choice) bytes,
                                           NAME(choice) weights) {
    return (NAME(choice))_mm512_dpbusd_epi32((__m512i)sums, (__m512i)bytes, (__m512i)weights);
}

/* Add to each lane of `sums` two products of 16-bit integers. */
ALWAYS_INLINE NAME(choice) NAME(add_pairs)(NAME(choice) sums, NAME(choice) a, NAME(choice) b) {
    return (NAME(choice))_mm512_dpwssd_epi32((__m512i)sums, (__m512i)a, (__m512i)b);
}
#else
#define TALL 4
#define WIDE 2

/* Multiply 16-bit integers, and add the products of each lane. */
ALWAYS_INLINE NAME(choice) NAME(multiply_shorts)(NAME(choice) a, NAME(choice) b) {
#if defined(__x86_64__) && LINE == 16
    return (NAME(choice))_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__x86_64__) && LINE == 8
    return (NAME(choice))_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__x86_64__)
    return (NAME(choice))_mm_madd_epi16((__m128i)a, (__m128i)b);
#elif defined(__ARM_NEON) && defined(__aarch64__)
    const int16x8_t x = (int16x8_t)a, y = (int16x8_t)b;
    return (NAME(choice))vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)),
                                    vmull_high_s16(x, y));
#else
    const NAME(pairs) x = (NAME(pairs))a, y = (NAME(pairs))b;
    NAME(choice) sums;
    for (int i = 0; i < LINE; i++) sums[i] = x[2 * i] * y[2 * i] + x[2 * i + 1] * y[2 * i + 1];
    return sums;
#endif
}

/* Products of bytes would overflow 16 bits where two are added, so even and odd bytes are widened
 * to 16 bits each. */
ALWAYS_INLINE NAME(choice) NAME(add_bytes)(NAME(choice) sums, NAME(choice) bytes,
                                           NAME(choice) weights) {
    const NAME(pairs) even = (NAME(pairs))weights << 8 >> 8, odd = (NAME(pairs))weights >> 8;
    sums += NAME(multiply_shorts)(bytes & 0x00ff00ff, (NAME(choice))even);
    return sums + NAME(multiply_shorts)((bytes >> 8) & 0x00ff00ff, (NAME(choice))odd);
}

ALWAYS_INLINE NAME(choice) NAME(add_pairs)(NAME(choice) sums, NAME(choice) a, NAME(choice) b) {
    return sums + NAME(multiply_shorts)(a, b);
}
#endif

#include "loops.h"
#include "transformer.h"

#undef NAME
#undef LINE
#undef VNNI
#undef TALL
#undef WIDE
