"""Write ../openai/: answers in the shape of published OpenAI recordings.

Run: python openai_wire.py

Nothing here is OpenAI's code (there is none to run): the shapes were read off
published recordings and documentation, see ../openai/README.md; the values
are made up.
"""

import json
import pathlib
import re

import script as s

OUT = pathlib.Path(__file__).parent.parent / "openai"
HEAD = {"id": "chatcmpl-D0aB1cD2eF3gH4iJ5kL6mN7oP8qR9", "created": s.CREATED,
        "model": "gpt-4.1-nano-2025-04-14"}
USAGE = {"prompt_tokens": 9, "completion_tokens": 6, "total_tokens": 15,
         "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
         "completion_tokens_details": {
             "reasoning_tokens": 0, "audio_tokens": 0,
             "accepted_prediction_tokens": 0,
             "rejected_prediction_tokens": 0}}
PAD = "k3Qz9LmXw7Tb2Rv"


def dumps(value, **how):
    text = json.dumps(value, ensure_ascii=False, **how)
    return re.sub(r"e-0(\d)", r"e-\1", text)


def entry(token, k):
    def one(token, value):
        return {"token": token, "logprob": float(f"{value:.8g}"),
                "bytes": list(s.as_bytes(token))}
    tops = [one(t, p) for t, p in s.top(token, k)
            if isinstance(t, str) and p > -99]
    return {**one(token, s.logprob(token)), "top_logprobs": tops}


def logprobs(tokens, k):
    return {"content": [entry(t, k) for t in tokens], "refusal": None}


def event(number, choices, usage, asks_usage):
    chunk = {"id": HEAD["id"], "object": "chat.completion.chunk",
             "created": HEAD["created"], "model": HEAD["model"],
             "service_tier": "default", "system_fingerprint": "fp_1a97b5aa6c",
             "choices": choices}
    if asks_usage:
        chunk["usage"] = usage
    chunk["obfuscation"] = PAD[: 1 + number * 7 % len(PAD)]
    return f"data: {dumps(chunk, separators=(',', ':'))}\n\n"


def stream(deltas, finish, k, asks_usage):
    """deltas: [(delta, its tokens)]; k: top_logprobs, None if not asked."""
    out = []
    for delta, tokens in deltas:
        probs = None if k is None else logprobs(tokens, k)
        out.append([{"index": 0, "delta": delta, "logprobs": probs,
                     "finish_reason": None}])
    out.append([{"index": 0, "delta": {}, "logprobs": None,
                 "finish_reason": finish}])
    text = "".join(event(i, c, None, asks_usage) for i, c in enumerate(out))
    if asks_usage:
        text += event(len(out), [], USAGE, True)
    return text + "data: [DONE]\n\n"


def whole(message, tokens, finish, k):
    probs = None if k is None else logprobs(tokens, k)
    return dumps({
        "id": HEAD["id"], "object": "chat.completion",
        "created": HEAD["created"], "model": HEAD["model"],
        "choices": [{"index": 0,
                     "message": {"role": "assistant", **message,
                                 "refusal": None, "annotations": []},
                     "logprobs": probs, "finish_reason": finish}],
        "usage": USAGE, "service_tier": "default",
        "system_fingerprint": "fp_1a97b5aa6c"}, indent=2) + "\n"


def call(**function):
    return {"tool_calls": [{"index": 0, **function}]}


ROLE = ({"role": "assistant", "content": "", "refusal": None}, [])
TEXT = [ROLE] + [({"content": t}, [t]) for t in ("Hello", ",", " world", "!")]
TRICKY = [ROLE] + [({"content": t}, [t]) for t in (
    '"logprobs":null', ',"usage":null', "\\\u0000\r\n", "\u00e9\U0001f600")]
ARGUMENTS = ['{"', 'path":"a"', "}"]
TOOLS = ([({"role": "assistant", "content": None, **call(
    id="call_Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8", type="function",
    function={"name": "read", "arguments": ""}), "refusal": None}, [])]
    + [(call(function={"arguments": a}), []) for a in ARGUMENTS])


def pair(name, kind, asked, plain):
    for which, text in (("asked", asked), ("plain", plain)):
        (OUT / f"{name}.{which}.{kind}").write_bytes(text.encode())


def main():
    for name, deltas, finish, k, usage in (
            ("text", TEXT, "stop", 5, True),
            ("usage_ours", TEXT, "stop", 0, False),
            ("tricky", TRICKY, "stop", 0, False),
            ("tools", TOOLS, "tool_calls", 5, True)):
        pair(name, "sse", stream(deltas, finish, k, True),
             stream(deltas, finish, None, usage))

    said = ["Hello", "!"]
    pair("text", "json", whole({"content": "Hello!"}, said, "stop", 2),
         whole({"content": "Hello!"}, said, "stop", None))


main()
