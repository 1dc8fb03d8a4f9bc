/* The two inner loops of Cosinet with a recurrent head, for compilers that find the vectors.
 *
 * Optional: without it the same numbers come from numpy (networks/cosinet.py, heads.py).
 * Plain C, no Python; loaded with ctypes, which lets other threads run meanwhile.
 */

#include <math.h>
#include <stdint.h>
#include <string.h>

#define VERSION 1
#define KERNEL 5
#define HALF 2
#define MAX_WIDTH 1024

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__)
/* One wheel for every x86-64: the loader picks the variant that the processor can run. */
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

int64_t kernel_version(void) { return VERSION; }
int64_t kernel_max_width(void) { return MAX_WIDTH; }

/* Ask for a run of floats before it is needed; words lie anywhere in a table of many MB. */
static inline void fetch_ahead(const float *run, int64_t count) {
#if defined(__GNUC__)
    for (int64_t at = 0; at < count; at += 16) __builtin_prefetch(run + at, 0, 2);
#else
    (void)run, (void)count;
#endif
}

/* Convolve and max-pool texts.  A word w adds products[w][k] and related * by_related[k] to the
 * position that has it k - HALF words away.
 *
 * products (words, KERNEL, width); words, related: of all texts, one after another;
 * lengths (texts); by_related (KERNEL, width); pooled (texts, width). */
CLONES void pool_texts(const float *restrict products, const int64_t *restrict words,
                       const float *restrict related, const int64_t *restrict lengths,
                       int64_t texts, int64_t width, const float *restrict by_related,
                       float *restrict pooled) {
    /* The sums of the five positions that the word at hand adds to; each word's products are
     * then read once and in one run, which is what the time goes into. */
    float sums[KERNEL][MAX_WIDTH];
    const int64_t row = KERNEL * width;
    for (int64_t text = 0; text < texts; text++) {
        const int64_t length = lengths[text];
        float *restrict best = pooled + text * width;
        for (int64_t at = 0; at < length + HALF; at++) {
            if (at < length) {
                const float *restrict product = products + words[at] * row;
                if (at + 1 < length) fetch_ahead(products + words[at + 1] * row, row);
                const float r = related[at];
                for (int64_t k = 0; k < KERNEL; k++) {
                    const int64_t position = at + HALF - k;
                    if (position < 0 || position >= length) continue;
                    float *restrict sum = sums[position % KERNEL];
                    const float *restrict slice = product + k * width;
                    const float *restrict kernel = by_related + k * width;
                    /* The first word that reaches a position begins its sum. */
                    if (k == 0 || at == 0)
                        for (int64_t c = 0; c < width; c++) sum[c] = slice[c] + r * kernel[c];
                    else
                        for (int64_t c = 0; c < width; c++) sum[c] += slice[c] + r * kernel[c];
                }
            }
            const int64_t complete = at - HALF;
            if (complete < 0) continue;
            const float *restrict sum = sums[complete % KERNEL];
            if (complete == 0)
                memcpy(best, sum, (size_t)width * sizeof(float));
            else
                for (int64_t c = 0; c < width; c++) best[c] = sum[c] > best[c] ? sum[c] : best[c];
        }
        words += length;
        related += length;
    }
}

/* tanh(x) = 1 - 2 / (exp(2x) + 1), with exp by halving the range and a polynomial: within
 * 1e-6 of the library's, and without a call, so that a loop over it becomes vectors. */
static inline float hyperbolic_tangent(float x) {
    float y = 2.0f * x;
    y = y > 30.0f ? 30.0f : y;
    y = y < -30.0f ? -30.0f : y;
    const float halvings = rintf(y * 1.44269504f);
    const float f = (y - halvings * 0.693359375f) + halvings * 2.12194440e-4f;
    float e = 1.0f / 720.0f;
    e = e * f + 1.0f / 120.0f;
    e = e * f + 1.0f / 24.0f;
    e = e * f + 1.0f / 6.0f;
    e = e * f + 0.5f;
    e = e * f + 1.0f;
    e = e * f + 1.0f;
    const int32_t bits = ((int32_t)halvings + 127) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return 1.0f - 2.0f / (e * power + 1.0f);
}

/* h_t = tanh(x_t + U h_{t-1}), from h_0 = tanh(x_0).
 *
 * inputs and states (steps, width), a row every `stride` floats, which may be negative to read
 * backwards; transposed is U with rows and columns exchanged, (width, width). */
CLONES void run_recurrence(const float *restrict inputs, float *restrict states, int64_t steps,
                           int64_t width, int64_t input_stride, int64_t state_stride,
                           const float *restrict transposed) {
    float sum[MAX_WIDTH];
    const float *before = 0;
    for (int64_t step = 0; step < steps; step++) {
        const float *restrict input = inputs + step * input_stride;
        float *restrict state = states + step * state_stride;
        memcpy(sum, input, (size_t)width * sizeof(float));
        if (before) {
            int64_t j = 0;
            for (; j + 4 <= width; j += 4) {
                const float *restrict row = transposed + j * width;
                const float a = before[j], b = before[j + 1], c = before[j + 2], d = before[j + 3];
                for (int64_t i = 0; i < width; i++)
                    sum[i] += (a * row[i] + b * row[width + i]) +
                              (c * row[2 * width + i] + d * row[3 * width + i]);
            }
            for (; j < width; j++)
                for (int64_t i = 0; i < width; i++) sum[i] += before[j] * transposed[j * width + i];
        }
        for (int64_t i = 0; i < width; i++) state[i] = hyperbolic_tangent(sum[i]);
        before = state;
    }
}
