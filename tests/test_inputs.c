/* SPDX-License-Identifier: MIT
 *
 * test_inputs.c: made inputs are the same everywhere, and are what their names say. */
#include "bench/verify/inputs.h"

#include "kernels/contract.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- the generator */

/* Bits and values of SplitMix64 and of twelve summed integers, computed outside of this program. */
static void test_known_values(void **state)
{
    (void)state;
    static const struct {
        uint64_t seed, stream, counter, bits;
        double uniform, normal;
    } cases[] = {
        {0, 0, 0, 0x568a9b0b1a2c05ec, 0x1.5a2a6c2c68b00p-2, -0x1.13c4p+1},
        {1, 2, 3, 0x8e1e6eacaa45f47f, 0x1.1c3cdd59548bep-1, 0x1.22fdp+0},
        {42, 1, 1000000000000, 0x61c70fa1e78454a2, 0x1.871c3e879e114p-2, -0x1.995p-3},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, 0xbf5ce0170453275c, 0x1.7eb9c02e08a64p-1,
         -0x1.b466p+0},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        const uint64_t seed = cases[c].seed, stream = cases[c].stream, at = cases[c].counter;
        assert_true(sattn_random_bits(seed, stream, at) == cases[c].bits);
        assert_true(sattn_random_uniform(seed, stream, at) == cases[c].uniform);
        assert_true((double)sattn_random_normal(seed, stream, at) == cases[c].normal);
    }
}

static void test_normals_in_a_row(void **state)
{
    (void)state;
    enum { N = 40 };
    static const uint64_t firsts[] = {0, 7, 1000000000000, UINT64_MAX - N / 2};
    for (size_t f = 0; f < sizeof firsts / sizeof firsts[0]; ++f) {
        float values[N + 1] = {[N] = 9.0f};
        sattn_random_normals(5, 3, firsts[f], N, values);
        for (uint64_t i = 0; i < N; ++i)
            assert_true(values[i] == sattn_random_normal(5, 3, firsts[f] + i));
        assert_true(values[N] == 9.0f);
    }
}

static void test_streams_differ(void **state)
{
    (void)state;
    int same = 0;
    for (uint64_t i = 0; i < 1000; ++i) {
        const uint64_t bits = sattn_random_bits(7, 1, i);
        same += bits == sattn_random_bits(7, 2, i);
        same += bits == sattn_random_bits(8, 1, i);
        same += bits == sattn_random_bits(7, 1, i + 1);
        same += bits == sattn_random_bits(1, 7, i);
        /* a stream must not be another one, shifted */
        for (uint64_t shift = 1; shift < 4; ++shift)
            same += bits == sattn_random_bits(7, 2, i + shift);
    }
    assert_int_equal(same, 0);
}

static void test_distributions(void **state)
{
    (void)state;
    enum { N = 50000 };
    double sum = 0, squares = 0, uniform = 0;
    for (uint64_t i = 0; i < N; ++i) {
        const double x = (double)sattn_random_normal(3, 1, i);
        const double y = sattn_random_uniform(3, 1, i);
        assert_true(fabs(x) <= 6 && y >= 0 && y < 1);
        sum += x;
        squares += x * x;
        uniform += y;
    }
    assert_true(fabs(sum / (double)N) < 0.02 && fabs(squares / (double)N - 1) < 0.03);
    assert_true(fabs(uniform / (double)N - 0.5) < 0.01);
}

/* ---- tensors */

enum { HQ = 4, HKV = 2, N_Q = 24, N_K = 4 * SATTN_KEY_BLOCK, D = 16, D_V = 8 };

static const sattn_input_shape shape = {1, HQ, HKV, N_Q, N_K, D, D_V};
static float q[HQ][N_Q][D], k[HKV][N_K][D], v[HKV][N_K][D_V];

static void fill(sattn_input_kind kind, uint64_t seed)
{
    /* NaN where an element is forgotten */
    memset(q, 0xff, sizeof q);
    memset(k, 0xff, sizeof k);
    memset(v, 0xff, sizeof v);
    sattn_input_fill(kind, seed, &shape, q[0][0], k[0][0], v[0][0]);
}

static uint64_t hash(uint64_t so_far, const float *data, size_t n)
{
    for (size_t i = 0; i < n; ++i) { /* FNV-1a over 32-bit words */
        uint32_t bits;
        memcpy(&bits, &data[i], sizeof bits);
        so_far = (so_far ^ bits) * 0x100000001b3u;
    }
    return so_far;
}

static uint64_t hash_all(void)
{
    uint64_t all = hash(0xcbf29ce484222325u, q[0][0], sizeof q / sizeof(float));
    all = hash(all, k[0][0], sizeof k / sizeof(float));
    return hash(all, v[0][0], sizeof v / sizeof(float));
}

/* The same on every machine and with every compiler. */
static void test_same_bits(void **state)
{
    (void)state;
    static const uint64_t want[SATTN_INPUT_KINDS] = {
        [SATTN_INPUT_NORMAL] = 0x50e9b40f447010a5,   [SATTN_INPUT_ATTENTION] = 0x9d83c55b56a1f0a6,
        [SATTN_INPUT_LARGE8] = 0x6fa91135657010a5,   [SATTN_INPUT_LARGE30] = 0x0df49cd62bb7ccfd,
        [SATTN_INPUT_RISING] = 0x5f589370d3fda309,   [SATTN_INPUT_EQUAL] = 0x7d5b3750a1dc5f65,
        [SATTN_INPUT_ONE_HOT] = 0xdb5e879bf75ae465,  [SATTN_INPUT_DENORMAL] = 0x7b49722249e6db65,
        [SATTN_INPUT_TINY] = 0xe00adceff07010a5,     [SATTN_INPUT_MASKED] = 0x50e9b40f447010a5,
        [SATTN_INPUT_MASKED90] = 0x9d83c55b56a1f0a6, [SATTN_INPUT_BIAS1E30] = 0x9d83c55b56a1f0a6,
    };
    uint64_t got[SATTN_INPUT_KINDS];
    for (int kind = 0; kind < SATTN_INPUT_KINDS; ++kind) {
        fill((sattn_input_kind)kind, 20);
        got[kind] = hash_all();
        if (got[kind] != want[kind])
            print_error("%s: %#llx\n", sattn_input_name((sattn_input_kind)kind),
                        (unsigned long long)got[kind]);
        fill((sattn_input_kind)kind, 20);
        assert_true(hash_all() == got[kind]);
        fill((sattn_input_kind)kind, 21);
        assert_true(hash_all() != got[kind]);
    }
    assert_memory_equal(got, want, sizeof want);
}

static void test_names(void **state)
{
    (void)state;
    for (int kind = 0; kind < SATTN_INPUT_KINDS; ++kind) {
        const char *const name = sattn_input_name((sattn_input_kind)kind);
        assert_true(name && name[0] != '\0');
        assert_int_equal(sattn_input_from_name(name), kind);
        assert_true(sattn_input_note((sattn_input_kind)kind)[0] != '\0');
    }
    assert_null(sattn_input_name(SATTN_INPUT_KINDS));
    assert_null(sattn_input_note(SATTN_INPUT_KINDS));
    assert_null(sattn_input_name((sattn_input_kind)1000));
    assert_int_equal(sattn_input_from_name("norma"), -1);
    assert_int_equal(sattn_input_from_name(""), -1);
}

/* Smallest magnitude but for 0; zeros are counted. */
static float least_magnitude(const float *data, size_t n, size_t *zeros)
{
    float least = FLT_MAX;
    for (size_t i = 0; i < n; ++i) {
        assert_true(isfinite(data[i]));
        *zeros += data[i] == 0;
        if (data[i] != 0)
            least = fminf(least, fabsf(data[i]));
    }
    return least;
}

/* No input of a standard kind is near the denormal numbers, nor is a product of two. */
static void test_magnitudes(void **state)
{
    (void)state;
    for (int kind = 0; kind < SATTN_INPUT_KINDS; ++kind) {
        size_t zeros = 0;
        fill((sattn_input_kind)kind, 4);
        const float least_q = least_magnitude(q[0][0], sizeof q / sizeof(float), &zeros);
        const float least_k = least_magnitude(k[0][0], sizeof k / sizeof(float), &zeros);
        const float least_v = least_magnitude(v[0][0], sizeof v / sizeof(float), &zeros);
        if (kind == SATTN_INPUT_TINY)
            assert_true(least_q >= FLT_MIN && least_k >= FLT_MIN && least_q * least_k < FLT_MIN);
        else
            assert_true(least_q >= 0x1p-40f && least_k >= 0x1p-40f);
        assert_int_equal(zeros, 0);
        if (kind == SATTN_INPUT_DENORMAL)
            assert_true(least_v < FLT_MIN);
        else
            assert_true(least_v >= 0x1p-16f);
    }
}

/* ---- what the names say */

static double score(int h, int i, int j)
{
    double sum = 0;
    for (int x = 0; x < D; ++x)
        sum += (double)q[h][i][x] * (double)k[h / (HQ / HKV)][j][x];
    return sum / sqrt(D);
}

static double score_deviation(void)
{
    double sum = 0, squares = 0;
    const double n = (double)(HQ * N_Q * N_K);
    for (int h = 0; h < HQ; ++h)
        for (int i = 0; i < N_Q; ++i)
            for (int j = 0; j < N_K; ++j) {
                const double s = score(h, i, j);
                sum += s;
                squares += s * s;
            }
    return sqrt(squares / n - sum / n * (sum / n));
}

static void test_score_spread(void **state)
{
    (void)state;
    static const struct {
        sattn_input_kind kind;
        double deviation;
    } cases[] = {{SATTN_INPUT_NORMAL, 1}, {SATTN_INPUT_LARGE8, 8}, {SATTN_INPUT_LARGE30, 30}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        fill(cases[c].kind, 5);
        assert_true(fabs(score_deviation() / cases[c].deviation - 1) < 0.1);
    }
}

/* Largest score of a row among the keys of one block. */
static double block_maximum(int h, int i, int block)
{
    double most = -INFINITY;
    for (int j = block * SATTN_KEY_BLOCK; j < (block + 1) * SATTN_KEY_BLOCK; ++j)
        if (score(h, i, j) > most) /* not fmax: gcc 12 fails to compile that for AArch64 at -O3 */
            most = score(h, i, j);
    return most;
}

static void test_rising(void **state)
{
    (void)state;
    fill(SATTN_INPUT_RISING, 6);
    for (int h = 0; h < HQ; ++h)
        for (int i = 0; i < N_Q; ++i)
            for (int block = 1; block < N_K / SATTN_KEY_BLOCK; ++block)
                assert_true(block_maximum(h, i, block) >
                            block_maximum(h, i, block - 1) + (double)SATTN_LAZY_THRESHOLD);
}

static void test_equal(void **state)
{
    (void)state;
    fill(SATTN_INPUT_EQUAL, 7);
    for (int h = 0; h < HKV; ++h)
        for (int j = 0; j < N_K; ++j) {
            assert_memory_equal(k[h][j], k[h][0], sizeof k[h][j]);
            for (int y = 0; y < D_V; ++y)
                assert_true(v[h][j][y] == 1);
        }
}

/* The best key of most rows has nearly all of the weight; not all rows have the same one. */
static void test_one_hot(void **state)
{
    (void)state;
    int dominated = 0, first_best = -1, others = 0;
    fill(SATTN_INPUT_ONE_HOT, 8);
    for (int h = 0; h < HQ; ++h)
        for (int i = 0; i < N_Q; ++i) {
            int best = 0;
            double rest = 0;
            for (int j = 1; j < N_K; ++j)
                if (score(h, i, j) > score(h, i, best))
                    best = j;
            for (int j = 0; j < N_K; ++j)
                rest += j == best ? 0 : exp(score(h, i, j) - score(h, i, best));
            dominated += rest < 0.01;
            first_best = first_best < 0 ? best : first_best;
            others += best != first_best;
        }
    assert_true(dominated > HQ * N_Q * 9 / 10);
    assert_true(others > HQ * N_Q / 2);
}

/* The first key and the neighbours of a query weigh more than the others. */
static void test_attention(void **state)
{
    (void)state;
    double first = 0, self = 0, far = 0;
    fill(SATTN_INPUT_ATTENTION, 9);
    for (int h = 0; h < HQ; ++h)
        for (int i = 0; i < N_Q; ++i) {
            first += score(h, i, 0);
            self += score(h, i, i + N_K - N_Q);
            far += score(h, i, N_K / 2 + i);
        }
    assert_true(first > far + 4.0 * (double)(HQ * N_Q) && self > far + 3.0 * (double)(HQ * N_Q));
}

static void test_denormal(void **state)
{
    (void)state;
    int below = 0;
    fill(SATTN_INPUT_DENORMAL, 10);
    for (int h = 0; h < HKV; ++h)
        for (int j = 0; j < N_K; ++j)
            for (int y = 0; y < D_V; ++y)
                below += fabsf(v[h][j][y]) < FLT_MIN;
    assert_in_range(below, HKV * N_K * D_V / 2, HKV * N_K * D_V - 1);
}

/* ---- masks */

static uint8_t hides[N_Q][N_K];
static float bias[N_Q][N_K];

static void test_masks(void **state)
{
    (void)state;
    static const struct {
        sattn_input_kind kind;
        double share;
    } cases[] = {{SATTN_INPUT_MASKED, 1.0 / 3.0}, {SATTN_INPUT_MASKED90, 0.9}};
    for (int kind = 0; kind < SATTN_INPUT_KINDS; ++kind)
        assert_int_equal(sattn_input_mask_kind((sattn_input_kind)kind) != SATTN_MASK_NONE,
                         kind >= SATTN_INPUT_MASKED);
    for (size_t c = 0; c < 2; ++c) {
        int blind = 0, seeing_rows = 0, hidden = 0;
        assert_int_equal(sattn_input_mask_kind(cases[c].kind), SATTN_MASK_BOOL);
        sattn_input_fill_mask(cases[c].kind, 11, &shape, hides);
        for (int i = 0; i < N_Q; ++i) {
            int n = 0;
            for (int j = 0; j < N_K; ++j)
                n += hides[i][j] == 0;
            blind += n == N_K;
            seeing_rows += n < N_K;
            hidden += n < N_K ? n : 0;
        }
        const double share = (double)hidden / (double)(seeing_rows * N_K);
        assert_true(fabs(share - cases[c].share) < 0.02);
        assert_true(cases[c].kind == SATTN_INPUT_MASKED ? blind > 0 && blind < N_Q / 2
                                                        : blind == 0);
    }
}

static void test_bias(void **state)
{
    (void)state;
    int n = 0;
    assert_int_equal(sattn_input_mask_kind(SATTN_INPUT_BIAS1E30), SATTN_MASK_ADDITIVE);
    sattn_input_fill_mask(SATTN_INPUT_BIAS1E30, 12, &shape, bias);
    for (int i = 0; i < N_Q; ++i)
        for (int j = 0; j < N_K; ++j) {
            assert_true(bias[i][j] == 0 || bias[i][j] == -1e30f);
            n += bias[i][j] != 0;
        }
    assert_in_range(n, N_Q * N_K * 45 / 100, N_Q * N_K * 55 / 100);
}

static void test_empty(void **state)
{
    (void)state;
    const sattn_input_shape empty[] = {
        {0, 4, 2, 3, 5, 2, 2}, {1, 0, 0, 3, 5, 2, 2}, {1, 4, 2, 0, 0, 2, 2}};
    for (size_t e = 0; e < sizeof empty / sizeof empty[0]; ++e)
        for (int kind = 0; kind < SATTN_INPUT_KINDS; ++kind)
            sattn_input_fill((sattn_input_kind)kind, 1, &empty[e], NULL, NULL, NULL);
    /* queries without keys have no key to aim at */
    const sattn_input_shape no_keys = {1, HQ, HKV, N_Q, 0, D, D_V};
    for (int kind = 0; kind < SATTN_INPUT_KINDS; ++kind) {
        memset(q, 0xff, sizeof q);
        sattn_input_fill((sattn_input_kind)kind, 1, &no_keys, q[0][0], NULL, NULL);
        size_t zeros = 0;
        least_magnitude(q[0][0], sizeof q / sizeof(float), &zeros);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values),   cmocka_unit_test(test_normals_in_a_row),
        cmocka_unit_test(test_streams_differ), cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_same_bits),      cmocka_unit_test(test_names),
        cmocka_unit_test(test_magnitudes),     cmocka_unit_test(test_score_spread),
        cmocka_unit_test(test_rising),         cmocka_unit_test(test_equal),
        cmocka_unit_test(test_one_hot),        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_denormal),       cmocka_unit_test(test_masks),
        cmocka_unit_test(test_bias),           cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
