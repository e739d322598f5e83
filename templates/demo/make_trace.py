#!/usr/bin/env python3
"""Writes scripted.jsonl: the demo's answers, made up by hand.

There is no model behind them.  The texts below are what the "model" says; the
tokens are cut by a regular expression, ids and log-probabilities come from a
hash.  Run it again after a change: python3 make_trace.py > scripted.jsonl
"""
import hashlib
import json
import re

MODEL = "scripted-demo"
WORKDIR = "/home/user/workdir"

FIZZBUZZ = """\
def fizzbuzz(n):
    if n % 15 == 0:
        return "FizzBuzz"
    if n % 3 == 0:
        return "Fizz"
    if n % 5 == 0:
        return "Buzz"
    return str(n)


if __name__ == "__main__":
    for n in range(1, 101):
        print(fizzbuzz(n))
"""

# What the model says, turn by turn: a text and a tool call, or a last text.
SCRIPT = [
    ("I'll write the program first.",
     ("write", {"filePath": f"{WORKDIR}/fizzbuzz.py", "content": FIZZBUZZ})),
    ("Now I run it and look at the first fifteen lines.",
     ("bash", {"command": "python3 fizzbuzz.py | head -n 15",
               "description": "Run fizzbuzz"})),
    ("The output is right: numbers, Fizz, Buzz, and FizzBuzz at 15. "
     "fizzbuzz.py is done.", None),
]

TOOL_RESULT_TOKENS = 24


def number(text, position, modulus):
    digest = hashlib.sha256(f"{position} {text}".encode()).digest()
    return int.from_bytes(digest[:6], "big") % modulus


def tokenize(text):
    return re.findall(r"<\|?/?\w+\|?>|\n+| ?\w+| ?[^\w\s]|\s+", text)


def token_id(token):
    return 100 + number(token, "id", 150000)


def logprob(token, position):
    """Mostly sure, now and then not: what a model's answers look like."""
    share = number(token, position, 10 ** 6) / 10 ** 6
    value = -0.02 * share if share < 0.8 else -3.2 * (share - 0.8) / 0.2
    return round(value - 1e-6, 6)


def generated_text(text, call):
    if call is None:
        return text + "<|im_end|>"
    name, arguments = call
    body = json.dumps({"name": name, "arguments": arguments})
    return f"{text}\n<tool_call>\n{body}\n</tool_call><|im_end|>"


def entry(token, position):
    value = logprob(token, position)
    other = {"token": " the", "logprob": round(value - 2.5, 6),
             "bytes": list(b" the")}
    return {"token": token, "logprob": value,
            "bytes": list(token.encode()),
            "top_logprobs": [{"token": token, "logprob": value,
                              "bytes": list(token.encode())}, other]}


def message(turn, text, call):
    result = {"role": "assistant", "content": text}
    if call is not None:
        name, arguments = call
        result["tool_calls"] = [{
            "id": f"call_scripted_{turn}", "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)}}]
    return result


def record(turn, text, call, prompt_ids):
    tokens = tokenize(generated_text(text, call))
    entries = [entry(t, i) for i, t in enumerate(tokens)]
    ids = [token_id(t) for t in tokens]
    finish = "tool_calls" if call else "stop"
    usage = {"prompt_tokens": len(prompt_ids),
             "completion_tokens": len(tokens),
             "total_tokens": len(prompt_ids) + len(tokens)}
    return ids, {
        "schema": "octap.turn/1", "turn": turn, "kind": "agent",
        "rollout_id": None, "session_id": None, "parent_session_id": None,
        "request": {"model": MODEL, "messages": [
            {"role": "user", "content": "(scripted by hand, no request)"}]},
        "response": {
            "id": f"chatcmpl-scripted-{turn}", "object": "chat.completion",
            "created": 1767225600 + turn, "model": MODEL,
            "choices": [{"index": 0, "message": message(turn, text, call),
                         "finish_reason": finish}],
            "usage": usage},
        "finish_reason": finish, "logprobs": entries,
        "completion_tokens": tokens, "completion_token_ids": ids,
        "per_token_logps": [e["logprob"] for e in entries],
        "prompt_token_ids": prompt_ids,
        "chunk_tokens": [1] * len(tokens),
        "chunk_ms": [20 * (i + 1) for i in range(len(tokens))],
        "token_status": "exact", "usage": usage, "sampling": None,
        "upstream": {"status": 200, "dialect": "vllm", "model": MODEL,
                     "system_fingerprint": None, "attempts": 1,
                     "degraded": []},
        "timestamp": 1767225600.0 + turn, "latency_s": 0.02 * len(tokens),
        "ttft_s": 0.02, "complete": True, "delivered": True,
        "abort_reason": None, "side_effects": None}


def main():
    prompt_ids = [token_id(t) for t in
                  tokenize("<|im_start|>system\nYou are a coding agent."
                           "<|im_end|>\n<|im_start|>user\nWrite fizzbuzz."
                           "<|im_end|>\n<|im_start|>assistant\n")]
    for turn, (text, call) in enumerate(SCRIPT, 1):
        ids, line = record(turn, text, call, prompt_ids)
        print(json.dumps(line, separators=(",", ":")))
        result = [token_id(f"result {turn} {i}")
                  for i in range(TOOL_RESULT_TOKENS)]
        prompt_ids = prompt_ids + ids + result


main()
