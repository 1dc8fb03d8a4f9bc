/* BERT's encoder in int8, for one level of the instruction set: included by level.h.
 *
 * The tokens of several texts are rows of one matrix, without padding, and no row's result depends
 * on the other texts.  Weights are int8 with a scale per column, states are quantised to a byte
 * with a scale per row, and attention multiplies 16-bit integers.  Sums of products are integers
 * and therefore exact, so that levels differ only in how they round floats.
 *
 * Axes: T tokens of all texts, L tokens of one text, E width, F inner width, A heads, D = E / A. */

typedef uint8_t NAME(bytes) __attribute__((vector_size(LINE)));
typedef int16_t NAME(shorts) __attribute__((vector_size(LINE * 2)));
typedef NAME(bytes) NAME(bytes_anywhere) __attribute__((aligned(1), may_alias));
typedef NAME(shorts) NAME(shorts_anywhere) __attribute__((aligned(2), may_alias));
typedef NAME(choice) NAME(integers_anywhere) __attribute__((aligned(4), may_alias));
#define INTEGERS(place) (*(const NAME(integers_anywhere) *)(place))
#define PANEL (WIDE * LINE)

ALWAYS_INLINE NAME(vec) NAME(spread)(float value) { return (NAME(vec)){0} + value; }

ALWAYS_INLINE NAME(choice) NAME(spread_bits)(const void *place) {
    int32_t bits;
    memcpy(&bits, place, sizeof bits);
    return (NAME(choice)){0} + bits;
}

ALWAYS_INLINE NAME(vec) NAME(to_floats)(NAME(choice) integers) {
    return __builtin_convertvector(integers, NAME(vec));
}

ALWAYS_INLINE NAME(vec) NAME(absolute)(NAME(vec) x) {
    return (NAME(vec))((NAME(choice))x & 0x7fffffff);
}

/* Round to the nearest integer, ties to even, as long as it has fewer than 23 bits. */
ALWAYS_INLINE NAME(choice) NAME(to_integers)(NAME(vec) x) {
    return (NAME(choice))(x + ROUNDING) - ROUNDING_BITS;
}

ALWAYS_INLINE float NAME(get_sum)(NAME(vec) values) {
#if defined(__x86_64__) && LINE == 16
    return _mm512_reduce_add_ps((__m512)values);
#else
    float sum = 0;
    for (int i = 0; i < LINE; i++) sum += values[i];
    return sum;
#endif
}

ALWAYS_INLINE float NAME(get_largest)(NAME(vec) values) {
#if defined(__x86_64__) && LINE == 16
    return _mm512_reduce_max_ps((__m512)values);
#else
    float largest = values[0];
    for (int i = 1; i < LINE; i++) largest = values[i] > largest ? values[i] : largest;
    return largest;
#endif
}

/* 2^x for x of at most 0, within 3e-6 of its value: a polynomial for the fraction, and the whole
 * part added to the exponent. */
ALWAYS_INLINE NAME(vec) NAME(power)(NAME(vec) x) {
    x = NAME(larger)(x, NAME(spread)(-125.0f));
    const NAME(vec) rounded = x + ROUNDING;
    const NAME(vec) f = x - (rounded - ROUNDING);
    NAME(vec) e = NAME(spread)(POWER_5);
    e = e * f + POWER_4;
    e = e * f + POWER_3;
    e = e * f + POWER_2;
    e = e * f + POWER_1;
    e = e * f + 1.0f;
    return (NAME(vec))((NAME(choice))e + ((NAME(choice))rounded << 23));
}

/* GELU, x times the normal distribution's cumulative probability, within 7e-5: a minimax polynomial
 * up to 4.5 standard deviations. */
ALWAYS_INLINE NAME(vec) NAME(gelu)(NAME(vec) x) {
    const NAME(vec) limit = NAME(spread)(4.5f);
    const NAME(vec) near = -NAME(larger)(-NAME(larger)(x, -limit), -limit);
    const NAME(vec) square = near * near;
    NAME(vec) sum = NAME(spread)(GELU_8);
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

/* Quantise a row to bytes with a step of its own, which is returned; ZERO_POINT is 0. */
ALWAYS_INLINE float NAME(quantise)(const float *restrict row, int64_t width, float largest,
                                   uint8_t *restrict bytes) {
    const float factor = 127.0f / largest;
    for (int64_t i = 0; i < width; i += LINE) {
        const NAME(choice) whole = NAME(to_integers)(LOAD(row + i) * factor + (float)ZERO_POINT);
        *(NAME(bytes_anywhere) *)(bytes + i) = __builtin_convertvector(whole, NAME(bytes));
    }
    return largest / 127.0f;
}

/* The largest magnitude in a row. */
ALWAYS_INLINE float NAME(measure)(const float *restrict row, int64_t width) {
    NAME(vec) largest = NAME(spread)(SMALLEST);
    for (int64_t i = 0; i < width; i += LINE)
        largest = NAME(larger)(NAME(absolute)(LOAD(row + i)), largest);
    return NAME(get_largest)(largest);
}

/* Apply GELU to a row and quantise it: 0 is the activation's minimum, because it is hardly ever
 * much below 0.  Returns the step. */
static float NAME(activate)(float *restrict row, int64_t width, uint8_t *restrict bytes) {
    NAME(vec) most = NAME(spread)(LOWEST_GELU + SMALLEST);
    for (int64_t i = 0; i < width; i += LINE) {
        const NAME(vec) value = NAME(gelu)(LOAD(row + i));
        most = NAME(larger)(value, most);
        STORE(row + i, value);
    }
    const float largest = NAME(get_largest)(most) - LOWEST_GELU, factor = 255.0f / largest;
    for (int64_t i = 0; i < width; i += LINE) {
        const NAME(choice) whole = NAME(to_integers)((LOAD(row + i) - LOWEST_GELU) * factor);
        *(NAME(bytes_anywhere) *)(bytes + i) = __builtin_convertvector(whole, NAME(bytes));
    }
    return largest / 255.0f;
}

/* Replace a row by its LayerNorm and quantise it.  norm (2, E): weight and bias. */
static float NAME(normalise)(float *restrict row, int64_t width, const float *restrict norm,
                             float epsilon, uint8_t *restrict bytes) {
    NAME(vec) sums = {0}, squares = {0};
    for (int64_t i = 0; i < width; i += LINE) sums += LOAD(row + i);
    const float mean = NAME(get_sum)(sums) / (float)width;
    for (int64_t i = 0; i < width; i += LINE) {
        const NAME(vec) x = LOAD(row + i) - mean;
        squares += x * x;
    }
    const float factor = 1.0f / sqrtf(NAME(get_sum)(squares) / (float)width + epsilon);
    NAME(vec) largest = NAME(spread)(SMALLEST);
    for (int64_t i = 0; i < width; i += LINE) {
        const NAME(vec) x = (LOAD(row + i) - mean) * factor * LOAD(norm + i) + LOAD(norm + width + i);
        largest = NAME(larger)(NAME(absolute)(x), largest);
        STORE(row + i, x);
    }
    return NAME(quantise)(row, width, NAME(get_largest)(largest), bytes);
}

/* Multiply `rows` rows of bytes with one panel of columns: out = steps * scales * sums + bias, and
 * the states before it if it is a residual.  A quarter of the next panel is fetched meanwhile. */
ALWAYS_INLINE void NAME(multiply_panel)(const int rows, const int is_residual,
                                        const uint8_t *restrict left, int64_t depth,
                                        const float *restrict steps, const int8_t *restrict panel,
                                        const int8_t *restrict ahead, const int32_t *restrict start,
                                        const float *restrict scales, const float *restrict bias,
                                        float *restrict out, int64_t stride) {
    NAME(choice) sums[TALL][WIDE];
    for (int r = 0; r < rows; r++)
        for (int s = 0; s < WIDE; s++) sums[r][s] = INTEGERS(start + s * LINE);
    for (int64_t k = 0; k < depth; k += 4) {
        NAME(choice) columns[WIDE];
        FETCH(ahead + k * PANEL / 4);
        for (int s = 0; s < WIDE; s++) columns[s] = INTEGERS(panel + k * PANEL + s * LINE * 4);
        for (int r = 0; r < rows; r++) {
            const NAME(choice) own = NAME(spread_bits)(left + r * depth + k);
            for (int s = 0; s < WIDE; s++)
                sums[r][s] = NAME(add_bytes)(sums[r][s], own, columns[s]);
        }
    }
    for (int s = 0; s < WIDE; s++) {
        const NAME(vec) scale = LOAD(scales + s * LINE), shift = LOAD(bias + s * LINE);
        for (int r = 0; r < rows; r++) {
            float *const place = out + r * stride + s * LINE;
            NAME(vec) value = NAME(to_floats)(sums[r][s]) * (scale * steps[r]) + shift;
            if (is_residual) value += LOAD(place);
            STORE(place, value);
        }
    }
}

/* Multiply rows of bytes with a weight: out (rows, columns) = steps * scales * left · weight + bias.
 *
 * left (rows, depth); steps (rows); weights in panels, (columns / PANEL, depth / 4, PANEL, 4);
 * start (columns): the sums of no products, which undo the zero point. */
ALWAYS_INLINE void NAME(multiply_bytes)(const int is_residual, const uint8_t *restrict left,
                                        int64_t rows, int64_t depth, const float *restrict steps,
                                        const struct product *product, int64_t columns,
                                        float *restrict out) {
    const int64_t size = depth * PANEL;
    for (int64_t first = 0; first < columns; first += PANEL) {
        const int8_t *const panel = product->weights + first * depth;
        int64_t r = 0;
#define MULTIPLY(rows) \
    NAME(multiply_panel)(rows, is_residual, left + r * depth, depth, steps + r, panel, \
                         panel + (r < 4 * TALL ? size + r / TALL * size / 4 : 0), \
                         product->start + first, product->scales + first, product->bias + first, \
                         out + r * columns + first, columns)
        for (; r + TALL <= rows; r += TALL) MULTIPLY(TALL);
        for (; r < rows; r++) MULTIPLY(1);
#undef MULTIPLY
    }
}

static __attribute__((noinline)) void NAME(project)(const uint8_t *restrict left, int64_t rows,
                                                    int64_t depth, const float *restrict steps,
                                                    const struct product *product, int64_t columns,
                                                    float *restrict out) {
    NAME(multiply_bytes)(0, left, rows, depth, steps, product, columns, out);
}

static __attribute__((noinline)) void NAME(project_and_add)(
    const uint8_t *restrict left, int64_t rows, int64_t depth, const float *restrict steps,
    const struct product *product, int64_t columns, float *restrict out) {
    NAME(multiply_bytes)(1, left, rows, depth, steps, product, columns, out);
}

/* Sum products of pairs of 16-bit integers: `rows` rows of pairs with `lines` lines of columns. */
ALWAYS_INLINE void NAME(multiply_pairs)(const int rows, const int lines, const int16_t *restrict left,
                                        int64_t stride, int64_t pairs,
                                        const int32_t *restrict right, int64_t columns,
                                        NAME(choice) sums[TALL][MAX_LINES]) {
    for (int r = 0; r < rows; r++)
        for (int s = 0; s < lines; s++) sums[r][s] = (NAME(choice)){0};
    for (int64_t k = 0; k < pairs; k++) {
        NAME(choice) own[MAX_LINES];
        for (int s = 0; s < lines; s++) own[s] = INTEGERS(right + k * columns + s * LINE);
        for (int r = 0; r < rows; r++) {
            const NAME(choice) pair = NAME(spread_bits)(left + r * stride + 2 * k);
            for (int s = 0; s < lines; s++) sums[r][s] = NAME(add_pairs)(sums[r][s], pair, own[s]);
        }
    }
}

/* Write a row as 16-bit integers up to `limit`; returns their step. */
ALWAYS_INLINE float NAME(to_shorts)(const float *restrict row, int64_t width, float limit,
                                    int16_t *restrict shorts) {
    const float size = NAME(measure)(row, width), factor = limit / size;
    for (int64_t i = 0; i < width; i += LINE) {
        const NAME(choice) whole = NAME(to_integers)(LOAD(row + i) * factor);
        *(NAME(shorts_anywhere) *)(shorts + i) = __builtin_convertvector(whole, NAME(shorts));
    }
    return size / limit;
}

/* What attention reads of one text, as 16-bit integers with a step per token; keys are padded to
 * whole lines. */
struct NAME(text) {
    int16_t *queries;   /* (L, E) */
    int32_t *keys;      /* (E / 2, keys): pairs of dimensions, transposed */
    int32_t *values;    /* (L / 2, E): pairs of tokens */
    float *query_steps; /* (L) */
    float *key_steps;   /* (keys), 0 for padding */
    float *shares;      /* (keys): the step of a value as a share of the largest, 0 for padding */
    float *weights;     /* (TALL, keys) */
    int16_t *parts;     /* (TALL, keys): weights as integers */
};

/* Quantise queries, keys and values.  rows (L, 3E). */
static void NAME(read_text)(const float *restrict rows, int64_t length, int64_t width, int64_t keys,
                            const struct NAME(text) *text, float *restrict value_step) {
    int16_t key[MAX_WIDTH], value[2][MAX_WIDTH];
    float largest = 0;
    for (int64_t at = 0; at < length; at++, rows += 3 * width) {
        text->query_steps[at] =
            NAME(to_shorts)(rows, width, PAIR_LIMIT, text->queries + at * width);
        text->key_steps[at] = NAME(to_shorts)(rows + width, width, PAIR_LIMIT, key);
        for (int64_t d = 0; d < width; d += 2)
            memcpy(text->keys + d / 2 * keys + at, key + d, sizeof(int32_t));
        text->shares[at] = NAME(to_shorts)(rows + 2 * width, width, SHARE_LIMIT, value[at % 2]);
        largest = text->shares[at] > largest ? text->shares[at] : largest;
        if (at % 2 == 0 && at + 1 < length) continue;
        if (at % 2 == 0) memset(value[1], 0, sizeof value[1]);
        int32_t *const pair = text->values + at / 2 * width;
        for (int64_t d = 0; d < width; d++)
            pair[d] = (int32_t)((uint32_t)(uint16_t)value[0][d] | (uint32_t)value[1][d] << 16);
    }
    for (int64_t at = length; at < keys; at++) text->key_steps[at] = text->shares[at] = 0;
    for (int64_t d = 0; d < width / 2; d++)
        for (int64_t at = length; at < keys; at++) text->keys[d * keys + at] = 0;
    for (int64_t at = 0; at < length; at++) text->shares[at] /= largest;
    *value_step = largest;
}

/* Compute `rows` rows of one head's attention weights, as shares of SHARE_LIMIT.
 *
 * queries (rows, …) in rows of E; head_keys: the first pair of the head's dimensions. */
ALWAYS_INLINE void NAME(weigh_keys)(const int rows, const int16_t *restrict queries,
                                    const float *restrict steps, int64_t length, int64_t width,
                                    int64_t depth, int64_t keys, const int32_t *restrict head_keys,
                                    const struct NAME(text) *text) {
    const float scale = LOG2_E / sqrtf((float)depth); /* powers are of 2 */
    for (int64_t first = 0; first < keys;) {
        const int64_t lines = (keys - first) / LINE;
        NAME(choice) sums[TALL][MAX_LINES];
        int count = 1;
#define WEIGH(lines) \
    NAME(multiply_pairs)(rows, count = (lines), queries, width, depth / 2, head_keys + first, keys, \
                         sums)
        if (lines >= 4)
            WEIGH(4);
        else if (lines == 3)
            WEIGH(3);
        else if (lines == 2)
            WEIGH(2);
        else
            WEIGH(1);
#undef WEIGH
        for (int s = 0; s < count; s++, first += LINE)
            for (int r = 0; r < rows; r++)
                STORE(text->weights + r * keys + first,
                      NAME(to_floats)(sums[r][s]) * LOAD(text->key_steps + first) *
                          (steps[r] * scale));
    }
    for (int r = 0; r < rows; r++) {
        float *const row = text->weights + r * keys;
        for (int64_t at = length; at < keys; at++) row[at] = -INFINITY;
        NAME(vec) largest = LOAD(row), total = {0};
        for (int64_t at = LINE; at < keys; at += LINE)
            largest = NAME(larger)(LOAD(row + at), largest);
        const float most = NAME(get_largest)(largest);
        for (int64_t at = 0; at < keys; at += LINE) {
            const NAME(vec) power = NAME(power)(LOAD(row + at) - most);
            total += power;
            STORE(row + at, power);
        }
        const float factor = SHARE_LIMIT / NAME(get_sum)(total);
        for (int64_t at = 0; at < keys; at += LINE) {
            const NAME(vec) share = LOAD(row + at) * (LOAD(text->shares + at) * factor);
            const NAME(choice) whole = NAME(to_integers)(share);
            *(NAME(shorts_anywhere) *)(text->parts + r * keys + at) =
                __builtin_convertvector(whole, NAME(shorts));
        }
    }
}

/* Compute `rows` rows of one head's output, (rows, D) in rows of E. */
ALWAYS_INLINE void NAME(attend_rows)(const int rows, int64_t row, int64_t head, int64_t length,
                                     int64_t width, int64_t depth, int64_t keys,
                                     const struct NAME(text) *text, float step,
                                     float *restrict out) {
    const int64_t first = head * depth;
    NAME(weigh_keys)(rows, text->queries + row * width + first, text->query_steps + row, length,
                     width, depth, keys, text->keys + first / 2 * keys, text);
    for (int64_t d = 0; d < depth;) {
        NAME(choice) sums[TALL][MAX_LINES];
        int count = 1;
#define READ(lines) \
    NAME(multiply_pairs)(rows, count = (lines), text->parts, keys, (length + 1) / 2, \
                         text->values + first + d, width, sums)
        if (depth - d >= 4 * LINE)
            READ(4);
        else if (depth - d >= 2 * LINE)
            READ(2);
        else
            READ(1);
#undef READ
        for (int s = 0; s < count; s++, d += LINE)
            for (int r = 0; r < rows; r++)
                STORE(out + (row + r) * width + first + d, NAME(to_floats)(sums[r][s]) * step);
    }
}

/* Attention of one text: rows (L, 3E) of queries, keys and values; out (L, E). */
static void NAME(attend)(const float *restrict rows, int64_t length, int64_t width, int64_t heads,
                         const struct NAME(text) *text, float *restrict out) {
    const int64_t depth = width / heads, keys = (length + LINE - 1) / LINE * LINE;
    float step;
    NAME(read_text)(rows, length, width, keys, text, &step);
    step /= SHARE_LIMIT;
    for (int64_t head = 0; head < heads; head++) {
        int64_t row = 0;
        for (; row + TALL <= length; row += TALL)
            NAME(attend_rows)(TALL, row, head, length, width, depth, keys, text, step, out);
        for (; row < length; row++)
            NAME(attend_rows)(1, row, head, length, width, depth, keys, text, step, out);
    }
}

/* The next part of a workspace, in whole lines of the cache. */
static void *NAME(take)(char **room, int64_t bytes) {
    void *const part = *room;
    *room += (bytes + 63) / 64 * 64;
    return part;
}

/* Divide a workspace, and return its end; called with NULL it measures the room that is needed. */
static char *NAME(divide)(char *room, const struct encoder *model, int64_t tokens, int64_t longest,
                          struct NAME(text) *text, struct room *parts) {
    const int64_t width = model->width;
    const int64_t keys = (longest + LINE - 1) / LINE * LINE;
    const int64_t block = tokens < BLOCK ? tokens : BLOCK;
    text->queries = NAME(take)(&room, longest * width * 2);
    text->keys = NAME(take)(&room, width / 2 * keys * 4);
    text->values = NAME(take)(&room, (longest + 1) / 2 * width * 4);
    text->query_steps = NAME(take)(&room, longest * 4);
    text->key_steps = NAME(take)(&room, keys * 4);
    text->shares = NAME(take)(&room, keys * 4);
    text->weights = NAME(take)(&room, TALL * keys * 4);
    text->parts = NAME(take)(&room, TALL * keys * 2);
    parts->bytes = NAME(take)(&room, tokens * width);
    parts->steps = NAME(take)(&room, tokens * 4);
    parts->projected = NAME(take)(&room, tokens * 3 * width * 4);
    parts->attended = NAME(take)(&room, tokens * width * 4);
    parts->inner = NAME(take)(&room, block * model->inner * 4);
    parts->inner_bytes = NAME(take)(&room, block * model->inner);
    parts->inner_steps = NAME(take)(&room, block * 4);
    return room;
}

/* Return the bytes of a workspace for texts with so many tokens together and in the longest. */
int64_t NAME(measure_room)(const struct encoder *model, int64_t tokens, int64_t longest) {
    struct NAME(text) text_room;
    struct room parts;
    return (int64_t)(intptr_t)NAME(divide)(NULL, model, tokens, longest, &text_room, &parts) + 64;
}

/* Add up the embeddings of a token's piece, type and position, normalise and quantise them. */
static void NAME(embed)(const struct encoder *model, int64_t id, int64_t kind, int64_t position,
                        float *restrict row, uint8_t *restrict bytes, float *restrict step) {
    const int64_t width = model->width;
    const int8_t *const piece = model->pieces + id * width;
    const float scale = model->piece_scales[id];
    const float *const type = model->types + kind * width;
    const float *const place = model->positions + position * width;
    for (int64_t i = 0; i < width; i++) row[i] = ((float)piece[i] * scale + type[i]) + place[i];
    *step = NAME(normalise)(row, width, model->norm, model->epsilon, bytes);
}

/* The feed-forward block of one layer, for at most BLOCK rows. */
static void NAME(feed_forward)(const struct encoder *model, const struct layer *layer, int64_t rows,
                               float *restrict states, uint8_t *restrict bytes,
                               float *restrict steps, const struct room *parts) {
    const int64_t width = model->width, inner = model->inner;
    NAME(project)(bytes, rows, width, steps, &layer->inner, inner, parts->inner);
    for (int64_t r = 0; r < rows; r++)
        parts->inner_steps[r] =
            NAME(activate)(parts->inner + r * inner, inner, parts->inner_bytes + r * inner);
    NAME(project_and_add)(parts->inner_bytes, rows, inner, parts->inner_steps,
                         &layer->outer, width, states);
    for (int64_t r = 0; r < rows; r++)
        steps[r] = NAME(normalise)(states + r * width, width, layer->outer_norm, model->epsilon,
                                   bytes + r * width);
}

/* Encode texts: ids and kinds (T) of all texts one after another, lengths (texts), a workspace of
 * `measure_room` bytes, states (T, E). */
void NAME(encode_texts)(const struct encoder *model, const int64_t *restrict ids,
                        const int64_t *restrict kinds, const int64_t *restrict lengths,
                        int64_t texts, char *workspace, float *restrict states) {
    const int64_t width = model->width;
    int64_t tokens = 0, longest = 0;
    for (int64_t text = 0; text < texts; text++) {
        tokens += lengths[text];
        longest = lengths[text] > longest ? lengths[text] : longest;
    }
    struct NAME(text) text_room;
    struct room parts;
    char *const aligned = (char *)(((uintptr_t)workspace + 63) / 64 * 64);
    NAME(divide)(aligned, model, tokens, longest, &text_room, &parts);
    for (int64_t text = 0, at = 0; text < texts; text++)
        for (int64_t place = 0; place < lengths[text]; place++, at++)
            NAME(embed)(model, ids[at], kinds[at], place, states + at * width,
                        parts.bytes + at * width, parts.steps + at);
    for (const struct layer *layer = model->layers; layer < model->layers + model->depth; layer++) {
        NAME(project)(parts.bytes, tokens, width, parts.steps, &layer->projections,
                             3 * width, parts.projected);
        for (int64_t text = 0, at = 0; text < texts; at += lengths[text++])
            NAME(attend)(parts.projected + at * 3 * width, lengths[text], width, model->heads,
                         &text_room, parts.attended + at * width);
        for (int64_t at = 0; at < tokens; at++) {
            const float *const row = parts.attended + at * width;
            const float largest = NAME(measure)(row, width);
            parts.steps[at] = NAME(quantise)(row, width, largest, parts.bytes + at * width);
        }
        NAME(project_and_add)(parts.bytes, tokens, width, parts.steps, &layer->joined,
                             width, states);
        for (int64_t at = 0; at < tokens; at++)
            parts.steps[at] = NAME(normalise)(states + at * width, width, layer->joined_norm,
                                              model->epsilon, parts.bytes + at * width);
        for (int64_t at = 0; at < tokens; at += BLOCK)
            NAME(feed_forward)(model, layer, tokens - at < BLOCK ? tokens - at : BLOCK,
                               states + at * width, parts.bytes + at * width, parts.steps + at,
                               &parts);
    }
}

/* Average the states of each text's tokens of one kind, or all of them if it is negative: means
 * (texts, E), zeros where there is none. */
void NAME(average_states)(const float *restrict states, int64_t width, const int64_t *restrict kinds,
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
void NAME(pack_weights)(const int8_t *restrict weights, int64_t depth, int64_t columns,
                        int8_t *restrict panels, int32_t *restrict totals) {
    memset(totals, 0, (size_t)columns * sizeof *totals);
    for (int64_t k = 0; k < depth; k++)
        for (int64_t c = 0; c < columns; c++) {
            const int8_t weight = weights[k * columns + c];
            panels[(c / PANEL * PANEL) * depth + (k / 4 * PANEL + c % PANEL) * 4 + k % 4] = weight;
            totals[c] += weight;
        }
}

#undef INTEGERS
#undef PANEL
