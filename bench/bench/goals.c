/* SPDX-License-Identifier: MIT
 *
 * goals.c: the table of goals, in the order in which they are measured and printed. Figures are
 * {goal, stretch, speed-up over the best peer}, for avx512 and then for avx2. */
#include "bench/bench/goals.h"

#include <stdio.h>

#define FMA       SATTN_GOAL_FMA
#define READ      SATTN_GOAL_READ
#define EASY      SATTN_GOAL_EASY
#define NEIGHBOUR SATTN_GOAL_NEIGHBOUR
#define PER_CYCLE SATTN_GOAL_PER_CYCLE
#define TIME      SATTN_GOAL_TIME
#define SPEEDUP   SATTN_GOAL_SPEEDUP
#define L2        SATTN_GOAL_L2
#define L3        SATTN_GOAL_L3
#define WARM      SATTN_WARM
#define COLD      SATTN_COLD

/* clang-format off */
static const sattn_goal goals[] = {
    /* ---- prefill, each with what is compared with it: hard numbers in the same job, other widths
     * and strides next to it in time */
    {"prefill D=128, n=128", "fused", "square-128-d128", WARM, FMA,
     .figures = {{87, 91, 1.05}, {88, 91, 1.05}}},
    {"prefill D=128, n=512", "fused", "square-512-d128", WARM, FMA,
     .figures = {{89, 93, 1.05}, {89, 92, 1.05}}},
    {"stride 4096, D=128, n=512", "fused", "interleaved-512-d128", WARM, NEIGHBOUR,
     .figures = {{-6, -3, 1}, {-6, -3, 1}}, .neighbour = "square-512-d128"},
    {"prefill D=128, n=1024", "fused", "square-1024-d128", WARM, FMA,
     .figures = {{89, 93, 1.05}, {89, 92, 1.05}}},
    {"score deviation 30, D=128", "fused", "square-1024-d128", WARM, EASY,
     .figures = {{-2, 0, 0}, {-2, 0, 0}}, .data = "large30"},
    {"rising rows, D=128", "fused", "square-1024-d128", WARM, EASY,
     .figures = {{-2, 0, 0}, {-2, 0, 0}}, .data = "rising"},
    {"D=96, n=1024", "fused", "square-1024-d96", WARM, NEIGHBOUR,
     .figures = {{-6, 0, 1}, {-6, 0, 1}}, .neighbour = "square-1024-d128"},
    {"D=256, n=1024", "fused", "square-1024-d256", WARM, NEIGHBOUR,
     .figures = {{-6, 0, 1}, {-6, 0, 1}}, .neighbour = "square-1024-d128"},
    {"stride 1024, D=128, n=1024", "fused", "interleaved-1024-d128", WARM, NEIGHBOUR,
     .figures = {{-6, -3, 1}, {-6, -3, 1}}, .neighbour = "square-1024-d128"},
    {"prefill D=64, n=128", "fused", "square-128-d64", WARM, FMA,
     .figures = {{85, 90, 1.1}, {84, 88, 1.05}}},
    {"prefill D=64, n=512", "fused", "square-512-d64", WARM, FMA,
     .figures = {{87, 91, 1.1}, {87, 90, 1.05}}},
    {"stride 4096, D=64, n=512", "fused", "interleaved-512-d64", WARM, NEIGHBOUR,
     .figures = {{-6, -3, 1}, {-6, -3, 1}}, .neighbour = "square-512-d64"},
    {"prefill D=64, n=1024", "fused", "square-1024-d64", WARM, FMA,
     .figures = {{87, 91, 1.1}, {87, 90, 1.05}}},
    {"score deviation 30, D=64", "fused", "square-1024-d64", WARM, EASY,
     .figures = {{-2, 0, 0}, {-2, 0, 0}}, .data = "large30"},
    {"rising rows, D=64", "fused", "square-1024-d64", WARM, EASY,
     .figures = {{-2, 0, 0}, {-2, 0, 0}}, .data = "rising"},
    {"D=40, n=1024", "fused", "square-1024-d40", WARM, NEIGHBOUR,
     .figures = {{-6, 0, 1}, {-6, 0, 1}}, .neighbour = "square-1024-d64"},
    {"D=72, n=1024", "fused", "square-1024-d72", WARM, NEIGHBOUR,
     .figures = {{-6, 0, 1}, {-6, 0, 1}}, .neighbour = "square-1024-d64"},
    {"D=80, n=1024", "fused", "square-1024-d80", WARM, NEIGHBOUR,
     .figures = {{-6, 0, 1}, {-6, 0, 1}}, .neighbour = "square-1024-d64"},
    {"stride 1024, D=64, n=1024", "fused", "interleaved-1024-d64", WARM, NEIGHBOUR,
     .figures = {{-6, -3, 1}, {-6, -3, 1}}, .neighbour = "square-1024-d64"},
    {"causal D=128, n=128", "fused", "causal-128-d128", WARM, FMA,
     .figures = {{73, 77, 1.7}, {76, 80, 1.7}}},
    {"causal D=128, n=512", "fused", "causal-512-d128", WARM, FMA,
     .figures = {{87, 90, 1.4}, {87, 90, 1.4}}},
    {"causal D=128, n=1024", "fused", "causal-1024-d128", WARM, FMA,
     .figures = {{89, 93, 1.25}, {88, 92, 1.25}}},
    {"causal D=64, n=128", "fused", "causal-128-d64", WARM, FMA,
     .figures = {{71, 75, 1.7}, {74, 78, 1.7}}},
    {"causal D=64, n=512", "fused", "causal-512-d64", WARM, FMA,
     .figures = {{85, 88, 1.4}, {85, 88, 1.4}}},
    {"causal D=64, n=1024", "fused", "causal-1024-d64", WARM, FMA,
     .figures = {{87, 91, 1.25}, {86, 90, 1.25}}},
    {"ViT 197 x 197, D=64", "fused", "vit-b16-197", WARM, FMA,
     .figures = {{82, 86, 1.2}, {82, 86, 1.2}}},
    {"ViT 50 x 50, D=64", "fused", "vit-b32-50", WARM, FMA,
     .figures = {{60, 70, 1.2}, {62, 70, 1.2}}},
    {"32 x 1000, D=512", "fused", "wide-32x1000", WARM, FMA,
     .figures = {{90, 94, 1.15}, {87, 92, 1.15}}},
    /* ---- few queries */
    {"1 x 512, D=64", "fused", "rows-1x512-d64", WARM, READ,
     .figures = {{80, 90, 1}, {80, 90, 1}}, .level = L2},
    {"2 x 512, D=64", "fused", "rows-2x512-d64", WARM, READ,
     .figures = {{60, 0, 1}, {60, 0, 1}}, .level = L2},
    {"3 x 512, D=64", "fused", "rows-3x512-d64", WARM, READ,
     .figures = {{60, 0, 1}, {60, 0, 1}}, .level = L2},
    {"4 x 512, D=64", "fused", "rows-4x512-d64", WARM, FMA,
     .figures = {{79, 83, 1}, {74, 78, 1}}},
    {"8 x 512, D=64", "fused", "rows-8x512-d64", WARM, FMA,
     .figures = {{79, 83, 1}, {74, 78, 1}}},
    {"12 x 512, D=64", "fused", "rows-12x512-d64", WARM, FMA,
     .figures = {{79, 83, 1}, {74, 78, 1}}},
    {"16 x 512, D=64", "fused", "rows-16x512-d64", WARM, FMA,
     .figures = {{79, 83, 1}, {74, 78, 1}}},
    {"24 x 512, D=64", "fused", "rows-24x512-d64", WARM, FMA,
     .figures = {{79, 83, 1}, {74, 78, 1}}},
    {"1 x 512, D=128", "fused", "rows-1x512-d128", WARM, READ,
     .figures = {{80, 90, 1}, {80, 90, 1}}, .level = L2},
    {"2 x 512, D=128", "fused", "rows-2x512-d128", WARM, READ,
     .figures = {{60, 0, 1}, {60, 0, 1}}, .level = L2},
    {"3 x 512, D=128", "fused", "rows-3x512-d128", WARM, READ,
     .figures = {{60, 0, 1}, {60, 0, 1}}, .level = L2},
    {"4 x 512, D=128", "fused", "rows-4x512-d128", WARM, FMA,
     .figures = {{84, 90, 1}, {79, 85, 1}}},
    {"8 x 512, D=128", "fused", "rows-8x512-d128", WARM, FMA,
     .figures = {{84, 90, 1}, {79, 85, 1}}},
    {"12 x 512, D=128", "fused", "rows-12x512-d128", WARM, FMA,
     .figures = {{84, 90, 1}, {79, 85, 1}}},
    {"16 x 512, D=128", "fused", "rows-16x512-d128", WARM, FMA,
     .figures = {{84, 90, 1}, {79, 85, 1}}},
    {"24 x 512, D=128", "fused", "rows-24x512-d128", WARM, FMA,
     .figures = {{84, 90, 1}, {79, 85, 1}}},
    {"1 x 4096, D=64", "fused", "rows-1x4096-d64", WARM, READ,
     .figures = {{80, 90, 1}, {80, 90, 1}}, .level = L3},
    {"2 x 4096, D=64", "fused", "rows-2x4096-d64", WARM, READ,
     .figures = {{70, 0, 1}, {70, 0, 1}}, .level = L3},
    {"3 x 4096, D=64", "fused", "rows-3x4096-d64", WARM, READ,
     .figures = {{70, 0, 1}, {70, 0, 1}}, .level = L3},
    {"8 x 4096, D=64", "fused", "rows-8x4096-d64", WARM, FMA,
     .figures = {{72, 82, 1}, {67, 77, 1}}},
    {"16 x 4096, D=64", "fused", "rows-16x4096-d64", WARM, FMA,
     .figures = {{72, 82, 1}, {67, 77, 1}}},
    {"24 x 4096, D=64", "fused", "rows-24x4096-d64", WARM, FMA,
     .figures = {{72, 82, 1}, {67, 77, 1}}},
    {"1 x 4096, D=128", "fused", "rows-1x4096-d128", WARM, READ,
     .figures = {{80, 90, 1}, {80, 90, 1}}, .level = L3},
    {"2 x 4096, D=128", "fused", "rows-2x4096-d128", WARM, READ,
     .figures = {{70, 0, 1}, {70, 0, 1}}, .level = L3},
    {"3 x 4096, D=128", "fused", "rows-3x4096-d128", WARM, READ,
     .figures = {{70, 0, 1}, {70, 0, 1}}, .level = L3},
    {"8 x 4096, D=128", "fused", "rows-8x4096-d128", WARM, FMA,
     .figures = {{76, 86, 1}, {71, 81, 1}}},
    {"16 x 4096, D=128", "fused", "rows-16x4096-d128", WARM, FMA,
     .figures = {{76, 86, 1}, {71, 81, 1}}},
    {"24 x 4096, D=128", "fused", "rows-24x4096-d128", WARM, FMA,
     .figures = {{76, 86, 1}, {71, 81, 1}}},
    {"grid 1 x 49, D=512", "fused", "grid-1x49", WARM, READ,
     .figures = {{80, 90, 1.4}, {80, 90, 1.4}}, .level = L2},
    {"grid 1 x 196, D=512", "fused", "grid-1x196", WARM, READ,
     .figures = {{80, 90, 1.4}, {80, 90, 1.4}}, .level = L2},
    {"grid 1 x 1000, D=512", "fused", "grid-1x1000", WARM, READ,
     .figures = {{80, 90, 1}, {80, 90, 1}}, .level = L3},
    /* ---- decode */
    {"decode MHA D=64, L3", "fused", "decode-h8-2048-d64", WARM, READ,
     .figures = {{85, 90, 1}, {80, 85, 1}}, .level = L3},
    {"decode MHA D=128, L3", "fused", "decode-h8-1024-d128", WARM, READ,
     .figures = {{86, 92, 1}, {81, 87, 1}}, .level = L3},
    {"decode GQA 4:1, L3", "fused", "decode-gqa4-1024", WARM, READ,
     .figures = {{72, 78, 1.8}, {80, 0, 1.8}}, .level = L3},
    {"decode GQA 4:1, 32 MB", "fused", "decode-gqa4-4096", WARM, READ,
     .figures = {{80, 90, 1}, {80, 0, 1}}},
    {"decode MHA D=128, DRAM", "fused", "decode-h8-4096-d128", COLD, READ,
     .figures = {{80, 88, 1}, {75, 83, 1}}},
    {"decode GQA 7:1, DRAM", "fused", "decode-gqa7-4096", COLD, READ,
     .figures = {{74, 85, 1}, {80, 0, 1}}},
    {"decode GQA 8:1, DRAM", "fused", "decode-gqa8-4096", COLD, READ,
     .figures = {{74, 85, 1}, {80, 0, 1}}},
    /* ---- the three pieces */
    {"softmax, 48 rows of 1024", "softmax", "lines-48x1024", WARM, PER_CYCLE,
     .figures = {{1.8, 2.1, 0}, {0.9, 1.05, 0}}},
    {"softmax, 256 rows of 197", "softmax", "lines-256x197", WARM, TIME,
     .figures = {{180, 165, 0}, {360, 330, 0}}},
    {"softmax, 1024 rows of 49", "softmax", "lines-1024x49", WARM, TIME,
     .figures = {{200, 175, 0}, {400, 350, 0}}},
    {"scores alone D=128, n=512", "qk", "square-512-d128", WARM, FMA,
     .figures = {{95, 98, 0}, {94, 0, 0}}},
    {"scores alone D=128, n=1024", "qk", "square-1024-d128", WARM, FMA,
     .figures = {{95, 98, 0}, {94, 0, 0}}},
    {"scores alone D=64, n=512", "qk", "square-512-d64", WARM, FMA,
     .figures = {{95, 98, 0}, {94, 0, 0}}},
    {"scores alone D=64, n=1024", "qk", "square-1024-d64", WARM, FMA,
     .figures = {{95, 98, 0}, {94, 0, 0}}},
    {"AV alone D=128, n=512", "av", "square-512-d128", WARM, FMA,
     .figures = {{93, 97, 0}, {93, 0, 0}}},
    {"AV alone D=128, n=1024", "av", "square-1024-d128", WARM, FMA,
     .figures = {{93, 97, 0}, {93, 0, 0}}},
    {"AV alone D=64, n=512", "av", "square-512-d64", WARM, FMA,
     .figures = {{93, 97, 0}, {93, 0, 0}}},
    {"AV alone D=64, n=1024", "av", "square-1024-d64", WARM, FMA,
     .figures = {{93, 97, 0}, {93, 0, 0}}},
    /* ---- two threads, which come last, and one in the same jobs */
    {"2 threads, 12 heads, D=64", "fused", "square-1024-d64-h12", WARM, SPEEDUP,
     .figures = {{1.87, 1.95, 0}, {1.87, 1.95, 0}}, .threads = 2},
    {"2 threads, 8 heads, D=128", "fused", "square-1024-d128-h8", WARM, SPEEDUP,
     .figures = {{1.87, 1.95, 0}, {1.87, 1.95, 0}}, .threads = 2},
    {"2 threads, 1 head, D=64", "fused", "square-1024-d64-h1", WARM, SPEEDUP,
     .figures = {{1.8, 1.95, 0}, {1.8, 1.95, 0}}, .threads = 2},
    {"2 threads, 1 head, D=128", "fused", "square-1024-d128-h1", WARM, SPEEDUP,
     .figures = {{1.8, 1.95, 0}, {1.8, 1.95, 0}}, .threads = 2},
    {"decode MHA D=64, DRAM", "fused", "decode-h12-4096-d64", COLD, READ,
     .figures = {{84, 92, 1.05}, {79, 87, 1.05}}},
    {"2 threads, MHA D=64, DRAM", "fused", "decode-h12-4096-d64", COLD, READ,
     .figures = {{80, 88, 0}, {80, 88, 0}}, .threads = 2},
    {"decode GQA 4:1, DRAM", "fused", "decode-gqa4-4096", COLD, READ,
     .figures = {{82, 92, 1.8}, {80, 0, 1.8}}},
    {"2 threads, GQA 4:1, DRAM", "fused", "decode-gqa4-4096", COLD, READ,
     .figures = {{80, 88, 0}, {80, 88, 0}}, .threads = 2},
};
/* clang-format on */

const sattn_goal *sattn_goals(size_t *count)
{
    *count = sizeof goals / sizeof goals[0];
    return goals;
}

const char *sattn_goal_isa(int isa)
{
    static const char *const names[SATTN_GOAL_ISAS] = {"avx512", "avx2"};
    return names[isa];
}

const char *sattn_goal_unit(sattn_goal_measure measure)
{
    switch (measure) {
    case SATTN_GOAL_FMA:
    case SATTN_GOAL_READ:
        return "%";
    case SATTN_GOAL_EASY:
    case SATTN_GOAL_NEIGHBOUR:
        return "points";
    case SATTN_GOAL_PER_CYCLE:
        return "elements/cycle";
    case SATTN_GOAL_TIME:
        return "ps/element";
    case SATTN_GOAL_SPEEDUP:
        break;
    }
    return "x";
}

void sattn_goal_print(const sattn_goal_figures *figures, char *text, size_t size)
{
    if (figures->stretch < 0 || figures->stretch > 0)
        snprintf(text, size, "%.4g/%.4g", figures->goal, figures->stretch);
    else
        snprintf(text, size, "%.4g", figures->goal);
}
