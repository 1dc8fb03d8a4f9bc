/* Calls one function of the kernel on ARM, for arm.py.
 *
 * Usage: arm NAME SIGNATURE < arguments > results, with a letter of the signature per argument: an
 * integer (i) is 8 bytes; memory (p) is its size, the offset of the pointer in it, and its bytes.
 * The results are that of the function, 8 bytes that mean nothing where it returns nothing, and
 * then all memory, as the function has left it. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 13 /* arguments, each of which takes a whole register or a whole place on the stack */
#define FUNCTIONS(EACH) \
    EACH(has_transformer) \
    EACH(kernel_level) \
    EACH(kernel_max_width) \
    EACH(kernel_line_1) \
    EACH(kernel_strip_1) \
    EACH(pool_texts_1) \
    EACH(pool_related_1) \
    EACH(relate_1) \
    EACH(multiply_1) \
    EACH(run_recurrence_1) \
    EACH(attend_bits_1) \
    EACH(choose_rows_1) \
    EACH(score_rows_1)
#define DECLARE(name) int64_t name();
#define LIST(name) {#name, name},

FUNCTIONS(DECLARE)

static const struct {
    const char *name;
    int64_t (*run)();
} functions[] = {FUNCTIONS(LIST)};

static int64_t read_integer(void) {
    int64_t number;
    if (fread(&number, sizeof number, 1, stdin) != 1) exit(2);
    return number;
}

int main(int count, char **arguments) {
    if (count != 3 || strlen(arguments[2]) > MOST) return 2;
    const char *const signature = arguments[2];
    int64_t a[MOST] = {0}, sizes[MOST] = {0};
    char *memory[MOST] = {0};
    for (int at = 0; signature[at]; at++) {
        a[at] = read_integer();
        if (signature[at] != 'p') continue;
        sizes[at] = a[at];
        const int64_t offset = read_integer();
        memory[at] = malloc((size_t)sizes[at] + 1);
        if (fread(memory[at], 1, (size_t)sizes[at], stdin) != (size_t)sizes[at]) return 2;
        a[at] = (int64_t)(memory[at] + offset);
    }
    for (size_t at = 0; at < sizeof functions / sizeof *functions; at++) {
        if (strcmp(functions[at].name, arguments[1])) continue;
        const int64_t result = functions[at].run(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7],
                                                 a[8], a[9], a[10], a[11], a[12]);
        fwrite(&result, sizeof result, 1, stdout);
        for (int each = 0; each < MOST; each++)
            fwrite(memory[each], 1, (size_t)sizes[each], stdout);
        return 0;
    }
    return 3;
}
