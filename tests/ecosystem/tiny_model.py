"""A language model with random weights, small enough to compute by hand.

Run: PYTHONPATH=<llama.cpp>/gguf-py python tiny_model.py \
        <llama.cpp> <model.gguf> <vocabulary.json>

It has the architecture of Qwen 2 (attention of grouped heads with rotated
positions, biases, a gated feed-forward part) and the first 4096 tokens of its
vocabulary, which is complete in itself: a merge makes its token of earlier ones.
The same seed gives the same weights to the file that a server reads and to
`log_probabilities`, which shares no code with the server.
"""

import json
import sys

import numpy as np

SEED = 20
PLAIN = 4096            # bytes and the first merges
SPECIAL = {             # control tokens are 3, those that are text 4
    "<|endoftext|>": 3, "<|im_start|>": 3, "<|im_end|>": 3,
    "<tool_call>": 4, "</tool_call>": 4, "<think>": 4, "</think>": 4,
}
END = PLAIN + list(SPECIAL).index("<|im_end|>")
VOCABULARY = PLAIN + len(SPECIAL)
EMBEDDING, LAYERS, HEADS, KV_HEADS, HIDDEN = 64, 2, 4, 2, 96
HEAD = EMBEDDING // HEADS
EPSILON, ROPE_BASE = 1e-6, 10000.0


def is_broken(token):
    try:
        token.decode()
    except UnicodeDecodeError:
        return True
    return False


def weights(vocabulary):
    random = np.random.default_rng(SEED)

    def normal(scale, *shape):
        return (random.standard_normal(shape) * scale).astype(np.float32)

    found = {
        "token_embd.weight": normal(1, VOCABULARY, EMBEDDING),
        "output_norm.weight": 1 + normal(0.1, EMBEDDING),
        "output.weight": normal(0.3, VOCABULARY, EMBEDDING),
        # A part of a character is hardly ever said: the server keeps it back
        # for the next token, and has no log-probability for it then.
        "output.bias": np.array([-20 * is_broken(token)
                                 for token in vocabulary], np.float32),
    }
    shapes = {
        "attn_q": (EMBEDDING, EMBEDDING),
        "attn_k": (KV_HEADS * HEAD, EMBEDDING),
        "attn_v": (KV_HEADS * HEAD, EMBEDDING),
        "attn_output": (EMBEDDING, EMBEDDING),
        "ffn_gate": (HIDDEN, EMBEDDING),
        "ffn_up": (HIDDEN, EMBEDDING),
        "ffn_down": (EMBEDDING, HIDDEN),
    }
    for layer in range(LAYERS):
        for name, shape in shapes.items():
            found[f"blk.{layer}.{name}.weight"] = normal(0.2, *shape)
            if name in ("attn_q", "attn_k", "attn_v"):
                found[f"blk.{layer}.{name}.bias"] = normal(0.3, shape[0])
        for name in ("attn_norm", "ffn_norm"):
            found[f"blk.{layer}.{name}.weight"] = 1 + normal(0.1, EMBEDDING)
    return found


def norm(x, weight):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * weight


def rotate(x):
    """Rotary positions; the halves of a head are the parts of the pairs."""
    half = HEAD // 2
    angle = np.arange(len(x))[:, None, None] * ROPE_BASE ** (
        -np.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * np.cos(angle) - b * np.sin(angle),
                           a * np.sin(angle) + b * np.cos(angle)], -1)


def attention(x, w):
    size = len(x)
    q, k, v = ((x @ w(f"attn_{n}.weight").T + w(f"attn_{n}.bias"))
               .reshape(size, -1, HEAD) for n in "qkv")
    k, v = (np.repeat(part, HEADS // KV_HEADS, axis=1)
            for part in (rotate(k), v))
    score = np.einsum("ihd,jhd->hij", rotate(q), k) / np.sqrt(HEAD)
    score[:, np.triu(np.ones((size, size), bool), 1)] = -np.inf
    score = np.exp(score - score.max(-1, keepdims=True))
    score /= score.sum(-1, keepdims=True)
    mixed = np.einsum("hij,jhd->ihd", score, v).reshape(size, EMBEDDING)
    return mixed @ w("attn_output.weight").T


def feed_forward(x, w):
    gate = x @ w("ffn_gate.weight").T
    return (gate / (1 + np.exp(-gate)) * (x @ w("ffn_up.weight").T)
            ) @ w("ffn_down.weight").T


def log_probabilities(ids, vocabulary):
    """Of each token of the vocabulary, after each prefix of `ids`."""
    of = {name: array.astype(np.float64)
          for name, array in weights(vocabulary).items()}
    x = of["token_embd.weight"][ids]
    for layer in range(LAYERS):
        def w(name, layer=layer):
            return of[f"blk.{layer}.{name}"]
        x = x + attention(norm(x, w("attn_norm.weight")), w)
        x = x + feed_forward(norm(x, w("ffn_norm.weight")), w)
    logits = norm(x, of["output_norm.weight"]) @ of["output.weight"].T
    logits += of["output.bias"]
    logits -= logits.max(-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def vocabulary(path):
    """The bytes of each token as text; a control token is none."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    byte = {chr(b): b for b in plain} | {
        chr(256 + i): b for i, b in enumerate(rest)}
    with open(path) as file:
        tokens = json.load(file)
    return [bytes(byte[c] for c in token) for token in tokens] + [
        token.encode() if kind == 4 else b""
        for token, kind in SPECIAL.items()]


def write(tree, path, vocabulary_path):
    import gguf

    fields = gguf.GGUFReader(f"{tree}/models/ggml-vocab-qwen2.gguf").fields
    tokens = fields["tokenizer.ggml.tokens"].contents()[:PLAIN]
    merges = fields["tokenizer.ggml.merges"].contents()
    with open(vocabulary_path, "w") as file:
        json.dump(tokens, file)
    w = gguf.GGUFWriter(path, "qwen2")
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("qwen2")
    w.add_token_list([*tokens, *SPECIAL])
    w.add_token_types([1] * PLAIN + [*SPECIAL.values()])
    w.add_token_merges(merges[:PLAIN - 256])
    w.add_eos_token_id(END)
    with open(f"{tree}/models/templates/Qwen-Qwen3-0.6B.jinja") as file:
        w.add_chat_template(file.read())
    w.add_context_length(8192)
    w.add_embedding_length(EMBEDDING)
    w.add_block_count(LAYERS)
    w.add_feed_forward_length(HIDDEN)
    w.add_head_count(HEADS)
    w.add_head_count_kv(KV_HEADS)
    w.add_rope_freq_base(ROPE_BASE)
    w.add_layer_norm_rms_eps(EPSILON)
    for name, array in weights(vocabulary(vocabulary_path)).items():
        w.add_tensor(name, array)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


if __name__ == "__main__":
    write(*sys.argv[1:])
