/* SPDX-License-Identifier: MIT
 *
 * shapes.c: the table of named shapes. In the sources, "benchdnn" is oneDNN's
 * tests/benchdnn/inputs/graph/complex_fusion and inputs/sdpa, "test_sdpa" its
 * tests/gtests/internals/test_sdpa.cpp, at commit 3f27bec2; "config" a model's published
 * configuration. */
#include "bench/shapes.h"

#include <stdio.h>
#include <string.h>

#define QUICK  SATTN_PRESET_QUICK
#define MODELS SATTN_PRESET_MODELS
#define DECODE SATTN_PRESET_DECODE
#define REAL   SATTN_PRESET_REAL
#define DATA   SATTN_PRESET_DATA
#define STEPS  SATTN_PRESET_STEPS
#define LINES  SATTN_PRESET_LINES
#define ARRAYS SATTN_PRESET_ARRAYS

#define SIZES(b, hq, hkv, tq, tk, depth, depth_v)                                                  \
    .batch = b, .n_q_heads = hq, .n_kv_heads = hkv, .n_q = tq, .n_k = tk, .d = depth,              \
    .d_v = depth_v, .real_layer = -1
/* One head whose scores are so many lines of so many keys. */
#define LINES_OF(lines, keys) SIZES(1, 1, 1, lines, keys, 64, 64)
#define NUMBERS(n)            SIZES(1, 1, 1, 1, n, 1, 1), .is_array = true
/* Sizes of the tree's own files; those of other files are taken from them. */
#define REAL_LAYER(number)                                                                         \
    .batch = 5, .n_q_heads = 12, .n_kv_heads = 12, .n_q = 247, .n_k = 247, .d = 32, .d_v = 32,     \
    .real_layer = number
#define KEY_MASK(k) .mask = {SATTN_CONTENT_PADDING, SATTN_MASK_##k, .per_batch = true}
#define ROW_MASK(k)                                                                                \
    .mask = {SATTN_CONTENT_PADDING, SATTN_MASK_##k, .per_batch = true, .per_query = true}
#define CAUSAL_MASK .mask = {SATTN_CONTENT_CAUSAL, SATTN_MASK_BOOL, .per_query = true}
#define HEAD_CAUSAL_MASK                                                                           \
    .mask = {SATTN_CONTENT_CAUSAL, SATTN_MASK_BOOL, .per_head = true, .per_query = true}
#define BIAS_MASK                                                                                  \
    .mask = {SATTN_CONTENT_BIAS, SATTN_MASK_ADDITIVE, .per_head = true, .per_query = true}

/* clang-format off */
static const sattn_shape shapes[] = {
    /* ---- encoders */
    {"bert-large-384", "BERT-large", "benchdnn MHA-bert_large-inf-fp32-bs1",
     QUICK | MODELS, SIZES(1, 16, 16, 384, 384, 64, 64), KEY_MASK(ADDITIVE)},
    {"distilbert-128", "DistilBERT", "benchdnn MHA-distill_bert-inf-fp32-bs1",
     MODELS, SIZES(1, 12, 12, 128, 128, 64, 64), KEY_MASK(BOOL)},
    {"bert-base-512", "BERT-base class", "benchdnn torchbench-sdpa-fwd-w-mask",
     MODELS, SIZES(2, 12, 12, 512, 512, 64, 64), ROW_MASK(ADDITIVE), .source_batch = 8},
    {"small-head-128", "encoder with small heads", "benchdnn hf-sdpa-fwd-w-mask",
     MODELS, SIZES(8, 16, 16, 128, 128, 32, 32), ROW_MASK(ADDITIVE), .source_batch = 256},
    {"t5-base-512", "T5 v1.1 base, encoder", "config; scale 1 is the model's",
     MODELS, SIZES(1, 12, 12, 512, 512, 64, 64), BIAS_MASK, .scale = 1},
    {"jax-mha-384", "JAX MHA", "benchdnn JAX-MHA-inf-fp32",
     MODELS, SIZES(2, 16, 16, 384, 384, 64, 64), KEY_MASK(ADDITIVE), .source_batch = 32},
    {"jax-mqa-384", "JAX MQA", "benchdnn JAX-MQA-inf-fp32",
     MODELS, SIZES(1, 16, 1, 384, 384, 64, 64), BIAS_MASK, .source_batch = 32},
    {"gqa-384", "plain GQA", "benchdnn GQA-f32-v2",
     MODELS, SIZES(2, 16, 2, 384, 384, 64, 64), KEY_MASK(ADDITIVE), .source_batch = 32},
    {"dv32-384", "values narrower than keys", "benchdnn sdpa/shapes_asymmetric_heads",
     MODELS, SIZES(1, 16, 16, 384, 384, 64, 32)},

    /* ---- decoders, prompt */
    {"gpt-33", "GPT, one cached key", "benchdnn MHA-GPT-inf-fp32-bs1",
     MODELS, SIZES(1, 16, 16, 32, 33, 256, 256), CAUSAL_MASK},
    {"gpt-small-64", "small GPT", "benchdnn torchbench-sdpa-fwd-implicit-mask",
     MODELS, SIZES(1, 12, 12, 64, 64, 64, 64), .causal = true},
    {"gpt2-small-1024", "GPT-2 small, full context", "nanoGPT model.py",
     QUICK | MODELS, SIZES(1, 12, 12, 1024, 1024, 64, 64), .causal = true},
    {"gpt2-medium-1024", "GPT-2 medium, full context", "nanoGPT model.py",
     MODELS, SIZES(1, 16, 16, 1024, 1024, 64, 64), .causal = true},
    {"gpt2-xl-1024", "GPT-2 XL, full context, 25 heads", "nanoGPT model.py, D derived",
     MODELS, SIZES(1, 25, 25, 1024, 1024, 64, 64), .causal = true},
    {"llama2-7b-512", "Llama-2-7B prompt", "benchdnn sdpa/shapes_transformer",
     MODELS, SIZES(1, 32, 32, 512, 512, 128, 128), .causal = true},
    {"llama3-8b-384", "Llama-3-8B prompt", "benchdnn sdpa; llama-models sku_list.py",
     QUICK | MODELS, SIZES(1, 32, 8, 384, 384, 128, 128), .causal = true},
    {"qwen2-7b-384", "Qwen2-7B prompt, group of 7", "test_sdpa",
     MODELS, SIZES(1, 28, 4, 384, 384, 128, 128), .causal = true},
    {"phi3-mini-384", "Phi-3-mini prompt", "test_sdpa",
     MODELS, SIZES(1, 32, 32, 384, 384, 96, 96), .causal = true},
    {"minicpm-1b-384", "MiniCPM-1B prompt, group of 3", "test_sdpa",
     MODELS, SIZES(1, 24, 8, 384, 384, 64, 64), .causal = true},
    {"codegemma-256", "CodeGemma prompt, causal as a mask", "benchdnn codegemma-bf16-f32",
     MODELS, SIZES(1, 16, 16, 256, 256, 256, 256), HEAD_CAUSAL_MASK},
    {"gemma-2b-512", "Gemma-2B prompt (MQA), length chosen", "gemma_pytorch config.py",
     MODELS, SIZES(1, 8, 1, 512, 512, 256, 256), .causal = true},
    {"gemma2-9b-257", "Gemma-2-9B prompt", "benchdnn gemma2-bf16-f32",
     MODELS, SIZES(1, 16, 8, 257, 257, 256, 256), HEAD_CAUSAL_MASK, .softcap = 50},
    {"gemma2-27b-512", "Gemma-2-27B prompt, scale 1/12, length chosen", "gemma_pytorch config.py",
     MODELS, SIZES(1, 32, 16, 512, 512, 128, 128), .causal = true, .scale = 1.0 / 12,
     .softcap = 50},
    {"gpt-oss-120b-512", "gpt-oss-120b, layers without window, length chosen", "gpt-oss model.py",
     MODELS, SIZES(1, 64, 8, 512, 512, 64, 64), .causal = true, .has_sinks = true},
    {"gpt-oss-120b-window-512", "gpt-oss-120b, layers with window, length chosen",
     "gpt-oss model.py",
     MODELS, SIZES(1, 64, 8, 512, 512, 64, 64), .causal = true, .window = 128, .has_sinks = true},
    {"bloom-7b1-512", "BLOOM-7B1 prompt, length chosen", "config, D derived",
     MODELS, SIZES(1, 32, 32, 512, 512, 128, 128), .causal = true, .has_alibi = true},
    {"hf-gqa-1000", "GQA prompt, 1000 tokens", "benchdnn hf-sdpa-fwd-implicit-mask",
     MODELS, SIZES(1, 16, 8, 1000, 1000, 128, 128), .causal = true},
    {"causal-384x128", "bottom right, the first 256 rows see nothing", "benchdnn harness_mha_all",
     MODELS, SIZES(1, 16, 16, 384, 128, 64, 64), .causal = true},
    {"single-head-2048", "one head, long", "benchdnn sdpa-training-fwd-no-mask; 4096 tokens there",
     MODELS, SIZES(1, 1, 1, 2048, 2048, 128, 128), .source_batch = 2},
    {"wide-heads-512", "heads of 512 features", "benchdnn harness_mha_all",
     MODELS, SIZES(1, 8, 8, 512, 512, 512, 512), .source_heads = 16},

    /* ---- speech */
    {"whisper-tiny-1500", "Whisper tiny, encoder", "benchdnn torchbench-sdpa-fwd",
     MODELS, SIZES(1, 6, 6, 1500, 1500, 64, 64), .source_batch = 8},
    {"whisper-medium-1500", "Whisper medium, encoder", "config, D derived",
     MODELS, SIZES(1, 4, 4, 1500, 1500, 64, 64), .source_heads = 16},
    {"whisper-medium-self-448", "Whisper medium, decoder self", "config",
     MODELS, SIZES(1, 16, 16, 448, 448, 64, 64), .causal = true},
    {"whisper-medium-cross-448", "Whisper medium, decoder cross", "config",
     MODELS, SIZES(1, 16, 16, 448, 1500, 64, 64)},

    /* ---- vision */
    {"vit-b16-197", "ViT-B/16, 224 px", "benchdnn timms-sdpa-fwd-no-mask",
     QUICK | MODELS | STEPS, SIZES(2, 12, 12, 197, 197, 64, 64), .source_batch = 128},
    {"vit-l16-197", "ViT-L/16, 224 px", "vision_transformer configs, derived",
     MODELS, SIZES(1, 16, 16, 197, 197, 64, 64)},
    {"vit-h14-257", "ViT-H/14, 224 px", "vision_transformer configs, derived",
     MODELS, SIZES(1, 16, 16, 257, 257, 80, 80)},
    {"vit-b32-50", "ViT-B/32, 224 px", "vision_transformer configs, derived",
     MODELS | STEPS, SIZES(1, 12, 12, 50, 50, 64, 64)},
    {"swin-t-49", "Swin-T, first stage, windows of 7x7", "Swin-Transformer configs, derived",
     MODELS | STEPS, SIZES(16, 3, 3, 49, 49, 32, 32), BIAS_MASK, .source_batch = 64},
    {"qwen3-vl-5776", "Qwen3-VL-8B, vision tower", "llama.cpp test-backend-ops.cpp",
     MODELS, SIZES(1, 1, 1, 5776, 5776, 72, 72), .source_heads = 16},
    {"sd-self-4096", "Stable Diffusion v1, self, 64x64", "v1-inference.yaml, derived",
     MODELS, SIZES(1, 2, 2, 4096, 4096, 40, 40), .source_batch = 2, .source_heads = 8},
    {"sd-self-1024", "Stable Diffusion v1, self, 32x32", "v1-inference.yaml, derived",
     MODELS, SIZES(1, 8, 8, 1024, 1024, 80, 80), .source_batch = 2},
    {"sd-self-256", "Stable Diffusion v1, self, 16x16", "v1-inference.yaml, derived",
     MODELS, SIZES(2, 8, 8, 256, 256, 160, 160)},
    {"sd-mid-64", "Stable Diffusion v1, middle block, 8x8", "v1-inference.yaml, derived",
     MODELS, SIZES(2, 8, 8, 64, 64, 160, 160)},
    {"sd-cross-77", "Stable Diffusion v1, cross, 32x32",
     "benchdnn MHA-stable_diffusion-inf-fp32-bs1",
     MODELS, SIZES(2, 8, 8, 1024, 77, 80, 80)},

    /* ---- decode and few queries */
    {"llama2-7b-decode-513", "Llama-2-7B decode", "benchdnn sdpa; test_sdpa",
     QUICK | MODELS | DECODE, SIZES(1, 32, 32, 1, 513, 128, 128)},
    {"llama3-8b-decode-2049", "Llama-3-8B decode", "test_sdpa",
     QUICK | MODELS | DECODE | DATA | STEPS, SIZES(1, 32, 8, 1, 2049, 128, 128)},
    {"llama3.1-70b-decode-2049", "Llama-3.1-70B decode, length chosen",
     "llama-models sku_list.py, D derived",
     MODELS | DECODE, SIZES(1, 64, 8, 1, 2049, 128, 128)},
    {"llama3.1-405b-decode-2049", "Llama-3.1-405B decode, length chosen",
     "llama-models sku_list.py, D derived",
     MODELS | DECODE, SIZES(1, 128, 8, 1, 2049, 128, 128)},
    {"qwen2-7b-decode-385", "Qwen2-7B decode, group of 7", "test_sdpa",
     MODELS | DECODE, SIZES(1, 28, 4, 1, 385, 128, 128)},
    {"phi3-mini-decode-385", "Phi-3-mini decode", "test_sdpa",
     MODELS | DECODE, SIZES(1, 32, 32, 1, 385, 96, 96)},
    {"minicpm-1b-decode-385", "MiniCPM-1B decode, group of 3", "test_sdpa",
     MODELS | DECODE, SIZES(1, 24, 8, 1, 385, 64, 64)},
    {"codegemma-decode-257", "CodeGemma decode", "benchdnn harness_mha_all",
     MODELS | DECODE, SIZES(1, 16, 16, 1, 257, 256, 256), HEAD_CAUSAL_MASK},
    {"gemma2-9b-decode-256", "Gemma-2-9B decode", "benchdnn gemma2-bf16-f32",
     MODELS | DECODE, SIZES(1, 16, 8, 1, 256, 256, 256), .softcap = 50},
    {"gpt-oss-decode-7680", "gpt-oss-like, long decode", "llama.cpp test-backend-ops.cpp",
     MODELS | DECODE, SIZES(1, 64, 8, 1, 7680, 64, 64), .has_sinks = true},
    {"gpt-oss-window-decode-256", "gpt-oss-120b, layers with window, a cache of twice the window",
     "gpt-oss model.py",
     MODELS | DECODE, SIZES(1, 64, 8, 1, 256, 64, 64), .window = 128, .has_sinks = true},
    {"mpt-7b-decode-2048", "MPT-7B decode, full context", "config, D derived",
     MODELS | DECODE, SIZES(1, 32, 32, 1, 2048, 128, 128), .has_alibi = true},
    {"whisper-medium-cross-1", "Whisper medium, decoder cross, one token", "config",
     MODELS | DECODE, SIZES(1, 16, 16, 1, 1500, 64, 64)},
    {"timm-class-577", "timm, class attention", "benchdnn timms-sdpa-bwd-no-mask",
     MODELS | DECODE, SIZES(4, 16, 16, 1, 577, 48, 48)},
    {"wide-heads-decode-2049", "heads of 512 features", "benchdnn harness_mha_all",
     MODELS | DECODE, SIZES(1, 16, 16, 1, 2049, 512, 512)},
    {"mla-deepseek-1", "DeepSeek MLA, absorbed", "llama.cpp test-backend-ops.cpp",
     MODELS | DECODE, SIZES(1, 20, 1, 1, 512, 576, 512)},
    {"mla-deepseek-32", "DeepSeek MLA, absorbed, 32 queries", "llama.cpp test-backend-ops.cpp",
     MODELS, SIZES(1, 4, 1, 32, 512, 576, 512), CAUSAL_MASK},
    {"mla-mistral4-3", "Mistral 4 MLA, 3 queries", "llama.cpp test-backend-ops.cpp",
     MODELS | DECODE, SIZES(1, 32, 1, 3, 512, 320, 256), CAUSAL_MASK},
    {"d192-dv128-3", "D 192, Dv 128, 3 queries", "llama.cpp test-backend-ops.cpp",
     MODELS | DECODE, SIZES(1, 32, 4, 3, 512, 192, 128), CAUSAL_MASK},
    {"one-key", "the smallest possible call", "benchdnn hf-sdpa-fwd-no-mask",
     MODELS | DECODE, SIZES(1, 6, 6, 1, 1, 64, 64)},

    /* ---- no mask and no limit: how much of the FMA peak prefill reaches */
    {"square-128-d64", "plain square", "chosen",
     STEPS, SIZES(1, 8, 8, 128, 128, 64, 64)},
    {"square-128-d128", "plain square", "chosen",
     STEPS, SIZES(1, 4, 4, 128, 128, 128, 128)},
    {"square-512-d64", "plain square", "chosen",
     STEPS | DATA, SIZES(1, 2, 2, 512, 512, 64, 64)},
    {"square-512-d128", "plain square", "chosen",
     STEPS, SIZES(1, 2, 2, 512, 512, 128, 128)},
    {"square-1024-d128", "plain square", "chosen",
     QUICK | STEPS, SIZES(1, 2, 2, 1024, 1024, 128, 128)},
    {"square-1024-d64", "plain square", "chosen",
     QUICK | STEPS, SIZES(1, 4, 4, 1024, 1024, 64, 64)},
    {"wide-32x1000", "few queries, many keys, wide heads", "chosen",
     STEPS, SIZES(1, 1, 1, 32, 1000, 512, 512)},

    /* ---- lines of scores: what softmax meets from the first cache to memory */
    {"lines-4x1024", "in the first-level cache", "chosen",
     LINES, LINES_OF(4, 1024)},
    {"lines-64x49", "short, in the first-level cache", "chosen",
     LINES, LINES_OF(64, 49)},
    {"lines-24x197", "in the first-level cache", "chosen",
     LINES, LINES_OF(24, 197)},
    {"lines-16x4096", "in the second-level cache", "chosen",
     LINES, LINES_OF(16, 4096)},
    {"lines-8x65536", "each longer than the first caches", "chosen",
     LINES,
     LINES_OF(8, 65536)},
    {"lines-128x65536", "in memory", "chosen",
     LINES, LINES_OF(128, 65536)},

    /* ---- arrays */
    {"array-64", "so short that the call counts", "chosen",
     ARRAYS, NUMBERS(64)},
    {"array-1000", "first-level cache, with a tail", "chosen",
     ARRAYS, NUMBERS(1000)},
    {"array-4096", "first-level cache", "chosen",
     ARRAYS, NUMBERS(4096)},
    {"array-65536", "second-level cache", "chosen",
     ARRAYS, NUMBERS(65536)},
    {"array-4m", "memory", "chosen",
     ARRAYS, NUMBERS(4194304)},

    /* ---- captured tensors, five paragraphs padded to the longest */
    {"minilm-layer1", "all-MiniLM-L6-v2, layer 1", "tests/data/minilm",
     QUICK | REAL, REAL_LAYER(1)},
    {"minilm-layer3", "all-MiniLM-L6-v2, layer 3", "tests/data/minilm",
     REAL, REAL_LAYER(3)},
    {"minilm-layer5", "all-MiniLM-L6-v2, layer 5", "tests/data/minilm",
     QUICK | REAL, REAL_LAYER(5)},
};
/* clang-format on */

const sattn_shape *sattn_shapes(size_t *count)
{
    *count = sizeof shapes / sizeof shapes[0];
    return shapes;
}

const sattn_shape *sattn_shape_by_name(const char *name)
{
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; ++s)
        if (strcmp(shapes[s].name, name) == 0)
            return &shapes[s];
    return NULL;
}

unsigned sattn_preset_by_name(const char *name)
{
    static const struct {
        const char *name;
        sattn_preset preset;
    } presets[] = {{"quick", QUICK}, {"models", MODELS}, {"decode", DECODE},
                   {"real", REAL},   {"data", DATA},     {"full", SATTN_PRESET_FULL}};
    for (size_t p = 0; p < sizeof presets / sizeof presets[0]; ++p)
        if (strcmp(presets[p].name, name) == 0)
            return presets[p].preset;
    return 0;
}

const char *sattn_preset_names(void)
{
    return "quick, models, decode, real, data, full";
}

void sattn_shape_describe(const sattn_shape *shape, char *text, size_t size)
{
    if (shape->is_array) {
        snprintf(text, size, "n=%lld", (long long)shape->n_k);
        return;
    }
    char mask[48] = "", window[32] = "", softcap[32] = "";
    if (shape->mask.kind != SATTN_MASK_NONE)
        snprintf(mask, sizeof mask, " %s mask%s",
                 shape->mask.kind == SATTN_MASK_BOOL ? "bool" : "additive",
                 shape->mask.content == SATTN_CONTENT_CAUSAL ? " (causal)" : "");
    if (shape->window > 0)
        snprintf(window, sizeof window, " window=%lld", (long long)shape->window);
    if (shape->softcap > 0)
        snprintf(softcap, sizeof softcap, " softcap=%g", shape->softcap);
    char heads[48];
    if (shape->n_q_heads == shape->n_kv_heads)
        snprintf(heads, sizeof heads, "H=%lld", (long long)shape->n_q_heads);
    else
        snprintf(heads, sizeof heads, "Hq=%lld Hkv=%lld", (long long)shape->n_q_heads,
                 (long long)shape->n_kv_heads);
    char depth[48];
    if (shape->d == shape->d_v)
        snprintf(depth, sizeof depth, "D=%lld", (long long)shape->d);
    else
        snprintf(depth, sizeof depth, "D=%lld Dv=%lld", (long long)shape->d, (long long)shape->d_v);
    snprintf(text, size, "B=%lld %s Tq=%lld Tk=%lld %s%s%s%s%s%s%s%s", (long long)shape->batch,
             heads, (long long)shape->n_q, (long long)shape->n_k, depth,
             shape->causal ? " causal" : "", window, mask, softcap,
             shape->has_alibi ? " ALiBi" : "", shape->has_sinks ? " sinks" : "",
             shape->real_layer >= 0 ? " padded" : "");
}
