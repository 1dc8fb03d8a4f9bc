/* The inner loops for one level of the instruction set: kernel.c includes this for each level,
 * with its NAME and LINE.
 *
 * A line is the floats of one SIMD register.  Rows "in lines" are padded with zeros to whole lines.
 */

typedef float NAME(vec) __attribute__((vector_size(LINE * sizeof(float))));
typedef int32_t NAME(choice) __attribute__((vector_size(LINE * sizeof(float))));
typedef NAME(vec) NAME(anywhere) __attribute__((aligned(4), may_alias));

int64_t NAME(kernel_line)(void) { return LINE; }
int64_t NAME(kernel_strip)(void) { return STRIP * LINE; }

ALWAYS_INLINE NAME(vec) NAME(larger)(NAME(vec) a, NAME(vec) b) {
    const NAME(choice) first = a > b;
    return (NAME(vec))((first & (NAME(choice))a) | (~first & (NAME(choice))b));
}

static inline int64_t NAME(add_up)(const int64_t *numbers, int64_t count) {
    int64_t sum = 0;
    for (int64_t at = 0; at < count; at++) sum += numbers[at];
    return sum;
}

/* Convolve and max-pool texts.  A word w adds products[w][k] + related * by_related[k] to the
 * position that is HALF - k words away.
 *
 * products (rows, KERNEL, lines), its row 0 zeros; words, related: of all texts, one after
 * another; lengths (texts); by_related (KERNEL, lines); bias (lines); pooled (texts, lines). */
void NAME(pool_texts)(const float *restrict products, const int64_t *restrict words,
                      const float *restrict related, const int64_t *restrict lengths,
                      int64_t texts, int64_t lines, const float *restrict by_related,
                      const float *restrict bias, float *restrict pooled) {
    const int64_t width = lines * LINE, row = KERNEL * width;
    const int64_t *const words_end = words + NAME(add_up)(lengths, texts);
    for (int64_t text = 0; text < texts; text++, pooled += width) {
        const int64_t length = lengths[text];
        for (int64_t first = 0; first < length; first += CHUNK) {
            /* The words of a chunk of positions and HALF more on both sides; row 0 is padding. */
            const int64_t count = length - first < CHUNK ? length - first : CHUNK;
            const float *rows[CHUNK + 2 * HALF];
            float r[CHUNK + 2 * HALF];
            for (int64_t i = 0; i < count + 2 * HALF; i++) {
                const int64_t at = first + i - HALF;
                const int is_word = at >= 0 && at < length;
                rows[i] = products + (is_word ? words[at] * row : 0);
                r[i] = is_word ? related[at] : 0.0f;
            }
            const int64_t *const next = words + first + count;
            const int64_t coming = words_end - next < count ? words_end - next : count;
            for (int64_t line = 0; line < lines; line++) {
                /* Rows are scattered over a table of many MB: prefetch those of the next chunk. */
                for (int64_t i = coming * line / lines; i < coming * (line + 1) / lines; i++)
                    for (int64_t at = 0; at < row; at += LINE) FETCH(products + next[i] * row + at);
                NAME(vec) kernel[KERNEL];
                for (int k = 0; k < KERNEL; k++)
                    kernel[k] = LOAD(by_related + k * width + line * LINE);
                const NAME(vec) start = LOAD(bias + line * LINE);
                NAME(vec) best = start - INFINITY;
                if (first) best = LOAD(pooled + line * LINE);
                for (int64_t i = 0; i < count; i++) {
                    NAME(vec) sum = start, other = {0};
                    for (int k = 0; k < KERNEL; k++) {
                        sum += LOAD(rows[i + k] + k * width + line * LINE);
                        other += r[i + k] * kernel[k];
                    }
                    sum += other;
                    best = NAME(larger)(sum, best);
                }
                STORE(pooled + line * LINE, best);
            }
        }
        words += length;
        related += length;
    }
}

/* The same for one text, once per row of relatedness.
 *
 * base (length, lines): the text's sums without relatedness; related (times, length + 2 * HALF),
 * with zeros at both ends; pooled (times, lines). */
void NAME(pool_related)(const float *restrict base, int64_t length, const float *restrict related,
                        int64_t times, int64_t lines, const float *restrict by_related,
                        float *restrict pooled) {
    const int64_t width = lines * LINE;
    for (; times > 0; times--, related += length + 2 * HALF, pooled += width)
        for (int64_t line = 0; line < lines; line++) {
            NAME(vec) kernel[KERNEL];
            for (int k = 0; k < KERNEL; k++)
                kernel[k] = LOAD(by_related + k * width + line * LINE);
            NAME(vec) best = LOAD(base + line * LINE) - INFINITY;
            for (int64_t at = 0; at < length; at++) {
                NAME(vec) sum = LOAD(base + at * width + line * LINE);
                for (int k = 0; k < KERNEL; k++) sum += related[at + k] * kernel[k];
                best = NAME(larger)(sum, best);
            }
            STORE(pooled + line * LINE, best);
        }
}

static inline float NAME(dot)(const float *restrict a, const float *restrict b, int64_t width) {
    NAME(vec) sums = {0};
    int64_t at = 0;
    for (; at + LINE <= width; at += LINE) sums += LOAD(a + at) * LOAD(b + at);
    float sum = 0;
    for (int i = 0; i < LINE; i++) sum += sums[i];
    for (; at < width; at++) sum += a[at] * b[at];
    return sum;
}

/* Max relatedness: the largest cosine of each word to a word of the other side.
 *
 * vectors (rows, width); question (queries, width); words: of all texts; lengths (texts);
 * slots (rows), all 0: the index of a word's cosines plus 1; cosines: room for each distinct
 * word, (…, queries); of_words (words); of_question (texts, queries). */
void NAME(relate)(const float *restrict vectors, int64_t width, const float *restrict question,
                  int64_t queries, const int64_t *restrict words, const int64_t *restrict lengths,
                  int64_t texts, int32_t *restrict slots, float *restrict cosines,
                  float *restrict of_words, float *restrict of_question) {
    int32_t distinct = 0;
    const int64_t *const words_end = words + NAME(add_up)(lengths, texts);
    for (int64_t text = 0; text < texts; text++, of_question += queries) {
        for (int64_t q = 0; q < queries; q++) of_question[q] = -INFINITY;
        for (int64_t at = 0; at < lengths[text]; at++) {
            const int64_t word = *words++;
            if (words_end - words > AHEAD && slots[words[AHEAD]] == 0)
                for (int64_t i = 0; i < width; i += LINE) FETCH(vectors + words[AHEAD] * width + i);
            float *restrict row = cosines + (slots[word] - 1) * queries;
            if (slots[word] == 0) {
                slots[word] = ++distinct;
                row = cosines + (distinct - 1) * queries;
                for (int64_t q = 0; q < queries; q++)
                    row[q] = NAME(dot)(question + q * width, vectors + word * width, width);
            }
            float best = -INFINITY;
            for (int64_t q = 0; q < queries; q++) {
                best = row[q] > best ? row[q] : best;
                of_question[q] = row[q] > of_question[q] ? row[q] : of_question[q];
            }
            *of_words++ = best;
        }
    }
}

/* Multiply at most TILE rows with one line of columns. */
ALWAYS_INLINE void NAME(multiply_tile)(const int rows, const float *restrict left, int64_t depth,
                                       const float *restrict panel, const float *restrict bias,
                                       float *restrict out, int64_t stride) {
    NAME(vec) sums[TILE];
    for (int r = 0; r < rows; r++) sums[r] = LOAD(bias);
    for (int64_t k = 0; k < depth; k++) {
        const NAME(vec) column = LOAD(panel + k * LINE);
        for (int r = 0; r < rows; r++) sums[r] += left[r * depth + k] * column;
    }
    for (int r = 0; r < rows; r++) STORE(out + r * stride, sums[r]);
}

/* out = left · right + bias.  A row's result does not depend on the other rows.
 *
 * left (rows, depth); right in panels of one line of columns, (lines, depth, LINE);
 * bias (lines); out (rows, lines). */
void NAME(multiply)(const float *restrict left, int64_t rows, int64_t depth,
                    const float *restrict right, int64_t lines, const float *restrict bias,
                    float *restrict out) {
    const int64_t stride = lines * LINE;
    for (int64_t first = 0; first < rows; first += GROUP * TILE) {
        const int64_t end = rows < first + GROUP * TILE ? rows : first + GROUP * TILE;
        for (int64_t line = 0; line < lines; line++) {
            const float *const panel = right + line * depth * LINE;
            int64_t r = first;
            for (; r + TILE <= end; r += TILE)
                NAME(multiply_tile)(TILE, left + r * depth, depth, panel, bias + line * LINE,
                                    out + r * stride + line * LINE, stride);
            for (; r + 4 <= end; r += 4)
                NAME(multiply_tile)(4, left + r * depth, depth, panel, bias + line * LINE,
                                    out + r * stride + line * LINE, stride);
            for (; r < end; r++)
                NAME(multiply_tile)(1, left + r * depth, depth, panel, bias + line * LINE,
                                    out + r * stride + line * LINE, stride);
        }
    }
}

/* tanh(x) = 1 - 2 / (exp(2x) + 1), with exp by range reduction and a polynomial: within 1e-6 of
 * libm's, and without a call, so that a loop over it is vectorised. */
static inline float NAME(tangent)(float x) {
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

/* h_t = tanh(x_t + U h_{t-1}), from h_0 = tanh(x_0), for one segment after another.
 *
 * inputs and states: rows of `width` floats, whose strides may be negative to read backwards;
 * lengths (segments): rows of each; transposed: U transposed and padded with zeros to whole
 * strips, (width, strips, STRIP, LINE). */
void NAME(run_recurrence)(const float *restrict inputs, float *states,
                          const int64_t *restrict lengths, int64_t segments, int64_t width,
                          int64_t input_stride, int64_t state_stride,
                          const float *restrict transposed, int64_t strips) {
    float sums[MAX_WIDTH + STRIP * LINE];
    const int64_t row = strips * STRIP * LINE;
    memset(sums, 0, sizeof sums);
    for (int64_t segment = 0; segment < segments; segment++) {
        for (int64_t step = 0; step < lengths[segment]; step++) {
            memcpy(sums, inputs, (size_t)width * sizeof(float));
            const float *const before = states - state_stride;
            for (int64_t strip = 0; step && strip < strips; strip++) {
                float *const part = sums + strip * STRIP * LINE;
                NAME(vec) sum[STRIP];
                for (int i = 0; i < STRIP; i++) sum[i] = LOAD(part + i * LINE);
                for (int64_t j = 0; j < width; j++) {
                    const float *const weights = transposed + j * row + strip * STRIP * LINE;
                    for (int i = 0; i < STRIP; i++) sum[i] += before[j] * LOAD(weights + i * LINE);
                }
                for (int i = 0; i < STRIP; i++) STORE(part + i * LINE, sum[i]);
            }
            for (int64_t i = 0; i < width; i++) states[i] = NAME(tangent)(sums[i]);
            inputs += input_stride;
            states += state_stride;
        }
    }
}

/* Return the next bits of a row, at most 64, padded with 0. */
ALWAYS_INLINE uint64_t NAME(take_bits)(const uint8_t *restrict row, int64_t bytes) {
    uint64_t bits = 0;
    memcpy(&bits, row, bytes < 8 ? (size_t)bytes : 8);
    return bits;
}

/* Add to each row's sums of one line the product with its bits, 64 at a time.  Four bits are one
 * lookup; a row's result does not depend on the other rows. */
ALWAYS_INLINE void NAME(look_up)(const uint8_t *const *restrict rows, int64_t count, int64_t bytes,
                                 const float *restrict tables, float *restrict sums) {
    for (int64_t first = 0; first < bytes; first += 8, tables += NIBBLES * VALUES * LINE)
        for (int64_t r = 0; r < count; r++) {
            const uint64_t bits = NAME(take_bits)(rows[r] + first, bytes - first);
            NAME(vec) part[4] = {{0}};
            for (int n = 0; n < NIBBLES; n++)
                part[n % 4] += LOAD(tables + (n * VALUES + ((bits >> (4 * n)) & 15)) * LINE);
            const NAME(vec) sum = (part[0] + part[1]) + (part[2] + part[3]);
            STORE(sums + r * LINE, LOAD(sums + r * LINE) + sum);
        }
}

/* Compute the attention logits of at most ROWS rows. */
static void NAME(weigh)(const uint8_t *const *restrict rows, int64_t count, int64_t bytes,
                        const float *restrict tables, int64_t lines,
                        const float *restrict by_question, const float *restrict weights,
                        float *restrict logits) {
    const int64_t table = (bytes + 7) / 8 * NIBBLES * VALUES * LINE;
    float sums[ROWS * LINE];
    for (int64_t r = 0; r < count; r++) logits[r] = 0;
    for (int64_t line = 0; line < lines; line++) {
        for (int64_t r = 0; r < count; r++) STORE(sums + r * LINE, LOAD(by_question + line * LINE));
        NAME(look_up)(rows, count, bytes, tables + line * table, sums);
        for (int64_t i = 0; i < count * LINE; i++) sums[i] = NAME(tangent)(sums[i]);
        const NAME(vec) weight = LOAD(weights + line * LINE);
        for (int64_t r = 0; r < count; r++) {
            const NAME(vec) weighted = weight * LOAD(sums + r * LINE);
            for (int i = 0; i < LINE; i++) logits[r] += weighted[i];
        }
    }
}

/* Return the cosine of the question and the mean of rows, weighted by the softmax of logits. */
static float NAME(compare)(const uint8_t *restrict rows, int64_t length, int64_t bytes,
                           int64_t width, const float *restrict question, float *restrict logits) {
    float mean[MAX_WIDTH], largest = -INFINITY, total = 0, size = 0;
    NAME(choice) lane;
    for (int i = 0; i < LINE; i++) lane[i] = 1 << i;
    for (int64_t at = 0; at < length; at++) largest = logits[at] > largest ? logits[at] : largest;
    for (int64_t at = 0; at < length; at++) total += logits[at] = expf(logits[at] - largest);
    memset(mean, 0, sizeof mean);
    for (int64_t at = 0; at < length; at++, rows += bytes) {
        const NAME(vec) share = (NAME(vec)){0} + 2 * logits[at] / total;
        for (int64_t first = 0; first < bytes; first += 8) {
            const uint64_t bits = NAME(take_bits)(rows + first, bytes - first);
            for (int64_t i = 0; i < 64 && first * 8 + i < width; i += LINE) {
                const NAME(choice) chosen = ((NAME(choice)){0} + (int32_t)(bits >> i)) & lane;
                float *const place = mean + first * 8 + i;
                STORE(place, LOAD(place) + (NAME(vec))((chosen != 0) & (NAME(choice))share));
            }
        }
    }
    for (int64_t i = 0; i < width; i++) mean[i] -= 1; /* a bit of 0 means -1 */
    size = sqrtf(NAME(dot)(mean, mean, width));
    return size > 0 ? NAME(dot)(mean, question, width) / size : 0;
}

/* Attend over answers whose words are rows of bits, and score them by the cosine to the question.
 *
 * data: all rows; starts (answers): the byte offset of an answer's rows; lengths (answers): its
 * rows, at least 1; bytes: of a row; width: bits of a row, at most MAX_WIDTH;
 * tables (lines, 64s of bits, NIBBLES, VALUES, LINE): the terms of four bits in a sum; by_question,
 * weights (lines); question (width), of length 1; logits: room for all rows; scores (answers). */
void NAME(attend_bits)(const uint8_t *restrict data, const int64_t *restrict starts,
                       const int64_t *restrict lengths, int64_t answers, int64_t bytes,
                       int64_t width, const float *restrict tables, int64_t lines,
                       const float *restrict by_question, const float *restrict weights,
                       const float *restrict question, float *restrict logits,
                       float *restrict scores) {
    const uint8_t *rows[ROWS];
    float *logit = logits;
    int64_t count = 0;
    for (int64_t answer = 0; answer < answers; answer++)
        for (int64_t at = 0; at < lengths[answer]; at++) {
            rows[count++] = data + starts[answer] + at * bytes;
            const int is_last = answer + 1 == answers && at + 1 == lengths[answer];
            if (count < ROWS && !is_last) continue;
            NAME(weigh)(rows, count, bytes, tables, lines, by_question, weights, logit);
            logit += count;
            count = 0;
        }
    for (int64_t answer = 0; answer < answers; logits += lengths[answer++])
        scores[answer] = NAME(compare)(data + starts[answer], lengths[answer], bytes, width,
                                       question, logits);
}

/* The weighted Hamming distance: the sum of the question's weights where the bits differ. */
ALWAYS_INLINE int64_t NAME(weigh_difference)(const uint8_t *restrict row,
                                             const uint64_t *restrict signs,
                                             const uint64_t *restrict planes, int64_t words) {
    int64_t distance = 0;
    for (int64_t word = 0; word < words; word++) {
        const uint64_t difference = NAME(take_bits)(row + 8 * word, 8) ^ signs[word];
        for (int plane = 0; plane < PLANES; plane++)
            distance += (int64_t)__builtin_popcountll(difference & planes[plane * words + word])
                        << plane;
    }
    return distance;
}

ALWAYS_INLINE void NAME(measure_rows)(const uint8_t *restrict bits,
                                      const uint32_t *restrict places, int64_t rows, int64_t words,
                                      const uint8_t *restrict allowed, int64_t documents,
                                      const uint64_t *restrict signs,
                                      const uint64_t *restrict planes, int64_t *restrict counts,
                                      uint16_t *restrict distances) {
    for (int64_t row = 0; row < rows; row++) {
        const uint32_t document = places[2 * row];
        distances[row] = FAR;
        if (document >= documents || !allowed[document]) continue;
        const int64_t own = NAME(weigh_difference)(bits + row * words * 8, signs, planes, words);
        distances[row] = (uint16_t)own;
        counts[own]++;
    }
}

/* Choose the rows of bits nearest to a question, of allowed documents; the earlier of equal ones.
 *
 * bits (rows, words): the signs of a vector; places (rows, 2): the document number and position;
 * allowed (documents); signs (words): of the question; planes (PLANES, words): the bits of its
 * weights, the lowest first; counts: of rows by distance, zeros, one for each distance and one
 * more; distances (rows): room; chosen (keep), in the order of rows. */
void NAME(choose_rows)(const uint8_t *restrict bits, const uint32_t *restrict places, int64_t rows,
                       int64_t words, const uint8_t *restrict allowed, int64_t documents,
                       const uint64_t *restrict signs, const uint64_t *restrict planes,
                       int64_t *restrict counts, int64_t largest, uint16_t *restrict distances,
                       int64_t keep, int64_t *restrict chosen) {
#define MEASURE(words) \
    NAME(measure_rows)(bits, places, rows, words, allowed, documents, signs, planes, counts, \
                       distances)
    if (words == 4) /* a constant, so that the loop over words is unrolled */
        MEASURE(4);
    else if (words == 6)
        MEASURE(6);
    else
        MEASURE(words);
#undef MEASURE
    if (keep <= 0) return; /* the caller chooses, by the distances and counts of several parts */
    int64_t limit = 0, left = keep;
    while (limit <= largest && counts[limit] <= left) left -= counts[limit++];
    for (int64_t row = 0; row < rows; row++) {
        const int is_tie = distances[row] == limit && left > 0;
        if (distances[row] >= limit && !is_tie) continue;
        *chosen++ = row;
        left -= is_tie;
    }
}

/* Score rows of int8 numbers, each with a float scale behind them, by the dot product.
 *
 * data: rows of `stride` bytes; chosen (count): which rows; question (width), whole parts;
 * scores (count). */
void NAME(score_rows)(const uint8_t *restrict data, int64_t stride, const int64_t *restrict chosen,
                      int64_t count, const float *restrict question, int64_t width,
                      float *restrict scores) {
    for (int64_t at = 0; at < count; at++) {
        const uint8_t *const row = data + chosen[at] * stride;
        if (at + 2 * AHEAD < count)
            for (int64_t i = 0; i < stride; i += 64)
                FETCH(data + chosen[at + 2 * AHEAD] * stride + i);
        NAME(vec) sums = {0};
        for (int64_t first = 0; first < width; first += PART) {
            float part[PART];
            for (int i = 0; i < PART; i++) part[i] = (int8_t)row[first + i];
            for (int i = 0; i < PART; i += LINE) sums += LOAD(question + first + i) * LOAD(part + i);
        }
        float sum = 0, scale;
        for (int i = 0; i < LINE; i++) sum += sums[i];
        memcpy(&scale, row + width, sizeof scale);
        scores[at] = sum * scale;
    }
}
