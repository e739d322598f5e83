"""Write ../llamacpp/: answers of a real llama-server.

Run: PYTHONPATH=<llama.cpp>/gguf-py python llamacpp_wire.py \
        <llama.cpp> <llama-server> <port>

Each script gets a model of its own that can say nothing else: one layer of
zeros, so that the last token alone decides the next one.  The tokenizer (the
Qwen 2 vocabulary of the source tree) and the chat template are real.  What
differs from run to run is then made the same: ids, times, `timings`.
"""

import http.client
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import gguf
import numpy as np

import script as s

OUT = pathlib.Path(__file__).parent.parent / "llamacpp"
TREE, SERVER, PORT = sys.argv[1], sys.argv[2], int(sys.argv[3])
VOCAB = gguf.GGUFReader(f"{TREE}/models/ggml-vocab-qwen2.gguf")
TEMPLATE = pathlib.Path(f"{TREE}/models/templates/Qwen-Qwen3-0.6B.jinja")
END = 151645
NEWLINE = 198           # the prompt's last token


def byte_values():
    """The byte behind each character of a byte-level vocabulary."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    return {chr(b): b for b in plain} | {
        chr(256 + i): b for i, b in enumerate(rest)}


def vocabulary():
    byte = byte_values()
    found = {}
    for number, text in enumerate(
            VOCAB.fields["tokenizer.ggml.tokens"].contents()):
        if number < 151643 and all(c in byte for c in text):
            found[bytes(byte[c] for c in text)] = number
    return found


TOKENS = vocabulary()


def segment(text, used):
    """`text` as tokens none of which occurs twice; the longest first."""
    if not text:
        return []
    for size in range(min(len(text), 12), 0, -1):
        number = TOKENS.get(text[:size])
        if number is None or number in used:
            continue
        rest = segment(text[size:], used | {number})
        if rest is not None:
            return [number, *rest]
    return None


def write_model(path, text):
    chain = [NEWLINE, *segment(text.encode(), {NEWLINE}), END]
    n_embd = 64
    assert len(chain) <= n_embd
    w = gguf.GGUFWriter(path, "qwen2")
    for name, field in VOCAB.fields.items():
        if name.startswith("tokenizer.ggml."):
            kind = field.types[0]
            if kind == gguf.GGUFValueType.ARRAY:
                w.add_array(name, field.contents())
            else:
                w.add_key_value(name, field.contents(), kind)
    w.add_chat_template(TEMPLATE.read_text())
    w.add_context_length(4096)
    w.add_embedding_length(n_embd)
    w.add_block_count(1)
    w.add_feed_forward_length(n_embd)
    w.add_head_count(2)
    w.add_head_count_kv(2)
    w.add_layer_norm_rms_eps(1e-6)
    n_vocab = len(VOCAB.fields["tokenizer.ggml.tokens"].data)
    embd = np.zeros((n_vocab, n_embd), np.float16)
    embd[:, -1] = 1
    out = np.random.default_rng(7).standard_normal((n_vocab, n_embd)) * 0.5
    for place, (token, following) in enumerate(zip(chain, chain[1:])):
        embd[token] = 0
        embd[token, place] = 1
        out[following, place] = 4
    w.add_tensor("token_embd.weight", embd)
    w.add_tensor("output.weight", out.astype(np.float16))
    w.add_tensor("output_norm.weight", np.ones(n_embd, np.float32))
    zero = np.zeros((n_embd, n_embd), np.float16)
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate",
                 "ffn_up", "ffn_down"):
        w.add_tensor(f"blk.0.{name}.weight", zero)
    for name in ("attn_q", "attn_k", "attn_v"):
        w.add_tensor(f"blk.0.{name}.bias", np.zeros(n_embd, np.float32))
    for name in ("attn_norm", "ffn_norm"):
        w.add_tensor(f"blk.0.{name}.weight", np.ones(n_embd, np.float32))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


class Server:
    def __init__(self, folder, text, options):
        path = f"{folder}/model.gguf"
        write_model(path, text)
        self.process = subprocess.Popen(
            [SERVER, "-m", path, "--host", "127.0.0.1", "--port", str(PORT),
             "--jinja", "-np", "2", "--alias", "qwen3-8b", "--no-warmup",
             "-t", "1", "--temp", "0", "--seed", "1", *options],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        for _ in range(200):
            try:
                if self.ask("GET", "/health")[0] == 200:
                    return self
            except OSError:
                pass
            time.sleep(0.1)
        raise TimeoutError

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def ask(self, method, path, body=None):
        http_ = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
        http_.request(method, path, json.dumps(body) if body else None)
        answer = http_.getresponse()
        return answer.status, answer.read()


TIMES = {"prompt_ms": "11.302", "prompt_per_token_ms": "1.2557777777777777",
         "prompt_per_second": "796.3192355335339", "predicted_ms": "61.287",
         "predicted_per_token_ms": "12.2574",
         "predicted_per_second": "81.58337004584985"}


def same_every_time(data):
    calls = []

    def call_id(match):
        if match[1] not in calls:
            calls.append(match[1])
        return '"id":"%032d"' % (calls.index(match[1]) + 1)

    text = data.decode()
    text = re.sub(r'"id":"chatcmpl-\w+"',
                  '"id":"chatcmpl-8e1f5c3a9d2b4f6089b7a1c2d3e4f506"', text)
    text = re.sub(r'"created":\d+', f'"created":{s.CREATED}', text)
    text = re.sub(r'"id":"([A-Za-z0-9]{32})"', call_id, text)
    for key, value in TIMES.items():
        text = re.sub(rf'"{key}":[^,}}]+', f'"{key}":{value}', text)
    return text.encode()


def order(data):
    """Which choice each event is of: choices run side by side."""
    return re.findall(rb'"finish_reason":[^,]+,"index":(\d)', data)


def pair(server, name, body, ours):
    kind = "sse" if body.get("stream") else "json"
    body = {"messages": s.MESSAGES, "cache_prompt": False, **body}
    asked = plain = None
    while asked is None or order(asked) != order(plain):
        asked, plain = (
            same_every_time(server.ask("POST", "/v1/chat/completions", b)[1])
            for b in ({**body, **ours}, body))
    (OUT / f"{name}.asked.{kind}").write_bytes(asked)
    (OUT / f"{name}.plain.{kind}").write_bytes(plain)


STREAM = {"stream": True}
USAGE = {**STREAM, **s.USAGE}
TOOLS = {"tools": s.TOOL_SPECS, "max_tokens": 64}
PROBS = {"logprobs": True, "top_logprobs": 5}
FEW = {"logprobs": True, "top_logprobs": 1}
TRICKY = '"logprobs":null\\\0\u2028\U0001f600'
TOOL = ('<tool_call>\n{"name": "read", "arguments": {"path":"a"}}\n'
        "</tool_call>")

JOBS = [
    ("Hello, world!", [
        ("text", USAGE, PROBS),
        ("usage_ours", STREAM, {**FEW, **s.USAGE}),
        ("stopped", {**STREAM, "stop": ["wor"]}, FEW),
        ("two_usage_ours", {**STREAM, "n": 2, "max_tokens": 1},
         {**FEW, **s.USAGE}),
        ("text", {}, PROBS),
        ("two", {"n": 2, "max_tokens": 1}, FEW),
    ]),
    (TRICKY, [("tricky", STREAM, FEW), ("tricky", {}, FEW)]),
    ("<think>\nEasy.\n</think>\n\nYes", [
        ("think", USAGE, FEW)]),
    (TOOL, [("tools_n_probs", {**USAGE, **TOOLS}, {"n_probs": 1}),
            ("tools", TOOLS, FEW)]),
]

# two choices share 512 cells, which are full soon after the prompt
FULL = ["-c", "512", "--kv-unified"]
BROKEN = [("Hello, world!", [("broken", {
    **USAGE, "n": 2, "messages": [
        {"role": "user", "content": "Hi" + " a" * 499}]}, FEW)])]


def main():
    for options, jobs in ((["-c", "4096"], JOBS), (FULL, BROKEN)):
        for text, pairs in jobs:
            with tempfile.TemporaryDirectory() as folder, \
                 Server(folder, text, options) as server:
                for name, body, ours in pairs:
                    pair(server, name, body, ours)


main()
