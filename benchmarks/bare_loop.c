/* Compiled and loaded by alignment_peers.py.
 *
 * bare_loop: libparasail's own function in the barest loop there is, with OpenMP threads. Scores
 * all rows x columns. Sequence i is letters[offsets[i]] to letters[offsets[i + 1] - 1], rows first
 * and then columns. The query profile is the row's or the column's.
 *
 * dependent_additions: the clock of the processor. */
#include <stdint.h>
#include "parasail.h"

enum { TILE = 64 }; /* rows a thread takes at a time, of one column or of all */

static int score(const parasail_profile_t *profile, const char *letters, const int64_t *offsets,
                 int64_t other, int gap_open, int gap_extend)
{
    parasail_result_t *result = parasail_sw_striped_profile_sat(
        profile, letters + offsets[other], (int)(offsets[other + 1] - offsets[other]), gap_open,
        gap_extend);
    int value = parasail_result_get_score(result);
    parasail_result_free(result);
    return value;
}

static parasail_profile_t *profile_of(const char *letters, const int64_t *offsets, int64_t i,
                                      const parasail_matrix_t *matrix)
{
    return parasail_profile_create_sat(letters + offsets[i], (int)(offsets[i + 1] - offsets[i]),
                                       matrix);
}

void bare_loop(const char *letters, const int64_t *offsets, int64_t rows, int64_t columns,
               const char *matrix_name, int gap_open, int gap_extend, int threads,
               int profile_of_column, int32_t *scores)
{
    const parasail_matrix_t *matrix = parasail_matrix_lookup(matrix_name);
    const int64_t tiles = (rows + TILE - 1) / TILE;
    if (profile_of_column) {
#pragma omp parallel for collapse(2) schedule(dynamic) num_threads(threads)
        for (int64_t c = 0; c < columns; c++) {
            for (int64_t t = 0; t < tiles; t++) {
                const int64_t stop = (t + 1) * TILE < rows ? (t + 1) * TILE : rows;
                parasail_profile_t *profile = profile_of(letters, offsets, rows + c, matrix);
                for (int64_t r = t * TILE; r < stop; r++)
                    scores[r * columns + c] =
                        score(profile, letters, offsets, r, gap_open, gap_extend);
                parasail_profile_free(profile);
            }
        }
    } else {
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
        for (int64_t r = 0; r < rows; r++) {
            parasail_profile_t *profile = profile_of(letters, offsets, r, matrix);
            for (int64_t c = 0; c < columns; c++)
                scores[r * columns + c] =
                    score(profile, letters, offsets, rows + c, gap_open, gap_extend);
            parasail_profile_free(profile);
        }
    }
}

/* One addition after the other, each in need of the one before: one a cycle. What is added is in a
 * register: additions of a constant take no time of their own in the newest processors. */
int64_t dependent_additions(int64_t count)
{
    int64_t sum = 0;
    const int64_t one = 1;
    for (int64_t i = 0; i < count; i += 8)
        __asm__ volatile("add %1, %0\n add %1, %0\n add %1, %0\n add %1, %0\n"
                         "add %1, %0\n add %1, %0\n add %1, %0\n add %1, %0\n"
                         : "+r"(sum)
                         : "r"(one));
    return sum;
}
