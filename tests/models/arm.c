/* Prints what the kernel computes on ARM, for test_other_processors.py.
 *
 * Usage: arm ROWS DEPTH LINES < numbers, where the numbers are those of rows, panels and bias. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int64_t has_transformer(void);
int64_t kernel_level(void);
int64_t kernel_line_1(void);
void multiply_1(const float *, int64_t, int64_t, const float *, int64_t, const float *, float *);

static float *read_floats(int64_t count) {
    float *const numbers = malloc((size_t)count * sizeof *numbers);
    if (fread(numbers, sizeof *numbers, (size_t)count, stdin) != (size_t)count) exit(2);
    return numbers;
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    const int64_t rows = atoi(arguments[1]), depth = atoi(arguments[2]), lines = atoi(arguments[3]);
    const int64_t columns = lines * kernel_line_1();
    const float *const left = read_floats(rows * depth);
    const float *const panels = read_floats(depth * columns);
    const float *const bias = read_floats(columns);
    float *const out = malloc((size_t)(rows * columns) * sizeof *out);
    multiply_1(left, rows, depth, panels, lines, bias, out);
    printf("%d %d %d\n", (int)has_transformer(), (int)kernel_level(), (int)kernel_line_1());
    for (int64_t i = 0; i < rows * columns; i++) printf("%.9g\n", (double)out[i]);
    return 0;
}
