/* BERT's encoder in int8, for processors with AVX-512 VNNI; onnxruntime runs it on others.
 *
 * The tokens of several texts are rows of one matrix, without padding, and no row's result depends
 * on the other texts.  Weights are int8 with a scale per column, states are quantised to a byte
 * with a scale per row, and attention multiplies 16-bit integers, so that all sums of products are
 * exact.
 *
 * Plain C without Python, loaded with ctypes, which releases the GIL during a call.
 *
 * Axes: T tokens of all texts, L tokens of one text, E width, F inner width, A heads, D = E / A. */

#include <stdint.h>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
int64_t has_transformer(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("x86-64-v4") && __builtin_cpu_supports("avx512vnni");
}

#include <immintrin.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#pragma GCC target("arch=x86-64-v4,avx512vnni")

#define LINE 16 /* floats of one SIMD register, a line */
#define TALL 6  /* rows of a tile, which with WIDE lines of columns fills 24 of 32 registers */
#define WIDE 4
#define PANEL (WIDE * LINE) /* columns that are packed together */
#define MAX_WIDTH 1024
#define BLOCK 48    /* rows whose feed-forward states stay in the L2 cache; whole tiles */
#define MAX_LINES 4 /* lines of columns in one product of attention, at most */
#define ZERO_POINT 128
#define PAIR_LIMIT 4095.0f   /* of 16-bit queries and keys: 128 products fit into 32 bits */
#define SHARE_LIMIT 32767.0f /* of 16-bit values and weights, which add up to at most 1 */
#define SMALLEST 1e-12f      /* the smallest divisor */
#define LOWEST_GELU -0.17f   /* the activation's minimum */
#define ROUNDING 12582912.0f /* 1.5 * 2^23: adding it rounds to whole numbers */
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

/* For loops of a known, small number of rounds.  Unrolled any later, their arrays would stay in
 * memory instead of registers, which costs a product of states 3 %. */
#define UNROLL _Pragma("GCC unroll 16")
#define ALWAYS_INLINE static inline __attribute__((always_inline))

typedef float vec __attribute__((vector_size(64)));
typedef int32_t ints __attribute__((vector_size(64)));
typedef vec vec_anywhere __attribute__((aligned(4), may_alias));
typedef ints ints_anywhere __attribute__((aligned(1), may_alias));
#define LOAD(place) (*(const vec_anywhere *)(place))
#define STORE(place, value) (*(vec_anywhere *)(place) = (value))
#define LOAD_INTS(place) (*(const ints_anywhere *)(place))
#define FETCH(place) __builtin_prefetch((place), 0, 2)

/* A linear layer; `multiply` describes the layout. */
struct product {
    const int8_t *weights;
    const int32_t *start;
    const float *scales, *bias;
};

struct layer {
    struct product projections, joined, inner, outer;
    const float *joined_norm, *outer_norm;
};

/* An encoder of `depth` layers; transformer_kernel.py declares the same structures. */
struct encoder {
    int64_t width, inner, heads, depth;
    const int8_t *pieces;                                 /* (pieces, E) */
    const float *piece_scales, *types, *positions, *norm; /* (pieces); (…, E) */
    const struct layer *layers;
    float epsilon;
};

/* The parts of a workspace: the rows of all texts, and those of one block. */
struct room {
    uint8_t *bytes, *inner_bytes;
    float *steps, *inner_steps, *projected, *attended, *inner;
};

ALWAYS_INLINE vec spread(float value) { return (vec){0} + value; }

ALWAYS_INLINE ints spread_bits(const void *place) {
    int32_t bits;
    memcpy(&bits, place, sizeof bits);
    return (ints){0} + bits;
}

ALWAYS_INLINE vec to_floats(ints integers) { return __builtin_convertvector(integers, vec); }

ALWAYS_INLINE vec absolute(vec x) { return (vec)((ints)x & 0x7fffffff); }

/* Store numbers as the nearest integers, ties to even, of 8 or 16 bits: these are the low bits of
 * the sum with ROUNDING, whose own low bits are 0. */
ALWAYS_INLINE void store_bytes(uint8_t *place, vec values) {
    _mm_storeu_si128((__m128i_u *)place, _mm512_cvtepi32_epi8((__m512i)(values + ROUNDING)));
}

ALWAYS_INLINE void store_shorts(int16_t *place, vec values) {
    _mm256_storeu_si256((__m256i_u *)place, _mm512_cvtepi32_epi16((__m512i)(values + ROUNDING)));
}

ALWAYS_INLINE float get_sum(vec values) { return _mm512_reduce_add_ps((__m512)values); }

ALWAYS_INLINE float get_largest(vec values) { return _mm512_reduce_max_ps((__m512)values); }

ALWAYS_INLINE vec larger(vec a, vec b) { return (vec)_mm512_max_ps((__m512)a, (__m512)b); }

ALWAYS_INLINE vec smaller(vec a, vec b) { return (vec)_mm512_min_ps((__m512)a, (__m512)b); }

/* Add to each lane four products of unsigned bytes with signed ones. */
ALWAYS_INLINE ints add_bytes(ints sums, ints bytes, ints weights) {
    return (ints)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)bytes, (__m512i)weights);
}

/* Add to each lane two products of 16-bit integers. */
ALWAYS_INLINE ints add_pairs(ints sums, ints a, ints b) {
    return (ints)_mm512_dpwssd_epi32((__m512i)sums, (__m512i)a, (__m512i)b);
}

/* 2^x for x of at most 0, within 1e-6 of its value: a polynomial for the fraction, and the whole
 * part added to the exponent. */
ALWAYS_INLINE vec power(vec x) {
    x = larger(x, spread(-125.0f));
    const vec rounded = x + ROUNDING;
    const vec f = x - (rounded - ROUNDING);
    vec e = spread(POWER_5);
    e = e * f + POWER_4;
    e = e * f + POWER_3;
    e = e * f + POWER_2;
    e = e * f + POWER_1;
    e = e * f + 1.0f;
    return (vec)((ints)e + ((ints)rounded << 23));
}

/* GELU, x times the normal distribution's cumulative probability, within 7e-5: a minimax polynomial
 * up to 4.5 standard deviations. */
ALWAYS_INLINE vec gelu(vec x) {
    const vec limit = spread(4.5f);
    const vec near = smaller(larger(x, -limit), limit);
    const vec square = near * near;
    vec sum = spread(GELU_8);
    sum = sum * square + GELU_7;
    sum = sum * square + GELU_6;
    sum = sum * square + GELU_5;
    sum = sum * square + GELU_4;
    sum = sum * square + GELU_3;
    sum = sum * square + GELU_2;
    sum = sum * square + GELU_1;
    sum = sum * square + GELU_0;
    return x * (sum * near + 0.5f);
}

/* Quantise a row to bytes with a step of its own, which is returned; the byte ZERO_POINT means 0.
 */
ALWAYS_INLINE float quantise(const float *restrict row, int64_t width, float largest,
                             uint8_t *restrict bytes) {
    const float factor = 127.0f / largest;
    for (int64_t i = 0; i < width; i += LINE)
        store_bytes(bytes + i, LOAD(row + i) * factor + (float)ZERO_POINT);
    return largest / 127.0f;
}

/* The largest magnitude in a row. */
ALWAYS_INLINE float measure(const float *restrict row, int64_t width) {
    vec largest = spread(SMALLEST);
    for (int64_t i = 0; i < width; i += LINE) largest = larger(absolute(LOAD(row + i)), largest);
    return get_largest(largest);
}

/* Apply GELU to a row and quantise it; returns the step.  The byte 0 means the activation's
 * minimum, because bytes for values far below 0 would never be used. */
static float activate(float *restrict row, int64_t width, uint8_t *restrict bytes) {
    vec most = spread(LOWEST_GELU + SMALLEST);
    for (int64_t i = 0; i < width; i += LINE) {
        const vec value = gelu(LOAD(row + i));
        most = larger(value, most);
        STORE(row + i, value);
    }
    const float largest = get_largest(most) - LOWEST_GELU, factor = 255.0f / largest;
    for (int64_t i = 0; i < width; i += LINE)
        store_bytes(bytes + i, (LOAD(row + i) - LOWEST_GELU) * factor);
    return largest / 255.0f;
}

/* Replace a row by its LayerNorm and quantise it.  norm (2, E): weight and bias.
 *
 * The squares are those of differences from the mean: the mean of x^2 less the square of the mean
 * would lose its digits where the mean is large. */
static float normalise(float *restrict row, int64_t width, const float *restrict norm,
                       float epsilon, uint8_t *restrict bytes) {
    vec sums = {0}, squares = {0};
    for (int64_t i = 0; i < width; i += LINE) sums += LOAD(row + i);
    const float mean = get_sum(sums) / (float)width;
    for (int64_t i = 0; i < width; i += LINE) {
        const vec x = LOAD(row + i) - mean;
        squares += x * x;
    }
    const float factor = 1.0f / sqrtf(get_sum(squares) / (float)width + epsilon);
    vec largest = spread(SMALLEST);
    for (int64_t i = 0; i < width; i += LINE) {
        const vec x = (LOAD(row + i) - mean) * factor * LOAD(norm + i) + LOAD(norm + width + i);
        largest = larger(absolute(x), largest);
        STORE(row + i, x);
    }
    return quantise(row, width, get_largest(largest), bytes);
}

/* Multiply `rows` rows of bytes with one panel of columns: out = steps * scales * sums + bias, and
 * the states before it if it is a residual.  A quarter of the next panel is fetched meanwhile. */
ALWAYS_INLINE void multiply_panel(const int rows, const int is_residual,
                                  const uint8_t *restrict left, int64_t depth,
                                  const float *restrict steps, const int8_t *restrict panel,
                                  const int8_t *restrict ahead, const int32_t *restrict start,
                                  const float *restrict scales, const float *restrict bias,
                                  float *restrict out, int64_t stride) {
    ints sums[TALL][WIDE];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int s = 0; s < WIDE; s++) sums[r][s] = LOAD_INTS(start + s * LINE);
    for (int64_t k = 0; k < depth; k += 4) {
        ints columns[WIDE];
        FETCH(ahead + k * PANEL / 4);
        UNROLL for (int s = 0; s < WIDE; s++)
            columns[s] = LOAD_INTS(panel + k * PANEL + s * LINE * 4);
        UNROLL for (int r = 0; r < rows; r++) {
            const ints own = spread_bits(left + r * depth + k);
            UNROLL for (int s = 0; s < WIDE; s++)
                sums[r][s] = add_bytes(sums[r][s], own, columns[s]);
        }
    }
    UNROLL for (int s = 0; s < WIDE; s++) {
        const vec scale = LOAD(scales + s * LINE), shift = LOAD(bias + s * LINE);
        UNROLL for (int r = 0; r < rows; r++) {
            float *const place = out + r * stride + s * LINE;
            vec value = to_floats(sums[r][s]) * (scale * steps[r]) + shift;
            if (is_residual) value += LOAD(place);
            STORE(place, value);
        }
    }
}

/* Multiply rows of bytes with a weight: out (rows, columns) = steps * scales * left · weight +
 * bias.
 *
 * left (rows, depth); steps (rows); weights in panels, (columns / PANEL, depth / 4, PANEL, 4);
 * start (columns): the sums of no products, which undo the zero point. */
ALWAYS_INLINE void multiply_bytes(const int is_residual, const uint8_t *restrict left, int64_t rows,
                                  int64_t depth, const float *restrict steps,
                                  const struct product *product, int64_t columns,
                                  float *restrict out) {
    const int64_t size = depth * PANEL;
    for (int64_t first = 0; first < columns; first += PANEL) {
        const int8_t *const panel = product->weights + first * depth;
        int64_t r = 0;
#define MULTIPLY(height) \
    multiply_panel(height, is_residual, left + r * depth, depth, steps + r, panel, \
                   panel + (r < 4 * TALL ? size + r / TALL * size / 4 : 0), \
                   product->start + first, product->scales + first, product->bias + first, \
                   out + r * columns + first, columns)
        for (; r + TALL <= rows; r += TALL) MULTIPLY(TALL);
        for (; r < rows; r++) MULTIPLY(1);
#undef MULTIPLY
    }
}

/* Functions of their own for both kinds, so that the compiler keeps sums in registers; exported for
 * benchmarks/limits.c. */
void project(const uint8_t *restrict left, int64_t rows, int64_t depth, const float *restrict steps,
             const struct product *product, int64_t columns, float *restrict out) {
    multiply_bytes(0, left, rows, depth, steps, product, columns, out);
}

void project_and_add(const uint8_t *restrict left, int64_t rows, int64_t depth,
                     const float *restrict steps, const struct product *product, int64_t columns,
                     float *restrict out) {
    multiply_bytes(1, left, rows, depth, steps, product, columns, out);
}

/* Sum products of pairs of 16-bit integers: `rows` rows of pairs with `lines` lines of columns. */
ALWAYS_INLINE void multiply_pairs(const int rows, const int lines, const int16_t *restrict left,
                                  int64_t stride, int64_t pairs, const int32_t *restrict right,
                                  int64_t columns, ints sums[TALL][MAX_LINES]) {
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int s = 0; s < lines; s++) sums[r][s] = (ints){0};
    for (int64_t k = 0; k < pairs; k++) {
        ints own[MAX_LINES];
        UNROLL for (int s = 0; s < lines; s++) own[s] = LOAD_INTS(right + k * columns + s * LINE);
        UNROLL for (int r = 0; r < rows; r++) {
            const ints pair = spread_bits(left + r * stride + 2 * k);
            UNROLL for (int s = 0; s < lines; s++)
                sums[r][s] = add_pairs(sums[r][s], pair, own[s]);
        }
    }
}

/* Write a row as 16-bit integers up to `limit`; returns their step. */
ALWAYS_INLINE float to_shorts(const float *restrict row, int64_t width, float limit,
                              int16_t *restrict shorts) {
    const float size = measure(row, width), factor = limit / size;
    for (int64_t i = 0; i < width; i += LINE) store_shorts(shorts + i, LOAD(row + i) * factor);
    return size / limit;
}

/* What attention reads of one text, as 16-bit integers with a step per token; keys are padded to
 * whole lines. */
struct text {
    int16_t *queries;   /* (L, E) */
    int32_t *keys;      /* (E / 2, keys): pairs of dimensions, transposed */
    int32_t *values;    /* (L / 2, E): pairs of tokens */
    float *query_steps; /* (L) */
    float *key_steps;   /* (keys), divided by the root of D, in powers of 2; 0 for padding */
    float *shares;      /* (keys): the step of a value as a share of the largest, 0 for padding */
    float *padding;     /* (keys): 0, or -INFINITY for padding */
    float *weights;     /* (TALL, keys) */
    int16_t *parts;     /* (TALL, keys): weights as integers */
};

/* Transpose LINE rows of LINE numbers, in place: numbers change places in pairs, then pairs do, … */
ALWAYS_INLINE void transpose(ints rows[LINE]) {
    ints half[LINE];
    UNROLL for (int r = 0; r < LINE; r += 2) {
        half[r] = (ints)_mm512_unpacklo_epi32((__m512i)rows[r], (__m512i)rows[r + 1]);
        half[r + 1] = (ints)_mm512_unpackhi_epi32((__m512i)rows[r], (__m512i)rows[r + 1]);
    }
    UNROLL for (int r = 0; r < LINE; r += 4)
        UNROLL for (int i = 0; i < 2; i++) {
            const __m512i a = (__m512i)half[r + i], b = (__m512i)half[r + 2 + i];
            rows[r + 2 * i] = (ints)_mm512_unpacklo_epi64(a, b);
            rows[r + 2 * i + 1] = (ints)_mm512_unpackhi_epi64(a, b);
        }
    UNROLL for (int r = 0; r < LINE; r += 8)
        UNROLL for (int i = 0; i < 4; i++) {
            const __m512i a = (__m512i)rows[r + i], b = (__m512i)rows[r + 4 + i];
            half[r + i] = (ints)_mm512_shuffle_i32x4(a, b, 0x88);
            half[r + 4 + i] = (ints)_mm512_shuffle_i32x4(a, b, 0xdd);
        }
    UNROLL for (int i = 0; i < 8; i++) {
        const __m512i a = (__m512i)half[i], b = (__m512i)half[8 + i];
        rows[i] = (ints)_mm512_shuffle_i32x4(a, b, 0x88);
        rows[8 + i] = (ints)_mm512_shuffle_i32x4(a, b, 0xdd);
    }
}

/* Quantise the keys of LINE tokens, of which `count` exist, and store them transposed.
 *
 * rows: the first key, in rows of 3E; out: the first token's place. */
static void read_keys(const float *restrict rows, int64_t count, int64_t width, int64_t keys,
                      float scale, int32_t *restrict out, float *restrict steps) {
    int16_t line[LINE][MAX_WIDTH];
    for (int64_t at = 0; at < LINE; at++) {
        steps[at] = 0;
        if (at < count)
            steps[at] = scale * to_shorts(rows + at * 3 * width, width, PAIR_LIMIT, line[at]);
        else
            memset(line[at], 0, (size_t)width * sizeof **line);
    }
    for (int64_t d = 0; d < width / 2; d += LINE) {
        ints block[LINE];
        UNROLL for (int at = 0; at < LINE; at++) block[at] = LOAD_INTS(line[at] + 2 * d);
        transpose(block);
        UNROLL for (int i = 0; i < LINE; i++) *(ints_anywhere *)(out + (d + i) * keys) = block[i];
    }
}

/* Quantise queries, keys and values.  rows (L, 3E). */
static void read_text(const float *restrict rows, int64_t length, int64_t width, int64_t keys,
                      int64_t depth, const struct text *text, float *restrict value_step) {
    const float scale = LOG2_E / sqrtf((float)depth);
    int16_t value[2][MAX_WIDTH];
    float largest = 0;
    for (int64_t at = 0; at < keys; at += LINE)
        read_keys(rows + at * 3 * width + width, length - at, width, keys, scale, text->keys + at,
                  text->key_steps + at);
    for (int64_t at = 0; at < length; at++, rows += 3 * width) {
        text->query_steps[at] = to_shorts(rows, width, PAIR_LIMIT, text->queries + at * width);
        text->shares[at] = to_shorts(rows + 2 * width, width, SHARE_LIMIT, value[at % 2]);
        largest = text->shares[at] > largest ? text->shares[at] : largest;
        if (at % 2 == 0 && at + 1 < length) continue;
        if (at % 2 == 0) memset(value[1], 0, sizeof value[1]);
        int32_t *const pair = text->values + at / 2 * width;
        for (int64_t d = 0; d < width; d++)
            pair[d] = (int32_t)((uint32_t)(uint16_t)value[0][d] | (uint32_t)value[1][d] << 16);
    }
    for (int64_t at = 0; at < keys; at++) text->padding[at] = at < length ? 0 : -INFINITY;
    for (int64_t at = length; at < keys; at++) text->shares[at] = 0;
    for (int64_t at = 0; at < length; at++) text->shares[at] /= largest;
    *value_step = largest;
}

/* Softmax of a row of logits in powers of 2, as shares of SHARE_LIMIT. */
ALWAYS_INLINE void share_row(float *restrict row, int64_t keys, const struct text *text,
                             int16_t *restrict parts) {
    vec largest = LOAD(row), total = {0};
    for (int64_t at = LINE; at < keys; at += LINE) largest = larger(LOAD(row + at), largest);
    const float most = get_largest(largest);
    for (int64_t at = 0; at < keys; at += LINE) {
        const vec weight = power(LOAD(row + at) - most);
        total += weight;
        STORE(row + at, weight);
    }
    const float factor = SHARE_LIMIT / get_sum(total);
    for (int64_t at = 0; at < keys; at += LINE)
        store_shorts(parts + at, LOAD(row + at) * (LOAD(text->shares + at) * factor));
}

/* Compute `rows` rows of one head's attention weights, as shares of SHARE_LIMIT.
 *
 * queries (rows, …) in rows of E; head_keys: the first pair of the head's dimensions. */
ALWAYS_INLINE void weigh_keys(const int rows, const int16_t *restrict queries,
                              const float *restrict steps, int64_t width, int64_t depth,
                              int64_t keys, const int32_t *restrict head_keys,
                              const struct text *text) {
    for (int64_t first = 0; first < keys;) {
        ints sums[TALL][MAX_LINES];
        int count = 1;
#define WEIGH(lines) \
    multiply_pairs(rows, count = (lines), queries, width, depth / 2, head_keys + first, keys, sums)
        if (keys - first >= 2 * LINE)
            WEIGH(2);
        else
            WEIGH(1);
#undef WEIGH
        for (int s = 0; s < count; s++, first += LINE)
            for (int r = 0; r < rows; r++)
                STORE(text->weights + r * keys + first,
                      to_floats(sums[r][s]) * (LOAD(text->key_steps + first) * steps[r]) +
                          LOAD(text->padding + first));
    }
    for (int r = 0; r < rows; r++)
        share_row(text->weights + r * keys, keys, text, text->parts + r * keys);
}

/* Compute `rows` rows of one head's output, (rows, D) in rows of E. */
ALWAYS_INLINE void attend_rows(const int rows, int64_t row, int64_t head, int64_t length,
                               int64_t width, int64_t depth, int64_t keys, const struct text *text,
                               float step, float *restrict out) {
    const int64_t first = head * depth;
    weigh_keys(rows, text->queries + row * width + first, text->query_steps + row, width, depth,
               keys, text->keys + first / 2 * keys, text);
    for (int64_t d = 0; d < depth;) {
        ints sums[TALL][MAX_LINES];
        int count = 1;
#define READ(lines) \
    multiply_pairs(rows, count = (lines), text->parts, keys, (length + 1) / 2, \
                   text->values + first + d, width, sums)
        if (depth - d >= 4 * LINE)
            READ(4);
        else if (depth - d >= 2 * LINE)
            READ(2);
        else
            READ(1);
#undef READ
        for (int s = 0; s < count; s++, d += LINE)
            UNROLL for (int r = 0; r < rows; r++)
                STORE(out + (row + r) * width + first + d, to_floats(sums[r][s]) * step);
    }
}

/* Attention of one text: rows (L, 3E) of queries, keys and values; out (L, E). */
static void attend(const float *restrict rows, int64_t length, int64_t width, int64_t heads,
                   const struct text *text, float *restrict out) {
    const int64_t depth = width / heads, keys = (length + LINE - 1) / LINE * LINE;
    float step;
    read_text(rows, length, width, keys, depth, text, &step);
    step /= SHARE_LIMIT;
    for (int64_t head = 0; head < heads; head++) {
        // The last tile repeats some rows: one that is not whole would take as long.
        for (int64_t row = 0; row < length && length >= TALL; row += TALL)
            attend_rows(TALL, row + TALL > length ? length - TALL : row, head, length, width, depth,
                        keys, text, step, out);
        for (int64_t row = 0; row < length && length < TALL; row++)
            attend_rows(1, row, head, length, width, depth, keys, text, step, out);
    }
}

/* The next part of a workspace, in whole lines of the cache. */
static void *take(char **room, int64_t bytes) {
    void *const part = *room;
    *room += (bytes + 63) / 64 * 64;
    return part;
}

/* Divide a workspace, and return its end; called with NULL it measures the room that is needed. */
static char *divide(char *room, const struct encoder *model, int64_t tokens, int64_t longest,
                    struct text *text, struct room *parts) {
    const int64_t width = model->width;
    const int64_t keys = (longest + LINE - 1) / LINE * LINE;
    const int64_t block = tokens < BLOCK ? tokens : BLOCK;
    text->queries = take(&room, longest * width * 2);
    text->keys = take(&room, width / 2 * keys * 4);
    text->values = take(&room, (longest + 1) / 2 * width * 4);
    text->query_steps = take(&room, longest * 4);
    text->key_steps = take(&room, keys * 4);
    text->shares = take(&room, keys * 4);
    text->padding = take(&room, keys * 4);
    text->weights = take(&room, TALL * keys * 4);
    text->parts = take(&room, TALL * keys * 2);
    parts->bytes = take(&room, tokens * width);
    parts->steps = take(&room, tokens * 4);
    parts->projected = take(&room, tokens * 3 * width * 4);
    parts->attended = take(&room, tokens * width * 4);
    parts->inner = take(&room, block * model->inner * 4);
    parts->inner_bytes = take(&room, block * model->inner);
    parts->inner_steps = take(&room, block * 4);
    return room;
}

/* Return the bytes of a workspace for texts with so many tokens together and in the longest. */
int64_t measure_room(const struct encoder *model, int64_t tokens, int64_t longest) {
    struct text text_room;
    struct room parts;
    return (int64_t)(intptr_t)divide(NULL, model, tokens, longest, &text_room, &parts) + 64;
}

/* Add up the embeddings of a token's piece, type and position, normalise and quantise them. */
static void embed(const struct encoder *model, int64_t id, int64_t kind, int64_t position,
                  float *restrict row, uint8_t *restrict bytes, float *restrict step) {
    const int64_t width = model->width;
    const int8_t *const piece = model->pieces + id * width;
    const float scale = model->piece_scales[id];
    const float *const type = model->types + kind * width;
    const float *const place = model->positions + position * width;
    for (int64_t i = 0; i < width; i++) row[i] = ((float)piece[i] * scale + type[i]) + place[i];
    *step = normalise(row, width, model->norm, model->epsilon, bytes);
}

/* The feed-forward block of one layer, for at most BLOCK rows. */
static void feed_forward(const struct encoder *model, const struct layer *layer, int64_t rows,
                         float *restrict states, uint8_t *restrict bytes, float *restrict steps,
                         const struct room *parts) {
    const int64_t width = model->width, inner = model->inner;
    project(bytes, rows, width, steps, &layer->inner, inner, parts->inner);
    for (int64_t r = 0; r < rows; r++)
        parts->inner_steps[r] =
            activate(parts->inner + r * inner, inner, parts->inner_bytes + r * inner);
    project_and_add(parts->inner_bytes, rows, inner, parts->inner_steps, &layer->outer, width,
                    states);
    for (int64_t r = 0; r < rows; r++)
        steps[r] = normalise(states + r * width, width, layer->outer_norm, model->epsilon,
                             bytes + r * width);
}

/* Encode texts: ids and kinds (T) of all texts one after another, lengths (texts), a workspace of
 * `measure_room` bytes, states (T, E). */
void encode_texts(const struct encoder *model, const int64_t *restrict ids,
                  const int64_t *restrict kinds, const int64_t *restrict lengths, int64_t texts,
                  char *workspace, float *restrict states) {
    const int64_t width = model->width;
    int64_t tokens = 0, longest = 0;
    for (int64_t text = 0; text < texts; text++) {
        tokens += lengths[text];
        longest = lengths[text] > longest ? lengths[text] : longest;
    }
    struct text text_room;
    struct room parts;
    char *const aligned = (char *)(((uintptr_t)workspace + 63) / 64 * 64);
    divide(aligned, model, tokens, longest, &text_room, &parts);
    for (int64_t text = 0, at = 0; text < texts; text++)
        for (int64_t place = 0; place < lengths[text]; place++, at++)
            embed(model, ids[at], kinds[at], place, states + at * width, parts.bytes + at * width,
                  parts.steps + at);
    for (const struct layer *layer = model->layers; layer < model->layers + model->depth; layer++) {
        project(parts.bytes, tokens, width, parts.steps, &layer->projections, 3 * width,
                parts.projected);
        for (int64_t text = 0, at = 0; text < texts; at += lengths[text++])
            attend(parts.projected + at * 3 * width, lengths[text], width, model->heads, &text_room,
                   parts.attended + at * width);
        for (int64_t at = 0; at < tokens; at++) {
            const float *const row = parts.attended + at * width;
            const float largest = measure(row, width);
            parts.steps[at] = quantise(row, width, largest, parts.bytes + at * width);
        }
        project_and_add(parts.bytes, tokens, width, parts.steps, &layer->joined, width, states);
        for (int64_t at = 0; at < tokens; at++)
            parts.steps[at] = normalise(states + at * width, width, layer->joined_norm,
                                        model->epsilon, parts.bytes + at * width);
        for (int64_t at = 0; at < tokens; at += BLOCK)
            feed_forward(model, layer, tokens - at < BLOCK ? tokens - at : BLOCK,
                         states + at * width, parts.bytes + at * width, parts.steps + at, &parts);
    }
}

/* Average the states of each text's tokens of one kind, or all of them if it is negative: means
 * (texts, E), zeros where there is none. */
void average_states(const float *restrict states, int64_t width, const int64_t *restrict kinds,
                    const int64_t *restrict lengths, int64_t texts, int64_t kind,
                    float *restrict means) {
    memset(means, 0, (size_t)(texts * width) * sizeof *means);
    for (int64_t text = 0; text < texts; text++, means += width) {
        int64_t count = 0;
        for (int64_t at = 0; at < lengths[text]; at++, states += width) {
            if (kind >= 0 && *kinds++ != kind) continue;
            for (int64_t i = 0; i < width; i++) means[i] += states[i];
            count++;
        }
        for (int64_t i = 0; count && i < width; i++) means[i] /= (float)count;
    }
}

/* Reorder a weight (depth, columns) into panels, (columns / PANEL, depth / 4, PANEL, 4), and add up
 * its columns. */
void pack_weights(const int8_t *restrict weights, int64_t depth, int64_t columns,
                  int8_t *restrict panels, int32_t *restrict totals) {
    memset(totals, 0, (size_t)columns * sizeof *totals);
    for (int64_t first = 0; first < columns; first += PANEL)
        for (int64_t k = 0; k < depth; k += 4, panels += 4 * PANEL) {
            const int8_t *const rows = weights + k * columns + first;
            for (int64_t c = 0; c < PANEL; c++)
                for (int64_t i = 0; i < 4; i++) panels[4 * c + i] = rows[i * columns + c];
            for (int64_t i = 0; i < 4; i++)
                for (int64_t c = 0; c < PANEL; c++) totals[first + c] += rows[i * columns + c];
        }
}
#else
int64_t has_transformer(void) { return 0; }
#endif
